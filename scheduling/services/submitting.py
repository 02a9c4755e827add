"""A workload as new events: a form or manifests, checked field by field, then a PodGroup and its members.
Pure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from scheduling.engine.model import Pod, PodGroup
from scheduling.engine.state import ClusterState
from scheduling.kube import manifests as kube
from scheduling.kube.manifests import Manifests, Refusal
from scheduling.kube.pod_groups import QUEUE
from scheduling.ledger.events import Event, PodAdded, PodGroupCreated, WorkloadAdded
from scheduling.services import spreading
from scheduling.services.importing import next_generation
from scheduling.services.members import minted_uid, only_simulated
from scheduling.services.numa import zone_problems
from scheduling.services.problems import DUPLICATE, FORBIDDEN, INVALID, REQUIRED, Problem, Refused
from scheduling.services.queueing import undefined_queues
from scheduling.services.reading import refusals

MEMBER_OF = "tas-console/podgroup"
"""Label of members that a form made to be spread, so that the constraints can mean them."""

MOST_MEMBERS = 10_000
"""More members than this in one form are a slip of the pen, and would be one event each."""


@dataclass(frozen=True, slots=True)
class MemberTemplate:
    """``count`` members alike. ``requests``: quantities as typed. ``tolerations``: as in a pod's spec.
    ``spread``: as topologySpreadConstraints there, without labelSelector: the members of the group are meant.
    """

    role: str
    count: int
    requests: dict[str, str]
    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: tuple[dict[str, Any], ...] = ()
    spread: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class WorkloadForm:
    """``policy``: gang or basic (then ``min_count`` is not used). ``topology_key``: "" for no constraint.
    ``queue``: "" for none.
    """

    namespace: str
    name: str
    policy: str
    min_count: int
    topology_key: str
    priority: int
    templates: tuple[MemberTemplate, ...]
    queue: str = ""


@dataclass(frozen=True, slots=True)
class Submission:
    """``notices``: what is worth knowing of what was not refused."""

    events: list[Event]
    notices: tuple[Problem, ...] = ()


def submit_events(state: ClusterState, form: WorkloadForm, now_ms: int) -> list[Event]:
    """The events of ``submission``."""
    return submission(state, form, now_ms).events


def submission(state: ClusterState, form: WorkloadForm, now_ms: int) -> Submission:
    """A PodGroup and all its members. Raises Refused with the form's own field names as paths."""
    only_simulated(state, "workloads are submitted to the cluster itself")
    problems = _form_problems(form)
    if problems:
        raise Refused(problems)
    read = kube.read(json.dumps({"apiVersion": "v1", "kind": "List", "items": _manifests(form)}))
    if read.refused:
        raise Refused(_in_form(form, read.refused))
    group = read.pod_groups[0].group
    problems = [
        *zone_problems(state, [group], "topology_key"),
        *undefined_queues(state, [group], "queue"),
    ]
    if problems:
        raise Refused(problems)
    members: list[Pod] = []
    template_of: dict[str, int] = {}
    for index, (template, pod) in enumerate(zip(form.templates, read.pods, strict=True)):
        made = [replace(pod, name=_member_name(form, index, i)) for i in range(template.count)]
        members += made
        template_of |= {one.name: index for one in made}
    events = _created(state, [group], members, now_ms, name_path="name")
    told = spreading.told_of(state, events, members, [])
    if told.problems:
        raise Refused(_at_templates(form, told.problems, template_of))
    return Submission(events, tuple(_at_templates(form, told.notices, template_of)))


def manifest_submission(state: ClusterState, manifests: Manifests, now_ms: int) -> Submission:
    """PodGroups, Pods and Workloads as new objects; what a server sets (uid, status) is not taken from the
    text.
    """
    only_simulated(state, "workloads are submitted to the cluster itself")
    problems = refusals(manifests)
    problems += [
        Problem(
            "Node",
            "",
            node.name,
            "kind",
            FORBIDDEN,
            "a submission holds PodGroups and Pods; nodes are imported",
        )
        for node in manifests.nodes
    ]
    problems += [
        Problem(
            "NodeResourceTopology",
            "",
            topology.node,
            "kind",
            FORBIDDEN,
            "a submission holds PodGroups and Pods; the zones of nodes are imported",
        )
        for topology in manifests.node_topologies
    ]
    problems += zone_problems(
        state,
        [read.group for read in manifests.pod_groups],
        "spec.schedulingConstraints.topology[0].key",
    )
    problems += undefined_queues(
        state, [read.group for read in manifests.pod_groups], f"metadata.annotations[{QUEUE}]"
    )
    for pod in manifests.pods:
        if not pod.group:
            message = "only members of a PodGroup are scheduled here"
            problems.append(
                Problem(
                    "Pod", pod.namespace, pod.name, "spec.schedulingGroup.podGroupName", REQUIRED, message
                )
            )
        if pod.node:
            message = "the node is the scheduler's to choose"
            problems.append(Problem("Pod", pod.namespace, pod.name, "spec.nodeName", FORBIDDEN, message))
    if not problems and not (manifests.pods or manifests.pod_groups or manifests.workloads):
        problems.append(Problem("", "", "", "", REQUIRED, "there is no PodGroup, Pod or Workload in it"))
    if problems:
        raise Refused(problems)
    events: list[Event] = []
    for workload in manifests.workloads:
        old = state.past.workloads.table.get(workload.key)
        uid = old.uid if old else minted_uid(state.seq, "workload", workload.namespace, workload.name)
        if old != (new := replace(workload, uid=uid)):
            events.append(WorkloadAdded(new))
    groups = [read.group for read in manifests.pod_groups]
    events += _created(state, groups, manifests.pods, now_ms, name_path="metadata.name")
    told = spreading.told_of(state, events, manifests.pods, [group.key for group in groups])
    if told.problems:
        raise Refused(told.problems)
    return Submission(events, told.notices)


