"""What an import changes: manifests compared with the state, object by object, as events. Pure.

Identity is the uid. A manifest without one means the object of that kind, namespace and name that is there
already; another uid under the same name is another object. Absence means nothing unless the import is
complete for a kind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from scheduling.engine.model import Node, Pod, PodGroup, Workload
from scheduling.engine.state import ClusterState
from scheduling.kube.manifests import Manifests, ReadPodGroup
from scheduling.kube.node_topologies import NodeTopology
from scheduling.ledger.events import (
    ClusterRegistered,
    Event,
    NodeAdded,
    NodeRemoved,
    NodeUpdated,
    PodAdded,
    PodGroupClosed,
    PodGroupCreated,
    PodGroupUpdated,
    PodRemoved,
    PodUpdated,
    SnapshotImported,
    WorkloadAdded,
)
from scheduling.services import spreading
from scheduling.services.import_notices import notices_of
from scheduling.services.members import minted_uid, replacement
from scheduling.services.problems import FORBIDDEN, INVALID, Problem
from scheduling.services.queueing import undefined_notices
from scheduling.services.reading import refusals, remarks

COMPLETE_KINDS = ("Node", "Pod", "PodGroup")
"""Kinds for which an import may say that what it does not hold is gone."""

_SPREADING = 100
"""PodGroups with topology spread constraints of which an import tells what these leave."""

_IMMUTABLE = (
    ("policy", "spec.schedulingPolicy"),
    ("min_count", "spec.schedulingPolicy"),
    ("topology_key", "spec.schedulingConstraints"),
    ("priority", "spec.priority"),
)
"""Fields of a PodGroup that an API server refuses to change, with the path that it names."""


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """``register``: what makes the cluster, None when it exists. ``mode``: simulated or observed."""

    mode: str
    sha256: str
    complete: frozenset[str] = frozenset()
    register: ClusterRegistered | None = None


@dataclass(frozen=True, slots=True)
class ImportPlan:
    """``events`` leave the ``refused`` objects out. Counts are by kind; ``removed`` names objects."""

    events: tuple[Event, ...]
    accepted: dict[str, int]
    ignored: dict[str, int]
    added: dict[str, int]
    updated: dict[str, int]
    unchanged: dict[str, int]
    removed: dict[str, tuple[str, ...]]
    refused: tuple[Problem, ...]
    notices: tuple[Problem, ...]


def plan_import(state: ClusterState, manifests: Manifests, options: ImportOptions, now_ms: int) -> ImportPlan:
    """What would make ``state`` agree with ``manifests``, which is not changed.

    The same manifests a second time give no event at all. What ``kube`` refused is refused here too.
    """
    plan = _Plan(state, options, now_ms)
    plan.refuse(refusals(manifests))
    for node in manifests.nodes:
        plan.node(node)
    for topology in manifests.node_topologies:
        plan.node_topology(topology)
    for workload in manifests.workloads:
        plan.workload(workload)
    for read in manifests.pod_groups:
        plan.pod_group(read)
    for pod in plan.newest(manifests.pods):
        plan.pod(pod)
    plan.remove_absent()
    return plan.result(manifests)


class _Plan:
    """The cluster as it will be after the events collected so far, and what was counted on the way."""

    def __init__(self, state: ClusterState, options: ImportOptions, now_ms: int) -> None:
        self.state = state
        self.options = options
        self.now_ms = now_ms
        self.simulated = options.mode == "simulated"
        self.nodes: dict[str, Node] = dict(state.nodes)
        self.pods: dict[str, Pod] = dict(state.pods)
        self.uids: dict[str, str] = {pod.key: uid for uid, pod in state.pods.items()}
        self.groups: dict[str, PodGroup] = dict(state.groups)
        self.workloads: dict[str, Workload] = {}
        self.seen: set[tuple[str, str]] = set()
        self.events: list[Event] = []
        self.refused: list[Problem] = []
        self.added: Counter[str] = Counter()
        self.updated: Counter[str] = Counter()
        self.unchanged: Counter[str] = Counter()
        self.removed: dict[str, list[str]] = {}
        self.notices: list[Problem] = []

    def refuse(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.refused.append(problem)
            name = f"{problem.namespace}/{problem.name}" if problem.namespace else problem.name
            # A refused object is there, only not as it should be: it must not count as absent.
            self.seen.add((problem.kind, name))

    def _count(self, kind: str, event: Event | None) -> None:
        if event is None:
            self.unchanged[kind] += 1
        else:
            self.updated[kind] += 1
            self.events.append(event)

    # ------------------------------------------------------------ nodes

    def node(self, node: Node) -> None:
        self.seen.add(("Node", node.name))
        old = self.nodes.get(node.name)
        uid = node.uid or (old.uid if old else minted_uid(self.state.seq, "node", node.name))
        # Its zones are told by another object; a node registered anew waits for that to be told again.
        zones = old.zones if old is not None and old.uid == uid else ()
        new = replace(node, uid=uid, zones=zones)
        self.nodes[new.name] = new
        if old is not None and old.uid == uid:
            self._count("Node", NodeUpdated.between(old, new))
            return
        if old is not None:
            # Registered anew under its name: pods that name it stay on it.
            self.events.append(NodeRemoved(old.name, old.uid))
        self.events.append(NodeAdded(new))
        self.added["Node"] += 1

    def node_topology(self, topology: NodeTopology) -> None:
        """The zones of a node that is there; they go with it."""
        old = self.nodes.get(topology.node)
        if old is None:
            message = "there is no node of this name: its zones are not kept; import it with the node"
            self.notices.append(
                Problem("NodeResourceTopology", "", topology.node, "metadata.name", "", message)
            )
            self.unchanged["NodeResourceTopology"] += 1
            return
        new = replace(old, zones=topology.zones)
        self.nodes[new.name] = new
        event = NodeUpdated.between(old, new)
        if event is not None and not old.zones:
            self.added["NodeResourceTopology"] += 1
            self.events.append(event)
        else:
            self._count("NodeResourceTopology", event)

    # ------------------------------------------------------------ workloads and groups

    def workload(self, workload: Workload) -> None:
        old = self.workloads.get(workload.key) or self.state.past.workloads.table.get(workload.key)
        uid = workload.uid or (
            old.uid if old else minted_uid(self.state.seq, "workload", workload.namespace, workload.name)
        )
        new = replace(workload, uid=uid)
        self.workloads[new.key] = new
        if old == new:
            self.unchanged["Workload"] += 1
            return
        self.events.append(WorkloadAdded(new))
        (self.updated if old is not None and old.uid == uid else self.added)["Workload"] += 1

    def pod_group(self, read: ReadPodGroup) -> None:
        group = read.group
        self.seen.add(("PodGroup", group.key))
        old = self.groups.get(group.key)
        if old is not None and group.uid in ("", old.uid):
            self._update_group(old, read)
            return
        if old is not None:
            self.events.append(
                PodGroupClosed(old.namespace, old.name, old.uid, old.generation, "superseded")
            )  # fmt: skip
        new = next_generation(self.state, group, old, self.now_ms)
        self.groups[new.key] = new
        self.events.append(PodGroupCreated(new))
        self.added["PodGroup"] += 1

    def _update_group(self, old: PodGroup, read: ReadPodGroup) -> None:
        new = replace(
            read.group,
            uid=old.uid,
            generation=old.generation,
            supersedes=old.supersedes,
            created=read.group.created or old.created,
        )
        problems = _immutable(old, new, read.api_version)
        if problems:
            self.refuse(problems)
            return
        self.groups[new.key] = new
        self._count("PodGroup", PodGroupUpdated.between(old, new))

    # ------------------------------------------------------------ pods

    def newest(self, pods: Iterable[Pod]) -> Iterable[Pod]:
        """One pod for each name: of two uids the one that stays is the member, whichever is told first."""
        chosen: dict[str, Pod] = {}
        for pod in pods:
            other = chosen.get(pod.key)
            if other is None or (not pod.terminating, pod.created) >= (not other.terminating, other.created):
                chosen[pod.key] = pod
        return chosen.values()

    def pod(self, pod: Pod) -> None:
        self.seen.add(("Pod", pod.key))
        taken = self.pods.get(pod.uid)
        if taken is not None and taken.key != pod.key:
            message = f"uid {pod.uid} is already that of pod {taken.key}"
            self.refuse([Problem("Pod", pod.namespace, pod.name, "metadata.uid", INVALID, message)])
            return
        old = taken or self.pods.get(self.uids.get(pod.key, ""))
        problem = self._rebound(old, pod)
        if problem is not None:
            self.refuse([problem])
            return
        if old is not None and pod.uid in ("", old.uid):
            new = self._as_placed(old, replace(pod, uid=old.uid, created=pod.created or old.created))
            self.pods[old.uid] = new
            self._count("Pod", PodUpdated.between(old, new))
            return
        if old is not None:
            # A pod made anew under its name may be told before the end of the old one: it alone is the
            # member.
            self._remove_pod(old, "removed")
        uid = pod.uid or minted_uid(self.state.seq, "pod", pod.namespace, pod.name)
        self._add_pod(replace(pod, uid=uid, created=pod.created or self.now_ms))

    def _placed_here(self, pod: Pod | None) -> bool:
        return (
            self.simulated and pod is not None and pod.uid in self.state.past.placed.table and pod.node != ""
        )

    def _rebound(self, old: Pod | None, pod: Pod) -> Problem | None:
        if old is None or not self._placed_here(old) or pod.node in ("", old.node):
            return None
        message = (
            f"this console placed pod {old.key} on node {old.node}; a simulated cluster does not take "
            f"the binding to {pod.node} for it"
        )
        return Problem("Pod", pod.namespace, pod.name, "spec.nodeName", FORBIDDEN, message)

    def _as_placed(self, old: Pod, new: Pod) -> Pod:
        """A file that knows nothing of our placement does not undo it."""
        if not self._placed_here(old):
            return new
        return replace(new, node=old.node, phase=new.phase if new.finished else old.phase)

    def _add_pod(self, pod: Pod, replaces: str = "") -> None:
        self.pods[pod.uid] = pod
        self.uids[pod.key] = pod.uid
        self.events.append(PodAdded(pod, replaces))
        self.added["Pod"] += 1

    def _remove_pod(self, pod: Pod, reason: str) -> None:
        del self.pods[pod.uid]
        if self.uids.get(pod.key) == pod.uid:
            del self.uids[pod.key]
        self.events.append(PodRemoved(pod.namespace, pod.name, pod.uid, pod.node, pod.group, reason))
        self.removed.setdefault("Pod", []).append(pod.key)

    # ------------------------------------------------------------ absence

    def remove_absent(self) -> None:
        """Pods first, so that those which the import says are gone are not made anew for a lost node."""
        complete = self.options.complete
        if "Pod" in complete:
            for pod in [pod for pod in self.pods.values() if ("Pod", pod.key) not in self.seen]:
                self._remove_pod(pod, "removed")
        if "PodGroup" in complete:
            for group in [group for key, group in self.groups.items() if ("PodGroup", key) not in self.seen]:
                del self.groups[group.key]
                self.events.append(
                    PodGroupClosed(group.namespace, group.name, group.uid, group.generation, "removed")
                )
                self.removed.setdefault("PodGroup", []).append(group.key)
        if "Node" in complete:
            gone = {name: node for name, node in self.nodes.items() if ("Node", name) not in self.seen}
            if self.simulated:
                self._lose_pods(gone)
            for name, node in gone.items():
                del self.nodes[name]
                self.events.append(NodeRemoved(name, node.uid))
                self.removed.setdefault("Node", []).append(name)

    def _lose_pods(self, gone: Mapping[str, Node]) -> None:
        """The workload controller of a simulated cluster: members on a lost node are made anew, to be placed
        again.

        A pod that the import itself puts on the absent node stays as told: the engine then reports its lost
        domain.
        """
        lost = [
            pod
            for pod in self.pods.values()
            if pod.node in gone and not pod.finished and ("Pod", pod.key) not in self.seen
        ]
        for pod in lost:
            self._remove_pod(pod, "node_lost")
            if pod.group_key in self.groups:
                self._add_pod(replacement(pod, self.state.seq, self.now_ms), replaces=pod.uid)

    # ------------------------------------------------------------ result

    def result(self, manifests: Manifests) -> ImportPlan:
        # An object may be refused for several fields; what kube refused is not among those it read.
        here = {(bad.kind, bad.namespace, bad.name) for bad in self.refused[len(manifests.refused) :]}
        refused_here = Counter(kind for kind, _, _ in here)
        read = {
            "Node": len(manifests.nodes),
            "Pod": len(manifests.pods),
            "PodGroup": len(manifests.pod_groups),
            "Workload": len(manifests.workloads),
            "NodeResourceTopology": len(manifests.node_topologies),
        }
        accepted = {
            kind: count - refused_here[kind] for kind, count in read.items() if count > refused_here[kind]
        }
        events = self.events
        if events or self.options.register is not None:
            snapshot = SnapshotImported(
                sha256=self.options.sha256,
                complete=tuple(sorted(self.options.complete)),
                accepted=tuple(sorted(accepted.items())),
                ignored=tuple(sorted(manifests.ignored.items())),
                refused=tuple(
                    (
                        bad.kind,
                        f"{bad.namespace}/{bad.name}" if bad.namespace else bad.name,
                        bad.path,
                        bad.message,
                    )
                    for bad in self.refused
                ),
            )
            first = [self.options.register] if self.options.register is not None else []
            events = [*first, *self.events, snapshot]
        # Those of the file and those of the whole cluster after it may say the same.
        whole = notices_of(self.nodes, self.pods.values(), self.groups.values())
        spread = self._spread_notices(events, manifests)
        queues = undefined_notices(self.state, self.groups.values())
        notices = dict.fromkeys([*remarks(manifests), *self.notices, *whole, *spread, *queues])
        return ImportPlan(
            events=tuple(events),
            accepted=accepted,
            ignored=dict(manifests.ignored),
            added=dict(self.added),
            updated=dict(self.updated),
            unchanged=dict(self.unchanged),
            removed={kind: tuple(sorted(names)) for kind, names in self.removed.items()},
            refused=tuple(self.refused),
            notices=tuple(notices),
        )

    def _spread_notices(self, events: Iterable[Event], manifests: Manifests) -> list[Problem]:
        """Of the groups that the manifests hold members of: nothing is refused, the members are there."""
        keys = sorted({pod.group_key for pod in manifests.pods if pod.group and pod.shape.spread})
        if not keys:
            return []
        told = spreading.told_after(self.state, events, keys[:_SPREADING])
        found = [*(replace(problem, reason="") for problem in told.problems), *told.notices]
        if len(keys) > _SPREADING:
            message = (
                f"PodGroups whose constraints were not looked at, beside these: {len(keys) - _SPREADING}"
            )
            found.append(Problem("PodGroup", "", "", spreading.FIELD, "", message))
        return found


def next_generation(state: ClusterState, group: PodGroup, open_one: PodGroup | None, now_ms: int) -> PodGroup:
    """``group`` as the next generation of its name: after the open one, or the last one that was closed."""
    last = open_one or state.past.closed.table.get(group.key)
    return replace(
        group,
        uid=group.uid or minted_uid(state.seq, "podgroup", group.namespace, group.name),
        generation=last.generation + 1 if last else 1,
        supersedes=last.uid if last else "",
        created=group.created or now_ms,
    )


def _immutable(old: PodGroup, new: PodGroup, api_version: str) -> list[Problem]:
    """What an API server would refuse of an update; from v1alpha3 and v1beta1 on minCount of a gang may
    change.
    """
    mutable = () if api_version.endswith("/v1alpha2") else ("min_count",)
    if old.policy != new.policy:
        mutable = ()
    paths = {
        path: f"{getattr(old, field)!r} to {getattr(new, field)!r}"
        for field, path in _IMMUTABLE
        if getattr(old, field) != getattr(new, field) and field not in mutable
    }
    return [
        Problem(
            "PodGroup",
            new.namespace,
            new.name,
            path,
            INVALID,
            f"field is immutable: {change} is another PodGroup",
        )
        for path, change in paths.items()
    ]
