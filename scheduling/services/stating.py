"""What operators state for the rollout: facts that no dump tells. Pure half, and the shell."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.rollout_facts import RolloutFact
from scheduling.engine.state import ClusterState
from scheduling.kube.releases import minor
from scheduling.ledger.events import Event, RolloutFactStated
from scheduling.models import Cluster
from scheduling.services.execute import Outcome, execute
from scheduling.services.problems import INVALID, REQUIRED, Problem, Refused
from scheduling.storable import is_storable

LONGEST_VALUE = 2000
LONGEST_SOURCE = 200


@dataclass(frozen=True, slots=True)
class Kind:
    """``values``: what may be said; () for a text of one's own."""

    code: str
    values: tuple[str, ...] = ()


VERSION, GATES, SERVED = "kubernetes_version", "cluster_gates", "api_served"
PROFILE, AUTOSCALER, ROLLBACK = "scheduler_profile", "autoscaler", "rollback_plan"

KINDS: dict[str, Kind] = {
    kind.code: kind
    for kind in (
        Kind(VERSION),
        Kind(GATES, ("on", "off")),
        Kind(
            SERVED,
            ("scheduling.k8s.io/v1alpha2", "scheduling.k8s.io/v1alpha3", "scheduling.k8s.io/v1beta1", "none"),
        ),
        Kind(PROFILE, ("both", "no_topology", "no_gang", "neither")),
        Kind(AUTOSCALER, ("none", "cluster-autoscaler", "karpenter", "aware", "unaware")),
        Kind(ROLLBACK),
    )
}
"""Every fact that can be stated, in the order in which pages offer them."""


def fact_events(state: ClusterState, fact: str, value: str, source: str) -> list[Event]:
    """The fact as it is stated from now on; "" takes it back. Nothing when it is so already. Raises Refused;
    paths are the names of the arguments.
    """
    value, source = value.strip(), source.strip()
    problems = list(_problems(fact, value, source))
    if problems:
        raise Refused(problems)
    there = state.records.of(RolloutFact).get(fact)
    if (there is None and not value) or (
        there is not None and (there.value, there.source) == (value, source)
    ):
        return []
    return [RolloutFactStated(fact, value, source)]


def state_fact(
    *, cluster: Cluster, fact: str, value: str, source: str, actor: str, command_id: str = ""
) -> Outcome:
    """Raises Refused and CommandReused."""
    return execute(
        cluster,
        lambda state, _: fact_events(state, fact, value, source),
        actor=actor,
        command_id=command_id,
        request=f"state {fact} {value} {source}",
    )


def _problems(fact: str, value: str, source: str) -> list[Problem]:
    def problem(path: str, reason: str, message: str) -> Problem:
        return Problem("Fact", "", fact if is_storable(fact) else "", path, reason, message)

    kind = KINDS.get(fact)
    if kind is None:
        return [problem("fact", INVALID, f"there is no such fact: {', '.join(KINDS)}")]
    found = []
    for path, text, longest in (("value", value, LONGEST_VALUE), ("source", source, LONGEST_SOURCE)):
        if not is_storable(text):
            found.append(problem(path, INVALID, "holds characters that cannot be stored"))
        elif len(text) > longest:
            found.append(problem(path, INVALID, f"at most {longest} characters"))
    if value and kind.values and value not in kind.values:
        found.append(problem("value", INVALID, f"none of {', '.join(kind.values)}"))
    if value and fact == VERSION and minor(value) is None:
        found.append(problem("value", INVALID, "no version such as v1.36.2"))
    if value and not source:
        found.append(problem("source", REQUIRED, "say how this is known, or who is in charge"))
    return found
