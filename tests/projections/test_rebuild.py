"""Tables can be made anew from the log, and what is wrong with them is told."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from scheduling.engine.model import Node
from scheduling.ledger import events as e
from scheduling.ledger import store
from scheduling.ledger.fold import BrokenHistory
from scheduling.ledger.store import UnknownStream
from scheduling.models import Cluster, NodeRow, PodGroupRow, PodRow, TableHead
from scheduling.projections import commit, nodes, rebuild, storage, writer
from scheduling.projections.writer import TablesBehind
from tests.ledger.conftest import NOW
from tests.ledger.examples import GROUP, NODE, POD
from tests.projections.conftest import Written


@pytest.fixture
def full(cluster: Written) -> Written:
    """A cluster with something in each table."""
    cluster.commit(
        e.NodeAdded(NODE), e.NodeAdded(Node("n2", "u2")), e.PodGroupCreated(GROUP), e.PodAdded(POD)
    )
    return cluster


def differences(full: Written) -> list[str]:
    return [str(difference) for difference in rebuild.compare(full.stream)]


def test_tables_that_followed_the_log_are_what_it_gives(full: Written) -> None:
    assert differences(full) == []


def test_tables_of_another_version_are_rebuilt_by_name_of_being_behind(full: Written) -> None:
    TableHead.objects.filter(stream=full.stream, name="nodes").update(version=0)
    NodeRow.objects.filter(name="n1").update(unschedulable=not NODE.unschedulable)
    with pytest.raises(TablesBehind):
        full.commit(e.NodeAdded(Node("n3", "u3")))

    first, second = StringIO(), StringIO()
    call_command("rebuild_projections", "--behind", stdout=first)
    call_command("rebuild_projections", "--behind", stdout=second)

    assert "rebuilt at 5" in first.getvalue() and second.getvalue() == ""
    assert differences(full) == []


def test_a_changed_field_is_told(full: Written) -> None:
    NodeRow.objects.filter(name="n1").update(unschedulable=True, used={"cpu": 1})
    assert differences(full) == [
        "nodes n1: unschedulable is True, the log says False",
        "nodes n1: used is {'cpu': 1}, the log says {}",
    ]


def test_a_missing_row_is_told(full: Written) -> None:
    PodRow.objects.all().delete()
    assert differences(full) == ["pods pod-uid-0: is missing"]


def test_a_row_too_many_is_told(full: Written) -> None:
    row = PodGroupRow.objects.get()
    row.pk, row.name = None, "ghost"
    row.save()
    assert differences(full) == ["pod_groups ml/ghost group-uid-1: has no place in the log"]


def test_a_changed_cluster_is_told(full: Written) -> None:
    Cluster.objects.update(mode="observed")
    assert differences(full) == ["clusters demo: mode is 'observed', the log says 'simulated'"]


def test_tables_that_stopped_following_are_told(full: Written) -> None:
    TableHead.objects.filter(name="nodes").update(seq=1)
    (difference,) = rebuild.compare(full.stream)
    assert (difference.table, difference.stored["nodes"], difference.rebuilt["nodes"]) == (
        "positions",
        (nodes.VERSION, 1),
        (nodes.VERSION, 5),
    )


def test_a_rebuild_puts_everything_right(full: Written) -> None:
    NodeRow.objects.filter(name="n1").update(index=7, gpus=99)
    PodRow.objects.all().delete()
    PodGroupRow.objects.update(name="ghost", status="error")
    Cluster.objects.update(gates={})
    TableHead.objects.all().delete()
    assert rebuild.rebuild(full.stream) == full.seq
    assert differences(full) == []
    full.commit(e.NodeRemoved("n2", "u2"))
    assert differences(full) == []


def test_a_rebuild_keeps_the_progress_of_cycles(full: Written) -> None:
    Cluster.objects.update(last_cycle_seq=3)
    rebuild.rebuild(full.stream)
    assert Cluster.objects.get().last_cycle_seq == 3


def test_a_rebuild_leaves_other_clusters_alone(full: Written) -> None:
    with transaction.atomic():
        other = Written(store.open_stream("cluster", "other"))
    other.commit(e.ClusterRegistered("other", "simulated", ()), e.NodeAdded(NODE))
    NodeRow.objects.filter(cluster=other.stream).update(gpus=99)
    rebuild.rebuild(full.stream)
    assert other.node("n1").gpus == 99


def test_an_unknown_stream_is_named(db: None) -> None:
    for call in (rebuild.rebuild, rebuild.compare):
        with pytest.raises(UnknownStream):
            call(404)


def test_tables_that_are_not_where_the_log_is_are_not_written_to(full: Written) -> None:
    with transaction.atomic():
        store.append(full.stream, full.seq, [e.NodeRemoved("n2", "u2")], actor="a", command_id="x", now=NOW)
    full.seq += 1
    with pytest.raises(TablesBehind, match="rebuild_projections"):
        full.commit(e.NodeRemoved("n1", NODE.uid))
    assert store.head(full.stream).seq == full.seq
    assert not full.node("n1").removed


def test_tables_of_other_rules_are_not_written_to(full: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(commit.PROJECTIONS, "nodes", nodes.VERSION + 1)
    with pytest.raises(TablesBehind):
        full.commit(e.NodeRemoved("n2", "u2"))
    rebuild.rebuild(full.stream)
    full.commit(e.NodeRemoved("n2", "u2"))
    assert full.node("n2").removed


def test_an_event_that_contradicts_the_tables_takes_its_append_back(full: Written) -> None:
    with pytest.raises(BrokenHistory):
        full.commit(e.NodeRemoved("n2", "u2"), e.NodeUpdated("n3", "u3", (("ready", False),)))
    assert store.head(full.stream).seq == full.seq
    assert not full.node("n2").removed


def test_no_events_are_nothing_to_project(full: Written) -> None:
    full.commit()
    assert differences(full) == []


@pytest.mark.django_db(transaction=True)
def test_projecting_outside_of_a_transaction_is_refused() -> None:
    with transaction.atomic():
        stream = store.open_stream("cluster", "demo")
        recorded = store.append(
            stream, 0, [e.ClusterRegistered("demo", "simulated", ())], actor="a", command_id="c", now=NOW
        ).recorded
    with pytest.raises(transaction.TransactionManagementError):
        writer.project(stream, recorded)


def test_rows_of_many_statements_are_one_projection(full: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage, "BATCH", 3)
    full.commit(*(e.NodeAdded(Node(f"m{number}", f"u-m{number}")) for number in range(10)))
    assert NodeRow.objects.count() == 12
    assert differences(full) == []


def run(command: str, *arguments: str) -> str:
    out = StringIO()
    call_command(command, *arguments, stdout=out)
    return out.getvalue()


def test_verify_log_says_that_all_is_well_and_prints_the_head(full: Written) -> None:
    with transaction.atomic():
        store.open_stream("site", "site")
    head = store.head(full.stream)
    assert run("verify_log") == (
        f"cluster demo: 5 events, head 5 {head.hash.hex()}\nsite site: 0 events, head 0 {'00' * 32}\n"
    )
    assert run("verify_log", "demo").startswith("cluster demo: 5 events")


def test_verify_log_fails_for_a_broken_chain(full: Written) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"alter table scheduling_event_{full.stream}_0 disable trigger append_only_rows")
        cursor.execute("update scheduling_event set actor = 'user:eve' where seq = 3")
    out = StringIO()
    with pytest.raises(CommandError, match="not as written, or not to be read: cluster demo"):
        call_command("verify_log", stdout=out)
    assert "BROKEN: event 3 of stream" in out.getvalue()


def test_verify_log_fails_for_tables_that_differ_and_a_rebuild_helps(full: Written) -> None:
    NodeRow.objects.filter(name="n1").update(gpus=99)
    out = StringIO()
    with pytest.raises(CommandError, match="not as written, or not to be read: cluster demo"):
        call_command("verify_log", "demo", stdout=out)
    assert "cluster demo: nodes n1: gpus is 99, the log says 8" in out.getvalue()
    assert run("rebuild_projections", "demo") == "cluster demo: rebuilt at 5\n"
    assert "5 events" in run("verify_log", "demo")


def test_verify_log_shows_the_first_differences_and_counts_the_rest(full: Written) -> None:
    full.commit(*(e.NodeAdded(Node(f"m{number}", f"u-m{number}")) for number in range(30)))
    NodeRow.objects.all().delete()
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("verify_log", stdout=out)
    assert out.getvalue().count("is missing") == 20
    assert "and 12 differences more" in out.getvalue()


@pytest.mark.parametrize("command", ["verify_log", "rebuild_projections"])
def test_a_cluster_that_does_not_exist_is_named(db: None, command: str) -> None:
    with pytest.raises(CommandError, match="there is no cluster nowhere"):
        call_command(command, "nowhere")
