"""Workloads by form and by manifests, previewed, ended; members deleted; nodes and gates switched."""

from __future__ import annotations

from typing import Any

import pytest

from scheduling.kube import manifests as kube
from scheduling.ledger.events import (
    FeatureGateChanged,
    NodeUpdated,
    PodAdded,
    PodGroupClosed,
    PodGroupCreated,
    PodRemoved,
)
from scheduling.services.conformance.stream import MemoryStream
from scheduling.services.members import delete_member_events, end_group_events
from scheduling.services.problems import Refused
from scheduling.services.submitting import MemberTemplate, manifest_submission, submit_events
from scheduling.services.switching import cordon_events, gate_events, mode_events
from scheduling.services.workloads import preview
from tests.services.builders import GPU, form, gang, members, node, nodes_of, pod, stream, text


def submit(made: MemoryStream, wanted: Any) -> None:
    made.commit(submit_events(made.state, wanted, made.now_ms))


def submit_text(made: MemoryStream, *objects: Any) -> None:
    made.commit(manifest_submission(made.state, kube.read(text(*objects)), made.now_ms).events)


def paths(refused: Any) -> list[str]:
    return [problem.path for problem in refused.value.problems]


class TestForm:
    def test_makes_the_group_and_its_members(self) -> None:
        made = stream(node("a"))
        events = submit_events(made.state, form(count=3, priority=5), made.now_ms)
        group, *pods = events
        assert isinstance(group, PodGroupCreated)
        assert (group.group.min_count, group.group.priority, group.group.generation) == (3, 5, 1)
        assert [pod.pod.name for pod in pods if isinstance(pod, PodAdded)] == ["g-0", "g-1", "g-2"]
        made.commit(events)
        made.settle()
        assert set(nodes_of(made, "g").values()) == {"a"}

    def test_names_members_by_role_when_there_are_several(self) -> None:
        made = stream(node("a", gpu=8))
        templates = (MemberTemplate("lead", 1, {"cpu": "1"}), MemberTemplate("work", 2, {GPU: "4"}))
        submit(made, form(count=3, templates=templates))
        made.settle()
        assert nodes_of(made, "g") == {"g-lead-0": "a", "g-work-0": "a", "g-work-1": "a"}

    def test_passes_selector_and_tolerations_on(self) -> None:
        taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
        made = stream(node("a"), node("b", "r2", taints=[taint]))
        template = MemberTemplate(
            "",
            1,
            {"cpu": "1"},
            {"kubernetes.io/hostname": "b"},
            ({"key": "gpu", "operator": "Equal", "value": "yes", "effect": "NoSchedule"},),
        )
        submit(made, form(count=1, templates=(template,)))
        made.settle()
        assert nodes_of(made, "g") == {"g-0": "b"}

    @pytest.mark.parametrize(
        ("wrong", "path"),
        [
            ({"namespace": ""}, "namespace"),
            ({"namespace": "Not A Label"}, "namespace"),
            ({"name": ""}, "name"),
            ({"name": "Upper"}, "name"),
            ({"policy": "swarm"}, "policy"),
            ({"min_count": 0}, "min_count"),
            ({"min_count": -1}, "min_count"),
            ({"min_count": 3}, "min_count"),
            ({"topology_key": "not a key"}, "topology_key"),
            ({"priority": 2_000_000_000}, "priority"),
            ({"templates": ()}, "templates"),
            ({"templates": (MemberTemplate("", 0, {}),)}, "templates[0].count"),
            ({"templates": (MemberTemplate("", 20_000, {}),)}, "templates[0].count"),
            ({"templates": (MemberTemplate("", 2, {"cpu": "lots"}),)}, "templates[0].requests.cpu"),
            ({"templates": (MemberTemplate("", 2, {"cpu": "-1"}),)}, "templates[0].requests.cpu"),
            (
                {"templates": (MemberTemplate("a", 1, {}), MemberTemplate("a", 1, {}))},
                "templates[1].role",
            ),
            ({"templates": (MemberTemplate("a", 1, {}), MemberTemplate("", 1, {}))}, "templates[1].role"),
            ({"templates": (MemberTemplate("a", 1, {}), MemberTemplate("B C", 1, {}))}, "templates[1].role"),
            (
                {"templates": (MemberTemplate("", 2, {}, {"not a key": "x"}),)},
                "templates[0].node_selector",
            ),
            (
                {"templates": (MemberTemplate("", 2, {}, {}, ({"operator": "Sometimes"},)),)},
                "templates[0].tolerations",
            ),
        ],
    )
    def test_is_refused_at_the_field(self, wrong: dict[str, Any], path: str) -> None:
        made = stream(node("a"))
        with pytest.raises(Refused) as refused:
            submit(made, form(**wrong))
        assert paths(refused) == [path]

    def test_every_template_that_is_wrong_is_named(self) -> None:
        templates = (MemberTemplate("a", 1, {"cpu": "x"}), MemberTemplate("b", 1, {"memory": "y"}))
        with pytest.raises(Refused) as refused:
            submit(stream(), form(templates=templates))
        assert paths(refused) == ["templates[0].requests.cpu", "templates[1].requests.memory"]

    def test_a_name_that_is_open_is_refused(self) -> None:
        made = stream(node("a"))
        submit(made, form())
        with pytest.raises(Refused) as refused:
            submit(made, form())
        assert paths(refused)[0] == "name"
        assert "open" in refused.value.problems[0].message

    def test_a_name_used_before_gives_the_next_generation(self) -> None:
        made = stream(node("a"))
        submit(made, form())
        first = made.state.groups["default/g"].uid
        made.commit(end_group_events(made.state, "default/g"))
        submit(made, form(count=1))
        group = made.state.groups["default/g"]
        assert (group.generation, group.supersedes) == (2, first)
        assert group.uid != first

    def test_nothing_is_submitted_to_an_observed_cluster(self) -> None:
        with pytest.raises(Refused) as refused:
            submit(stream(mode="observed"), form())
        assert paths(refused) == ["mode"]

    def test_preview_decides_and_changes_nothing(self) -> None:
        made = stream(node("a"), node("b", "r2", cpu="1"))
        before = made.state.seq
        would = preview(made.state, form(), made.now_ms).decision
        assert (would.verdict, would.domain) == ("placed", "r1")
        never = preview(made.state, form(count=20), made.now_ms).decision
        assert never.verdict == "proved_infeasible"
        assert (made.state.seq, made.state.groups) == (before, {})


