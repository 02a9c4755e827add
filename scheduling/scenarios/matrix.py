"""The verification matrix: one gang under conditions that break topology-aware scheduling, each with it, as a
plain gang, and as kube-scheduler decides. A point is a cell: one condition in one mode, on a fork of its own.

What must happen in each is said before (``EXPECTED``), and why. The result of the run, in the order of
``CELLS``::

    {"cells": [{"condition", "mode", "profile", "outcome", "judged", "problem": {"code", "values"} | null,
                "steps": [STEP], "domains_opened": [[domain, members]], "filled",
                "candidates": [{"domain", "fits", "short", "reason"}], "candidate_count", "eligible",
                "verdict", "reason", "fits", "need", "bound", "members", "luck": [k, n], "ties": [domain],
                "in": [domain], "without_domain", "wait_ms", "looked_ms", "refusal",
                "estimate": {...} | null}],
     "training": {field: value}, "workers": {"host:pid": cells}}

``outcome``: ``together`` (runs in one domain), ``spans`` (runs over several), ``waits``, ``refused`` (not
taken at all), ``unclaimed`` (neither a fit nor a proof), ``unmade`` (the condition cannot be made here).
``judged``: ``passed``, ``failed``, ``told`` (known to differ: neither), ``unmade``. ``wait_ms``: from the
question to when it was placed, -1 when it was not within ``looked_ms``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from django.db.models import Count
from pydantic import Field

from scheduling.engine.communication import estimate
from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.models import Cluster, Run, RunPoint
from scheduling.scenarios import batches, conditions, documents, workbench
from scheduling.scenarios.conditions import CONDITIONS, KEY, MODES, PLAIN, TAS, UPSTREAM, Arena, Unmade
from scheduling.scenarios.fork import Fork, Unsettled
from scheduling.scenarios.kinds import FANNED
from scheduling.scenarios.steps import AdvanceClock, Members, Named, Part, Text
from scheduling.scenarios.training import TrainingPart, fields, places
from scheduling.selectors import past_states
from scheduling.services.problems import NOT_FOUND, Problem, Refused

WORK = FANNED
KIND = "matrix"
CELLS = tuple((condition, mode) for condition in CONDITIONS for mode in MODES)

LOOKED = 3600
"""Seconds of the fork's own time for which a group that waits is looked at: nothing happens there by itself
that could help it, and this shows it.
"""

NEAR = 5
"""Candidate domains that are told of a cell."""

Outcome = Literal["together", "spans", "waits", "refused", "unclaimed", "unmade"]


class MatrixDocument(Part):
    """``template``: what one member asks for; its ``count`` is not used. ``release``: as which kube-scheduler
    the third column decides. ``at``: as of a scenario.
    """

    topology_key: Named
    members: int = Field(default=4, ge=2, le=500)
    template: Members = Members(count=1)
    release: Literal["upstream-1.36", "upstream-1.37"] = "upstream-1.36"
    training: TrainingPart = TrainingPart()
    at: Text = ""

    def workload(self) -> conditions.Workload:
        return conditions.Workload(self.topology_key, self.members, self.template)


@dataclass(frozen=True, slots=True)
class Expectation:
    """``outcomes``: any of them passes; ``reasons``: with one of these where it waits. ``why``: a code, whose
    sentence says the rule and where it stands; ``told``: known to go either way, so that nothing fails.
    """

    outcomes: tuple[Outcome, ...]
    why: str
    reasons: tuple[str, ...] = ()
    told: bool = False


_TOGETHER = Expectation(("together",), "law_fits")
_SHORT = Expectation(("waits",), "law_short", (Reason.CAPACITY, Reason.CORDONED))
_ANYWHERE = Expectation(("together", "spans"), "plain_anywhere")

EXPECTED: dict[tuple[str, str], Expectation] = {
    ("spare", TAS): _TOGETHER,
    ("spare", PLAIN): _ANYWHERE,
    ("spare", UPSTREAM): Expectation(("together",), "upstream_alike"),
    ("tight", TAS): _TOGETHER,
    ("tight", PLAIN): _ANYWHERE,
    ("tight", UPSTREAM): Expectation(("together",), "upstream_alike"),
    ("one_short", TAS): _SHORT,
    ("one_short", PLAIN): Expectation(("spans",), "plain_spans"),
    ("one_short", UPSTREAM): Expectation(("waits",), "upstream_short", _SHORT.reasons),
    ("label_missing", TAS): Expectation(("waits",), "label_no_domain", _SHORT.reasons),
    ("label_missing", PLAIN): Expectation(("spans",), "plain_label"),
    ("label_missing", UPSTREAM): Expectation(("waits",), "label_no_domain", _SHORT.reasons),
    ("other_gpu", TAS): Expectation(("waits",), "gpu_no_room", (*_SHORT.reasons, Reason.SELECTOR)),
    ("other_gpu", PLAIN): Expectation(("spans",), "plain_spans"),
    ("other_gpu", UPSTREAM): Expectation(("waits",), "gpu_no_room", (*_SHORT.reasons, Reason.SELECTOR)),
    ("recreated_room", TAS): Expectation(("together",), "sticky_room"),
    ("recreated_room", PLAIN): _ANYWHERE,
    ("recreated_room", UPSTREAM): Expectation(("together",), "sticky_room"),
    ("recreated_full", TAS): Expectation(("waits",), "sticky_full", (Reason.STICKY_DOMAIN,)),
    ("recreated_full", PLAIN): Expectation(("spans",), "plain_recreated"),
    ("recreated_full", UPSTREAM): Expectation(("waits",), "sticky_full", (Reason.STICKY_DOMAIN,)),
    ("domain_lost", TAS): Expectation(("waits",), "lost_waits", (Reason.DOMAIN_LOST,)),
    ("domain_lost", PLAIN): Expectation(("together", "spans"), "plain_lost"),
    ("domain_lost", UPSTREAM): Expectation(("together",), "upstream_lost"),
    ("mixed", TAS): Expectation(("together",), "mixed_found"),
    ("mixed", PLAIN): _ANYWHERE,
    ("mixed", UPSTREAM): Expectation(("together", "waits"), "upstream_mixed", told=True),
    ("spread", TAS): Expectation(("refused",), "spread_refused"),
    ("spread", PLAIN): Expectation(("unclaimed",), "plain_spread", told=True),
    ("spread", UPSTREAM): Expectation(("refused",), "spread_refused"),
}
"""Of each cell. Plain gangs may span domains: that is what they are, and it is shown with what it costs."""


# ---------------------------------------------------------------- asking


def read(value: Any) -> MatrixDocument:
    """Of parsed JSON. Raises Refused."""
    return documents.checked(MatrixDocument, value, "Matrix")


def to_json(document: MatrixDocument) -> dict[str, Any]:
    return documents.to_json(document) | {"topology_key": document.topology_key}


def request(*, cluster: Cluster, document: MatrixDocument, actor: str, command_id: str = "") -> Run:
    """Ask for a matrix. Raises Refused where the cluster has nothing that the workload could be on, and
    CommandReused.
    """
    base = batches.base_of(cluster, document.at, "at")
    state = past_states.state_at(cluster, base)
    if not state.index(document.topology_key).domains:
        message = f"no node carries the label {document.topology_key}"
        raise Refused([Problem("Matrix", "", "", "topology_key", NOT_FOUND, message)])
    _fits_somewhere(state, document)
    return workbench.request(
        cluster=cluster,
        kind=KIND,
        document=to_json(document),
        base=base,
        actor=actor,
        command_id=command_id,
        asked=document.at,
    )


def _fits_somewhere(state: ClusterState, document: MatrixDocument) -> None:
    """What is wrong with the workload itself is told at once, at its field."""
    fork = Fork(state, 0)
    fork.state.mode = "simulated"
    try:
        conditions.member_shape(fork, document.workload())
    except Refused as refused:
        raise Refused(
            Problem(
                "Matrix", "", "", found.path.replace("templates[0]", "template"), found.reason, found.message
            )
            for found in refused.problems
        ) from None


# ---------------------------------------------------------------- cells


def count(run: Run) -> int:
    return len(CELLS)


def point(run: Run, index: int) -> dict[str, Any]:
    condition, mode = CELLS[index]
    return cell(_matrix(run), condition, mode)


def summary(run: Run, results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    workers = RunPoint.objects.filter(run=run).values_list("worker").annotate(Count("index"))
    training = read(run.document).training.training()
    return {"cells": list(results), "training": fields(training), "workers": dict(sorted(workers))}


class _Matrix(NamedTuple):
    document: MatrixDocument
    begun: dict[str, Fork]


def _matrix(run: Run) -> _Matrix:
    """The state that all cells begin with, made once in a process."""
    return _made(run.pk, run.requested_at)


@lru_cache(maxsize=2)
def _made(run_id: int, requested_at: datetime) -> _Matrix:
    run = Run.objects.select_related("cluster").get(pk=run_id, requested_at=requested_at)
    document = read(run.document)
    state = past_states.state_at(run.cluster, run.base_seq)
    profiles = ("exact", document.release)
    return _Matrix(document, {profile: batches.begun_at(run, state, profile) for profile in profiles})


def cell(matrix: _Matrix, condition: str, mode: str) -> dict[str, Any]:
    document = matrix.document
    profile = document.release if mode == UPSTREAM else "exact"
    begun = matrix.begun[profile]
    fork = Fork.resumed(begun.state, begun.place, profile=profile)
    head: dict[str, Any] = {"condition": condition, "mode": mode, "profile": profile}
    arena: Arena | None = None
    refusal = ""
    try:
        arena = conditions.prepared(fork, document.workload(), mode)
        conditions.make(arena, condition)
        if not roster(arena.fork.state, KEY).running:
            arena.play(AdvanceClock(seconds=LOOKED))
    except Unmade as error:
        problem = {"code": error.code, "values": error.values}
        return head | _BLANK | {"outcome": "unmade", "judged": "unmade", "problem": problem}
    except Unsettled as error:
        problem = {"code": "unsettled", "values": {"message": str(error)}}
        return head | _BLANK | {"outcome": "unmade", "judged": "failed", "problem": problem}
    except Refused as error:
        if arena is None or condition != "spread":
            problem = {"code": "refused", "values": {"message": str(error)}}
            return head | _BLANK | {"outcome": "refused", "judged": "failed", "problem": problem}
        refusal = str(error)
    found = _recorded(arena, document, refusal)
    return head | found | {"judged": judged(condition, mode, found["outcome"], found["reason"])}


def judged(condition: str, mode: str, outcome: str, reason: str) -> str:
    expected = EXPECTED[condition, mode]
    right = outcome in expected.outcomes
    if outcome == "waits" and expected.reasons:
        right = right and reason in expected.reasons
    if right and expected.told:
        return "told"
    return "passed" if right else "failed"


_BLANK: dict[str, Any] = {
    "problem": None, "steps": [], "domains_opened": [], "filled": True, "candidates": [],
    "candidate_count": 0, "eligible": 0, "verdict": "", "reason": "", "fits": 0, "need": 0, "bound": 0,
    "members": 0, "luck": [0, 0], "ties": [], "in": [], "without_domain": 0, "wait_ms": -1, "looked_ms": 0,
    "refusal": "", "estimate": None,
}  # fmt: skip


def _recorded(arena: Arena, document: MatrixDocument, refusal: str) -> dict[str, Any]:
    state = arena.fork.state
    who = roster(state, KEY)
    running = who.group is not None and who.running
    now = decide(state, KEY, profile=arena.fork.profile)
    asked = arena.first if arena.first is not None and running else now
    where = places(state, document.topology_key, who.bound)
    inside = sorted({place.domain for place in where if place.domain is not None})
    without = sum(place.domain is None for place in where)
    found = _BLANK | {
        "steps": [documents.step_json(step) for step in arena.steps],
        "domains_opened": [
            [domain, arena.slots[domain]] for domain in arena.domains if domain in arena.slots
        ],
        "filled": arena.filled,
        "refusal": refusal,
        "in": inside,
        "without_domain": without,
        "members": arena.workload.members if refusal else who.known,
        "need": arena.workload.members if refusal else who.need,
        "bound": len(who.bound),
    }
    if refusal:
        return found | {"outcome": "refused", "verdict": "refused"}
    return found | {
        "outcome": _outcome(running, len(inside) + (without > 0), now),
        "candidates": [
            {"domain": row.domain, "fits": row.fits, "short": row.short, "reason": str(row.reason)}
            for row in asked.domains[:NEAR]
        ],
        "candidate_count": asked.funnel.domains,
        "eligible": asked.funnel.eligible,
        "verdict": str(now.verdict),
        "reason": str(now.reason),
        "fits": len(who.bound) if running else now.fits,
        "luck": list(asked.luck),
        "ties": list(asked.ties[:NEAR]),
        "wait_ms": batches.waited_ms(arena.fork, arena.told, KEY, arena.since_ms),
        "looked_ms": arena.fork.now_ms - arena.since_ms,
        "estimate": asdict(estimate(document.training.training(), where)) if running else None,
    }


def _outcome(running: bool, places_apart: int, decision: Decision) -> Outcome:
    if running:
        return "together" if places_apart == 1 else "spans"
    if decision.verdict == Verdict.NOT_FOUND and decision.reason == Reason.UNMODELLED:
        return "unclaimed"
    return "waits"
