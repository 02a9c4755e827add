"""Run one case and say whether it holds, does not hold, or cannot be run here and why."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from scheduling.engine.decide import PROFILES
from scheduling.engine.model import TAS_GATES
from scheduling.engine.profiles.releases import RELEASES
from scheduling.engine.status import GroupStatus, group_status
from scheduling.ledger.events import Event, NodeRemoved, PodGroupClosed, PodRemoved, PodUpdated
from scheduling.services.conformance.stream import MemoryStream, Unsettled
from scheduling.services.importing import ImportPlan
from scheduling.services.switching import gate_events

Case = dict[str, Any]
Verdict = Literal["passed", "failed", "skipped"]

_CHECKED = ("groups", "pods", "imports")
_OPEN_KINDS = ("CompositePodGroup",)

NOT_SUPPORTED = "not supported"
"""What a case is skipped with that asks for something the product does not do, followed by its name."""


@dataclass(frozen=True, slots=True)
class Result:
    """``why``: each expectation that does not hold, or the one reason for skipping; empty when passed."""

    name: str
    verdict: Verdict
    why: tuple[str, ...] = ()


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of a file, in order; with ``directory``, where the files lie that they import.

    Raises ValueError naming file and line for text that is no case.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: this is not UTF-8 text") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except json.JSONDecodeError as error:
            where = f"{path}, line {number}, column {error.colno}"
            raise ValueError(f"{where}: this is not JSON ({error.msg})") from error
        if fault := _fault(case):
            raise ValueError(f"{path}, line {number}: {fault}")
        yield {**case, "name": str(case["name"]), "directory": path.parent}


def _fault(case: Any) -> str:
    """Why this is no case; "" for one."""
    if not isinstance(case, dict):
        kinds = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}
        return f"a case is a JSON object, this is {kinds.get(type(case), 'null')}"
    for field in ("name", "stages"):
        if field not in case:
            return f"the case has no {field}"
    stages = case["stages"]
    if not isinstance(stages, list) or not all(isinstance(stage, dict) for stage in stages):
        return "stages must be a list of objects"
    return ""


def run_case(case: Case, profile: str | None = None) -> Result:
    """``profile`` None: the case's own, ``exact`` when it has none."""
    wanted = profile or case.get("profile", "exact")
    reason = _unsupported(case, wanted)
    return Result(case["name"], "skipped", (reason,)) if reason else run_stages(case, wanted)


def run_stages(case: Case, wanted: str) -> Result:
    """Run the case in that profile whether or not it can hold."""
    stream = MemoryStream(gates={**dict.fromkeys(TAS_GATES, True), **case.get("gates", {})})
    why: list[str] = []
    for number, stage in enumerate(case["stages"], 1):
        plans = perform(stream, stage, case["directory"])
        unbound = [uid for uid, pod in stream.state.pods.items() if not pod.node]
        try:
            stream.settle(wanted)
        except Unsettled as error:
            why.append(f"stage {number}: {error}")
            break
        unmet = _unmet(stream, stage.get("expect") or {}, plans, wanted in RELEASES)
        why += [f"stage {number}: {text}" for text in unmet]
        if "observed" in stage:
            stream.commit(take_over(stream, unbound, stage["observed"]))
        stream.now_ms += 1000
    return Result(case["name"], "failed" if why else "passed", tuple(why))


def _unsupported(case: Case, profile: str) -> str:
    if profile not in PROFILES:
        return f"{NOT_SUPPORTED}: profile {profile}"
    stages = case["stages"]
    for kind in (manifest.get("kind") for stage in stages for manifest in stage.get("apply", [])):
        if kind in _OPEN_KINDS:
            return f"{NOT_SUPPORTED}: {kind}"
    for gate in {
        **case.get("gates", {}),
        **{gate: on for stage in stages for gate, on in stage.get("gates", {}).items()},
    }:
        if gate not in TAS_GATES:
            return f"{NOT_SUPPORTED}: feature gate {gate}"
    if _evicts(stages):
        return f"{NOT_SUPPORTED}: preemption"
    expected = [stage.get("expect") or {} for stage in stages]
    if not any(part in expect for expect in expected for part in _CHECKED):
        sentences = " ".join(expect["property"] for expect in expected if "property" in expect)
        return f"only a test written by hand can show it: {sentences}"
    return ""


