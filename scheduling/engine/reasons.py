"""Every verdict and every reason the engine can give, one named code each, with what it means and what
lifts it.

The reasons are the categories of ``tests/conformance/README.md``. Sentences for people are made in
``wording.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """What a decision says of a group; the same words in engine, log, API and page."""

    PLACED = "placed"
    PROVED_INFEASIBLE = "proved_infeasible"
    NOT_FOUND = "not_found"
    HELD = "held"
    CONFLICTED = "conflicted"


class Reason(StrEnum):
    """Why a group is not placed."""

    CAPACITY = "capacity"
    NEVER_FITS = "never_fits"
    NOT_ENOUGH_PODS = "not_enough_pods"
    NO_PODGROUP = "no_podgroup"
    NO_SUCH_DOMAIN = "no_such_domain"
    STICKY_DOMAIN = "sticky_domain"
    DOMAIN_LOST = "domain_lost"
    CONFLICTING_DOMAINS = "conflicting_domains"
    UNMODELLED = "unmodelled"
    TAINT = "taint"
    SELECTOR = "selector"
    NODE_NOT_READY = "node_not_ready"
    CORDONED = "cordoned"
    SCHEDULER_NAME = "scheduler_name"
    INVALID = "invalid"
    NOT_FOUND_BY_HEURISTIC = "not_found_by_heuristic"
    ZONE_USE_UNKNOWN = "zone_use_unknown"
    QUOTA = "quota"


@dataclass(frozen=True, slots=True)
class Meaning:
    """``means``: the state of affairs. ``lifted_by``: what ends it."""

    means: str
    lifted_by: str


MEANINGS: dict[Reason, Meaning] = {
    Reason.CAPACITY: Meaning(
        "No topology domain has room for minCount members now; some domain would when empty.",
        "pods that end or leave, nodes that join, reservations for others that are released or expire",
    ),
    Reason.NEVER_FITS: Meaning(
        "No topology domain could hold minCount members even if it were empty.",
        "larger domains or nodes, a new generation with a smaller minCount or smaller members",
    ),
    Reason.NOT_ENOUGH_PODS: Meaning(
        "Fewer members than minCount exist that scheduling gates do not hold back, so the group is not "
        "evaluated.",
        "the missing members being created, or freed of their scheduling gates",
    ),
    Reason.NO_PODGROUP: Meaning("Pods name a PodGroup that does not exist.", "the PodGroup being created"),
    Reason.NO_SUCH_DOMAIN: Meaning("No node carries the topology key.", "nodes being labelled"),
    Reason.STICKY_DOMAIN: Meaning(
        "Bound members pin the group to their domain, which has no room for what is missing.",
        "room in that domain, or a new generation",
    ),
    Reason.DOMAIN_LOST: Meaning(
        "The node of a bound member is gone or no longer carries the key, so its domain cannot be told; or "
        "all members were lost together with every node of their domain.",
        "the node coming back, or a new generation",
    ),
    Reason.CONFLICTING_DOMAINS: Meaning(
        "Bound members lie in more than one domain; nothing is guessed.",
        "members leaving all domains but one",
    ),
    Reason.UNMODELLED: Meaning(
        "Members use something the engine does not model, so neither a fit nor a proof is claimed.",
        "a version of the console that models it",
    ),
    Reason.TAINT: Meaning(
        "Nodes with room carry a taint that the members do not tolerate.",
        "a toleration, or the taint removed",
    ),
    Reason.SELECTOR: Meaning(
        "Node selector, or required affinity to nodes or pods, leaves too few nodes.",
        "labels on nodes, pods to be near, or another selector",
    ),
    Reason.NODE_NOT_READY: Meaning("Nodes that would do are not ready.", "those nodes becoming ready"),
    Reason.CORDONED: Meaning("Nodes that would do are cordoned.", "those nodes being uncordoned"),
    Reason.SCHEDULER_NAME: Meaning(
        "Members name different schedulers, so no one scheduler may place the group.",
        "members with one schedulerName",
    ),
    Reason.INVALID: Meaning("The object is not valid and was refused.", "a valid object"),
    Reason.NOT_FOUND_BY_HEURISTIC: Meaning(
        "The search for members of several shapes ended without a place: its budget ran out (a profile of "
        "kube-scheduler tries one way only); that is no proof that there is none.",
        "more room, with which the search may end in time",
    ),
    Reason.ZONE_USE_UNKNOWN: Meaning(
        "No NUMA zone is certain to have room: pods on the nodes do not tell which zone they use.",
        "those pods ending, or room in a zone even if they were all in it",
    ),
    Reason.QUOTA: Meaning(
        "What is left of the GPU quota of its queue does not do for the members that are missing to "
        "minCount, so the group is not evaluated: whether some domain has room is not asked.",
        "members of the queue's groups ending, or a larger quota",
    ),
}
"""One meaning for each reason; a test holds the two lists together."""
