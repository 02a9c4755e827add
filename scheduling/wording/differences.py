"""What differs between two moments, in sentences, and the values of fields as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, ngettext_lazy, pgettext_lazy

from scheduling.selectors.differences import NAMED, Difference, Meant, What, tally
from scheduling.selectors.headline import Use
from scheduling.selectors.pictures import Field, Value
from scheduling.wording import units, words

WHATS: dict[str, Any] = {
    What.JOINED: pgettext_lazy("change", "came"),
    What.LEFT: pgettext_lazy("change", "left"),
    What.REPLACED: pgettext_lazy("change", "another object of that name"),
    What.CORDONED: pgettext_lazy("change", "cordoned"),
    What.UNCORDONED: pgettext_lazy("change", "uncordoned"),
    What.READY: pgettext_lazy("change", "ready again"),
    What.NOT_READY: pgettext_lazy("change", "not ready"),
    What.RELABELLED: pgettext_lazy("change", "relabelled"),
    What.CREATED: pgettext_lazy("change", "created"),
    What.CLOSED: pgettext_lazy("change", "closed"),
    What.PLACED: pgettext_lazy("change", "placed"),
    What.SHORT: pgettext_lazy("change", "short of members"),
    What.LOST_DOMAIN: pgettext_lazy("change", "lost its domain"),
    What.VERDICT: pgettext_lazy("change", "another verdict"),
    What.BOUND: pgettext_lazy("change", "bound"),
    What.MOVED: pgettext_lazy("change", "moved"),
    What.UNBOUND: pgettext_lazy("change", "off its node"),
    What.FINISHED: pgettext_lazy("change", "finished"),
    What.CHANGED: pgettext_lazy("change", "changed"),
}

_SENTENCES: dict[tuple[str, What], Any] = {
    ("podgroup", What.SHORT): ngettext_lazy(
        "%(names)s no longer has minCount members on nodes.",
        "%(n)s PodGroups no longer have minCount members on nodes: %(names)s.",
        "number",
    ),
    ("podgroup", What.PLACED): ngettext_lazy(
        "%(names)s was placed.", "%(n)s PodGroups were placed: %(names)s.", "number"
    ),
    ("podgroup", What.CREATED): ngettext_lazy(
        "%(names)s was created.", "%(n)s PodGroups were created: %(names)s.", "number"
    ),
    ("podgroup", What.REPLACED): ngettext_lazy(
        "%(names)s has another generation.", "%(n)s PodGroups have another generation: %(names)s.", "number"
    ),
    ("podgroup", What.CLOSED): ngettext_lazy(
        "%(names)s was closed.", "%(n)s PodGroups were closed: %(names)s.", "number"
    ),
    ("podgroup", What.VERDICT): ngettext_lazy(
        "%(names)s waits with another verdict.",
        "%(n)s PodGroups wait with another verdict: %(names)s.",
        "number",
    ),
    ("podgroup", What.CHANGED): ngettext_lazy(
        "%(names)s changed otherwise.", "%(n)s PodGroups changed otherwise: %(names)s.", "number"
    ),
    ("node", What.NOT_READY): ngettext_lazy(
        "Node %(names)s is no longer ready.", "%(n)s nodes are no longer ready: %(names)s.", "number"
    ),
    ("node", What.LEFT): ngettext_lazy("Node %(names)s left.", "%(n)s nodes left: %(names)s.", "number"),
    ("node", What.CORDONED): ngettext_lazy(
        "Node %(names)s was cordoned.", "%(n)s nodes were cordoned: %(names)s.", "number"
    ),
    ("node", What.READY): ngettext_lazy(
        "Node %(names)s is ready again.", "%(n)s nodes are ready again: %(names)s.", "number"
    ),
    ("node", What.UNCORDONED): ngettext_lazy(
        "Node %(names)s was uncordoned.", "%(n)s nodes were uncordoned: %(names)s.", "number"
    ),
    ("node", What.JOINED): ngettext_lazy(
        "Node %(names)s joined.", "%(n)s nodes joined: %(names)s.", "number"
    ),
    ("node", What.REPLACED): ngettext_lazy(
        "Node %(names)s is another node of that name.",
        "%(n)s nodes are others of the same name: %(names)s.",
        "number",
    ),
    ("node", What.RELABELLED): ngettext_lazy(
        "Node %(names)s has other labels.", "%(n)s nodes have other labels: %(names)s.", "number"
    ),
    ("node", What.CHANGED): ngettext_lazy(
        "Node %(names)s changed otherwise.", "%(n)s nodes changed otherwise: %(names)s.", "number"
    ),
    ("pod", What.MOVED): ngettext_lazy(
        "Pod %(names)s is on another node.", "%(n)s pods are on other nodes: %(names)s.", "number"
    ),
    ("pod", What.UNBOUND): ngettext_lazy(
        "Pod %(names)s is off its node.", "%(n)s pods are off their nodes: %(names)s.", "number"
    ),
    ("pod", What.BOUND): ngettext_lazy(
        "Pod %(names)s was bound to a node.", "%(n)s pods were bound to nodes: %(names)s.", "number"
    ),
    ("pod", What.JOINED): ngettext_lazy(
        "Pod %(names)s was created.", "%(n)s pods were created: %(names)s.", "number"
    ),
    ("pod", What.LEFT): ngettext_lazy("Pod %(names)s left.", "%(n)s pods left: %(names)s.", "number"),
    ("pod", What.FINISHED): ngettext_lazy(
        "Pod %(names)s finished.", "%(n)s pods finished: %(names)s.", "number"
    ),
    ("pod", What.CHANGED): ngettext_lazy(
        "Pod %(names)s changed otherwise.", "%(n)s pods changed otherwise: %(names)s.", "number"
    ),
}
"""In the order in which they are told: what hurts first."""

_AMOUNT = re.compile(r"(?:.*\.)?(?:allocatable|used|requests)\[(?P<resource>.*)\]", re.S)
_CODES = {"status": words.STATUSES, "verdict": words.VERDICTS, "reason": words.REASONS, "mode": words.MODES}


@dataclass(frozen=True, slots=True)
class Told:
    """A sentence about several objects at once; ``what`` "" where it is about the cluster."""

    sentence: str
    subject: str
    what: str


def told(difference: Difference, before: Use, after: Use) -> list[Told]:
    """The difference in a few sentences, what hurts first; one that says so when there is none."""
    lost = [change for change in difference.groups if What.LOST_DOMAIN in change.what]
    fields = [(change.key, change.field("lostDomain")) for change in lost]
    domains = [(key, str(field.after) if field is not None else "") for key, field in fields]
    return told_of(tally(difference), domains, difference.cluster, before, after)


def told_of(
    counted: Mapping[tuple[str, What], Meant],
    lost: Sequence[tuple[str, str]],
    cluster: Iterable[Field],
    before: Use,
    after: Use,
) -> list[Told]:
    """As ``told``, of a difference that is only counted. ``lost``: groups that lost a domain, and which."""
    lines = [Told(_lost(key, domain), "podgroup", What.LOST_DOMAIN) for key, domain in lost[:NAMED]]
    more = len(lost) - NAMED
    if more > 0:
        sentence = ngettext_lazy(
            "%(n)s more PodGroup lost its domain.", "%(n)s more PodGroups lost their domains.", "number"
        ) % {"number": more, "n": units.count(more)}
        lines.append(Told(str(sentence), "podgroup", What.LOST_DOMAIN))
    for (subject, what), sentences in _SENTENCES.items():
        meant = counted.get((subject, what))
        if meant is not None:
            values = {"number": meant.count, "n": units.count(meant.count), "names": _names(meant)}
            lines.append(Told(str(sentences % values), subject, what))
    lines += [Told(line, "cluster", "") for line in _of_cluster(cluster)]
    if before != after:
        lines.append(Told(_use(before, after), "cluster", ""))
    return lines or [Told(gettext("Nothing differs between the two moments."), "cluster", "")]


def value(name: str, found: Value) -> str:
    """The value of a field as people read it: amounts with their unit, codes as words."""
    if found is None:
        return "–"
    if isinstance(found, bool):
        return gettext("yes") if found else gettext("no")
    amount = _AMOUNT.fullmatch(name)
    if amount is not None and isinstance(found, int):
        return units.amount(amount["resource"], found)
    if name in _CODES and found:
        return words.word(_CODES[name], str(found))
    return found if isinstance(found, str) else units.count(found)


def _lost(group: str, domain: str) -> str:
    return gettext("%(group)s lost its domain %(domain)s.") % {
        "group": group,
        "domain": words.domain_name("-", domain),
    }


def _names(meant: Meant) -> str:
    named = ", ".join(meant.names)
    if meant.count <= len(meant.names):
        return named
    return gettext("%(names)s and %(n)s more") % {
        "names": named,
        "n": units.count(meant.count - len(meant.names)),
    }


def _of_cluster(fields: Iterable[Field]) -> Iterable[str]:
    for field in fields:
        if field.name == "mode":
            yield gettext("The cluster became %(mode)s.") % {"mode": value("mode", field.after)}
        elif field.name.startswith("gates["):
            gate = {"gate": field.name[len("gates[") : -1]}
            if field.after:
                yield gettext("Feature gate %(gate)s was switched on.") % gate
            else:
                yield gettext("Feature gate %(gate)s was switched off.") % gate


def _use(before: Use, after: Use) -> str:
    values = {
        "used": units.count(after.used),
        "gpus": units.count(after.gpus),
        "used_before": units.count(before.used),
        "gpus_before": units.count(before.gpus),
    }
    return gettext("GPUs in use: %(used)s of %(gpus)s, before %(used_before)s of %(gpus_before)s.") % values
