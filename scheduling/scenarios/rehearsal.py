"""A switch of feature gates, tried on a copy: which groups would change placement, status or verdict, and
what would become of members that are made again. Nothing is switched.

Two copies of the state go through one cycle, one with the gates as they are and one with the switch made;
what differs between them is what the switch does. Groups are then asked one by one, so that a long rehearsal
goes on from slice to slice. What time would do later (deadlines, preemption) is not rehearsed.

The result, all of it integers, texts and truth values: ``gates`` (as rehearsed), ``before`` and ``after``
(``gates``, ``enforced``), ``mode``, ``profile`` (of kube-scheduler), ``notes`` (codes), ``counts`` (kind of
change -> groups, ``same`` among them) and ``groups``: those that change, each with ``key``, ``topology_key``,
``change``, ``before``, ``after`` (an *outlook*), ``member`` and ``upstream`` (None where it was not asked).
"""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import Field

from scheduling.engine.candidates import enforced
from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.model import TAS_GATES, Pod, altered
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.queue import waiting
from scheduling.engine.reasons import Verdict
from scheduling.engine.roster import roster
from scheduling.engine.state import ClusterState
from scheduling.engine.status import group_status
from scheduling.kube.releases import RELEASES, release_of
from scheduling.ledger import fold
from scheduling.ledger.events import FeatureGateChanged, PlacementForecast, RehearsalRun
from scheduling.ledger.store import to_milliseconds
from scheduling.models import Cluster, Run, RunFile
from scheduling.scenarios import workbench
from scheduling.scenarios.documents import checked
from scheduling.scenarios.kinds import SLICED, Slice
from scheduling.scenarios.steps import Part
from scheduling.selectors import clusters, past_states
from scheduling.services.deciding import decided
from scheduling.services.execute import execute
from scheduling.services.gates import unknown_gates
from scheduling.services.problems import CONFLICT, Problem, Refused
from scheduling.services.readiness import version_of

WORK = SLICED
KIND = "rehearsal"

CHANGES = (
    "errors",
    "waits",
    "sticky",
    "moves",
    "strays",
    "pinned",
    "verdict",
    "freed",
    "cleared",
    "runs",
    "same",
)
"""Kinds of change, the worst first. ``errors``: its members are where the law does not let them be, and new
ones end in an error; ``cleared``: that ends. ``waits``, ``runs``: it would not be placed any more, or
would be now. ``moves``: placed elsewhere. ``verdict``: it waits either way, for another reason. Of groups
that run: ``sticky``: a member whose node is lost would have to wait, and would not without the switch;
``freed``: the reverse. ``pinned``: a member made again goes back to its domain and would have left it;
``strays``: the reverse.
"""

_CHECKPOINT = "checkpoint"

Outlook = dict[str, Any]
"""Of a group: ``status``, ``verdict``, ``reason``, ``enforced``, ``domain``, ``need``, ``members``,
``bound``, ``fits``, ``short_of``, ``across``, ``unmodelled``; ``places``: (domain, members on nodes there).
"""


class RehearsalDocument(Part):
    """``gates``: those to be switched, and to what."""

    gates: dict[str, bool] = Field(min_length=1)


class Rehearsal:
    """Pure. ``before``, ``after``: the state after one cycle without and with the switch."""

    def __init__(self, state: ClusterState, gates: Mapping[str, bool], now: int, profile: str) -> None:
        self.state, self.profile = state, profile
        self.switched = state.fork()
        for gate, on in sorted(gates.items()):
            fold.apply(self.switched, FeatureGateChanged(gate, on), state.seq)
        self.before = after_cycle(state, now)
        self.after = after_cycle(self.switched, now)
        self.keys = state.group_keys()
        self._waiting = frozenset(waiting(state)) | frozenset(waiting(self.switched))

    def entry(self, key: str) -> dict[str, Any]:
        """What the switch does to one group."""
        before, after = outlook(self.before, key), outlook(self.after, key)
        found = change(before, after, _places(self.before, key) != _places(self.after, key))
        member = self._member(key)
        if found == "same" and member is not None:
            found = member_change(member)
        group = self.state.groups.get(key)
        return {
            "key": key,
            "topology_key": group.topology_key if group is not None else "",
            "change": found,
            "before": before,
            "after": after,
            "member": member,
            "upstream": self._upstream(key),
        }

    def _member(self, key: str) -> dict[str, Any] | None:
        """What becomes of one of its members that is made again, and of one whose node is lost: asked where
        the switch changes whether the group is held to a domain.
        """
        who, then = roster(self.before, key), roster(self.after, key)
        if enforced(self.before, who) == enforced(self.after, then) or not (who.bound and then.bound):
            return None
        return {
            case: {"before": recreated(self.before, key, lost), "after": recreated(self.after, key, lost)}
            for case, lost in (("again", False), ("node_lost", True))
        }

    def _upstream(self, key: str) -> dict[str, Any] | None:
        """What kube-scheduler would do of a constrained group that waits, alone on the state as it is."""
        group = self.state.groups.get(key)
        if key not in self._waiting or group is None or not group.topology_key:
            return None
        found = {}
        for name, state in (("before", self.state), ("after", self.switched)):
            decision = decide(state, key, profile=self.profile)
            found[name] = {
                "verdict": str(decision.verdict), "reason": str(decision.reason), "domain": decision.domain,
                "luck": list(decision.luck), "enforced": decision.enforced,
            }  # fmt: skip
        return found


