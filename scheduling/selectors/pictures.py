"""Objects of a state as flat fields, so that two moments of one object can be laid side by side. Pure.

A picture is a mapping of field name -> text, whole number, truth value or None. Maps are spread over fields
of their own (``labels[key]``); amounts stand under ``allocatable[resource]``, ``used[resource]`` and
``requests[resource]`` in the units of the log.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from scheduling.engine.canary import Canary
from scheduling.engine.model import Node, Pod, PodGroup
from scheduling.engine.node_types import NodeType, ScaleUpPlan
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.status import group_status
from scheduling.engine.waits import MarkedLost, StickyWait, WaitDeadline, WaitPolicy
from scheduling.ledger import codec
from scheduling.ledger.store import to_datetime

Value = str | int | bool | None
Picture = dict[str, Value]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of an object before and after; None where the object does not have it."""

    name: str
    before: Value
    after: Value

    @property
    def changed(self) -> bool:
        return self.before != self.after


def beside(before: Mapping[str, Value], after: Mapping[str, Value]) -> list[Field]:
    """The fields of two pictures of one object, in the order in which they stand in them."""
    return [Field(name, before.get(name), after.get(name)) for name in dict.fromkeys([*before, *after])]


def changed(before: Mapping[str, Value], after: Mapping[str, Value]) -> tuple[Field, ...]:
    """Only those fields that differ."""
    return tuple(field for field in beside(before, after) if field.changed)


def of_node(node: Node | None) -> Picture:
    """What the node itself tells; {} when there is none."""
    if node is None:
        return {}
    picture: Picture = {"uid": node.uid, "ready": node.ready, "unschedulable": node.unschedulable}
    picture |= _spread("labels", node.labels)
    picture |= {f"taints[{taint.key}:{taint.effect}]": taint.value for taint in node.taints}
    picture |= _spread("allocatable", node.allocatable)
    for zone in node.zones:
        picture |= _spread(f"zones[{zone.name}].allocatable", zone.allocatable)
    return picture


def of_load(state: ClusterState, name: str) -> Picture:
    """What the pods on a node hold; {} when it is not in the cluster."""
    if name not in state.nodes:
        return {}
    used = {resource: amount for resource, amount in state.used(name).items() if resource != "pods"}
    return {"pods": len(state.pods_on(name))} | _spread("used", used.items())


def of_pod(pod: Pod | None, zone: str = "") -> Picture:
    """``zone``: the NUMA domain that it was placed in; {} when there is no pod."""
    if pod is None:
        return {}
    picture: Picture = {
        "uid": pod.uid,
        "group": pod.group,
        "node": pod.node,
        **({"zone": zone} if zone else {}),
        "phase": pod.phase,
        "priority": pod.priority,
        "gated": pod.gated,
        "terminating": pod.terminating,
        "schedulerName": pod.scheduler_name,
    }
    picture |= _spread("labels", pod.labels)
    picture |= _spread("requests", pod.shape.requests)
    asked = {name: part for name, part in codec.encode_part(pod.shape).items() if name != "requests"}
    return picture | {name: orjson.dumps(part).decode() for name, part in asked.items() if part}


def of_group(group: PodGroup | None) -> Picture:
    """What the open generation itself tells; {} when none is open."""
    if group is None:
        return {}
    return {
        "uid": group.uid,
        "generation": group.generation,
        "policy": group.policy,
        "minCount": group.min_count,
        "topologyKey": group.topology_key,
        "priority": group.priority,
        **({"unmodelled": ", ".join(group.unmodelled)} if group.unmodelled else {}),
    }


