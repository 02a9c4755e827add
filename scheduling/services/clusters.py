"""Clusters: made and brought up to date by importing dumps; gates and mode switched."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field, replace
from uuid import uuid4

from django.db import IntegrityError, transaction

from scheduling.engine.state import ClusterState
from scheduling.kube import manifests as kube
from scheduling.kube.manifests import Manifests
from scheduling.ledger import fold, store
from scheduling.ledger.archives import Archived
from scheduling.ledger.events import ClusterRegistered, Event
from scheduling.models import Cluster
from scheduling.services import first_come
from scheduling.services.execute import Outcome, append_and_project, execute, now_ms, outcome_of
from scheduling.services.gates import completed_gates, proposed_gates, unknown_gates
from scheduling.services.importing import COMPLETE_KINDS, ImportOptions, ImportPlan, plan_import
from scheduling.services.problems import FORBIDDEN, INVALID, REQUIRED, Problem, Refused
from scheduling.services.state import save_with, state_of
from scheduling.services.switching import gate_events, mode_events, unknown_mode

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """``data``: JSON or YAML text, gzip or not. ``mode`` and ``gates``: for a new cluster; None takes what is
    proposed (gates) or what is there. ``complete``: kinds of which what is absent from ``data`` is gone.
    ``partial``: leave refused objects out instead of refusing all.
    """

    data: bytes
    mode: str | None = None
    gates: dict[str, bool] | None = None
    complete: frozenset[str] = frozenset()
    partial: bool = False


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did, or would do. Counts by kind; ``seq``: the head of the log after it.

    ``proposed_mode`` and ``proposed_gates``: what fits the dump, for somebody who makes a new cluster of it.
    """

    cluster: str
    seq: int
    created: bool
    accepted: dict[str, int] = field(default_factory=dict)
    ignored: dict[str, int] = field(default_factory=dict)
    refused: tuple[Problem, ...] = ()
    notices: tuple[Problem, ...] = ()
    added: dict[str, int] = field(default_factory=dict)
    updated: dict[str, int] = field(default_factory=dict)
    removed: dict[str, tuple[str, ...]] = field(default_factory=dict)
    unchanged: dict[str, int] = field(default_factory=dict)
    proposed_gates: dict[str, bool] = field(default_factory=dict)
    proposed_mode: str = ""


def import_cluster(*, name: str, request: ImportRequest, actor: str, command_id: str = "") -> ImportReport:
    """Bring the cluster up to date with the dump, or make it of the dump. The same dump again writes nothing.

    Raises Refused, with every object that cannot be taken; nothing is stored then.
    """
    manifests = kube.read(request.data)
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        try:
            return _make(name, request, manifests, actor, command_id)
        except IntegrityError:
            # Made by somebody else in this moment: then it is an import into theirs.
            cluster = Cluster.objects.filter(name=name).first()
            if cluster is None:
                raise
    return _update(cluster, request, manifests, actor, command_id)


def preview_import(*, name: str, request: ImportRequest) -> ImportReport:
    """What ``import_cluster`` would do; nothing is written. Refused objects are listed in the report.

    Raises Refused when the import as a whole cannot be: an unknown mode, a name that is none.
    """
    manifests = kube.read(request.data)
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        request_ = _with_mode(request, proposed_mode(manifests))
        _refuse(_new_problems(name, request_) + _content_problems(name, request_, manifests))
        plan = plan_import(ClusterState(), manifests, _options_new(name, request_, manifests), now_ms())
        return _report(name, 0, plan, manifests, created=True)
    state = state_of(cluster)
    _refuse(_old_problems(cluster.name, request, state) + _content_problems(name, request, manifests))
    plan = plan_import(state, manifests, _options(state, request), now_ms())
    return _report(name, state.seq, plan, manifests, created=False)


