"""Node types and plans for new nodes in words: what a plan promises, what became of it, the events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from scheduling.engine.node_types import NewNodes, NodeType, PlanStatus, ScaleUpOption, ScaleUpPlan
from scheduling.engine.scale_up import NoHelp
from scheduling.ledger import events as log
from scheduling.services import scale_up as services
from scheduling.wording import messages, units, words
from scheduling.wording.decisions import joined

STATUSES: dict[str, Any] = {
    PlanStatus.PLANNED: pgettext_lazy("plan", "planned"),
    PlanStatus.APPROVED: pgettext_lazy("plan", "approved"),
    PlanStatus.REJECTED: pgettext_lazy("plan", "rejected"),
    PlanStatus.EXPIRED: pgettext_lazy("plan", "expired"),
    PlanStatus.COMPLETED: pgettext_lazy("plan", "completed"),
    PlanStatus.SHORT: pgettext_lazy("plan", "fell short"),
}

_EXPIRED: dict[str, Any] = {
    "time": _("nobody approved it in time"),
    "placed": _("its groups run without it"),
    "gone": _("a group that it was for has ended or was made anew"),
}


def cost(milli: int) -> str:
    """Thousandths of a unit as units: ``98.32``."""
    return units.count(milli // 1000) if milli % 1000 == 0 else units.count(round(milli / 1000, 3))


def costs(option: ScaleUpOption) -> str:
    """What the nodes of an option cost in an hour, as far as that is known."""
    priced = option.nodes - option.unpriced
    if not priced:
        return gettext("cost not known")
    known = gettext("%(cost)s an hour") % {"cost": cost(option.cost)}
    if not option.unpriced:
        return known
    return ngettext(
        "%(known)s, and %(n)s node whose cost is not known",
        "%(known)s, and %(n)s nodes whose cost is not known",
        option.unpriced,
    ) % {"known": known, "n": units.count(option.unpriced)}


def cost_sentence(option: ScaleUpOption) -> str:
    """``Cost: 98.32 an hour.``"""
    return gettext("Cost: %(cost)s.") % {"cost": costs(option)}


def type_cost(kind: NodeType) -> str:
    """What one node costs in an hour."""
    if kind.cost is None:
        return gettext("not known")
    return gettext("%(cost)s an hour") % {"cost": cost(kind.cost)}


def step(one: NewNodes) -> str:
    """``2 nodes of h100 in rack r1``."""
    return ngettext(
        "%(n)s node of %(type)s in %(kind)s %(domain)s",
        "%(n)s nodes of %(type)s in %(kind)s %(domain)s",
        one.count,
    ) % {
        "n": units.count(one.count),
        "type": one.kind,
        "kind": words.domain_kind(one.key),
        "domain": words.domain_name(one.key, one.domain),
    }


def steps(option: ScaleUpOption) -> str:
    """All that an option adds."""
    return ", ".join(map(step, option.steps))


def option_sentence(option: ScaleUpOption) -> str:
    """``2 nodes of h100 in rack r1: that makes ml/train fit.``"""
    groups = ", ".join(fit.group for fit in option.fits)
    return gettext("%(steps)s: that makes %(groups)s fit.") % {"steps": steps(option), "groups": groups}


def proof(option: ScaleUpOption) -> list[str]:
    """What was decided with the nodes there, a sentence for each group; then what was proved of the nodes."""
    said = []
    for fit in option.fits:
        values = {
            "group": fit.group,
            "placed": units.count(fit.placed),
            "need": units.count(fit.need),
            "domain": fit.domain,
        }
        if fit.domain:
            text = ngettext(
                "Decided so: %(placed)s member of %(group)s is in %(domain)s; minCount %(need)s.",
                "Decided so: %(placed)s members of %(group)s are in %(domain)s; minCount %(need)s.",
                fit.placed,
            )
        else:
            text = ngettext(
                "Decided so: %(placed)s member of %(group)s has a node; minCount %(need)s.",
                "Decided so: %(placed)s members of %(group)s have nodes; minCount %(need)s.",
                fit.placed,
            )
        said.append(text % values)
    said.append(gettext("With one node fewer, whichever it is, it does not do."))
    if option.cheapest:
        said.append(gettext("No mixture of types in this domain costs less."))
    return said


def no_help(code: str) -> str:
    """Why new nodes are no help, without its end."""
    return messages.translated(services.OBSTACLES[NoHelp(code)])


def outcome(plan: ScaleUpPlan) -> str:
    """Why a plan is closed; "" while it is open, and where nothing more is to be said."""
    if plan.status == PlanStatus.REJECTED:
        return plan.why
    if plan.status == PlanStatus.EXPIRED:
        return words.word(_EXPIRED, plan.why)
    if plan.status == PlanStatus.SHORT:
        return _short_why(plan.why, plan.option.nodes, len(plan.nodes), "", "")
    return ""


def _short_why(why: str, promised: int, nodes: int, group: str, reason: str) -> str:
    values = {
        "promised": units.count(promised),
        "nodes": units.count(nodes),
        "group": group or gettext("a group"),
        "reason": words.word(words.REASONS, reason),
    }
    match why:
        case "nodes":
            text = ngettext(
                "only %(nodes)s of %(promised)s node joined in time",
                "only %(nodes)s of %(promised)s nodes joined in time",
                promised,
            )
        case "group" if reason:
            text = ngettext(
                "the %(promised)s node joined, and %(group)s still does not fit (%(reason)s)",
                "all %(promised)s nodes joined, and %(group)s still does not fit (%(reason)s)",
                promised,
            )
        case "group":
            text = ngettext(
                "the %(promised)s node joined, and %(group)s still does not fit",
                "all %(promised)s nodes joined, and %(group)s still does not fit",
                promised,
            )
        case "not_placed":
            text = ngettext(
                "the %(promised)s node joined and %(group)s would fit, but it was not placed in time",
                "all %(promised)s nodes joined and %(group)s would fit, but it was not placed in time",
                promised,
            )
        case _:
            text = ngettext(
                "%(group)s has ended or was made anew; %(nodes)s of %(promised)s node joined",
                "%(group)s has ended or was made anew; %(nodes)s of %(promised)s nodes joined",
                promised,
            )
    return text % values


# ---------------------------------------------------------------- events


def _defined(event: log.NodeTypeDefined) -> str:
    kind = event.node_type
    values = {"type": kind.name, "allocatable": units.quantities(kind.allocatable), "cost": type_cost(kind)}
    return joined(
        [
            gettext("Node type %(type)s was defined with %(allocatable)s; cost: %(cost)s.") % values,
            gettext("It may grow: %(growth)s.") % {"growth": growth(kind)},
        ]
    )


def growth(kind: NodeType) -> str:
    """``rack r1 by 4, rack r9 by 8``."""
    return ", ".join(
        gettext("%(kind)s %(domain)s by %(n)s")
        % {
            "kind": words.domain_kind(entry.key),
            "domain": words.domain_name(entry.key, entry.domain),
            "n": units.count(entry.most),
        }
        for entry in kind.growth
    )


def _removed(event: log.NodeTypeRemoved) -> str:
    return gettext("Node type %(type)s was removed.") % {"type": event.name}


def _planned(event: log.ScaleUpPlanned) -> str:
    first, others = event.options[0], len(event.options) - 1
    parts = [
        gettext("Plan %(plan)s: %(sentence)s") % {"plan": event.name, "sentence": option_sentence(first)},
        cost_sentence(first),
    ]
    if others:
        parts.append(
            ngettext("%(n)s alternative was kept.", "%(n)s alternatives were kept.", others)
            % {"n": units.count(others)}
        )
    return joined(parts)


def _approved(event: log.ScaleUpApproved) -> str:
    values = {"plan": event.name, "n": units.count(event.option + 1)}
    if event.option:
        return gettext("Plan %(plan)s was approved with its option %(n)s.") % values
    return gettext("Plan %(plan)s was approved.") % values


def _rejected(event: log.ScaleUpRejected) -> str:
    if event.why:
        return gettext("Plan %(plan)s was rejected: %(why)s") % {"plan": event.name, "why": event.why}
    return gettext("Plan %(plan)s was rejected.") % {"plan": event.name}


def _expired(event: log.ScaleUpExpired) -> str:
    values = {"plan": event.name, "why": words.word(_EXPIRED, event.why)}
    return gettext("Plan %(plan)s lapsed: %(why)s.") % values


def _completed(event: log.ScaleUpCompleted) -> str:
    return ngettext(
        "Plan %(plan)s is completed: %(n)s node joined and its groups were placed.",
        "Plan %(plan)s is completed: %(n)s nodes joined and its groups were placed.",
        len(event.nodes),
    ) % {"plan": event.name, "n": units.count(len(event.nodes))}


def _short(event: log.ScaleUpShort) -> str:
    why = _short_why(event.why, event.promised, len(event.nodes), event.group, event.reason)
    return gettext("Plan %(plan)s fell short: %(why)s.") % {"plan": event.name, "why": why}


SENTENCES: dict[str, Callable[[Any], str]] = {
    "NodeTypeDefined": _defined,
    "NodeTypeRemoved": _removed,
    "ScaleUpPlanned": _planned,
    "ScaleUpApproved": _approved,
    "ScaleUpRejected": _rejected,
    "ScaleUpExpired": _expired,
    "ScaleUpCompleted": _completed,
    "ScaleUpShort": _short,
}
