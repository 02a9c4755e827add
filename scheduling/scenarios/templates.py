"""Scenarios to begin with, made for a cluster as it is. Pure.

Where a cluster has not got what a template is about (no domain, no free node), its step is there with the
field left to be filled in.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from scheduling.engine.state import ClusterState
from scheduling.selectors.headline import by_domain

TEMPLATES = ("lose-fullest", "one-node-short", "other-gpu", "clock-forward")

PRODUCT = "nvidia.com/gpu.product"
_HOUR = 3600


def template(code: str, state: ClusterState, key: str) -> dict[str, Any]:
    """A document as it would be typed. ``key``: the topology key whose domains it is about, "" for none.
    KeyError for a code that is not in ``TEMPLATES``.
    """
    steps = {
        "lose-fullest": _lose_fullest,
        "one-node-short": _one_node_short,
        "other-gpu": _other_gpu,
        "clock-forward": lambda _state, _key: [{"step": "advance_clock", "seconds": _HOUR}],
    }[code]
    return {"name": code, "steps": steps(state, key)}


def _fullest(state: ClusterState, key: str) -> str | None:
    """The domain in which most GPUs are in use."""
    uses = by_domain(state, key) if key else {}
    return max(uses, key=lambda domain: (uses[domain].used, domain), default=None)


def _lose_fullest(state: ClusterState, key: str) -> list[dict[str, Any]]:
    return [{"step": "lose_nodes", **_of_domain(key, _fullest(state, key))}]


def _of_domain(key: str, domain: str | None) -> dict[str, Any]:
    return {"key": key, "domain": domain} if domain is not None else {}


def _one_node_short(state: ClusterState, key: str) -> list[dict[str, Any]]:
    """A gang that asks for all free nodes of the domain that has most of them, one of which is cordoned."""
    busy = {pod.node for pod in state.pods.values() if pod.node and not pod.finished}
    free: dict[str, list[str]] = {}
    for name, node in state.nodes.items():
        domain = node.label(key) if key else None
        if (
            domain is not None
            and node.ready
            and not node.unschedulable
            and name not in busy
            and not node.taints
        ):
            free.setdefault(domain, []).append(name)
    if not free:
        return [{"step": "cordon"}]
    best = max(free, key=lambda domain: (len(free[domain]), domain))
    names = sorted(free[best])
    whole = dict(state.nodes[names[0]].allocatable)
    asked = {name: amount for name, amount in whole.items() if name.endswith("/gpu") and amount}
    requests = {name: str(amount) for name, amount in asked.items()}
    if not requests and "cpu" in whole:
        requests = {"cpu": f"{whole['cpu']}m"}
    members = {"count": len(names), **({"requests": requests} if requests else {})}
    submit = {"step": "submit", "namespace": "default", "name": "tight", "min_count": len(names)}
    return [
        {"step": "cordon", "node": names[0]},
        submit | {"topology_key": key, "templates": [members]},
    ]


def _other_gpu(state: ClusterState, key: str) -> list[dict[str, Any]]:
    """The fullest domain has the GPUs that fewest nodes have now."""
    domain = _fullest(state, key)
    products = Counter(node.label(PRODUCT) for node in state.nodes.values())
    here = {node.label(PRODUCT) for node in state.nodes.values() if key and node.label(key) == domain}
    others = [name for name in products if name and name not in here]
    product = min(others, key=lambda name: (products[name], name), default="another-gpu")
    return [{"step": "change_gpu", **_of_domain(key, domain), "product": product}]
