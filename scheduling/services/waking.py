"""Which groups a cycle has to decide: those that an event could have helped since they were last looked at,
and that do not rest from a failed attempt.

Pure: of the log, of how far the cycle before had read it and when, and of the time now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from scheduling.engine.lost import brought_back, homeless
from scheduling.engine.queue import waiting
from scheduling.engine.requeue import Change, Changes, Kind, always_decided, could_help
from scheduling.engine.state import ClusterState
from scheduling.ledger import events as e
from scheduling.ledger.store import Recorded


@dataclass(frozen=True, slots=True)
class Looked:
    """What the cycle before had seen: the log up to ``seq``, at ``at`` (milliseconds)."""

    seq: int
    at: int


@dataclass(frozen=True, slots=True)
class Due:
    """``causes``: the groups to decide, each with the seq of the event that woke it (None: not known).
    ``resting``: those that were woken and rest, with the time at which their rest ends.
    """

    causes: dict[str, int | None]
    resting: dict[str, int]

    @classmethod
    def everybody(cls, state: ClusterState, cause: int | None) -> Due:
        """All that wait, woken by the same event."""
        return cls(dict.fromkeys(waiting(state), cause), {})

    @property
    def retry_at(self) -> int | None:
        return min(self.resting.values(), default=None)


def due(state: ClusterState, recorded: Iterable[Recorded], looked: Looked, now: int) -> Due:
    """``recorded``: the log from ``reads_from`` to the head, which is ``state``.

    In an observed cluster every waiting group is decided, at once, whenever a cycle runs: forecasts bind
    nothing, so each depends on all others of its cycle, and none is an attempt that could be repeated too
    often.
    """
    changes = (change for item in recorded for change in changes_of(state, item))
    return woken(state, Changes(state, changes), looked, now)


def woken(
    state: ClusterState, changes: Changes, looked: Looked, now: int, among: Collection[str] | None = None
) -> Due:
    """As ``due``, of what changed since ``reads_from``. ``among``: groups of which one knows that no other
    waits.
    """
    found = Due({}, {})
    for key in waiting(state, among=among):
        cause, woken = woken_by(state, key, changes, looked)
        turn = state.turns.get(key)
        if state.mode == "observed":
            found.causes[key] = changes.any(looked.seq) if cause is None else cause
        elif woken and turn is not None and turn.rests_until > now:
            found.resting[key] = turn.rests_until
        elif woken:
            found.causes[key] = cause
    return found


def woken_by(state: ClusterState, key: str, changes: Changes, looked: Looked) -> tuple[int | None, bool]:
    """The event that woke the group, and whether it is to be decided: without an event too when it is one
    that is always decided.
    """
    since = looked_at(state, key, looked)
    cause = could_help(state, key, changes, since)
    always = always_decided(state, key)
    if cause is None and always:
        cause = changes.any(since)
    return cause, always or cause is not None


def reads_from(state: ClusterState, looked: Looked, among: Collection[str] | None = None) -> int:
    """The seq after which the log has to be read."""
    keys = waiting(state, among=among)
    return min((looked_at(state, key, looked) for key in keys), default=state.seq)


def looked_at(state: ClusterState, key: str, looked: Looked) -> int:
    """Up to where the log is known not to help the group: its own last decision; all that the cycle before
    had seen, unless the group was resting then and that cycle passed it over.
    """
    turn = state.turns.get(key)
    if turn is None:
        return looked.seq
    return turn.seq if turn.rests_until > looked.at else max(turn.seq, looked.seq)


def changes_of(state: ClusterState, recorded: Recorded) -> Iterator[Change]:
    """What an event could help. ``state``: the one at the head, where nodes, pods and groups are looked up.

    An event that is not known here and may wake somebody is taken to concern everybody.
    """
    seq = recorded.seq
    match recorded.event:
        case e.NodeAdded(node):
            yield Change(seq, Kind.JOINED, node.name)
            yield from _of_bound(state, seq, node.name)
            yield from _of_keys(seq, brought_back(state, node.labels))
        case e.NodeUpdated() as event:
            yield from _of_node(state, seq, event)
        case e.NodeRemoved(name):
            yield from _of_bound(state, seq, name)
            yield from _of_keys(seq, homeless(state))
            yield Change(seq, Kind.OTHER)
        case e.PodAdded(pod):
            yield from _of_group(state, seq, pod.key, pod.group_key)
            yield Change(seq, Kind.OTHER)
        case e.PodUpdated() as event:
            yield from _of_pod(state, seq, event)
        case e.PodRemoved() | e.MemberEvicted() as event:
            if event.node:
                yield Change(seq, Kind.FREED, event.node)
            group = f"{event.namespace}/{event.group}" if event.group else ""
            yield from _of_group(state, seq, f"{event.namespace}/{event.name}", group)
            yield Change(seq, Kind.OTHER)
        case e.PodGroupCreated(group):
            yield Change(seq, Kind.GROUP, group=group.key)
            yield from _of_queues(state, seq)
        case e.PodGroupUpdated() | e.PodGroupClosed() | e.PreemptionApproved() as event:
            yield Change(seq, Kind.GROUP, group=f"{event.namespace}/{event.name}")
            yield from _of_queues(state, seq)
            yield Change(seq, Kind.OTHER)
        case e.PodGroupPlaced() | e.PlacementForecast() | e.ReservationMade():
            yield Change(seq, Kind.OTHER)
        case e.ReservationReleased() as event:
            for name in event.nodes:
                yield Change(seq, Kind.FREED, name)
        case event if event.WAKES:
            yield Change(seq, Kind.RULES)


_NODE_KINDS = {
    "labels": Kind.RELABELLED,
    "taints": Kind.OPENED,
    "unschedulable": Kind.OPENED,
    "ready": Kind.OPENED,
}


def _of_node(state: ClusterState, seq: int, event: e.NodeUpdated) -> Iterator[Change]:
    kinds: set[Kind] = set()
    for field, value in event.changes:
        if (field, value) in (("unschedulable", True), ("ready", False)):
            kinds.add(Kind.OTHER)
        else:
            kinds.add(_NODE_KINDS.get(field, Kind.RESIZED))
    for kind in sorted(kinds):
        yield Change(seq, kind, event.name)
    if Kind.RELABELLED in kinds or "zones" in dict(event.changes):
        yield from _of_bound(state, seq, event.name)
    if Kind.RELABELLED in kinds:
        yield from _of_keys(seq, brought_back(state, dict(event.changes)["labels"]))
        yield from _of_keys(seq, homeless(state))


_HOLDS_ROOM = {"node", "phase", "shape"}


def _of_pod(state: ClusterState, seq: int, event: e.PodUpdated) -> Iterator[Change]:
    changed = {field for field, _ in event.changes}
    pod = state.pods.get(event.uid)
    if "group" in changed:
        yield Change(seq, Kind.RULES)  # which group it left is not told
    if changed & _HOLDS_ROOM:
        moved = pod is None or "node" in changed  # then it is not told where it was
        yield Change(seq, Kind.FREED, "" if moved or pod is None else pod.node)
    yield from _of_group(state, seq, f"{event.namespace}/{event.name}", pod.group_key if pod else "")
    yield Change(seq, Kind.OTHER)


def _of_group(state: ClusterState, seq: int, pod_key: str, group_key: str) -> Iterator[Change]:
    """The pod's group, and those of other pods of its name: only the newest of them can be placed."""
    keys = {pod.group_key for pod in state.pods_named(pod_key)} | {group_key}
    for key in sorted(keys - {""}):
        yield Change(seq, Kind.GROUP, group=key)


def _of_bound(state: ClusterState, seq: int, node: str) -> Iterator[Change]:
    """The groups with members on a node of that name: whether they lie in a domain may be another matter."""
    for key in sorted({pod.group_key for pod in state.pods_on(node)} - {""}):
        yield Change(seq, Kind.GROUP, group=key)


def _of_queues(state: ClusterState, seq: int) -> Iterator[Change]:
    """With a group in another queue its pods may use what is held for that one: more is left to others."""
    for node in state.holds.nodes_of_queues():
        yield Change(seq, Kind.FREED, node)


def _of_keys(seq: int, keys: Iterable[str]) -> Iterator[Change]:
    """Groups whose domain went away or came back with a node."""
    for key in keys:
        yield Change(seq, Kind.GROUP, group=key)
