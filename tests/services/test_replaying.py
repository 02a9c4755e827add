"""What was decided is decided again, byte for byte; what is not is shown by its event and field."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command

from scheduling.engine.state import ClusterState
from scheduling.engine.version import ENGINE
from scheduling.ledger import events as e
from scheduling.ledger import store
from scheduling.ledger.events import Decided, Event
from scheduling.models import Cluster
from scheduling.services import cycles, nodes, workloads
from scheduling.services.clusters import set_mode
from scheduling.services.conformance.cases import perform, read_cases
from scheduling.services.deciding import cycle_events
from scheduling.services.problems import Refused
from scheduling.services.replaying import Cycle, Difference, Replay, replay_stream, replayed
from scheduling.services.submitting import MemberTemplate
from tests.services.builders import GPU, as_recorded, form, gang, members, node, stream, text
from tests.services.test_random_commands import COMMANDS, NAMES

CASES = Path(__file__).parents[1] / "conformance"


def again(events: Sequence[Event]) -> list[Cycle]:
    return list(replayed(ClusterState(), as_recorded(events)))


def differences(found: list[Cycle]) -> list[Difference]:
    return [item for cycle in found for item in cycle.differences]


@pytest.fixture
def history() -> list[Event]:
    """Two gangs, of which the second finds no room, then a node for it; two cycles."""
    made = stream(
        node("a", gpu=4),
        node("b", gpu=4),
        gang("g", 2),
        *members("g", 2, gpu=4),
        gang("h", 1),
        *members("h", 1, gpu=4),
    )
    made.commit(cycle_events(made.state, made.now_ms))
    made.import_data(text(node("c", "r2", gpu=4)))
    made.commit(cycle_events(made.state, made.now_ms))
    return made.events


def place(history: Sequence[Event], kind: type[Event]) -> int:
    """Where in the history the only event of the type is."""
    (found,) = [number for number, event in enumerate(history) if isinstance(event, kind)]
    return found


def test_each_decision_tells_its_engine_and_the_state_it_was_made_on(history: list[Event]) -> None:
    told = [
        (seq, event.engine, event.decided_on)
        for seq, event in enumerate(history, 1)
        if isinstance(event, Decided)
    ]
    first = told[0][0]
    assert told == [
        (first, ENGINE, first - 1),
        (first + 1, ENGINE, first - 1),
        (len(history), ENGINE, len(history) - 1),
    ]


def test_a_history_is_decided_again_as_it_was(history: list[Event]) -> None:
    found = again(history)
    assert [(cycle.last - cycle.first + 1, cycle.engine, cycle.differences) for cycle in found] == [
        (2, ENGINE, ()),
        (1, ENGINE, ()),
    ]


def test_a_decision_that_was_altered_is_shown_with_its_field(history: list[Event]) -> None:
    number = place(history, e.PodGroupUnschedulable)
    refused = history[number]
    assert isinstance(refused, e.PodGroupUnschedulable)
    table = replace(refused.table, fits=(7, *refused.table.fits[1:]))
    history[number] = replace(refused, need=3, reason="taint", table=table)
    assert differences(again(history)) == [
        Difference(number + 1, "need", 3, 1),
        Difference(number + 1, "reason", "taint", "capacity"),
        Difference(number + 1, "table.fits[0]", 7, 0),
    ]


def test_a_placement_on_another_node_is_shown_and_what_follows_is_decided_on_it(history: list[Event]) -> None:
    number = len(history) - 1
    placed = history[number]
    assert isinstance(placed, e.PodGroupPlaced)
    ((uid, name, _),) = placed.assignments
    history[number] = replace(placed, assignments=((uid, name, "a"),))
    assert differences(again(history)) == [Difference(number + 1, "assignments[0][2]", "a", "c")]


def test_a_decision_that_nobody_would_make_is_shown(history: list[Event]) -> None:
    held = e.PodGroupHeld("default", "g", "u", 1, "not_enough_pods", 2, 1, 0, ENGINE, len(history))
    assert differences(again([*history, held])) == [
        Difference(len(history) + 1, "", "PodGroupHeld default/g", None)
    ]


def test_a_decision_of_another_kind_is_shown(history: list[Event]) -> None:
    number = place(history, e.PodGroupUnschedulable)
    refused = history[number]
    assert isinstance(refused, e.PodGroupUnschedulable)
    history[number] = e.PodGroupHeld(
        "default", "h", refused.uid, 1, "not_enough_pods", 1, 1, 0, ENGINE, refused.decided_on
    )
    assert differences(again(history)) == [
        Difference(number + 1, "", "PodGroupHeld default/h", "PodGroupUnschedulable default/h")
    ]


def test_decisions_in_another_order_are_shown(history: list[Event]) -> None:
    number = place(history, e.PodGroupUnschedulable)
    history[number - 1 : number + 1] = [history[number], history[number - 1]]
    assert differences(again(history)) == [
        Difference(number, "order", "PodGroupUnschedulable default/h", "PodGroupPlaced default/g")
    ]


@pytest.mark.parametrize("mode", ["simulated", "observed"])
def test_a_cycle_that_was_cut_off_is_decided_again_as_far_as_it_came(mode: str) -> None:
    gangs = [one for name in "fgh" for one in (gang(name, 1), *members(name, 1, gpu=2))]
    made = stream(node("a", gpu=4), *gangs, mode=mode)
    told = cycle_events(made.state, made.now_ms)
    assert len(told) == 3
    for number in (1, 2, 3):
        (cycle,) = again([*made.events, *told[:number]])
        assert (cycle.last - cycle.first + 1, cycle.differences) == (number, ())


def test_a_decision_that_was_taken_out_is_shown_where_it_mattered() -> None:
    gangs = [one for name in "fgh" for one in (gang(name, 1), *members(name, 1, gpu=2))]
    made = stream(node("a", gpu=4), *gangs)
    first, _, refused = cycle_events(made.state, made.now_ms)
    (difference, *_) = differences(again([*made.events, first, refused]))
    assert difference == Difference(
        len(made.events) + 2, "", "PodGroupUnschedulable default/h", "PodGroupPlaced default/h"
    )


def test_a_decision_on_a_state_that_is_not_right_before_it_is_shown(history: list[Event]) -> None:
    last = history[-1]
    assert isinstance(last, e.PodGroupPlaced)
    history[-1] = replace(last, decided_on=3)
    assert differences(again(history)) == [Difference(len(history), "decided_on", 3, len(history) - 1)]


def test_decisions_of_another_engine_are_told_and_not_compared(history: list[Event]) -> None:
    number = place(history, e.PodGroupUnschedulable)
    for at in (number - 1, number):
        history[at] = replace(history[at], engine="1", decided_on=None, need=2)  # type: ignore[call-arg]
    sums = Replay()
    for cycle in again(history):
        assert cycle.differences == ()
        sums.count(cycle, 1)
    assert (sums.decisions, dict(sums.others)) == (1, {"1": 2})


def test_a_profile_that_nobody_knows_is_a_difference_like_any_other(history: list[Event]) -> None:
    last = history[-1]
    assert isinstance(last, e.PodGroupPlaced)
    history[-1] = replace(last, profile="guess")
    assert differences(again(history)) == [Difference(len(history), "profile", "guess", "exact")]


@pytest.mark.parametrize("profile", ["upstream-1.36", "upstream-1.37"])
def test_decisions_in_another_profile_are_made_again_in_it(profile: str) -> None:
    made = stream(node("a", gpu=4), node("b", "r2", gpu=4), gang("g", 2), *members("g", 2, gpu=3))
    made.commit(cycle_events(made.state, made.now_ms, profile=profile))
    (cycle,) = again(made.events)
    assert cycle.differences == ()


@pytest.mark.parametrize("profile", ["exact", "upstream-1.36"])
@pytest.mark.parametrize("file", sorted(path.name for path in CASES.glob("*.jsonl")))
def test_every_conformance_case_is_decided_again(file: str, profile: str) -> None:
    decisions = 0
    for case in read_cases(CASES / file):
        made = stream()
        for stage in case["stages"]:
            perform(made, stage, case["directory"])
            made.settle(profile)
        for cycle in again(made.events):
            assert cycle.differences == (), case["name"]
            decisions += cycle.last - cycle.first + 1
    assert decisions > 0


# --- on the log


def submit(cluster: Cluster, name: str, count: int, gpu: int = 1) -> None:
    template = MemberTemplate("", count, {"cpu": "1", GPU: str(gpu)})
    workloads.submit(cluster=cluster, form=form(name, count, templates=(template,)), actor="t")


def replay_of(cluster: Cluster, **more: int) -> tuple[int, list[Difference]]:
    """How many decisions were made again, and what differs."""
    sums, found = Replay(), list[Difference]()
    for cycle in replay_stream(cluster.pk, **more):
        sums.count(cycle, more.get("first", 1))
        found += cycle.differences
    assert not sums.others
    return sums.decisions, found


def recorded_decisions(cluster: Cluster, first: int = 1, last: int | None = None) -> int:
    return sum(isinstance(item.event, Decided) for item in store.read(cluster.pk, first - 1, last))


def other_mode(cluster: Cluster, dice: random.Random) -> None:
    set_mode(cluster=cluster, mode=dice.choice(["simulated", "observed"]), actor="t")


@pytest.mark.parametrize("commands", [COMMANDS, [*COMMANDS, other_mode]], ids=["simulated", "both modes"])
@pytest.mark.parametrize("seed", range(4))
def test_cycles_between_any_commands_are_decided_again(
    seed: int, commands: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also from the middle, up to the middle, and with appends of one and two decisions."""
    dice = random.Random(f"{len(commands)} {seed}")
    monkeypatch.setattr(cycles, "BATCH", 1 + seed % 2)
    cluster = make(*(node(name, dice.choice(["r1", "r2"]), gpu=4) for name in NAMES))
    for number in range(5, 9):
        submit(cluster, f"g{number}", dice.randint(1, 6), 2)
    for _ in range(90):
        try:
            dice.choice(commands)(cluster, dice)
        except Refused:
            continue
    cycles.run_cycle(cluster.pk)
    decisions = recorded_decisions(cluster)
    assert decisions > 8
    assert replay_of(cluster) == (decisions, [])
    head = store.head(cluster.pk).seq
    for _ in range(10):
        first = dice.randint(1, head)
        last = dice.randint(first, head)
        assert replay_of(cluster, first=first, last=last) == (recorded_decisions(cluster, first, last), [])


