"""Keeps the stored tables of a cluster in step with its log, inside the transaction of the append."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from django.db import connection, transaction

from scheduling.ledger import events as e
from scheduling.ledger.binary import binary_cursor
from scheduling.ledger.store import Recorded
from scheduling.projections import commit, objects, stale, storage
from scheduling.projections.storage import GROUPS, NODES, PODS
from scheduling.projections.tables import PodRecord, Tables


class TablesBehind(RuntimeError):
    """The stored tables do not stand right before the events: ``manage.py rebuild_projections`` brings them
    there.
    """


def project(stream_id: int, recorded: Sequence[Recorded]) -> None:
    """Bring the tables over the events of one append, right after it and in its transaction.

    Raises TablesBehind, BrokenHistory; the caller's transaction is then to be rolled back.
    """
    if not recorded:
        return
    if not connection.in_atomic_block:
        raise transaction.TransactionManagementError("project belongs inside the transaction of its append")
    standing = storage.positions(stream_id)
    start = recorded[0].seq - 1
    wanted = {name: (version, start) for name, version in commit.PROJECTIONS.items()}
    if standing != wanted and not (start == 0 and not standing):
        raise TablesBehind(
            f"tables of stream {stream_id} stand at {standing}, needed are {wanted}: rebuild_projections"
        )
    tables = prefetch(stream_id, [item.event for item in recorded])
    for events in commit.commits(recorded):
        commit.apply(tables, events)
    storage.save(stream_id, tables)
    storage.set_positions(stream_id, commit.PROJECTIONS, recorded[-1].seq)


def prefetch(stream_id: int, events: Sequence[e.Event]) -> Tables:
    """As much of the stored tables as the events concern (see ``stale``), in a fixed number of queries."""
    tables = Tables(whole=False)
    tables.cluster = storage.load_cluster(stream_id)
    touched = Touched(events)
    # The pods themselves, others of their names: they tell where they were before, which the events do not.
    # One question for each index: with "or" every row of the cluster would be read.
    found = PODS.load_each(stream_id, "uid = any(%b::text[])", [sorted(touched.pods)])
    named = f"(namespace, name) in {_KEYS} and not removed"
    found += PODS.load_each(stream_id, named, _split(touched.pod_keys))
    nodes = touched.nodes | {pod.node for pod in found if pod.node}
    keys = touched.groups | {pod.group_key for pod in found if pod.group}
    on = PODS.load_each(stream_id, "node = any(%b::text[]) and node <> '' and not removed", [sorted(nodes)])
    keys |= {pod.group_key for pod in on if pod.group and pod.node in touched.changing_nodes}
    if touched.law:
        keys |= {row.key for row in GROUPS.load(stream_id, "not closed")}
    grouped = f"""(namespace, "group") in {_KEYS} and "group" <> '' and not removed"""
    naming = PODS.load_each(stream_id, grouped, _split(keys))
    # Of pods with one name only the newest can be placed, whatever group the others are in.
    known = {pod.uid for pod in (*found, *on, *naming)}
    unbound = {f"{pod.namespace}/{pod.name}" for pod in naming if not pod.node}
    others = f"{named} and not uid = any(%b::text[])"
    namesakes = PODS.load_each(stream_id, others, _split(unbound), sorted(known))
    # Of the nodes that members are on, only the labels and zones are looked at.
    _take_nodes(tables, stream_id, nodes | {pod.node for pod in naming if pod.node}, touched.added_nodes)
    _take_pods(tables, (*found, *on, *naming, *namesakes), asked=touched.pods)
    _take_groups(tables, stream_id, keys, touched.group_objects)
    tables.loaded_nodes, tables.loaded_groups = nodes, keys
    if tables.cluster is not None:
        tables.state.mode = tables.cluster.mode
        tables.state.gates.update(tables.cluster.gates)
        for told in tables.cluster.canaries:
            tables.state.records.put(objects.canary_scope(told))
    return tables


_KEYS = "(select * from unnest(%b::text[], %b::text[]))"


def _split(keys: Collection[str]) -> tuple[list[str], list[str]]:
    """Keys as two arrays, of namespaces and of names."""
    ordered = sorted(keys)
    return [key.partition("/")[0] for key in ordered], [key.partition("/")[2] for key in ordered]


def _take_nodes(tables: Tables, stream_id: int, names: Collection[str], added: Collection[str]) -> None:
    found = NODES.load_each(stream_id, "name = any(%b::text[])", [sorted(names)])
    tables.nodes.load(names, {row.name: row for row in found})
    for row in found:
        if not row.removed:
            tables.state.set_node(objects.node(row))
    if not tables.nodes.rows.keys() >= set(added):
        with binary_cursor() as cursor:
            cursor.execute("select count(*) from scheduling_noderow where cluster_id = %s", [stream_id])
            (tables.next_index,) = cursor.fetchone() or (0,)


def _take_pods(tables: Tables, found: Iterable[PodRecord], asked: Collection[str]) -> None:
    rows = {row.uid: row for row in found}
    tables.pods.load(asked, rows)
    for row in sorted(rows.values(), key=lambda row: row.added_seq):  # of equally old ones the later is newer
        if not row.removed:
            if row.zone:
                tables.state.zone_of[row.uid] = row.zone
            tables.state.set_pod(objects.pod(row))


def _take_groups(
    tables: Tables, stream_id: int, keys: Collection[str], named: Collection[tuple[str, str]]
) -> None:
    found = GROUPS.load_each(stream_id, f"(namespace, name) in {_KEYS} and not closed", _split(keys))
    generations = sorted((key, uid) for key, uid in named if uid)
    those = "(namespace, name, uid) in (select * from unnest(%b::text[], %b::text[], %b::text[]))"
    uids = [uid for _, uid in generations]
    found += GROUPS.load_each(stream_id, those, [*_split([key for key, _ in generations]), uids])
    asked = {*named, *((key, "") for key in keys)}
    tables.groups.load(asked, {(row.key, row.uid): row for row in found})
    for row in found:
        if row.uid and not row.closed:
            tables.state.set_group(objects.pod_group(row))


class Touched:
    """What events name. ``changing_nodes``: those of node events; ``group_objects``: (key, uid)."""

    def __init__(self, events: Iterable[e.Event]) -> None:
        self.pods: set[str] = set()
        self.pod_keys: set[str] = set()
        self.nodes: set[str] = set()
        self.added_nodes: set[str] = set()
        self.changing_nodes: set[str] = set()
        self.groups: set[str] = set()
        self.group_objects: set[tuple[str, str]] = set()
        self.law = False
        for event in events:
            for uid, key in stale.pods_of(event):
                self.pods.add(uid)
                self.pod_keys.add(key)
            self._see(event)

    def _see(self, event: e.Event) -> None:
        match event:
            case _ if isinstance(event, stale.CHANGES_LAW):
                self.law = True
            case e.ReservationMade():
                self.nodes.update(event.reservation.nodes)
            case e.ReservationReleased():
                self.nodes.update(event.nodes)
            case e.NodeAdded():
                self.added_nodes.add(event.node.name)
                self._node(event.node.name)
            case e.NodeUpdated() | e.NodeRemoved():
                self._node(event.name)
            case e.PodAdded():
                self._at(event.pod.namespace, event.pod.node, event.pod.group)
            case e.PodUpdated():
                changes = dict(event.changes)
                self._at(event.namespace, changes.get("node", ""), changes.get("group", ""))
            case e.PodGroupCreated():
                self._group(event.group.namespace, event.group.name, event.group.uid)
            case e.PodGroupPlaced():
                self._group(event.namespace, event.name, event.uid)
                self.nodes.update(node for _, _, node in event.assignments)
            case (
                e.PodGroupUpdated()
                | e.PodGroupClosed()
                | e.PodGroupUnschedulable()
                | e.PodGroupHeld()
                | e.PodGroupOverQuota()
                | e.PodGroupConflicted()
                | e.PodGroupSettled()
                | e.DomainLost()
                | e.PlacementForecast()
            ):
                self._group(event.namespace, event.name, event.uid)

    def _node(self, name: str) -> None:
        self.nodes.add(name)
        self.changing_nodes.add(name)

    def _at(self, namespace: str, node: str, group: str) -> None:
        """Where a pod comes to."""
        if node:
            self.nodes.add(node)
        if group:
            self.groups.add(f"{namespace}/{group}")

    def _group(self, namespace: str, name: str, uid: str) -> None:
        key = f"{namespace}/{name}"
        self.groups.add(key)
        self.group_objects.add((key, uid))
