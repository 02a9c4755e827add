"""Replays a trace in virtual time: no clock, as fast as the engine decides.

Time goes from instant to instant: those at which a workload comes, ends, or has rested from a failed attempt.
At each one what ends gives its room back, what comes is submitted, queues let through what they have quota
for, and one cycle decides the groups that something since their last decision could help. The cycle is that
of the console: the same ``waking.woken`` says who is due, the same ``deciding.decided`` decides, and the
state is folded of the same events; only that nobody keeps them.

How long the computer takes is in no figure.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from scheduling.engine.model import (
    Eligibility,
    Node,
    NodeSelectorTerm,
    Pod,
    PodGroup,
    Requirement,
    Shape,
)
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.requeue import Change, Changes, Kind
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.ledger import events as e
from scheduling.ledger import fold
from scheduling.ledger.store import GENESIS, Recorded
from scheduling.scenarios.admission import Admission
from scheduling.scenarios.trace_measures import Series, waits
from scheduling.scenarios.traces import Submission, Trace
from scheduling.services.deciding import decided
from scheduling.services.members import closing_events
from scheduling.services.waking import Looked, changes_of, reads_from, woken

FORMAT = 1
"""Of what a replay keeps of itself between two slices."""

NAMESPACE = "trace"
EPOCH = 946_684_800_000
"""Milliseconds: the time in the state at which a trace begins, 2000-01-01."""

GPU = "nvidia.com/gpu"

_FOR_EVER = (Reason.NEVER_FITS, Reason.NO_SUCH_DOMAIN)
"""A proof of these stands to the end of a trace: its nodes never change."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The gang that fragmentation is measured with."""

    klass: str
    members: int
    requests: tuple[tuple[str, int], ...]
    topology_key: str
    eligibility: Eligibility

    @property
    def resource(self) -> str:
        """What the free room is counted in."""
        names = [name for name, _ in self.requests if name != "pods"]
        devices = [name for name in names if "/" in name]
        return (devices or [name for name in names if name == "cpu"] or names or ["pods"])[0]


def ground(nodes: Iterable[Node], gates: Mapping[str, bool], running: Iterable[Pod] = ()) -> ClusterState:
    """A simulated cluster of these nodes. ``running``: pods that keep their room for the whole replay; they
    are in no group here.
    """
    state = ClusterState()
    for name, on in sorted(gates.items()):
        state.set_gate(name, on)
    for node in nodes:
        state.set_node(node)
    for pod in running:
        state.set_pod(replace(pod, group=""))
    return state


def shape_of(each: Submission) -> Shape:
    """Of each of its members."""
    requests = tuple(sorted((*each.requests, ("pods", 1))))
    selector = tuple((key, values[0]) for key, values in each.labelled if len(values) == 1)
    several = tuple(
        Requirement(key, "In", tuple(sorted(values))) for key, values in each.labelled if len(values) > 1
    )
    terms = (NodeSelectorTerm(several, ()),) if several else None
    return Shape(requests, Eligibility(node_selector=selector, terms=terms))


def probe_of(trace: Trace) -> Probe:
    """A gang of the trace that asks for most of what is scarcest: devices where any are asked for, else
    cores; of those that ask for as much, the one with the largest members, then the first.
    """
    devices = any("/" in name for each in trace.submissions for name, _ in each.requests)

    def size(each: Submission) -> tuple[int, int]:
        asked = sum(amount for name, amount in each.requests if ("/" in name if devices else name == "cpu"))
        return asked * each.members, asked

    largest = max(trace.submissions, key=size)
    shape = shape_of(largest)
    return Probe(largest.klass, largest.min_count, shape.requests, largest.topology_key, shape.eligibility)


