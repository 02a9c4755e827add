"""Which topology domains a group may be put into: all of its key, or the one its bound members pin."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.lost import open_loss
from scheduling.engine.reasons import Reason
from scheduling.engine.roster import Roster
from scheduling.engine.state import ClusterState
from scheduling.engine.topology import ALL_NODES, TopologyIndex


@dataclass(frozen=True, slots=True)
class Candidates:
    """``index``: the domains to look at; ``total``: how many the key has; ``pinned``: whether bound members
    chose.
    """

    index: TopologyIndex
    total: int
    pinned: bool


@dataclass(frozen=True, slots=True)
class Conflict:
    """Facts that contradict each other. ``domains``: where bound members lie; ``nodes``: gone or without
    the key.
    """

    reason: Reason
    domains: tuple[str, ...]
    nodes: tuple[str, ...]


def enforced(state: ClusterState, roster: Roster) -> bool:
    """Whether the group is held to one domain: it names a key and the gates are on."""
    return roster.group is not None and roster.group.topology_key != "" and state.tas_enforced


def lost_domain(state: ClusterState, roster: Roster) -> Conflict | None:
    """What keeps a group without bound members from going elsewhere: the loss of its domain is open. With
    bound members ``candidates`` tells as much of the facts alone.
    """
    lost = open_loss(state, roster) if not roster.bound else None
    return Conflict(Reason.DOMAIN_LOST, (), lost.nodes) if lost is not None else None


def conflict(state: ClusterState, roster: Roster) -> Conflict | None:
    """What bound members of a group that is held to one domain contradict each other in; None when they lie
    in one, or nothing holds them.
    """
    if roster.group is None or not roster.bound or not enforced(state, roster):
        return None
    index = state.index(roster.group.topology_key)
    return roster.about("domains", index, lambda: _conflict(state, index, roster))


def _conflict(state: ClusterState, index: TopologyIndex, roster: Roster) -> Conflict | None:
    found: set[int] = set()
    lost: set[str] = set()
    for name in {pod.node for pod in roster.bound}:
        row = state.columns.slot.get(name)
        domain = -1 if row is None else int(index.at[row])
        if domain == -1:
            lost.add(name)
        else:
            found.add(domain)
    if len(found) == 1 and not lost:
        return None
    reason = Reason.CONFLICTING_DOMAINS if len(found) > 1 else Reason.DOMAIN_LOST
    return Conflict(reason, tuple(sorted(index.domains[number] for number in found)), tuple(sorted(lost)))


def candidates(state: ClusterState, roster: Roster) -> Candidates | Conflict:
    """The domains to look at. Without a constraint, or with a gate off, one domain of all nodes; nothing
    pins it.
    """
    if roster.group is None or not enforced(state, roster):
        index = state.index(ALL_NODES)
        return Candidates(index, len(index.domains), pinned=False)
    index = state.index(roster.group.topology_key)
    if not roster.bound:
        return Candidates(index, len(index.domains), pinned=False)
    disputed = conflict(state, roster)
    if disputed is not None:
        return disputed
    pin = int(index.at[state.columns.slot[roster.bound[0].node]])
    return Candidates(index.only(pin), len(index.domains), pinned=True)
