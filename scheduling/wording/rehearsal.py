"""Sentences about a rehearsal: what a switch of gates would change for a group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from scheduling.engine.reasons import Verdict
from scheduling.wording import decisions, readiness, units, words
from scheduling.wording.comparison import release

CHANGES: dict[str, Any] = {
    "errors": pgettext_lazy("change", "would end in errors"),
    "waits": pgettext_lazy("change", "would wait"),
    "sticky": pgettext_lazy("change", "a lost member would wait"),
    "moves": pgettext_lazy("change", "would be placed elsewhere"),
    "strays": pgettext_lazy("change", "a new member may leave its domain"),
    "pinned": pgettext_lazy("change", "a new member is held to its domain"),
    "verdict": pgettext_lazy("change", "would wait for another reason"),
    "freed": pgettext_lazy("change", "a lost member would not wait"),
    "cleared": pgettext_lazy("change", "errors would end"),
    "runs": pgettext_lazy("change", "would run"),
    "same": pgettext_lazy("change", "unchanged"),
}

NOTES: dict[str, Any] = {
    "law_stays_on": _("The law is on before and after: this switch alone changes no placement here."),
    "law_stays_off": _("The law is off before and after: this switch alone changes no placement here."),
    "gangs_off": _(
        "Without GenericWorkload or GangScheduling kube-scheduler holds no gang together: it binds pods one "
        "by one. This console still places groups as plain gangs, so the real effect may be worse than shown."
    ),
}

_WORST = frozenset({"errors", "waits", "sticky"})


def headline(result: Mapping[str, Any]) -> str:
    counts = result["counts"]
    changed = sum(number for kind, number in counts.items() if kind != "same")
    groups = sum(counts.values())
    values = {
        "gates": readiness.gates(sorted(result["gates"].items())),
        "changed": units.count(changed),
        "all": units.count(groups),
    }
    if not changed:
        text = ngettext(
            "%(gates)s: nothing would change for the %(all)s group.",
            "%(gates)s: nothing would change for any of %(all)s groups.",
            groups,
        )
    else:
        text = ngettext(
            "%(gates)s: %(changed)s of %(all)s group would change.",
            "%(gates)s: %(changed)s of %(all)s groups would change.",
            groups,
        )
    return text % values


def is_bad(result: Mapping[str, Any]) -> bool:
    """Whether some group would be worse off."""
    return any(result["counts"].get(kind) for kind in _WORST)


def outlook(found: Mapping[str, Any], topology_key: str) -> str:
    """Where a group would be, or why it would wait."""
    facts = decisions.Facts(
        verdict=found["verdict"],
        reason=found["reason"],
        topology_key=topology_key,
        enforced=found["enforced"],
        domain=found["domain"],
        need=found["need"],
        members=found["members"],
        bound=found["bound"],
        fits=found["fits"],
        short_of=tuple((name, amount) for name, amount in found["short_of"]),
        fits_across_domains=found["across"],
        unmodelled=tuple(found["unmodelled"]),
    )
    if found["verdict"] == Verdict.PLACED:
        where = places(found, topology_key)
        said = decisions.bound_sentences(facts).headline
        return decisions.joined((said, where)) if len(found["places"]) > 1 else said
    return decisions.sentences(facts).headline


def places(found: Mapping[str, Any], topology_key: str) -> str:
    """``In r1 (3), r2 (1).``"""
    listed = ", ".join(
        f"{words.domain_name(topology_key, domain)} ({units.count(count)})"
        for domain, count in found["places"]
    )
    return gettext("In %(places)s.") % {"places": listed}


def member(entry: Mapping[str, Any]) -> list[str]:
    """What becomes of members that are made again; nothing where it was not asked or is the same."""
    found = entry["member"]
    if found is None:
        return []
    key = entry["topology_key"]
    said = []
    for case, text in (
        ("again", _("Made again: %(after)s; now: %(before)s.")),
        ("node_lost", _("With its node lost: %(after)s; now: %(before)s.")),
    ):
        before, after = found[case]["before"], found[case]["after"]
        if (before["places"], before["verdict"]) != (after["places"], after["verdict"]):
            said.append(str(text) % {"after": _goes(after, key), "before": _goes(before, key)})
    return said


def upstream(entry: Mapping[str, Any], profile: str) -> str:
    """What kube-scheduler would do of it; "" where it was not asked."""
    found = entry["upstream"]
    if found is None:
        return ""
    said = {name: words.word(words.VERDICTS, found[name]["verdict"]) for name in ("before", "after")}
    k, n = found["after"]["luck"]
    values = said | {"release": release(profile), "k": k, "n": n}
    if said["before"] == said["after"]:
        text = gettext("%(release)s, of this group alone: %(after)s, as now.") % values
    else:
        text = gettext("%(release)s, of this group alone: %(after)s; now %(before)s.") % values
    if 0 < k < n:
        more = gettext("Of %(n)s ways to roll that were tried, %(k)s place the group.") % values
        return decisions.joined((text, more))
    return text


def age(events: int) -> str:
    return ngettext("%(n)s event ago", "%(n)s events ago", events) % {"n": units.count(events)}


def _goes(found: Mapping[str, Any], key: str) -> str:
    if found["places"]:
        domain = words.domain_name(key, found["places"][0][0])
        return gettext("goes to %(domain)s") % {"domain": domain}
    return gettext("waits (%(reason)s)") % {"reason": words.word(words.REASONS, found["reason"])}
