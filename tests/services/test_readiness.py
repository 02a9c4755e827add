"""Readiness row by row: green, red, or not known, and never green because nobody looked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scheduling.engine.model import TAS_GATES
from scheduling.ledger import snapshots
from scheduling.ledger.events import FeatureGateChanged
from scheduling.models import Cluster
from scheduling.services import cycles, readiness, stating
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.conformance.stream import START_MS, MemoryStream
from scheduling.services.problems import Refused
from scheduling.services.readiness import Row, Standing
from tests.services.builders import RACK, gang, members, node, pod, stream

GREEN, RED, UNKNOWN = Standing.GREEN, Standing.RED, Standing.UNKNOWN


def row(made: MemoryStream, code: str, about: str = "", version: str = "v1.36.2", later: int = 0) -> Row:
    found = readiness.rows(made.state, version, START_MS + later)
    return next(each for each in found if (each.code, each.about) == (code, about))


def state_that(made: MemoryStream, fact: str, value: str, source: str = "runbook") -> None:
    made.commit(stating.fact_events(made.state, fact, value, source))


def racks(*more: Any, mode: str = "simulated") -> MemoryStream:
    """Racks r1 and r2 of two nodes with 8 CPUs."""
    return stream(*(node(f"n{rack}{place}", f"r{rack}") for rack in (1, 2) for place in (1, 2)), *more,
                  mode=mode)  # fmt: skip


@pytest.mark.parametrize(
    ("version", "standing", "said"),
    [
        ("", UNKNOWN, "untold"),
        ("v1.35.4", RED, "too_old"),
        ("v1.36.2", GREEN, "has_it"),
        ("v1.37.0-beta.1", GREEN, "has_it"),
        ("v1.38.0", UNKNOWN, "not_followed"),
        ("something", UNKNOWN, "not_followed"),
    ],
)
def test_the_version_says_whether_the_release_has_it(version: str, standing: Standing, said: str) -> None:
    found = row(racks(), "version", version=version)
    assert (found.standing, found.said) == (standing, said)


def test_a_stated_version_goes_before_the_imported_one_and_is_called_stated() -> None:
    made = racks()
    state_that(made, "kubernetes_version", "v1.37.1")
    found = row(made, "version")
    assert (dict(found.values)["version"], found.read) == ("v1.37.1", "stated")
    assert row(made, "gate", "GangScheduling").said == "merged_on"


def test_a_gate_is_red_when_it_is_off_and_when_what_it_needs_is() -> None:
    made = racks()
    assert {row(made, "gate", gate).standing for gate in TAS_GATES} == {GREEN}
    made.commit([FeatureGateChanged("GenericWorkload", False)])
    assert row(made, "gate", "GenericWorkload").said == "off"
    assert row(made, "gate", "GangScheduling").said == "needs"
    assert row(made, "gate", "TopologyAwareWorkloadScheduling").standing is RED


def test_in_1_37_gang_scheduling_is_merged_and_no_need_of_its_own() -> None:
    made = racks()
    made.commit([FeatureGateChanged("GangScheduling", False)])
    found = row(made, "gate", "GangScheduling", version="v1.37.0")
    assert (found.standing, found.said) == (RED, "merged_off")


@pytest.mark.parametrize(
    ("fact", "code", "right", "wrong"),
    [
        ("api_served", "served", "scheduling.k8s.io/v1alpha2", "scheduling.k8s.io/v1beta1"),
        ("api_served", "served", "scheduling.k8s.io/v1alpha2", "none"),
        ("scheduler_profile", "profile", "both", "no_topology"),
        ("autoscaler", "autoscaler", "none", "karpenter"),
        ("autoscaler", "autoscaler", "aware", "cluster-autoscaler"),
    ],
)
def test_what_no_dump_tells_is_not_known_until_it_is_stated(
    fact: str, code: str, right: str, wrong: str
) -> None:
    made = racks()
    assert (row(made, code).standing, row(made, code).read) == (UNKNOWN, "")
    state_that(made, fact, right)
    assert (row(made, code).standing, row(made, code).read) == (GREEN, "stated")
    state_that(made, fact, wrong)
    assert row(made, code).standing is RED
    state_that(made, fact, "", "")
    assert row(made, code).standing is UNKNOWN


def test_gates_of_an_observed_cluster_are_asked_for_apart_from_the_switches() -> None:
    made = racks(mode="observed")
    assert row(made, "cluster_gates").standing is UNKNOWN
    state_that(made, "cluster_gates", "on")
    assert row(made, "cluster_gates").standing is GREEN
    made.commit([FeatureGateChanged("GangScheduling", False)])
    assert row(made, "cluster_gates").said == "differs"
    assert all(each.code != "cluster_gates" for each in readiness.rows(racks().state, "", START_MS))


def test_nodes_without_the_label_are_red_where_a_member_could_have_used_them() -> None:
    small, large = node("bare-small", None, cpu="1"), node("bare-large", None, cpu="8", unschedulable=True)
    made = racks(small, large, gang("g", 2), *members("g", 2, cpu="2"))
    found = row(made, "labels", RACK)
    assert (found.standing, [item.name for item in found.items]) == (RED, ["bare-large"])
    assert dict(found.values)["without"] == 2
    fine = racks(small, gang("g", 2), *members("g", 2, cpu="2"))
    assert (row(fine, "labels", RACK).standing, row(fine, "labels", RACK).said) == (GREEN, "others")
    assert row(racks(), "labels").standing is UNKNOWN


def test_a_mixed_group_that_upstream_misses_is_named() -> None:
    """Members come oldest first: the small ones take the node that the large one needs."""
    nodes = [node("a", "r1", cpu="4"), node("b", "r1", cpu="3")]
    parts = [pod("g-0", "g", cpu="3"), pod("g-1", "g", cpu="2"), pod("g-2", "g", cpu="2")]
    made = stream(*nodes, gang("g", 3), *parts)
    for version in ("v1.36.2", "v1.37.0"):
        found = row(made, "mixed", version=version)
        assert found.standing is RED
        assert [(item.name, item.why in ("misses", "luck")) for item in found.items] == [("default/g", True)]


def test_a_mixed_group_that_runs_is_asked_as_if_it_had_to_be_placed_again() -> None:
    parts = [pod("g-0", "g", cpu="3"), pod("g-1", "g", cpu="1")]
    made = racks(gang("g", 2), *parts)
    made.settle()
    before = snapshots.pack(made.state)
    found = row(made, "mixed")
    assert (found.standing, found.said, dict(found.values)["mixed"]) == (GREEN, "found", 1)
    assert snapshots.pack(made.state) == before


def test_groups_that_run_in_several_domains_are_named_with_them_whatever_the_gates() -> None:
    made = racks(gang("g", 2), pod("g-0", "g", on="n11"), pod("g-1", "g", on="n21"))
    for on in (False, True):
        made.commit([FeatureGateChanged("TopologyAwareWorkloadScheduling", on)])
        found = row(made, "spread_groups")
        assert [(item.name, item.names) for item in found.items] == [("default/g", ("r1", "r2"))]
        assert found.standing is RED
    assert row(racks(), "spread_groups").standing is GREEN


def test_a_member_on_a_node_without_the_label_is_a_contradiction() -> None:
    made = racks(node("bare", None), gang("g", 2), pod("g-0", "g", on="n11"), pod("g-1", "g", on="bare"))
    found = row(made, "conflicts")
    assert (found.standing, found.items[0].why) == (RED, "domain_lost")


def test_a_spread_constraint_that_leaves_no_domain_is_red() -> None:
    spread = {"maxSkew": 1, "topologyKey": RACK, "whenUnsatisfiable": "DoNotSchedule",
              "labelSelector": {"matchLabels": {"app": "g"}}}  # fmt: skip
    parts = members("g", 4, metadata={"labels": {"app": "g"}})
    for number, part in enumerate(parts):
        part["metadata"]["name"] = f"g-{number}"
        part["spec"]["topologySpreadConstraints"] = [spread]
    found = row(racks(gang("g", 4), *parts), "topology_spread")
    assert (found.standing, found.items[0].name) == (RED, "default/g")
    assert row(racks(), "topology_spread").said == "none"


def test_a_group_that_the_scheduler_leaves_though_there_is_room_is_not_known() -> None:
    made = racks(gang("g", 2), *members("g", 2), mode="observed")
    made.settle()
    assert row(made, "ghosts").standing is GREEN
    late = row(made, "ghosts", later=readiness.LONG_WAIT + 1)
    assert (late.standing, [item.name for item in late.items]) == (UNKNOWN, ["default/g"])


def test_without_a_rollback_plan_it_is_red_and_the_steps_are_those_of_the_release() -> None:
    made = racks()
    assert row(made, "rollback").standing is RED
    state_that(made, "rollback_plan", "Switch TAS off, then restart.", "on-call")
    found = row(made, "rollback", version="v1.37.0")
    assert (found.standing, dict(found.values)["owner"]) == (GREEN, "on-call")
    assert "gang_gate_again" in [item.name for item in found.items]
    assert "gang_gate_again" not in [item.name for item in row(made, "rollback").items]


@pytest.mark.parametrize(
    ("fact", "value", "source", "path"),
    [
        ("weather", "on", "me", "fact"),
        ("autoscaler", "magic", "me", "value"),
        ("autoscaler", "none", " ", "source"),
        ("kubernetes_version", "new", "me", "value"),
        ("rollback_plan", "x" * 2001, "me", "value"),
        ("rollback_plan", "x", "y" * 201, "source"),
        ("rollback_plan", "x\0", "me", "value"),
    ],
)
def test_a_statement_that_says_nothing_is_refused_at_its_field(
    fact: str, value: str, source: str, path: str
) -> None:
    with pytest.raises(Refused) as refused:
        stating.fact_events(racks().state, fact, value, source)
    assert [problem.path for problem in refused.value.problems] == [path]


def test_the_same_statement_again_writes_nothing() -> None:
    made = racks()
    state_that(made, "autoscaler", "none")
    assert stating.fact_events(made.state, "autoscaler", "none", "runbook") == []
    assert stating.fact_events(made.state, "scheduler_profile", "", "") == []


def test_rows_say_which_event_they_were_read_from(make: Any) -> None:
    cluster = make(node("n1"))
    done = stating.state_fact(cluster=cluster, fact="autoscaler", value="none", source="runbook", actor="ada")
    found = {(each.code, each.about): each.first for each in readiness.readiness(cluster).rows}
    stated, switched = found["autoscaler", ""], found["gate", "GenericWorkload"]
    assert stated is not None and switched is not None
    assert (stated.seq, stated.actor) == (done.last_seq, "ada")
    assert (switched.seq, switched.type) == (1, "ClusterRegistered")
    assert found["served", ""] is None


def test_a_real_cluster_is_judged(db: None, real_inputs: Path) -> None:
    dump = (real_inputs / "dumps/openb-70-gangs.json.gz").read_bytes()
    import_cluster(name="openb", request=ImportRequest(dump, mode="observed"), actor="tester")
    cluster = Cluster.objects.get(name="openb")
    cycles.run_cycle(cluster.pk)
    cluster.refresh_from_db()
    found = {each.code: each for each in readiness.readiness(cluster).rows}
    assert found["version"].standing is GREEN
    assert found["cluster_gates"].standing is UNKNOWN
    assert (found["spread_groups"].standing, dict(found["spread_groups"].values)["groups"]) == (GREEN, 70)
