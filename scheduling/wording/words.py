"""The words for every code: verdicts, reasons, states, modes, kinds of events. English here, Japanese in
locale/ja.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext, pgettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from scheduling.engine.reasons import Reason, Verdict

VERDICTS: dict[str, Any] = {
    Verdict.PLACED: pgettext_lazy("verdict", "placed"),
    Verdict.PROVED_INFEASIBLE: pgettext_lazy("verdict", "proved infeasible"),
    Verdict.NOT_FOUND: pgettext_lazy("verdict", "not found"),
    Verdict.HELD: pgettext_lazy("verdict", "held"),
    Verdict.CONFLICTED: pgettext_lazy("verdict", "conflicted"),
}

SHOWN_VERDICTS: dict[str, Any] = {**VERDICTS, "forecast": pgettext_lazy("verdict", "would be placed")}
"""With the word for a placement that is only foretold."""

REASONS: dict[str, Any] = {
    Reason.CAPACITY: pgettext_lazy("reason", "no room now"),
    Reason.NEVER_FITS: pgettext_lazy("reason", "never fits"),
    Reason.NOT_ENOUGH_PODS: pgettext_lazy("reason", "too few members"),
    Reason.NO_PODGROUP: pgettext_lazy("reason", "PodGroup missing"),
    Reason.NO_SUCH_DOMAIN: pgettext_lazy("reason", "no such domain"),
    Reason.STICKY_DOMAIN: pgettext_lazy("reason", "domain-sticky wait"),
    Reason.DOMAIN_LOST: pgettext_lazy("reason", "domain lost"),
    Reason.CONFLICTING_DOMAINS: pgettext_lazy("reason", "members in several domains"),
    Reason.UNMODELLED: pgettext_lazy("reason", "not modelled"),
    Reason.TAINT: pgettext_lazy("reason", "taint not tolerated"),
    Reason.SELECTOR: pgettext_lazy("reason", "selector or affinity"),
    Reason.NODE_NOT_READY: pgettext_lazy("reason", "node not ready"),
    Reason.CORDONED: pgettext_lazy("reason", "node cordoned"),
    Reason.SCHEDULER_NAME: pgettext_lazy("reason", "different schedulers"),
    Reason.INVALID: pgettext_lazy("reason", "not valid"),
    Reason.NOT_FOUND_BY_HEURISTIC: pgettext_lazy("reason", "search ended without a fit"),
    Reason.ZONE_USE_UNKNOWN: pgettext_lazy("reason", "use of zones not known"),
    Reason.QUOTA: pgettext_lazy("reason", "over quota"),
}

REASON_SENTENCES: dict[str, Any] = {
    Reason.CAPACITY: _("There is not enough room now; an empty domain would do."),
    Reason.NEVER_FITS: _("Not even an empty domain is large enough."),
    Reason.NOT_ENOUGH_PODS: _(
        "Fewer members than minCount exist that scheduling gates do not hold back, so the group is not "
        "evaluated."
    ),
    Reason.NO_PODGROUP: _("Pods name a PodGroup that does not exist."),
    Reason.NO_SUCH_DOMAIN: _("No node carries the topology key."),
    Reason.STICKY_DOMAIN: _(
        "Bound members pin the group to their domain, which has no room for what is missing."
    ),
    Reason.DOMAIN_LOST: _(
        "The node of a bound member is gone or has lost the label, so the domain cannot be told."
    ),
    Reason.CONFLICTING_DOMAINS: _("Bound members lie in more than one domain; nothing is guessed."),
    Reason.UNMODELLED: _(
        "Members use something that is not modelled here: neither a fit nor a proof is claimed."
    ),
    Reason.TAINT: _("Nodes with room carry a taint that the members do not tolerate."),
    Reason.SELECTOR: _("Node selector, or required affinity to nodes or pods, leaves too few nodes."),
    Reason.NODE_NOT_READY: _("Nodes that would do are not ready."),
    Reason.CORDONED: _("Nodes that would do are cordoned."),
    Reason.SCHEDULER_NAME: _("Members name different schedulers, so no one scheduler may place the group."),
    Reason.INVALID: _("The object is not valid and was refused."),
    Reason.NOT_FOUND_BY_HEURISTIC: _(
        "The search ended without a fit: its budget ran out, or the profile tries one way only; that is no "
        "proof."
    ),
    Reason.ZONE_USE_UNKNOWN: _(
        "Pods on the nodes do not tell which NUMA zone they use, so no zone is certain to have room."
    ),
    Reason.QUOTA: _(
        "What is left of the GPU quota of its queue does not do for the members that are missing. Whether "
        "some domain has room is not asked."
    ),
}

LIFTED_BY: dict[str, Any] = {
    Reason.CAPACITY: _(
        "Lifted by members that end or leave, by nodes that join the domain, or when room that is held for "
        "others is released."
    ),
    Reason.NEVER_FITS: _(
        "Lifted by larger domains, or by a new generation with a smaller minCount or smaller members."
    ),
    Reason.NOT_ENOUGH_PODS: _("Lifted when minCount members exist that no scheduling gate holds back."),
    Reason.NO_PODGROUP: _("Lifted when the PodGroup is created."),
    Reason.NO_SUCH_DOMAIN: _("Lifted by labels on nodes."),
    Reason.STICKY_DOMAIN: _("Lifted by room in that domain, or by a new generation."),
    Reason.DOMAIN_LOST: _("Lifted when the node comes back, or by a new generation."),
    Reason.CONFLICTING_DOMAINS: _("Lifted when members leave all domains but one."),
    Reason.UNMODELLED: _("Lifted by a version of the console that models it."),
    Reason.TAINT: _("Lifted by a toleration, or when the taint is removed."),
    Reason.SELECTOR: _("Lifted by labels on nodes, by pods to be near, or by another selector."),
    Reason.NODE_NOT_READY: _("Lifted when those nodes become ready."),
    Reason.CORDONED: _("Lifted when those nodes are uncordoned."),
    Reason.SCHEDULER_NAME: _("Lifted by members with one schedulerName."),
    Reason.INVALID: _("Lifted by a valid object."),
    Reason.NOT_FOUND_BY_HEURISTIC: _(
        "Lifted by more room: the search looks again with every change, and may then end in time."
    ),
    Reason.ZONE_USE_UNKNOWN: _(
        "Lifted when those pods end, or by room in a zone even if they were all in it."
    ),
    Reason.QUOTA: _("Lifted when members of groups of the queue end, or by a larger quota."),
}

LIFTED_FROM_NEVER_IN_QUOTA = _(
    "Lifted by a larger quota, or by a new generation with a smaller minCount; nobody else's end helps. In "
    "this queue, as it is, the group can never run."
)

STATUSES: dict[str, Any] = {
    "scheduled": pgettext_lazy("status", "scheduled"),
    "pending": pgettext_lazy("status", "pending"),
    "held": pgettext_lazy("status", "held"),
    "error": pgettext_lazy("status", "error"),
    "finished": pgettext_lazy("status", "finished"),
    "empty": pgettext_lazy("status", "no members"),
    "degraded": pgettext_lazy("status", "degraded"),
}

MODES: dict[str, Any] = {
    "simulated": pgettext_lazy("mode", "simulated"),
    "observed": pgettext_lazy("mode", "observed"),
}

POLICIES: dict[str, Any] = {
    "gang": pgettext_lazy("policy", "gang"),
    "basic": pgettext_lazy("policy", "basic"),
}

SUBJECTS: dict[str, Any] = {
    "cluster": pgettext_lazy("subject", "cluster"),
    "node": pgettext_lazy("subject", "node"),
    "workload": pgettext_lazy("subject", "Workload"),
    "podgroup": pgettext_lazy("subject", "PodGroup"),
    "pod": pgettext_lazy("subject", "pod"),
    "nodetype": pgettext_lazy("subject", "node type"),
    "plan": pgettext_lazy("subject", "plan"),
    "reservation": pgettext_lazy("subject", "reservation"),
    "queue": pgettext_lazy("subject", "queue"),
    "scenario": pgettext_lazy("subject", "scenario"),
    "run": pgettext_lazy("subject", "run"),
}

EVENT_TYPES: dict[str, Any] = {
    "ClusterRegistered": _("cluster registered"),
    "ClusterModeChanged": _("mode changed"),
    "FeatureGateChanged": _("feature gate switched"),
    "SnapshotImported": _("snapshot imported"),
    "EventsArchived": _("events archived"),
    "EventsRestored": _("events restored"),
    "NodeAdded": _("node added"),
    "NodeUpdated": _("node changed"),
    "NodeRemoved": _("node removed"),
    "WorkloadAdded": _("Workload added"),
    "PodGroupCreated": _("PodGroup created"),
    "PodGroupUpdated": _("PodGroup changed"),
    "PodGroupClosed": _("PodGroup closed"),
    "PodAdded": _("pod added"),
    "PodUpdated": _("pod changed"),
    "PodRemoved": _("pod removed"),
    "PodGroupPlaced": _("PodGroup placed"),
    "PodGroupUnschedulable": _("PodGroup unschedulable"),
    "PodGroupHeld": _("PodGroup held"),
    "PodGroupOverQuota": _("PodGroup over quota"),
    "PodGroupConflicted": _("PodGroup conflicted"),
    "PodGroupSettled": _("PodGroup no longer conflicted"),
    "DomainLost": _("Domain lost"),
    "PlacementForecast": _("placement forecast"),
    "NodeTypeDefined": _("node type defined"),
    "NodeTypeRemoved": _("node type removed"),
    "ScaleUpPlanned": _("scale-up planned"),
    "ScaleUpApproved": _("scale-up approved"),
    "ScaleUpRejected": _("scale-up rejected"),
    "ScaleUpExpired": _("scale-up expired"),
    "ScaleUpCompleted": _("scale-up completed"),
    "ScaleUpShort": _("scale-up short"),
    "ReservationMade": _("reservation made"),
    "ReservationReleased": _("reservation released"),
    "QueueDefined": _("queue defined"),
    "QueueRemoved": _("queue removed"),
    "PreemptionPolicyChanged": _("preemption policy changed"),
    "PreemptionPlanned": _("preemption proposed"),
    "PreemptionNotFound": _("no preemption found"),
    "PreemptionApproved": _("preemption approved"),
    "PreemptionRejected": _("preemption rejected"),
    "PreemptionExpired": _("preemption expired"),
    "PreemptionCompleted": _("preemption completed"),
    "MemberEvicted": _("member evicted"),
    "StickyWaitStarted": _("domain-sticky wait began"),
    "StickyWaitEnded": _("domain-sticky wait ended"),
    "WaitDeadlineSet": _("wait deadline set"),
    "WaitDeadlineWithdrawn": _("back to the default wait deadline"),
    "WaitDeadlineExpired": _("wait deadline passed"),
    "WaitDeadlineLifted": _("wait deadline lifted"),
    "WaitPolicyChanged": _("default wait deadline changed"),
    "DomainMarkedLost": _("domain marked lost"),
    "DomainMarkTakenBack": _("mark of a lost domain taken back"),
    "ScenarioSaved": _("scenario saved"),
    "ScenarioRemoved": _("scenario removed"),
    "RunRequested": _("run asked for"),
    "RunCancelled": _("run cancelled"),
    "RunEnded": _("run ended"),
}

RELEASE_REASONS: dict[str, Any] = {
    "released": _("released by a person"),
    "expired": _("its time was over"),
    "nodes_gone": _("none of its nodes is in the domain any more"),
}

HOLDERS: dict[str, Any] = {
    "group": pgettext_lazy("holder", "PodGroup"),
    "namespace": pgettext_lazy("holder", "namespace"),
    "queue": pgettext_lazy("holder", "queue"),
}

QUEUE_ORDERS: dict[str, Any] = {
    "strict": pgettext_lazy("queue order", "strict"),
    "fair": pgettext_lazy("queue order", "fair"),
}

CLOSE_REASONS: dict[str, Any] = {
    "ended": _("ended by a person"),
    "removed": _("gone from the cluster"),
    "superseded": _("superseded by a new generation"),
    "preempted": _("preempted for a group of higher priority"),
    "expired": _("its wait deadline passed"),
}

WHYS: dict[str, Any] = {
    "resubmitted": _("submitted again"),
    "restored": _("restored from a checkpoint"),
    "constraint": _("another constraint"),
    "elastic": _("another minCount"),
    "domain_lost": _("its domain was lost"),
    "": _("nobody said why"),
}
"""Why a generation that follows another was opened."""

WAIT_ENDS: dict[str, Any] = {
    "placed": _("all its members are on nodes"),
    "closed": _("its generation was closed"),
    "freed": _("it is no longer held there, or waits for something else"),
}

WAIT_ACTIONS: dict[str, Any] = {
    "alert": _("only tell it"),
    "propose": _("tell it and propose the next way out"),
    "close": _("end the group"),
}
"""What the end of a deadline does."""

REMOVE_REASONS: dict[str, Any] = {
    "removed": _("absent from a complete import"),
    "deleted": _("deleted by a person"),
    "node_lost": _("its node was lost"),
    "group_ended": _("its group ended"),
    "superseded": _("its generation was superseded"),
}

PROBLEMS: dict[str, Any] = {
    "FieldValueRequired": _("a value is required"),
    "FieldValueInvalid": _("the value is not valid"),
    "FieldValueForbidden": _("the field is not allowed here"),
    "FieldValueNotSupported": _("the value is not one of those supported"),
    "FieldValueDuplicate": _("the value is there twice"),
    "FieldValueNotFound": _("what the value names does not exist"),
    "FieldValueTooLong": _("the value is too long"),
    "FieldValueTooMany": _("there are too many entries"),
    "FieldValueTypeInvalid": _("the value has the wrong type"),
    "Undecodable": _("cannot be read"),
    "Invalid": _("not valid"),
    "NotFound": _("does not exist"),
    "AlreadyExists": _("exists already"),
    "Conflict": _("contradicts what is there"),
    "Forbidden": _("not allowed"),
}

UNMODELLED: dict[str, Any] = {
    "podAffinity": _("pod affinity"),
    "podAntiAffinity": _("pod anti-affinity"),
    "hostPorts": _("host ports"),
    "volumes": _("volumes"),
    "resourceClaims": _("resource claims (DRA)"),
    "topologySpread": _("topology spread constraints"),
}


CAUSES: dict[str, Any] = {
    "affinity": pgettext_lazy("cause", "no pod to be near"),
    "anti_affinity": pgettext_lazy("cause", "kept apart by anti-affinity"),
    "host_port": pgettext_lazy("cause", "host port in use"),
}
"""Those that are not reasons too."""


def word(table: dict[str, Any], code: str) -> str:
    """The word for a code in the active language; a code without a word is shown as it is, never hidden."""
    return str(table.get(code, code))


def cause(code: str) -> str:
    """Why nodes of a domain are out: a reason, ``capacity:<resource>`` for nodes that lack that resource, or
    ``reserved:<name>`` for nodes that lack only what that reservation holds for others.
    """
    name, _colon, resource = code.partition(":")
    if name == "reserved":
        return gettext("held by reservation %(name)s") % {"name": resource}
    if resource:
        return gettext("too little %(resource)s") % {"resource": resource}
    return word(CAUSES if name in CAUSES else REASONS, name)


def domain_kind(topology_key: str) -> str:
    """What one domain of a key is called: ``topology.example.com/rack`` has racks; "cluster" without a
    key.
    """
    if not topology_key:
        return pgettext("domain kind", "cluster")
    kinds = {
        "rack": pgettext("domain kind", "rack"),
        "zone": pgettext("domain kind", "zone"),
        "region": pgettext("domain kind", "region"),
        "block": pgettext("domain kind", "block"),
        "numa": pgettext("domain kind", "NUMA zone"),
        "hostname": pgettext("domain kind", "host"),
        "host": pgettext("domain kind", "host"),
    }
    last = topology_key.rsplit("/", 1)[-1].rsplit(".", 1)[-1]
    return kinds.get(last, last)


def domain_name(topology_key: str, domain: str) -> str:
    """A domain as it stands in a sentence: its value, and what to call the whole cluster or an empty label
    value.
    """
    if not topology_key:
        return gettext("the whole cluster")
    return domain if domain else gettext("(empty label value)")


def unmodelled(names: object) -> str:
    """What the engine does not model of a group, as a list."""
    listed: list[str] = [str(name) for name in names] if isinstance(names, list | tuple) else []
    return ", ".join(word(UNMODELLED, name) for name in listed)
