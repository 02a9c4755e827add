"""One sentence for each event of the log, from the fields of the event alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from django.utils.translation import gettext, ngettext

from scheduling.engine.queues import QuotaCount
from scheduling.engine.reasons import Reason
from scheduling.ledger import codec
from scheduling.ledger import events as log
from scheduling.wording import preemption, scale_up, units, words, workbench
from scheduling.wording.decisions import Facts, joined, lost_sentence, sentences


def _counts(pairs: Iterable[tuple[str, int]]) -> str:
    return ", ".join(f"{units.count(number)} {kind}" for kind, number in pairs)


def _registered(event: log.ClusterRegistered) -> str:
    values = {
        "name": event.name,
        "mode": words.word(words.MODES, event.mode),
        "on": ", ".join(gate for gate, on in event.gates if on),
    }
    if values["on"]:
        return gettext("Cluster %(name)s was registered as %(mode)s; gates on: %(on)s.") % values
    return gettext("Cluster %(name)s was registered as %(mode)s with every gate off.") % values


def _mode(event: log.ClusterModeChanged) -> str:
    return gettext("The cluster became %(mode)s.") % {"mode": words.word(words.MODES, event.mode)}


def _gate(event: log.FeatureGateChanged) -> str:
    if event.enabled:
        return gettext("Feature gate %(gate)s was switched on.") % {"gate": event.gate}
    return gettext("Feature gate %(gate)s was switched off.") % {"gate": event.gate}


def _imported(event: log.SnapshotImported) -> str:
    values = {
        "accepted": _counts(event.accepted),
        "ignored": _counts(event.ignored),
        "refused": units.count(len(event.refused)),
        "complete": ", ".join(event.complete),
    }
    parts = [gettext("A snapshot was imported: %(accepted)s.") % values]
    if event.ignored:
        parts.append(gettext("Ignored: %(ignored)s.") % values)
    if event.refused:
        parts.append(
            ngettext(
                "%(refused)s object was left out.", "%(refused)s objects were left out.", len(event.refused)
            )
            % values
        )
    if event.complete:
        parts.append(gettext("Complete for %(complete)s: what was absent was removed.") % values)
    return joined(parts)


def _archived(event: log.EventsArchived) -> str:
    values = {
        "first": units.count(event.first),
        "last": units.count(event.last),
        "file": event.file,
        "size": units.in_bytes(event.size),
        "sha256": event.sha256,
    }
    return (
        ngettext(
            "Event %(first)s was archived in %(file)s (%(size)s, sha256 %(sha256)s).",
            "Events %(first)s to %(last)s were archived in %(file)s (%(size)s, sha256 %(sha256)s).",
            event.last - event.first + 1,
        )
        % values
    )


def _restored(event: log.EventsRestored) -> str:
    return ngettext(
        "Event %(first)s was brought back from %(file)s.",
        "Events %(first)s to %(last)s were brought back from %(file)s.",
        event.last - event.first + 1,
    ) % {
        "first": units.count(event.first),
        "last": units.count(event.last),
        "file": event.file,
    }


def _node_added(event: log.NodeAdded) -> str:
    values = {"node": event.node.name, "allocatable": units.quantities(event.node.allocatable)}
    return gettext("Node %(node)s joined with %(allocatable)s.") % values


def _changed(changes: Iterable[tuple[str, Any]]) -> str:
    return ", ".join(field for field, _ in changes)


def _node_updated(event: log.NodeUpdated) -> str:
    values = {"node": event.name, "changed": _changed(event.changes)}
    match event.changes:
        case (("unschedulable", True),):
            return gettext("Node %(node)s was cordoned.") % values
        case (("unschedulable", False),):
            return gettext("Node %(node)s was uncordoned.") % values
        case (("ready", True),):
            return gettext("Node %(node)s became ready.") % values
        case (("ready", False),):
            return gettext("Node %(node)s is no longer ready.") % values
    return gettext("Node %(node)s changed: %(changed)s.") % values


def _node_removed(event: log.NodeRemoved) -> str:
    return gettext("Node %(node)s was removed.") % {"node": event.name}


def _workload(event: log.WorkloadAdded) -> str:
    number = len(event.workload.templates)
    return ngettext(
        "Workload %(key)s was seen with %(n)s template.",
        "Workload %(key)s was seen with %(n)s templates.",
        number,
    ) % {"key": event.workload.key, "n": units.count(number)}


def _group_created(event: log.PodGroupCreated) -> str:
    parts = [_opened(event)]
    if event.why:
        parts.append(gettext("Why: %(why)s.") % {"why": words.word(words.WHYS, event.why)})
    if event.checkpoint:
        parts.append(gettext("It starts from checkpoint %(checkpoint)s.") % {"checkpoint": event.checkpoint})
    return joined(parts)


def _opened(event: log.PodGroupCreated) -> str:
    group = event.group
    values = {
        "group": group.key,
        "generation": group.generation,
        "need": units.count(group.min_count),
        "key": group.topology_key,
    }
    if group.generation > 1 and group.topology_key:
        return (
            gettext(
                "PodGroup %(group)s was created as generation %(generation)s: "
                "minCount %(need)s in one domain of %(key)s."
            )
            % values
        )
    if group.generation > 1:
        return (
            gettext("PodGroup %(group)s was created as generation %(generation)s: minCount %(need)s.")
            % values
        )
    if group.topology_key:
        return gettext("PodGroup %(group)s was created: minCount %(need)s in one domain of %(key)s.") % values
    return gettext("PodGroup %(group)s was created: minCount %(need)s, no topology constraint.") % values


def _group_updated(event: log.PodGroupUpdated) -> str:
    values = {"group": f"{event.namespace}/{event.name}", "changed": _changed(event.changes)}
    match event.changes:
        case (("min_count", int(need)),):
            return gettext("minCount of PodGroup %(group)s became %(need)s.") % {
                **values,
                "need": units.count(need),
            }
    return gettext("PodGroup %(group)s changed: %(changed)s.") % values


def _group_closed(event: log.PodGroupClosed) -> str:
    return gettext("Generation %(generation)s of PodGroup %(group)s was closed: %(why)s.") % {
        "group": f"{event.namespace}/{event.name}",
        "generation": event.generation,
        "why": words.word(words.CLOSE_REASONS, event.reason),
    }


def _pod_added(event: log.PodAdded) -> str:
    pod = event.pod
    values = {"pod": pod.key, "node": pod.node, "group": pod.group}
    if event.replaces:
        return gettext("Pod %(pod)s was created in place of a lost member of %(group)s.") % values
    if pod.group and pod.node:
        return gettext("Pod %(pod)s of %(group)s appeared on node %(node)s.") % values
    if pod.group:
        return gettext("Pod %(pod)s of %(group)s was created.") % values
    if pod.node:
        return gettext("Pod %(pod)s appeared on node %(node)s.") % values
    return gettext("Pod %(pod)s was created.") % values


def _pod_updated(event: log.PodUpdated) -> str:
    changes = dict(event.changes)
    values = {
        "pod": f"{event.namespace}/{event.name}",
        "node": changes.get("node", ""),
        "phase": changes.get("phase", ""),
        "changed": _changed(event.changes),
    }
    if values["node"]:
        return gettext("Pod %(pod)s was bound to node %(node)s.") % values
    if set(changes) == {"phase"}:
        return gettext("Pod %(pod)s is now %(phase)s.") % values
    return gettext("Pod %(pod)s changed: %(changed)s.") % values


def _pod_removed(event: log.PodRemoved) -> str:
    return gettext("Pod %(pod)s left: %(why)s.") % {
        "pod": f"{event.namespace}/{event.name}",
        "why": words.word(words.REMOVE_REASONS, event.reason),
    }


def _about(event: Any, what: str) -> str:
    """A decision's sentence with the group it is about in front."""
    return gettext("PodGroup %(group)s: %(what)s") % {
        "group": f"{event.namespace}/{event.name}",
        "what": what,
    }


