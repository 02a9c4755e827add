"""Topology spread beside one domain: refused before anything is stored, told where some domain is left."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.kube import manifests as kube
from scheduling.ledger.events import PodAdded, PodGroupUnschedulable
from scheduling.services import spreading
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.problems import Refused
from scheduling.services.submitting import (
    MEMBER_OF,
    MemberTemplate,
    Submission,
    manifest_submission,
    submission,
)
from scheduling.services.workloads import preview
from scheduling.wording import messages
from tests.services.builders import RACK, form, gang, node, pod, stream, text

HOST = "kubernetes.io/hostname"
APP = {"app": "train"}


def rule(key: str, skew: int = 1, when: str = "DoNotSchedule", **more: Any) -> dict[str, Any]:
    return {"topologyKey": key, "maxSkew": skew, "whenUnsatisfiable": when, **more}


def spread_form(*rules: dict[str, Any], count: int = 4, **more: Any) -> Any:
    return form(count=count, templates=(MemberTemplate("", count, {"cpu": "1"}, spread=rules),), **more)


def trainer(name: str, *rules: dict[str, Any], group: str = "g", **more: Any) -> dict[str, Any]:
    made = pod(name, group, metadata={"name": name, "namespace": "default", "labels": APP}, **more)
    spec = made["spec"]
    spec["topologySpreadConstraints"] = [one | {"labelSelector": {"matchLabels": APP}} for one in rules]
    return made


def two_racks(*sizes: int) -> MemoryStream:
    nodes = [node(f"n{rack}-{n}", f"r{rack}") for rack, size in enumerate(sizes, 1) for n in range(size)]
    return stream(*nodes)


def submitted(made: MemoryStream, *objects: dict[str, Any]) -> Submission:
    return manifest_submission(made.state, kube.read(text(*objects)), made.now_ms)


def test_a_form_whose_constraints_leave_no_rack_is_refused_at_its_field() -> None:
    made = two_racks(4, 4)
    for ask in (submission, preview):
        with pytest.raises(Refused) as refused:
            ask(made.state, spread_form(rule(RACK)), made.now_ms)
        (problem,) = refused.value.problems
        assert (problem.kind, problem.name, problem.path) == ("PodGroup", "g", "templates[0].spread[0]")
        assert problem.reason == "FieldValueInvalid"
        assert problem.message == (
            f"members that can come into r1, r2: at most 1 of 4; maxSkew is 1 over {RACK}, of whose domains, "
            "2, r1 holds the fewest pods that match, 0"
        )


def test_members_of_a_form_carry_a_label_that_the_constraints_mean() -> None:
    made = two_racks(4, 4)
    events = submission(made.state, spread_form(rule(HOST)), made.now_ms).events
    pods = [event.pod for event in events if isinstance(event, PodAdded)]
    assert {one.labels for one in pods} == {((MEMBER_OF, "g"),)}
    (constraint,) = pods[0].shape.spread
    assert constraint.selector is not None and constraint.selector[0].values == ("g",)
    long = submission(made.state, spread_form(rule(HOST), name="n" * 90), made.now_ms).events
    assert all(len(dict(event.pod.labels)[MEMBER_OF]) <= 63 for event in long if isinstance(event, PodAdded))
    plain = submission(made.state, form(), made.now_ms).events
    assert all(event.pod.labels == () for event in plain if isinstance(event, PodAdded))


def test_manifests_are_refused_at_the_constraint_of_the_member() -> None:
    made = two_racks(4, 4)
    pods = [trainer(f"g-{n}", rule(HOST, 1, "ScheduleAnyway"), rule(RACK)) for n in range(4)]
    with pytest.raises(Refused) as refused:
        submitted(made, gang("g", 4), *pods)
    (problem,) = refused.value.problems
    assert (problem.kind, problem.name) == ("Pod", "g-0")
    assert problem.path == "spec.topologySpreadConstraints[1]"


def test_each_way_of_being_ruled_out_is_told_with_its_domains() -> None:
    made = two_racks(2, 3, 3)
    pods = [trainer(f"g-{n}", rule(HOST)) for n in range(4)]
    with pytest.raises(Refused) as refused:
        submitted(made, gang("g", 4), *pods)
    told = [problem.message.partition(";")[0] for problem in refused.value.problems]
    assert told == [
        "members that can come into r1: at most 2 of 4",
        "members that can come into r2, r3: at most 3 of 4",
    ]


def test_racks_that_are_left_are_told_and_nothing_is_refused() -> None:
    made = two_racks(4, 3)
    for told in (
        submission(made.state, spread_form(rule(HOST)), made.now_ms).notices,
        preview(made.state, spread_form(rule(HOST)), made.now_ms).notices,
    ):
        left, why = told
        assert (left.message, left.reason) == ("domains that the constraints leave, 1 of 2: r1", "")
        assert why.message.startswith("members that can come into r2: at most 3 of 4;") and not why.reason


def test_a_preference_is_told_and_never_refuses() -> None:
    made = two_racks(4, 4)
    found = submission(made.state, spread_form(rule(RACK, 1, "ScheduleAnyway")), made.now_ms)
    (notice,) = found.notices
    assert notice.message == f"ScheduleAnyway over {RACK} is a preference: it is not looked at here"
    made.commit(found.events)
    assert {one.node for one in made.state.members("default/g")} == {""}
    made.settle()
    assert all(one.node for one in made.state.members("default/g"))


def test_what_is_taken_with_constraints_is_not_claimed_to_fit() -> None:
    made = two_racks(4, 4)
    made.commit(submission(made.state, spread_form(rule(HOST)), made.now_ms).events)
    events = [event for event in made.settle() if isinstance(event, PodGroupUnschedulable)]
    assert [(event.reason, event.unmodelled) for event in events] == [("unmodelled", ("topologySpread",))]


def test_members_that_join_a_group_are_asked_with_those_that_are_there() -> None:
    made = two_racks(4, 4)
    made.commit(submitted(made, gang("g", 2), trainer("g-0", rule(RACK))).events)
    with pytest.raises(Refused):
        submitted(made, trainer("g-1", rule(RACK)))
    made = two_racks(4)
    made.commit(submitted(made, gang("g", 2), trainer("g-0", rule(RACK))).events)
    assert submitted(made, trainer("g-1", rule(RACK))).notices == ()


def test_a_podgroup_for_members_that_are_there_already_is_asked_too() -> None:
    made = two_racks(4, 4)
    made.commit(submitted(made, *[trainer(f"g-{n}", rule(RACK)) for n in range(2)]).events)
    with pytest.raises(Refused):
        submitted(made, gang("g", 2))


def test_an_import_takes_it_and_tells() -> None:
    made = two_racks(4, 4)
    pods = [trainer(f"g-{n}", rule(RACK)) for n in range(4)]
    plan = made.import_data(text(gang("g", 4), *pods))
    assert not plan.refused
    (notice,) = [one for one in plan.notices if one.path.startswith(spreading.FIELD)]
    assert notice.reason == "" and "at most 1 of 4" in notice.message
    told = spreading.told(made.state, "default/g")
    assert [problem.reason for problem in told.problems] == ["FieldValueInvalid"] and told.notices == ()


def test_the_whole_cluster_is_spoken_of_where_no_key_is_asked_for() -> None:
    made = two_racks(2)
    with pytest.raises(Refused) as refused:
        submission(made.state, spread_form(rule(HOST, minDomains=9), topology_key=""), made.now_ms)
    (problem,) = refused.value.problems
    assert problem.message.startswith("members that can come: at most 2 of 4; ")


def test_every_sentence_is_known_to_the_wording(monkeypatch: pytest.MonkeyPatch) -> None:
    known: list[str] = []
    monkeypatch.setattr(messages, "gettext", lambda sentence: known.append(sentence) or sentence)
    cases = [
        (two_racks(4, 4), spread_form(rule(RACK))),
        (two_racks(4), spread_form(rule(RACK, minDomains=3))),
        (two_racks(4), spread_form(rule("no-such-key"))),
        (two_racks(2), spread_form(rule(HOST, minDomains=9), topology_key="")),
    ]
    said = []
    for made, wanted in cases:
        with pytest.raises(Refused) as refused:
            submission(made.state, wanted, made.now_ms)
        said += [problem.message for problem in refused.value.problems]
    narrowed = spread_form(rule(HOST), rule(RACK, 1, "ScheduleAnyway"))
    made = two_racks(4, 3)
    said += [notice.message for notice in submission(made.state, narrowed, made.now_ms).notices]
    for sentence in said:
        before = len(known)
        assert messages.translated(sentence) == sentence
        assert len(known) > before, sentence
    assert len(set(known)) == 6
