"""Which constrained groups are held to one domain, and by what: of a cluster as its tables have it, or of a
state of any moment.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from scheduling.engine.canary import Law
from scheduling.engine.state import ClusterState
from scheduling.models import Cluster, PodGroupRow
from scheduling.projections import objects
from scheduling.selectors import clusters


@dataclass(frozen=True, slots=True)
class Enforcement:
    """Keys of open groups with a constraint: ``unenforced`` are not held to a domain; of these ``spread`` are
    left out by a canary until their next generation. ``canary_of``: by which canary others are held.
    """

    unenforced: frozenset[str] = frozenset()
    spread: frozenset[str] = frozenset()
    canary_of: dict[str, str] = field(default_factory=dict)


def of_cluster(cluster: Cluster) -> Law:
    scopes = tuple(objects.canary_scope(told) for told in cluster.canaries)
    return Law(not clusters.off_gates(cluster), scopes)


def enforcement(cluster: Cluster) -> Enforcement:
    """Of the groups that are open now; nothing is asked of the tables where the law holds for everybody."""
    law = of_cluster(cluster)
    if law.gates and not law.scopes:
        return Enforcement()
    rows = PodGroupRow.objects.filter(cluster=cluster, closed=False).exclude(topology_key="")
    return _told(law, rows.values_list("namespace", "name", "uid"))


def enforcement_then(state: ClusterState) -> Enforcement:
    """Of the groups that are open in the state."""
    groups = (group for group in state.groups.values() if group.topology_key)
    return _told(state.law, ((group.namespace, group.name, group.uid) for group in groups))


def _told(law: Law, groups: Iterable[tuple[str, str, str]]) -> Enforcement:
    unenforced, spread, canary_of = set(), set(), {}
    for namespace, name, uid in groups:
        key = f"{namespace}/{name}"
        if not law.holds(namespace, key, uid):
            unenforced.add(key)
            if law.exempted(uid):
                spread.add(key)
        elif canary := law.canary(namespace, key):
            canary_of[key] = canary
    return Enforcement(frozenset(unenforced), frozenset(spread), canary_of)