def _created(
    state: ClusterState,
    groups: Sequence[PodGroup],
    pods: Sequence[Pod],
    now_ms: int,
    *,
    name_path: str,
) -> list[Event]:
    problems = _twice(
        "PodGroup",
        [group.key for group in groups],
        state.groups,
        name_path,
        "is open: end it first, or take another name",
    )
    if problems and name_path == "name":
        raise Refused(problems)  # in a form the members' names follow from the group's: one fault, told once
    there = {pod.key for pod in pods if state.pod_uid(pod.key) is not None}
    problems += _twice("Pod", [pod.key for pod in pods], there, name_path, "exists already")
    if problems:
        raise Refused(problems)
    events: list[Event] = [
        PodGroupCreated(next_generation(state, replace(group, uid="", created=now_ms), None, now_ms))
        for group in groups
    ]
    events += [
        PodAdded(
            replace(
                pod,
                uid=minted_uid(state.seq, "pod", pod.namespace, pod.name),
                phase="Pending",
                terminating=False,
                created=now_ms,
            )
        )
        for pod in pods
    ]
    return events


def _twice(kind: str, keys: Iterable[str], there: Iterable[str], path: str, message: str) -> list[Problem]:
    """A problem for each key that is there already or comes twice."""
    taken = set(there)
    problems = []
    for key in keys:
        if key in taken:
            namespace, _, name = key.partition("/")
            problems.append(Problem(kind, namespace, name, path, DUPLICATE, f"{kind} {key} {message}"))
        taken.add(key)
    return problems


# ---------------------------------------------------------------- the form


def _form_problems(form: WorkloadForm) -> list[Problem]:
    """What a form can get wrong that its manifests would not show."""

    def problem(path: str, reason: str, message: str) -> Problem:
        return Problem("PodGroup", form.namespace, form.name, path, reason, message)

    found = []
    if form.policy not in ("gang", "basic"):
        found.append(problem("policy", INVALID, f"{form.policy!r} is neither gang nor basic"))
    if not form.namespace:
        found.append(problem("namespace", REQUIRED, "a namespace is needed"))
    if not form.name:
        found.append(problem("name", REQUIRED, "a name is needed"))
    if not form.templates:
        found.append(problem("templates", REQUIRED, "at least one kind of member is needed"))
    roles: set[str] = set()
    for index, template in enumerate(form.templates):
        path = f"templates[{index}]"
        if template.count < 1:
            found.append(
                problem(f"{path}.count", INVALID, f"members: at least 1 is needed, not {template.count}")
            )
        if len(form.templates) > 1 and not template.role:
            found.append(problem(f"{path}.role", REQUIRED, "with several kinds of members each needs a role"))
        elif template.role in roles:
            found.append(problem(f"{path}.role", DUPLICATE, f"role {template.role!r} is there twice"))
        roles.add(template.role)
    members = sum(max(template.count, 0) for template in form.templates)
    if members > MOST_MEMBERS:
        most = max(range(len(form.templates)), key=lambda index: form.templates[index].count)
        message = f"members in one form: at most {MOST_MEMBERS}, not {members}"
        found.append(problem(f"templates[{most}].count", INVALID, message))
    if form.policy == "gang" and not found and form.min_count > members:
        message = (
            f"minCount {form.min_count} is more than there are members, {members}: it would be held for ever"
        )
        found.append(problem("min_count", INVALID, message))
    return found


def _member_name(form: WorkloadForm, index: int, number: int) -> str:
    role = form.templates[index].role if len(form.templates) > 1 else ""
    return "-".join(part for part in (form.name, role, str(number)) if part)


