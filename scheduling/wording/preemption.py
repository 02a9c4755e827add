"""Sentences about preemption: of its events, of what a proposal costs, and of its policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from scheduling.engine.preemption import Why
from scheduling.engine.preemption_records import Victim
from scheduling.ledger import events as log
from scheduling.services import preemption as services
from scheduling.wording import messages, units, words

MODES: dict[str, Any] = {
    "off": pgettext_lazy("preemption", "off"),
    "propose": pgettext_lazy("preemption", "propose"),
    "automatic": pgettext_lazy("preemption", "automatic"),
}

CONSEQUENCES: dict[str, Any] = {
    "off": _("Nothing is proposed and nobody is evicted."),
    "propose": _("A person asks for a proposal and approves it. Nothing is evicted before."),
    "automatic": _(
        "For groups of the named queues that find no place, proposals are made and approved at once, without "
        "anybody looking. Others may still be proposed for by hand."
    ),
}
"""What each mode of the policy does."""


def cost(ends: int, gpus: int, groups: int, members: int) -> str:
    """What a proposal takes away, in one phrase."""
    parts = []
    if ends:
        parts.append(ngettext("%(n)s PodGroup", "%(n)s PodGroups", groups) % {"n": units.count(groups)})
        parts.append(ngettext("%(n)s member", "%(n)s members", members) % {"n": units.count(members)})
    else:
        parts.append(
            ngettext("%(n)s member beyond minCount", "%(n)s members beyond minCount", members)
            % {"n": units.count(members)}
        )
    parts.append(units.gpus(gpus))
    phrase = ", ".join(parts)
    return phrase if ends else gettext("%(phrase)s; no group ends") % {"phrase": phrase}


def proof(proved_smallest: bool) -> str:
    """How much is known of a proposal: two different words."""
    if proved_smallest:
        return gettext("Proved smallest: no cheaper set of victims exists.")
    return gettext("Minimal: none of them can be left out. Whether a cheaper set exists is not known.")


def part(victim: Victim) -> str:
    """How much of a victim goes."""
    if victim.whole:
        return gettext("the whole group ends")
    count = len(victim.members)
    return ngettext(
        "%(n)s member beyond minCount leaves; the group goes on",
        "%(n)s members beyond minCount leave; the group goes on",
        count,
    ) % {"n": units.count(count)}


def change(code: str, group: str) -> str:
    """Why a proposal does not hold any more."""
    return messages.translated(services.change_sentence(code, group))


def why(code: str, by: str) -> str:
    """Why there is no proposal."""
    return messages.translated(services.WHY[Why(code)] % {"key": by})


def _policy(event: log.PreemptionPolicyChanged) -> str:
    values = {"mode": words.word(MODES, event.mode), "queues": ", ".join(event.queues)}
    if event.queues:
        return gettext("The policy of preemption became %(mode)s, for the queues %(queues)s.") % values
    return gettext("The policy of preemption became %(mode)s.") % values


def _values(event: Any) -> dict[str, Any]:
    return {"group": f"{event.namespace}/{event.name}", "id": getattr(event, "id", "")}


def _named(victims: Sequence[Victim]) -> str:
    return ", ".join(victim.key for victim in victims)


def _planned(event: log.PreemptionPlanned) -> str:
    values = {
        **_values(event),
        "domain": event.domain or gettext("the whole cluster"),
        "victims": _named(event.victims),
        "cost": cost(*event.cost),
    }
    return (
        gettext(
            "Preemption %(id)s was proposed: PodGroup %(group)s would run in %(domain)s without %(victims)s "
            "(%(cost)s). Nothing was evicted by it."
        )
        % values
    )


def _not_found(event: log.PreemptionNotFound) -> str:
    values = {**_values(event), "why": why(event.why, event.by)}
    return gettext("No preemption was found for PodGroup %(group)s: %(why)s.") % values


def _approved(event: log.PreemptionApproved) -> str:
    if event.automatic:
        return gettext("The policy approved preemption %(id)s for PodGroup %(group)s.") % _values(event)
    return gettext("Preemption %(id)s for PodGroup %(group)s was approved.") % _values(event)


def _rejected(event: log.PreemptionRejected) -> str:
    return gettext("Preemption %(id)s for PodGroup %(group)s was rejected.") % _values(event)


def _expired(event: log.PreemptionExpired) -> str:
    values = _values(event)
    if event.reason == "outdated":
        values["change"] = change(event.change, event.group)
        return gettext("Preemption %(id)s for PodGroup %(group)s is outdated: %(change)s.") % values
    if event.reason == "not_placed":
        return (
            gettext("The members of preemption %(id)s left, but PodGroup %(group)s was not placed in time.")
            % values
        )
    return gettext("Preemption %(id)s for PodGroup %(group)s expired: nobody approved it in time.") % values


def _completed(event: log.PreemptionCompleted) -> str:
    values = {
        **_values(event),
        "bound": units.count(event.bound),
        "domain": event.domain or gettext("the whole cluster"),
    }
    return (
        ngettext(
            "Preemption %(id)s is complete: PodGroup %(group)s runs in %(domain)s with %(bound)s member.",
            "Preemption %(id)s is complete: PodGroup %(group)s runs in %(domain)s with %(bound)s members.",
            event.bound,
        )
        % values
    )


def _evicted(event: log.MemberEvicted) -> str:
    values = {
        "pod": f"{event.namespace}/{event.name}",
        "group": event.group,
        "node": event.node,
        "id": event.plan,
        "waiting": event.waiting,
    }
    return (
        gettext(
            "Pod %(pod)s of %(group)s was evicted from node %(node)s for PodGroup %(waiting)s "
            "(preemption %(id)s)."
        )
        % values
    )


SENTENCES: dict[str, Callable[[Any], str]] = {
    "PreemptionPolicyChanged": _policy,
    "PreemptionPlanned": _planned,
    "PreemptionNotFound": _not_found,
    "PreemptionApproved": _approved,
    "PreemptionRejected": _rejected,
    "PreemptionExpired": _expired,
    "PreemptionCompleted": _completed,
    "MemberEvicted": _evicted,
}