def _domain(event: Any) -> str | None:
    """None where no domain was looked at; "" is the value of a label."""
    if isinstance(event, log.PodGroupUnschedulable) and not event.table.domains:
        return event.domain or None
    domain: str | None = getattr(event, "domain", None)
    return domain


def facts_of_event(event: Any) -> Facts:
    """Facts of any of the decision events."""
    return Facts(
        verdict={
            log.PodGroupPlaced: "placed",
            log.PlacementForecast: "placed",
            log.PodGroupHeld: "held",
            log.PodGroupOverQuota: "held",
            log.PodGroupConflicted: "conflicted",
        }.get(type(event))
        or event.verdict,
        reason=_reason(event),
        topology_key=getattr(event, "topology_key", ""),
        enforced=getattr(event, "enforced", True),
        domain=_domain(event),
        need=event.need,
        members=event.members,
        bound=getattr(event, "bound", 0),
        fits=getattr(event, "fits", 0),
        short_of=tuple(tuple(pair) for pair in getattr(event, "short_of", ())),
        fits_across_domains=getattr(event, "fits_across_domains", False),
        unmodelled=tuple(getattr(event, "unmodelled", ())),
        forecast=isinstance(event, log.PlacementForecast),
        quota=QuotaCount(event.queue, event.quota, event.used, event.asked)
        if isinstance(event, log.PodGroupOverQuota)
        else None,
    )


