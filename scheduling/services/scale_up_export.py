"""An open plan as objects for autoscalers, on the state at the head."""

from __future__ import annotations

from typing import Any

from scheduling.engine.decide import decide
from scheduling.engine.growth import TYPE_LABEL, grown
from scheduling.engine.node_types import NodeType, ScaleUpOption, ScaleUpPlan
from scheduling.engine.queue import waiting
from scheduling.engine.roster import roster
from scheduling.engine.scale_up import bind
from scheduling.engine.state import ClusterState
from scheduling.kube import growth_export
from scheduling.kube.growth_export import CLASSES, PodSet, Pool
from scheduling.models import Cluster
from scheduling.services.problems import CONFLICT, INVALID, NOT_FOUND, Problem, Refused
from scheduling.services.state import state_of


def provisioning_request(
    *, cluster: Cluster, name: str, option: int | None = None, provisioning_class: str = CLASSES[0]
) -> list[dict[str, Any]]:
    """PodTemplates and ProvisioningRequests of one option, the approved or else the cheapest when None.
    Raises Refused for a plan that is not open and for a class that cluster-autoscaler does not have.
    """
    if provisioning_class not in CLASSES:
        message = f"{provisioning_class!r} is not one of {', '.join(CLASSES)}"
        raise Refused([Problem("ScaleUpPlan", "", name, "provisioning_class", INVALID, message)])
    state = state_of(cluster)
    return growth_export.provisioning_request(
        name, pod_sets(state, *_open(state, name, option)), provisioning_class
    )


def node_pools(*, cluster: Cluster, name: str, option: int | None = None) -> list[dict[str, Any]]:
    """NodePools of one option, one for each step. Raises Refused as ``provisioning_request``."""
    state = state_of(cluster)
    found = _open(state, name, option)[1]
    return [growth_export.node_pool(name, pool) for pool in pools(state, name, found)]


# ---------------------------------------------------------------- pure


def pod_sets(state: ClusterState, plan: ScaleUpPlan, option: ScaleUpOption) -> list[PodSet]:
    """The members that would be placed with the nodes of the option, by group and kind, each with the domain
    where. Raises Refused where the groups would not all be placed any more.
    """
    ahead = grown(state, option.steps)
    sets: list[PodSet] = []
    left = set(plan.groups)
    for key in waiting(ahead):
        decision = decide(ahead, key)
        if key in left and decision.placed:
            left.discard(key)
            where = ((decision.topology_key, decision.domain),) if decision.enforced else ()
            placed = {uid for uid, _ in decision.assignments}
            for kind in roster(ahead, key).kinds():
                count = sum(pod.uid in placed for pod in kind.pods)
                if count:
                    sets.append(PodSet(kind.pods[0], count, where))
        bind(ahead, decision)
    if left:
        message = "with these nodes the groups would not all run any more: plan again"
        raise Refused([Problem("ScaleUpPlan", "", plan.name, "option", CONFLICT, message)])
    return sets


def pools(state: ClusterState, name: str, option: ScaleUpOption) -> list[Pool]:
    """One for each step; their nodes carry the label of the type, so that they are known when they join."""
    made = []
    for number, step in enumerate(option.steps, 1):
        kind = state.records.of(NodeType)[step.kind]
        labels = (*kind.labels, (TYPE_LABEL, kind.name))
        pool = f"{name}-{number}"
        made.append(Pool(pool, step.key, step.domain, step.count, kind.allocatable, labels, kind.taints))
    return made


def _open(state: ClusterState, name: str, option: int | None) -> tuple[ScaleUpPlan, ScaleUpOption]:
    plan = state.records.of(ScaleUpPlan).get(name)
    if plan is None:
        raise Refused([Problem("ScaleUpPlan", "", name, "", NOT_FOUND, f"there is no plan {name}")])
    if not plan.open:
        raise Refused(
            [Problem("ScaleUpPlan", "", name, "", CONFLICT, f"the plan is {plan.status}, not open")]
        )
    if option is None:
        return plan, plan.option
    if not 0 <= option < len(plan.options):
        message = f"{option} is no option of it: 0 to {len(plan.options) - 1}"
        raise Refused([Problem("ScaleUpPlan", "", name, "option", INVALID, message)])
    return plan, plan.options[option]
