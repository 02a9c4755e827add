"""What it costs a training job that its members lie apart: bytes across domains, time per step, throughput.

An estimate from few numbers, all of which can be told otherwise; never a measurement. Each member is one rank
of a data-parallel job and holds a gradient of ``bytes_per_step``, which all of them add up once a step; what
goes on inside a member is part of its computing. Units: bytes, microseconds, nanoseconds of latency, and MB/s
(10^6 bytes a second), so that bytes / (MB/s) are microseconds. Inside all is exact (fractions); what is told
is rounded to integers at the end.

Ranks are ordered so that those of a node, then of a domain, then of a zone are neighbours, as collective
libraries order them by topology. Then, for n members on N nodes in D domains in Z zones:

- *Ring*: n links, each of which carries 2(n-1)/n of the bytes; D of them cross domains (none with one
  domain). 2(n-1) rounds, each as slow as the slowest link: latency + bytes/n / bandwidth.
- *Tree*: n-1 edges, each of which carries the bytes up and down; D-1 of them cross domains. Twice the depth
  in latencies, level by level, and twice the bytes over the slowest level.

Links share nothing: what an oversubscribed network leaves to each is said by the bandwidth of its level.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

DAY_US = 24 * 3600 * 1_000_000
MOST_BYTES = 10**15
MOST_MB_S = 10**8
MOST_LATENCY_NS = 10**10


class Level(StrEnum):
    """How near two members are, the nearest first."""

    NODE = "node"
    """On one node."""
    DOMAIN = "domain"
    """On two nodes of one domain."""
    BETWEEN = "between"
    """In two domains of the key, in one zone."""
    WIDER = "wider"
    """In two zones, or one of them on a node that carries no value of the key."""


class Collective(StrEnum):
    RING = "ring"
    TREE = "tree"


def _within(field: str, value: int, least: int, most: int) -> None:
    """Raises ValueError."""
    if not least <= value <= most:
        raise ValueError(f"{field} must be from {least} to {most}, not {value}")


@dataclass(frozen=True, slots=True)
class Link:
    """What one member has of the network of a level, in one direction."""

    bandwidth_mb_s: int
    latency_ns: int


@dataclass(frozen=True, slots=True)
class Training:
    """The job and the network. ``compute_us``: computing of one step, without communication;
    ``overlap_thousandths``: the part of it beside which gradients can be sent already.

    Raises ValueError, naming the field.
    """

    collective: Collective
    bytes_per_step: int
    compute_us: int
    overlap_thousandths: int
    node: Link
    domain: Link
    between: Link
    wider: Link

    def __post_init__(self) -> None:
        _within("bytes_per_step", self.bytes_per_step, 0, MOST_BYTES)
        _within("compute_us", self.compute_us, 1, DAY_US)
        _within("overlap_thousandths", self.overlap_thousandths, 0, 1000)
        for level in Level:
            link = self.link(level)
            _within(f"{level}.bandwidth_mb_s", link.bandwidth_mb_s, 1, MOST_MB_S)
            _within(f"{level}.latency_ns", link.latency_ns, 0, MOST_LATENCY_NS)

    def link(self, level: Level) -> Link:
        return {
            Level.NODE: self.node,
            Level.DOMAIN: self.domain,
            Level.BETWEEN: self.between,
            Level.WIDER: self.wider,
        }[level]


@dataclass(frozen=True, slots=True)
class Place:
    """Where a member is. ``domain``: of the key, None on a node without it; ``zone``: what is wider than a
    domain, "" where nothing is.
    """

    node: str
    domain: str | None
    zone: str = ""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of one step. ``crossing_bytes``: that leave a domain of the key, all links together; ``level_bytes``:
    by level, the nearest first; ``exposed_us``: communication for which computing waits;
    ``steps_thousandths``: steps in 1,000 seconds; ``work_thousandths``: that times the members, for jobs with
    different numbers of them; ``relative_thousandths``: throughput against the same members on as many nodes
    of one domain.
    """

    members: int
    nodes: int
    domains: int
    crossing_bytes: int
    level_bytes: tuple[int, int, int, int]
    communication_us: int
    exposed_us: int
    step_us: int
    steps_thousandths: int
    work_thousandths: int
    relative_thousandths: int


