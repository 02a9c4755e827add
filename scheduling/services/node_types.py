"""Types of nodes that a cluster can grow by: defined by hand or from a node, removed."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scheduling.engine.change_steps import HOSTNAME
from scheduling.engine.growth import TYPE_LABEL
from scheduling.engine.model import Node
from scheduling.engine.node_types import SIMULATED, Growth, NodeType, ScaleUpPlan
from scheduling.engine.state import ClusterState
from scheduling.kube import manifests as kube
from scheduling.kube.names import label_key_problem, label_value_problem
from scheduling.ledger.events import Event, NodeTypeDefined, NodeTypeRemoved
from scheduling.models import Cluster
from scheduling.services.execute import Outcome, execute
from scheduling.services.problems import DUPLICATE, FORBIDDEN, INVALID, NOT_FOUND, REQUIRED, Problem, Refused

MOST_GROWTH = 200
"""Domains in which one type may grow."""

MOST_NODES = 1_000
"""Nodes by which one domain may grow."""

_PODS = "110"
"""What a kubelet allows unless told otherwise."""

_COST = re.compile(r"\d{1,9}(\.\d{1,3})?")


@dataclass(frozen=True, slots=True)
class GrowthForm:
    """As ``Growth``, as typed."""

    key: str
    domain: str
    most: int


@dataclass(frozen=True, slots=True)
class NodeTypeForm:
    """``like``: a node whose resources, labels and taints are taken where the form gives none itself, "" for
    none. ``allocatable``: quantities as typed. ``taints``: as in a node's spec. ``cost``: units for a node
    and hour with at most three decimals, "" when it is not known. ``provider``: "" or simulated.
    """

    name: str
    like: str = ""
    allocatable: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[dict[str, Any], ...] = ()
    growth: tuple[GrowthForm, ...] = ()
    cost: str = ""
    provider: str = ""


def define(*, cluster: Cluster, form: NodeTypeForm, actor: str, command_id: str = "") -> Outcome:
    """Also anew, in place of the type of that name. Raises Refused; paths are the form's fields."""
    return execute(
        cluster,
        lambda state, _: define_events(state, form),
        actor=actor,
        command_id=command_id,
        request=f"node type {form!r}",
    )


def remove(*, cluster: Cluster, name: str, actor: str, command_id: str = "") -> Outcome:
    """Raises Refused for an unknown type and for one that an open plan names."""
    return execute(
        cluster,
        lambda state, _: remove_events(state, name),
        actor=actor,
        command_id=command_id,
        request=f"remove node type {name}",
    )


# ---------------------------------------------------------------- pure


def define_events(state: ClusterState, form: NodeTypeForm) -> list[Event]:
    """Nothing where the type is so already. Raises Refused."""
    like = state.nodes.get(form.like) if form.like else None
    problems: list[Problem] = []
    if form.like and like is None:
        problems.append(_problem(form, "like", NOT_FOUND, f"there is no node {form.like}"))
    cost = _cost(form, problems)
    growth = _growth(form, problems)
    node = _node(form, like, problems)
    if form.provider not in ("", SIMULATED):
        problems.append(
            _problem(form, "provider", INVALID, f"{form.provider!r} is neither empty nor {SIMULATED}")
        )
    if problems or node is None:
        raise Refused(problems)
    keys = {entry.key for entry in growth}
    own = {HOSTNAME, TYPE_LABEL, *keys}
    labels = tuple((key, value) for key, value in node.labels if key not in own)
    kind = NodeType(form.name, node.allocatable, labels, node.taints, growth, cost, form.provider)
    return [] if state.records.of(NodeType).get(kind.name) == kind else [NodeTypeDefined(kind)]


def remove_events(state: ClusterState, name: str) -> list[Event]:
    """Raises Refused."""
    if name not in state.records.of(NodeType):
        raise Refused([Problem("NodeType", "", name, "", NOT_FOUND, f"there is no node type {name}")])
    for plan in state.records.of(ScaleUpPlan).values():
        if plan.open and any(step.kind == name for option in plan.options for step in option.steps):
            raise Refused(
                [Problem("NodeType", "", name, "", FORBIDDEN, f"the open plan {plan.name} needs it")]
            )
    return [NodeTypeRemoved(name)]


