"""Which nodes a member may use, apart from room: taints, cordon, readiness, node selector, required node
affinity.

Rules as in the Kubernetes scheduler (NodeUnschedulable, TaintToleration, NodeAffinity), and one of our own:
a node whose Ready condition is not True takes nobody, whatever is tolerated.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum

from scheduling.engine.model import Eligibility, Node, NodeSelectorTerm, Requirement, Taint, Toleration
from scheduling.engine.reasons import Reason

CORDON = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""What a member must tolerate to be put on a cordoned node."""

_REPELLING = ("NoSchedule", "NoExecute")


class Bar(IntEnum):
    """What keeps a member off a node. A node barred by several counts under the first in this order: a node
    that the selector does not mean is nobody's loss, and unready or cordoned nodes usually carry the taint
    that says so.
    """

    NONE = 0
    SELECTOR = 1
    NOT_READY = 2
    CORDONED = 3
    TAINT = 4
    ANTI_AFFINITY = 5
    HOST_PORT = 6
    AFFINITY = 7


BY_PODS = (Bar.ANTI_AFFINITY, Bar.HOST_PORT, Bar.AFFINITY)
"""Set by the pods that are there (``pairwise_rules``), after all that the node itself says."""

BAR_CODE: dict[Bar, str] = {
    Bar.SELECTOR: "selector",
    Bar.NOT_READY: "node_not_ready",
    Bar.CORDONED: "cordoned",
    Bar.TAINT: "taint",
    Bar.ANTI_AFFINITY: "anti_affinity",
    Bar.HOST_PORT: "host_port",
    Bar.AFFINITY: "affinity",
}
"""What such nodes are counted under in the causes of a domain."""

BAR_REASON: dict[Bar, Reason] = {
    Bar.SELECTOR: Reason.SELECTOR,
    Bar.NOT_READY: Reason.NODE_NOT_READY,
    Bar.CORDONED: Reason.CORDONED,
    Bar.TAINT: Reason.TAINT,
    Bar.AFFINITY: Reason.SELECTOR,
}
"""Why a domain is short that would do with the bar lifted. Pods that keep others away count as room that is
taken: the reason is capacity.
"""


def bar(node: Node, wanted: Eligibility) -> Bar:
    """The first thing that keeps such a member off the node, ``Bar.NONE`` when nothing does."""
    if (wanted.node_selector or wanted.terms is not None) and not selects(wanted, node):
        return Bar.SELECTOR
    if not node.ready:
        return Bar.NOT_READY
    if node.unschedulable and not tolerated(CORDON, wanted.tolerations):
        return Bar.CORDONED
    if node.taints and repelled(node, wanted.tolerations):
        return Bar.TAINT
    return Bar.NONE


def repelled(node: Node, tolerations: tuple[Toleration, ...]) -> bool:
    """Whether a taint of the node keeps such members off; a cordon is no taint here."""
    return any(taint.effect in _REPELLING and not tolerated(taint, tolerations) for taint in node.taints)


def tolerated(taint: Taint, tolerations: tuple[Toleration, ...]) -> bool:
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator == "Exists":
        return True
    return toleration.operator in ("", "Equal") and toleration.value == taint.value


def selects(wanted: Eligibility, node: Node) -> bool:
    """Whether node selector and required node affinity allow the node."""
    labels = dict(node.labels)
    if any(labels.get(key) != value for key, value in wanted.node_selector):
        return False
    return wanted.terms is None or any(_term_matches(term, node.name, labels) for term in wanted.terms)


def _term_matches(term: NodeSelectorTerm, name: str, labels: dict[str, str]) -> bool:
    if not term.labels and not term.fields:
        return False
    fields = {"metadata.name": name}
    return all(holds(r, labels) for r in term.labels) and all(holds(r, fields) for r in term.fields)


def holds(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether labels meet one requirement; without the key, NotIn and DoesNotExist do."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value is not None and value in requirement.values
        case "NotIn":
            return value is None or value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and _compares(requirement, value)
        case _:
            return False


def _compares(requirement: Requirement, value: str) -> bool:
    if len(requirement.values) != 1:
        return False
    have, bound = _integer(value), _integer(requirement.values[0])
    if have is None or bound is None:
        return False
    return have > bound if requirement.operator == "Gt" else have < bound


def _integer(text: str) -> int | None:
    """A decimal integer as Go's ParseInt reads it (sign allowed; no spaces, no underscores), None
    otherwise.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    return int(text) if digits.isascii() and digits.isdigit() else None