def set_gate(*, cluster: Cluster, gate: str, enabled: bool, actor: str, command_id: str = "") -> Outcome:
    """Switch a feature gate; nothing is written when it is so already. Raises Refused for an unknown gate."""
    done = execute(
        cluster,
        lambda state, _: gate_events(state, gate, enabled),
        actor=actor,
        command_id=command_id,
        request=f"gate {gate} {enabled}",
    )
    what = f"{gate} is {'on' if enabled else 'off'} already"
    return _or_already(cluster, done, f"gates.{gate}", what, "FeatureGateChanged", gate)


def set_mode(*, cluster: Cluster, mode: str, actor: str, command_id: str = "") -> Outcome:
    """Make a simulated cluster observed, or the reverse. Raises Refused for an unknown mode."""
    done = execute(
        cluster,
        lambda state, _: mode_events(state, mode),
        actor=actor,
        command_id=command_id,
        request=f"mode {mode}",
    )
    return _or_already(cluster, done, "mode", f"the cluster is {mode} already", "ClusterModeChanged", mode)


def _or_already(
    cluster: Cluster, done: Outcome, path: str, message: str, changed_by: str, value: str
) -> Outcome:
    """With a notice where nothing had to be written: since when it is so, and by whom."""
    if done.events or done.repeated:
        return done
    first = first_come.newest(
        cluster, "cluster", "", "", (changed_by,), lambda event: f'"{value}"' in event.body
    ) or first_come.newest(cluster, "cluster", "", cluster.name, ("ClusterRegistered",))
    return replace(done, notices=(Problem("Cluster", "", cluster.name, path, "", message, first),))


def proposed_mode(manifests: Manifests) -> str:
    """Observed for what an API server printed (its objects have uids), simulated for what a person wrote."""
    return "observed" if any(node.uid for node in manifests.nodes) else "simulated"


# ---------------------------------------------------------------- steps


def _make(
    name: str, request: ImportRequest, manifests: Manifests, actor: str, command_id: str
) -> ImportReport:
    _refuse(_new_problems(name, request) + _content_problems(name, request, manifests))
    now = now_ms()
    plan = plan_import(ClusterState(), manifests, _options_new(name, request, manifests), now)
    _refuse_objects(plan, request)
    with transaction.atomic():
        stream_id = store.open_stream("cluster", name)
        appended = append_and_project(
            stream_id,
            0,
            plan.events,
            actor=actor,
            command_id=command_id or uuid4().hex,
            request=_fingerprint(request),
            now=now,
        )
        save_with(ClusterState(), stream_id, appended)
    return _report(name, outcome_of(stream_id, appended).last_seq, plan, manifests, created=True)


def _update(
    cluster: Cluster, request: ImportRequest, manifests: Manifests, actor: str, command_id: str
) -> ImportReport:
    plans: list[ImportPlan] = []

    def decide(state: ClusterState, now: int) -> tuple[Event, ...]:
        _refuse(
            _old_problems(cluster.name, request, state) + _content_problems(cluster.name, request, manifests)
        )
        plan = plan_import(state, manifests, _options(state, request), now)
        _refuse_objects(plan, request)
        plans.append(plan)
        return plan.events

    done = execute(cluster, decide, actor=actor, command_id=command_id, request=_fingerprint(request))
    if not plans:
        return _as_it_was(cluster, request, manifests, done)
    return _report(cluster.name, done.last_seq, plans[-1], manifests, created=False)


def _as_it_was(cluster: Cluster, request: ImportRequest, manifests: Manifests, done: Outcome) -> ImportReport:
    """The report of an import that had been carried out before: planned again on the state of that time."""
    before = done.first_seq - 1
    if before == 0:
        options = _options_new(cluster.name, request, manifests)
        plan = plan_import(ClusterState(), manifests, options, now_ms())
    else:
        try:
            state = fold.state_at(cluster.pk, before)
        except Archived as error:
            message = f"what this import changed is not told again: {error}"
            told = Problem("Cluster", "", cluster.name, "", "", message)
            mode = proposed_mode(manifests)
            return ImportReport(
                cluster.name,
                done.last_seq,
                created=False,
                notices=(told,),
                proposed_gates=proposed_gates(mode, [read.group for read in manifests.pod_groups]),
                proposed_mode=mode,
            )
        plan = plan_import(state, manifests, _options(state, request), now_ms())
    return _report(cluster.name, done.last_seq, plan, manifests, created=before == 0)


