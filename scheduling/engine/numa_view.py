"""The cluster cut into NUMA zones: a state in which every zone is a node and a domain of its own.

Members that were placed in a zone use that zone. Which zone the other pods of a node took their CPUs and
devices from, nobody says; so their use counts against every zone of the node in full (*sure*: what fits is
certain), or against each as little as the other zones allow (*hopeful*: what does not fit even so is proved
not to). Resources that no zone of the node lists are limited by what the node has free.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from scheduling.engine.model import TAS_GATES, Node, NodeSelectorTerm, Pod, Shape
from scheduling.engine.numa_names import NUMA_KEY, domain_of
from scheduling.engine.roster import Roster
from scheduling.engine.state import ClusterState

_NODE_NAME = ":node"
"""Label of a zone with the name of its node, for affinity by ``metadata.name``; no real key begins so."""


@dataclass(slots=True)
class ZoneView:
    """``zones``: the virtual state, as sure; ``seen``: nodes with zones as they were cut; ``vague``: those of
    which pods without a zone could leave more in some zone, and the charges of each domain if they do.
    """

    zones: ClusterState = field(default_factory=ClusterState)
    seen: dict[str, Node] = field(default_factory=dict)
    vague: dict[str, dict[str, tuple[tuple[str, int], ...]]] = field(default_factory=dict)

    def fork(self) -> ZoneView:
        return ZoneView(self.zones.fork(), self.seen.copy(), self.vague.copy())

    def hopeful(self, zones: ClusterState) -> ClusterState:
        """A fork of the virtual state with the least use that pods without a zone can have in each zone."""
        other = zones.fork()
        for charges in self.vague.values():
            for domain, amounts in charges.items():
                _occupy(other, domain, amounts)
        return other


def view(state: ClusterState) -> ZoneView:
    """The zones of the state as it is now; kept with it, and renewed for the nodes that changed."""
    if state.zone_view is None:
        state.zone_view = ZoneView()
        for gate in TAS_GATES:
            state.zone_view.zones.set_gate(gate, True)
        stale: Iterable[str] = state.nodes
    else:
        stale = state.stale_zones
    for name in sorted(stale):
        _renew(state.zone_view, state, name)
    state.stale_zones.clear()
    return state.zone_view


def with_group(state: ClusterState, who: Roster) -> ClusterState:
    """A fork of the virtual state with the group in it. A bound member whose zone is not known, or is there
    no more, lies on a node that does not exist: its domain cannot be told.
    """
    zones = view(state).zones.fork()
    if who.group is not None:
        zones.set_group(who.group)
    kept = {pod.uid for pod in (*who.bound, *who.waiting, *who.gated)}
    for pod in state.pods_naming(who.key):
        if pod.finished or pod.uid in kept:
            zone = zones.pods[pod.uid].node if pod.uid in zones.pods else state.zone_of.get(pod.uid, pod.node)
            zones.set_pod(replace(pod, node=zone, shape=_in_zones(pod.shape)))
    return zones


def _renew(seen: ZoneView, state: ClusterState, name: str) -> None:
    node = state.nodes.get(name)
    if node is not None and not node.zones:
        node = None
    old = seen.seen.pop(name, None)
    seen.vague.pop(name, None)
    zones = seen.zones
    if old is not None:
        domains = [domain_of(name, zone.name) for zone in old.zones]
        for domain in domains:
            for pod in zones.pods_on(domain):
                zones.remove_pod(pod.uid)
        if old is not node:
            for domain in domains:
                zones.remove_node(domain, domain)
    if node is None:
        return
    seen.seen[name] = node
    if old is not node:
        for cut in _cut(node):
            zones.set_node(cut)
    _fill(seen, state, node)


def _cut(node: Node) -> list[Node]:
    """A node for each zone. What one zone lists and another does not, the other does not have."""
    whole = dict(node.allocatable)
    listed = {resource for zone in node.zones for resource, _ in zone.allocatable}
    cut = []
    for zone in node.zones:
        domain = domain_of(node.name, zone.name)
        own = {resource: min(amount, whole.get(resource, 0)) for resource, amount in zone.allocatable}
        amounts = {resource: amount for resource, amount in whole.items() if resource not in listed} | own
        labels = dict(node.labels) | {NUMA_KEY: domain, _NODE_NAME: node.name}
        cut.append(
            replace(
                node,
                name=domain,
                uid=domain,
                labels=tuple(sorted(labels.items())),
                allocatable=tuple(sorted(amounts.items())),
                zones=(),
            )
        )
    return cut


def _fill(seen: ZoneView, state: ClusterState, node: Node) -> None:
    """Put the pods of the node into the zones they were placed in, and charge each zone for the others."""
    zones = seen.zones
    domains = [domain_of(node.name, zone.name) for zone in node.zones]
    inside: dict[str, Counter[str]] = {domain: Counter() for domain in domains}
    loose: Counter[str] = Counter()
    for pod in state.pods_on(node.name):
        # A pod on a node of one zone is in that zone, whoever put it there.
        domain = state.zone_of.get(pod.uid, domains[0] if len(domains) == 1 else "")
        if domain in inside:
            zones.set_pod(replace(pod, node=domain))
            inside[domain].update(dict(pod.shape.requests))
        else:
            loose.update(dict(pod.shape.requests))
    # Which zones a reservation's room is in, nobody says either.
    held = state.held(node.name)
    loose.update(held)
    free = {resource: left - held.get(resource, 0) for resource, left in state.free(node.name).items()}
    listed = {resource for zone in node.zones for resource, _ in zone.allocatable}
    room = {domain: Counter(dict(zones.nodes[domain].allocatable)) for domain in domains}
    for domain in domains:
        room[domain].subtract(inside[domain])
    sure: dict[str, tuple[tuple[str, int], ...]] = {}
    least: dict[str, tuple[tuple[str, int], ...]] = {}
    for domain in domains:
        # No zone has more than its node.
        floor = {r: left - free.get(r, 0) for r, left in room[domain].items()}
        elsewhere = {r: sum(max(room[other][r], 0) for other in domains if other != domain) for r in listed}
        sure[domain] = _amounts({r: max(floor[r], loose[r] if r in listed else 0) for r in floor})
        least[domain] = _amounts(
            {r: max(floor[r], loose[r] - elsewhere[r] if r in listed else 0) for r in floor}
        )
        _occupy(zones, domain, sure[domain])
    if sure != least:
        seen.vague[node.name] = least


def _amounts(charges: dict[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted((resource, amount) for resource, amount in charges.items() if amount > 0))


def _occupy(zones: ClusterState, domain: str, amounts: tuple[tuple[str, int], ...]) -> None:
    """One pod for everything in the zone that is nobody's of a known zone."""
    uid = f"zone {domain}"
    zones.remove_pod(uid)
    if amounts:
        zones.set_pod(Pod("", domain, uid, Shape(amounts), node=domain, phase="Running"))


def _in_zones(shape: Shape) -> Shape:
    terms = shape.eligibility.terms
    if terms is None or not any(term.fields for term in terms):
        return shape
    asked = tuple(_term(term) for term in terms)
    return replace(shape, eligibility=replace(shape.eligibility, terms=asked))


def _term(term: NodeSelectorTerm) -> NodeSelectorTerm:
    """Affinity by the name of the node, as affinity by a label of its zones."""
    by_name = tuple(replace(requirement, key=_NODE_NAME) for requirement in term.fields)
    return NodeSelectorTerm((*term.labels, *by_name), ())
