"""What goes in and comes out of the API, typed and described; names and units are those of the log.

Quantities are integers: ``cpu`` in milli-cores, everything else in its own unit (bytes, pods, devices).
Times are ISO 8601 in UTC. A group key is ``namespace/name``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from ninja import Field, Schema
from pydantic import ConfigDict

from scheduling.engine.turns import LostTo

Resources = Annotated[
    dict[str, int],
    Field(
        description="Amount by resource: cpu in milli-cores, others in whole units.", examples=[{"cpu": 8000}]
    ),
]
Seq = Annotated[int, Field(description="Sequence number in the cluster's log; gapless, from 1.", ge=0)]


# ---------------------------------------------------------------- errors


ErrorCode = Literal[
    "undecodable",
    "unauthenticated",
    "forbidden",
    "not_found",
    "not_allowed",
    "conflict",
    "gone",
    "too_large",
    "refused",
    "error",
    "unavailable",
]


class FirstOut(Schema):
    """The event of another command or decision that came first."""

    cluster: str
    seq: int
    type: str
    actor: str
    recorded_at: datetime
    href: str = Field(description="Its page in the console.")


class ProblemOut(Schema):
    """One fault of the input: which object, which field, and why."""

    kind: str = Field("", description="Kind of the object, empty when the fault is in the request itself.")
    namespace: str = ""
    name: str = ""
    path: str = Field("", description="Path of the field, as the Kubernetes API server would name it.")
    reason: str = Field(
        "", description="FieldValueRequired, FieldValueInvalid, FieldValueForbidden, Undecodable, ..."
    )
    message: str
    first: FirstOut | None = Field(
        None, description="Where it is so because somebody else came first: the event of that."
    )


class ErrorOut(Schema):
    """Every answer that is not a success."""

    code: ErrorCode
    message: str
    problems: list[ProblemOut] = []


# ---------------------------------------------------------------- clusters


class ClusterOut(Schema):
    name: str
    mode: Literal["simulated", "observed"]
    gates: dict[str, bool] = Field(description="Feature gates as the cluster has them.")
    enforced: bool = Field(description="Whether the one-domain law holds: all three gates are on.")
    kubernetes_version: str = Field(description="Empty when no import has told it.")
    seq: Seq
    last_cycle_seq: Seq = Field(
        description="Up to where a scheduling cycle has looked; behind seq means work is due."
    )
    last_cycle_at: datetime | None
    last_import_at: datetime | None
    created_at: datetime


class ClusterSummaryOut(ClusterOut):
    nodes: int
    waiting: int = Field(description="PodGroups that have not got what they asked for.")


class ClustersOut(Schema):
    items: list[ClusterSummaryOut]


class GateIn(Schema):
    model_config = ConfigDict(extra="forbid")

    enabled: bool


class ImportOut(Schema):
    """What an import did, or with ``dry_run`` would do."""

    cluster: str
    seq: Seq = Field(description="The last event of the import; the head when it changed nothing.")
    dry_run: bool
    would_store: bool = Field(
        description="Whether it stored something, or with dry_run would. False when there is nothing "
        "new, and when without partial=true one refused object refuses all, whatever the counts say."
    )
    created: bool = Field(description="Whether the cluster was new.")
    accepted: dict[str, int] = Field(description="Objects read, by kind.")
    ignored: dict[str, int] = Field(description="Objects of kinds the console does not use, by kind.")
    added: dict[str, int]
    updated: dict[str, int]
    unchanged: dict[str, int]
    removed: dict[str, list[str]] = Field(
        description="Names of what was absent from a complete import, by kind."
    )
    refused: list[ProblemOut] = Field(
        description="Objects left out with partial=true; without it they refuse the whole import (422), "
        "and a dry_run lists them."
    )
    notices: list[ProblemOut] = Field(description="Taken, but worth saying.")
    proposed_mode: str
    proposed_gates: dict[str, bool]


class RecordedOut(Schema):
    seq: Seq
    type: str = Field(description="Name of the event type.")


class OutcomeOut(Schema):
    """What a command wrote to the log."""

    first_seq: int = Field(
        description="First event written; greater than last_seq when nothing had to be written."
    )
    last_seq: Seq
    repeated: bool = Field(
        description="True when the Idempotency-Key was seen before: this is the first answer again."
    )
    events: list[RecordedOut]
    notices: list[ProblemOut] = Field(
        [], description="Worth knowing of what was taken, without reasons; only the first time."
    )


# ---------------------------------------------------------------- nodes


class TaintOut(Schema):
    key: str
    value: str
    effect: str


class OccupantOut(Schema):
    group: str = Field(description="Key of the PodGroup, empty for pods of none.")
    pods: int
    gpus: int


class ZoneOut(Schema):
    name: str
    allocatable: Resources


class NodeOut(Schema):
    name: str
    uid: str
    labels: dict[str, str]
    taints: list[TaintOut]
    unschedulable: bool = Field(description="Cordoned.")
    ready: bool
    allocatable: Resources
    zones: list[ZoneOut] = Field(description="NUMA zones; empty when no NodeResourceTopology told them.")
    used: Resources
    gpus: int
    gpus_used: int
    removed: bool = Field(description="It is gone; this is how it was last.")
    occupants: list[OccupantOut]
    changed_seq: Seq
    changed_at: datetime


class NodesOut(Schema):
    items: list[NodeOut]
    next: str | None = Field(description="Give it as `after` for the next page; null on the last one.")


# ---------------------------------------------------------------- PodGroups


class AmountOut(Schema):
    resource: str
    amount: int


class LostToOut(Schema):
    namespace: str
    name: str
    seq: int = Field(description="The event that placed it.")


class PodGroupOut(Schema):
    namespace: str
    name: str
    generation: int = Field(description="0 when pods name a PodGroup that does not exist.")
    uid: str
    policy: str
    min_count: int
    topology_key: str = Field(description="Empty without a topology constraint.")
    priority: int | None
    queue_name: str = Field(description="The queue that it names, defined or not; empty for none.")
    status: str = Field(description="scheduled, pending, held, error, finished or empty.")
    degraded: bool = Field(description="Some members run, but fewer than minCount.")
    degraded_since: datetime | None = Field(description="Since when; null while it is not.")
    elastic: bool = Field(description="It goes on with fewer members: a new generation may lower minCount.")
    verdict: str = Field(
        description="placed, proved_infeasible, not_found, held, conflicted; empty before the first."
    )
    reason: str
    domain: str = Field(description="Where it runs, is pinned, or came closest.")
    fits: int = Field(description="Members that fit there.")
    need: int
    members: int
    bound: int
    short_of: list[AmountOut]
    unmodelled: list[str] = Field(description="What its members use that the engine does not model.")
    closed: bool
    close_reason: str
    created_at: datetime | None
    waiting_since: datetime | None
    lost_to: LostToOut | None = Field(
        description="The PodGroup that took, in the cycle of the last decision, the room this one fitted in."
    )
    decision_seq: int | None = Field(description="The event that holds the last decision.")
    changed_seq: Seq


class PodGroupsOut(Schema):
    items: list[PodGroupOut]
    next: str | None = Field(description="Give it as `after` for the next page; null on the last one.")


class MemberOut(Schema):
    uid: str
    namespace: str
    name: str
    node: str = Field(description="Empty while it waits.")
    phase: str
    terminating: bool
    requests: Resources


def lost_to_out(lost_to: LostTo | None) -> LostToOut | None:
    if lost_to is None:
        return None
    namespace, _, name = lost_to.key.partition("/")
    return LostToOut(namespace=namespace, name=name, seq=lost_to.seq)


class QueueOut(Schema):
    attempts: int = Field(description="Failed attempts in a row that the log tells.")
    decided_at: datetime | None = Field(description="When the last decision was made.")
    woken_by: int | None = Field(description="The event that led to the last decision.")
    retry_at: datetime | None = Field(
        description="Something may help it, but it rests after a failed attempt until then; null otherwise."
    )
    lost_to: LostToOut | None = Field(
        description="The PodGroup that took, in the cycle of the last decision, the room this one fitted in."
    )


class PodGroupDetailOut(PodGroupOut):
    queue: QueueOut | None = Field(description="How it stands in the queue; null for a closed generation.")
    pods: list[MemberOut] = Field(description="Its members that are not gone, by name.")


class TolerationIn(Schema):
    model_config = ConfigDict(extra="forbid")

    key: str = ""
    operator: Literal["Equal", "Exists"] = "Equal"
    value: str = ""
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""


class SpreadIn(Schema):
    model_config = ConfigDict(extra="forbid")

    topology_key: str
    max_skew: int = Field(1, ge=1)
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = "DoNotSchedule"
    min_domains: int | None = Field(None, ge=1, description="With DoNotSchedule only.")
    node_affinity_policy: Literal["Honor", "Ignore"] = "Honor"
    node_taints_policy: Literal["Honor", "Ignore"] = "Ignore"


class MemberTemplateIn(Schema):
    """Members of one shape."""

    model_config = ConfigDict(extra="forbid")

    role: str = Field("worker", description="Part of the pods' names when there are several templates.")
    count: int = Field(ge=1)
    requests: dict[str, str] = Field(
        description="Kubernetes quantities as text.", examples=[{"nvidia.com/gpu": "8"}]
    )
    node_selector: dict[str, str] = {}
    tolerations: list[TolerationIn] = []
    spread: list[SpreadIn] = Field(
        [], description="Topology spread constraints; the members of the PodGroup are what is spread."
    )


class WorkloadIn(Schema):
    """A PodGroup and its members."""

    model_config = ConfigDict(extra="forbid")

    namespace: str
    name: str
    policy: Literal["gang", "basic"] = "gang"
    min_count: int = Field(1, description="How many members must fit in one domain at once.")
    topology_key: str = Field(
        "", description="Node label whose values are the domains; empty: no constraint."
    )
    priority: int = 0
    queue: str = Field("", description="Name of a defined queue; empty: none.")
    templates: list[MemberTemplateIn]


# ---------------------------------------------------------------- log


class EventOut(Schema):
    seq: Seq
    type: str
    version: int
    subject: str
    namespace: str
    name: str
    actor: str
    command_id: str
    sentence: str = Field(description="What happened, in the language of the request (en, ja).")
    cause: int | None = Field(description="The event that led to this one.")
    occurred_at: datetime
    recorded_at: datetime
    hash: str = Field(description="Hash of this event chained to the one before, hexadecimal.")
    body: dict[str, Any]


class ArchiveOut(Schema):
    """A file that old events are in."""

    first: Seq
    last: Seq
    recorded_first: datetime
    recorded_last: datetime
    file: str
    size: int = Field(description="Of the file, in bytes.")
    sha256: str = Field(description="Of the file, hexadecimal.")
    hash: str = Field(description="Of the last event; the first one in the database goes on from it.")
    archived_by: Seq = Field(description="The event that tells of it.")


class ArchivesOut(Schema):
    items: list[ArchiveOut]


class EventsOut(Schema):
    items: list[EventOut]
    next: int | None = Field(
        description="Give it as `after` for the next page; null at the head of the log. A page may hold "
        "fewer events than `limit`, even none, and the next one more: what no index serves is "
        "searched a piece at a time."
    )
    low: int = Field(description="From this seq on ...")
    high: int = Field(description="... to this one the page has every event that the filters leave.")


class FieldOut(Schema):
    """Of an object at two moments. Null where it does not have the field, or is not there."""

    name: str
    before: str | int | bool | None
    after: str | int | bool | None