def _reason(event: Any) -> str:
    if isinstance(event, log.PodGroupOverQuota):
        return str(Reason.QUOTA)
    return "" if isinstance(event, log.PodGroupPlaced | log.PlacementForecast) else str(event.reason)


def _decision(event: Any) -> str:
    return _about(event, str(sentences(facts_of_event(event))))


def _refusal(event: log.PodGroupUnschedulable) -> str:
    parts = [str(sentences(facts_of_event(event)))]
    if event.lost_to is not None:
        parts.append(lost_sentence(event.lost_to.key))
    return _about(event, joined(parts))


def _conflict(event: log.PodGroupConflicted) -> str:
    parts = [str(sentences(facts_of_event(event)))]
    if event.domains:
        parts.append(gettext("Domains: %(domains)s.") % {"domains": ", ".join(event.domains)})
    if event.nodes:
        parts.append(gettext("Nodes: %(nodes)s.") % {"nodes": ", ".join(event.nodes)})
    return _about(event, joined(parts))


def _domain_lost(event: log.DomainLost) -> str:
    values = {
        "group": f"{event.namespace}/{event.name}",
        "domain": event.domain,
        "key": event.topology_key,
        "nodes": ", ".join(event.nodes),
    }
    return (
        gettext(
            "PodGroup %(group)s lost its domain %(domain)s: no node carries that value of %(key)s any more. "
            "Its members were on: %(nodes)s. Nothing of this generation is placed elsewhere until a node "
            "does."
        )
        % values
    )


def _holder(kind: str, holder: str) -> str:
    return gettext("%(kind)s %(name)s") % {"kind": words.word(words.HOLDERS, kind), "name": holder}


def _reserved(event: log.ReservationMade) -> str:
    held = event.reservation
    totals: Counter[str] = Counter()
    for _, amounts in held.amounts:
        totals.update(dict(amounts))
    values = {
        "name": held.name,
        "amounts": units.quantities(sorted((key, n) for key, n in totals.items() if key != "pods")),
        "nodes": units.count(len(held.amounts)),
        "domain": words.domain_name(held.topology_key, held.domain),
        "holder": _holder(held.holder_kind, held.holder),
        "until": units.moment(held.expires) if held.expires is not None else "",
    }
    said = (
        ngettext(
            "Reservation %(name)s holds %(amounts)s on %(nodes)s node of %(domain)s for %(holder)s.",
            "Reservation %(name)s holds %(amounts)s on %(nodes)s nodes of %(domain)s for %(holder)s.",
            len(held.amounts),
        )
        % values
    )
    if held.expires is None:
        return joined((said, gettext("It does not expire.")))
    return joined((said, gettext("It expires at %(until)s.") % values))


def _unreserved(event: log.ReservationReleased) -> str:
    return gettext("Reservation %(name)s in %(domain)s for %(holder)s ended: %(why)s.") % {
        "name": event.name,
        "domain": words.domain_name(event.topology_key, event.domain),
        "holder": _holder(event.holder_kind, event.holder),
        "why": words.word(words.RELEASE_REASONS, event.reason),
    }


def _queue_defined(event: log.QueueDefined) -> str:
    queue = event.queue
    values = {
        "name": queue.name,
        "priority": queue.priority,
        "order": words.word(words.QUEUE_ORDERS, queue.order),
        "quota": units.gpus(queue.quota or 0),
    }
    if queue.quota is None:
        return gettext("Queue %(name)s: priority %(priority)s, no quota, order %(order)s.") % values
    return gettext("Queue %(name)s: priority %(priority)s, quota %(quota)s, order %(order)s.") % values