def after_cycle(state: ClusterState, now: int) -> ClusterState:
    """A copy in which every waiting group was decided once. Where only forecasts are made they came true."""
    ahead = state.fork()
    for seq, told in enumerate(decided(state, now), state.seq + 1):
        event = told.event
        fold.apply(ahead, event, seq, now)
        if isinstance(event, PlacementForecast):
            zone = event.domain if event.enforced and event.topology_key == NUMA_KEY else ""
            for uid, _, node in event.assignments:
                ahead.bind(uid, node, zone)
    return ahead


def outlook(state: ClusterState, key: str) -> Outlook:
    decision = decide(state, key)
    return _facts(decision) | {
        "status": str(group_status(state, key)),
        "places": [list(pair) for pair in sorted(_domains(state, key).items())],
    }


def recreated(state: ClusterState, key: str, lost: bool) -> Outlook:
    """The last of its members made again. ``lost``: with its node out of use; ``places``: where it goes."""
    ahead = state.fork()
    pod = max(roster(state, key).bound, key=lambda one: (one.name, one.uid))
    node = ahead.nodes.get(pod.node)
    ahead.remove_pod(pod.uid)
    if lost and node is not None:
        ahead.set_node(altered(node, (("unschedulable", True),)))
    again: Pod = altered(
        pod,
        (("uid", f"{pod.uid}-again"), ("node", ""), ("phase", "Pending"), ("terminating", False)),
    )
    ahead.set_pod(again)
    decision = decide(ahead, key)
    goes = next((to for uid, to in decision.assignments if uid == again.uid), "")
    return _facts(decision) | {"places": [[_domain_of(state, key, goes), 1]] if goes else []}


def change(before: Outlook, after: Outlook, moved: bool) -> str:
    """Of the group itself; ``moved``: its members are on other nodes."""
    conflicted = str(Verdict.CONFLICTED)
    if before["verdict"] != conflicted and after["verdict"] == conflicted:
        return "errors"
    if before["verdict"] == conflicted and after["verdict"] != conflicted:
        return "cleared"
    if before["bound"] > after["bound"] and after["bound"] < after["need"]:
        return "waits"
    if before["bound"] < after["bound"] and before["bound"] < before["need"]:
        return "runs"
    if moved:
        return "moves"
    told = ("verdict", "reason")
    if after["verdict"] != Verdict.PLACED and any(before[name] != after[name] for name in told):
        return "verdict"
    return "same"


def member_change(member: dict[str, Any]) -> str:
    lost, again = member["node_lost"], member["again"]
    if lost["before"]["places"] and not lost["after"]["places"]:
        return "sticky"
    if lost["after"]["places"] and not lost["before"]["places"]:
        return "freed"
    if any(case["before"]["places"] != case["after"]["places"] for case in (again, lost)):
        return "pinned" if again["after"]["enforced"] else "strays"
    return "same"


def notes(before: Mapping[str, bool], after: Mapping[str, bool]) -> list[str]:
    """Codes of what has to be known beside the groups."""
    found = []
    on_before, on_after = (all(gates.get(gate, False) for gate in TAS_GATES) for gates in (before, after))
    if on_before == on_after:
        found.append("law_stays_on" if on_after else "law_stays_off")
    if any(before.get(gate, False) and not after.get(gate, False) for gate in TAS_GATES[:2]):
        found.append("gangs_off")
    return found


# --- the run


def request(*, cluster: Cluster, gates: Mapping[str, bool], actor: str, command_id: str = "") -> Run:
    """Raises Refused, also where the gates are so already, and CommandReused."""
    document = checked(RehearsalDocument, {"gates": dict(gates)}, "Rehearsal")
    problems = unknown_gates(cluster.name, document.gates)
    if not problems and all(cluster.gates.get(gate, False) == on for gate, on in document.gates.items()):
        message = "the gates are so already: there is nothing to rehearse"
        problems = [Problem("Rehearsal", "", "", "gates", CONFLICT, message)]
    if problems:
        raise Refused(problems)
    return workbench.request(
        cluster=cluster,
        kind=KIND,
        document={"gates": document.gates},
        base=clusters.head(cluster),
        actor=actor,
        command_id=command_id,
        asked="",
    )


