"""What would make a group run, in sentences and in the few words of a button, from codes and numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from django.utils.translation import gettext, ngettext, pgettext

from scheduling.engine import change_steps as steps
from scheduling.engine.changes import ChangeSet
from scheduling.engine.obstacles import Obstacle
from scheduling.wording import units, words
from scheduling.wording.decisions import joined

_NAMED = 4
"""So many nodes are named one by one."""


def sentence(change: ChangeSet, scope_key: str) -> str:
    """What is to be done, and what comes of it. ``scope_key``: topology key of the domains, "" for none."""
    return joined((*done(change, scope_key), outcome(change, scope_key)))


def done(change: ChangeSet, scope_key: str) -> list[str]:
    """One sentence for each sort of step."""
    sorts: dict[type, list[Any]] = {}
    for step in change.steps:
        sorts.setdefault(type(step), []).append(step)
    return [part for kind, alike in sorts.items() for part in _SENTENCES[kind](alike, scope_key)]


def outcome(change: ChangeSet, scope_key: str) -> str:
    """Where the members would be then."""
    values = {
        "placed": units.count(change.placed),
        "need": units.count(change.need),
        "kind": words.domain_kind(scope_key),
        "domain": words.domain_name(scope_key, change.domain),
    }
    if not scope_key:
        return (
            ngettext(
                "Then %(placed)s member has a node; minCount is %(need)s.",
                "Then %(placed)s members have a node; minCount is %(need)s.",
                change.placed,
            )
            % values
        )
    return (
        ngettext(
            "Then %(placed)s member fits in %(kind)s %(domain)s; minCount is %(need)s.",
            "Then %(placed)s members fit in %(kind)s %(domain)s; minCount is %(need)s.",
            change.placed,
        )
        % values
    )


def label(change: ChangeSet, scope_key: str) -> str:
    """The change set in a few words."""
    first = change.steps[0]
    short = _label(first, [step for step in change.steps if type(step) is type(first)], scope_key)
    others = len({type(step) for step in change.steps}) - 1
    return short if not others else gettext("%(first)s and more") % {"first": short}


def obstacle(found: Obstacle) -> str:
    """What is in the way in a domain: ``n12 cordoned``, ``2 nodes not ready``, ``ml/other``."""
    if found.code == "group":
        return found.name
    if found.code == "reserved":
        return words.cause(f"reserved:{found.name}")
    if found.name:
        return pgettext("obstacle", "%(node)s: %(reason)s") % {
            "node": found.name,
            "reason": words.word(words.REASONS, found.code),
        }
    return ngettext("%(reason)s: %(n)s node", "%(reason)s: %(n)s nodes", found.nodes) % {
        "reason": words.word(words.REASONS, found.code),
        "n": units.count(found.nodes),
    }


def taint(key: str, value: str, effect: str) -> str:
    """A taint as kubectl writes it."""
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"


def _names(names: Iterable[str]) -> str:
    listed = list(names)
    shown = ", ".join(listed[:_NAMED])
    if len(listed) <= _NAMED:
        return shown
    return gettext("%(names)s and %(n)s more") % {"names": shown, "n": units.count(len(listed) - _NAMED)}


def _uncordon(alike: Sequence[steps.Uncordon], scope_key: str) -> list[str]:
    return [
        ngettext("Uncordon node %(nodes)s.", "Uncordon nodes %(nodes)s.", len(alike))
        % {"nodes": _names(step.node for step in alike)}
    ]


def _node_ready(alike: Sequence[steps.NodeReady], scope_key: str) -> list[str]:
    return [
        ngettext("Node %(nodes)s becomes ready again.", "Nodes %(nodes)s become ready again.", len(alike))
        % {"nodes": _names(step.node for step in alike)}
    ]


def _tolerate(alike: Sequence[steps.Tolerate], scope_key: str) -> list[str]:
    taints = ", ".join(taint(step.key, step.value, step.effect) for step in alike)
    return [
        ngettext(
            "The members tolerate the taint %(taints)s.",
            "The members tolerate the taints %(taints)s.",
            len(alike),
        )
        % {"taints": taints}
    ]


def _label_node(alike: Sequence[steps.LabelNode], scope_key: str) -> list[str]:
    return [
        ngettext("Label node %(nodes)s with %(label)s.", "Label nodes %(nodes)s with %(label)s.", len(alike))
        % {"nodes": _names(step.node for step in alike), "label": f"{alike[0].key}={alike[0].value}"}
    ]


def _add_nodes(alike: Sequence[steps.AddNodes], scope_key: str) -> list[str]:
    said = []
    for step in alike:
        values = {
            "n": units.count(step.count),
            "like": step.like,
            "kind": words.domain_kind(scope_key),
            "domain": words.domain_name(scope_key, step.domain),
        }
        if scope_key:
            text = ngettext(
                "Add %(n)s node like %(like)s to %(kind)s %(domain)s.",
                "Add %(n)s nodes like %(like)s to %(kind)s %(domain)s.",
                step.count,
            )
        else:
            text = ngettext("Add %(n)s node like %(like)s.", "Add %(n)s nodes like %(like)s.", step.count)
        said.append(text % values)
    return said


def _release(alike: Sequence[steps.ReleaseReservation], scope_key: str) -> list[str]:
    return [
        gettext("Release reservation %(name)s, which holds room for %(kind)s %(holder)s.")
        % {"name": step.name, "kind": words.word(words.HOLDERS, step.holder_kind), "holder": step.holder}
        for step in alike
    ]


def _end_group(alike: Sequence[steps.EndGroup], scope_key: str) -> list[str]:
    said = []
    for step in alike:
        values = {
            "group": step.group,
            "members": units.count(step.members),
            "gpus": units.gpus(step.gpus),
            "priority": step.priority,
        }
        text = ngettext(
            "End PodGroup %(group)s: %(members)s running member, %(gpus)s, priority %(priority)s.",
            "End PodGroup %(group)s: %(members)s running members, %(gpus)s, priority %(priority)s.",
            step.members,
        )
        said.append(text % values)
        if step.above:
            said.append(gettext("Its priority is higher than that of this group."))
    return said


def _new_generation(alike: Sequence[steps.NewGeneration], scope_key: str) -> list[str]:
    step = alike[0]
    values = {"n": units.count(step.min_count), "was": units.count(step.was)}
    if step.min_count == step.was:
        said = [gettext("End this group and submit it again as a new generation, free to go to any domain.")]
    else:
        text = gettext(
            "End this group; submit it again as a new generation with minCount %(n)s instead of %(was)s."
        )
        said = [text % values]
    if step.bound:
        said.append(
            ngettext(
                "%(bound)s bound member loses its node by that.",
                "%(bound)s bound members lose their nodes by that.",
                step.bound,
            )
            % {"bound": units.count(step.bound)}
        )
    return said


def _ungate(alike: Sequence[steps.Ungate], scope_key: str) -> list[str]:
    count = alike[0].count
    return [
        ngettext(
            "Take the scheduling gates off %(n)s member.",
            "Take the scheduling gates off %(n)s members.",
            count,
        )
        % {"n": units.count(count)}
    ]


def _add_members(alike: Sequence[steps.AddMembers], scope_key: str) -> list[str]:
    count = alike[0].count
    return [
        ngettext("%(n)s member is missing: create it.", "%(n)s members are missing: create them.", count)
        % {"n": units.count(count)}
    ]


_SENTENCES: dict[type, Callable[[Sequence[Any], str], list[str]]] = {
    steps.Uncordon: _uncordon,
    steps.NodeReady: _node_ready,
    steps.Tolerate: _tolerate,
    steps.LabelNode: _label_node,
    steps.AddNodes: _add_nodes,
    steps.ReleaseReservation: _release,
    steps.EndGroup: _end_group,
    steps.NewGeneration: _new_generation,
    steps.Ungate: _ungate,
    steps.AddMembers: _add_members,
}


def _label(first: steps.Step, alike: Sequence[steps.Step], scope_key: str) -> str:
    n = units.count(len(alike))
    match first:
        case steps.Uncordon():
            if len(alike) == 1:
                return gettext("uncordon %(node)s") % {"node": first.node}
            return gettext("uncordon %(n)s nodes") % {"n": n}
        case steps.NodeReady():
            if len(alike) == 1:
                return gettext("%(node)s ready again") % {"node": first.node}
            return gettext("%(n)s nodes ready again") % {"n": n}
        case steps.Tolerate():
            return gettext("tolerate %(taint)s") % {"taint": first.key}
        case steps.LabelNode():
            if len(alike) == 1:
                return gettext("label %(node)s") % {"node": first.node}
            return gettext("label %(n)s nodes") % {"n": n}
        case steps.AddNodes():
            return ngettext("%(domain)s: +%(n)s node", "%(domain)s: +%(n)s nodes", first.count) % {
                "n": units.count(first.count),
                "domain": words.domain_name(scope_key, first.domain),
            }
        case steps.ReleaseReservation():
            if len(alike) == 1:
                return gettext("release %(name)s") % {"name": first.name}
            return gettext("release %(n)s reservations") % {"n": n}
        case steps.EndGroup():
            if len(alike) == 1:
                return gettext("end %(group)s") % {"group": first.group}
            return gettext("end %(n)s groups") % {"n": n}
        case steps.NewGeneration():
            return gettext("new generation, minCount %(n)s") % {"n": units.count(first.min_count)}
        case steps.Ungate():
            count = first.count
            return ngettext("ungate %(n)s member", "ungate %(n)s members", count) % {"n": units.count(count)}
        case steps.AddMembers():
            count = first.count
            return ngettext("+%(n)s member", "+%(n)s members", count) % {"n": units.count(count)}
