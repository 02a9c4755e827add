"""What an import warns of although it takes it: facts of the whole cluster that surprise later. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from scheduling.engine.model import DEFAULT_SCHEDULER, Node, Pod, PodGroup
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.kube.remarks import zone_remarks
from scheduling.services.numa import NO_ZONES
from scheduling.services.problems import Problem

_NAMED = 5
"""So many objects are named in one notice; the rest is counted."""


def notices_of(nodes: Mapping[str, Node], pods: Iterable[Pod], groups: Iterable[PodGroup]) -> list[Problem]:
    """Values of a topology key in several zones, nodes without a key (or without the NUMA zones) that
    PodGroups ask for, over-committed nodes, members that ask for another scheduler than the default one.
    """
    pods = list(pods)
    constrained = [group for group in groups if group.topology_key]
    return [
        *(
            Problem("Node", "", "", f"metadata.labels[{key}]", "", sentence)
            for key, sentence in zone_remarks(nodes.values(), constrained)
        ),
        *(
            notice
            for key in sorted({group.topology_key for group in constrained})
            for notice in (_without_zones(nodes) if key == NUMA_KEY else _without_label(key, nodes))
        ),
        *_over_committed(nodes, pods),
        *_other_schedulers(pods),
    ]


def _without_zones(nodes: Mapping[str, Node]) -> list[Problem]:
    """PodGroups ask for one NUMA zone; said even where no node tells of any, for they wait for ever then."""
    names = sorted(node.name for node in nodes.values() if not node.zones)
    if not names:
        return []
    path = "spec.schedulingConstraints.topology[0].key"
    if len(names) == len(nodes):
        return [Problem("PodGroup", "", "", path, "", f"PodGroups ask for one NUMA zone, but {NO_ZONES}")]
    what = "node tells" if len(names) == 1 else "nodes tell"
    told = f"{len(names)} {what} no NUMA zones and belong to no domain of {NUMA_KEY}: {_listed(names)}"
    return [Problem("Node", "", names[0] if len(names) == 1 else "", "", "", told)]


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _without_label(key: str, nodes: Mapping[str, Node]) -> list[Problem]:
    names = sorted(node.name for node in nodes.values() if node.label(key) is None)
    if not names or len(names) == len(nodes):
        return []
    what = "node has no label {} and belongs" if len(names) == 1 else "nodes have no label {} and belong"
    return [
        Problem(
            "Node", "", names[0] if len(names) == 1 else "", f"metadata.labels[{key}]", "",
            f"{len(names)} {what.format(key)} to none of its domains: {_listed(names)}",
        )
    ]  # fmt: skip


def _over_committed(nodes: Mapping[str, Node], pods: Iterable[Pod]) -> list[Problem]:
    used: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pod in pods:
        if pod.node and not pod.finished:
            used[pod.node].update(dict(pod.shape.requests))
    found = []
    for name in sorted(used.keys() & nodes.keys()):
        allocatable = dict(nodes[name].allocatable)
        for resource, amount in sorted(used[name].items()):
            if amount > allocatable.get(resource, 0):
                found.append(
                    Problem(
                        "Node", "", name, f"status.allocatable[{resource}]", "",
                        f"over-committed: pods on it ask for {_shown(resource, amount)}, "
                        f"it has {_shown(resource, allocatable.get(resource, 0))}",
                    )
                )  # fmt: skip
    return found


def _shown(resource: str, amount: int) -> str:
    """An amount as a manifest would hold it: cpu in cores, or milli-cores with their ``m``."""
    if resource == "cpu":
        return f"{amount // 1000} {resource}" if amount % 1000 == 0 else f"{amount}m {resource}"
    return f"{amount} {resource}"


def _other_schedulers(pods: Iterable[Pod]) -> list[Problem]:
    """The console decides such groups all the same, so their own scheduler may do otherwise."""
    members: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for pod in pods:
        if pod.group and not pod.node and not pod.finished and pod.scheduler_name != DEFAULT_SCHEDULER:
            members[pod.namespace, pod.group][pod.scheduler_name] += 1
    return [
        Problem(
            "PodGroup", namespace, name, "spec.schedulerName", "",
            f"{number} {'member asks' if number == 1 else 'members ask'} for the scheduler {scheduler}: "
            f"the console decides the group all the same, which says nothing about that scheduler",
        )
        for (namespace, name), found in sorted(members.items())
        for scheduler, number in sorted(found.items())
    ]  # fmt: skip
