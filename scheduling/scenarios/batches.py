"""A batch: one scenario over one or two ranges, each point played for itself on the same state by whichever
worker is free. Nothing of a point is kept but its result.

The result of the run is columns with a value a point, the last axis running fastest, so that it can be read
from the log alone::

    {"axes": [{"axis": "members", "of": "steps[0]", "values": [4, 8]}, …], "group": "default/a",
     "columns": {"verdict": [...], "reason": [...], "domain": [...], "fits": [...], "need": [...],
                 "bound": [...], "members": [...], "short": [...], "short_of": [...], "waiting": [...],
                 "degraded": [...], "wait_ms": [...], "cpu_us": [...], "problem": [...]},
     "workers": {"host:pid": 12, …}}
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from django.db.models import Count

from scheduling.engine.decide import decide
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.status import GroupStatus, group_status
from scheduling.ledger.events import PodGroupCreated, PodGroupPlaced
from scheduling.ledger.store import to_milliseconds
from scheduling.models import Cluster, Run, RunPoint
from scheduling.scenarios import axes, documents, workbench
from scheduling.scenarios.axes import BatchDocument
from scheduling.scenarios.documents import ScenarioDocument
from scheduling.scenarios.fork import Fork, Told, Unsettled
from scheduling.scenarios.kinds import FANNED
from scheduling.selectors import moments, past_states
from scheduling.selectors.moments import BadMoment
from scheduling.services.problems import INVALID, Problem, Refused

WORK = FANNED
KIND = "batch"

COLUMNS = (
    "verdict", "reason", "domain", "fits", "need", "bound", "members", "short", "short_of", "waiting",
    "degraded", "wait_ms", "cpu_us", "problem",
)  # fmt: skip
REFUSED = "refused"
"""In place of a verdict: a step of the point could not be played; ``problem`` says why."""

WAITING = (GroupStatus.PENDING, GroupStatus.HELD, GroupStatus.ERROR)


def request(
    *, cluster: Cluster, document: BatchDocument, actor: str, scenario: str = "", command_id: str = ""
) -> Run:
    """Ask for a batch; all its points are checked before. ``scenario``: the saved one that it varies. Raises
    Refused and CommandReused.
    """
    base = base_of(cluster, document.scenario.at, "scenario.at")
    axes.checked(document, past_states.state_at(cluster, base))
    return workbench.request(
        cluster=cluster,
        kind=KIND,
        document=to_json(document),
        base=base,
        actor=actor,
        scenario=scenario,
        command_id=command_id,
        asked=document.scenario.at,
    )


def base_of(cluster: Cluster, at: str, path: str) -> int:
    """The event after which something begins. Raises Refused."""
    try:
        return (moments.moment(cluster, at) if at else moments.newest(cluster)).seq
    except BadMoment as error:
        raise Refused([Problem("Scenario", "", "", path, INVALID, str(error))]) from None


def to_json(document: BatchDocument) -> dict[str, Any]:
    body = document.model_dump(mode="json", exclude_defaults=True)
    body["scenario"] = documents.to_json(document.scenario)
    for axis, kept in zip(document.axes, body["axes"], strict=True):
        kept["axis"] = axis.axis
    return body


class Point(NamedTuple):
    """``values``: one of each axis; ``document``: the scenario that they make."""

    values: list[Any]
    document: ScenarioDocument


def point_of(run: Run, index: int) -> Point:
    """Raises Refused for a scenario that two values together make and that is not valid."""
    document, ticks, begun = opened(run)
    values = values_at(ticks, index)
    return Point(values, axes.varied(document, values, begun.state))


def count(run: Run) -> int:
    _, ticks, _ = opened(run)
    total = 1
    for values in ticks:
        total *= len(values)
    return total


def point(run: Run, index: int) -> dict[str, Any]:
    begun_ns = time.process_time_ns()
    document, ticks, begun = opened(run)
    try:
        made = axes.varied(document, values_at(ticks, index), begun.state)
        found = played(begun, made, document.group)
    except (Refused, Unsettled) as error:
        found = dict.fromkeys(COLUMNS, 0) | dict.fromkeys(("reason", "domain", "short_of"), "")
        found |= {"verdict": REFUSED, "problem": str(error)}
    return found | {"cpu_us": (time.process_time_ns() - begun_ns) // 1000}


def summary(run: Run, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    document, ticks, _ = opened(run)
    workers = RunPoint.objects.filter(run=run).values_list("worker").annotate(Count("index"))
    return {
        "axes": [
            {"axis": axis.axis, "of": subject(axis), "values": values}
            for axis, values in zip(document.axes, ticks, strict=True)
        ],
        "group": document.group,
        "columns": {name: [result[name] for result in results] for name in COLUMNS},
        "workers": dict(sorted(workers)),
    }


def subject(axis: axes.Axis) -> str:
    """What of the scenario or of the cluster it varies."""
    match axis:
        case axes.MembersAxis():
            return f"steps[{axis.step}].templates[{axis.template}].count"
        case axes.MinCountAxis():
            return f"steps[{axis.step}].min_count"
        case axes.LostNodesAxis():
            return f"{axis.key}={axis.domain}"
        case axes.EachDomainAxis():
            return axis.key
        case _:
            return axis.path


def played(begun: Fork, document: ScenarioDocument, group: str) -> dict[str, Any]:
    """The figures of one point. Raises Refused and Unsettled."""
    fork = Fork.resumed(begun.state, begun.place, profile=begun.profile)
    before = set(fork.state.groups)
    told: list[Told] = []
    for step in document.steps:
        told += fork.play(step)
    key = group or _submitted(told, before)
    return _figures(fork, told, key, begun.now_ms)


def _figures(fork: Fork, told: Sequence[Told], key: str, since_ms: int) -> dict[str, Any]:
    state = fork.state
    keys = state.group_keys()
    decision = decide(state, key, profile=fork.profile)
    best = decision.domains[0] if decision.domains else None
    summary = decision.summary()
    return {
        "verdict": summary.verdict,
        "reason": summary.reason,
        "domain": summary.domain if decision.enforced else "",
        "fits": summary.fits,
        "need": summary.need,
        "bound": decision.bound,
        "members": decision.members,
        "short": best.short if best is not None and not decision.placed else 0,
        "short_of": best.short_of[0][0] if best is not None and best.short_of else "",
        "waiting": sum(group_status(state, each) in WAITING for each in keys),
        "degraded": sum(roster(state, each).degraded for each in keys),
        "wait_ms": waited_ms(fork, told, key, since_ms),
        "problem": "",
    }


def waited_ms(fork: Fork, told: Sequence[Told], key: str, since_ms: int) -> int:
    """From ``since_ms`` to when the group was last placed, 0 when that was before, -1 when it does not run at
    the end.
    """
    if not roster(fork.state, key).running:
        return -1
    namespace, _, name = key.partition("/")
    return max((one.at - since_ms for one in told if _places(one, namespace, name)), default=0)


def _places(one: Told, namespace: str, name: str) -> bool:
    event = one.event
    return isinstance(event, PodGroupPlaced) and (event.namespace, event.name) == (namespace, name)


def _submitted(told: Sequence[Told], before: set[str]) -> str:
    """The group that was made last by a step."""
    made = [one.event for one in told if isinstance(one.event, PodGroupCreated)]
    if not made:
        raise Refused([Problem("Batch", "", "", "group", INVALID, "no step submitted a group")])
    return f"{made[-1].group.namespace}/{made[-1].group.name}"


def values_at(ticks: Sequence[Sequence[Any]], index: int) -> list[Any]:
    """The last axis runs fastest."""
    values: list[Any] = []
    for tick in reversed(ticks):
        index, place = divmod(index, len(tick))
        values.insert(0, tick[place])
    return values


class Batch(NamedTuple):
    """``begun``: what all points go on from."""

    document: BatchDocument
    ticks: list[list[Any]]
    begun: Fork


def opened(run: Run) -> Batch:
    """Made once in a process."""
    return _made(run.pk, run.requested_at)


@lru_cache(maxsize=2)
def _made(run_id: int, requested_at: datetime) -> Batch:
    """The time is there since another database, restored or of a test, may have another run of that id."""
    run = Run.objects.select_related("cluster").get(pk=run_id, requested_at=requested_at)
    document = axes.read(run.document)
    state = past_states.state_at(run.cluster, run.base_seq)
    ticks = [axes.ticks(axis, state) for axis in document.axes]
    return Batch(document, ticks, begun_at(run, state, document.scenario.profile))


def begun_at(run: Run, state: ClusterState, profile: str) -> Fork:
    """A fork of the state after the run's base, with all decided that was not."""
    at = moments.moment(run.cluster, str(run.base_seq)).recorded_at
    fork = Fork(state, to_milliseconds(at), profile)
    fork.begin()
    return fork