def _queue_removed(event: log.QueueRemoved) -> str:
    return gettext("Queue %(name)s was removed; groups that name it are in no queue.") % {"name": event.name}


def _settled(event: log.PodGroupSettled) -> str:
    what = ngettext(
        "The facts agree again; %(bound)s of %(members)s member is bound.",
        "The facts agree again; %(bound)s of %(members)s members are bound.",
        event.members,
    )
    return _about(event, what % {"bound": units.count(event.bound), "members": units.count(event.members)})


def _sticky_started(event: log.StickyWaitStarted) -> str:
    values = {
        "group": f"{event.namespace}/{event.name}",
        "domain": words.domain_name(event.topology_key, event.domain or ""),
        "bound": units.count(event.bound),
        "need": units.count(event.need),
    }
    if event.domain is None:
        return (
            ngettext(
                "PodGroup %(group)s waits for its domain, which its nodes do not tell any more: "
                "%(bound)s member is bound, minCount is %(need)s.",
                "PodGroup %(group)s waits for its domain, which its nodes do not tell any more: "
                "%(bound)s members are bound, minCount is %(need)s.",
                event.bound,
            )
            % values
        )
    if event.reason == "domain_lost":
        return (
            ngettext(
                "PodGroup %(group)s waits for its lost domain %(domain)s: %(bound)s member is bound, "
                "minCount is %(need)s.",
                "PodGroup %(group)s waits for its lost domain %(domain)s: %(bound)s members are bound, "
                "minCount is %(need)s.",
                event.bound,
            )
            % values
        )
    return (
        ngettext(
            "PodGroup %(group)s waits for room in its own domain %(domain)s: %(bound)s member is bound "
            "there, minCount is %(need)s.",
            "PodGroup %(group)s waits for room in its own domain %(domain)s: %(bound)s members are bound "
            "there, minCount is %(need)s.",
            event.bound,
        )
        % values
    )


def _sticky_ended(event: log.StickyWaitEnded) -> str:
    values = {
        "group": f"{event.namespace}/{event.name}",
        "domain": words.domain_name(event.topology_key, event.domain or ""),
        "how": words.word(words.WAIT_ENDS, event.how),
    }
    if event.domain is None:
        return gettext("The wait of PodGroup %(group)s for its domain ended: %(how)s.") % values
    return gettext("The wait of PodGroup %(group)s for domain %(domain)s ended: %(how)s.") % values


def _deadline_set(event: log.WaitDeadlineSet) -> str:
    values = {"group": f"{event.namespace}/{event.name}"}
    if event.at is None:
        return gettext("PodGroup %(group)s may wait for as long as it takes.") % values
    values |= {"at": units.moment(event.at), "action": words.word(words.WAIT_ACTIONS, event.action)}
    return gettext("PodGroup %(group)s may wait until %(at)s; then: %(action)s.") % values


def _deadline_withdrawn(event: log.WaitDeadlineWithdrawn) -> str:
    values = {"group": f"{event.namespace}/{event.name}"}
    if event.at is None:
        return (
            gettext(
                "The default wait deadline of the cluster holds for PodGroup %(group)s again; until now it "
                "could wait for as long as it takes."
            )
            % values
        )
    values |= {"at": units.moment(event.at)}
    return (
        gettext(
            "The default wait deadline of the cluster holds for PodGroup %(group)s again; until now it could "
            "wait until %(at)s."
        )
        % values
    )


def _deadline_expired(event: log.WaitDeadlineExpired) -> str:
    values = {
        "group": f"{event.namespace}/{event.name}",
        "at": units.moment(event.at),
        "since": units.moment(event.since),
        "action": words.word(words.WAIT_ACTIONS, event.action),
    }
    parts = [gettext("PodGroup %(group)s has waited since %(since)s, beyond its deadline %(at)s.") % values]
    if event.default:
        parts.append(gettext("The deadline was the default of the cluster."))
    parts.append(gettext("What is done: %(action)s.") % values)
    return joined(parts)


def _deadline_lifted(event: log.WaitDeadlineLifted) -> str:
    values = {"group": f"{event.namespace}/{event.name}"}
    if event.expired:
        return gettext("PodGroup %(group)s does not wait any more, after its deadline.") % values
    return gettext("PodGroup %(group)s does not wait any more: its deadline counts no longer.") % values


