"""What is known of each Kubernetes release that has topology-aware scheduling, as data with its sources.

The gates of the console itself are those of 1.36 (``engine.model.TAS_GATES``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FEATURE_GATES = "https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/"
KEP_GANG = "https://github.com/kubernetes/enhancements/issues/4671"
KEP_TAS = "https://github.com/kubernetes/enhancements/issues/5732"
KEP_PREEMPTION = "https://github.com/kubernetes/enhancements/issues/5710"
TAS_BETA = "https://github.com/kubernetes/enhancements/pull/6346"
WAP_TAS = "https://github.com/kubernetes/kubernetes/pull/140683"
CLUSTER_AUTOSCALER = "https://github.com/kubernetes/autoscaler/issues/9570"
CLUSTER_AUTOSCALER_KNOWS = "https://github.com/kubernetes/autoscaler/issues/8783"


@dataclass(frozen=True, slots=True)
class Gate:
    """``stage``: alpha, beta, or merged (into ``merged_into``, whose switch counts in its place). ``needs``:
    gates that must be on too; ``components``: where it has to be set. ``required``: the one-domain law hangs
    on it; the others are told because they change what happens beside it.
    """

    name: str
    stage: str
    default: bool
    needs: tuple[str, ...]
    components: tuple[str, ...]
    merged_into: str
    source: str
    required: bool = True


@dataclass(frozen=True, slots=True)
class Release:
    """``profile``: of the engine, which decides as kube-scheduler of the release. ``served``: group versions
    of which one must be on at the API server. ``facts``, ``rollback``: codes of sentences, the steps in
    their order.
    """

    version: str
    profile: str
    gates: tuple[Gate, ...]
    served: tuple[str, ...]
    facts: tuple[str, ...]
    rollback: tuple[str, ...]
    sources: tuple[str, ...]

    @property
    def must_be_on(self) -> tuple[str, ...]:
        """The gates that the one-domain law hangs on in this release."""
        return tuple(gate.name for gate in self.gates if gate.required and gate.stage != "merged")


_ALL = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")
_GROUP = "GenericWorkload"
_GANG = "GangScheduling"
_PREEMPTION = "WorkloadAwarePreemption"
_TAS = "TopologyAwareWorkloadScheduling"

RELEASES: tuple[Release, ...] = (
    Release(
        version="1.36",
        profile="upstream-1.36",
        gates=(
            Gate(_GROUP, "alpha", False, (), _ALL, "", FEATURE_GATES),
            Gate(_GANG, "alpha", False, (_GROUP,), _ALL[1:2], "", KEP_GANG),
            Gate(_TAS, "alpha", False, (_GROUP,), _ALL[:2], "", KEP_TAS),
            Gate(_PREEMPTION, "alpha", False, (_GANG,), _ALL[:2], "", KEP_PREEMPTION, required=False),
        ),
        served=("scheduling.k8s.io/v1alpha2",),
        facts=("no_preemption", "no_diagnosis"),
        rollback=("tas_off", "watch", "scheduler_first", "spread_errors"),
        sources=(FEATURE_GATES, KEP_GANG, KEP_TAS),
    ),
    Release(
        version="1.37",
        profile="upstream-1.37",
        gates=(
            Gate(_GROUP, "beta", False, (), _ALL, "", FEATURE_GATES),
            Gate(_GANG, "merged", False, (), _ALL[1:2], _GROUP, KEP_GANG),
            Gate(_TAS, "alpha", False, (_GROUP,), _ALL[:2], "", TAS_BETA),
            Gate(_PREEMPTION, "merged", False, (), _ALL[:2], _GROUP, KEP_PREEMPTION, required=False),
        ),
        served=("scheduling.k8s.io/v1beta1", "scheduling.k8s.io/v1alpha3"),
        facts=("preemption_whole", "min_count_mutable", "objects_removed", "one_priority"),
        rollback=("tas_off", "watch", "scheduler_first", "gang_gate_again", "objects_unreadable",
                  "spread_errors"),
        sources=(FEATURE_GATES, KEP_GANG, TAS_BETA, WAP_TAS),
    ),
)  # fmt: skip
"""Oldest first. TAS is alpha in both; its promotion to beta was moved to 1.38."""

_VERSION = re.compile(r"v?(\d{1,3})\.(\d{1,3})\b")


def minor(version: str) -> tuple[int, int] | None:
    """(1, 36) of ``v1.36.2``; None for what is no version."""
    found = _VERSION.match(version)
    return None if found is None else (int(found[1]), int(found[2]))


def release_of(version: str) -> Release | None:
    """Of ``v1.36.2`` what is known of 1.36; None for a release that is not followed here."""
    number = minor(version)
    if number is None:
        return None
    return next((one for one in RELEASES if minor(one.version) == number), None)


def is_older(version: str) -> bool:
    """Whether it is a release from before topology-aware scheduling of PodGroups."""
    number = minor(version)
    return number is not None and number < (minor(RELEASES[0].version) or number)
