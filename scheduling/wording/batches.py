"""Batches in words: axes, their values, and what a point says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from scheduling.wording import units, words

AXES: dict[str, Any] = {
    "members": pgettext_lazy("axis", "members of a submitted group"),
    "min_count": pgettext_lazy("axis", "minCount of a step"),
    "lost_nodes": pgettext_lazy("axis", "nodes lost in a domain"),
    "each_domain": pgettext_lazy("axis", "each domain in turn"),
    "range": pgettext_lazy("axis", "a whole number of a step"),
    "values": pgettext_lazy("axis", "values of a field"),
}

ORDERS: dict[str, Any] = {
    "name": pgettext_lazy("order of loss", "by name"),
    "fullest": pgettext_lazy("order of loss", "the fullest first"),
    "emptiest": pgettext_lazy("order of loss", "the emptiest first"),
}

HAPPENS: dict[str, Any] = {
    "lose_nodes": pgettext_lazy("what happens", "is lost"),
    "cordon": pgettext_lazy("what happens", "is cordoned"),
}

VERDICTS: dict[str, Any] = {**words.VERDICTS, "refused": pgettext_lazy("verdict", "refused")}

SIGNS = {
    "placed": "✓",
    "proved_infeasible": "✕",
    "not_found": "?",
    "held": "‖",
    "conflicted": "!",
    "refused": "–",
}
"""Beside the colour of a cell."""

COLUMNS: dict[str, Any] = {
    "verdict": _("Verdict"),
    "reason": _("Reason"),
    "domain": _("Domain"),
    "fits": _("Fit"),
    "need": "minCount",
    "bound": _("On nodes"),
    "short": _("Short"),
    "short_of": _("Short of"),
    "waiting": _("Groups that wait"),
    "degraded": _("Groups degraded"),
    "wait_ms": _("Wait"),
    "cpu_us": _("Processor time"),
}

MEASURES: dict[str, Any] = {
    "verdict": _("verdict"),
    "fits": _("members that fit"),
    "waiting": _("groups that wait"),
    "degraded": _("groups degraded"),
}
"""What a heat map can show."""


def figure(name: str, value: int | str) -> str:
    """One of ``COLUMNS`` as people read it, "" for none."""
    if name == "verdict":
        return words.word(VERDICTS, str(value))
    if name == "reason":
        return words.word(words.REASONS, str(value)) if value else ""
    if name == "cpu_us":
        return f"{units.count(int(value))} µs"
    if name == "wait_ms":
        return gettext("does not run") if int(value) < 0 else units.took(int(value))
    return units.count(value) if isinstance(value, int) else value


def axis(name: str, subject: str) -> str:
    """The heading of an axis."""
    return gettext("%(axis)s: %(subject)s") % {"axis": words.word(AXES, name), "subject": subject}


def point(axes: list[str], values: list[Any], row: Mapping[str, Any]) -> str:
    """All of a point in one sentence, for a cell of a map that shows a sign only."""
    where = gettext("; ").join(f"{name} {value}" for name, value in zip(axes, values, strict=True))
    if row["verdict"] == "refused":
        return gettext("%(where)s: refused, %(why)s") % {"where": where, "why": row["problem"]}
    told = {
        "where": where,
        "verdict": words.word(VERDICTS, row["verdict"]),
        "fits": units.count(row["fits"]),
        "need": units.count(row["need"]),
        "reason": words.word(words.REASONS, row["reason"]) if row["reason"] else "",
        "waiting": units.count(row["waiting"]),
    }
    if row["reason"]:
        return gettext("%(where)s: %(verdict)s (%(reason)s), %(fits)s of %(need)s fit") % told
    return gettext("%(where)s: %(verdict)s, %(fits)s of %(need)s") % told
