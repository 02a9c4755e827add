"""The verification matrix in words: conditions, what must happen in each and why, and what did."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, ngettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from scheduling.engine.communication import ORIGINS
from scheduling.wording import units, words

CONDITIONS: dict[str, Any] = {
    "spare": pgettext_lazy("condition", "room to spare"),
    "tight": pgettext_lazy("condition", "domain exactly tight"),
    "one_short": pgettext_lazy("condition", "one node short"),
    "label_missing": pgettext_lazy("condition", "topology label missing"),
    "other_gpu": pgettext_lazy("condition", "another GPU type"),
    "recreated_room": pgettext_lazy("condition", "member recreated, with room"),
    "recreated_full": pgettext_lazy("condition", "member recreated, without room"),
    "domain_lost": pgettext_lazy("condition", "domain lost"),
    "mixed": pgettext_lazy("condition", "mixed shapes"),
    "spread": pgettext_lazy("condition", "spread beside TAS"),
}

MADE: dict[str, Any] = {
    "spare": _("A domain has more room than the group needs; a second one has less."),
    "tight": _("A domain has room for exactly the group; a second one has less."),
    "one_short": _(
        "The domain that would have been exactly enough loses a node; a second one has as much room."
    ),
    "label_missing": _(
        "One node of the domain that would have been exactly enough loses its topology label. It stays where "
        "it is, but nothing tells where that is: the estimate takes it for farthest away."
    ),
    "other_gpu": _("One node of the domain that would have been exactly enough has another GPU."),
    "recreated_room": _("The group runs; one member dies and is made anew. Its domain has room for it."),
    "recreated_full": _(
        "The group runs; one member dies and is made anew, and its node is cordoned. Another domain has room."
    ),
    "domain_lost": _(
        "The group runs; all nodes of its domain are lost. Another domain has room for all of it."
    ),
    "mixed": _(
        "One member asks for half of what the others do. Only if it goes to the one half node do all of them "
        "fit."
    ),
    "spread": _(
        "The members also carry topologySpreadConstraints over the same key, which want them in different "
        "domains."
    ),
}

MODES: dict[str, Any] = {
    "tas": pgettext_lazy("mode of the matrix", "TAS"),
    "plain": pgettext_lazy("mode of the matrix", "plain gang"),
    "upstream": pgettext_lazy("mode of the matrix", "upstream"),
}

OUTCOMES: dict[str, Any] = {
    "together": pgettext_lazy("outcome", "runs in one domain"),
    "spans": pgettext_lazy("outcome", "runs over several domains"),
    "waits": pgettext_lazy("outcome", "waits"),
    "refused": pgettext_lazy("outcome", "refused"),
    "unclaimed": pgettext_lazy("outcome", "nothing claimed"),
    "unmade": pgettext_lazy("outcome", "cannot be made here"),
}

JUDGEMENTS: dict[str, Any] = {
    "passed": pgettext_lazy("judgement", "as expected"),
    "failed": pgettext_lazy("judgement", "not as expected"),
    "told": pgettext_lazy("judgement", "known to differ"),
    "unmade": pgettext_lazy("judgement", "not made"),
}

LOOKS = {"passed": "ok", "failed": "bad", "told": "info", "unmade": "off"}

EXPECTED: dict[str, tuple[Any, str]] = {
    "law_fits": (_("Must run in one domain: minCount members fit into one at once."), "the-law"),
    "law_short": (
        _("Must wait: no one domain has room for minCount members, and two together do not count."),
        "the-law",
    ),
    "plain_anywhere": (_("Runs wherever there is room, in one domain or over several."), "gates"),
    "plain_spans": (
        _("Runs over several domains: without the constraint the room of both counts, and traffic crosses."),
        "gates",
    ),
    "plain_label": (
        _(
            "Runs, with the node that has no label: without the constraint nobody asks for one. Traffic "
            "crosses."
        ),
        "gates",
    ),
    "upstream_alike": (
        _("Must run in one domain: for members alike kube-scheduler's one way of filling finds every fit."),
        "profiles",
    ),
    "upstream_short": (
        _("Must wait: kube-scheduler keeps the same law, and never falls back to two domains."),
        "the-law",
    ),
    "label_no_domain": (
        _("Must wait: a node without the label is in no domain, whatever room it has."),
        "the-law",
    ),
    "gpu_no_room": (
        _("Must wait: the node with another GPU takes no member, so its domain is too small now."),
        "reasons",
    ),
    "sticky_room": (
        _("Must run again in the same domain: members that run pin it, and it has room."),
        "sticky-members-that-run-pin-the-domain",
    ),
    "sticky_full": (
        _("Must wait in the domain that its members pin, even while another one has room."),
        "sticky-members-that-run-pin-the-domain",
    ),
    "plain_recreated": (_("Runs again with the new member in another domain, and traffic crosses."), "gates"),
    "lost_waits": (
        _("Must wait: its domain is gone, and it is placed elsewhere only as a new generation."),
        "sticky-members-that-run-pin-the-domain",
    ),
    "plain_lost": (_("Runs again elsewhere: nothing holds it to a domain."), "gates"),
    "upstream_lost": (
        _("Runs again in another domain: to kube-scheduler nothing pins a group of which no member runs."),
        "profiles",
    ),
    "mixed_found": (
        _("Must run in one domain: there is a place, and the exact search finds it."),
        "profiles",
    ),
    "upstream_mixed": (
        _(
            "May be missed: kube-scheduler fills a domain one member after the other, one way only, and does "
            "not promise to find a place for members of several shapes."
        ),
        "profiles",
    ),
    "spread_refused": (
        _("Must be refused when it is submitted: no domain could ever satisfy both."),
        "not-the-same-as-topology-spread",
    ),
    "plain_spread": (
        _(
            "Nothing is claimed: decisions do not model spread, and without the constraint it is no "
            "contradiction."
        ),
        "not-the-same-as-topology-spread",
    ),
}
"""Code of an expectation -> what must happen and why, and the heading of the page of concepts that has the
rule.
"""

_UNMADE: dict[str, Any] = {
    "numa": _("NUMA zones are parts of nodes: the conditions are made of whole nodes."),
    "no_domain": _("no node carries %(key)s."),
    "too_many": _(
        "the domains of the key, %(domains)s, and the nodes in none, %(nodes)s, are more than %(most)s."
    ),
    "one_domain": _("%(key)s has one domain only."),
    "too_small": _(
        "domain %(domain)s, number %(place)s by room, could not be emptied for enough members: %(room)s of "
        "%(wanted)s."
    ),
    "one_node": _("all members have room on one node, %(node)s, so there is no node to take away."),
    "one_member": _("the group has one member only."),
    "miscounted": _(
        "domain %(domain)s has room for another number of members when it is counted: %(found)s, not "
        "%(wanted)s."
    ),
    "filler": _("not all members that were to fill nodes found a place: %(found)s of %(wanted)s."),
    "gpu_does": _("node %(node)s takes members with another GPU too."),
    "no_gpu": _("the members ask for no GPU."),
    "not_started": _("the group did not run before the condition."),
    "odd": _("%(amount)s of %(resource)s cannot be halved."),
    "no_half": _("on node %(node)s no half of a member's room can be left."),
    "unsettled": _("the fork did not come to rest: %(message)s"),
    "refused": _("the workload was not taken: %(message)s"),
}


def title(cell: Mapping[str, Any]) -> str:
    """Which cell, and what came of it, in a few words."""
    return gettext("%(condition)s, %(mode)s: %(outcome)s (%(judgement)s)") % {
        "condition": words.word(CONDITIONS, cell["condition"]),
        "mode": words.word(MODES, cell["mode"]),
        "outcome": words.word(OUTCOMES, cell["outcome"]),
        "judgement": words.word(JUDGEMENTS, cell["judged"]),
    }


def unmade(problem: Mapping[str, Any]) -> str:
    """Why a condition cannot be made on this cluster."""
    values = {
        name: units.count(value) if isinstance(value, int) else value
        for name, value in problem["values"].items()
    }
    return gettext("Cannot be made here, because %(why)s") % {"why": str(_UNMADE[problem["code"]]) % values}


def told(cell: Mapping[str, Any]) -> list[str]:
    """What happened in a cell, in sentences: the verdict with its evidence first."""
    if cell["problem"]:
        return [unmade(cell["problem"])]
    if cell["outcome"] == "refused":
        return [gettext("The submission was refused; nothing of it exists."), cell["refusal"]]
    values = {
        "bound": units.count(cell["bound"]),
        "need": units.count(cell["need"]),
        "fits": units.count(cell["fits"]),
        "in": ", ".join(cell["in"]),
    }
    found: list[str] = []
    if cell["outcome"] in ("together", "spans"):
        text = ngettext(
            "%(bound)s member runs in %(in)s; minCount is %(need)s.",
            "%(bound)s members run in %(in)s; minCount is %(need)s.",
            cell["bound"],
        )
        found.append(text % values)
        if cell["outcome"] == "spans" and cell["without_domain"]:
            text = ngettext(
                "%(n)s of them is on a node without the label.",
                "%(n)s of them are on nodes without the label.",
                cell["without_domain"],
            )
            found.append(text % {"n": units.count(cell["without_domain"])})
    else:
        found.append(
            gettext("%(verdict)s: %(reason)s.")
            % {
                "verdict": words.word(words.VERDICTS, cell["verdict"]),
                "reason": words.word(words.REASONS, cell["reason"]),
            }
        )
        if cell["reason"] != "domain_lost" and cell["outcome"] == "waits":
            text = ngettext(
                "At most %(fits)s of %(need)s member fits into one domain.",
                "At most %(fits)s of %(need)s members fit into one domain.",
                cell["need"],
            )
            found.append(text % values)
        if cell["bound"]:
            text = ngettext(
                "%(bound)s member stays where it runs.",
                "%(bound)s members stay where they run.",
                cell["bound"],
            )
            found.append(text % values)
    if cell["luck"][1]:
        luck = {"k": units.count(cell["luck"][0]), "n": units.count(cell["luck"][1])}
        found.append(
            gettext("Where kube-scheduler rolls, %(k)s of %(n)s rolls that were tried place the group.")
            % luck
        )
    return found


def wait(cell: Mapping[str, Any]) -> str:
    """How long it waited, in the time of the fork."""
    if cell["problem"] or cell["outcome"] == "refused":
        return "–"
    if cell["wait_ms"] >= 0:
        return units.took(cell["wait_ms"])
    return gettext("for ever (looked at for %(time)s)") % {"time": units.duration(cell["looked_ms"] / 1000)}


FIELDS: dict[str, Any] = {
    "collective": _("All-reduce"),
    "bytes_per_step": _("Gradient, bytes in a step"),
    "compute_us": _("Computing of a step, µs"),
    "overlap_thousandths": _("Overlap with computing, thousandths"),
    "node.bandwidth_mb_s": _("Inside a node, MB/s"),
    "node.latency_ns": _("Inside a node, latency in ns"),
    "domain.bandwidth_mb_s": _("Inside a domain, MB/s"),
    "domain.latency_ns": _("Inside a domain, latency in ns"),
    "between.bandwidth_mb_s": _("Between domains, MB/s"),
    "between.latency_ns": _("Between domains, latency in ns"),
    "wider.bandwidth_mb_s": _("Wider, MB/s"),
    "wider.latency_ns": _("Wider, latency in ns"),
}
"""Parts of the model."""

COLLECTIVES: dict[str, Any] = {
    "ring": pgettext_lazy("collective", "ring"),
    "tree": pgettext_lazy("collective", "tree"),
}

FORMULAS: dict[str, Any] = {
    "ring_bytes": _("Bytes across domains, ring"),
    "ring_time": _("Communication, ring"),
    "tree_bytes": _("Bytes across domains, tree"),
    "tree_time": _("Communication, tree"),
    "step_time": _("Time of a step"),
    "throughput": _("Throughput, steps a second"),
}

_ASSUMED: dict[str, Any] = {
    "assumed": _("assumed"),
    "assumed, order of magnitude": _("assumed, order of magnitude"),
    "assumed: what large messages are commonly sent with": _(
        "assumed: what large messages are commonly sent with"
    ),
    "assumed: 7·10⁹ parameters, 2 bytes each": _("assumed: 7·10⁹ parameters, 2 bytes each"),
}


def origin(name: str) -> str:
    """Where the default of a part of the model comes from: an assumption in the reader's language, a source
    as it is cited.
    """
    return str(_ASSUMED.get(ORIGINS[name], ORIGINS[name]))