def _problem(form: NodeTypeForm, path: str, reason: str, message: str) -> Problem:
    return Problem("NodeType", "", form.name, path, reason, message)


def _cost(form: NodeTypeForm, problems: list[Problem]) -> int | None:
    """Thousandths; None for "" and for what is refused."""
    if not form.cost:
        return None
    if not _COST.fullmatch(form.cost):
        message = "a cost is a number with at most three decimals, such as 98.32"
        problems.append(_problem(form, "cost", INVALID, message))
        return None
    whole, _, decimals = form.cost.partition(".")
    return int(whole) * 1000 + int(decimals.ljust(3, "0"))


def _growth(form: NodeTypeForm, problems: list[Problem]) -> tuple[Growth, ...]:
    if not form.growth:
        problems.append(_problem(form, "growth", REQUIRED, "name at least one domain in which it may grow"))
    if len(form.growth) > MOST_GROWTH:
        message = f"domains in one type: at most {MOST_GROWTH}, not {len(form.growth)}"
        problems.append(_problem(form, "growth", INVALID, message))
    seen: set[tuple[str, str]] = set()
    for place, entry in enumerate(form.growth[:MOST_GROWTH]):
        path = f"growth[{place}]"
        if problem := label_key_problem(entry.key):
            problems.append(_problem(form, f"{path}.key", INVALID, f"{entry.key!r} {problem}"))
        elif entry.key in (HOSTNAME, TYPE_LABEL):
            message = f"{entry.key} differs from node to node: no domain of it can grow"
            problems.append(_problem(form, f"{path}.key", FORBIDDEN, message))
        if problem := label_value_problem(entry.domain):
            problems.append(_problem(form, f"{path}.domain", INVALID, f"{entry.domain!r} {problem}"))
        if not 0 < entry.most <= MOST_NODES:
            message = f"nodes in one domain: 1 to {MOST_NODES}, not {entry.most}"
            problems.append(_problem(form, f"{path}.most", INVALID, message))
        if (entry.key, entry.domain) in seen:
            message = f"{entry.key}={entry.domain} is there twice"
            problems.append(_problem(form, path, DUPLICATE, message))
        seen.add((entry.key, entry.domain))
        if entry.key in form.labels:
            message = f"the value of {entry.key} comes from the domain that grows"
            problems.append(_problem(form, "labels", FORBIDDEN, message))
    return tuple(Growth(entry.key, entry.domain, entry.most) for entry in form.growth)


def _node(form: NodeTypeForm, like: Node | None, problems: list[Problem]) -> Node | None:
    """A node of the type; what the form gives is read as of a manifest."""
    amounts = {"pods": _PODS, **form.allocatable} if form.allocatable else {}
    manifest = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": form.name, "labels": form.labels},
        "spec": {"taints": list(form.taints)},
        "status": {"allocatable": amounts},
    }
    read = kube.read(json.dumps(manifest).encode())
    problems += [_problem(form, _path(bad.path), bad.reason, bad.message) for bad in read.refused]
    if not form.name:
        problems[:] = [problem for problem in problems if problem.path != "name"]
        problems.append(_problem(form, "name", REQUIRED, "a name is needed"))
    if not amounts and not form.like:
        message = "say what such a node has, or name a node like it"
        problems.append(_problem(form, "allocatable", REQUIRED, message))
    if read.refused:
        return None
    (node,) = read.nodes
    if like is None:
        return node
    return replace(
        node,
        allocatable=node.allocatable if amounts else like.allocatable,
        labels=node.labels if form.labels else like.labels,
        taints=node.taints if form.taints else like.taints,
    )


_PATHS: Sequence[tuple[str, str]] = (
    ("metadata.labels", "labels"),
    ("metadata", "name"),
    ("spec.taints", "taints"),
    ("status.allocatable", "allocatable"),
)


def _path(path: str) -> str:
    return next((name for start, name in _PATHS if path.startswith(start)), path)
