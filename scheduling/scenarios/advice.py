"""For one workload: one topology domain against plain gang. What the constraint gains in throughput by the
model of ``engine.communication``, what it costs in wait and in room left over, and one recommendation. Pure,
but for ``advise``.

Both are decided before all others that wait, on copies of one state. A group that runs is asked as if all of
its members had to be placed again; one of which some members run is asked with these where they are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import Field, StringConstraints

from scheduling.engine import communication
from scheduling.engine.capacity import field
from scheduling.engine.change_steps import EndGroup, gpus_of
from scheduling.engine.changes import ChangeSet, change_sets
from scheduling.engine.communication import Collective, Estimate, Level, Link, Place, Training
from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.eligibility import Bar
from scheduling.engine.model import TAS_GATES, altered
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.kube.remarks import ZONE
from scheduling.ledger import fold
from scheduling.models import Cluster
from scheduling.scenarios.documents import checked
from scheduling.scenarios.effects import events_of
from scheduling.scenarios.steps import GroupKey, Part, Submit, Text
from scheduling.services.execute import now_ms
from scheduling.services.problems import INVALID, NOT_FOUND, REQUIRED, Problem, Refused
from scheduling.services.readiness import unplaced
from scheduling.services.state import state_of

LONGEST_JOB_MS = 10 * 365 * 24 * 3600 * 1000


class LinkModel(Part):
    bandwidth_mb_s: int = Field(ge=1, le=communication.MOST_MB_S)
    latency_ns: int = Field(ge=0, le=communication.MOST_LATENCY_NS)


def _link(level: Level) -> LinkModel:
    found = communication.DEFAULTS.link(level)
    return LinkModel(bandwidth_mb_s=found.bandwidth_mb_s, latency_ns=found.latency_ns)


class TrainingModel(Part):
    """Parameters of ``communication.Training``; what is not given is its default."""

    collective: Annotated[str, StringConstraints(pattern="^(ring|tree)$")] = str(
        communication.DEFAULTS.collective
    )
    bytes_per_step: int = Field(communication.DEFAULTS.bytes_per_step, ge=0, le=communication.MOST_BYTES)
    compute_us: int = Field(communication.DEFAULTS.compute_us, ge=1, le=communication.DAY_US)
    overlap_thousandths: int = Field(communication.DEFAULTS.overlap_thousandths, ge=0, le=1000)
    node: LinkModel = _link(Level.NODE)
    domain: LinkModel = _link(Level.DOMAIN)
    between: LinkModel = _link(Level.BETWEEN)
    wider: LinkModel = _link(Level.WIDER)

    def training(self) -> Training:
        links = {level: getattr(self, level) for level in Level}
        return Training(
            collective=Collective(self.collective),
            bytes_per_step=self.bytes_per_step,
            compute_us=self.compute_us,
            overlap_thousandths=self.overlap_thousandths,
            **{str(level): Link(link.bandwidth_mb_s, link.latency_ns) for level, link in links.items()},
        )


class AdviceDocument(Part):
    """``group``: an open one, or ``workload``: one that is not submitted. ``topology_key``: "" for the
    group's own. ``job_ms``: how long the job would take with all members in one domain; ``worth``: gain in
    throughput, in thousandths, below which a constraint is not worth having.
    """

    group: GroupKey | None = None
    workload: Submit | None = None
    topology_key: Text = ""
    job_ms: int = Field(24 * 3600 * 1000, ge=1, le=LONGEST_JOB_MS)
    worth: int = Field(50, ge=0, le=1_000_000)
    model: TrainingModel = Field(default_factory=lambda: TrainingModel.model_validate({}))


@dataclass(frozen=True, slots=True)
class Side:
    """With the constraint, or without. ``places``: (domain, members) of a group that would be placed; the
    node in the place of a domain where there is none.
    ``estimate``: by the model, None where nothing is known to be placed; ``supposed``: of as many nodes of
    one domain as plain gang would use, since none has room now. ``changes``: the smallest changes after
    which it would run; ``ends``: those of them in which nothing but other groups end.
    """

    decision: Decision
    places: tuple[tuple[str, int], ...]
    estimate: Estimate | None
    changes: tuple[ChangeSet, ...]
    supposed: bool = False

    @property
    def runs(self) -> bool:
        return self.decision.placed

    @property
    def ends(self) -> tuple[ChangeSet, ...]:
        return tuple(one for one in self.changes if all(isinstance(step, EndGroup) for step in one.steps))


@dataclass(frozen=True, slots=True)
class DomainRoom:
    """``free``: GPUs free on nodes that members may use; ``fits``: members that would fit at most beside
    those that run there. ``stranded``: whether the constraint leaves all of ``free`` unusable for the group.
    """

    domain: str
    nodes: int
    free: int
    fits: int
    stranded: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """``recommend``: ``tas`` or ``plain`` or "" for none; ``why``: a code. ``gain``: throughput in one domain
    against plain gang, in thousandths, None where plain gang has no place to be estimated in; ``exposed``:
    part of a step of plain gang that waits for communication, in thousandths. ``break_even_ms``: as long may
    the group wait for a domain until plain gang would be done first; None without a gain.
    """

    seq: int
    key: str
    topology_key: str
    members: int
    need: int
    tas: Side
    plain: Side
    gain: int | None
    exposed: int | None
    break_even_ms: int | None
    stranded: int
    free: int
    rooms: tuple[DomainRoom, ...]
    recommend: str
    why: str
    training: Training


def advise(*, cluster: Cluster, document: dict[str, Any]) -> Advice:
    """Raises Refused."""
    return advice(state_of(cluster), checked(AdviceDocument, document, "Advice"), now_ms())


def advice(state: ClusterState, asked: AdviceDocument, now: int) -> Advice:
    """``state`` is not changed. Raises Refused; paths are fields of the document."""
    ahead, key = _begun(state, asked, now)
    topology_key = asked.topology_key or ahead.groups[key].topology_key
    if not topology_key:
        raise Refused([_problem("topology_key", REQUIRED, "it has no constraint: name a topology key")])
    if topology_key == NUMA_KEY:
        raise Refused([_problem("topology_key", INVALID, "the model knows nodes, and no NUMA zones")])
    if roster(ahead, key).running:
        ahead = unplaced(ahead, key)
    training = asked.model.training()
    constrained, plain = (_with_key(ahead, key, name) for name in (topology_key, ""))
    sides = [_side(each, key, topology_key, training) for each in (constrained, plain)]
    tas, gang = sides
    if not tas.runs and gang.runs:
        tas = replace(tas, estimate=_supposed(plain, key, gang.decision, training), supposed=True)
    who = roster(ahead, key)
    gain = _gain(tas, gang)
    exposed = None
    if gang.estimate is not None:
        exposed = round(1000 * gang.estimate.exposed_us / max(1, gang.estimate.step_us))
    rooms = _rooms(constrained, key, topology_key, tas.decision)
    recommend, why = _recommend(tas, gang, gain, asked.worth)
    return Advice(
        seq=state.seq,
        key=key,
        topology_key=topology_key,
        members=who.known,
        need=who.need,
        tas=tas,
        plain=gang,
        gain=gain,
        exposed=exposed,
        break_even_ms=asked.job_ms * (gain - 1000) // 1000 if gain is not None and gain > 1000 else None,
        stranded=sum(room.free for room in rooms if room.stranded),
        free=sum(room.free for room in rooms),
        rooms=rooms,
        recommend=recommend,
        why=why,
        training=training,
    )


def _begun(state: ClusterState, asked: AdviceDocument, now: int) -> tuple[ClusterState, str]:
    """A copy that has the group, and its key."""
    if (asked.group is None) == (asked.workload is None):
        raise Refused([_problem("group", REQUIRED, "name a group, or give a workload: one of the two")])
    if asked.group is not None:
        if asked.group not in state.groups:
            raise Refused([_problem("group", NOT_FOUND, f"there is no open PodGroup {asked.group}")])
        return state.fork(), asked.group
    assert asked.workload is not None
    ahead = state.fork()
    ahead.mode = "simulated"  # what is asked is where it would fit, whoever would submit it
    try:
        events = events_of(ahead, asked.workload, now)
    except Refused as refused:
        raise Refused(_inside(problem) for problem in refused.problems) from None
    for event in events:
        fold.apply(ahead, event, ahead.seq)
    return ahead, f"{asked.workload.namespace}/{asked.workload.name}"


def _inside(problem: Problem) -> Problem:
    path = f"workload.{problem.path}" if problem.path else "workload"
    return Problem(problem.kind, problem.namespace, problem.name, path, problem.reason, problem.message)


def _problem(path: str, reason: str, message: str) -> Problem:
    return Problem("Advice", "", "", path, reason, message)


def _with_key(state: ClusterState, key: str, topology_key: str) -> ClusterState:
    """A copy with the gates on in which the group has this key; "" makes it a plain gang."""
    ahead = state.fork()
    for gate in TAS_GATES:
        ahead.set_gate(gate, True)
    ahead.set_group(altered(ahead.groups[key], (("topology_key", topology_key),)))
    return ahead


def _side(state: ClusterState, key: str, topology_key: str, training: Training) -> Side:
    decision = decide(state, key)
    if not decision.placed:
        return Side(decision, (), None, change_sets(state, key))
    places = [_place(state, name, topology_key) for name in _nodes(state, key, decision)]
    domains = Counter(place.node if place.domain is None else place.domain for place in places)
    return Side(decision, tuple(sorted(domains.items())), communication.estimate(training, places), ())


def _place(state: ClusterState, name: str, topology_key: str) -> Place:
    node = state.nodes.get(name)
    if node is None:
        return Place(name, None)
    return Place(name, node.label(topology_key), (node.label(ZONE) or "") if topology_key != ZONE else "")


def _supposed(state: ClusterState, key: str, decision: Decision, training: Training) -> Estimate:
    return communication.estimate(training, [Place(name, "") for name in _nodes(state, key, decision)])


def _nodes(state: ClusterState, key: str, decision: Decision) -> list[str]:
    """Of every member that is or would be placed."""
    return [*(pod.node for pod in roster(state, key).bound), *(node for _, node in decision.assignments)]


def _gain(tas: Side, plain: Side) -> int | None:
    """Of the work, since one side may place more members than the other."""
    if tas.estimate is None or plain.estimate is None:
        return None
    return 1000 * tas.estimate.work_thousandths // max(1, plain.estimate.work_thousandths)


def _recommend(tas: Side, plain: Side, gain: int | None, worth: int) -> tuple[str, str]:
    refusals = [side.decision for side in (tas, plain) if not side.runs]
    if any(one.verdict in (Verdict.HELD, Verdict.CONFLICTED) for one in refusals) or any(
        one.reason == Reason.UNMODELLED for one in refusals
    ):
        return "", "not_decided"
    if tas.decision.reason == Reason.NEVER_FITS and plain.decision.reason == Reason.NEVER_FITS:
        return "", "never"
    if tas.decision.reason in (Reason.NEVER_FITS, Reason.NO_SUCH_DOMAIN):
        return "plain", "no_domain_ever"
    if tas.runs and plain.estimate is not None and len(plain.places) == 1:
        return "tas", "no_cost"
    if gain is not None and gain - 1000 < worth:
        return "plain", "little_gain"
    if tas.runs:
        return "tas", "gain_now"
    if plain.runs:
        return "tas", "gain_after_wait"
    return "tas", "both_wait"


def _rooms(state: ClusterState, key: str, topology_key: str, decision: Decision) -> tuple[DomainRoom, ...]:
    """Of every domain of the key, those with most free GPUs first."""
    who, index = roster(state, key), state.index(topology_key)
    kinds = who.kinds()
    if not kinds or not index.domains:
        return ()
    seen = field(state, index, kinds)
    free = np.zeros(state.columns.rows, np.int64)
    for resource, amount in state.columns.free.items():
        if gpus_of(((resource, 1),)):
            free += np.maximum(amount, 0)
    usable = np.zeros(state.columns.rows, bool)
    for kind in kinds:
        usable |= state.bars(kind.eligibility) == Bar.NONE
    gpus = index.sums(index.take(np.where(usable, free, 0)))
    most = np.sum(
        [np.minimum(sums, len(kind.pods)) for kind, sums in zip(kinds, seen.sums, strict=True)], axis=0
    )
    known = {row.domain: row for row in decision.domains}
    rooms = []
    for place, domain in enumerate(index.domains):
        row = known.get(domain)
        fits = row.fits if row is not None else int(most[place])
        short = row.short > 0 if row is not None else fits < who.missing
        pinned_elsewhere = bool(who.bound) and decision.domain not in ("", domain)
        rooms.append(
            DomainRoom(domain, int(index.sizes[place]), int(gpus[place]), fits, short or pinned_elsewhere)
        )
    return tuple(sorted(rooms, key=lambda room: (-room.free, room.domain)))
