"""Canaries: chosen groups are held to one domain before all are, judged, and returned or widened.

A canary holds groups of a simulated cluster only. The gates of an observed cluster are its own, so that there
is nothing here that could be held or rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from scheduling.engine.canary import (
    AGAINST_CONTROL,
    UNITS,
    Approval,
    Canary,
    CanaryScope,
    Criterion,
    Limit,
    Means,
    Scope,
    Status,
    Verdict,
    the_undecided,
)
from scheduling.engine.candidates import Conflict, candidates
from scheduling.engine.model import TAS_GATES, PodGroup
from scheduling.engine.numa import in_zones
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.kube.names import dns_label_problem, dns_subdomain_problem
from scheduling.ledger.events import (
    CanaryEnded,
    CanaryExtended,
    CanaryStarted,
    CanaryWidened,
    Event,
    FeatureGateChanged,
    GateRolledBack,
    ThroughputReported,
)
from scheduling.models import Cluster
from scheduling.services.execute import Decide, Outcome, execute
from scheduling.services.members import only_simulated, open_group
from scheduling.services.problems import (
    CONFLICT,
    FORBIDDEN,
    INVALID,
    NOT_FOUND,
    REQUIRED,
    Problem,
    Refused,
)

MOST_STAGES = 10
SHORTEST, LONGEST = 1_000, 30 * 86_400_000
"""Of a window, in milliseconds."""
MOST_RATE = 1 << 52
"""Of a measurement, in thousandths per second."""
MOST_NAMED = 1_000
"""Namespaces, or groups, of one stage."""


@dataclass(frozen=True, slots=True)
class CanaryWish:
    """``stages``: each covers the one before; only the last may be the whole cluster. ``limits``: by
    ``Criterion``. ``window``: milliseconds.
    """

    stages: tuple[Scope, ...]
    limits: Mapping[str, int] = field(default_factory=dict)
    window: int = 3_600_000
    means: str = Means.SCOPE.value
    approval: str = Approval.AUTOMATIC.value
    unit: str = UNITS[0]


# ---------------------------------------------------------------- what is asked


def start_events(state: ClusterState, wish: CanaryWish, now_ms: int) -> list[Event]:
    """The first stage begins. Raises Refused; paths are the fields of the wish."""
    only_simulated(state, "its gates are its own, and a canary here could neither hold nor return its groups")
    problems = [*_standing_problems(state), *_wish_problems(wish)]
    if problems:
        raise Refused(problems)
    first = _sorted(wish.stages[0])
    gates = _off_gates(state) if wish.means == Means.GATE or first.whole else ()
    measures = any(name.startswith(Criterion.THROUGHPUT) for name in wish.limits)
    started = CanaryStarted(
        name=f"canary-{state.seq + 1}",
        means=wish.means,
        stages=tuple(_sorted(stage) for stage in wish.stages),
        limits=tuple(Limit(each.value, wish.limits[each]) for each in Criterion if each in wish.limits),
        unit=wish.unit if measures else "",
        window=wish.window,
        approval=wish.approval,
        until=now_ms + wish.window,
        exempt=_spread(state, first, gates),
        gates=gates,
    )
    return [started, *(FeatureGateChanged(gate, True) for gate in gates)]


def approve_events(state: ClusterState, name: str, now_ms: int) -> list[Event]:
    """What its verdict asks for: rolled back when it failed, widened (or, after the last stage, kept) when it
    passed, judged over another window when there was not enough data. Raises Refused.
    """
    canary = _asking(state, name)
    if canary.verdict == Verdict.FAILED:
        return roll_back(state, canary, "failed")
    if canary.verdict == Verdict.NOT_ENOUGH_DATA:
        return [CanaryExtended(canary.id, canary.stage, now_ms + canary.window)]
    return after_passing(state, canary, now_ms)


def widen_events(state: ClusterState, name: str, now_ms: int) -> list[Event]:
    """The next stage begins, though there was not enough data to say whether this one passed. Raises
    Refused, also when it failed.
    """
    canary = _asking(state, name)
    if canary.verdict == Verdict.FAILED:
        raise Refused([_problem(name, "", FORBIDDEN, "it failed: it can be rolled back or stopped")])
    if canary.next_scope is None:
        raise Refused([_problem(name, "stages", FORBIDDEN, "it is in its last stage")])
    return after_passing(state, canary, now_ms)


def roll_back_events(state: ClusterState, name: str) -> list[Event]:
    """Its groups are plain gangs again, whatever its verdict. Raises Refused when it is over or kept."""
    canary = _known(state, name)
    if not canary.undecided:
        raise Refused([_problem(name, "", FORBIDDEN, f"it is over: {canary.status}")])
    return roll_back(state, canary, "person")


def stop_events(state: ClusterState, name: str) -> list[Event]:
    """Nobody is held by it any more, and nothing is said of how it did. Of a kept one the gates stay as they
    are. Raises Refused when it is over.
    """
    canary = _known(state, name)
    if not canary.in_force:
        raise Refused([_problem(name, "", FORBIDDEN, f"it is over: {canary.status}")])
    gates = _to_switch_off(state, canary) if canary.undecided else ()
    ended = CanaryEnded(canary.id, canary.stage, "stopped", gates)
    return [ended, *(FeatureGateChanged(gate, False) for gate in gates)]


def throughput_events(state: ClusterState, key: str, rate: int, unit: str, source: str) -> list[Event]:
    """What was measured of the open generation. Raises Refused; paths are ``rate``, ``unit``, ``source``."""
    group = open_group(state, key)
    problems = []
    if not 0 < rate <= MOST_RATE:
        problems.append(("rate", INVALID, f"must be 1 to {MOST_RATE} thousandths per second"))
    if unit not in UNITS:
        problems.append(("unit", INVALID, f"{unit!r} is none of {', '.join(UNITS)}"))
    if not 0 < len(source.strip()) <= 200:
        problems.append(("source", REQUIRED, "what measured it must be said, in at most 200 characters"))
    if problems:
        raise Refused(Problem("PodGroup", group.namespace, group.name, *wrong) for wrong in problems)
    return [
        ThroughputReported(
            group.namespace, group.name, group.uid, group.generation, rate, unit, source.strip()
        )
    ]


# ---------------------------------------------------------------- what follows from a verdict


def roll_back(state: ClusterState, canary: Canary, why: str) -> list[Event]:
    """``why``: as in GateRolledBack. Running members stay; who waits is decided anew."""
    gates = _to_switch_off(state, canary)
    after = state.fork()
    after.records.drop(CanaryScope, canary.id)
    for gate in gates:
        after.set_gate(gate, False)
    returned = [
        roster(state, key)
        for key, group in sorted(state.groups.items())
        if state.enforces(group) and not after.enforces(group)
    ]
    waiting = tuple(who.key for who in returned if who.waiting)
    running = sum(bool(who.bound) and not who.waiting for who in returned)
    told = GateRolledBack(canary.id, canary.stage, why, canary.scope, gates, waiting, running)
    return [told, *(FeatureGateChanged(gate, False) for gate in gates)]


def after_passing(state: ClusterState, canary: Canary, now_ms: int) -> list[Event]:
    """The next stage, or after the last one that its groups stay held."""
    scope = canary.next_scope
    if scope is None:
        return [CanaryEnded(canary.id, canary.stage, "kept")]
    gates = _off_gates(state) if scope.whole else ()
    widened = CanaryWidened(
        name=canary.id,
        stage=canary.stage + 1,
        means=canary.means,
        scope=scope,
        until=now_ms + canary.window,
        exempt=_spread(state, scope, gates),
        gates=gates,
    )
    return [widened, *(FeatureGateChanged(gate, True) for gate in gates)]


def chained(state: ClusterState, events: Sequence[Event], cause: int | None) -> list[int | None]:
    """The cause of each: the first follows from ``cause``, the others from the first."""
    return [cause, *[state.seq + 1] * (len(events) - 1)] if events else []


def _spread(state: ClusterState, scope: Scope, gates: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """(key, uid) of the groups that come to be held and whose members contradict that already: they run
    spread over domains, or on nodes that are in none.
    """
    ahead = state.fork()
    ahead.records.put(CanaryScope("ahead", scope.namespaces, scope.groups))
    for gate in gates:
        ahead.set_gate(gate, True)

    def contradicts(group: PodGroup) -> bool:
        who = roster(ahead, group.key)
        return bool(who.bound) and isinstance(candidates(*in_zones(ahead, who)), Conflict)

    return tuple(
        (key, group.uid)
        for key, group in sorted(state.groups.items())
        if ahead.enforces(group) and not state.enforces(group) and contradicts(group)
    )


def _off_gates(state: ClusterState) -> tuple[str, ...]:
    return tuple(gate for gate in TAS_GATES if not state.gates.get(gate, False))


def _to_switch_off(state: ClusterState, canary: Canary) -> tuple[str, ...]:
    """Of the gates that it switched on, those that are on."""
    return tuple(gate for gate in canary.gates if state.gates.get(gate, False))


# ---------------------------------------------------------------- what is refused


def _problem(name: str, path: str, reason: str, message: str) -> Problem:
    return Problem("Canary", "", name, path, reason, message)


def _known(state: ClusterState, name: str) -> Canary:
    canary = state.records.of(Canary).get(name)
    if canary is None:
        raise Refused([_problem(name, "", NOT_FOUND, f"there is no canary {name}")])
    return canary


def _asking(state: ClusterState, name: str) -> Canary:
    canary = _known(state, name)
    if canary.status == Status.RUNNING:
        raise Refused([_problem(name, "", FORBIDDEN, "it is not judged yet")])
    if canary.status != Status.ASKING:
        raise Refused([_problem(name, "", FORBIDDEN, f"it is over: {canary.status}")])
    return canary


def _standing_problems(state: ClusterState) -> Iterator[Problem]:
    other = the_undecided(state.records.of(Canary).values())
    if other is not None:
        message = f"{other.id} is not over: a cluster has one canary at a time"
        yield _problem("", "", CONFLICT, message)
    if state.tas_enforced:
        yield _problem("", "means", FORBIDDEN, "every gate is on: all groups are held to one domain already")


def _wish_problems(wish: CanaryWish) -> Iterator[Problem]:
    if wish.means not in list(Means):
        yield _problem("", "means", INVALID, f"{wish.means!r} is none of {', '.join(Means)}")
    if wish.approval not in list(Approval):
        yield _problem("", "approval", INVALID, f"{wish.approval!r} is none of {', '.join(Approval)}")
    if not SHORTEST <= wish.window <= LONGEST:
        message = f"must be {SHORTEST // 1_000} second to {LONGEST // 86_400_000} days"
        yield _problem("", "window", INVALID, message)
    yield from _stage_problems(wish.stages)
    yield from _limit_problems(wish)


def _stage_problems(stages: Sequence[Scope]) -> Iterator[Problem]:
    if not 0 < len(stages) <= MOST_STAGES:
        yield _problem("", "stages", REQUIRED, f"1 to {MOST_STAGES} stages are needed")
    for number, stage in enumerate(stages):
        at = f"stages[{number}]"
        if stage.whole:
            if stage.namespaces or stage.groups:
                message = "the whole cluster is meant, so nothing of it can be named"
                yield _problem("", f"{at}.namespaces", INVALID, message)
            if number < len(stages) - 1:
                yield _problem("", f"{at}.whole", INVALID, "only the last stage may be the whole cluster")
            continue
        if not stage.namespaces and not stage.groups:
            message = "a namespace or a group is needed, or the whole cluster"
            yield _problem("", f"{at}.namespaces", REQUIRED, message)
        yield from _name_problems(at, stage)
        if number and not stages[number - 1].within(stage):
            message = "a stage covers all of the one before it"
            yield _problem("", f"{at}.namespaces", INVALID, message)


def _name_problems(at: str, stage: Scope) -> Iterator[Problem]:
    for part, names in (("namespaces", stage.namespaces), ("groups", stage.groups)):
        if len(names) > MOST_NAMED:
            yield _problem("", f"{at}.{part}", INVALID, f"at most {MOST_NAMED} may be named")
    for namespace in stage.namespaces:
        if wrong := dns_label_problem(namespace):
            yield _problem("", f"{at}.namespaces", INVALID, f"{namespace!r}: a namespace {wrong}")
    for key in stage.groups:
        namespace, slash, name = key.partition("/")
        if not slash or dns_label_problem(namespace) or dns_subdomain_problem(name):
            message = f"{key!r} is not the namespace/name of a PodGroup"
            yield _problem("", f"{at}.groups", INVALID, message)


def _limit_problems(wish: CanaryWish) -> Iterator[Problem]:
    if not wish.limits:
        yield _problem("", "limits", REQUIRED, "at least one limit is needed: by nothing else it is judged")
    if wish.unit not in UNITS:
        yield _problem("", "unit", INVALID, f"{wish.unit!r} is none of {', '.join(UNITS)}")
    everybody = wish.means == Means.GATE or any(stage.whole for stage in wish.stages)
    for name, value in wish.limits.items():
        at = f"limits.{name}"
        if name not in list(Criterion):
            yield _problem("", at, INVALID, f"{name!r} is none of {', '.join(Criterion)}")
        elif not 0 <= value <= MOST_RATE:
            yield _problem("", at, INVALID, f"must be 0 to {MOST_RATE}")
        elif name in AGAINST_CONTROL and everybody:
            message = "there is no control: every group of the cluster is held to one domain in a stage"
            yield _problem("", at, FORBIDDEN, message)


def _sorted(scope: Scope) -> Scope:
    return Scope(tuple(sorted(set(scope.namespaces))), tuple(sorted(set(scope.groups))), scope.whole)


# ---------------------------------------------------------------- commands


def _cause_of(name: str) -> Callable[[ClusterState, Sequence[Event]], list[int | None]]:
    """What a person does about a canary follows from its judgement, else from the event that began it."""

    def causes(state: ClusterState, events: Sequence[Event]) -> list[int | None]:
        canary = state.records.of(Canary).get(name)
        return chained(state, events, None if canary is None else canary.judged or canary.began)

    return causes


def start(*, cluster: Cluster, wish: CanaryWish, actor: str, command_id: str = "") -> Outcome:
    """The outcome's first event names the canary. Raises Refused."""
    return execute(
        cluster,
        lambda state, now: start_events(state, wish, now),
        actor=actor,
        command_id=command_id,
        request=f"canary {wish!r}",
        causes=lambda state, events: chained(state, events, None),
    )


