"""The page of preemption and the section on the page of a PodGroup: policy, proposal, approval, advice."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils.translation import override

from scheduling.engine.queues import Queue
from scheduling.models import Cluster, Event, PodRow
from scheduling.services import preemption
from scheduling.services.clusters import set_mode
from scheduling.services.cycles import run_cycle
from scheduling.services.holding import define_queue
from scheduling.services.state import state_of
from scheduling.services.workloads import submit_manifests
from tests.console.support import dump, gang, text

PAGE = "/c/demo/preemption"
GROUP = "/c/demo/podgroups/team-a/urgent"


@pytest.fixture
def contended(cluster: Cluster) -> Cluster:
    """`fits` and `more` hold a rack each, `urgent` of a higher priority waits for one; the policy is
    "propose".
    """
    urgent = gang("urgent", 2)
    urgent[0]["spec"]["priority"] = 10
    for objects in (gang("more", 2), urgent):
        submit_manifests(cluster=cluster, data=dump(*objects), actor="test")
        run_cycle(cluster.pk)
    preemption.set_policy(cluster=cluster, mode="propose", actor="test")
    return cluster


def last(cluster: Cluster, type: str) -> Event:
    return Event.objects.filter(stream_id=cluster.pk, type=type).latest("seq")


def test_the_policy_is_off_until_somebody_sets_it(admin: Client, cluster: Cluster) -> None:
    page = text(admin.get(PAGE))
    assert "Nothing is proposed and nobody is evicted." in page
    assert "None: the policy is off." in page
    assert "The policy of this cluster is off" in text(admin.get("/c/demo/podgroups/team-a/wide"))

    for name in ("research", "prod"):
        define_queue(cluster=cluster, queue=Queue(name), actor="test")
    done = admin.post(f"{PAGE}/policy", {"mode": "automatic", "queues": "research, prod"}, follow=True)

    assert "The policy of preemption was set." in text(done)
    assert "prod, research" in text(done)
    assert last(cluster, "PreemptionPolicyChanged").actor.startswith("user-")


def test_a_policy_that_makes_no_sense_is_told_and_not_set(admin: Client, cluster: Cluster) -> None:
    done = admin.post(f"{PAGE}/policy", {"mode": "automatic"}, follow=True)

    assert "automatic preemption is for named queues" in text(done)
    assert not Event.objects.filter(stream_id=cluster.pk, type="PreemptionPolicyChanged").exists()


def test_who_may_only_operate_does_not_see_the_form_of_the_policy(operator: Client, cluster: Cluster) -> None:
    assert "Change the policy" not in text(operator.get(PAGE))


def test_a_proposal_shows_what_it_costs_and_an_approval_evicts(operator: Client, contended: Cluster) -> None:
    assert "Propose preemption" in text(operator.get(GROUP))

    page = text(operator.post(f"{GROUP}/preemption", follow=True))

    assert "Nothing was evicted: look at what it costs first." in page
    assert "1 PodGroup, 2 members, 16 GPUs" in page
    assert "Proved smallest" in page
    assert "the whole group ends" in page
    assert PodRow.objects.filter(cluster=contended, removed=False).exclude(node="").count() == 4
    (plan,) = preemption.open_plans(state_of(contended))
    assert f"Approve {plan.id}" in text(operator.get(PAGE))

    done = text(operator.post(f"{PAGE}/{plan.id}/approve", {"back": GROUP}, follow=True))

    assert f"Preemption {plan.id} was approved; the members were evicted." in done
    run_cycle(contended.pk)
    assert "Open proposals 0 None." in text(operator.get(PAGE))
    told = text(operator.get(PAGE))
    assert f"Preemption {plan.id} is complete: PodGroup team-a/urgent runs in" in told
    victim = plan.victims[0].key
    assert "preempted for a group of higher priority" in text(operator.get(f"/c/demo/podgroups/{victim}"))


def test_a_rejected_proposal_evicts_nobody(operator: Client, contended: Cluster) -> None:
    operator.post(f"{GROUP}/preemption")
    (plan,) = preemption.open_plans(state_of(contended))

    page = text(operator.post(f"{PAGE}/{plan.id}/reject", follow=True))

    assert f"Preemption {plan.id} was rejected. Nobody was evicted." in page
    assert not Event.objects.filter(stream_id=contended.pk, type="MemberEvicted").exists()


def test_where_nothing_can_be_proposed_the_reason_is_told(operator: Client, contended: Cluster) -> None:
    page = text(operator.post("/c/demo/podgroups/team-a/wide/preemption", follow=True))

    assert "no group of lower priority that may go" in page


def test_an_unknown_proposal_is_told(operator: Client, contended: Cluster) -> None:
    assert "there is no open proposal p999" in text(operator.post(f"{PAGE}/p999/approve", follow=True))


def test_in_an_observed_cluster_the_commands_are_shown_and_nothing_can_be_approved(
    operator: Client, contended: Cluster
) -> None:
    operator.post(f"{GROUP}/preemption")
    (plan,) = preemption.open_plans(state_of(contended))
    set_mode(cluster=contended, mode="observed", actor="test")
    namespace, _, name = plan.victims[0].key.partition("/")

    page = text(operator.get(PAGE))

    assert f"kubectl delete podgroups.scheduling.k8s.io -n {namespace} {name}" in page
    assert f"kubectl delete pods -n {namespace} {name}-0 {name}-1" in page
    assert f"Approve {plan.id}" not in page
    assert "an observed cluster is only read" in text(operator.post(f"{PAGE}/{plan.id}/approve", follow=True))


def test_a_viewer_sees_proposals_and_no_buttons(operator: Client, viewer: Client, contended: Cluster) -> None:
    operator.post(f"{GROUP}/preemption")

    page = text(viewer.get(PAGE))

    assert "1 PodGroup, 2 members, 16 GPUs" in page
    assert "Approve" not in page
    assert "Reject" not in page


def test_the_page_is_in_japanese_too(operator: Client, contended: Cluster) -> None:
    operator.post(f"{GROUP}/preemption")

    with override("ja"):
        page = text(operator.get(PAGE, headers={"accept-language": "ja"}))

    for word in ("プリエンプション", "最小と証明済み", "グループ全体が終了します", "2 メンバー, GPU 16 個"):
        assert word in page