class TestManifests:
    def test_make_new_objects_whatever_status_they_claim(self) -> None:
        made = stream(node("a"))
        submit_text(made, gang("g", 1, uid="claimed"), pod("g-0", "g", uid="claimed too", phase="Succeeded"))
        assert "claimed" not in made.state.groups["default/g"].uid
        assert [pod.phase for pod in made.state.pods.values()] == ["Pending"]

    @pytest.mark.parametrize(
        ("objects", "path"),
        [
            ([gang("g", 0)], "spec.schedulingPolicy.gang.minCount"),
            ([gang("g", 1, key="not a key")], "spec.schedulingConstraints.topology[0].key"),
            ([gang("g", 1), pod("g-0", "g", cpu="x")], "spec.containers[0].resources.requests[cpu]"),
            ([pod("alone")], "spec.schedulingGroup.podGroupName"),
            ([pod("g-0", "g", on="a")], "spec.nodeName"),
            ([node("b")], "kind"),
            ([], ""),
        ],
    )
    def test_are_refused_at_the_field(self, objects: list[Any], path: str) -> None:
        with pytest.raises(Refused) as refused:
            submit_text(stream(node("a")), *objects)
        assert paths(refused) == [path]

    def test_a_pod_that_is_there_already_is_refused(self) -> None:
        made = stream(node("a"))
        submit_text(made, gang("g", 1), pod("g-0", "g"))
        with pytest.raises(Refused) as refused:
            submit_text(made, pod("g-0", "g"), gang("h", 1))
        assert paths(refused) == ["metadata.name"]
        assert "default/h" not in made.state.groups


class TestMembers:
    def test_end_of_a_group_takes_its_pods_along(self) -> None:
        made = stream(node("a"), gang("g", 2), *members("g", 2))
        made.settle()
        events = end_group_events(made.state, "default/g")
        assert [event.reason for event in events if isinstance(event, PodRemoved)] == ["group_ended"] * 2
        assert isinstance(events[-1], PodGroupClosed) and events[-1].reason == "ended"
        made.commit(events)
        assert made.state.free("a")["cpu"] == 8000

    def test_a_deleted_member_is_made_anew_and_goes_where_the_others_are(self) -> None:
        made = stream(node("a", cpu="2"), node("b", "r2"), gang("g", 2), *members("g", 2))
        made.settle()
        uid = made.state.pod_uid("default/g-0")
        assert uid is not None
        removed, added = delete_member_events(made.state, uid, made.now_ms)
        assert isinstance(removed, PodRemoved) and removed.reason == "deleted"
        assert isinstance(added, PodAdded) and added.replaces == uid
        made.commit([removed, added])
        made.settle()
        assert nodes_of(made, "g") == {"g-0": "a", "g-1": "a"}

    def test_a_finished_member_is_not_made_anew(self) -> None:
        made = stream(node("a"), gang("g", 1), pod("g-0", "g", on="a", phase="Succeeded", uid="u1"))
        assert len(delete_member_events(made.state, "u1", made.now_ms)) == 1

    def test_what_is_not_there_is_refused_by_name(self) -> None:
        made = stream(node("a"), pod("x", on="a", uid="u1"))
        for events in (
            lambda: end_group_events(made.state, "default/none"),
            lambda: delete_member_events(made.state, "u0", made.now_ms),
            lambda: delete_member_events(made.state, "u1", made.now_ms),
            lambda: cordon_events(made.state, "none", True),
        ):
            with pytest.raises(Refused):
                events()


class TestSwitches:
    def test_cordon_writes_once(self) -> None:
        made = stream(node("a"))
        events = cordon_events(made.state, "a", True)
        assert [event.changes for event in events if isinstance(event, NodeUpdated)] == [
            (("unschedulable", True),)
        ]
        made.commit(events)
        assert cordon_events(made.state, "a", True) == []
        assert len(cordon_events(made.state, "a", False)) == 1

    def test_a_gate_is_switched_once_and_only_when_it_is_known(self) -> None:
        made = stream()
        assert gate_events(made.state, "GangScheduling", True) == []
        assert gate_events(made.state, "GangScheduling", False) == [
            FeatureGateChanged("GangScheduling", False)
        ]
        with pytest.raises(Refused) as refused:
            gate_events(made.state, "NoSuchGate", True)
        assert paths(refused) == ["gates.NoSuchGate"]

    def test_an_unknown_mode_is_refused(self) -> None:
        with pytest.raises(Refused):
            mode_events(stream().state, "dreamt")
        assert mode_events(stream().state, "simulated") == []
