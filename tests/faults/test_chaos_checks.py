"""The checks of `manage.py chaos` see what they are there to see: each is shown what is not right."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection

from chaos import checks
from chaos.journal import Command
from scheduling.ledger import store
from scheduling.ledger.store import Head
from scheduling.locks import LockClass
from scheduling.models import Cluster, NodeRow
from scheduling.services import cycles, nodes, workloads
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.execute import Outcome
from scheduling.services.state import state_of
from tests.services.builders import form, gang, node, pod, stream, text

PREFIX = "api:1:"


@pytest.fixture
def cluster(db: None) -> Cluster:
    """Two racks of two nodes, and a gang of two on one of them."""
    some = [node(f"n{number}", f"r{number // 2}") for number in range(4)]
    import_cluster(
        name="c", request=ImportRequest(text(*some), mode="simulated"), actor="t", command_id=f"{PREFIX}make"
    )
    made = Cluster.objects.get(name="c")
    workloads.submit(cluster=made, form=form("g", 2), actor="t", command_id=f"{PREFIX}g")
    cycles.run_cycle(made.pk)
    return made


def answered(key: str, done: Outcome) -> Command:
    """As the API answers it."""
    events = [
        {"seq": done.first_seq + place, "type": type(event).__name__}
        for place, event in enumerate(done.events)
    ]
    return Command(key, "c", "submit", "POST", "", tries=["200"], answer={"events": events})


@pytest.fixture
def sent(cluster: Cluster) -> dict[str, Command]:
    """All commands of the cluster, as they were answered."""
    head = store.head(cluster.pk).seq
    again = workloads.submit(cluster=cluster, form=form("g", 2), actor="t", command_id=f"{PREFIX}g")
    idle = nodes.uncordon(cluster=cluster, node="n0", actor="t", command_id=f"{PREFIX}idle")
    assert store.head(cluster.pk).seq == head and idle.first_seq > idle.last_seq
    made = Command("make", "c", "make", "POST", "", tries=["200"], answer={"seq": again.first_seq - 1})
    refused = Command("no", "c", "submit", "POST", "", tries=["422"], refusal={"status": 422})
    return {"make": made, "g": answered("g", again), "idle": answered("idle", idle), "no": refused}


def judged(cluster: Cluster, sent: dict[str, Command]) -> list[str]:
    return list(checks.commands(cluster, list(sent.values()), PREFIX))


def test_what_was_answered_and_is_there_is_right(cluster: Cluster, sent: dict[str, Command]) -> None:
    assert judged(cluster, sent) == []


def test_a_command_that_is_lost(cluster: Cluster, sent: dict[str, Command]) -> None:
    sent["lost"] = replace(sent["g"], key="lost", tries=["ConnectionResetError", "201"])
    assert judged(cluster, sent) == [
        "submit lost ['ConnectionResetError', '201']: was acknowledged and is lost"
    ]


def test_a_command_that_was_refused_and_stored(cluster: Cluster, sent: dict[str, Command]) -> None:
    sent["g"] = replace(sent["g"], answer=None, refusal={"status": 422})
    assert len(judged(cluster, sent)) == 1
    assert "was refused, but the log has (" in judged(cluster, sent)[0]


def test_a_command_that_was_never_answered(cluster: Cluster, sent: dict[str, Command]) -> None:
    sent["g"] = replace(sent["g"], answer=None)
    assert judged(cluster, sent) == ["submit g ['200']: was never answered"]


@pytest.mark.parametrize("change", [{"seq": 999}, {"type": "PodRemoved"}])
def test_a_command_that_was_answered_otherwise(
    cluster: Cluster, sent: dict[str, Command], change: dict[str, Any]
) -> None:
    answer = sent["g"].answer
    assert answer is not None
    answer["events"][0] |= change
    assert len(judged(cluster, sent)) == 1
    assert "was acknowledged with" in judged(cluster, sent)[0]


def test_an_import_that_was_answered_at_another_seq(cluster: Cluster, sent: dict[str, Command]) -> None:
    sent["make"].answer = {"seq": 1}
    assert len(judged(cluster, sent)) == 1
    assert "was acknowledged at 1, but is kept as 1 to" in judged(cluster, sent)[0]


def test_a_command_that_nobody_sent(cluster: Cluster, sent: dict[str, Command]) -> None:
    del sent["g"]
    assert judged(cluster, sent) == ["the log has a command g that nobody sent"]


def test_a_head_that_is_not_the_noted_one(cluster: Cluster) -> None:
    head = store.head(cluster.pk)
    assert list(checks.chain(cluster, head)) == []
    wrong = "is not the one that was noted after the round before"
    assert list(checks.chain(cluster, Head(head.seq, bytes(32)))) == [f"event {head.seq} {wrong}"]
    assert list(checks.chain(cluster, Head(head.seq + 1, head.hash))) == [f"event {head.seq + 1} {wrong}"]


def test_a_table_that_the_log_does_not_give(cluster: Cluster) -> None:
    assert list(checks.tables(cluster)) == []
    NodeRow.objects.filter(cluster=cluster, name="n0").update(unschedulable=True)
    assert list(checks.tables(cluster)) == ["nodes n0: unschedulable is True, the log says False"]


def bound(*on: str) -> Any:
    """The state of a gang of three with members on these nodes."""
    members = [pod(f"g-{number}", "g", on=where, cpu="3") for number, where in enumerate(on)]
    some = [node(f"n{number}", f"r{number // 2}", cpu="6") for number in range(4)]
    return stream(*some, gang("g", 3), *members, mode="observed").state


@pytest.mark.parametrize(
    ("on", "sentences"),
    [
        (["n0", "n0", "n1"], []),
        (["", "", ""], []),
        (["n0", "n1", ""], ["default/g has 2 members on nodes, minCount is 3"]),
        (["n0", "n1", "n2"], ["default/g lies in ['r0', 'r1']"]),
        (["n0", "n0", "n0"], ["node n0 is over-committed: ['cpu']"]),
    ],
)
def test_gangs_are_whole_in_one_domain_and_nodes_hold_what_they_have(
    on: list[str], sentences: list[str]
) -> None:
    assert list(checks.law(bound(*on))) == sentences


def test_a_group_that_nobody_decided(cluster: Cluster) -> None:
    assert list(checks.decided(state_of(cluster))) == []
    workloads.submit(cluster=cluster, form=form("h", 2), actor="t")
    assert list(checks.decided(state_of(cluster))) == ["default/h waits, though it fits in r0"]


def test_an_event_that_was_shown_otherwise(cluster: Cluster) -> None:
    hashes = [row.hash.hex() for row in store.stored(cluster.pk)]

    def copied(known: list[str]) -> list[str]:
        auditor: Any = SimpleNamespace(hashes={"c": known})
        return list(checks.copies(cluster, auditor))

    assert copied(hashes) == copied(hashes[:2]) == copied([]) == []
    assert copied(["00", *hashes[1:]]) == ["event 1 was shown with another hash"]
    count = len(hashes)
    assert copied([*hashes, "00"]) == [f"events up to {count + 1} were shown, the log ends at {count}"]


def test_a_lock_that_is_left(db: None) -> None:
    assert list(checks.sessions()) == []
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(%s, 1)", [int(LockClass.CLUSTER_CYCLE)])
    assert list(checks.sessions()) == ["1 advisory locks are held"]


def test_a_transaction_that_is_left(db: None, stack: Any) -> None:
    with stack.connect("tas_owner") as other:
        other.execute("begin")
        assert list(checks.sessions()) == ["sessions idle in a transaction: "]