def newest(cluster: Cluster, gates: Mapping[str, bool]) -> Run | None:
    """The newest rehearsal that is done of exactly this switch, from gates as they are now."""
    rows = Run.objects.filter(
        cluster=cluster, kind=KIND, status=Run.Status.DONE, document={"gates": dict(gates)}
    )
    found: Run | None = rows.filter(result__before__gates=_all_gates(cluster.gates)).first()
    return found


def work(run: Run, spent: Callable[[], bool]) -> Slice:
    rehearsal = _rehearsal(run)
    entries, total = _reached(run), len(rehearsal.keys)
    for place in range(len(entries), total):
        entries.append(rehearsal.entry(rehearsal.keys[place]))
        if spent() and place + 1 < total:
            data = json.dumps(entries).encode()
            RunFile.objects.update_or_create(run=run, name=_CHECKPOINT, defaults={"data": data})
            return Slice(len(entries), total)
    result = summary(rehearsal, run.document["gates"], entries)
    _tell(run, result)
    RunFile.objects.filter(run=run, name=_CHECKPOINT).delete()
    _kept.pop(run.pk, None)
    return Slice(total, total, result)


def summary(rehearsal: Rehearsal, gates: Mapping[str, bool], entries: list[dict[str, Any]]) -> dict[str, Any]:
    counts = Counter(entry["change"] for entry in entries)
    before, after = _all_gates(rehearsal.state.gates), _all_gates(rehearsal.switched.gates)
    changed = [entry for entry in entries if entry["change"] != "same" or _upstream_changes(entry)]
    return {
        "gates": dict(gates),
        "before": {"gates": before, "enforced": rehearsal.state.tas_enforced},
        "after": {"gates": after, "enforced": rehearsal.switched.tas_enforced},
        "mode": rehearsal.state.mode,
        "profile": rehearsal.profile,
        "notes": notes(before, after),
        "counts": {kind: counts[kind] for kind in CHANGES if counts[kind]},
        "groups": sorted(changed, key=lambda entry: (CHANGES.index(entry["change"]), entry["key"])),
    }


_kept: OrderedDict[int, Rehearsal] = OrderedDict()
"""The run that this process worked on last: its two cycles are not made again in every slice."""


def _rehearsal(run: Run) -> Rehearsal:
    if run.pk not in _kept:
        _kept.clear()
        state = past_states.state_at(run.cluster, run.base_seq)
        release = release_of(version_of(state, run.cluster.kubernetes_version)) or RELEASES[0]
        now = to_milliseconds(run.requested_at)
        _kept[run.pk] = Rehearsal(state, run.document["gates"], now, release.profile)
    return _kept[run.pk]


def _reached(run: Run) -> list[dict[str, Any]]:
    file = RunFile.objects.filter(run=run, name=_CHECKPOINT).first()
    return [] if file is None else list(json.loads(bytes(file.data)))


def _tell(run: Run, result: dict[str, Any]) -> None:
    """One event in the log of the cluster, once however often the last slice is made."""
    event = RehearsalRun(
        tuple(sorted(result["gates"].items())), run.number, run.base_seq, tuple(result["counts"].items())
    )
    execute(
        run.cluster,
        lambda state, now: [event],
        actor=run.requested_by,
        command_id=f"rehearsal-{run.number}",
        request=f"rehearsal {run.number}",
    )


def _upstream_changes(entry: dict[str, Any]) -> bool:
    found = entry["upstream"]
    return found is not None and found["before"]["verdict"] != found["after"]["verdict"]


def _all_gates(gates: Mapping[str, bool]) -> dict[str, bool]:
    return {gate: bool(gates.get(gate, False)) for gate in TAS_GATES}


def _facts(decision: Decision) -> Outlook:
    best = decision.domains[0] if decision.domains and not decision.placed else None
    return {
        "verdict": str(decision.verdict),
        "reason": str(decision.reason),
        "enforced": decision.enforced,
        "domain": decision.domain or (best.domain if best else ""),
        "need": decision.need,
        "members": decision.members,
        "bound": decision.bound,
        "fits": decision.fits,
        "short_of": [list(pair) for pair in best.short_of] if best else [],
        "across": decision.fits_across_domains,
        "unmodelled": list(decision.unmodelled),
    }


def _places(state: ClusterState, key: str) -> dict[str, str]:
    return {pod.uid: pod.node for pod in roster(state, key).bound}


def _domains(state: ClusterState, key: str) -> Counter[str]:
    return Counter(_domain_of(state, key, pod.node) for pod in roster(state, key).bound)


def _domain_of(state: ClusterState, key: str, node_name: str) -> str:
    """The value of the group's key there; the node itself without a key, or where it does not carry it."""
    group, node = state.groups.get(key), state.nodes.get(node_name)
    if group is None or not group.topology_key or group.topology_key == NUMA_KEY or node is None:
        return node_name
    value = node.label(group.topology_key)
    return node_name if value is None else value
