"""Groups whose domain is one NUMA zone of one node.

The ordinary engine decides on the virtual state of ``numa_view``, where zones are nodes; here its answer is
brought back to the nodes that the zones are in. Nothing is claimed that what is known of the zones does not
carry: ``placed`` counts pods without a zone against every zone, and a proof must hold when they are counted
as low as they can be. What lies between is ``not_found``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from scheduling.engine.decision import Decision
from scheduling.engine.numa_names import NUMA_KEY, node_of
from scheduling.engine.numa_view import view, with_group
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import Roster, roster
from scheduling.engine.state import ClusterState

Exact = Callable[[ClusterState, str], Decision]


@dataclass(frozen=True, slots=True)
class ZoneRoom:
    """One zone as decisions see it. ``free``: what is certain to be free, negative when over-committed;
    ``vague``: whether more could be, since pods without a known zone are on the node.
    """

    domain: str
    node: str
    allocatable: tuple[tuple[str, int], ...]
    free: tuple[tuple[str, int], ...]
    vague: bool


def asked(state: ClusterState, group_key: str) -> bool:
    """Whether the group is held to one NUMA zone: it names the key, and the law is for it."""
    group = state.groups.get(group_key)
    return group is not None and group.topology_key == NUMA_KEY and state.enforces(group)


def in_zones(state: ClusterState, who: Roster) -> tuple[ClusterState, Roster]:
    """The state and the group as they are asked for where its members lie: among zones when it is held to
    one.
    """
    if not asked(state, who.key):
        return state, who
    zones = with_group(state, who)
    return zones, roster(zones, who.key)


def zone_rooms(state: ClusterState) -> list[ZoneRoom]:
    """Every zone of every node, by domain."""
    seen = view(state)
    return [
        ZoneRoom(
            domain,
            node_of(domain),
            zone.allocatable,
            tuple(sorted(seen.zones.free(domain).items())),
            node_of(domain) in seen.vague,
        )
        for domain, zone in sorted(seen.zones.nodes.items())
    ]


def decide_in_zones(state: ClusterState, group_key: str, exact: Exact) -> Decision:
    """What to do with a group that is ``asked`` for. ``exact``: the engine for groups of labels."""
    seen = view(state)
    zones = with_group(state, roster(state, group_key))
    decision = exact(zones, group_key)
    if decision.verdict == Verdict.PROVED_INFEASIBLE and seen.vague:
        hopeful = exact(seen.hopeful(zones), group_key)
        if hopeful.verdict != Verdict.PROVED_INFEASIBLE:
            decision = replace(decision, verdict=Verdict.NOT_FOUND, reason=Reason.ZONE_USE_UNKNOWN)
    decision = replace(
        decision,
        assignments=tuple((uid, node_of(domain)) for uid, domain in decision.assignments),
        conflict_nodes=tuple(sorted({node_of(name) for name in decision.conflict_nodes})),
    )
    if not decision.method:
        return decision  # not evaluated: there is nothing that counts nodes
    nodes = len(seen.seen)
    labelled = min(nodes, 1) if decision.bound else nodes
    return replace(
        decision,
        funnel=decision.funnel._replace(labelled=labelled) if decision.funnel.domains else decision.funnel,
        unlabelled_nodes=len(state.nodes) - nodes,
        over_committed=state.over_committed(),
        fits_across_domains=not decision.placed and _fits_across(state, group_key, exact),
    )


def _fits_across(state: ClusterState, group_key: str, exact: Exact) -> bool:
    """Whether the group was found to fit over all nodes together that tell zones."""
    free = state.fork()
    for node in [node for node in state.nodes.values() if not node.zones]:
        free.remove_node(node.name, node.uid)
    free.lift_law()
    return exact(free, group_key).placed
