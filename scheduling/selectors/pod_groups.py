"""What pages and API read of PodGroups."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from django.db.models import Q

from scheduling.models import Cluster, NodeRow, PodGroupRow, PodRow
from scheduling.selectors.paging import Page, cut


def _position(row: PodGroupRow) -> str:
    return f"{row.namespace}/{row.name}/{row.generation}"


def page(
    cluster: Cluster,
    *,
    status: str = "",
    namespace: str = "",
    text: str = "",
    closed: bool = False,
    after: str = "",
    limit: int = 50,
) -> Page[PodGroupRow]:
    """PodGroups by namespace, name and generation. ``status`` may also be ``degraded``; ``text``: part of
    the name.

    ``closed``: the closed generations instead of the open ones. ``after``: ``namespace/name/generation``;
    ValueError
    when it is not of that form.
    """
    rows = PodGroupRow.objects.filter(cluster=cluster, closed=closed)
    if status == "degraded":
        rows = rows.filter(degraded=True)
    elif status:
        rows = rows.filter(status=status)
    if namespace:
        rows = rows.filter(namespace=namespace)
    if text:
        rows = rows.filter(name__icontains=text)
    if after:
        space, name, generation = after.split("/")
        rows = rows.filter(
            Q(namespace__gt=space)
            | Q(namespace=space, name__gt=name)
            | Q(namespace=space, name=name, generation__gt=int(generation))
        )
    return cut(rows.order_by("namespace", "name", "generation")[: limit + 1], limit, _position)


def generations(cluster: Cluster, namespace: str, name: str) -> list[PodGroupRow]:
    """Every generation of a key, newest first; the row of a missing PodGroup (generation 0) is one of
    them.
    """
    return list(
        PodGroupRow.objects.filter(cluster=cluster, namespace=namespace, name=name).order_by(
            "-generation", "-pk"
        )
    )


def current(cluster: Cluster, namespace: str, name: str, generation: int | None = None) -> PodGroupRow:
    """The open generation, else the newest, or the one asked for; raises PodGroupRow.DoesNotExist."""
    rows = PodGroupRow.objects.filter(cluster=cluster, namespace=namespace, name=name)
    if generation is not None:
        rows = rows.filter(generation=generation)
    row = rows.order_by("closed", "-generation", "-pk").first()
    if row is None:
        raise PodGroupRow.DoesNotExist(f"no PodGroup {namespace}/{name} in cluster {cluster.name}")
    return row


def members(cluster: Cluster, namespace: str, name: str) -> list[PodRow]:
    """Pods that name this PodGroup and have not been removed, by name."""
    return list(
        PodRow.objects.filter(cluster=cluster, namespace=namespace, group=name, removed=False)
        .exclude(group="")
        .order_by("name", "uid")
    )


def bound_domains(cluster: Cluster, rows: Iterable[PodGroupRow]) -> dict[str, str]:
    """Where groups run that no decision of ours has placed: key to domain, by the nodes of bound members.

    Only groups with a topology key whose bound members all lie in one domain; two queries for all of them.
    """
    keys = {row.key: row.topology_key for row in rows if row.topology_key and row.bound and not row.domain}
    pods = [
        (f"{space}/{group}", node)
        for space, group, node in PodRow.objects.filter(
            cluster=cluster,
            namespace__in={key.partition("/")[0] for key in keys},
            group__in={key.partition("/")[2] for key in keys},
            removed=False,
        )
        .exclude(group="")
        .exclude(node="")
        .values_list("namespace", "group", "node")
    ]
    names = {node for _key, node in pods}
    labels = dict(NodeRow.objects.filter(cluster=cluster, name__in=names).values_list("name", "labels"))
    found: dict[str, set[str | None]] = defaultdict(set)
    for key, node in pods:
        if key in keys:
            found[key].add(labels.get(node, {}).get(keys[key]))
    alone = {key: next(iter(domains)) for key, domains in found.items() if len(domains) == 1}
    return {key: domain for key, domain in alone.items() if domain is not None}


def namespaces(cluster: Cluster) -> list[str]:
    """Namespaces that hold a PodGroup, sorted."""
    return list(
        PodGroupRow.objects.filter(cluster=cluster)
        .order_by("namespace")
        .values_list("namespace", flat=True)
        .distinct()
    )


def count(cluster: Cluster, status: str) -> int:
    """Open groups in a state."""
    return PodGroupRow.objects.filter(cluster=cluster, closed=False, status=status).count()


def constrained_keys(cluster: Cluster) -> frozenset[str]:
    """Keys of the open groups with a topology constraint."""
    rows = PodGroupRow.objects.filter(cluster=cluster, closed=False).exclude(topology_key="")
    return frozenset(f"{space}/{name}" for space, name in rows.values_list("namespace", "name"))
