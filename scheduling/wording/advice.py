"""Sentences about advice: one domain or plain gang, for what reason, and how each number was got."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from scheduling.engine.change_steps import EndGroup
from scheduling.engine.changes import ChangeSet
from scheduling.engine.communication import Level
from scheduling.scenarios.advice import Advice, Side
from scheduling.wording import changes, decisions, units, words

RECOMMENDED: dict[str, Any] = {
    "no_cost": _(
        "One domain: it need not wait, and a plain gang would be in one %(kind)s too; only the "
        "constraint keeps it there."
    ),
    "gain_now": _(
        "One domain: %(times)s times the throughput of a plain gang over %(domains)s places, without a wait."
    ),
    "gain_after_wait": _(
        "One domain, if room comes within %(break_even)s: %(times)s times the throughput, for a wait for "
        "%(ends)s. After that a plain gang would be done first."
    ),
    "both_wait": _("One domain: both have to wait, and it needs no more than %(ends)s."),
    "little_gain": _(
        "Plain gang: one domain gains only %(gain)s; communication that is waited for is %(exposed)s "
        "of a step."
    ),
    "no_domain_ever": _("Plain gang, or smaller: no %(kind)s could hold it, not even an empty one."),
    "never": _("Neither: the cluster could not hold it even if it were empty."),
    "not_decided": _("No advice: the group cannot be decided as it is."),
}

LEVELS: dict[str, Any] = {
    Level.NODE: _("inside of a node"),
    Level.DOMAIN: _("between nodes of a domain"),
    Level.BETWEEN: _("between domains"),
    Level.WIDER: _("between zones"),
}

HOW: dict[str, Any] = {
    "gain": _(
        "steps a second of one domain / of a plain gang, by the model below; a model, not a measurement"
    ),
    "exposed": _("communication that computing waits for / the whole step, of the plain gang"),
    "break_even": _("length of the job in one domain × (gain - 1): a plain gang that begins now ends then"),
    "stranded": _(
        "free GPUs on nodes that members may use, in domains that cannot take minCount members now"
    ),
    "ends": _("the fewest groups after whose end it was decided to run; when they end is not known"),
}


def recommendation(found: Advice) -> str:
    values = {
        "kind": words.domain_kind(found.topology_key),
        "times": _times(found.gain),
        "gain": percent(None if found.gain is None else found.gain - 1000),
        "exposed": percent(found.exposed),
        "domains": units.count(len(found.plain.places)),
        "break_even": gettext("a time not known")
        if found.break_even_ms is None
        else units.duration(found.break_even_ms / 1000),
        "ends": waits_for(found.tas),
    }
    return str(RECOMMENDED[found.why]) % values


def waits_for(side: Side) -> str:
    """The end of which groups it waits for, as far as it is known."""
    if side.ends:
        return _ended(side.ends[0])
    if side.changes:
        return gettext("another change")
    return gettext("a change that was not found")


def others(side: Side, scope_key: str) -> list[str]:
    """Every change found after which it would run."""
    return [changes.sentence(change, scope_key) for change in side.changes]


def outlook(side: Side, topology_key: str) -> str:
    """Where it would be, or why it would not."""
    said = decisions.sentences(decisions.facts_of_decision(side.decision))
    if not side.runs:
        return str(said)
    places = ", ".join(
        f"{words.domain_name(topology_key, domain)} ({units.count(count)})" for domain, count in side.places
    )
    return decisions.joined((said.headline, gettext("In %(places)s.") % {"places": places}))


def percent(thousandths: int | None) -> str:
    return "–" if thousandths is None else f"{units.count(thousandths / 10)} %"


def _times(thousandths: int | None) -> str:
    return "–" if thousandths is None else units.count(round(thousandths / 1000, 2))


def _ended(change: ChangeSet) -> str:
    names = [step.group for step in change.steps if isinstance(step, EndGroup)]
    return gettext("the end of %(groups)s") % {"groups": ", ".join(names)}