def _policy(event: log.WaitPolicyChanged) -> str:
    if event.after is None:
        return gettext("Groups may wait for as long as it takes, unless they have a deadline of their own.")
    values = {
        "after": units.duration(event.after / 1000),
        "action": words.word(words.WAIT_ACTIONS, event.action),
    }
    return (
        gettext("Groups without a deadline of their own may wait for %(after)s; then: %(action)s.") % values
    )


def _marked_lost(event: log.DomainMarkedLost) -> str:
    number = len(event.nodes)
    return ngettext(
        "Domain %(domain)s of %(key)s was marked lost: %(n)s node loses the label and is cordoned.",
        "Domain %(domain)s of %(key)s was marked lost: %(n)s nodes lose the label and are cordoned.",
        number,
    ) % {
        "domain": words.domain_name(event.topology_key, event.domain),
        "key": event.topology_key,
        "n": units.count(number),
    }


def _mark_taken_back(event: log.DomainMarkTakenBack) -> str:
    return gettext("Domain %(domain)s of %(key)s is not marked lost any more.") % {
        "domain": words.domain_name(event.topology_key, event.domain),
        "key": event.topology_key,
    }


SENTENCES: dict[str, Callable[[Any], str]] = {
    "ClusterRegistered": _registered,
    "ClusterModeChanged": _mode,
    "FeatureGateChanged": _gate,
    "SnapshotImported": _imported,
    "EventsArchived": _archived,
    "EventsRestored": _restored,
    "NodeAdded": _node_added,
    "NodeUpdated": _node_updated,
    "NodeRemoved": _node_removed,
    "WorkloadAdded": _workload,
    "PodGroupCreated": _group_created,
    "PodGroupUpdated": _group_updated,
    "PodGroupClosed": _group_closed,
    "PodAdded": _pod_added,
    "PodUpdated": _pod_updated,
    "PodRemoved": _pod_removed,
    "PodGroupPlaced": _decision,
    "PodGroupUnschedulable": _refusal,
    "PodGroupHeld": _decision,
    "PodGroupOverQuota": _decision,
    "PodGroupConflicted": _conflict,
    "PodGroupSettled": _settled,
    "DomainLost": _domain_lost,
    "PlacementForecast": _decision,
    **scale_up.SENTENCES,
    "ReservationMade": _reserved,
    "ReservationReleased": _unreserved,
    "QueueDefined": _queue_defined,
    "QueueRemoved": _queue_removed,
    **preemption.SENTENCES,
    **workbench.SENTENCES,
    "StickyWaitStarted": _sticky_started,
    "StickyWaitEnded": _sticky_ended,
    "WaitDeadlineSet": _deadline_set,
    "WaitDeadlineWithdrawn": _deadline_withdrawn,
    "WaitDeadlineExpired": _deadline_expired,
    "WaitDeadlineLifted": _deadline_lifted,
    "WaitPolicyChanged": _policy,
    "DomainMarkedLost": _marked_lost,
    "DomainMarkTakenBack": _mark_taken_back,
}
"""One maker of sentences for each event type; a test holds it and the catalogue together."""


def sentence(event: log.Event) -> str:
    """The event in one or a few sentences of the active language."""
    return SENTENCES[type(event).__name__](event)


def stored_sentence(type_name: str, version: int, body: str) -> str:
    """What an event of the log says; of one that cannot be read, that it cannot."""
    try:
        return sentence(codec.decode_brief(type_name, version, body))
    except codec.UnknownEvent:
        return unknown(type_name, version)
    except codec.BadEvent as error:
        return gettext("This event is not what the console wrote: %(fault)s") % {"fault": error}


def unknown(type_name: str, version: int) -> str:
    """About an event that a newer version of the console wrote."""
    return gettext(
        "A newer version of the console wrote this event (%(type)s, version %(version)s); "
        "this one cannot read it, and decides nothing on it."
    ) % {"type": type_name, "version": version}


def newer(error: str) -> str:
    """Why there is no state at a moment: the log up to there has an event of a newer console."""
    return gettext(
        "The state of this moment cannot be told here, because a newer version of the console wrote to the "
        "log: %(error)s."
    ) % {"error": error}


def no_state(error: str) -> str:
    """Why there is no state at a moment: the log does not lead there."""
    return gettext(
        "The log does not lead to a state here: %(error)s. Run manage.py verify_log to find what is wrong."
    ) % {"error": error}