@dataclass(frozen=True, slots=True)
class Formula:
    """``gives``: what it works out, as a code; ``text``: n members, N nodes, D domains, S bytes of gradient,
    α latency and β bandwidth of a level, C computing, o overlap, T communication.
    """

    gives: str
    text: str
    source: str


_HOCKNEY = (
    "R. Hockney, The communication challenge for MPP, Parallel Computing 20 (1994): α-β model of a link"
)
_RING = "P. Patarasuk, X. Yuan, Bandwidth optimal all-reduce algorithms, JPDC 69 (2009)"
_TREE = "P. Sanders, J. Speck, J. L. Träff, Two-tree algorithms for full bandwidth broadcast (2009)"
_DDP = "S. Li et al., PyTorch Distributed: experiences on accelerating data parallel training, VLDB (2020)"

FORMULAS: tuple[Formula, ...] = (
    Formula("ring_bytes", "D · 2(n-1)/n · S    (0 if D = 1)", _RING),
    Formula("ring_time", "T = 2(n-1) · max over levels (α + S/(n·β))", f"{_RING}; {_HOCKNEY}"),
    Formula("tree_bytes", "2 · (D-1) · S", _TREE),
    Formula("tree_time", "T = 2 · Σ over levels α·⌈log₂ k⌉ + 2·S / min β", f"{_TREE}; {_HOCKNEY}"),
    Formula("step_time", "C + max(0, T - o·C)", _DDP),
    Formula("throughput", "1 / (C + max(0, T - o·C))", _DDP),
)
"""k: most members on a node, nodes in a domain, domains in a zone, and zones. Levels: those in use."""

DEFAULTS = Training(
    collective=Collective.RING,
    bytes_per_step=14_000_000_000,
    compute_us=1_500_000,
    overlap_thousandths=667,
    node=Link(450_000, 1_000),
    domain=Link(50_000, 5_000),
    between=Link(7_143, 10_000),
    wider=Link(1_000, 500_000),
)

ORIGINS: dict[str, str] = {
    "collective": "assumed: what large messages are commonly sent with",
    "bytes_per_step": "assumed: 7·10⁹ parameters, 2 bytes each",
    "compute_us": "assumed: 6 · 7·10⁹ parameters · 113,000 tokens (J. Kaplan et al. (2020)) on"
    " 8 × 989 TFLOPS (NVIDIA H100 data sheet, dense BF16) at 40 % of the peak",
    "overlap_thousandths": "D. Narayanan et al. (2021): the backward pass is 2/3 of the arithmetic;"
    " S. Li et al. (2020): gradients are sent beside it",
    "node.bandwidth_mb_s": "NVIDIA H100 white paper (2022): NVLink 900 GB/s in both directions together",
    "domain.bandwidth_mb_s": "NVIDIA DGX H100 user guide: 400 Gb/s for each GPU",
    "between.bandwidth_mb_s": "A. Dubey et al., The Llama 3 herd of models (2024): 1:7 oversubscribed between"
    " parts of full bandwidth",
    "wider.bandwidth_mb_s": "assumed",
    "node.latency_ns": "assumed, order of magnitude",
    "domain.latency_ns": "assumed, order of magnitude",
    "between.latency_ns": "assumed, order of magnitude",
    "wider.latency_ns": "assumed, order of magnitude",
}
"""Where each of the defaults comes from."""


def estimate(training: Training, places: Sequence[Place]) -> Estimate:
    """Of members that are at these places, in any order. Raises ValueError for none."""
    if not places:
        raise ValueError("no member is placed, so nothing is computed")
    layout = _layout(places)
    time, byte_counts, crossing = _communication(training, layout)
    together = _communication(training, _Layout.together(layout))[0]
    computing = Fraction(training.compute_us)
    exposed = _exposed(training, time)
    step = computing + exposed
    steps = Fraction(10**9) / step
    return Estimate(
        members=layout.members,
        nodes=layout.nodes,
        domains=layout.domains,
        crossing_bytes=round(crossing),
        level_bytes=(
            round(byte_counts[Level.NODE]),
            round(byte_counts[Level.DOMAIN]),
            round(byte_counts[Level.BETWEEN]),
            round(byte_counts[Level.WIDER]),
        ),
        communication_us=round(time),
        exposed_us=round(exposed),
        step_us=round(step),
        steps_thousandths=round(steps),
        work_thousandths=round(steps * layout.members),
        relative_thousandths=round(1000 * (computing + _exposed(training, together)) / step),
    )