def _evicts(stages: Iterable[dict[str, Any]]) -> bool:
    """Whether a pod that its last manifest puts on a node is expected on none although nobody deleted it."""
    bound: set[str] = set()
    for stage in stages:
        bound -= {f"{gone.get('namespace', '')}/{gone['name']}" for gone in stage.get("delete", [])}
        for manifest in stage.get("apply", []):
            if manifest.get("kind") == "Pod":
                key = _key(manifest.get("metadata"))
                bound.discard(key)
                if (manifest.get("spec") or {}).get("nodeName"):
                    bound.add(key)
        pods = (stage.get("expect") or {}).get("pods", {})
        if any(wanted["node"] is None and key in bound for key, wanted in pods.items()):
            return True
    return False


# ---------------------------------------------------------------- what happens in a stage


def perform(stream: MemoryStream, stage: dict[str, Any], directory: Path) -> list[ImportPlan]:
    """What happens in the stage, before anything is decided; the import that it makes, if any."""
    for gate, on in stage.get("gates", {}).items():
        stream.commit(gate_events(stream.state, gate, on))
    stream.now_ms += stage.get("advance_seconds", 0) * 1000
    for gone in stage.get("delete", []):
        stream.commit(_deleted(stream, gone))
    if "import_file" in stage:
        return [stream.import_data((directory / stage["import_file"]).read_bytes())]
    if stage.get("apply"):
        items = [_dated(stream, number, manifest) for number, manifest in enumerate(stage["apply"])]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        return [stream.import_data(text.encode())]
    return []


def _dated(stream: MemoryStream, number: int, manifest: dict[str, Any]) -> dict[str, Any]:
    """The order of the list is the order of creation: a new object without a time is a millisecond younger
    than the one before it.
    """
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or "creationTimestamp" in metadata:
        return manifest
    key = _key(metadata)
    group = stream.state.groups.get(key)
    known = {"Pod": stream.state.pod_uid(key), "PodGroup": group.uid if group else None}
    uid = known.get(str(manifest.get("kind")))
    if uid is not None and metadata.get("uid", uid) == uid:
        return manifest
    moment = datetime.fromtimestamp((stream.now_ms + number) / 1000, UTC)
    return {
        **manifest,
        "metadata": {**metadata, "creationTimestamp": moment.isoformat(timespec="milliseconds")},
    }


def _deleted(stream: MemoryStream, gone: dict[str, str]) -> list[Event]:
    """An object that left the cluster; one with another uid than the named has nothing to do with it."""
    state, name = stream.state, gone["name"]
    namespace = gone.get("namespace", "")
    key = f"{namespace}/{name}"
    if gone["kind"] == "Node":
        node = state.nodes.get(name)
        return [NodeRemoved(name, node.uid)] if node and gone.get("uid", node.uid) == node.uid else []
    if gone["kind"] == "PodGroup":
        group = state.groups.get(key)
        if group is None or gone.get("uid", group.uid) != group.uid:
            return []
        return [PodGroupClosed(namespace, name, group.uid, group.generation, "removed")]
    pod = state.pods.get(gone.get("uid") or state.pod_uid(key) or "")
    if pod is None or pod.key != key:
        return []
    return [PodRemoved(namespace, name, pod.uid, pod.node, pod.group, "removed")]


def take_over(stream: MemoryStream, unbound: Iterable[str], nodes: dict[str, str]) -> list[Event]:
    """The bindings of the real scheduler as facts, in the place of ours: what it left out, it did not bind.

    ``unbound``: uids of the pods that could be bound in this stage; ``nodes``: by pod name.
    """
    events: list[Event] = []
    for uid in unbound:
        pod = stream.state.pods[uid]
        event = PodUpdated.between(pod, replace(pod, node=nodes.get(pod.name, "")))
        events += [event] if event else []
    return events