def _options(state: ClusterState, request: ImportRequest) -> ImportOptions:
    return ImportOptions(state.mode, _sha256(request), request.complete)


def _options_new(name: str, request: ImportRequest, manifests: Manifests) -> ImportOptions:
    mode = request.mode or ""
    proposed = proposed_gates(mode, [read.group for read in manifests.pod_groups])
    gates = completed_gates(request.gates, proposed)
    register = ClusterRegistered(name, mode, tuple(sorted(gates.items())), manifests.kubernetes_version)
    return ImportOptions(mode, _sha256(request), request.complete, register)


def _with_mode(request: ImportRequest, mode: str) -> ImportRequest:
    return ImportRequest(request.data, request.mode or mode, request.gates, request.complete, request.partial)


def _new_problems(name: str, request: ImportRequest) -> list[Problem]:
    problems = []
    if not _NAME.fullmatch(name):
        message = f"{name!r} is no cluster name: at most 63 small letters, digits and '-', no '-' at the ends"
        problems.append(Problem("Cluster", "", name, "name", INVALID, message))
    if request.mode is None:
        message = "a new cluster needs a mode: simulated (this console places) or observed (it only looks on)"
        problems.append(Problem("Cluster", "", name, "mode", REQUIRED, message))
    else:
        problems += unknown_mode(name, request.mode)
    return problems + unknown_gates(name, request.gates or {})


def _old_problems(name: str, request: ImportRequest, state: ClusterState) -> list[Problem]:
    problems = []
    if request.mode is not None and request.mode != state.mode:
        message = f"the cluster is {state.mode}; an import does not change that, switch the mode first"
        problems.append(Problem("Cluster", "", name, "mode", FORBIDDEN, message))
    for gate, enabled in sorted((request.gates or {}).items()):
        if state.gates.get(gate, False) != enabled:
            message = f"it is {'off' if enabled else 'on'}; an import does not change that, switch it first"
            problems.append(Problem("Cluster", "", name, f"gates.{gate}", FORBIDDEN, message))
    return problems


def _content_problems(name: str, request: ImportRequest, manifests: Manifests) -> list[Problem]:
    problems = [
        Problem(
            "Cluster", "", name, "complete", INVALID,
            f"{kind!r} is no kind an import can be complete for ({', '.join(COMPLETE_KINDS)})",
        )
        for kind in sorted(request.complete.difference(COMPLETE_KINDS))
    ]  # fmt: skip
    read = (
        manifests.nodes,
        manifests.pods,
        manifests.pod_groups,
        manifests.workloads,
        manifests.node_topologies,
        manifests.refused,
    )
    if not any(read):
        message = "there is no Node, Pod, PodGroup, Workload or NodeResourceTopology in it"
        problems.append(Problem("", "", "", "", REQUIRED, message))
    return problems


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise Refused(problems)


def _refuse_objects(plan: ImportPlan, request: ImportRequest) -> None:
    if plan.refused and not (request.partial and plan.accepted):
        raise Refused(plan.refused)


def _report(name: str, seq: int, plan: ImportPlan, manifests: Manifests, *, created: bool) -> ImportReport:
    mode = proposed_mode(manifests)
    return ImportReport(
        cluster=name,
        seq=seq,
        created=created,
        accepted=plan.accepted,
        ignored=plan.ignored,
        refused=plan.refused,
        notices=plan.notices,
        added=plan.added,
        updated=plan.updated,
        removed=plan.removed,
        unchanged=plan.unchanged,
        proposed_gates=proposed_gates(mode, [read.group for read in manifests.pod_groups]),
        proposed_mode=mode,
    )


def _sha256(request: ImportRequest) -> str:
    return hashlib.sha256(request.data).hexdigest()


def _fingerprint(request: ImportRequest) -> str:
    gates = sorted((request.gates or {}).items())
    return f"import {_sha256(request)} {request.mode} {gates} {sorted(request.complete)} {request.partial}"
