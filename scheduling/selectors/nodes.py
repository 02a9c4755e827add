"""What pages and API read of nodes."""

from __future__ import annotations

from django.db.models import F, Q

from scheduling.engine.numa_names import NUMA_KEY
from scheduling.models import Cluster, NodeRow, PodRow
from scheduling.selectors.numa import WITH_ZONES
from scheduling.selectors.paging import Page, cut

STATES = {
    "cordoned": Q(unschedulable=True),
    "not_ready": Q(ready=False),
    "tainted": ~Q(taints=[]),
    "free": Q(unschedulable=False, ready=True, gpus__gt=F("gpus_used")),
}
"""What ``state`` may select; ``unlabelled:<key>`` selects the nodes without that label."""


def page(
    cluster: Cluster, *, text: str = "", state: str = "", label: str = "", after: str = "", limit: int = 100
) -> Page[NodeRow]:
    """Nodes by name. ``text``: part of the name; ``label``: ``key`` or ``key=value``."""
    rows = NodeRow.objects.filter(cluster=cluster, removed=False)
    if text:
        rows = rows.filter(name__icontains=text)
    if state.startswith("unlabelled:"):
        key = state.removeprefix("unlabelled:")
        rows = rows.exclude(WITH_ZONES) if key == NUMA_KEY else rows.exclude(labels__has_key=key)
    elif state in STATES:
        rows = rows.filter(STATES[state])
    if label:
        key, equals, value = label.partition("=")
        rows = rows.filter(labels__contains={key: value}) if equals else rows.filter(labels__has_key=key)
    if after:
        rows = rows.filter(name__gt=after)
    return cut(rows.order_by("name")[: limit + 1], limit, lambda row: row.name)


def get(cluster: Cluster, name: str) -> NodeRow:
    """One node, also when it has been removed; raises NodeRow.DoesNotExist."""
    return NodeRow.objects.get(cluster=cluster, name=name)


def pods_on(cluster: Cluster, name: str) -> list[PodRow]:
    """Pods bound to the node that are still there, those of no group last."""
    rows = PodRow.objects.filter(cluster=cluster, node=name, removed=False).exclude(node="")
    return sorted(rows, key=lambda pod: (pod.group == "", pod.namespace, pod.group, pod.name))
