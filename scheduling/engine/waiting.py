"""Since when a group waits, what holds it to its domain, and who has the room there."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from scheduling.engine.change_steps import gpus
from scheduling.engine.model import Pod
from scheduling.engine.numa_names import NUMA_KEY, node_of
from scheduling.engine.reasons import Reason
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.waits import WaitDeadline, WaitPolicy

_HELD = (Reason.STICKY_DOMAIN, Reason.DOMAIN_LOST)


@dataclass(frozen=True, slots=True)
class Held:
    """``domain``: None when it cannot be told; ``reason``: sticky_domain or domain_lost."""

    topology_key: str
    domain: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Occupant:
    """``key``: of a group, "" for pods that belong to none."""

    key: str
    members: int
    gpus: int


@dataclass(frozen=True, slots=True)
class Deadline:
    """``at``: milliseconds. ``default``: it follows from the policy of the cluster; ``expired_at``: when it
    was found to be past, None before.
    """

    at: int
    action: str
    default: bool
    expired_at: int | None = None


def held_to(state: ClusterState, key: str) -> Held | None:
    """The domain that the group's waiting members may not leave, by its last decision; None when they wait
    for something else or none waits.
    """
    last, group = state.verdicts.get(key), state.groups.get(key)
    if last is None or group is None or last.reason not in _HELD:
        return None
    who = roster(state, key)
    if not who.known or not (who.waiting or not who.running):
        return None
    if last.reason == Reason.STICKY_DOMAIN:
        return Held(group.topology_key, last.domain, last.reason) if who.bound else None
    return Held(group.topology_key, lost_domain(state, key), last.reason)


def lost_domain(state: ClusterState, key: str) -> str | None:
    """The domain that the open group lost: recorded, or else as its nodes last told it or the rest of them
    tell it; None when nothing tells it.
    """
    kept = state.lost.get(key) or state.homes.get(key)
    if kept is not None:
        return kept.domain
    nodes = (state.nodes.get(pod.node) for pod in roster(state, key).bound)
    told = {node.label(state.groups[key].topology_key) for node in nodes if node is not None}
    return min((value for value in told if value is not None), default=None)


def waits_since(state: ClusterState, key: str) -> int | None:
    """When the first decision was made since which the open generation waits for minCount, in milliseconds;
    None when it does not wait or was never decided.
    """
    turn = state.turns.get(key)
    if key not in state.groups or turn is None or not turn.waits_since:
        return None
    return turn.waits_since if is_short(state, key) else None


def is_short(state: ClusterState, key: str) -> bool:
    """Whether members are missing to minCount; a group whose pods have all finished is over and not short."""
    who = roster(state, key)
    return not who.running and (who.unfinished > 0 or not who.pods)


def deadline(state: ClusterState, key: str) -> Deadline | None:
    """Until when the open generation may wait: its own deadline, else the default counted from when its wait
    began. None when there is none.
    """
    group = state.groups.get(key)
    own = state.records.of(WaitDeadline).get(key)
    if group is None:
        return None
    if own is not None and own.uid == group.uid:
        return None if own.at is None else Deadline(own.at, own.action, False, own.expired_at)
    policy = next(iter(state.records.of(WaitPolicy).values()), None)
    since = waits_since(state, key) if policy is not None else None
    return None if policy is None or since is None else Deadline(since + policy.after, policy.action, True)


def own_deadline(state: ClusterState, key: str) -> WaitDeadline | None:
    """What somebody said of how long the open generation may wait; None where the default of the cluster
    holds, also when all that is recorded is that the default is past.
    """
    group, own = state.groups.get(key), state.records.of(WaitDeadline).get(key)
    if group is None or own is None or own.uid != group.uid:
        return None
    policy = next(iter(state.records.of(WaitPolicy).values()), None)
    since = waits_since(state, key)
    is_default = policy is not None and since is not None and own.at == since + policy.after
    return None if own.expired_at is not None and is_default else own


def occupants(state: ClusterState, topology_key: str, domain: str) -> tuple[Occupant, ...]:
    """The groups with members on nodes in the domain: most GPUs first, then most members, then by key."""
    found: defaultdict[str, list[Pod]] = defaultdict(list)
    for pod in _pods_in(state, topology_key, domain):
        found[pod.group_key].append(pod)
    told = (Occupant(key, len(pods), gpus(tuple(pods))) for key, pods in found.items())
    return tuple(sorted(told, key=lambda one: (-one.gpus, -one.members, one.key)))


def _pods_in(state: ClusterState, topology_key: str, domain: str) -> list[Pod]:
    if topology_key == NUMA_KEY:
        on = state.pods_on(node_of(domain))
        return [pod for pod in on if state.zone_of.get(pod.uid, domain) == domain]
    index = state.index(topology_key)
    number = index.number.get(domain)
    names = index.names[index.slice(number)] if number is not None else ()
    return [pod for name in names for pod in state.pods_on(name)]