# ---------------------------------------------------------------- what is expected of it


def _unmet(
    stream: MemoryStream, expect: dict[str, Any], plans: list[ImportPlan], to_the_pod: bool
) -> list[str]:
    """``to_the_pod``: the members on nodes must be as many as expected, not as many or more."""
    refused = {
        f"{bad.namespace}/{bad.name}" for plan in plans for bad in plan.refused if bad.kind == "PodGroup"
    }
    why: list[str] = []
    for key, wanted in expect.get("groups", {}).items():
        why += [f"{key} {text}" for text in _unmet_group(stream, key, wanted, key in refused, to_the_pod)]
    for key, wanted in expect.get("pods", {}).items():
        pod = stream.state.pods.get(stream.state.pod_uid(key) or "")
        node = pod.node or None if pod else None
        allowed = wanted["node"] if isinstance(wanted["node"], list) else [wanted["node"]]
        if node not in allowed:
            why.append(f"pod {key} is on {node}, not on {_any_of(allowed)}")
    counts = _counts(plans)
    for what, number in expect.get("imports", {}).items():
        if counts[what] != number:
            why.append(f"{counts[what]} objects {what}, not {number}")
    return why


def _counts(plans: list[ImportPlan]) -> dict[str, int]:
    snapshot = {"accepted": 0, "ignored": 0, "rejected": 0}
    for plan in plans:
        snapshot["accepted"] += sum(plan.accepted.values())
        snapshot["ignored"] += sum(plan.ignored.values())
        snapshot["rejected"] += len(plan.refused)
    return snapshot


def _unmet_group(
    stream: MemoryStream, key: str, wanted: dict[str, Any], refused: bool, to_the_pod: bool
) -> Iterator[str]:
    state = stream.state
    states = _states(stream, key, refused)
    allowed = _listed(wanted["state"])
    if not states.intersection(allowed):
        yield f"is {_any_of(sorted(states))}, not {_any_of(allowed)}"
    bound = [pod for pod in state.members(key) if pod.node]
    number = wanted.get("bound", len(bound))
    if len(bound) < number or (len(bound) > number and (to_the_pod or number == 0)):
        yield f"has {len(bound)} members on nodes, not {wanted['bound']}"
    if "reason" in wanted and not states.isdisjoint({"pending", "held", "error", "rejected"}):
        verdict = state.verdicts.get(key)
        reasons = {"invalid"} if "rejected" in states else set()
        reasons |= {verdict.reason} if verdict else set()
        if not reasons.intersection(_listed(wanted["reason"])):
            yield f"has reason {_any_of(sorted(reasons))}, not {_any_of(_listed(wanted['reason']))}"
    group = state.groups.get(key)
    topology_key = group.topology_key if group else ""
    nodes = [state.nodes.get(pod.node) for pod in bound]
    values = {node.label(topology_key) if node else None for node in nodes}
    if wanted.get("single_domain") and topology_key and len(values) > 1:
        yield f"lies in {len(values)} domains: {_any_of(sorted(map(str, values)))}"
    if (
        "domains" in wanted
        and not wanted.get("tied")
        and topology_key
        and not values.issubset(wanted["domains"])
    ):
        yield f"lies in {_any_of(sorted(map(str, values)))}, not in {_any_of(wanted['domains'])}"


def _states(stream: MemoryStream, key: str, refused: bool) -> set[str]:
    """The words that describe the group; one without pods is also held, since fewer than minCount exist."""
    state = stream.state
    if refused and key not in state.groups:
        return {"rejected"}
    status = group_status(state, key)
    states = {str(status)}
    if status is GroupStatus.EMPTY:
        states.add("held")
    if refused:
        states.add("rejected")
    return states


def _key(metadata: Any) -> str:
    """``namespace/name`` of a manifest, whatever it is."""
    given = metadata if isinstance(metadata, dict) else {}
    return f"{given.get('namespace') or 'default'}/{given.get('name')}"


def _listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


def _any_of(names: Iterable[object]) -> str:
    return " or ".join(str(name) for name in names) or "nothing"
