"""The model of traffic and throughput as people write it down: any part may be left out and is as assumed."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from scheduling.engine import communication as c
from scheduling.engine.model import Pod
from scheduling.engine.state import ClusterState
from scheduling.scenarios.steps import Part

ZONE = "topology.kubernetes.io/zone"
"""The label that says what is wider than a domain."""


class LinkPart(Part):
    """As ``engine.communication.Link``; None: as assumed."""

    bandwidth_mb_s: int | None = Field(default=None, ge=1, le=c.MOST_MB_S)
    latency_ns: int | None = Field(default=None, ge=0, le=c.MOST_LATENCY_NS)


class TrainingPart(Part):
    """As ``engine.communication.Training``; None: as assumed."""

    collective: Literal["ring", "tree"] | None = None
    bytes_per_step: int | None = Field(default=None, ge=0, le=c.MOST_BYTES)
    compute_us: int | None = Field(default=None, ge=1, le=c.DAY_US)
    overlap_thousandths: int | None = Field(default=None, ge=0, le=1000)
    node: LinkPart = LinkPart()
    domain: LinkPart = LinkPart()
    between: LinkPart = LinkPart()
    wider: LinkPart = LinkPart()

    def training(self) -> c.Training:
        assumed = c.DEFAULTS
        return c.Training(
            collective=c.Collective(self.collective or assumed.collective),
            bytes_per_step=_or(self.bytes_per_step, assumed.bytes_per_step),
            compute_us=_or(self.compute_us, assumed.compute_us),
            overlap_thousandths=_or(self.overlap_thousandths, assumed.overlap_thousandths),
            node=_link(self.node, assumed.node),
            domain=_link(self.domain, assumed.domain),
            between=_link(self.between, assumed.between),
            wider=_link(self.wider, assumed.wider),
        )


def _or(given: int | None, assumed: int) -> int:
    return assumed if given is None else given


def _link(given: LinkPart, assumed: c.Link) -> c.Link:
    return c.Link(
        _or(given.bandwidth_mb_s, assumed.bandwidth_mb_s), _or(given.latency_ns, assumed.latency_ns)
    )


def places(state: ClusterState, key: str, pods: tuple[Pod, ...]) -> list[c.Place]:
    """Where members on nodes are. KeyError for a node that is gone."""
    found = (state.nodes[pod.node] for pod in pods)
    return [c.Place(node.name, node.label(key), node.label(ZONE) or "") for node in found]


def fields(training: c.Training) -> dict[str, int | str]:
    """Every part by its name in documents (``between.latency_ns``), with its value."""
    found: dict[str, int | str] = {
        "collective": str(training.collective),
        "bytes_per_step": training.bytes_per_step,
        "compute_us": training.compute_us,
        "overlap_thousandths": training.overlap_thousandths,
    }
    for level in c.Level:
        link = training.link(level)
        found[f"{level}.bandwidth_mb_s"] = link.bandwidth_mb_s
        found[f"{level}.latency_ns"] = link.latency_ns
    return found
