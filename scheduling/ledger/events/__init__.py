"""Every event the log can hold: one frozen dataclass each, a fact in the past tense.

``VERSION`` is the schema version written with new events; ``SUBJECT`` names the kind of object it is about,
for filters. ``WAKES`` marks events that could let a waiting group go on, so that a cycle is started after the
commit. Bodies hold integers, strings, booleans and lists of them; engine objects are encoded by ``codec.py``.
"""

from __future__ import annotations

from scheduling.ledger.events import (
    cluster,
    decisions,
    nodes,
    preemption,
    queues,
    reservations,
    scale_up,
    waiting,
    workbench,
    workloads,
)
from scheduling.ledger.events.base import (
    Event,
    FieldsOf,
    NodeChanges,
    PodChanges,
    PodGroupChanges,
)
from scheduling.ledger.events.cluster import (
    ClusterModeChanged,
    ClusterRegistered,
    EventsArchived,
    EventsRestored,
    FeatureGateChanged,
    SnapshotImported,
)
from scheduling.ledger.events.decisions import (
    Decided,
    DomainLost,
    DomainTable,
    PlacementForecast,
    PodGroupConflicted,
    PodGroupHeld,
    PodGroupOverQuota,
    PodGroupPlaced,
    PodGroupSettled,
    PodGroupUnschedulable,
)
from scheduling.ledger.events.nodes import (
    NodeAdded,
    NodeRemoved,
    NodeUpdated,
)
from scheduling.ledger.events.preemption import (
    MemberEvicted,
    PreemptionApproved,
    PreemptionCompleted,
    PreemptionExpired,
    PreemptionNotFound,
    PreemptionPlanned,
    PreemptionPolicyChanged,
    PreemptionRejected,
)
from scheduling.ledger.events.queues import QueueDefined, QueueRemoved
from scheduling.ledger.events.reservations import ReservationMade, ReservationReleased
from scheduling.ledger.events.scale_up import (
    NodeTypeDefined,
    NodeTypeRemoved,
    ScaleUpApproved,
    ScaleUpCompleted,
    ScaleUpExpired,
    ScaleUpPlanned,
    ScaleUpRejected,
    ScaleUpShort,
)
from scheduling.ledger.events.waiting import (
    DomainMarkedLost,
    DomainMarkTakenBack,
    StickyWaitEnded,
    StickyWaitStarted,
    WaitDeadlineExpired,
    WaitDeadlineLifted,
    WaitDeadlineSet,
    WaitDeadlineWithdrawn,
    WaitPolicyChanged,
)
from scheduling.ledger.events.workbench import (
    RunCancelled,
    RunEnded,
    RunRequested,
    ScenarioRemoved,
    ScenarioSaved,
)
from scheduling.ledger.events.workloads import (
    PodAdded,
    PodGroupClosed,
    PodGroupCreated,
    PodGroupUpdated,
    PodRemoved,
    PodUpdated,
    WorkloadAdded,
)

__all__ = [
    "CATALOGUE",
    "ClusterModeChanged",
    "ClusterRegistered",
    "Decided",
    "DomainLost",
    "DomainMarkTakenBack",
    "DomainMarkedLost",
    "DomainTable",
    "Event",
    "EventsArchived",
    "EventsRestored",
    "FeatureGateChanged",
    "FieldsOf",
    "MemberEvicted",
    "NodeAdded",
    "NodeChanges",
    "NodeRemoved",
    "NodeTypeDefined",
    "NodeTypeRemoved",
    "NodeUpdated",
    "PlacementForecast",
    "PodAdded",
    "PodChanges",
    "PodGroupChanges",
    "PodGroupClosed",
    "PodGroupConflicted",
    "PodGroupCreated",
    "PodGroupHeld",
    "PodGroupOverQuota",
    "PodGroupPlaced",
    "PodGroupSettled",
    "PodGroupUnschedulable",
    "PodGroupUpdated",
    "PodRemoved",
    "PodUpdated",
    "PreemptionApproved",
    "PreemptionCompleted",
    "PreemptionExpired",
    "PreemptionNotFound",
    "PreemptionPlanned",
    "PreemptionPolicyChanged",
    "PreemptionRejected",
    "QueueDefined",
    "QueueRemoved",
    "ReservationMade",
    "ReservationReleased",
    "RunCancelled",
    "RunEnded",
    "RunRequested",
    "ScaleUpApproved",
    "ScaleUpCompleted",
    "ScaleUpExpired",
    "ScaleUpPlanned",
    "ScaleUpRejected",
    "ScaleUpShort",
    "ScenarioRemoved",
    "ScenarioSaved",
    "SnapshotImported",
    "StickyWaitEnded",
    "StickyWaitStarted",
    "WaitDeadlineExpired",
    "WaitDeadlineLifted",
    "WaitDeadlineSet",
    "WaitDeadlineWithdrawn",
    "WaitPolicyChanged",
    "WorkloadAdded",
]

CATALOGUE: dict[str, type[Event]] = {
    kind.__name__: kind
    for family in (
        cluster,
        nodes,
        workloads,
        decisions,
        scale_up,
        reservations,
        queues,
        preemption,
        waiting,
        workbench,
    )
    for kind in family.EVENTS
}
"""Every event type by the name it has in the log."""
