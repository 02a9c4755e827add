"""What pages and API read of waits: for what a group waits and since when, until when it may, who has the
room there, and what would take it out of the wait.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scheduling.engine.reasons import Reason
from scheduling.engine.state import ClusterState
from scheduling.engine.waiting import (
    Deadline,
    Occupant,
    deadline,
    is_short,
    lost_domain,
    occupants,
    own_deadline,
    waits_since,
)
from scheduling.engine.waits import MarkedLost, StickyWait, WaitDeadline, WaitPolicy
from scheduling.models import Cluster
from scheduling.services.execute import now_ms
from scheduling.services.generations import Forecast, proposals
from scheduling.services.state import state_of


@dataclass(frozen=True, slots=True)
class Wait:
    """Of an open generation. ``since``: when the wait for minCount began, in milliseconds, None without one.
    ``short``: members are missing to minCount, so that a deadline may be set. ``own``: how long it may wait
    was said for this generation itself; ``default``: what the cluster says. ``sticky``: the wait for its own
    domain, and ``occupants`` who is in that. ``unlimited``: somebody said that it may wait for as long as
    it takes. ``lost``: its domain is lost, with ``lost_domain`` when it can be told, ``lost_seq`` of the
    event that tells it and ``mark`` where an operator gave it up; ``proposals``: new generations that would
    be placed at once, asked for where the domain is lost or a deadline that was to propose is past.
    ``stranded``: pod uid -> "gone" or "unlabelled", of members whose node tells no domain any more.
    """

    since: int | None
    short: bool
    sticky: StickyWait | None
    occupants: tuple[Occupant, ...]
    deadline: Deadline | None
    unlimited: bool
    own: bool
    default: WaitPolicy | None
    lost: bool
    lost_domain: str | None
    lost_seq: int | None
    mark: MarkedLost | None
    proposals: tuple[Forecast, ...]
    stranded: dict[str, str]


def of_group(cluster: Cluster, key: str) -> Wait | None:
    """None when no generation is open."""
    state = state_of(cluster)
    group = state.groups.get(key)
    if group is None:
        return None
    own, sticky = state.records.of(WaitDeadline).get(key), state.records.of(StickyWait).get(key)
    if sticky is not None and sticky.uid != group.uid:
        sticky = None
    until, verdict = deadline(state, key), state.verdicts.get(key)
    lost = verdict is not None and verdict.reason == Reason.DOMAIN_LOST
    proposes = until is not None and until.expired_at is not None and until.action == "propose"
    domain = lost_domain(state, key) if lost else None
    home, marks = (group.topology_key, domain), state.records.of(MarkedLost).values()
    around: tuple[Occupant, ...] = ()
    if sticky is not None and sticky.domain is not None:
        there = occupants(state, sticky.topology_key, sticky.domain)
        around = tuple(one for one in there if one.key != key)
    return Wait(
        since=waits_since(state, key),
        short=is_short(state, key),
        sticky=sticky,
        occupants=around,
        deadline=until,
        unlimited=own is not None and own.uid == group.uid and own.at is None,
        own=own_deadline(state, key) is not None,
        default=policy(cluster),
        lost=lost,
        lost_domain=domain,
        lost_seq=state.lost[key].seq if lost and key in state.lost else None,
        mark=next((mark for mark in marks if (mark.topology_key, mark.domain) == home), None),
        proposals=proposals(state, key, now_ms()) if lost or proposes else (),
        stranded=_stranded(state, key) if lost else {},
    )


def _stranded(state: ClusterState, key: str) -> dict[str, str]:
    found = {}
    for pod in state.members(key):
        node = state.nodes.get(pod.node)
        if pod.node and (node is None or node.label(state.groups[key].topology_key) is None):
            found[pod.uid] = "gone" if node is None else "unlabelled"
    return found


def deadlines(cluster: Cluster, keys: Iterable[str]) -> dict[str, Deadline]:
    """Of those of the groups that have one."""
    state = state_of(cluster)
    return {key: found for key in keys if (found := deadline(state, key)) is not None}


def expired(cluster: Cluster) -> dict[str, Deadline]:
    """Every group that still waits after its deadline, the one that is past longest first."""
    state = state_of(cluster)
    found = {key: deadline(state, key) for key in state.records.of(WaitDeadline) if is_short(state, key)}
    past = [(until.at, key, until) for key, until in found.items() if until is not None and until.expired_at]
    return {key: until for _, key, until in sorted(past, key=lambda entry: entry[:2])}


def policy(cluster: Cluster) -> WaitPolicy | None:
    """The default of the cluster, None when there is none."""
    return next(iter(state_of(cluster).records.of(WaitPolicy).values()), None)


def marked_lost(cluster: Cluster) -> list[MarkedLost]:
    """The domains that an operator marked lost, in the order in which they were."""
    return list(state_of(cluster).records.of(MarkedLost).values())
