"""Tables, state and rebuild agree, whatever happened to the cluster."""

from collections.abc import Iterator

from django.db import transaction
from hypothesis import HealthCheck, given, settings

from scheduling.engine import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.status import group_status
from scheduling.ledger import fold, store
from scheduling.ledger.store import Recorded
from scheduling.projections import commit, rebuild, writer
from scheduling.projections.tables import Tables
from tests.projections.histories import Commit, histories

NOW = 1_800_000_000_000


def recorded(history: list[Commit]) -> Iterator[list[Recorded]]:
    """The commits as the log would have them, one second apart."""
    seq = 0
    for number, events in enumerate(history):
        now = NOW + 1_000 * number
        group = []
        for event in events:
            seq += 1
            group.append(
                Recorded(1, seq, event, "a", f"c{number}", None, now, now, store.GENESIS, store.GENESIS)
            )
        yield group


@settings(max_examples=200, deadline=None)
@given(histories())
def test_after_every_commit_the_tables_say_what_the_state_says(history: list[Commit]) -> None:
    state, tables = ClusterState(), Tables(whole=True)
    for events in recorded(history):
        fold.fold(state, events)
        commit.apply(tables, events)
        agree_on_groups(state, tables)
        agree_on_nodes(state, tables)
        agree_on_pods(state, tables)


def agree_on_groups(state: ClusterState, tables: Tables) -> None:
    rows = {row.key: row for row in tables.groups.rows.values() if not row.closed}
    assert len(rows) == sum(1 for row in tables.groups.rows.values() if not row.closed)
    assert sorted(rows) == state.group_keys()
    for key, row in rows.items():
        who = roster.roster(state, key)
        assert row.status == group_status(state, key)
        assert (row.members, row.bound, row.need, row.degraded) == (
            who.known,
            len(who.bound),
            who.need,
            who.degraded,
        )
        assert tuple(row.unmodelled) == who.unmodelled
        assert (row.waiting_since is None) == (row.status not in ("pending", "held", "error"))
        verdict = state.verdicts.get(key)
        group = state.groups.get(key)
        if group is not None:
            assert (row.uid, row.generation, row.min_count) == (group.uid, group.generation, group.min_count)
            if row.decision_seq is not None:
                assert verdict is not None
                assert (row.verdict, row.reason, row.domain, row.fits) == (
                    verdict.verdict, verdict.reason, verdict.domain, verdict.fits,
                )  # fmt: skip


def agree_on_nodes(state: ClusterState, tables: Tables) -> None:
    assert {name for name, row in tables.nodes.rows.items() if not row.removed} == set(state.nodes)
    assert sorted(row.index for row in tables.nodes.rows.values()) == list(range(len(tables.nodes.rows)))
    for name, node in state.nodes.items():
        row = tables.nodes.rows[name]
        assert (row.uid, row.labels, row.allocatable) == (node.uid, dict(node.labels), dict(node.allocatable))
        assert (row.unschedulable, row.ready) == (node.unschedulable, node.ready)
        assert row.zones == [[zone.name, dict(zone.allocatable)] for zone in node.zones]
        used = {resource: amount for resource, amount in state.used(name).items() if amount}
        assert row.used == used
        pods = state.pods_on(name)
        assert sum(pods_there for _, pods_there, _ in row.occupants) == len(pods)
        assert {key for key, _, _ in row.occupants} == {pod.group_key for pod in pods}
        assert row.gpus_used == sum(gpus for _, _, gpus in row.occupants) == used.get("nvidia.com/gpu", 0)


def agree_on_pods(state: ClusterState, tables: Tables) -> None:
    live = {uid: row for uid, row in tables.pods.rows.items() if not row.removed}
    assert set(live) == set(state.pods)
    for uid, pod in state.pods.items():
        row = live[uid]
        assert (row.node, row.group, row.phase, row.terminating) == (
            pod.node,
            pod.group,
            pod.phase,
            pod.terminating,
        )
        assert row.requests == dict(pod.shape.requests)
        assert row.zone == state.zone_of.get(uid, "")


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(history=histories())
def test_following_the_log_and_rebuilding_from_it_give_the_same_rows(db: None, history: list[Commit]) -> None:
    with transaction.atomic():
        stream = store.open_stream("cluster", "demo")
        seq = 0
        for number, events in enumerate(history):
            with transaction.atomic():
                done = store.append(
                    stream, seq, events, actor="a", command_id=f"c{number}", now=NOW + 1_000 * number
                )
                writer.project(stream, done.recorded)
            seq = done.last
        assert rebuild.compare(stream) == []
        assert rebuild.rebuild(stream) == seq
        assert rebuild.compare(stream) == []
        transaction.set_rollback(True)
