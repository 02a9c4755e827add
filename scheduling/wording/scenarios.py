"""Scenarios in sentences: what each step does, and what the steps are called where one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext, gettext_lazy, ngettext, ngettext_lazy, pgettext_lazy
from django.utils.translation import gettext_noop as _

from scheduling.selectors.differences import Meant, What
from scheduling.selectors.headline import Use
from scheduling.selectors.pictures import Field
from scheduling.wording import changes, comparison, differences, units, words
from scheduling.wording.decisions import bound_sentences, facts_of_result, joined, sentences

_TOLD = 3
"""So many steps of a scenario are told in a list of scenarios."""

STEP_KINDS: dict[str, Any] = {
    "submit": pgettext_lazy("step", "Submit a PodGroup"),
    "submit_manifest": pgettext_lazy("step", "Submit manifests"),
    "lose_nodes": pgettext_lazy("step", "Lose nodes"),
    "cordon": pgettext_lazy("step", "Cordon nodes"),
    "uncordon": pgettext_lazy("step", "Uncordon nodes"),
    "set_ready": pgettext_lazy("step", "Nodes become ready or not"),
    "set_label": pgettext_lazy("step", "Set a label"),
    "remove_label": pgettext_lazy("step", "Remove a label"),
    "add_nodes": pgettext_lazy("step", "Add nodes"),
    "change_gpu": pgettext_lazy("step", "Change the GPU type"),
    "recreate_members": pgettext_lazy("step", "Recreate members"),
    "change_min_count": pgettext_lazy("step", "Change minCount"),
    "end_group": pgettext_lazy("step", "End a PodGroup"),
    "switch_gate": pgettext_lazy("step", "Switch a feature gate"),
    "advance_clock": pgettext_lazy("step", "Advance the clock"),
    "tolerate": pgettext_lazy("step", "Tolerate a taint"),
    "release_reservation": pgettext_lazy("step", "Release a reservation"),
    "ungate": pgettext_lazy("step", "Take scheduling gates off"),
    "add_members": pgettext_lazy("step", "Add members"),
}


def profile(name: str) -> str:
    """Who decides."""
    return gettext("this console (exact)") if name == "exact" else comparison.release(name)


def step(found: Any) -> str:
    """A step of ``scenarios.steps`` in a sentence."""
    return _SENTENCES[found.step](found)


def summary(steps: Sequence[Any]) -> str:
    """What a scenario does: its first steps, and how many more there are."""
    if not steps:
        return gettext("It has no step yet.")
    told = [step(found) for found in steps[:_TOLD]]
    more = len(steps) - _TOLD
    if more > 0:
        told.append(
            ngettext("And %(n)s step more.", "And %(n)s steps more.", more) % {"n": units.count(more)}
        )
    return joined(told)


def _where(found: Any) -> dict[str, str]:
    return {
        "node": found.node,
        "kind": words.domain_kind(found.key),
        "domain": words.domain_name(found.key, found.domain or "") if found.key else "",
    }


def _on_nodes(one: str, all_of: str) -> Callable[[Any], str]:
    """``one`` names %(node)s, ``all_of`` %(kind)s and %(domain)s; both may name fields of the step."""

    def said(found: Any) -> str:
        text = gettext(one) if found.node else gettext(all_of)
        return text % (found.model_dump() | _where(found))

    return said


def _submit(found: Any) -> str:
    members = sum(each.count for each in found.templates)
    values = {
        "group": f"{found.namespace}/{found.name}",
        "members": units.count(members),
        "need": units.count(found.min_count),
        "kind": words.domain_kind(found.topology_key),
    }
    if found.policy != "gang":
        text = ngettext(
            "Submit %(group)s with %(members)s member, one by one.",
            "Submit %(group)s with %(members)s members, one by one.",
            members,
        )
    elif found.topology_key:
        text = ngettext(
            "Submit %(group)s with %(members)s member, minCount %(need)s in one %(kind)s.",
            "Submit %(group)s with %(members)s members, minCount %(need)s in one %(kind)s.",
            members,
        )
    else:
        text = ngettext(
            "Submit %(group)s with %(members)s member, minCount %(need)s, anywhere.",
            "Submit %(group)s with %(members)s members, minCount %(need)s, anywhere.",
            members,
        )
    return text % values


def _manifests(found: Any) -> str:
    lines = found.manifest.count("\n") + 1
    text = ngettext("Submit manifests of %(n)s line.", "Submit manifests of %(n)s lines.", lines)
    return text % {"n": units.count(lines)}


def _set_ready(found: Any) -> str:
    values = _where(found)
    if found.ready and found.node:
        return gettext("Node %(node)s becomes ready.") % values
    if found.ready:
        return gettext("All nodes of %(kind)s %(domain)s become ready.") % values
    if found.node:
        return gettext("Node %(node)s becomes not ready.") % values
    return gettext("All nodes of %(kind)s %(domain)s become not ready.") % values


def _add_nodes(found: Any) -> str:
    values = {
        "n": units.count(found.count),
        "model": found.type or found.like,
        "kind": words.domain_kind(found.key),
        "domain": words.domain_name(found.key, found.domain) if found.key else "",
    }
    if found.type and found.key:
        text = ngettext(
            "Add %(n)s node of type %(model)s to %(kind)s %(domain)s.",
            "Add %(n)s nodes of type %(model)s to %(kind)s %(domain)s.",
            found.count,
        )
    elif found.type:
        text = ngettext(
            "Add %(n)s node of type %(model)s.", "Add %(n)s nodes of type %(model)s.", found.count
        )
    elif found.key:
        text = ngettext(
            "Add %(n)s node like %(model)s to %(kind)s %(domain)s.",
            "Add %(n)s nodes like %(model)s to %(kind)s %(domain)s.",
            found.count,
        )
    else:
        text = ngettext("Add %(n)s node like %(model)s.", "Add %(n)s nodes like %(model)s.", found.count)
    return text % values


def _change_gpu(found: Any) -> str:
    values = _where(found) | {"product": found.product, "gpus": units.count(found.gpus or 0)}
    if found.gpus is None and found.node:
        return gettext("Node %(node)s has GPUs of the type %(product)s.") % values
    if found.gpus is None:
        return gettext("All nodes of %(kind)s %(domain)s have GPUs of the type %(product)s.") % values
    if found.node:
        text = ngettext(
            "Node %(node)s has %(gpus)s GPU of the type %(product)s.",
            "Node %(node)s has %(gpus)s GPUs of the type %(product)s.",
            found.gpus,
        )
    else:
        text = ngettext(
            "All nodes of %(kind)s %(domain)s have %(gpus)s GPU of the type %(product)s.",
            "All nodes of %(kind)s %(domain)s have %(gpus)s GPUs of the type %(product)s.",
            found.gpus,
        )
    return text % values


def _recreate(found: Any) -> str:
    values = {"group": found.group, "pod": found.pod, "n": units.count(found.count)}
    if found.pod:
        return gettext("Member %(pod)s of %(group)s dies and is made anew.") % values
    text = ngettext(
        "%(n)s bound member of %(group)s dies and is made anew.",
        "%(n)s bound members of %(group)s die and are made anew.",
        found.count,
    )
    return text % values


def _counted(texts: Any) -> Callable[[Any], str]:
    def said(found: Any) -> str:
        return str(texts % {"number": found.count, "group": found.group, "n": units.count(found.count)})

    return said


def _switch_gate(found: Any) -> str:
    values = {"gate": found.gate}
    if found.enabled:
        return gettext("Switch feature gate %(gate)s on.") % values
    return gettext("Switch feature gate %(gate)s off.") % values


_SENTENCES: dict[str, Callable[[Any], str]] = {
    "submit": _submit,
    "submit_manifest": _manifests,
    "lose_nodes": _on_nodes(_("Node %(node)s is lost."), _("All nodes of %(kind)s %(domain)s are lost.")),
    "cordon": _on_nodes(_("Cordon node %(node)s."), _("Cordon all nodes of %(kind)s %(domain)s.")),
    "uncordon": _on_nodes(_("Uncordon node %(node)s."), _("Uncordon all nodes of %(kind)s %(domain)s.")),
    "set_ready": _set_ready,
    "set_label": _on_nodes(
        _("Node %(node)s is labelled %(label)s=%(value)s."),
        _("All nodes of %(kind)s %(domain)s are labelled %(label)s=%(value)s."),
    ),
    "remove_label": _on_nodes(
        _("Node %(node)s loses its label %(label)s."),
        _("All nodes of %(kind)s %(domain)s lose their label %(label)s."),
    ),
    "add_nodes": _add_nodes,
    "change_gpu": _change_gpu,
    "recreate_members": _recreate,
    "change_min_count": lambda found: (
        gettext("%(group)s is made anew with minCount %(need)s.")
        % {"group": found.group, "need": units.count(found.min_count)}
    ),
    "end_group": lambda found: gettext("%(group)s ends.") % {"group": found.group},
    "switch_gate": _switch_gate,
    "advance_clock": lambda found: (
        gettext("The clock goes forward: %(time)s.") % {"time": units.took(found.seconds * 1000)}
    ),
    "tolerate": lambda found: (
        gettext("The waiting members of %(group)s tolerate %(taint)s.")
        % {"group": found.group, "taint": changes.taint(found.key, found.value, found.effect)}
    ),
    "release_reservation": lambda found: gettext("Reservation %(name)s is released.") % {"name": found.name},
    "ungate": _counted(
        ngettext_lazy(
            "%(n)s member of %(group)s has its scheduling gates taken off.",
            "%(n)s members of %(group)s have their scheduling gates taken off.",
            "number",
        )
    ),
    "add_members": _counted(
        ngettext_lazy(
            "%(n)s member more of %(group)s is made.",
            "%(n)s members more of %(group)s are made.",
            "number",
        )
    ),
}

TEMPLATES: dict[str, tuple[Any, Any]] = {
    "lose-fullest": (
        gettext_lazy("Lose the fullest domain"),
        gettext_lazy("All nodes of the domain in which most GPUs are in use are gone."),
    ),
    "one-node-short": (
        gettext_lazy("One node short"),
        gettext_lazy("A gang that would just fit into the emptiest domain, one node of which is cordoned."),
    ),
    "other-gpu": (
        gettext_lazy("Another GPU type"),
        gettext_lazy("The nodes of the fullest domain have another GPU product."),
    ),
    "clock-forward": (
        gettext_lazy("Clock forward"),
        gettext_lazy("An hour passes: rests end, deadlines and reservations run out."),
    ),
}
"""Title, and what it is about."""


BECAME: dict[str, Any] = {
    "placed": pgettext_lazy("became", "runs now"),
    "runs_on": pgettext_lazy("became", "runs on"),
    "moved": pgettext_lazy("became", "runs elsewhere"),
    "waits": pgettext_lazy("became", "waits"),
    "waits_on": pgettext_lazy("became", "waits on"),
    "stopped": pgettext_lazy("became", "stopped"),
    "finished": pgettext_lazy("became", "finished"),
    "ended": pgettext_lazy("became", "ended"),
}

ROLES: dict[str, Any] = {
    "submitted": pgettext_lazy("role", "submitted"),
    "changed": pgettext_lazy("role", "changed"),
    "hit": pgettext_lazy("role", "hit"),
    "other": pgettext_lazy("role", "other"),
}

LOOKS = {"runs": "ok", "unharmed": "ok", "runs_at_cost": "", "waits": "", "harmed": "bad"}
"""Code of a verdict -> class of its box."""


def verdict(result: Mapping[str, Any]) -> str:
    """What came of it, in one sentence."""
    found = result["verdict"]
    waiting = [group for group in result["asked"] if _waits(group)]
    running = [group for group in result["asked"] if group["facts"] and not _waits(group)]
    if found["code"] == "waits":
        if found["asked"] == 1:
            return gettext("%(group)s would wait.") % {"group": waiting[0]["key"]}
        return ngettext(
            "%(names)s would wait; %(running)s of %(asked)s groups would run.",
            "%(n)s groups would wait, %(running)s of %(asked)s would run: %(names)s.",
            found["waiting"],
        ) % {
            "names": _named(waiting, found["waiting"]),
            "n": units.count(found["waiting"]),
            "running": units.count(found["running"]),
            "asked": units.count(found["asked"]),
        }
    if found["code"] in ("runs", "runs_at_cost"):
        return joined([_run(running, found["running"]), *_harmed(found)])
    if found["code"] == "harmed":
        return joined(_harmed(found))
    return gettext("No group would stop running.")


def _waits(group: Mapping[str, Any]) -> bool:
    return group["evidence"] is not None


def _run(running: Sequence[Mapping[str, Any]], number: int) -> str:
    if number == 1 and running:
        facts = facts_of_result(running[0]["facts"])
        values = {
            "group": running[0]["key"],
            "kind": words.domain_kind(facts.scope_key),
            "domain": words.domain_name(facts.scope_key, facts.domain or ""),
        }
        if facts.scope_key and facts.domain is not None:
            return gettext("%(group)s would run, in %(kind)s %(domain)s.") % values
        return gettext("%(group)s would run.") % values
    return ngettext("%(n)s group would run: %(names)s.", "%(n)s groups would run: %(names)s.", number) % {
        "n": units.count(number),
        "names": _named(running, number),
    }


def _harmed(found: Mapping[str, Any]) -> list[str]:
    if not found["harmed"]:
        return []
    text = ngettext(
        "%(n)s other group would stop running.", "%(n)s other groups would stop running.", found["harmed"]
    )
    return [text % {"n": units.count(found["harmed"])}]


def _named(groups: Sequence[Mapping[str, Any]], number: int) -> str:
    named = ", ".join(group["key"] for group in groups[:_TOLD])
    if number <= _TOLD:
        return named
    return gettext("%(names)s and %(n)s more") % {"names": named, "n": units.count(number - _TOLD)}


def details(result: Mapping[str, Any]) -> list[str]:
    """What stands behind the verdict: why the first group waits, who else is helped, what was decided before
    the first step.
    """
    said = []
    waiting = [group for group in result["asked"] if _waits(group)]
    if waiting:
        said += told(waiting[0])
    if helped := result["verdict"]["helped"]:
        text = ngettext(
            "%(n)s other group would run that waits now.",
            "%(n)s other groups would run that wait now.",
            helped,
        )
        said.append(text % {"n": units.count(helped)})
    if result["base"]["mode"] == "observed":
        said.append(
            gettext(
                "The cluster is observed: it is taken that this console's forecasts came true before the "
                "first step."
            )
        )
    if result["begun"]["placed"]:
        number = len(result["begun"]["placed"])
        text = ngettext(
            "Before the first step %(n)s group was placed that had not been decided yet: %(names)s.",
            "Before the first step %(n)s groups were placed that had not been decided yet: %(names)s.",
            number,
        )
        names = ", ".join(result["begun"]["placed"][:_TOLD]) + (" …" if number > _TOLD else "")
        said.append(text % {"n": units.count(number), "names": names})
    return said


def told(group: Mapping[str, Any]) -> list[str]:
    """How a group of a result stands at the end, headline first; none for one that is over."""
    if not group["facts"]:
        return []
    facts = facts_of_result(group["facts"])
    found = sentences(facts) if _waits(group) else bound_sentences(facts)
    return [found.headline, *found.details]


def changed(result: Mapping[str, Any]) -> list[str]:
    """What is different after the steps, in a few sentences, what hurts first."""
    found = result["difference"]
    counted = {
        (subject, What(what)): Meant(meant["count"], tuple(meant["names"]))
        for subject, whats in found["tally"].items()
        for what, meant in whats.items()
    }
    lost = [(key, domain) for key, domain in found["lost"]]
    cluster = [Field(*field) for field in found["cluster"]]
    uses = [Use(result[side]["gpus"], result[side]["used"]) for side in ("before", "after")]
    lines = differences.told_of(counted, lost, cluster, *uses)
    if not counted and not lost and not cluster and uses[0] == uses[1]:
        return [gettext("Nothing is different after the steps.")]
    return [line.sentence for line in lines]


FIGURES: dict[str, Any] = {
    "nodes": gettext_lazy("nodes"),
    "usable": gettext_lazy("nodes that can be used"),
    "gpus": gettext_lazy("GPUs"),
    "used": gettext_lazy("GPUs in use"),
    "running": gettext_lazy("PodGroups that run"),
    "waiting": gettext_lazy("PodGroups that wait"),
}

TIMES: dict[str, Any] = {
    "total_ms": gettext_lazy("From the request to the result"),
    "waited_ms": gettext_lazy("of it until a worker began"),
    "load_clock_us": gettext_lazy("The state, from snapshot and log"),
    "decide_clock_us": gettext_lazy("Decisions and what follows from time"),
    "play_clock_us": gettext_lazy("Steps, decisions included"),
    "store_clock_us": gettext_lazy("Writing the run's own events"),
    "outcome_clock_us": gettext_lazy("Working out the result"),
}


def figures(result: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """(name, before, after) of the cluster in figures."""
    before, after = result["before"], result["after"]
    return [(str(name), before[code], after[code]) for code, name in FIGURES.items()]


def timing(found: Mapping[str, int]) -> list[tuple[str, str]]:
    """(name, how long or how many) of what the run cost."""
    rows = []
    for code, name in TIMES.items():
        if code not in found:
            continue
        if code.endswith("_ms"):
            rows.append((str(name), units.took(found[code])))
            continue
        clock = units.measured(found[code])
        cpu = found.get(code.replace("_clock_", "_cpu_"))
        if cpu is None:
            rows.append((str(name), clock))
        else:
            values = {"clock": clock, "cpu": units.measured(cpu)}
            rows.append((str(name), gettext("%(clock)s, processor %(cpu)s") % values))
    rows.append((gettext("Decisions"), units.count(found.get("decisions", 0))))
    rows.append((gettext("Cycles"), units.count(found.get("cycles", 0))))
    rows.append((gettext("Slices of work"), units.count(found.get("slices", 0))))
    return rows


REALITY: dict[str, Any] = {
    "not_submitted": pgettext_lazy("reality", "not submitted"),
    "another_group": pgettext_lazy("reality", "another group"),
    "not_decided": pgettext_lazy("reality", "not decided"),
    "agrees": pgettext_lazy("reality", "agrees"),
    "differs": pgettext_lazy("reality", "differs"),
}

_REALITY: dict[str, Any] = {
    "not_submitted": gettext_lazy("%(group)s has not been submitted to the cluster since."),
    "another_group": gettext_lazy(
        "A group of the name %(group)s was submitted, but it is another one: not comparable."
    ),
    "not_decided": gettext_lazy("%(group)s was submitted and has not been decided yet."),
    "agrees": gettext_lazy("It came as the scenario said: %(group)s."),
    "differs": gettext_lazy("It came otherwise than the scenario said: %(group)s."),
}

_OTHER: dict[str, Any] = {
    "policy": gettext_lazy("Policy"),
    "min_count": "minCount",
    "topology_key": gettext_lazy("Topology key"),
    "members": gettext_lazy("Members"),
}

_TYPES = 4
"""So many types of events between the fork and the real group are named."""


def reality(group: Mapping[str, Any]) -> list[str]:
    """Whether what a scenario said of a group came true, headline first, and how far the two can be compared
    (see ``scenarios.reality``).
    """
    said = [str(_REALITY[group["verdict"]]) % {"group": group["key"]}]
    if group["real"] is None:
        return said
    if group["other"]:
        parts = ", ".join(str(_OTHER[name]) for name in group["other"])
        said.append(gettext("It differs in: %(parts)s.") % {"parts": parts})
    if group["comparable"]:
        said.append(gettext("Nothing that could matter lies between the fork and the real group."))
        return said
    if number := group["changed"]["events"]:
        types = group["changed"]["types"]
        named = ", ".join(
            f"{words.word(words.EVENT_TYPES, kind)} {units.count(count)}" for kind, count in types[:_TYPES]
        )
        text = ngettext(
            "Between the fork and the real group lies %(n)s event that could matter: %(types)s.",
            "Between the fork and the real group lie %(n)s events that could matter: %(types)s.",
            number,
        )
        more = " …" if len(types) > _TYPES else ""
        said.append(text % {"n": units.count(number), "types": named + more})
    if group["assumed"]:
        kinds = ", ".join(dict.fromkeys(str(STEP_KINDS[kind]) for kind in group["assumed"]))
        said.append(
            gettext("The scenario assumed what nobody did in the cluster: %(steps)s.") % {"steps": kinds}
        )
    return said


def reality_rows(group: Mapping[str, Any]) -> list[tuple[str, str, str, bool | None]]:
    """(what, as foretold, as it came, whether they agree; None where that cannot be said)."""
    foretold, real = group["forecast"], group["real"]
    decided = (real or {}).get("decided")
    if decided is None:
        return []
    agrees = group["agrees"]
    waited = real["ran"]["wait_ms"] if real["ran"] else real["waited_ms"]

    def verdict(found: Mapping[str, Any]) -> str:
        return words.word(words.VERDICTS, found["verdict"]) if found["verdict"] else "–"

    def reason(found: Mapping[str, Any]) -> str:
        return words.word(words.REASONS, found["reason"]) if found["reason"] else "–"

    def domain(found: Mapping[str, Any]) -> str:
        return "–" if found["domain"] is None else words.domain_name("-", found["domain"])

    return [
        (gettext("Verdict"), verdict(foretold), verdict(decided), agrees["verdict"]),
        (gettext("Reason"), reason(foretold), reason(decided), agrees["reason"]),
        (gettext("Domain"), domain(foretold), domain(decided), agrees["domain"]),
        (
            gettext("Wait"),
            "–" if foretold["wait_ms"] is None else units.took(foretold["wait_ms"]),
            units.took(waited),
            None,
        ),
    ]