def _about(cluster: Cluster, name: str, what: str, decide: Decide, actor: str, command_id: str) -> Outcome:
    return execute(
        cluster,
        decide,
        actor=actor,
        command_id=command_id,
        request=f"{what} {name}",
        causes=_cause_of(name),
    )


def approve(*, cluster: Cluster, name: str, actor: str, command_id: str = "") -> Outcome:
    """Raises Refused."""
    return _about(
        cluster, name, "approve", lambda state, now: approve_events(state, name, now), actor, command_id
    )


def widen(*, cluster: Cluster, name: str, actor: str, command_id: str = "") -> Outcome:
    """Raises Refused."""
    return _about(
        cluster, name, "widen", lambda state, now: widen_events(state, name, now), actor, command_id
    )


def roll_back_now(*, cluster: Cluster, name: str, actor: str, command_id: str = "") -> Outcome:
    """Raises Refused."""
    return _about(
        cluster, name, "roll back", lambda state, _: roll_back_events(state, name), actor, command_id
    )


def stop(*, cluster: Cluster, name: str, actor: str, command_id: str = "") -> Outcome:
    """Raises Refused."""
    return _about(cluster, name, "stop", lambda state, _: stop_events(state, name), actor, command_id)


def report_throughput(
    *,
    cluster: Cluster,
    namespace: str,
    name: str,
    rate: int,
    unit: str,
    source: str,
    actor: str,
    command_id: str = "",
) -> Outcome:
    """``rate``: thousandths of the unit per second. Raises Refused."""
    key = f"{namespace}/{name}"
    return execute(
        cluster,
        lambda state, _: throughput_events(state, key, rate, unit, source),
        actor=actor,
        command_id=command_id,
        request=f"throughput {key} {rate} {unit} {source}",
    )


def refuse_while_undecided(state: ClusterState, path: str) -> None:
    """Raises Refused while a canary is not over: what it is judged by would be another thing."""
    canary = the_undecided(state.records.of(Canary).values())
    if canary is not None:
        message = f"{canary.id} is not over: roll it back or stop it first"
        raise Refused([Problem("Cluster", "", "", path, FORBIDDEN, message)])
