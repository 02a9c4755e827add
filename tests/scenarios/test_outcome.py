"""What a result says of a fork: the verdict first, what became of whom, and why somebody waits."""

from __future__ import annotations

from typing import Any

from scheduling.ledger import codec
from scheduling.scenarios.fork import PERSON, Fork, Told
from scheduling.scenarios.outcome import Base, Mark, outcome
from scheduling.scenarios.steps import Part
from scheduling.services.conformance.stream import MemoryStream
from scheduling.wording import decisions
from tests.scenarios.builders import G, racks, step, submit
from tests.services.builders import GPU, RACK, gang, members, node, stream

Json = dict[str, Any]


def result(made: MemoryStream, *steps: Part, profile: str = "exact") -> Json:
    """The result of a scenario of these steps."""
    fork = Fork(made.state, made.now_ms, profile)
    base = Base(made.state.seq, made.now_ms, made.state.mode)
    told: list[Told] = []
    marks: list[Mark] = []
    before = fork.state
    for each in (None, *steps):
        more = fork.begin() if each is None else fork.play(each)
        own = sum(one.actor == PERSON for one in more)
        marks.append(Mark(each.step if each else "", fork.state.seq, fork.now_ms, len(more), own))  # type: ignore[attr-defined]
        told += more
        if each is None:
            before = fork.state.fork()
    found = outcome(
        before=before,
        after=fork.state,
        base=base,
        marks=marks,
        told=told,
        profile=profile,
        timing={"a_us": 1},
    )
    assert codec.canonical(found), "integers only"
    return found


def group(found: Json, key: str) -> Json:
    (one,) = [each for each in (*found["asked"], *found["others"]) if each["key"] == key]
    return one


def test_a_group_that_finds_room_runs_and_harms_nobody() -> None:
    found = result(racks(), submit())
    assert found["verdict"] == {
        "code": "runs", "asked": 1, "running": 1, "waiting": 0, "ended": 0, "harmed": 0, "helped": 0,
    }  # fmt: skip
    new = group(found, "default/new")
    assert (new["role"], new["became"], new["wait_ms"]) == ("submitted", "placed", 0)
    assert new["before"] is None and new["after"]["domains"] == ["r2"]
    assert (new["facts"]["verdict"], new["facts"]["domain"], new["facts"]["enforced"]) == (
        "placed",
        "r2",
        True,
    )
    assert new["evidence"] is None
    assert found["others"] == []
    assert found["before"]["used"] + 4 == found["after"]["used"]
    assert found["after"]["running"] == 2


def test_a_group_that_waits_comes_with_the_funnel_and_what_each_domain_lacks() -> None:
    found = result(racks(), submit(templates=[{"count": 3, "requests": {GPU: "3"}}], min_count=3))
    assert found["verdict"]["code"] == "waits"
    new = group(found, "default/new")
    assert new["became"] == "waits"
    assert (new["facts"]["verdict"], new["facts"]["reason"]) == ("proved_infeasible", "never_fits")
    assert new["evidence"]["funnel"][0] == 2
    nearest = new["evidence"]["domains"][0]
    assert (nearest["domain"], nearest["fits"], nearest["short"], nearest["never"]) == ("r2", 2, 1, True)
    assert nearest["short_of"][0][0] == GPU
    assert found["steps"][0]["refused"] == ["default/new"]


def test_groups_whose_nodes_are_lost_are_hit_and_stop() -> None:
    found = result(racks(), step("lose_nodes", key=RACK, domain="r1"))
    hit = group(found, G)
    assert (hit["role"], hit["became"], hit["facts"]["reason"]) == ("hit", "stopped", "domain_lost")
    assert found["verdict"]["code"] == "waits"
    assert found["difference"]["tally"]["node"]["left"] == {"count": 2, "names": ["n0", "n1"]}
    assert found["difference"]["lost"] == [[G, "r1"]]
    assert found["difference"]["counts"]["node"] == 2


