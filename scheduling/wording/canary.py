"""Words and sentences about canaries."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.utils.formats import number_format
from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from scheduling.engine.canary import Criterion, Measured, Scope
from scheduling.ledger import events as log
from scheduling.wording import units, words
from scheduling.wording.decisions import joined

MEANS: dict[str, Any] = {
    "scope": _("only its groups: the gates stay off for everybody else"),
    "gate": _("the gates: on for the whole cluster while it runs"),
}

APPROVALS: dict[str, Any] = {
    "automatic": _("by itself: roll back when it fails, go on when it passes"),
    "ask": _("when a person says so"),
}

STATUSES: dict[str, Any] = {
    "running": pgettext_lazy("canary", "running"),
    "asking": pgettext_lazy("canary", "waits for a person"),
    "kept": pgettext_lazy("canary", "kept"),
    "rolled_back": pgettext_lazy("canary", "rolled back"),
    "stopped": pgettext_lazy("canary", "stopped"),
}

VERDICTS: dict[str, Any] = {
    "passed": pgettext_lazy("canary", "passed"),
    "failed": pgettext_lazy("canary", "failed"),
    "not_enough_data": pgettext_lazy("canary", "not enough data"),
}

CRITERIA: dict[str, Any] = {
    "wait_median": _("median wait"),
    "wait_p95": _("95th percentile of waits"),
    "wait_longest": _("longest wait"),
    "wait_control": _("median wait against the control"),
    "pending": _("groups that wait"),
    "pending_share": _("share of groups that wait"),
    "throughput": _("median throughput"),
    "throughput_control": _("median throughput against the control"),
    "errors": _("groups with an error"),
}

HOW_MEASURED: dict[str, Any] = {
    "wait_median": _("From when minCount members existed to their placement, within the window."),
    "wait_p95": _("From when minCount members existed to their placement, within the window."),
    "wait_longest": _("From when minCount members existed to their placement, within the window."),
    "wait_control": _("The control are the groups with a constraint outside of the canary."),
    "pending": _("Groups with enough members that are not placed when it is judged."),
    "pending_share": _("Groups with enough members that are not placed when it is judged."),
    "throughput": _("What was sent in by API; nothing is estimated."),
    "throughput_control": _("What was sent in by API, of the canary and of the groups outside of it."),
    "errors": _(
        "Groups that were conflicted, lost their domain or passed their wait deadline in the window."
    ),
}

UNITS: dict[str, Any] = {
    "steps": _("steps/s"),
    "tokens": _("tokens/s"),
}

ERRORS: dict[str, Any] = {
    "conflicted": _("its facts contradict each other"),
    "domain_lost": _("its domain was lost"),
    "deadline": _("its wait deadline passed"),
}

ENDS: dict[str, Any] = {
    "kept": _("kept: its groups stay held to one domain"),
    "stopped": _("stopped by a person"),
    "observed": _("ended, because the cluster is observed now"),
}

_SHARES = (Criterion.WAIT_CONTROL, Criterion.PENDING_SHARE, Criterion.THROUGHPUT_CONTROL)
_LEAST = (Criterion.THROUGHPUT, Criterion.THROUGHPUT_CONTROL)


def value(criterion: str, number: int, unit: str = "") -> str:
    """A measured value, or a limit, with its unit."""
    if criterion.startswith("wait") and criterion not in _SHARES:
        return units.took(number)
    if criterion in _SHARES:
        return f"{_exact(number, 10)} %"
    if criterion == Criterion.THROUGHPUT:
        return f"{_exact(number, 1000)} {words.word(UNITS, unit)}".strip()
    return units.count(number)


def _exact(number: int, parts: int) -> str:
    """So many parts of a whole, with as many decimals as they need."""
    return str(number_format((Decimal(number) / parts).normalize(), use_l10n=True, force_grouping=True))


def found(each: Measured, unit: str = "") -> str:
    """What was measured; of waits that go on, that it can only be more."""
    if each.measured is None:
        return gettext("no data")
    told = value(each.criterion, each.measured, unit)
    return gettext("at least %(value)s") % {"value": told} if each.at_least else told


def allowed(criterion: str, limit: int, unit: str = "") -> str:
    told = {"value": value(criterion, limit, unit)}
    if criterion in _LEAST:
        return gettext("%(value)s or more") % told
    return gettext("%(value)s or less") % told


def scope(told: Scope) -> str:
    """Whom a stage is for."""
    if told.whole:
        return gettext("the whole cluster")
    parts = []
    if told.namespaces:
        names = ", ".join(told.namespaces)
        parts.append(
            ngettext("namespace %(names)s", "namespaces %(names)s", len(told.namespaces)) % {"names": names}
        )
    if told.groups:
        names = ", ".join(told.groups)
        parts.append(
            ngettext("PodGroup %(names)s", "PodGroups %(names)s", len(told.groups)) % {"names": names}
        )
    return gettext("%(one)s and %(other)s") % {"one": parts[0], "other": parts[1]} if parts[1:] else parts[0]


def measured(each: Measured, unit: str = "") -> str:
    """One limit and how it stood: ``median wait: 90 s (allowed: 60 s or less): broken``."""
    values = {
        "what": words.word(CRITERIA, each.criterion),
        "found": found(each, unit),
        "allowed": allowed(each.criterion, each.limit, unit),
        "verdict": words.word(VERDICTS, each.verdict),
    }
    return gettext("%(what)s %(found)s, allowed %(allowed)s: %(verdict)s") % values


def _exempt(event: log.CanaryStarted | log.CanaryWidened) -> list[str]:
    if not event.exempt:
        return []
    keys = ", ".join(key for key, _uid in event.exempt)
    return [
        ngettext(
            "%(keys)s runs spread over domains already and stays as it is until its next generation.",
            "%(keys)s run spread over domains already and stay as they are until their next generation.",
            len(event.exempt),
        )
        % {"keys": keys}
    ]


def _started(event: log.CanaryStarted) -> str:
    limits = "; ".join(
        gettext("%(what)s %(allowed)s")
        % {
            "what": words.word(CRITERIA, limit.criterion),
            "allowed": allowed(limit.criterion, limit.value, event.unit),
        }
        for limit in event.limits
    )
    values = {
        "name": event.name,
        "scope": scope(event.stages[0]),
        "until": units.moment(event.until),
        "limits": limits,
    }
    if event.means == "gate":
        told = gettext(
            "%(name)s began: the gates are on while %(scope)s is judged, until %(until)s. Limits: %(limits)s."
        )
    else:
        told = gettext(
            "%(name)s began: groups of %(scope)s are held to one domain and judged until %(until)s. "
            "Limits: %(limits)s."
        )
    return joined([told % values, *_exempt(event)])


def _judged(event: log.CanaryJudged) -> str:
    values = {
        "name": event.name,
        "stage": event.stage + 1,
        "time": units.took(event.until - event.since),
        "verdict": words.word(VERDICTS, event.verdict),
    }
    told = [gettext("%(name)s was judged after %(time)s of stage %(stage)s: %(verdict)s.") % values]
    limits = "; ".join(measured(each) for each in event.measured)
    told.append(gettext("Measured: %(limits)s.") % {"limits": limits})
    if event.early:
        told.append(
            gettext("A limit was broken for good, so that the rest of the window was not waited for.")
        )
    if event.approval == "ask":
        told.append(gettext("A person has to say what follows."))
    return joined(told)


def _widened(event: log.CanaryWidened) -> str:
    values = {
        "name": event.name,
        "stage": event.stage + 1,
        "scope": scope(event.scope),
        "until": units.moment(event.until),
    }
    told = gettext("%(name)s went on to stage %(stage)s: %(scope)s, judged until %(until)s.") % values
    return joined([told, *_exempt(event)])


def _extended(event: log.CanaryExtended) -> str:
    values = {"name": event.name, "stage": event.stage + 1, "until": units.moment(event.until)}
    return gettext("Stage %(stage)s of %(name)s is judged once more, until %(until)s.") % values


def _rolled_back(event: log.GateRolledBack) -> str:
    values = {"name": event.name, "scope": scope(event.scope), "gates": ", ".join(event.gates)}
    if event.why == "failed":
        told = [gettext("%(name)s was rolled back, because it failed.") % values]
    else:
        told = [gettext("%(name)s was rolled back by a person.") % values]
    if event.gates:
        told.append(gettext("Gates that go off: %(gates)s.") % values)
    told.append(gettext("Groups of %(scope)s are plain gangs again.") % values)
    if event.waiting:
        told.append(gettext("Decided anew: %(keys)s.") % {"keys": ", ".join(event.waiting)})
    if event.running:
        told.append(
            ngettext(
                "%(n)s group that runs stays where it is.",
                "%(n)s groups that run stay where they are.",
                event.running,
            )
            % {"n": units.count(event.running)}
        )
    return joined(told)


def _ended(event: log.CanaryEnded) -> str:
    values = {"name": event.name, "how": words.word(ENDS, event.how), "gates": ", ".join(event.gates)}
    told = [gettext("%(name)s is over: %(how)s.") % values]
    if event.gates:
        told.append(gettext("Gates that go off: %(gates)s.") % values)
    return joined(told)


def _throughput(event: log.ThroughputReported) -> str:
    values = {
        "key": f"{event.namespace}/{event.name}",
        "rate": value(Criterion.THROUGHPUT, event.rate, event.unit),
        "source": event.source,
    }
    return gettext("%(source)s measured %(rate)s of PodGroup %(key)s.") % values


SENTENCES: dict[str, Callable[[Any], str]] = {
    "CanaryStarted": _started,
    "CanaryJudged": _judged,
    "CanaryWidened": _widened,
    "CanaryExtended": _extended,
    "GateRolledBack": _rolled_back,
    "CanaryEnded": _ended,
    "ThroughputReported": _throughput,
}
