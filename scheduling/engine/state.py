"""The state of one cluster in memory: objects as they are now, and the columns and indexes that decisions
read.

The ledger folds events into it by calling its methods; it knows nothing of events. The same calls give the
same state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scheduling.engine import packed, topology
from scheduling.engine.buckets import Buckets
from scheduling.engine.canary import CanaryScope, Law
from scheduling.engine.columns import Columns
from scheduling.engine.decision import VerdictSummary
from scheduling.engine.eligibility import Bar, bar
from scheduling.engine.holds import Holds
from scheduling.engine.lost import Home, Lost
from scheduling.engine.model import (
    TAS_GATES,
    Eligibility,
    HostPort,
    Node,
    Pod,
    PodGroup,
    PodTerm,
    Shape,
    altered,
)
from scheduling.engine.numa_names import node_of
from scheduling.engine.packed import NodesMade, PackedNodes, PackedPods, PlacedMade, PodsMade, UidsByName
from scheduling.engine.past import Past
from scheduling.engine.records import Record, Records
from scheduling.engine.reservations import Reservation
from scheduling.engine.roll import Objects, Roll, Shared, settled
from scheduling.engine.shapes import Bars, DomainCounts, Requests, ShapeIndex, ShapeView
from scheduling.engine.topology import TopologyIndex
from scheduling.engine.turns import Turn

if TYPE_CHECKING:
    from scheduling.engine.numa_view import ZoneView
    from scheduling.engine.roster import Roster

Apart = tuple[str, tuple[PodTerm, ...]]
"""Namespace and anti-affinity terms of pods."""

_MOST = 8
"""When an eighth of the nodes are looked at, a label is looked for on all at once."""

_ELIGIBILITY_CLASSES = 256
"""How many classes of members keep their bars: the least recently asked goes first."""


class ClusterState:
    """Mutable. ``seq``: of the last event in it. ``verdicts``: the last one recorded of each open generation.
    ``turns``: when that was, and how many attempts failed in a row. ``rosters``: kept by ``roster.roster``,
    forgotten here when a group or one of its pods changes.
    ``apart_as_of``: another object whenever ``apart`` has changed; ``ever_apart``: whether there was any.
    ``homes`` and ``lost``: by group key, what ``lost`` keeps of domains that went away.
    ``zone_of``: pod uid -> NUMA domain that it was placed in, as long as the pod is on that node.
    ``past``: what commands must know. ``records``: what operators laid down; reservations come and go by
    ``reserve`` and ``unreserve``. ``holds``: what these keep off the nodes.
    ``zone_view`` and ``stale_zones`` (nodes that changed since) belong to ``numa_view``.
    """

    def __init__(self) -> None:
        self.seq = 0
        self.mode = "simulated"
        self.gates: dict[str, bool] = {}
        self.nodes: Objects[str, Node] = {}
        self.pods: Objects[str, Pod] = {}
        self.groups: dict[str, PodGroup] = {}
        self.verdicts: dict[str, VerdictSummary] = {}
        self.turns: dict[str, Turn] = {}
        self.homes: dict[str, Home] = {}
        self.lost: dict[str, Lost] = {}
        self.columns = Columns()
        self._by_group: Buckets[str] = Buckets()
        self._by_node: Buckets[str] = Buckets()
        self._apart: Buckets[Apart] = Buckets()
        self._holding: Buckets[tuple[HostPort, ...]] = Buckets()
        self.apart_as_of = object()
        self.ever_apart = False
        self._uids: Shared[str, tuple[str, ...]] = Shared()
        self._indexes: dict[str | None, TopologyIndex] = {}
        self._attitudes: dict[Node, int] = {}
        self._bars: dict[Eligibility, tuple[int, Bars]] = {}
        self._shapes = ShapeIndex()
        self._negative: tuple[int, frozenset[int]] = (-1, frozenset())
        self.rosters: dict[str, Roster] = {}
        self.zone_of: dict[str, str] = {}
        self.past = Past()
        self.records = Records()
        self.holds = Holds()
        self.zone_view: ZoneView | None = None
        self.stale_zones: set[str] = set()

    @classmethod
    def over(cls, nodes: PackedNodes, pods: PackedPods, resources: Iterable[str]) -> ClusterState:
        """A state of such nodes and pods and of nothing else. ``resources``: what its columns are for."""
        state = cls()
        state.nodes, state.pods = Roll(NodesMade(nodes)), Roll(PodsMade(pods))
        state._uids = Shared(Roll(UidsByName(pods)))
        state.past.placed = Shared(Roll(PlacedMade(pods)))
        state._by_node = Buckets(Roll(packed.by_node(nodes, pods)))
        state._by_group = Buckets(Roll(packed.by_group(pods)))
        state.columns, attitudes = packed.columns(nodes, pods, resources)
        state._attitudes = {attitude: number for number, attitude in enumerate(attitudes)}
        state._apart = Buckets(packed.together(pods, _apart))
        state._holding = Buckets(packed.together(pods, lambda _, shape: shape.host_ports or None))
        return state

    # --- what is asked

    @property
    def tas_enforced(self) -> bool:
        """Whether all gates of topology-aware scheduling are on; a gate never set is off."""
        return all(self.gates.get(gate, False) for gate in TAS_GATES)

    @property
    def law(self) -> Law:
        """Which groups with a topology key are held to one domain: by the gates, or by a canary."""
        return Law(self.tas_enforced, tuple(self.records.of(CanaryScope).values()))

    def enforces(self, group: PodGroup) -> bool:
        """Whether the group is held to one domain: it names a key, and the law is for it."""
        if not group.topology_key:
            return False
        if not self.records.of(CanaryScope):
            return self.tas_enforced
        return self.law.holds(group.namespace, group.key, group.uid)

    def pod_uid(self, key: str) -> str | None:
        """The newest pod of that namespace and name: by creation, then by arrival. None when there is
        none.
        """
        return _newest(self._uids.table.get(key, ()), self.pods)

    def pods_named(self, key: str) -> list[Pod]:
        """Every pod of that namespace and name, finished ones included, in the order in which they came."""
        return [self.pods[uid] for uid in self._uids.table.get(key, ())]

    def namesakes(self) -> list[tuple[str, ...]]:
        """Uids of the pods of one name where these are several, in the order in which they came; sorted."""
        table = self._uids.table
        return sorted(uids for uids in table.values() if len(uids) > 1) if len(table) < len(self.pods) else []

    def pods_naming(self, group_key: str) -> list[Pod]:
        """Every pod that names the group, finished ones included, in member order: priority descending,
        created, name.
        """
        return sorted((self.pods[uid] for uid in self._by_group.get(group_key)), key=_member_order)

    def members(self, group_key: str) -> list[Pod]:
        """The unfinished pods that name the group, in member order."""
        return [pod for pod in self.pods_naming(group_key) if not pod.finished]

    def group_keys(self) -> list[str]:
        """Keys of the open PodGroups and of those that pods name without their existing, sorted."""
        return sorted({*self.groups, *self._by_group})

    def pods_on(self, node_name: str) -> list[Pod]:
        """The unfinished pods bound to that name, sorted by key; the node need not exist."""
        return sorted(
            (self.pods[uid] for uid in self._by_node.get(node_name)), key=lambda pod: (pod.key, pod.uid)
        )

    @property
    def apart(self) -> Iterable[Apart]:
        """Every anti-affinity of unfinished pods on nodes, each once, in no order."""
        return self._apart

    def pods_apart(self, apart: Apart) -> list[Pod]:
        """The unfinished pods on nodes that have it."""
        return [self.pods[uid] for uid in self._apart.get(apart)]

    def holding(self) -> list[tuple[tuple[HostPort, ...], list[Pod]]]:
        """The unfinished pods on nodes with host ports, by these."""
        return [(ports, [self.pods[uid] for uid in self._holding.get(ports)]) for ports in self._holding]

    def free(self, node_name: str) -> dict[str, int]:
        """Allocatable less the requests of bound unfinished pods, whatever is held; negative on an
        over-committed node.

        Resources that the node offers or that are used on it. KeyError for a node that is not in the cluster.
        """
        row = self.columns.slot[node_name]
        alloc = self.columns.alloc
        offered = {resource for resource, _ in self.nodes[node_name].allocatable}
        free = {resource: int(column[row]) for resource, column in sorted(self.columns.free.items())}
        for resource, held in self.columns.held.items():
            free[resource] += int(held[row])
        return {
            resource: amount
            for resource, amount in free.items()
            if resource in offered or amount != alloc[resource][row]
        }

    def held(self, node_name: str) -> dict[str, int]:
        """What of ``free`` reservations hold, amounts > 0. KeyError for a node that is not in the cluster."""
        row = self.columns.slot[node_name]
        held = ((resource, int(column[row])) for resource, column in sorted(self.columns.held.items()))
        return {resource: amount for resource, amount in held if amount}

    def used(self, node_name: str) -> dict[str, int]:
        """What bound unfinished pods request, for the same resources as ``free``."""
        row = self.columns.slot[node_name]
        free = self.free(node_name)
        return {
            resource: int(self.columns.alloc[resource][row]) - amount for resource, amount in free.items()
        }

    def over_committed(self) -> tuple[str, ...]:
        """Nodes on which more of some resource is used than there is, sorted."""
        rows = self._over_committed_rows()
        return tuple(sorted(self.columns.node[row] for row in rows)) if rows else ()

    def index(self, key: str | None) -> TopologyIndex:
        """Nodes by domain of a topology key, or all of them as one domain; kept until nodes or that label
        change.
        """
        found = self._indexes.get(key)
        if found is None:
            found = self._indexes[key] = topology.build(self.nodes, self.columns.slot, key)
        return found

    def bars(self, wanted: Eligibility) -> Bars:
        """What keeps such members off each node, per row; kept, and renewed for the nodes that changed."""
        clock, bars = self._bars.pop(wanted, (0, np.zeros(0, np.int8)))
        if clock < self.columns.clock or len(bars) < self.columns.rows:
            bars = self._renewed(wanted, bars, clock)
        self._bars[wanted] = (self.columns.clock, bars)
        if len(self._bars) > _ELIGIBILITY_CLASSES:
            del self._bars[next(iter(self._bars))]
        return bars

    def shape(
        self, requests: Requests, wanted: Eligibility, key: str | None
    ) -> tuple[ShapeView, DomainCounts]:
        """How many members of a shape each node and each domain of a topology key take; kept, and counted
        again where something changed. To be read before the state changes next.
        """
        self.index(key)
        return self._shapes.view(self.columns, requests, wanted, self.bars(wanted), key, self._indexes)

    # --- what changes it

    def set_gate(self, name: str, on: bool) -> None:
        self.gates[name] = on

    def lift_law(self) -> None:
        """From now on no group is held to a domain."""
        self.set_gate(TAS_GATES[-1], False)
        for id in tuple(self.records.of(CanaryScope)):
            self.records.drop(CanaryScope, id)

    def set_node(self, node: Node) -> None:
        """Add the node or replace the one of that name; pods bound to that name hold room on it."""
        old = self.nodes.get(node.name)
        self.nodes[node.name] = node
        self._recut(node.name)
        if old is None:
            row = self.columns.add(node.name)
            self._indexes = {}
            self._bars = self._bars.copy()
            for pod in self.pods_on(node.name):
                self.columns.charge(row, pod.shape.requests, 1)
            self.columns.attitude[row] = self._attitude(node)
        else:
            row = self.columns.slot[node.name]
            changed = {key for key, _ in set(old.labels) ^ set(node.labels)}
            if changed:
                self._indexes = {key: index for key, index in self._indexes.items() if key not in changed}
            if _usable_by(old) != _usable_by(node):
                self.columns.touch(row)
                self.columns.attitude[row] = self._attitude(node)
                self._bars = self._bars.copy()
        if old is None or old.allocatable != node.allocatable:
            self.columns.set_allocatable(row, node.allocatable)
        if old is None and node.name in self.holds.by_node:
            self._hold(node.name)

    def remove_node(self, name: str, uid: str) -> None:
        """Take the node out; pods bound to it stay and hold room nowhere. Nothing happens unless it is this
        very node.
        """
        node = self.nodes.get(name)
        if node is None or node.uid != uid:
            return
        del self.nodes[name]
        self._recut(name)
        self.columns.remove(name)
        self._indexes = {}

    def set_pod(self, pod: Pod) -> None:
        """Add the pod or replace the one of that uid."""
        uid = pod.uid
        old = self.pods.pop(uid, None)
        self.pods[uid] = pod
        if self.rosters:
            if old is not None:
                self.rosters.pop(old.group_key, None)
            self._forget(pod)
        if old is None or old.name != pod.name or old.namespace != pod.namespace or old.group != pod.group:
            if old is not None:
                self._unlist(old)
            self._list(pod)
        held = "" if old is None or old.finished else old.node
        holds = "" if pod.finished else pod.node
        stays = old is not None and held == holds and _ask_alike(old, pod)
        if old is not None and held:
            self._withdraw(old, held != holds, stays)
        if holds:
            if held != holds:
                self._by_node.add(holds, uid)
            if pod.shape.pod_anti_affinity:
                self._keep_apart(pod, True)
            if pod.shape.host_ports:
                self._holding.add(pod.shape.host_ports, uid)
            self._charge(pod, 0 if stays else 1)
        if self.zone_of and uid in self.zone_of and node_of(self.zone_of[uid]) != pod.node:
            del self.zone_of[uid]

    def remove_pod(self, uid: str) -> None:
        """Take the pod out; nothing happens when there is none of that uid."""
        pod = self.pods.pop(uid, None)
        if pod is None:
            return
        if pod.node and not pod.finished:
            self._withdraw(pod, True, False)
        self.zone_of.pop(uid, None)
        self.past.forget(uid)
        if self.rosters:
            self.rosters.pop(pod.group_key, None)
            self._forget(pod)
        self._unlist(pod)

    def bind(self, pod_uid: str, node: str, zone: str = "") -> None:
        """Put the pod on the node; ``zone``: the NUMA domain of the node that it was placed in, "" for none.
        KeyError for an unknown uid: a decision names only pods that exist.
        """
        if zone:
            self.zone_of[pod_uid] = zone
        self.set_pod(altered(self.pods[pod_uid], (("node", node),)))
        self.past.place(pod_uid)

    def set_group(self, group: PodGroup) -> None:
        """Open the group or replace it; another uid is another generation, of which nothing has been
        decided yet.
        """
        old = self.groups.get(group.key)
        if old is not None and old.uid != group.uid:
            self.verdicts.pop(group.key, None)
            self.turns.pop(group.key, None)
            self.free_domain(group.key)
        self.groups[group.key] = group
        self.rosters.pop(group.key, None)
        if self.holds:
            self._hold_for_queues(old.queue if old is not None else "", group.queue)

    def close_group(self, key: str, uid: str) -> None:
        """End the generation; nothing happens unless it is the open one."""
        group = self.groups.get(key)
        if group is not None and group.uid == uid:
            del self.groups[key]
            self.verdicts.pop(key, None)
            self.turns.pop(key, None)
            self.free_domain(key)
            self.rosters.pop(key, None)
            if self.holds:
                self._hold_for_queues(group.queue, "")

    def keep(self, record: Record) -> None:
        """Put a record of any kind, with what follows from it."""
        if isinstance(record, Reservation):
            self.reserve(record)
        else:
            self.records.put(record)

    def reserve(self, reservation: Reservation) -> None:
        """Hold room, in place of the reservation of that id if there is one."""
        self.unreserve(reservation.id)
        self.records.put(reservation)
        self.holds.add(reservation)
        for node in reservation.nodes:
            self._hold(node)

    def unreserve(self, id: str) -> None:
        """Nothing happens when there is no such reservation."""
        reservation = self.records.of(Reservation).get(id)
        if reservation is not None:
            self.records.drop(Reservation, id)
            self.holds.drop(reservation)
            for node in reservation.nodes:
                self._hold(node)

    def lifting(self, ids: frozenset[str]) -> ClusterState:
        """A fork in which these reservations, and no others, keep nothing off; the state itself when it is
        so already.
        """
        if ids == self.holds.lifted:
            return self
        other = self.fork()
        other.holds.lifted = ids
        for node, here in self.holds.by_node.items():
            if any((each.id in ids) != (each.id in self.holds.lifted) for each in here):
                other._hold(node)
        return other

    def record_verdict(self, key: str, summary: VerdictSummary) -> None:
        self.verdicts[key] = summary

    def free_domain(self, key: str) -> None:
        """Forget the domain that went away under the group."""
        self.homes.pop(key, None)
        self.lost.pop(key, None)

    def record_turn(self, key: str, turn: Turn) -> None:
        self.turns[key] = turn

    def fork(self) -> ClusterState:
        """An independent copy. What never changes in place is shared, and so are indexes and bars: whoever
        makes one before its nodes change makes it for both.
        """
        other = ClusterState()
        other.seq, other.mode = self.seq, self.mode
        other.gates = self.gates.copy()
        self.nodes, self.pods = settled(self.nodes), settled(self.pods)
        other.nodes = self.nodes.copy()
        other.pods = self.pods.copy()
        other.groups = self.groups.copy()
        other.verdicts = self.verdicts.copy()
        other.turns = self.turns.copy()
        other.homes, other.lost = self.homes.copy(), self.lost.copy()
        other.columns = self.columns.copy()
        other._by_group = self._by_group.copy()
        other._by_node = self._by_node.copy()
        other._apart, other.apart_as_of = self._apart.copy(), self.apart_as_of
        other.ever_apart = self.ever_apart
        other._holding = self._holding.copy()
        other._uids = self._uids.copy()
        other._indexes = self._indexes
        other._attitudes = self._attitudes.copy()
        other._bars = self._bars
        other._shapes = self._shapes.fork(self.columns.line)
        other._negative = self._negative
        other.rosters = self.rosters.copy()
        other.zone_of = self.zone_of.copy()
        other.past = self.past.fork()
        other.records = self.records.fork()
        other.holds = self.holds.fork()
        other.zone_view = self.zone_view.fork() if self.zone_view is not None else None
        other.stale_zones = self.stale_zones.copy()
        return other

    # --- steps

    def _list(self, pod: Pod) -> None:
        """By its name and under its group, neither of which binding changes."""
        key = pod.key
        uids = self._uids.own()
        uids[key] = (*uids.get(key, ()), pod.uid)
        if pod.group:
            self._by_group.add(pod.group_key, pod.uid)

    def _unlist(self, pod: Pod) -> None:
        key = pod.key
        uids = self._uids.own()
        others = tuple([uid for uid in uids[key] if uid != pod.uid])
        if others:
            uids[key] = others
        else:
            del uids[key]
        if pod.group:
            self._by_group.discard(pod.group_key, pod.uid)

    def _forget(self, pod: Pod) -> None:
        """Drop the rosters that the pod is or was in, and those of other pods of its name, which it may
        replace.
        """
        self.rosters.pop(pod.group_key, None)
        for uid in self._uids.table.get(pod.key, ()):
            if uid in self.pods:
                self.rosters.pop(self.pods[uid].group_key, None)

    def _withdraw(self, pod: Pod, leaves: bool, stays: bool) -> None:
        """Give back what the pod holds. ``leaves``: its node; ``stays``: its successor holds as much."""
        if leaves:
            self._by_node.discard(pod.node, pod.uid)
        if pod.shape.pod_anti_affinity:
            self._keep_apart(pod, False)
        if pod.shape.host_ports:
            self._holding.discard(pod.shape.host_ports, pod.uid)
        if not stays:
            self._charge(pod, -1)

    def _keep_apart(self, pod: Pod, there: bool) -> None:
        apart = (pod.namespace, pod.shape.pod_anti_affinity)
        known = len(self._apart)
        if there:
            self._apart.add(apart, pod.uid)
            self.ever_apart = True
        else:
            self._apart.discard(apart, pod.uid)
        if len(self._apart) != known:
            self.apart_as_of = object()

    def _recut(self, node_name: str) -> None:
        """The node or what is on it changed, which the kept view of its zones must follow."""
        if self.zone_view is not None:
            self.stale_zones.add(node_name)

    def _charge(self, pod: Pod, pods: int) -> None:
        if self.zone_view is not None:
            self._recut(pod.node)
        row = self.columns.slot.get(pod.node)
        if row is not None:
            self.columns.charge(row, pod.shape.requests, pods)
            if pod.node in self.holds.by_node:
                self._hold(pod.node)

    def _hold(self, node_name: str) -> None:
        """Count again what reservations keep off a node, there or not."""
        held = self.holds.renew(node_name, self.pods_on(node_name), self.groups)
        row = self.columns.slot.get(node_name)
        if row is not None:
            self._recut(node_name)
            self.columns.hold(row, held)

    def _hold_for_queues(self, left: str, joined: str) -> None:
        """A group is in another queue: whose reservations its pods use is another matter."""
        if left != joined:
            for node in self.holds.nodes_of_queues():
                self._hold(node)

    def _over_committed_rows(self) -> frozenset[int]:
        version, known = self._negative
        if version == self.columns.version:
            return known
        rows = self.columns.changed_since(version)
        part: NDArray[np.int64] | slice = slice(None) if rows is None else rows
        negative = np.zeros(len(self.columns.pods_on[part]), bool)
        for resource in self.columns.free:
            negative |= self.columns.unheld(resource)[part] < 0
        if rows is None:
            known = frozenset(np.flatnonzero(negative).tolist())
        else:
            known = known.difference(rows.tolist()).union(rows[negative].tolist())
        self._negative = (self.columns.version, known)
        return known

    def _renewed(self, wanted: Eligibility, old: Bars, clock: int) -> Bars:
        bars = np.zeros(self.columns.rows, np.int8)
        bars[: len(old)] = old
        names = self.columns.node
        rows = np.flatnonzero(self.columns.changed > clock)
        if wanted.terms is not None or (wanted.node_selector and len(rows) * _MOST < len(bars)):
            for row in rows.tolist():
                if names[row]:
                    bars[row] = bar(self.nodes[names[row]], wanted)
        else:
            attitudes, of = list(self._attitudes), self.columns.attitude[rows]
            found = np.zeros(len(attitudes) + 1, np.int8)
            anywhere = Eligibility(tolerations=wanted.tolerations)
            for number in set(of.tolist()):
                found[number] = bar(attitudes[number], anywhere)
            bars[rows] = found[of]
            for key, value in wanted.node_selector:
                bars[rows[~self._carry(key, value)[rows]]] = Bar.SELECTOR
        return bars

    def _carry(self, key: str, value: str) -> NDArray[np.bool_]:
        """Rows whose nodes have the label; packed nodes are not made for it."""
        carry = np.zeros(self.columns.rows, bool)
        values, names = packed.labelled(self.nodes, key)
        slot = self.columns.slot
        carry[[slot[name] for name, has in zip(names, values, strict=True) if has == value]] = True
        return carry

    def _attitude(self, node: Node) -> int:
        """The number of what a node says of every member, whatever its labels: bars are few, nodes many."""
        known = Node("", "", taints=node.taints, unschedulable=node.unschedulable, ready=node.ready)
        return self._attitudes.setdefault(known, len(self._attitudes))


def _ask_alike(old: Pod, new: Pod) -> bool:
    return old.shape is new.shape or old.shape.requests == new.shape.requests


def _member_order(pod: Pod) -> tuple[int, int, str, str]:
    return (-pod.priority, pod.created, pod.name, pod.uid)


def _newest(uids: Iterable[str], pods: Mapping[str, Pod]) -> str | None:
    newest: str | None = None
    for uid in uids:
        if newest is None or pods[uid].created >= pods[newest].created:
            newest = uid
    return newest


def _apart(namespace: str, shape: Shape) -> Apart | None:
    return (namespace, shape.pod_anti_affinity) if shape.pod_anti_affinity else None


def _usable_by(node: Node) -> tuple[object, ...]:
    """The part of a node that eligibility looks at."""
    return (node.labels, node.taints, node.unschedulable, node.ready)