def test_others_that_gain_or_lose_by_it_are_told_apart() -> None:
    made = racks(
        gang("w", 2, priority=5), *members("w", 2, gpu=4), gang("late", 2), *members("late", 2, gpu=4)
    )
    found = result(made, step("end_group", group=G))
    assert group(found, G)["became"] == "ended"
    assert group(found, G)["closed"] == "ended"
    late = group(found, "default/late")
    assert (late["role"], late["became"], late["after"]["domains"]) == (
        "other", "placed", group(found, G)["before"]["domains"]
    )  # fmt: skip
    assert late["wait_ms"] is not None
    assert found["verdict"] == {
        "code": "unharmed", "asked": 1, "running": 0, "waiting": 0, "ended": 1, "harmed": 0, "helped": 1,
    }  # fmt: skip


def test_a_group_that_runs_while_another_stopped_runs_at_a_cost() -> None:
    """A node of a running gang gets the label of another rack: its members lie in two."""
    small = [{"count": 1, "requests": {GPU: "1"}}]
    relabelled = step("set_label", node="n1", label=RACK, value="r9")
    found = result(racks(), relabelled, submit(min_count=1, templates=small))
    assert group(found, "default/new")["became"] == "placed"
    stopped = group(found, G)
    assert (stopped["role"], stopped["became"], stopped["after"]["status"]) == ("other", "stopped", "error")
    assert stopped["after"]["domains"] == ["r1", "r9"]
    assert (found["verdict"]["code"], found["verdict"]["harmed"]) == ("runs_at_cost", 1)
    assert result(racks(), relabelled)["verdict"]["code"] == "harmed"


def test_a_new_generation_that_runs_elsewhere_moved() -> None:
    found = result(
        racks(), step("cordon", key=RACK, domain="r1"), step("change_min_count", group=G, min_count=1)
    )
    moved = group(found, G)
    assert (moved["role"], moved["became"]) == ("changed", "moved")
    assert (moved["before"]["domains"], moved["after"]["domains"]) == (["r1"], ["r2"])
    assert moved["generation"] == 2


def test_of_an_observed_cluster_before_is_after_its_forecasts_came_true() -> None:
    made = stream(node("n0", gpu=4), gang("w", 1), *members("w", 1, gpu=4), mode="observed")
    made.settle()
    found = result(made, step("cordon", node="n0"))
    assert found["base"]["mode"] == "observed"
    assert found["begun"]["placed"] == ["default/w"]
    assert found["before"]["running"] == found["after"]["running"] == 1
    assert found["others"] == []
    assert found["verdict"]["code"] == "unharmed"


def test_each_step_tells_what_it_did_itself_and_what_followed() -> None:
    found = result(racks(), step("cordon", node="n3"), step("cordon", node="n3"), submit())
    assert [(one["step"], one["own"]) for one in found["steps"]] == [
        ("cordon", 1),
        ("cordon", 0),
        ("submit", 3),
    ]
    assert found["steps"][2]["events"] == 4
    assert found["steps"][2]["seq"] == found["end"]["seq"]
    assert [one["placed"] for one in found["steps"]] == [[], [], ["default/new"]]


def test_time_that_a_group_waited_in_the_fork_is_counted_from_the_step_that_touched_it() -> None:
    found = result(
        racks(), step("cordon", key=RACK, domain="r2"), submit(), step("advance_clock", seconds=90),
        step("uncordon", key=RACK, domain="r2"),
    )  # fmt: skip
    assert group(found, "default/new")["wait_ms"] == 90_000
    waiting = result(
        racks(), step("cordon", key=RACK, domain="r2"), submit(), step("advance_clock", seconds=90)
    )
    assert group(waiting, "default/new")["wait_ms"] == 90_000


def test_sentences_are_made_of_the_facts_of_a_result() -> None:
    found = result(racks(), submit(templates=[{"count": 3, "requests": {GPU: "3"}}], min_count=3))
    said = decisions.sentences(decisions.facts_of_result(group(found, "default/new")["facts"]))
    assert said.headline == "No rack could hold 3 members, not even an empty one."
    assert said.details[0].startswith("Best is r2 with 2 of 3; short of ")
    found = result(racks(), submit())
    said = decisions.bound_sentences(decisions.facts_of_result(group(found, "default/new")["facts"]))
    assert said.headline == "2 of 2 members are bound in rack r2; minCount is 2."