@dataclass(frozen=True, slots=True)
class _Layout:
    """How many there are of each, and the most in one of the next wider."""

    members: int
    nodes: int
    domains: int
    zones: int
    on_a_node: int
    in_a_domain: int
    in_a_zone: int

    @staticmethod
    def together(layout: _Layout) -> _Layout:
        """The same members on as many nodes, all of one domain."""
        return _Layout(layout.members, layout.nodes, 1, 1, layout.on_a_node, layout.nodes, 1)

    def edges(self, ring: bool) -> dict[Level, int]:
        """Links of each level. Domains inside of a node (NUMA zones) make none of their own."""

        def between(parts: int) -> int:
            return (parts if parts > 1 else 0) if ring else parts - 1

        of_nodes = between(self.nodes)
        inside = max(0, of_nodes - between(self.domains))
        wider = min(between(self.zones), of_nodes - inside)
        return {
            Level.NODE: between(self.members) - of_nodes,
            Level.DOMAIN: inside,
            Level.BETWEEN: of_nodes - inside - wider,
            Level.WIDER: wider,
        }


def _layout(places: Sequence[Place]) -> _Layout:
    """A node without a domain counts as a domain and a zone of its own, and so does a domain in several
    zones count as a zone.
    """
    zones: dict[str, set[str]] = {}
    for place in places:
        if place.domain is not None:
            zones.setdefault(place.domain, set()).add(place.zone)

    def domain(place: Place) -> Hashable:
        return ("node", place.node) if place.domain is None else ("domain", place.domain)

    def zone(place: Place) -> Hashable:
        alone = place.domain is None or len(zones[place.domain]) > 1
        return domain(place) if alone else ("zone", place.zone)

    nodes_of: dict[Hashable, set[str]] = {}
    domains_of: dict[Hashable, set[Hashable]] = {}
    near: dict[Hashable, set[str]] = {}
    for place in places:
        nodes_of.setdefault(domain(place), set()).add(place.node)
        domains_of.setdefault(zone(place), set()).add(domain(place))
        near.setdefault(zone(place), set()).add(place.node)
    return _Layout(
        members=len(places),
        nodes=len({place.node for place in places}),
        domains=len(nodes_of),
        zones=len(domains_of),
        on_a_node=_most_alike(place.node for place in places),
        in_a_domain=max(map(len, nodes_of.values())),
        in_a_zone=max(min(len(domains_of[zone]), len(near[zone])) for zone in domains_of),
    )


def _communication(training: Training, layout: _Layout) -> tuple[Fraction, dict[Level, Fraction], Fraction]:
    """Microseconds, bytes by level, and bytes across domains, of one all-reduce."""
    n, size = layout.members, training.bytes_per_step
    ring = training.collective is Collective.RING
    edges = layout.edges(ring)
    carried = Fraction(2 * (n - 1) * size, n) if ring else Fraction(2 * size)
    crossing = layout.domains if ring and layout.domains > 1 else layout.domains - 1
    links = [training.link(level) for level in Level if edges[level]]
    byte_counts = {level: edges[level] * carried for level in Level}
    if not links:
        return Fraction(0), byte_counts, Fraction(0)
    if ring:
        slowest = max(_alpha(link) + Fraction(size, n * link.bandwidth_mb_s) for link in links)
        return 2 * (n - 1) * slowest, byte_counts, crossing * carried
    fans = (layout.on_a_node, layout.in_a_domain, layout.in_a_zone, layout.zones)
    latency = sum(
        (
            _alpha(training.link(level)) * (fan - 1).bit_length()
            for level, fan in zip(Level, fans, strict=True)
        ),
        Fraction(0),
    )
    return (
        2 * latency + Fraction(2 * size, min(link.bandwidth_mb_s for link in links)),
        byte_counts,
        crossing * carried,
    )


def _exposed(training: Training, time: Fraction) -> Fraction:
    return max(Fraction(0), time - Fraction(training.overlap_thousandths * training.compute_us, 1000))


def _alpha(link: Link) -> Fraction:
    return Fraction(link.latency_ns, 1000)


def _most_alike(names: Iterable[str]) -> int:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return max(counts.values())
