"""Workloads of a simulated cluster: submitted, ended, a member deleted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from scheduling.engine.decide import decide
from scheduling.engine.decision import Decision
from scheduling.engine.state import ClusterState
from scheduling.kube import manifests as kube
from scheduling.ledger import fold
from scheduling.ledger.events import Event
from scheduling.models import Cluster
from scheduling.services.execute import Outcome, execute, now_ms
from scheduling.services.members import delete_member_events, end_group_events
from scheduling.services.problems import Problem
from scheduling.services.state import state_of
from scheduling.services.submitting import (
    MemberTemplate,
    Submission,
    WorkloadForm,
    manifest_submission,
    submission,
)

__all__ = [
    "MemberTemplate",
    "WorkloadForm",
    "delete_member",
    "end_group",
    "preview_submit",
    "submit",
    "submit_manifests",
    "submitted",
]


def submit(*, cluster: Cluster, form: WorkloadForm, actor: str, command_id: str = "") -> Outcome:
    """A new PodGroup with the members that the form's templates ask for; the next cycle decides about it.

    A name that was used before gives the next generation. Raises Refused; paths are the form's fields.
    """

    def made(state: ClusterState, now: int) -> Submission:
        return submission(state, form, now)

    return submitted(cluster, made, actor, command_id, f"submit {form!r}")


def submit_manifests(*, cluster: Cluster, data: bytes, actor: str, command_id: str = "") -> Outcome:
    """PodGroups and Pods as new objects, all or none. Raises Refused; paths are the manifests' fields."""
    manifests = kube.read(data)

    def made(state: ClusterState, now: int) -> Submission:
        return manifest_submission(state, manifests, now)

    return submitted(cluster, made, actor, command_id, f"submit {data!r}")


def submitted(
    cluster: Cluster,
    made: Callable[[ClusterState, int], Submission],
    actor: str,
    command_id: str,
    request: str,
) -> Outcome:
    """What ``made`` says is written; its notices go with the answer. Raises what ``made`` raises."""
    notices: tuple[Problem, ...] = ()

    def events(state: ClusterState, now: int) -> list[Event]:
        nonlocal notices
        found = made(state, now)
        notices = found.notices
        return found.events

    done = execute(cluster, events, actor=actor, command_id=command_id, request=request)
    return replace(done, notices=notices)


@dataclass(frozen=True, slots=True)
class Preview:
    """``notices``: as of the submission itself."""

    decision: Decision
    notices: tuple[Problem, ...]


def preview_submit(*, cluster: Cluster, form: WorkloadForm) -> Preview:
    """What would be decided about the form's group right now, before all others. Nothing is written. Raises
    Refused.
    """
    return preview(state_of(cluster), form, now_ms())


def preview(state: ClusterState, form: WorkloadForm, now_ms: int) -> Preview:
    """The pure half of ``preview_submit``."""
    ahead = state.fork()
    made = submission(state, form, now_ms)
    for event in made.events:
        fold.apply(ahead, event, state.seq)
    return Preview(decide(ahead, f"{form.namespace}/{form.name}"), made.notices)


def end_group(*, cluster: Cluster, namespace: str, name: str, actor: str, command_id: str = "") -> Outcome:
    """The open generation ends and its members go. Raises Refused."""
    key = f"{namespace}/{name}"
    return execute(
        cluster,
        lambda state, _: end_group_events(state, key),
        actor=actor,
        command_id=command_id,
        request=f"end {key}",
    )


def delete_member(*, cluster: Cluster, uid: str, actor: str, command_id: str = "") -> Outcome:
    """One member goes, and the workload controller makes another. Raises Refused."""
    return execute(
        cluster,
        lambda state, now: delete_member_events(state, uid, now),
        actor=actor,
        command_id=command_id,
        request=f"delete member {uid}",
    )