def _manifests(form: WorkloadForm) -> list[dict[str, Any]]:
    """The PodGroup and the first member of each template, as a person would write them."""
    policy = {"gang": {"minCount": form.min_count}} if form.policy == "gang" else {"basic": {}}
    spec: dict[str, Any] = {"schedulingPolicy": policy, "priority": form.priority}
    if form.topology_key:
        spec["schedulingConstraints"] = {"topology": [{"key": form.topology_key}]}
    group = {
        "apiVersion": "scheduling.k8s.io/v1alpha2",
        "kind": "PodGroup",
        "metadata": {
            "namespace": form.namespace,
            "name": form.name,
            **({"annotations": {QUEUE: form.queue}} if form.queue else {}),
        },
        "spec": spec,
    }
    return [group, *(_pod_manifest(form, index) for index in range(len(form.templates)))]


def _pod_manifest(form: WorkloadForm, index: int) -> dict[str, Any]:
    template = form.templates[index]
    # Of a device the limit is what counts; a server sets the request from it.
    resources: dict[str, Any] = {"requests": template.requests}
    devices = {name: amount for name, amount in template.requests.items() if "/" in name}
    if devices:
        resources["limits"] = devices
    spec: dict[str, Any] = {
        "schedulingGroup": {"podGroupName": form.name},
        "priority": form.priority,
        "containers": [{"name": "main", "image": "none", "resources": resources}],
    }
    if template.node_selector:
        spec["nodeSelector"] = template.node_selector
    if template.tolerations:
        spec["tolerations"] = list(template.tolerations)
    metadata: dict[str, Any] = {"namespace": form.namespace, "name": _member_name(form, index, 0)}
    if any(one.spread for one in form.templates):
        metadata["labels"] = {MEMBER_OF: _label_value(form.name)}
        spec["topologySpreadConstraints"] = [
            {**rule, "labelSelector": {"matchLabels": metadata["labels"]}} for rule in template.spread
        ]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _label_value(name: str) -> str:
    """The name; what stands for it where a label value cannot be as long."""
    return name if len(name) <= 63 else hashlib.sha256(name.encode()).hexdigest()[:32]


_GROUP_FIELDS = (
    ("spec.schedulingPolicy", "min_count"),
    ("spec.schedulingConstraints", "topology_key"),
    ("spec.priority", "priority"),
    ("metadata.namespace", "namespace"),
    (f"metadata.annotations[{QUEUE}]", "queue"),
    ("metadata", "name"),
)
_POD_FIELDS = (
    ("spec.containers[0].resources.requests", "requests"),
    ("spec.containers[0].resources.limits", "requests"),
    ("spec.nodeSelector", "node_selector"),
    ("spec.tolerations", "tolerations"),
    (spreading.FIELD, "spread"),
    ("metadata", "role"),
)


def _in_form(form: WorkloadForm, refusals: Sequence[Refusal]) -> list[Problem]:
    """Refusals of the manifests made of the form, with the form's fields as their paths.

    Members are named after the group, so a name that is wrong for it is not told again for each of them.
    """
    names = [_member_name(form, index, 0) for index in range(len(form.templates))]
    named_wrong = any(bad.kind == "PodGroup" and bad.path.startswith("metadata") for bad in refusals)
    problems = []
    for bad in refusals:
        path = _renamed(bad.path, _GROUP_FIELDS)
        if bad.kind == "Pod":
            if named_wrong and bad.path.startswith("metadata"):
                continue
            if bad.path.startswith("spec.priority"):
                path = "priority"  # one field of the form, which every manifest made of it carries
            else:
                path = f"templates[{names.index(bad.name)}].{_renamed(bad.path, _POD_FIELDS)}"
        problems.append(Problem("PodGroup", form.namespace, form.name, path, bad.reason, bad.message))
    return list(dict.fromkeys(problems))


def _at_templates(
    form: WorkloadForm, found: Iterable[Problem], template_of: Mapping[str, int]
) -> list[Problem]:
    """Problems of members, and of their group, at the fields of the form."""
    return [
        replace(
            problem,
            kind="PodGroup",
            name=form.name,
            path=f"templates[{template_of.get(problem.name, 0)}].{_renamed(problem.path, _POD_FIELDS)}",
        )
        for problem in found
    ]


def _renamed(path: str, fields: Iterable[tuple[str, str]]) -> str:
    for start, name in fields:
        if path.startswith(start):
            rest = path[len(start) :]
            if name == "spread":
                return name + rest.partition(".")[0]  # spread[1].maxSkew: the rule, which is one line there
            # requests[cpu] in a manifest's path is requests.cpu in the form's.
            inner = rest.strip("[].") if name == "requests" else ""
            return f"{name}.{inner}" if inner else name
    return path