def of_standing(state: ClusterState, key: str) -> Picture:
    """How a group stands: its status, its members, and what was last decided about it."""
    who = roster(state, key)
    if who.group is None and not who.pods:
        return {}
    verdict, lost = state.verdicts.get(key), state.lost.get(key)
    return {
        "status": group_status(state, key).value,
        "members": who.known,
        "onNodes": len(who.bound),
        "verdict": verdict.verdict if verdict is not None else None,
        "reason": (verdict.reason or None) if verdict is not None else None,
        "domain": verdict.domain if verdict is not None else None,
        "fits": verdict.fits if verdict is not None else None,
        "lostDomain": lost.domain if lost is not None else None,
    } | _wait(state, key)


def _wait(state: ClusterState, key: str) -> Picture:
    """What is recorded of its wait; nothing where there is none."""
    found: Picture = {}
    if (wait := state.records.of(StickyWait).get(key)) is not None:
        found["waitsForDomain"] = wait.domain
    if (until := state.records.of(WaitDeadline).get(key)) is not None:
        found["waitDeadline"] = None if until.at is None else to_datetime(until.at).isoformat()
        found["waitDeadlineAction"] = until.action
        found["waitDeadlinePassed"] = until.expired_at is not None
    return found


def of_cluster(state: ClusterState) -> Picture:
    """Mode, gates and counts of a cluster."""
    counts = {"nodes": len(state.nodes), "podGroups": len(state.groups), "pods": len(state.pods)}
    told = {"mode": state.mode, **_spread("gates", sorted(state.gates.items())), **counts}
    for policy in state.records.of(WaitPolicy).values():
        told |= {"waitAtMost": policy.after, "waitAction": policy.action}
    lost = state.records.of(MarkedLost).values()
    return told | {f"markedLost[{mark.id}]": len(mark.nodes) for mark in lost}


def of_node_type(kind: NodeType | None) -> Picture:
    if kind is None:
        return {}
    return {
        **_spread("allocatable", kind.allocatable),
        **_spread("labels", kind.labels),
        **{f"taints[{taint.key}:{taint.effect}]": taint.value for taint in kind.taints},
        **{f"growth[{entry.key}={entry.domain}]": entry.most for entry in kind.growth},
        "cost": kind.cost,
        "provider": kind.provider or None,
    }


def of_scale_up(plan: ScaleUpPlan | None) -> Picture:
    """What was promised, and how the plan stands."""
    if plan is None:
        return {}
    return {
        "status": plan.status,
        "podGroups": ", ".join(plan.groups),
        **{f"nodes[{step.kind}, {step.key}={step.domain}]": step.count for step in plan.option.steps},
        "joined": len(plan.nodes) if not plan.open else None,
        "why": plan.why or None,
    }


def of_canary(canary: Canary | None) -> Picture:
    """Whom it is for, and how it stands."""
    if canary is None:
        return {}
    return {
        "status": canary.status,
        "means": canary.means,
        "stage": canary.stage + 1,
        "namespaces": ", ".join(canary.scope.namespaces) or None,
        "podGroups": ", ".join(canary.scope.groups) or None,
        "wholeCluster": canary.scope.whole,
        "until": to_datetime(canary.until).isoformat(),
        "verdict": canary.verdict or None,
    }


def of(state: ClusterState, subject: str, namespace: str, name: str) -> Picture:
    """The picture of the object that an event is about; {} when the state has none of that name, or (of a
    Workload) never has.
    """
    key = f"{namespace}/{name}"
    if subject == "node":
        return of_node(state.nodes.get(name)) | of_load(state, name)
    if subject == "podgroup":
        return of_group(state.groups.get(key)) | of_standing(state, key)
    if subject == "cluster":
        return of_cluster(state)
    if subject == "nodetype":
        return of_node_type(state.records.of(NodeType).get(name))
    if subject == "plan":
        return of_scale_up(state.records.of(ScaleUpPlan).get(name))
    if subject == "canary":
        return of_canary(state.records.of(Canary).get(name))
    return {}


def _spread(name: str, pairs: Iterable[tuple[str, Any]]) -> Picture:
    return {f"{name}[{key}]": value for key, value in pairs}
