"""Every code has a sentence in both languages, and no sentence claims more than the decision says."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from django.utils.translation import override

from scheduling.engine.canary import Limit, Measured, Scope
from scheduling.engine.eligibility import BAR_CODE
from scheduling.engine.model import Node, Pod, PodGroup, PodGroupTemplate, Shape, Workload
from scheduling.engine.queues import Queue
from scheduling.engine.reasons import MEANINGS, Reason, Verdict
from scheduling.engine.reservations import Reservation
from scheduling.ledger import codec
from scheduling.ledger import events as log
from scheduling.services import problems as services
from scheduling.services.problems import Problem
from scheduling.wording import canary, decisions, events, preemption, problems, units, words
from scheduling.wording.decisions import Facts
from tests.ledger.examples import EXAMPLES, NODE_TYPE, OPTION

RACK = "topology.example.com/rack"
GPU = "nvidia.com/gpu"
SHORT = (("nvidia.com/gpu", 8),)
NODE = Node("n1", "u1", allocatable=(("cpu", 64000), ("memory", 1 << 38), ("nvidia.com/gpu", 8)))
POD = Pod("team-a", "train-0", "u2", Shape((("pods", 1),)), group="train")
GROUP = PodGroup("team-a", "train", "u3", min_count=8, topology_key=RACK)
TABLE = log.DomainTable((), (), (), (), (), (), (), (), ())

PLACED: dict[str, Any] = {
    "namespace": "team-a",
    "name": "train",
    "uid": "u3",
    "generation": 1,
    "profile": "exact",
    "topology_key": RACK,
    "enforced": True,
    "domain": "rack-1",
    "need": 8,
    "members": 8,
    "fits": 8,
    "assignments": (),
}

WHEN = 1_800_000_000_000

EVENTS: list[log.Event] = [
    log.ClusterRegistered("lab", "simulated", (("GangScheduling", True),)),
    log.ClusterRegistered("lab", "observed", (("GangScheduling", False),)),
    log.ClusterModeChanged("observed"),
    log.FeatureGateChanged("GangScheduling", True),
    log.FeatureGateChanged("GangScheduling", False),
    log.SnapshotImported("00", ("Node",), (("Node", 2),), (("Service", 3),), (("Pod", "a/b", "spec", "no"),)),
    log.EventsArchived(1, 1_000_000, 0, 900_000, "cd" * 32, "demo.ndjson.gz", 123_456_789, "ef" * 32),
    log.EventsRestored(1, 1_000_000, "demo.ndjson.gz", "ef" * 32),
    log.NodeAdded(NODE),
    log.NodeUpdated("n1", "u1", (("unschedulable", True),)),
    log.NodeUpdated("n1", "u1", (("unschedulable", False),)),
    log.NodeUpdated("n1", "u1", (("ready", True),)),
    log.NodeUpdated("n1", "u1", (("ready", False),)),
    log.NodeUpdated("n1", "u1", (("labels", ()), ("ready", True))),
    log.NodeRemoved("n1", "u1"),
    log.WorkloadAdded(Workload("team-a", "train", "u4", (PodGroupTemplate("w", "gang", 8, RACK),))),
    log.PodGroupCreated(GROUP),
    log.PodGroupCreated(dataclasses.replace(GROUP, topology_key="")),
    log.PodGroupCreated(dataclasses.replace(GROUP, generation=2)),
    log.PodGroupCreated(dataclasses.replace(GROUP, generation=2, topology_key="")),
    log.PodGroupUpdated("team-a", "train", "u3", 1, (("min_count", 4),)),
    log.PodGroupUpdated("team-a", "train", "u3", 1, (("priority", 4),)),
    *(log.PodGroupClosed("team-a", "train", "u3", 1, why) for why in words.CLOSE_REASONS),
    log.PodAdded(POD),
    log.PodAdded(POD, replaces="u9"),
    log.PodAdded(dataclasses.replace(POD, node="n1")),
    log.PodAdded(dataclasses.replace(POD, group="", node="n1")),
    log.PodAdded(dataclasses.replace(POD, group="")),
    log.PodUpdated("team-a", "train-0", "u2", (("node", "n1"),)),
    log.PodUpdated("team-a", "train-0", "u2", (("phase", "Running"),)),
    log.PodUpdated("team-a", "train-0", "u2", (("labels", ()),)),
    *(log.PodRemoved("team-a", "train-0", "u2", "n1", "train", why) for why in words.REMOVE_REASONS),
    log.PodGroupPlaced(**PLACED),
    log.PodGroupPlaced(**PLACED | {"enforced": False, "domain": ""}),
    log.PodGroupUnschedulable(
        "team-a", "train", "u3", 1, "exact", RACK, True, "proved_infeasible", "capacity", "rack-1", 8, 8, 0,
        7,
        SHORT, (2, 4, 2, 1, 0), 0, True, (), TABLE,
    ),
    log.PodGroupHeld("team-a", "train", "u3", 1, "not_enough_pods", 8, 3),
    log.PodGroupOverQuota("team-a", "train", "u3", 1, "research", 64, 60, 8, 8, 8, 0),
    log.ReservationMade(
        Reservation("r-7", RACK, "r1", "queue", "research", (("n1", (("cpu", 4000), (GPU, 8))),), None, 7)
    ),
    log.ReservationReleased("r-7", RACK, "r1", "queue", "research", ("n1",), "expired"),
    log.QueueDefined(Queue("research", 10, 64, "fair")),
    log.QueueRemoved("research"),
    log.PodGroupConflicted("team-a", "train", "u3", 1, "conflicting_domains", ("r1", "r2"), ("n9",), 8, 8, 2),
    log.PodGroupSettled("team-a", "train", "u3", 1, 8, 8, 8),
    log.DomainLost("team-a", "train", "u3", 1, RACK, "rack-1", ("n1", "n2")),
    log.PlacementForecast(**PLACED),
    log.PlacementForecast(**PLACED | {"enforced": False, "domain": ""}),
    log.NodeTypeDefined(NODE_TYPE),
    log.NodeTypeDefined(dataclasses.replace(NODE_TYPE, cost=None)),
    log.NodeTypeRemoved("h100"),
    log.ScaleUpPlanned("scale-up-9", ("ml/train",), (OPTION,), 8, 0),
    log.ScaleUpPlanned("scale-up-9", ("ml/train",), (dataclasses.replace(OPTION, unpriced=1), OPTION), 8, 0),
    log.ScaleUpApproved("scale-up-9", 0, 0, ()),
    log.ScaleUpApproved("scale-up-9", 2, 0, ()),
    log.ScaleUpRejected("scale-up-9", ""),
    log.ScaleUpRejected("scale-up-9", "too dear"),
    *(log.ScaleUpExpired("scale-up-9", why) for why in ("time", "placed", "gone")),
    log.ScaleUpCompleted("scale-up-9", ("n1",)),
    *(
        log.ScaleUpShort("scale-up-9", why, 2, ("n1",), "ml/train", reason)
        for why, reason in (
            ("nodes", ""),
            ("group", "capacity"),
            ("group", ""),
            ("not_placed", ""),
            ("gone", ""),
        )
    ),
    log.PreemptionPolicyChanged("propose"),
    *(event for event in EXAMPLES if type(event).__name__ in preemption.SENTENCES),
    log.PreemptionApproved("team-a", "train", "u3", 1, "p9", 0),
    log.PreemptionExpired("team-a", "train", "u3", 1, "p9", "time"),
    log.PreemptionExpired("team-a", "train", "u3", 1, "p9", "not_placed"),
    log.StickyWaitStarted("team-a", "train", "u3", 1, RACK, "rack-1", "sticky_domain", 8, 7, WHEN),
    log.StickyWaitStarted("team-a", "train", "u3", 1, RACK, "rack-1", "domain_lost", 8, 0, WHEN),
    log.StickyWaitStarted("team-a", "train", "u3", 1, RACK, None, "domain_lost", 8, 2, WHEN),
    log.StickyWaitEnded("team-a", "train", "u3", 1, RACK, "rack-1", "placed", WHEN),
    log.StickyWaitEnded("team-a", "train", "u3", 1, RACK, None, "freed", WHEN),
    log.ScenarioSaved("lose-r1", "{}"),
    log.ScenarioRemoved("lose-r1"),
    log.RunRequested("scenario", "lose-r1", 41, "{}"),
    log.RunRequested("batch", "", 41, "{}"),
    log.RunCancelled(3, 2, 5),
    log.RunEnded(3, "{}"),
    log.RunEnded(3, "", "given up"),
    *(event for event in EXAMPLES if type(event).__name__ in canary.SENTENCES),
    log.CanaryStarted(
        "canary-7", "gate", (Scope(groups=("ml/a", "ml/b")),), (Limit("pending_share", 125),), "", 1_000,
        "ask", WHEN,
    ),
    log.CanaryJudged(
        "canary-7", 0, "passed", (Measured("errors", 1, 0, 2, False, "passed"),), 0, 60_000, "automatic"
    ),
    log.CanaryWidened("canary-7", 1, "scope", Scope(("a", "b"), ("ml/a",)), WHEN),
    log.GateRolledBack("canary-7", 0, "person", Scope(("a",)), (), (), 1),
    *(log.CanaryEnded("canary-7", 0, how) for how in ("kept", "observed")),
    log.RolloutFactStated("autoscaler", "karpenter", "runbook"),
    log.RolloutFactStated("autoscaler", "", ""),
    log.RehearsalRun((("GangScheduling", False),), 7, 41, (("moves", 2), ("same", 9))),
    log.MeasurementSent(3, "one_short", "plain", 431, 42_000_000_000, "job 17", WHEN),
    log.MeasurementSent(3, "one_short", "plain", None, 42_000_000_000, "job 17", WHEN),
    log.MeasurementSent(3, "one_short", "plain", 431, None, "job 17", WHEN),
    log.WaitDeadlineSet("team-a", "train", "u3", 1, WHEN, "close"),
    log.WaitDeadlineSet("team-a", "train", "u3", 1, None, "alert"),
    log.WaitDeadlineWithdrawn("team-a", "train", "u3", 1, WHEN),
    log.WaitDeadlineWithdrawn("team-a", "train", "u3", 1, None),
    log.WaitDeadlineExpired("team-a", "train", "u3", 1, WHEN, "propose", WHEN, False, WHEN),
    log.WaitDeadlineExpired("team-a", "train", "u3", 1, WHEN, "alert", WHEN, True, WHEN),
    log.WaitDeadlineLifted("team-a", "train", "u3", 1, WHEN, True),
    log.WaitDeadlineLifted("team-a", "train", "u3", 1, None, False),
    log.WaitPolicyChanged(5_400_000, "close"),
    log.WaitPolicyChanged(None, "alert"),
    log.DomainMarkedLost(RACK, "rack-1", (("n1", "u1", False), ("n2", "u2", True))),
    log.DomainMarkTakenBack(RACK, "rack-1"),
]  # fmt: skip


def facts(**changes: Any) -> Facts:
    given: dict[str, Any] = {
        "verdict": "proved_infeasible",
        "reason": "capacity",
        "topology_key": RACK,
        "enforced": True,
        "domain": "rack-0312",
        "need": 8,
        "members": 8,
        "bound": 0,
        "fits": 7,
        "short_of": SHORT,
    }
    return Facts(**given | changes)


def every_situation() -> Iterator[Facts]:
    for verdict in Verdict:
        for reason in [*Reason, ""]:
            for key, enforced in ((RACK, True), (RACK, False), ("", False)):
                for short in ((), SHORT):
                    for unmodelled in ((), ("hostPorts",)):
                        yield facts(
                            verdict=str(verdict),
                            reason=str(reason),
                            topology_key=key,
                            enforced=enforced,
                            short_of=short,
                            unmodelled=unmodelled,
                        )


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_verdict_and_reason_makes_a_sentence_without_a_hole(language: str) -> None:
    with override(language):
        for situation in every_situation():
            said = decisions.sentences(situation)

            assert said.headline.strip(" .。"), situation
            assert "%(" not in str(said)
            assert "None" not in str(said)


def test_every_code_has_a_word_and_every_reason_its_sentences() -> None:
    assert set(words.VERDICTS) == set(Verdict)
    for table in (words.REASONS, words.REASON_SENTENCES, words.LIFTED_BY):
        assert set(table) == set(Reason) == set(MEANINGS)
    assert set(words.EVENT_TYPES) == set(events.SENTENCES) == set(log.CATALOGUE)
    assert set(words.SUBJECTS) == {kind.SUBJECT for kind in log.CATALOGUE.values()}


def test_every_cause_has_a_word_that_is_not_its_code() -> None:
    for language in ("en", "ja"):
        with override(language):
            assert not [code for code in BAR_CODE.values() if words.cause(code) == code]


def test_every_verdict_has_a_word_of_its_own_in_both_languages() -> None:
    for language in ("en", "ja"):
        with override(language):
            assert len({words.word(words.VERDICTS, verdict) for verdict in Verdict}) == len(Verdict)


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_every_event_has_a_sentence(event: log.Event, language: str) -> None:
    with override(language):
        said = events.sentence(event)

    assert said
    assert "%(" not in said


def test_the_examples_above_leave_no_event_type_out() -> None:
    assert {type(event).__name__ for event in EVENTS} == set(log.CATALOGUE)


def test_the_example_of_the_specification_is_said_in_both_languages() -> None:
    situation = facts(fits_across_domains=True)

    assert str(decisions.sentences(situation)) == (
        "No rack can hold 8 members now. Best is rack-0312 with 7 of 8; short of 8 nvidia.com/gpu."
        " More than one rack together would do, but the one-domain law forbids it."
    )
    with override("ja"):
        assert str(decisions.sentences(situation)) == (
            "今は 1 つのラックに 8 メンバーが収まりません。最大は rack-0312 の 7/8。不足: 8 nvidia.com/gpu。"
            "複数のラックを合わせれば収まりますが、同一ドメイン条件のため配置しません。"
        )


def test_what_was_not_proved_is_not_called_impossible() -> None:
    said = str(decisions.sentences(facts(verdict="not_found", reason="not_found_by_heuristic")))

    assert "no proof" in said
    assert "can hold" not in said
    assert "could hold" not in said


def test_that_several_domains_would_do_is_said_only_where_the_decision_says_so() -> None:
    assert "together would do" not in str(decisions.sentences(facts(fits_across_domains=False)))


def test_never_fits_and_full_now_are_different_sentences() -> None:
    now = decisions.sentences(facts(reason="capacity")).headline
    never = decisions.sentences(facts(reason="never_fits")).headline

    assert "now" in now
    assert "not even an empty one" in never


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_constraint_that_was_not_enforced_is_said_beside_every_verdict(verdict: Verdict) -> None:
    said = decisions.sentences(facts(verdict=str(verdict), enforced=False))

    assert "not enforced" in str(said)
    assert "rack" not in said.headline


def test_what_only_would_be_placed_is_not_said_to_be() -> None:
    planned = decisions.sentences(facts(verdict="placed", reason="", fits=8, planned=True)).headline
    done = decisions.sentences(facts(verdict="placed", reason="", fits=8)).headline

    assert planned == "8 of 8 members would be in rack rack-0312; minCount is 8."
    assert done == "8 of 8 members are in rack rack-0312; minCount is 8."


def test_one_and_many_differ_in_english() -> None:
    assert decisions.sentences(facts(need=1)).headline == "No rack can hold 1 member now."
    assert decisions.sentences(facts(need=2)).headline == "No rack can hold 2 members now."


def test_a_domain_is_called_by_the_last_part_of_its_key() -> None:
    assert words.domain_kind("topology.kubernetes.io/zone") == "zone"
    assert words.domain_kind("example.com/nvl72") == "nvl72"
    with override("ja"):
        assert words.domain_kind(RACK) == "ラック"


def test_a_cause_that_names_a_resource_is_worded_with_it() -> None:
    assert words.cause("capacity:nvidia.com/gpu") == "too little nvidia.com/gpu"
    assert words.cause("cordoned") == "node cordoned"


def test_every_reason_a_service_gives_has_a_word() -> None:
    given = {
        getattr(services, name) for name in ("REQUIRED", "INVALID", "FORBIDDEN", "DUPLICATE", "NOT_FOUND")
    }

    assert given <= set(words.PROBLEMS)


def test_a_problem_names_its_field_its_reason_and_the_exact_message() -> None:
    problem = Problem("Pod", "team-a", "p", "spec.nodeName", services.FORBIDDEN, "the scheduler chooses it")

    assert (
        problems.sentence(problem) == "spec.nodeName: the field is not allowed here. the scheduler chooses it"
    )
    assert problems.subject(problem) == "Pod team-a/p"


def test_the_facts_of_an_event_are_those_it_holds() -> None:
    """Every field that decision events share with the facts is taken over."""
    event = next(event for event in EVENTS if isinstance(event, log.PodGroupUnschedulable))
    taken = events.facts_of_event(event)

    shared = set(typing.get_type_hints(log.PodGroupUnschedulable)) & {
        field.name for field in dataclasses.fields(Facts)
    }
    assert {name: getattr(taken, name) for name in shared} == {name: getattr(event, name) for name in shared}


@pytest.mark.parametrize("event", EXAMPLES, ids=lambda event: type(event).__name__)
def test_a_stored_event_is_told_as_the_event_itself(event: log.Event) -> None:
    told = events.stored_sentence(type(event).__name__, event.VERSION, codec.encode(event))

    assert told == events.sentence(event)


def test_an_event_that_cannot_be_read_is_told_as_such() -> None:
    assert events.stored_sentence("Unheard", 1, "{}") == (
        "A newer version of the console wrote this event (Unheard, version 1); "
        "this one cannot read it, and decides nothing on it."
    )
    assert events.stored_sentence("NodeRemoved", 1, "{}") == (
        "This event is not what the console wrote: NodeRemoved version 1.name: missing"
    )


def test_the_time_that_a_step_took() -> None:
    assert [units.took(ms) for ms in (-5, 12, 999, 1_000, 2_449, 59_999, 66_900, 3_600_000)] == [
        "0 ms", "12 ms", "999 ms", "1 s", "2.4 s", "60 s", "1 min 6 s", "1 h 0 min",
    ]  # fmt: skip