class Replay:
    """``state``: of the nodes, see ``ground``; it is changed. ``profile``: of the engine."""

    def __init__(self, trace: Trace, state: ClusterState, profile: str = "exact") -> None:
        self.trace, self.state, self.profile = trace, state, profile
        self.submissions = {each.name: each for each in trace.submissions}
        self.now = 0
        self.looked = Looked(0, EPOCH)
        self.retry_at: int | None = None
        self.come = 0
        self.told_ends = 0
        self.ends: list[tuple[int, str]] = []
        self.waiting: dict[str, None] = {}
        """Names of the workloads of which members are to be placed."""
        self.begun: dict[str, int] = {}
        """Name -> when its quorum was placed."""
        self.over: dict[str, str] = {}
        """Name -> what came of it: ended, rejected, withdrawn, over_quota."""
        self.admission = Admission(trace.queues)
        self.queued: dict[str, None] = {}
        self.changes: list[Change] = []
        self.cycles = self.decisions = 0
        self.probe = probe_of(trace)
        self.offered = self._offered()
        self.used = dict.fromkeys(self.offered, 0)
        self.most_waiting = 0
        names = [
            *(f"use {resource}" for resource in self.offered),
            *(f"quota {resource}" for resource in self.admission.nominal()),
            *("waiting", "queued", "fragmentation"),
        ]
        self.series = Series(names, ("submitted", "placed", "wait"))

    # --- what happens

    @property
    def total(self) -> int:
        return 2 * len(self.trace.submissions)

    @property
    def done(self) -> int:
        """Workloads that came, and workloads that are over or will wait to the end."""
        return self.come + len(self.over)

    def step(self) -> bool:
        """Go to the next instant; false when there is none."""
        at = self._next()
        if at is None:
            return False
        self._pass(at)
        self._end(at)
        self._submit(at)
        self._admit(at)
        while self._cycle(at):  # somebody was rejected, whose quota others may have
            self._admit(at)
        self.most_waiting = max(self.most_waiting, len(self.waiting) + len(self.queued))
        return True

    def _next(self) -> int | None:
        submissions, endings = self.trace.submissions, self.trace.endings
        return min(
            (
                *(each.at for each in submissions[self.come : self.come + 1]),
                *(each.at for each in endings[self.told_ends : self.told_ends + 1]),
                *(at for at, _ in self.ends[:1]),
                *(() if self.retry_at is None else (self.retry_at - EPOCH,)),
            ),
            default=None,
        )

    def _pass(self, at: int) -> None:
        """Count what held since the last instant."""
        if at > self.now:
            self.series.hold(self.now, at, self._values())
            self.now = at

    def _values(self) -> dict[str, int]:
        found = {f"use {resource}": amount for resource, amount in self.used.items()}
        if self.admission.queues:
            found |= {f"quota {name}": amount for name, amount in self.admission.had().items()}
        found["waiting"] = len(self.waiting)
        found["queued"] = len(self.queued)
        found["fragmentation"] = fragmentation(self.state, self.probe)
        return found

    def _end(self, at: int) -> None:
        names = []
        while self.ends and self.ends[0][0] == at:
            names.append(heapq.heappop(self.ends)[1])
        endings = self.trace.endings
        while self.told_ends < len(endings) and endings[self.told_ends].at == at:
            if self.submissions[endings[self.told_ends].name].at < at:
                names.append(endings[self.told_ends].name)
            else:  # it comes at this very moment: it is there before it ends
                heapq.heappush(self.ends, (at + 1, endings[self.told_ends].name))
            self.told_ends += 1
        for name in names:
            if name not in self.over or self.over[name] == "rejected":
                self._close(name)

    def _close(self, name: str) -> None:
        each = self.submissions[name]
        if name in self.queued:
            del self.queued[name]
            self.admission.withdraw(each)
            self.over[name] = "withdrawn"
            return
        group = self.state.groups.get(f"{NAMESPACE}/{name}")
        if group is None:
            return
        if name not in self.over:
            self.over[name] = "ended" if name in self.begun else "withdrawn"
        self.waiting.pop(name, None)
        placed = sum(pod.node != "" for pod in self.state.pods_naming(group.key))
        self._charge(each, -placed)
        self._tell(closing_events(self.state, group, pods="group_ended", why="ended"))
        if each.queue and self.over[name] != "rejected":
            self.admission.give_back(each)

    def _submit(self, at: int) -> None:
        submissions = self.trace.submissions
        while self.come < len(submissions) and submissions[self.come].at == at:
            each = submissions[self.come]
            self.come += 1
            self.series.count(at, "submitted")
            if not each.queue:
                self._create(each, at)
            elif self.admission.never(each):
                self.over[each.name] = "over_quota"
            else:
                self.admission.ask(each)
                self.queued[each.name] = None

    def _admit(self, at: int) -> None:
        if self.queued:
            for each in self.admission.admit(self.submissions):
                del self.queued[each.name]
                self._create(each, at)

    def _create(self, each: Submission, at: int) -> None:
        group = PodGroup(
            NAMESPACE, each.name, each.name, min_count=each.min_count, topology_key=each.topology_key,
            priority=each.priority, created=EPOCH + each.at,
        )  # fmt: skip
        shape = shape_of(each)
        self._tell(
            [
                e.PodGroupCreated(group),
                *(
                    e.PodAdded(
                        Pod(
                            NAMESPACE, f"{each.name}-{number}", f"{each.name}-{number}", shape,
                            group=each.name, priority=each.priority, created=EPOCH + at,
                        )
                    )
                    for number in range(each.members)
                ),
            ]
        )  # fmt: skip
        self.waiting[each.name] = None

    def _cycle(self, at: int) -> bool:
        """Decide whom something could have helped; whether quota was given back."""
        now = EPOCH + at
        keys = {f"{NAMESPACE}/{name}" for name in self.waiting}
        self.retry_at = None
        made: list[e.Event] = []
        if keys:
            due = woken(self.state, Changes(self.state, self.changes), self.looked, now, keys)
            self.retry_at = due.retry_at
            if due.causes:
                self.cycles += 1
                self.decisions += len(due.causes)
                told = decided(
                    self.state, now, profile=self.profile, due=due.causes, tables=False, in_place=True
                )
                made = [one.event for one in told]
        returned = [self._after(event, at) for event in made]
        self.looked = Looked(self.state.seq, now)
        self._forget()
        return any(returned)

    def _after(self, event: e.Event, at: int) -> bool:
        """What a decision means for its workload; whether that gives quota back."""
        if isinstance(event, e.PodGroupUnschedulable):
            for_ever = event.verdict == Verdict.PROVED_INFEASIBLE and event.reason in _FOR_EVER
            if not for_ever or event.bound or event.name in self.over:
                return False
            self.over[event.name] = "rejected"
            self.waiting.pop(event.name, None)
            if self.submissions[event.name].queue:
                self.admission.give_back(self.submissions[event.name])
            return bool(self.submissions[event.name].queue)
        if not isinstance(event, e.PodGroupPlaced):
            return False
        name = event.name
        each = self.submissions[name]
        self._charge(each, len(event.assignments))
        who = roster(self.state, f"{NAMESPACE}/{name}")
        if not who.waiting:
            self.waiting.pop(name, None)
        if name not in self.begun and who.running:
            self.begun[name] = at
            self.series.count(at, "placed")
            self.series.count(at, "wait", at - each.at)
            if each.run_ms is not None:
                heapq.heappush(self.ends, (at + each.run_ms, name))
        return False

    def _tell(self, events: Iterable[e.Event]) -> None:
        now = EPOCH + self.now
        for event in events:
            seq = self.state.seq + 1
            fold.apply(self.state, event, seq, now)
            item = Recorded(0, seq, event, "", "", None, now, now, GENESIS, GENESIS)
            self.changes += [
                change for change in changes_of(self.state, item) if change.kind is not Kind.OTHER
            ]

    def _forget(self) -> None:
        """Changes that everybody who waits has been decided after."""
        if self.changes:
            keys = {f"{NAMESPACE}/{name}" for name in self.waiting}
            since = reads_from(self.state, self.looked, keys)
            self.changes = [change for change in self.changes if change.seq > since]

    def _charge(self, each: Submission, members: int) -> None:
        for resource, amount in each.requests:
            if resource in self.used:
                self.used[resource] += amount * members

    def _offered(self) -> dict[str, int]:
        """What the nodes have of each resource that the trace asks for."""
        asked = {name for each in self.trace.submissions for name, _ in each.requests}
        alloc = self.state.columns.alloc
        return {name: int(alloc[name].sum()) for name in sorted(asked) if name in alloc and alloc[name].any()}

    # --- what came of it

    def result(self) -> dict[str, Any]:
        """The figures, with integers only: milliseconds, and thousandths where a name says so."""
        duration = self.series.end
        outcomes = Counter(self.over.values())
        found = {name: at - self.submissions[name].at for name, at in self.begun.items()}
        classes: dict[str, list[int]] = {}
        for each in self.trace.submissions:
            classes.setdefault(each.klass, [])
            if each.name in found:
                classes[each.klass].append(found[each.name])
        nominal = self.admission.nominal()
        return {
            "duration_ms": duration,
            "workloads": len(self.submissions),
            "members": sum(each.members for each in self.trace.submissions),
            "placed": len(self.begun),
            "ended": outcomes["ended"],
            "rejected": outcomes["rejected"] + outcomes["over_quota"],
            "over_quota": outcomes["over_quota"],
            "withdrawn": outcomes["withdrawn"],
            "waiting_at_end": len(self.waiting) + len(self.queued),
            "running_at_end": len(self.begun) - outcomes["ended"],
            "most_waiting": self.most_waiting,
            "waits": waits(list(found.values())),
            "classes": [{"class": name, **waits(each)} for name, each in sorted(classes.items())],
            "use": [self._share("use", name, amount) for name, amount in self.offered.items()],
            "quota_use": [self._share("quota", name, amount) for name, amount in sorted(nominal.items())],
            "waiting_mean_thousandths": _over(1000 * self._total("waiting", "queued"), duration),
            "fragmentation_per_mille": _over(self.series.total("fragmentation"), duration),
            "placed_per_minute_thousandths": _over(len(self.begun) * 60_000 * 1000, duration),
            "cycles": self.cycles,
            "decisions": self.decisions,
            "nodes": len(self.state.nodes),
            "probe": {
                "class": self.probe.klass,
                "members": self.probe.members,
                "requests": [list(pair) for pair in self.probe.requests],
                "topology_key": self.probe.topology_key,
                "resource": self.probe.resource,
            },
            "series": self._series(),
        }

    def waits(self) -> Iterator[tuple[str, str, int, int | None, str]]:
        """Of each workload: name, class, when it came, when its quorum was placed, what came of it."""
        for each in self.trace.submissions:
            begun = self.begun.get(each.name)
            what = self.over.get(each.name) or ("waiting" if begun is None else "running")
            yield each.name, each.klass, each.at, begun, what

    def _total(self, *names: str) -> int:
        return sum(self.series.total(name) for name in names)

    def _share(self, kind: str, resource: str, amount: int) -> dict[str, Any]:
        total = self.series.total(f"{kind} {resource}")
        return {
            "resource": resource,
            "amount": amount,
            "per_mille": _over(1000 * total, amount * self.series.end),
        }

    def _series(self) -> dict[str, Any]:
        series = self.series
        use = {name: _shares(series, f"use {name}", amount) for name, amount in self.offered.items()}
        quota = {
            name: _shares(series, f"quota {name}", amount)
            for name, amount in sorted(self.admission.nominal().items())
        }
        queued = series.mean("queued", 1000)
        placed, wait = series.counts["placed"], series.counts["wait"]
        return {
            "width_ms": series.width,
            "at_ms": series.starts(),
            "use_per_mille": use,
            "quota_use_per_mille": quota,
            "waiting_thousandths": [a + b for a, b in zip(series.mean("waiting", 1000), queued, strict=True)],
            "fragmentation_per_mille": series.mean("fragmentation"),
            "submitted": series.counts["submitted"],
            "placed": placed,
            "mean_wait_ms": [_over(sum_, count) for sum_, count in zip(wait, placed, strict=True)],
        }

    # --- between two slices

    def to_json(self) -> dict[str, Any]:
        """What the replay keeps beside its state; ``resumed`` goes on from both."""
        return {
            "format": FORMAT,
            "now": self.now,
            "looked": [self.looked.seq, self.looked.at],
            "retry_at": self.retry_at,
            "come": self.come,
            "told_ends": self.told_ends,
            "ends": self.ends,
            "waiting": list(self.waiting),
            "begun": self.begun,
            "over": self.over,
            "queued": list(self.queued),
            "changes": [
                [change.seq, change.kind.value, change.node, change.group] for change in self.changes
            ],
            "cycles": self.cycles,
            "decisions": self.decisions,
            "used": self.used,
            "most_waiting": self.most_waiting,
            "series": self.series.to_json(),
        }

    @classmethod
    def resumed(cls, trace: Trace, state: ClusterState, profile: str, told: Mapping[str, Any]) -> Replay:
        """``told`` of ``to_json``, ``state`` as it was then. ValueError for another format."""
        if told["format"] != FORMAT:
            raise ValueError(f"the replay is of format {told['format']}, this version has {FORMAT}")
        made = cls(trace, state, profile)
        made.now, made.looked, made.retry_at = told["now"], Looked(*told["looked"]), told["retry_at"]
        made.come, made.told_ends = told["come"], told["told_ends"]
        made.ends = [(at, name) for at, name in told["ends"]]
        made.waiting = dict.fromkeys(told["waiting"])
        made.begun, made.over = dict(told["begun"]), dict(told["over"])
        made.queued = dict.fromkeys(told["queued"])
        made.changes = [Change(seq, Kind(kind), node, group) for seq, kind, node, group in told["changes"]]
        made.cycles, made.decisions = told["cycles"], told["decisions"]
        made.used, made.most_waiting = dict(told["used"]), told["most_waiting"]
        made.series = Series.of_json(told["series"])
        there = [made.submissions[group.name] for group in state.groups.values()]
        made.admission.resume(
            [each for each in there if each.queue and made.over.get(each.name) != "rejected"],
            [made.submissions[name] for name in made.queued],
        )
        return made


def fragmentation(state: ClusterState, probe: Probe) -> int:
    """Of a thousand parts of what is free of the probe's resource on all nodes, those that the probe cannot
    use: what is left on a node is less than one member asks for, the node is barred to it, or its domain does
    not hold the whole gang. 0 where nothing is free.
    """
    free = state.columns.free.get(probe.resource)
    each = dict(probe.requests)[probe.resource]
    if free is None:
        return 0
    whole = int(free[free > 0].sum())
    if not whole:
        return 0
    key = probe.topology_key if probe.topology_key and state.tas_enforced else None
    _, counts = state.shape(probe.requests, probe.eligibility, key)
    places = counts.places
    good = int(places[places >= probe.members].sum()) * each
    return 1000 - 1000 * good // whole


def _shares(series: Series, name: str, amount: int) -> list[int]:
    return [value // amount for value in series.mean(name, 1000)] if amount else series.mean(name)


def _over(value: int, by: int) -> int:
    return value // by if by else 0
