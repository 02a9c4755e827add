"""The feature gates that the console knows, and which values it proposes for a new cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from scheduling.engine.model import TAS_GATES, PodGroup
from scheduling.services.problems import INVALID, Problem


def unknown_gates(cluster: str, names: Iterable[str]) -> list[Problem]:
    """One problem for each name that is no gate of topology-aware scheduling."""
    return [
        Problem(
            "Cluster", "", cluster, f"gates.{name}", INVALID,
            f"{name!r} is not a feature gate the console knows ({', '.join(TAS_GATES)})",
        )
        for name in names
        if name not in TAS_GATES
    ]  # fmt: skip


def proposed_gates(mode: str, groups: Iterable[PodGroup]) -> dict[str, bool]:
    """All on for a simulated cluster, and where a PodGroup carries a constraint: an API server with the gate
    off would have dropped it. Otherwise as Kubernetes 1.36 has them: off.
    """
    on = mode == "simulated" or any(group.topology_key for group in groups)
    return dict.fromkeys(TAS_GATES, on)


def completed_gates(chosen: Mapping[str, bool] | None, proposed: Mapping[str, bool]) -> dict[str, bool]:
    """What was chosen, and the proposal for the gates that the choice does not name."""
    return {**proposed, **(chosen or {})}
