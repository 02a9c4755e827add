"""Topology spread beside one domain: what of it is refused at submission, and what is told of it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scheduling.engine.model import Pod, SpreadConstraint
from scheduling.engine.spread import Left, Limit, Spread, Why, pods_there, spread
from scheduling.engine.state import ClusterState
from scheduling.ledger import fold
from scheduling.ledger.events import Event
from scheduling.services.problems import INVALID, Problem

FIELD = "spec.topologySpreadConstraints"

_NAMED = 5
"""So many domains are named in one sentence; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Told:
    """``problems``: why no domain is left, at the constraints that leave none. ``notices``: of groups that
    have one left, which, why the others are not, and which constraints are preferences. Both are about Pods
    and PodGroups, with paths of their manifests.
    """

    problems: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()

    @property
    def all(self) -> tuple[Problem, ...]:
        return self.problems + self.notices


def told(state: ClusterState, key: str) -> Told:
    """Of one group, as it is."""
    return _told(state, [key])


def told_after(state: ClusterState, events: Iterable[Event], keys: Iterable[str]) -> Told:
    """Of several groups, once the events have happened; ``state`` is not changed."""
    ahead = state.fork()
    for event in events:
        fold.apply(ahead, event, state.seq)
    return _told(ahead, sorted(keys))


def told_of(state: ClusterState, events: Iterable[Event], pods: Iterable[Pod], groups: Iterable[str]) -> Told:
    """Of those of the groups, and of the groups of the new ``pods``, that have constraints, once the events
    have happened; ``state`` is not changed.
    """
    keys = asked(state, pods, groups)
    return told_after(state, events, keys) if keys else Told()


def asked(state: ClusterState, pods: Iterable[Pod], groups: Iterable[str]) -> set[str]:
    """Keys of those groups that have members with constraints, new ones (``pods``) or there already."""
    found = {pod.group_key for pod in pods if pod.group and pod.shape.spread}
    return found | {key for key in groups if any(pod.shape.spread for pod in state.pods_naming(key))}


def _told(state: ClusterState, keys: Sequence[str]) -> Told:
    there = pods_there(state) if len(keys) > 1 else None
    problems: list[Problem] = []
    notices: list[Problem] = []
    for key in keys:
        found = spread(state, key, there)
        if found is not None and found.impossible:
            problems += _limits(state, found, INVALID)
        elif found is not None:
            notices += _notices(state, found)
    return Told(tuple(problems), tuple(notices))


def _notices(state: ClusterState, found: Spread) -> list[Problem]:
    namespace, _, name = found.key.partition("/")
    told = []
    if found.narrowed:
        left = [entry.domain for entry in found.domains if entry.left not in (Left.SPREAD, Left.SMALL)]
        message = f"domains that the constraints leave, {len(left)} of {len(found.domains)}: {_listed(left)}"
        told.append(Problem("PodGroup", namespace, name, FIELD, "", message))
    told += _limits(state, found, "")
    for soft in found.soft:
        message = f"ScheduleAnyway over {soft.topology_key} is a preference: it is not looked at here"
        told.append(Problem("PodGroup", namespace, name, FIELD, "", message))
    return told


def _limits(state: ClusterState, found: Spread, reason: str) -> list[Problem]:
    """One for each constraint and way in which it rules domains out, with those domains."""
    ruled: dict[tuple[object, ...], tuple[Limit, list[str]]] = {}
    for entry in found.domains:
        limit = entry.limit
        if limit is not None:
            name = (limit.pod, limit.place, limit.why, limit.takes)
            ruled.setdefault(name, (limit, []))[1].append(entry.domain)
    problems = []
    for limit, domains in ruled.values():
        pod = state.pods[limit.pod]
        path = FIELD if limit.why is Why.TOGETHER else f"{FIELD}[{limit.place}]"
        sentence = _sentence(found, limit, domains)
        problems.append(Problem("Pod", pod.namespace, pod.name, path, reason, sentence))
    return problems


def _sentence(found: Spread, limit: Limit, domains: Sequence[str]) -> str:
    """As ``wording.messages`` knows it."""
    rule: SpreadConstraint = limit.constraint
    if not found.enforced:
        return (
            f"members that can come: at most {limit.takes} of {found.missing}; "
            f"no order in which they come keeps the constraints over {rule.topology_key}"
        )
    come = f"members that can come into {_listed(domains)}: at most {limit.takes} of {found.missing}"
    match limit.why:
        case Why.UNLABELLED:
            return f"{come}; no node that they may use there carries {rule.topology_key}"
        case Why.MIN_DOMAINS:
            return (
                f"{come}; maxSkew is {rule.max_skew} over {rule.topology_key}, and since its domains, "
                f"{limit.domains}, are fewer than minDomains, {rule.min_domains}, the fewest counts as 0"
            )
        case Why.SKEW:
            return (
                f"{come}; maxSkew is {rule.max_skew} over {rule.topology_key}, of whose domains, "
                f"{limit.domains}, {_shown(limit.in_domain)} holds the fewest pods that match, {limit.fewest}"
            )
    return f"{come}; each constraint can be met alone, all together cannot"


def _shown(domain: str) -> str:
    return domain or '""'


def _listed(domains: Sequence[str]) -> str:
    more = f" and {len(domains) - _NAMED} more" if len(domains) > _NAMED else ""
    return ", ".join(map(_shown, domains[:_NAMED])) + more
