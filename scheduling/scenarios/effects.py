"""What each step of a scenario does to a state, as events. Pure.

A step goes through the same rules as the command of the cluster that it stands for. What names something
that is not there is refused and not passed over; what is so already gives no event. Nobody may step on an
observed cluster: a fork is simulated (``fork.Fork.begin``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import singledispatch

from scheduling.engine.change_steps import named, new_member_names, new_names, recovered
from scheduling.engine.growth import new_nodes
from scheduling.engine.model import Node, Pod, PodGroup, Toleration
from scheduling.engine.node_types import NewNodes, NodeType
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.roster import Roster, roster
from scheduling.engine.state import ClusterState
from scheduling.kube import manifests as kube
from scheduling.kube.names import label_key_problem, label_value_problem
from scheduling.ledger.events import Event, NodeAdded, NodeUpdated, PodAdded, PodUpdated
from scheduling.scenarios import steps as s
from scheduling.services.generations import NextGeneration, next_generation_events
from scheduling.services.members import (
    delete_member_events,
    end_group_events,
    lose_node_events,
    minted_uid,
    only_simulated,
    open_group,
)
from scheduling.services.problems import FORBIDDEN, INVALID, NOT_FOUND, REQUIRED, Problem, Refused
from scheduling.services.reserving import release_events
from scheduling.services.submitting import MemberTemplate, WorkloadForm, manifest_submission, submit_events
from scheduling.services.switching import gate_events

_OBSERVED = "a scenario is played on a simulated fork"


def events_of(state: ClusterState, step: s.Part, now_ms: int) -> list[Event]:
    """What the step does at once; cycles come after it. None for a step that only lets time pass. Raises
    Refused with the step's own field names as paths.
    """
    only_simulated(state, _OBSERVED)
    return _events(step, state, now_ms)


def numbered(refused: Refused, index: int) -> Refused:
    """The same of step ``index`` of a document: paths begin with ``steps[index]``."""
    path = f"steps[{index}]"
    return Refused(
        replace(problem, path=f"{path}.{problem.path}" if problem.path else path)
        for problem in refused.problems
    )


@singledispatch
def _events(step: s.Part, state: ClusterState, now_ms: int) -> list[Event]:
    raise NotImplementedError(f"no effect for {type(step).__name__}")


# ---------------------------------------------------------------- groups


@_events.register
def _submit(step: s.Submit, state: ClusterState, now_ms: int) -> list[Event]:
    templates = tuple(
        MemberTemplate(
            each.role,
            each.count,
            dict(each.requests),
            dict(each.node_selector),
            each.tolerations,
            each.spread,
        )
        for each in step.templates
    )
    form = WorkloadForm(
        step.namespace, step.name, step.policy, step.min_count, step.topology_key, step.priority, templates,
        step.queue,
    )  # fmt: skip
    return submit_events(state, form, now_ms)


@_events.register
def _submit_manifest(step: s.SubmitManifest, state: ClusterState, now_ms: int) -> list[Event]:
    try:
        return manifest_submission(state, kube.read(step.manifest.encode()), now_ms).events
    except Refused as refused:
        raise Refused(
            replace(problem, path="manifest", message=_inside(problem)) for problem in refused.problems
        ) from None


def _inside(problem: Problem) -> str:
    return f"{problem.path}: {problem.message}" if problem.path else problem.message


@_events.register
def _change_min_count(step: s.ChangeMinCount, state: ClusterState, now_ms: int) -> list[Event]:
    """Who asks for a smaller minCount marks the group elastic by it, as the form does with its tick."""
    group = _open(state, step.group)
    wanted = NextGeneration(min_count=step.min_count, elastic=step.min_count < group.min_count)
    return next_generation_events(state, step.group, wanted, now_ms)


@_events.register
def _end_group(step: s.EndGroup, state: ClusterState, now_ms: int) -> list[Event]:
    _open(state, step.group)
    return end_group_events(state, step.group)


@_events.register
def _recreate_members(step: s.RecreateMembers, state: ClusterState, now_ms: int) -> list[Event]:
    bound = _roster(state, step.group).bound
    if step.pod:
        chosen = [pod for pod in bound if pod.name == step.pod]
        if not chosen:
            message = f"no member {step.pod} of {step.group} is on a node"
            raise Refused([_of_group(step.group, "pod", NOT_FOUND, message)])
    else:
        chosen = list(_enough(step.group, bound, step.count, "on nodes"))
    return [event for pod in chosen for event in delete_member_events(state, pod.uid, now_ms)]


@_events.register
def _tolerate(step: s.Tolerate, state: ClusterState, now_ms: int) -> list[Event]:
    waiting = _roster(state, step.group).waiting
    if not waiting:
        raise Refused([_of_group(step.group, "group", INVALID, f"no member of {step.group} waits")])
    more = Toleration(step.key, "Equal", step.value, step.effect)
    return _changed_pods(waiting, lambda pod: _tolerating(pod, more))


def _tolerating(pod: Pod, more: Toleration) -> Pod:
    wanted = pod.shape.eligibility
    if more in wanted.tolerations:
        return pod
    wanted = replace(wanted, tolerations=(*wanted.tolerations, more))
    return replace(pod, shape=replace(pod.shape, eligibility=wanted))


@_events.register
def _ungate(step: s.Ungate, state: ClusterState, now_ms: int) -> list[Event]:
    gated = _enough(step.group, _roster(state, step.group).gated, step.count, "behind scheduling gates")
    return _changed_pods(gated, lambda pod: replace(pod, gated=False))


@_events.register
def _add_members(step: s.AddMembers, state: ClusterState, now_ms: int) -> list[Event]:
    who = _roster(state, step.group)
    there = (*who.gated, *who.bound, *who.waiting)
    if not there:
        message = f"{step.group} has no member that new ones could be like"
        raise Refused([_of_group(step.group, "group", INVALID, message)])
    model = there[-1]
    events: list[Event] = []
    for name in new_member_names(state, model, step.count):
        uid = minted_uid(state.seq, "pod", model.namespace, name)
        pod = replace(
            model,
            name=name,
            uid=uid,
            node="",
            phase="Pending",
            gated=False,
            terminating=False,
            created=now_ms,
        )
        events.append(PodAdded(pod))
    return events


# ---------------------------------------------------------------- nodes


@_events.register
def _lose_nodes(step: s.LoseNodes, state: ClusterState, now_ms: int) -> list[Event]:
    return [event for node in _nodes(state, step) for event in lose_node_events(state, node.name, now_ms)]


@_events.register
def _cordon(step: s.Cordon, state: ClusterState, now_ms: int) -> list[Event]:
    return _changed_nodes(state, step, lambda node: replace(node, unschedulable=True))


@_events.register
def _uncordon(step: s.Uncordon, state: ClusterState, now_ms: int) -> list[Event]:
    return _changed_nodes(state, step, lambda node: replace(node, unschedulable=False))


@_events.register
def _set_ready(step: s.SetReady, state: ClusterState, now_ms: int) -> list[Event]:
    return _changed_nodes(
        state, step, lambda node: recovered(node) if step.ready else replace(node, ready=False)
    )


@_events.register
def _set_label(step: s.SetLabel, state: ClusterState, now_ms: int) -> list[Event]:
    _label_key(step.label, "label")
    _label_value(step.value, "value")
    return _changed_nodes(state, step, lambda node: _labelled(node, step.label, step.value))


@_events.register
def _remove_label(step: s.RemoveLabel, state: ClusterState, now_ms: int) -> list[Event]:
    if not any(node.label(step.label) is not None for node in _nodes(state, step)):
        raise Refused([_of_nodes(step, "label", NOT_FOUND, f"no such node carries the label {step.label}")])

    def without(node: Node) -> Node:
        return replace(node, labels=tuple(pair for pair in node.labels if pair[0] != step.label))

    return _changed_nodes(state, step, without)


@_events.register
def _change_gpu(step: s.ChangeGpu, state: ClusterState, now_ms: int) -> list[Event]:
    _label_key(step.label, "label")
    _label_value(step.product, "product")
    for node in _nodes(state, step):
        devices = [name for name, _ in node.allocatable if name.endswith("/gpu")]
        if len(devices) != 1 and step.gpus is not None:
            message = (
                f"node {node.name} offers {len(devices)} kinds of GPUs: which ones are meant is not clear"
            )
            raise Refused([Problem("Node", "", node.name, "gpus", INVALID, message)])
        if not devices:
            message = f"node {node.name} offers no GPU"
            raise Refused(
                [Problem("Node", "", node.name, "node" if step.node else "domain", INVALID, message)]
            )

    def changed(node: Node) -> Node:
        new = _labelled(node, step.label, step.product)
        return new if step.gpus is None else _with_gpus(new, step.gpus)

    return _changed_nodes(state, step, changed)


def _with_gpus(node: Node, gpus: int) -> Node:
    """The GPUs spread evenly over the NUMA zones that list some."""

    def with_amount(amounts: tuple[tuple[str, int], ...], amount: int) -> tuple[tuple[str, int], ...]:
        return tuple((name, amount if name.endswith("/gpu") else there) for name, there in amounts)

    listing = [zone.name for zone in node.zones if any(name.endswith("/gpu") for name, _ in zone.allocatable)]
    zones = []
    for zone in node.zones:
        if zone.name in listing:
            share, rest = divmod(gpus, len(listing))
            here = share + (listing.index(zone.name) < rest)
            zone = replace(zone, allocatable=with_amount(zone.allocatable, here))
        zones.append(zone)
    return replace(node, allocatable=with_amount(node.allocatable, gpus), zones=tuple(zones))


@_events.register
def _add_nodes(step: s.AddNodes, state: ClusterState, now_ms: int) -> list[Event]:
    if step.key:
        _label_key(step.key, "key")
        _label_value(step.domain, "domain")
    elif step.domain:
        raise Refused(
            [Problem("Node", "", "", "key", REQUIRED, "a domain is one of a topology key: name it")]
        )
    made = _of_type(state, step) if step.type else _like(state, step)
    return [NodeAdded(replace(node, uid=minted_uid(state.seq, "node", node.name))) for node in made]


def _of_type(state: ClusterState, step: s.AddNodes) -> list[Node]:
    if step.type not in state.records.of(NodeType):
        message = f"there is no node type {step.type}"
        raise Refused([Problem("NodeType", "", step.type, "type", NOT_FOUND, message)])
    if not step.key:
        message = "the domain in which the nodes join must be named"
        raise Refused([Problem("NodeType", "", step.type, "key", REQUIRED, message)])
    return new_nodes(state, [NewNodes(step.type, step.key, step.domain, step.count)])


def _like(state: ClusterState, step: s.AddNodes) -> list[Node]:
    if step.like not in state.nodes:
        raise Refused([Problem("Node", "", step.like, "like", NOT_FOUND, f"there is no node {step.like}")])
    model = replace(recovered(state.nodes[step.like]), unschedulable=False)
    if step.key:
        model = _labelled(model, step.key, step.domain)
    return [named(model, name) for name in new_names(step.like, step.count, state.nodes.__contains__)]


# ---------------------------------------------------------------- the cluster


@_events.register
def _switch_gate(step: s.SwitchGate, state: ClusterState, now_ms: int) -> list[Event]:
    try:
        return gate_events(state, step.gate, step.enabled)
    except Refused as refused:
        raise Refused(replace(problem, path="gate") for problem in refused.problems) from None


@_events.register
def _release_reservation(step: s.ReleaseReservation, state: ClusterState, now_ms: int) -> list[Event]:
    try:
        return release_events(state, step.name)
    except Refused as refused:
        raise Refused(replace(problem, path="name") for problem in refused.problems) from None


@_events.register
def _advance_clock(step: s.AdvanceClock, state: ClusterState, now_ms: int) -> list[Event]:
    return []


# ---------------------------------------------------------------- what is named


def _open(state: ClusterState, key: str) -> PodGroup:
    try:
        return open_group(state, key)
    except Refused as refused:
        raise Refused(replace(problem, path="group") for problem in refused.problems) from None


def _roster(state: ClusterState, key: str) -> Roster:
    _open(state, key)
    return roster(state, key)


def _enough(key: str, pods: Sequence[Pod], count: int, where: str) -> Sequence[Pod]:
    if len(pods) < count:
        message = f"members of {key} {where}: {len(pods)}, not {count}"
        raise Refused([_of_group(key, "count", INVALID, message)])
    return pods[:count]


def _of_group(key: str, path: str, reason: str, message: str) -> Problem:
    namespace, _, name = key.partition("/")
    return Problem("PodGroup", namespace, name, path, reason, message)


def _nodes(state: ClusterState, step: s.OnNodes) -> list[Node]:
    """Those that the step names, by name. Raises Refused when there is none."""
    if step.node:
        node = state.nodes.get(step.node)
        if node is None:
            raise Refused([_of_nodes(step, "node", NOT_FOUND, f"there is no node {step.node}")])
        return [node]
    if step.key == NUMA_KEY:
        raise Refused([_of_nodes(step, "key", FORBIDDEN, "a NUMA zone is a part of its node: name the node")])
    index = state.index(step.key)
    number = index.number.get(step.domain or "")
    if number is None:
        message = f"no node carries {step.key}={step.domain}"
        raise Refused([_of_nodes(step, "domain", NOT_FOUND, message)])
    return [state.nodes[name] for name in sorted(index.names[index.slice(number)])]


def _of_nodes(step: s.OnNodes, path: str, reason: str, message: str) -> Problem:
    if step.node:
        return Problem("Node", "", step.node, path, reason, message)
    return Problem("Domain", "", step.domain or "", path, reason, message)


def _changed_nodes(state: ClusterState, step: s.OnNodes, change: Callable[[Node], Node]) -> list[Event]:
    events = (NodeUpdated.between(node, change(node)) for node in _nodes(state, step))
    return [event for event in events if event is not None]


def _changed_pods(pods: Iterable[Pod], change: Callable[[Pod], Pod]) -> list[Event]:
    events = (PodUpdated.between(pod, change(pod)) for pod in pods)
    return [event for event in events if event is not None]


def _labelled(node: Node, key: str, value: str) -> Node:
    return replace(node, labels=tuple(sorted({**dict(node.labels), key: value}.items())))


def _label_key(key: str, path: str) -> None:
    if key == NUMA_KEY:
        raise Refused(
            [Problem("Node", "", "", path, FORBIDDEN, f"{key} is no label: it names zones of nodes")]
        )
    if problem := label_key_problem(key):
        raise Refused([Problem("Node", "", "", path, INVALID, f"{key!r} {problem}")])


def _label_value(value: str, path: str) -> None:
    if problem := label_value_problem(value):
        raise Refused([Problem("Node", "", "", path, INVALID, f"{value!r} {problem}")])
