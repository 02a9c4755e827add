"""What is not the same in two states of one cluster. Pure.

An object is in the difference when its picture differs, and only then: a node by what it tells itself (its
load is counted by domain), a PodGroup by its open generation and how it stands, a pod by its uid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from scheduling.engine.model import Node, Pod
from scheduling.engine.roll import Roll
from scheduling.engine.state import ClusterState
from scheduling.engine.status import GroupStatus
from scheduling.engine.waits import StickyWait, WaitDeadline
from scheduling.selectors import pictures
from scheduling.selectors.pictures import Field, Picture

T = TypeVar("T")


class What(StrEnum):
    """What became of an object; several may be true of one."""

    JOINED = "joined"
    LEFT = "left"
    REPLACED = "replaced"
    CORDONED = "cordoned"
    UNCORDONED = "uncordoned"
    READY = "ready"
    NOT_READY = "not_ready"
    RELABELLED = "relabelled"
    CREATED = "created"
    CLOSED = "closed"
    PLACED = "placed"
    SHORT = "short"
    LOST_DOMAIN = "lost_domain"
    VERDICT = "verdict"
    BOUND = "bound"
    MOVED = "moved"
    UNBOUND = "unbound"
    FINISHED = "finished"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Change:
    """One object that is not as it was. ``what``: at least one; ``CHANGED`` only where nothing else says it.
    ``fields``: those that differ.
    """

    subject: str
    namespace: str
    name: str
    uid: str
    what: tuple[What, ...]
    fields: tuple[Field, ...]

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def field(self, name: str) -> Field | None:
        return next((field for field in self.fields if field.name == name), None)


@dataclass(frozen=True, slots=True)
class Difference:
    """Objects of each kind by name (pods by name and uid). ``cluster``: fields of the cluster that differ."""

    cluster: tuple[Field, ...]
    nodes: tuple[Change, ...]
    groups: tuple[Change, ...]
    pods: tuple[Change, ...]

    def __bool__(self) -> bool:
        return bool(self.cluster or self.nodes or self.groups or self.pods)


@dataclass(frozen=True, slots=True)
class Meant:
    """How many objects something is true of. ``names``: keys of the first ones."""

    count: int
    names: tuple[str, ...]


NAMED = 3
"""So many objects are named of those that something is true of."""


def tally(difference: Difference) -> dict[tuple[str, What], Meant]:
    """By kind of object and what became of it; only what is true of some."""
    found: dict[tuple[str, What], list[str]] = {}
    subjects = {"node": difference.nodes, "podgroup": difference.groups, "pod": difference.pods}
    for subject, changes in subjects.items():
        for change in changes:
            for what in change.what:
                found.setdefault((subject, what), []).append(change.key)
    return {about: Meant(len(keys), tuple(keys[:NAMED])) for about, keys in found.items()}


def compare(a: ClusterState, b: ClusterState) -> Difference:
    """From ``a`` to ``b``, a later state of the same cluster (or an earlier one: it tells then how to come
    back).
    """
    return Difference(
        cluster=pictures.changed(pictures.of_cluster(a), pictures.of_cluster(b)),
        nodes=tuple(_nodes(a, b)),
        groups=tuple(_groups(a, b)),
        pods=tuple(_pods(a, b)),
    )


def _nodes(a: ClusterState, b: ClusterState) -> Iterator[Change]:
    for name in sorted(_unequal(a.nodes, b.nodes)):
        old, new = a.nodes.get(name), b.nodes.get(name)
        fields = pictures.changed(pictures.of_node(old), pictures.of_node(new))
        if fields:
            uid = new.uid if new is not None else old.uid if old is not None else ""
            yield Change("node", "", name, uid, tuple(_of_node(old, new)) or (What.CHANGED,), fields)


def _of_node(old: Node | None, new: Node | None) -> Iterator[What]:
    if old is None or new is None:
        yield What.JOINED if old is None else What.LEFT
        return
    if old.uid != new.uid:
        yield What.REPLACED
    if old.unschedulable != new.unschedulable:
        yield What.CORDONED if new.unschedulable else What.UNCORDONED
    if old.ready != new.ready:
        yield What.READY if new.ready else What.NOT_READY
    if old.labels != new.labels:
        yield What.RELABELLED


def _pods(a: ClusterState, b: ClusterState) -> Iterator[Change]:
    uids = _unequal(a.pods, b.pods) | _unequal(a.zone_of, b.zone_of)
    for pod, uid in sorted(((b.pods.get(uid) or a.pods[uid]).key, uid) for uid in uids):
        old, new = a.pods.get(uid), b.pods.get(uid)
        fields = pictures.changed(
            pictures.of_pod(old, a.zone_of.get(uid, "")), pictures.of_pod(new, b.zone_of.get(uid, ""))
        )
        if fields:
            namespace, _, name = pod.partition("/")
            yield Change("pod", namespace, name, uid, tuple(_of_pod(old, new)) or (What.CHANGED,), fields)


def _of_pod(old: Pod | None, new: Pod | None) -> Iterator[What]:
    if new is None:
        yield What.LEFT
        return
    if old is None:
        yield What.JOINED
    before = old.node if old is not None else ""
    if before != new.node:
        yield What.UNBOUND if not new.node else What.MOVED if before else What.BOUND
    if new.finished and (old is None or not old.finished):
        yield What.FINISHED


def _groups(a: ClusterState, b: ClusterState) -> Iterator[Change]:
    for key in sorted(_touched(a, b)):
        old, new = a.groups.get(key), b.groups.get(key)
        before = pictures.of_group(old) | pictures.of_standing(a, key)
        after = pictures.of_group(new) | pictures.of_standing(b, key)
        fields = pictures.changed(before, after)
        if fields:
            uid = new.uid if new is not None else old.uid if old is not None else ""
            namespace, _, name = key.partition("/")
            what = tuple(_of_group(before, after)) or (What.CHANGED,)
            yield Change("podgroup", namespace, name, uid, what, fields)


def _of_group(before: Picture, after: Picture) -> Iterator[What]:
    opened, closed = "uid" not in before and "uid" in after, "uid" in before and "uid" not in after
    if opened or closed:
        yield What.CREATED if opened else What.CLOSED
    other = before.get("uid") != after.get("uid")
    if other and not opened and not closed:
        yield What.REPLACED
    runs = after.get("status") == GroupStatus.SCHEDULED
    ran = before.get("status") == GroupStatus.SCHEDULED
    if runs and (other or not ran):
        yield What.PLACED
    if ran and not runs and not closed and after.get("status") != GroupStatus.FINISHED:
        yield What.SHORT
    if after.get("lostDomain") not in (None, before.get("lostDomain")):
        yield What.LOST_DOMAIN
    decided = [(picture.get("verdict"), picture.get("reason")) for picture in (before, after)]
    if decided[0] != decided[1] and not closed and after.get("verdict") not in (None, "placed"):
        yield What.VERDICT


def _touched(a: ClusterState, b: ClusterState) -> set[str]:
    """Keys of the groups whose picture may differ: of those themselves, of their pods, of pods that bear the
    name of one (only the newest of a name is a member), and of the nodes that their members are on.
    """
    keys = _unequal(a.groups, b.groups) | _unequal(a.verdicts, b.verdicts) | _unequal(a.lost, b.lost)
    for kind in (StickyWait, WaitDeadline):
        keys |= _unequal(a.records.of(kind), b.records.of(kind))
    uids = _unequal(a.pods, b.pods) | _unequal(a.zone_of, b.zone_of)
    for name in {pod.key for pod in _either(a.pods, b.pods, uids)}:
        keys |= {pod.group_key for state in (a, b) for pod in state.pods_named(name)}
    for name in _unequal(a.nodes, b.nodes):
        keys |= {pod.group_key for state in (a, b) for pod in state.pods_on(name)}
    if a.tas_enforced != b.tas_enforced:
        keys |= {*a.group_keys(), *b.group_keys()}
    return keys - {""}


def _either(a: Mapping[str, T], b: Mapping[str, T], keys: set[str]) -> Iterator[T]:
    for key in keys:
        yield from (side[key] for side in (a, b) if key in side)


def _unequal(a: Mapping[str, T], b: Mapping[str, T]) -> set[str]:
    """Keys under which the two do not hold the same. States that were folded one from the other share most of
    their objects, so that most are compared by identity.
    """
    if isinstance(a, Roll) and isinstance(b, Roll) and a.base is b.base:
        changed = a.changed() | b.changed()
        return {key for key in changed if (one := a.get(key)) is not (other := b.get(key)) and one != other}
    shared = {key for key, one in a.items() if key in b and b[key] is not one and b[key] != one}
    return (a.keys() ^ b.keys()) | shared