def disturbed(monkeypatch: pytest.MonkeyPatch, disturb: Callable[[int], None]) -> None:
    """Do something before the append of a cycle with that number."""
    original, count = cycles._append, 0

    def append(stream_id: int, seq: int, batch: Any, now: int) -> int:
        nonlocal count
        count += 1
        disturb(count)
        return original(stream_id, seq, batch, now)

    monkeypatch.setattr(cycles, "_append", append)


def test_a_cycle_that_others_cut_off_and_that_decided_again_is_decided_again(
    make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At one time, so that only what they say of their state tells the attempts apart."""
    monkeypatch.setattr(cycles, "BATCH", 2)
    cluster = make(node("a", gpu=8), node("b", "r2", gpu=3))
    for number in range(8):
        submit(cluster, f"g{number}", 2)

    def cordon(count: int) -> None:
        """Twice in a row too: then one append is made with the head locked."""
        if count in (2, 4, 5):
            (nodes.uncordon if count == 4 else nodes.cordon)(cluster=cluster, node="b", actor="t")

    disturbed(monkeypatch, cordon)
    cycles.run_cycle(cluster.pk, clock=lambda: 1_800_000_000_000)
    decisions = recorded_decisions(cluster)
    assert decisions >= 6
    assert (
        len({item.event.decided_on for item in store.read(cluster.pk) if isinstance(item.event, Decided)}) > 2
    )
    assert replay_of(cluster) == (decisions, [])


@pytest.mark.parametrize("mode", ["simulated", "observed"])
def test_a_cycle_that_died_between_its_appends_and_the_one_after_it_are_decided_again(
    mode: str, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing lies between the two, and the second one knows nothing of the room that the first one took."""
    monkeypatch.setattr(cycles, "BATCH", 2)
    cluster = make(node("a", gpu=4))
    for number in range(5):
        submit(cluster, f"g{number}", 2)
    if mode == "observed":
        set_mode(cluster=cluster, mode="observed", actor="t")

    def die(count: int) -> None:
        if count == 2:
            raise KeyboardInterrupt

    disturbed(monkeypatch, die)
    with pytest.raises(KeyboardInterrupt):
        cycles.run_cycle(cluster.pk, clock=lambda: 1_800_000_000_000)
    cycles.run_cycle(cluster.pk, clock=lambda: 1_800_000_000_000)
    bases = [item.event.decided_on for item in store.read(cluster.pk) if isinstance(item.event, Decided)]
    assert len(set(bases)) == 2
    assert replay_of(cluster) == (len(bases), [])
    first = store.head(cluster.pk).seq
    assert replay_of(cluster, first=first) == (1, []), "from the middle of a cycle"


def test_a_first_event_that_is_not_there_is_named(make: Any) -> None:
    cluster = make(node("a"))
    head = store.head(cluster.pk).seq
    for first in (0, head + 1):
        with pytest.raises(LookupError, match=f"there is no event {first} in stream {cluster.pk}"):
            list(replay_stream(cluster.pk, first))


# --- the command


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("replay", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def written(make: Any) -> tuple[Cluster, int]:
    """A cluster with one placement, and the seq of that."""
    cluster = make(node("a", gpu=4))
    submit(cluster, "g", 2)
    cycles.run_cycle(cluster.pk)
    return cluster, store.head(cluster.pk).seq


def rewrite(cluster: Cluster, seq: int, old: str, new: str) -> None:
    """As the owner who switched the triggers off, with the hashes made anew: the chain is sound."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"alter table scheduling_event_{cluster.pk}_0 disable trigger append_only_rows")
        cursor.execute(
            "update scheduling_event set body = replace(body, %s, %s) where stream_id = %s and seq = %s",
            [old, new, cluster.pk, seq],
        )
        assert cursor.rowcount == 1
        row = next(store.stored(cluster.pk, after=seq - 1))
        for table in ("scheduling_event", "scheduling_streamhead"):
            cursor.execute(
                f"update {table} set hash = %s where stream_id = %s and seq = %s",
                [row.computed_hash(), cluster.pk, seq],
            )


def test_the_command_tells_how_many_decisions_it_made_again(written: tuple[Cluster, int]) -> None:
    _, seq = written
    assert f"cluster c, events 1 to {seq}: 1 decision made again, 0 differ; " in run("c")
    assert "decisions/s" in run("c")
    assert "0 decisions made again" in run("c", "--to", str(seq - 1))
    document = orjson.loads(run("c", "--from", str(seq), "--json"))
    assert document.pop("seconds") >= 0
    assert document == {
        "cluster": "c",
        "from": seq,
        "to": seq,
        "engine": ENGINE,
        "decisions": 1,
        "other_engines": {},
        "differences": [],
    }


def test_a_decision_in_a_log_that_was_rewritten_whole_is_shown(written: tuple[Cluster, int]) -> None:
    cluster, seq = written
    rewrite(cluster, seq, '"need":2', '"need":1')
    out = StringIO()
    with pytest.raises(
        CommandError, match="cluster c: 1 recorded decisions differ from what is decided here"
    ):
        call_command("replay", "c", stdout=out)
    assert f"event {seq}: need was recorded as 1, is decided as 2\n" in out.getvalue()
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("replay", "c", "--json", stdout=out)
    assert orjson.loads(out.getvalue())["differences"] == [
        {"seq": seq, "field": "need", "recorded": 1, "replayed": 2}
    ]


def test_a_decision_of_another_engine_is_no_fault(written: tuple[Cluster, int]) -> None:
    cluster, seq = written
    rewrite(cluster, seq, f'"engine":"{ENGINE}"', '"engine":"99"')
    assert (
        f"1 decision of engine 99, not compared: this console has engine {ENGINE}\n"
        f"cluster c, events 1 to {seq}: 0 decisions made again, 0 differ; "
    ) in run("c")


def test_wrong_arguments_are_named(written: tuple[Cluster, int]) -> None:
    _, seq = written
    with pytest.raises(CommandError, match="there is no cluster nowhere"):
        run("nowhere")
    for arguments in (["--from", "0"], ["--to", str(seq + 1)], ["--from", "3", "--to", "2"]):
        with pytest.raises(CommandError, match=f"the log of cluster c has events 1 to {seq}, not"):
            run("c", *arguments)
