"""What came of a scenario, as JSON with integers only: codes and numbers, of which faces make sentences.
Pure.

Times are milliseconds since the epoch, durations have their unit in the name (``_ms``, ``_us``: thousandths
of one). *Before* is the fork after ``begin`` and before the first step, so that everything told comes of the
steps. Lists end after ``MOST`` (and so on); the number of all stands beside them::

    {
      "format": 1,
      "profile": "exact",
      "base": {"seq", "at", "mode"},        # observed: its forecasts came true first
      "begun": {"seq", "at", "events", "placed": [key]},   # decided before the first step, see fork.begin
      "end": {"seq", "at"},
      "verdict": {"code", "asked", "running", "waiting", "ended", "harmed", "helped"},
      "asked": [GROUP],                     # submitted, changed or hit by the steps, in the order of these
      "others": [GROUP], "other_count",     # all others whose status, domain or verdict is another
      "steps": [{"step", "seq", "at", "events", "own", "placed": [key], "refused": [key]}],
      "difference": {
        "tally": {"node" | "podgroup" | "pod": {what: {"count", "names": [key]}}},
        "lost": [[key, domain]],            # groups that lost their domain
        "cluster": [FIELD], "nodes": [CHANGE], "groups": [CHANGE], "pods": [CHANGE],
        "counts": {"node", "podgroup", "pod"}
      },
      "before": KPI, "after": KPI,          # {"nodes", "usable", "gpus", "used", "groups", "running",
                                            #  "waiting"}
      "timing": {...}                       # see scenario_runs
    }

``verdict.code``: ``runs`` (every group asked about runs, and no other one stopped), ``runs_at_cost`` (the
same, but others stopped), ``waits`` (some group asked about does not run), ``unharmed`` and ``harmed`` (no
group was asked about, or all of these ended: whether others stopped). ``harmed``, ``helped``: other groups
that ran and do not run now, and the other way round.

GROUP::

    {
      "key", "uid", "generation", "role",   # submitted, changed, hit (its pods went with nodes), other
      "became",                             # BECAME
      "closed",                             # why its last generation ended, "" if it is open
      "before": STANDING | null, "after": STANDING | null,
      "wait_ms",                            # until it was placed in the fork; so far, if it waits; else null
      "facts": {...} | null,                # wording.decisions.Facts of how it stands at the end
      "evidence": {"funnel": [5 numbers as engine.decision.Funnel], "domain_count",
                   "domains": [{"domain", "nodes", "eligible", "fits", "short", "reason",
                                "short_of": [[resource, amount]], "causes": [[code, nodes]], "never"}]}
                  | null                    # of one that waits: the nearest domains
    }

STANDING: ``{"status", "uid", "generation", "need", "members", "bound", "topology_key", "domains", "verdict",
"reason"}``; ``domains``: those in which its members on nodes are (none without a topology key); ``verdict``,
``reason``: of the last decision, "" before the first. FIELD: ``[name, before, after]``. CHANGE:
``{"namespace", "name", "uid", "what": [code], "fields": [FIELD]}``, without fields for pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from scheduling.engine.candidates import enforced
from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.status import GroupStatus, group_status
from scheduling.ledger import events as e
from scheduling.scenarios.fork import PERSON, Told
from scheduling.selectors.differences import Change, Difference, What, compare, tally
from scheduling.selectors.headline import WAITING, headline
from scheduling.selectors.pictures import Field

FORMAT = 1

MOST = 500
"""Groups in a list, and changes of nodes and of groups."""
MOST_PODS = 200
NEAR = 10
"""Domains in the evidence of one group."""

BECAME = ("placed", "runs_on", "moved", "waits", "waits_on", "stopped", "finished", "ended")
"""``placed``: it did not run and runs now; ``runs_on``: where it was; ``moved``: in another domain, or as
another generation; ``waits``: it is new; ``waits_on``: it did before; ``stopped``: it ran and does not any
more.
"""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Base:
    """Where the fork left the cluster: after event ``seq``, at ``at``, in ``mode``."""

    seq: int
    at: int
    mode: str


@dataclass(frozen=True, slots=True)
class Mark:
    """Where the fork stood after a step, ``step`` "" for its beginning. ``events``: in it; ``own``: of them,
    those that the step itself made.
    """

    step: str
    seq: int
    at: int
    events: int
    own: int


def outcome(
    *,
    before: ClusterState,
    after: ClusterState,
    base: Base,
    marks: Sequence[Mark],
    told: Iterable[Told],
    profile: str,
    timing: Mapping[str, int],
) -> Json:
    """``before``: after ``marks[0]``; ``after``: after the last one. ``told``: everything that happened in
    the fork, its beginning included.
    """
    begun, end = marks[0], marks[-1]
    story = _Story(before, after, begun.seq)
    for one in told:
        story.hear(one)
    found = compare(before, after)
    groups = _Groups(before, after, story, profile, begun, end)
    asked = [groups.group(key, role) for key, role in story.roles.items()]
    pairs = {
        change.key: (standing(before, change.key), standing(after, change.key))
        for change in found.groups
        if change.key not in story.roles
    }
    moved = {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}
    return {
        "format": FORMAT,
        "profile": profile,
        "base": {"seq": base.seq, "at": base.at, "mode": base.mode},
        "begun": {
            "seq": begun.seq,
            "at": begun.at,
            "events": begun.events,
            "placed": story.placed_in(base.seq, begun.seq),
        },
        "end": {"seq": end.seq, "at": end.at},
        "verdict": _verdict(asked, moved.values()),
        "asked": asked[:MOST],
        "others": [groups.group(key, "other") for key in list(moved)[:MOST]],
        "other_count": len(moved),
        "steps": [_step(since, mark, story) for since, mark in pairwise(marks)],
        "difference": difference(found),
        "before": _kpi(before),
        "after": _kpi(after),
        "timing": dict(timing),
    }


class _Story:
    """What the events of the fork say of groups. ``roles``: of those that steps touched, in that order;
    ``since``: (seq, at) when they last did.
    """

    def __init__(self, before: ClusterState, after: ClusterState, begun: int) -> None:
        self._states = (after, before)
        self._begun = begun
        self.roles: dict[str, str] = {}
        self.since: dict[str, tuple[int, int]] = {}
        self.closed: dict[str, str] = {}
        self.placed: list[tuple[int, int, str]] = []
        self.refused: list[tuple[int, str]] = []

    def hear(self, told: Told) -> None:
        event = told.event
        if isinstance(event, e.PodGroupPlaced):
            self.placed.append((told.seq, told.at, f"{event.namespace}/{event.name}"))
        elif isinstance(event, _REFUSALS):
            self.refused.append((told.seq, f"{event.namespace}/{event.name}"))
        elif isinstance(event, e.PodGroupClosed):
            self.closed[f"{event.namespace}/{event.name}"] = event.reason
        if told.actor == PERSON and told.seq > self._begun:
            key, role = self._touched(event)
            if key:
                if _RANK[role] > _RANK[self.roles.get(key, "")]:
                    self.roles[key] = role
                self.since[key] = (told.seq, told.at)

    def _touched(self, event: e.Event) -> tuple[str, str]:
        """The group that an event of a step is about, and how; "" for none."""
        if isinstance(event, e.PodGroupCreated):
            return event.group.key, "changed" if event.why else "submitted"
        if isinstance(event, e.PodGroupClosed):
            return f"{event.namespace}/{event.name}", "changed"
        if isinstance(event, e.PodAdded):
            return event.pod.group_key, "hit" if event.replaces else "changed"
        if isinstance(event, e.PodRemoved):
            key = f"{event.namespace}/{event.group}" if event.group else ""
            return key, "hit" if event.reason == "node_lost" else "changed"
        if isinstance(event, e.PodUpdated):
            pod = next((pod for state in self._states if (pod := state.pods.get(event.uid))), None)
            return pod.group_key if pod is not None else "", "changed"
        return "", ""

    def placed_in(self, after: int, upto: int) -> list[str]:
        return list(dict.fromkeys(key for seq, _, key in self.placed if after < seq <= upto))[:MOST]

    def refused_in(self, after: int, upto: int) -> list[str]:
        return list(dict.fromkeys(key for seq, key in self.refused if after < seq <= upto))[:MOST]

    def placed_at(self, key: str, since: int) -> int | None:
        """When it was first placed after event ``since``."""
        return next((at for seq, at, placed in self.placed if placed == key and seq > since), None)


_RANK = {"": 0, "hit": 1, "changed": 2, "submitted": 3}
_REFUSALS = (e.PodGroupUnschedulable, e.PodGroupHeld, e.PodGroupOverQuota, e.PodGroupConflicted)


# ---------------------------------------------------------------- groups


class _Groups:
    """Makes GROUP of keys."""

    def __init__(
        self, before: ClusterState, after: ClusterState, story: _Story, profile: str, begun: Mark, end: Mark
    ) -> None:
        self._before, self._after, self._story, self._profile = before, after, story, profile
        self._begun, self._end = begun, end

    def group(self, key: str, role: str) -> Json:
        old, new = standing(self._before, key), standing(self._after, key)
        waits = new is not None and new["status"] in WAITING
        decision = decide(self._after, key, profile=self._profile) if waits else None
        known = new or old
        return {
            "key": key,
            "uid": known["uid"] if known else "",
            "generation": known["generation"] if known else 0,
            "role": role,
            "became": became(old, new),
            "closed": self._story.closed.get(key, "") if new is None else "",
            "before": old,
            "after": new,
            "wait_ms": self._wait(key, new, waits),
            "facts": _facts(new, decision, enforced(self._after, roster(self._after, key))),
            "evidence": evidence(decision) if decision is not None else None,
        }

    def _wait(self, key: str, new: Json | None, waits: bool) -> int | None:
        since, begun = self._story.since.get(key, (self._begun.seq, self._begun.at))
        if waits:
            turn = self._after.turns.get(key)
            if key not in self._story.since and turn is not None and turn.waits_since:
                begun = turn.waits_since
            return max(0, self._end.at - begun)
        placed = self._story.placed_at(key, since) if new is not None else None
        return None if placed is None else placed - begun


def standing(state: ClusterState, key: str) -> Json | None:
    """STANDING; None when neither a PodGroup nor a pod has the key."""
    who = roster(state, key)
    if who.group is None and not who.pods:
        return None
    verdict = state.verdicts.get(key)
    return {
        "status": group_status(state, key).value,
        "uid": who.group.uid if who.group else "",
        "generation": who.group.generation if who.group else 0,
        "need": who.need,
        "members": who.known,
        "bound": len(who.bound),
        "topology_key": who.group.topology_key if who.group else "",
        "domains": _domains(state, key),
        "verdict": verdict.verdict if verdict is not None else "",
        "reason": str(verdict.reason) if verdict is not None else "",
    }


def _domains(state: ClusterState, key: str) -> list[str]:
    who = roster(state, key)
    topology_key = who.group.topology_key if who.group else ""
    if not topology_key:
        return []
    if topology_key == NUMA_KEY:
        found = {state.zone_of.get(pod.uid) for pod in who.bound}
    else:
        nodes = (state.nodes.get(name) for name in {pod.node for pod in who.bound})
        found = {node.label(topology_key) for node in nodes if node is not None}
    return sorted(domain for domain in found if domain is not None)


def became(old: Json | None, new: Json | None) -> str:
    """Which of ``BECAME``."""
    if new is None:
        return "ended"
    if new["status"] == GroupStatus.FINISHED:
        return "finished"
    ran = old is not None and old["status"] == GroupStatus.SCHEDULED
    if new["status"] == GroupStatus.SCHEDULED:
        if old is None or not ran:
            return "placed"
        return "runs_on" if (old["uid"], old["domains"]) == (new["uid"], new["domains"]) else "moved"
    if old is None:
        return "waits"
    return "stopped" if ran else "waits_on"


def _facts(new: Json | None, decision: Decision | None, held: bool) -> Json | None:
    if decision is not None:
        best = decision.domains[0] if decision.domains else None
        chosen = decision.domain or decision.placed
        return {
            "verdict": str(decision.verdict),
            "reason": str(decision.reason),
            "topology_key": decision.topology_key,
            "enforced": decision.enforced,
            "domain": decision.domain if chosen else best.domain if best else None,
            "need": decision.need,
            "members": decision.members,
            "bound": decision.bound,
            "fits": decision.fits,
            "short_of": [list(pair) for pair in best.short_of] if best and not decision.placed else [],
            "fits_across_domains": decision.fits_across_domains,
            "unmodelled": list(decision.unmodelled),
            "quota": _quota(decision),
        }
    if new is None or new["status"] != GroupStatus.SCHEDULED:
        return None
    alone = len(new["domains"]) == 1
    return {
        "verdict": "placed",
        "reason": "",
        "topology_key": new["topology_key"],
        "enforced": held,
        "domain": new["domains"][0] if alone else None,
        "need": new["need"],
        "members": new["members"],
        "bound": new["bound"],
        "fits": new["bound"],
        "short_of": [],
        "fits_across_domains": False,
        "unmodelled": [],
        "quota": None,
    }


def _quota(decision: Decision) -> Json | None:
    count = decision.quota
    if count is None:
        return None
    return {"queue": count.queue, "quota": count.quota, "used": count.used, "asked": count.asked}


def evidence(decision: Decision) -> Json:
    """Why it waits, by domain: the nearest ones."""
    return {
        "funnel": list(decision.funnel),
        "domain_count": len(decision.domains),
        "domains": [
            {
                "domain": row.domain,
                "nodes": row.nodes,
                "eligible": row.eligible,
                "fits": row.fits,
                "short": row.short,
                "reason": str(row.reason),
                "short_of": [list(pair) for pair in row.short_of],
                "causes": [list(pair) for pair in row.causes],
                "never": row.never,
            }
            for row in decision.domains[:NEAR]
        ],
    }


# ---------------------------------------------------------------- all of it


def _verdict(asked: Sequence[Json], moved: Iterable[tuple[Json | None, Json | None]]) -> Json:
    running = sum(_runs(group["after"]) for group in asked)
    waiting = sum(group["after"] is not None and group["after"]["status"] in WAITING for group in asked)
    pairs = list(moved)
    harmed = sum(_runs(old) and not _runs(new) and not _is_over(new) for old, new in pairs)
    helped = sum(_runs(new) and not _runs(old) for old, new in pairs)
    if waiting:
        code = "waits"
    elif running:
        code = "runs_at_cost" if harmed else "runs"
    else:
        code = "harmed" if harmed else "unharmed"
    return {
        "code": code,
        "asked": len(asked),
        "running": running,
        "waiting": waiting,
        "ended": len(asked) - running - waiting,
        "harmed": harmed,
        "helped": helped,
    }


def _runs(found: Json | None) -> bool:
    return found is not None and found["status"] == GroupStatus.SCHEDULED


def _is_over(found: Json | None) -> bool:
    return found is not None and found["status"] == GroupStatus.FINISHED


def difference(found: Difference) -> Json:
    lost = [change for change in found.groups if What.LOST_DOMAIN in change.what]
    told: Json = {}
    for (subject, what), meant in tally(found).items():
        told.setdefault(subject, {})[what.value] = {"count": meant.count, "names": list(meant.names)}
    return {
        "tally": told,
        "lost": [[change.key, _after(change, "lostDomain")] for change in lost[:MOST]],
        "cluster": _fields(found.cluster),
        "nodes": [_change(change, fields=True) for change in found.nodes[:MOST]],
        "groups": [_change(change, fields=True) for change in found.groups[:MOST]],
        "pods": [_change(change, fields=False) for change in found.pods[:MOST_PODS]],
        "counts": {"node": len(found.nodes), "podgroup": len(found.groups), "pod": len(found.pods)},
    }


def _after(change: Change, name: str) -> str:
    field = change.field(name)
    return str(field.after) if field is not None else ""


def _change(change: Change, *, fields: bool) -> Json:
    return {
        "namespace": change.namespace,
        "name": change.name,
        "uid": change.uid,
        "what": [what.value for what in change.what],
        "fields": _fields(change.fields) if fields else [],
    }


def _fields(fields: Iterable[Field]) -> list[list[Any]]:
    return [[field.name, field.before, field.after] for field in fields]


def _step(since: Mark, mark: Mark, story: _Story) -> Json:
    return {
        "step": mark.step,
        "seq": mark.seq,
        "at": mark.at,
        "events": mark.events,
        "own": mark.own,
        "placed": story.placed_in(since.seq, mark.seq),
        "refused": story.refused_in(since.seq, mark.seq),
    }


def _kpi(state: ClusterState) -> Json:
    found = headline(state)
    return {
        "nodes": found.nodes,
        "usable": found.usable,
        "gpus": found.use.gpus,
        "used": found.use.used,
        "groups": found.groups,
        "running": found.running,
        "waiting": found.waiting,
    }
