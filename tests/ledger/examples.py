"""One example of every event type, and strategies that draw any event of a type."""

import types
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from scheduling.engine.canary import Limit, Measured, Scope
from scheduling.engine.model import (
    TAS_GATES,
    Eligibility,
    Node,
    NodeSelectorTerm,
    Pod,
    PodGroup,
    PodGroupTemplate,
    PodTerm,
    Requirement,
    Shape,
    SpreadConstraint,
    Taint,
    Toleration,
    Workload,
)
from scheduling.engine.node_types import GroupFit, Growth, NewNodes, NodeType, ScaleUpOption
from scheduling.engine.preemption_records import Victim
from scheduling.engine.queues import Queue
from scheduling.engine.reservations import Reservation
from scheduling.engine.turns import LostTo
from scheduling.ledger import events as e

RACK = "topology.example.com/rack"
NODE = Node(
    "n1",
    "node-uid-1",
    labels=(("kubernetes.io/hostname", "n1"), (RACK, "r1")),
    taints=(Taint("example.com/gpu", "", "NoSchedule"),),
    allocatable=(("cpu", 64_000), ("memory", 1 << 39), ("nvidia.com/gpu", 8), ("pods", 110)),
)
SHAPE = Shape(
    (("cpu", 8_000), ("memory", 1 << 36), ("nvidia.com/gpu", 4), ("pods", 1)),
    Eligibility(
        (("zone", "z1"),),
        (NodeSelectorTerm((Requirement("gen", "In", ("a", "b")),), ()),),
        (Toleration("example.com/gpu", "Exists", "", ""),),
    ),
    ("volumes",),
    (("TCP", "0.0.0.0", 8080),),
    (PodTerm("zone", (Requirement("app", "In", ("train",)),), None),),
    (PodTerm("kubernetes.io/hostname", None),),
    (
        SpreadConstraint(RACK, 1, (Requirement("app", "In", ("train",)),), True, 2, False, True),
        SpreadConstraint("zone", 3, None, False),
    ),
)
POD = Pod("ml", "train-0", "pod-uid-0", SHAPE, group="train", priority=5, created=1_800_000_000_000)
GROUP = PodGroup("ml", "train", "group-uid-1", "gang", 2, RACK, priority=5, created=1_800_000_000_000)
VICTIMS = (
    Victim("ml/large", "group-uid-8", 1, 0, False, (("pod-uid-8", "large-3", "n1"),), 8, 1_800_000_000_000),
    Victim("ml/small", "group-uid-9", 2, 1, True, (("pod-uid-9", "small-0", "n1"),), 1),
)
TABLE = e.DomainTable(
    codes=("capacity", "nvidia.com/gpu"),
    domains=("r1", "r2"),
    nodes=(4, 4),
    eligible=(4, 3),
    fits=(1, 0),
    reasons=(0, 0),
    never=(0, 1),
    short_of=(((1, 4),), ((1, 8),)),
    causes=(((0, 4),), ()),
)
_PLACED: dict[str, Any] = {
    "namespace": "ml",
    "name": "train",
    "uid": "group-uid-1",
    "generation": 1,
    "profile": "exact",
    "topology_key": RACK,
    "enforced": True,
    "domain": "r1",
    "need": 1,
    "members": 1,
    "fits": 1,
    "assignments": (("pod-uid-0", "train-0", "n1"),),
    "shapes": ((1, 1),),
}

NODE_TYPE = NodeType(
    "h100",
    NODE.allocatable,
    (("zone", "z1"),),
    NODE.taints,
    (Growth(RACK, "r1", 4), Growth(RACK, "r9", 8)),
    98_320,
    "simulated",
)
OPTION = ScaleUpOption(
    (NewNodes("h100", RACK, "r1", 2),),
    (GroupFit("ml/train", "group-uid-1", "r1", 2, 0, 2),),
    196_640,
    0,
    True,
)

_BY: dict[str, Any] = {"engine": "2", "decided_on": 41}

EXAMPLES: tuple[e.Event, ...] = (
    e.ClusterRegistered("demo", "simulated", tuple((gate, True) for gate in TAS_GATES), "v1.36.2"),
    e.ClusterModeChanged("observed"),
    e.FeatureGateChanged("GangScheduling", False),
    e.SnapshotImported(
        "ab" * 32, ("Node",), (("Node", 1),), (("Secret", 2),), (("Pod", "ml/x", "spec", "is bad"),)
    ),
    e.EventsArchived(
        1, 1_000_000, 1_800_000_000_000, 1_800_000_900_000, "cd" * 32,
        "demo-7-000000000001-000001000000.ndjson.gz", 123_456_789, "ef" * 32,
    ),
    e.EventsRestored(1, 1_000_000, "demo-7-000000000001-000001000000.ndjson.gz", "ef" * 32),
    e.NodeAdded(NODE),
    e.NodeUpdated("n1", "node-uid-1", (("taints", NODE.taints), ("unschedulable", True))),
    e.NodeRemoved("n1", "node-uid-1"),
    e.WorkloadAdded(Workload("ml", "job", "w1", (PodGroupTemplate("t", "gang", 2, RACK),))),
    e.PodGroupCreated(
        replace(GROUP, elastic=True, protected=True, queue="research"), "restored", "s3://checkpoints/train/1200"
    ),
    e.PodGroupUpdated("ml", "train", "group-uid-1", 1, (("elastic", True), ("min_count", 3))),
    e.PodGroupClosed("ml", "train", "group-uid-1", 1, "ended"),
    e.PodAdded(POD, "pod-uid-lost"),
    e.PodUpdated("ml", "train-0", "pod-uid-0", (("node", "n1"), ("phase", "Running"), ("shape", SHAPE))),
    e.PodRemoved("ml", "train-0", "pod-uid-0", "n1", "train", "deleted"),
    e.PodGroupPlaced(**_PLACED, **_BY),
    e.PodGroupUnschedulable(
        "ml", "train", "group-uid-1", 1, "exact", RACK, True, "proved_infeasible", "capacity", "r1",
        need=2, members=2, bound=0, fits=1, short_of=(("nvidia.com/gpu", 4),), funnel=(2, 2, 2, 1, 0),
        unlabelled_nodes=3, fits_across_domains=True, unmodelled=(), table=TABLE, shapes=((2, 0),),
        lost_to=LostTo("ml/other", 7), **_BY,
    ),
    e.PodGroupHeld("ml", "train", "group-uid-1", 1, "not_enough_pods", 2, 1, **_BY),
    e.PodGroupOverQuota(
        "ml", "train", "group-uid-1", 1, "research", quota=16, used=12, asked=8, need=2, members=2, bound=0,
        **_BY,
    ),
    e.PodGroupConflicted(
        "ml", "train", "group-uid-1", 1, "conflicting_domains", ("r1", "r2"), ("n9",), 2, 2, 2, **_BY
    ),
    e.PodGroupSettled("ml", "train", "group-uid-1", 1, 2, 2, 2, **_BY),
    e.DomainLost("ml", "train", "group-uid-1", 1, RACK, "r1", ("n1", "n2"), **_BY),
    e.PlacementForecast(**_PLACED, **_BY),
    e.NodeTypeDefined(NODE_TYPE),
    e.NodeTypeRemoved("h100"),
    e.ScaleUpPlanned("scale-up-42", ("ml/train",), (OPTION,), 41, 1_800_000_900_000),
    e.ScaleUpApproved("scale-up-42", 0, 1_800_000_600_000, ("n1",)),
    e.ScaleUpRejected("scale-up-42", "too dear"),
    e.ScaleUpExpired("scale-up-42", "time"),
    e.ScaleUpCompleted("scale-up-42", ("h100-r1-1", "h100-r1-2")),
    e.ScaleUpShort("scale-up-42", "group", 2, ("h100-r1-1", "h100-r1-2"), "ml/train", "capacity"),
    e.ReservationMade(
        Reservation(
            "r-42", RACK, "r1", "group", "ml/train",
            (("n1", (("cpu", 64_000), ("nvidia.com/gpu", 8))), ("n2", (("nvidia.com/gpu", 4),))),
            1_800_000_900_000, 42,
        )
    ),
    e.ReservationReleased("r-42", RACK, "r1", "group", "ml/train", ("n1", "n2"), "expired"),
    e.QueueDefined(Queue("research", 10, 64, "fair")),
    e.QueueRemoved("research"),
    e.PreemptionPolicyChanged("automatic", ("prod", "research")),
    e.PreemptionPlanned(
        "ml", "train", "group-uid-1", 1, "p42", "r1", VICTIMS, (1, 9, 2, 2), True, placed=2, need=2,
        decided_on=41, expires=1_800_000_900_000, decision=40,
    ),
    e.PreemptionNotFound("ml", "train", "group-uid-1", 1, 40, "taken", "ml/first"),
    e.PreemptionApproved("ml", "train", "group-uid-1", 1, "p42", 1_800_000_060_000, True),
    e.PreemptionRejected("ml", "train", "group-uid-1", 1, "p42"),
    e.PreemptionExpired("ml", "train", "group-uid-1", 1, "p42", "outdated", "victim_changed", "ml/small"),
    e.PreemptionCompleted("ml", "train", "group-uid-1", 1, "p42", "r1", 2),
    e.MemberEvicted("ml", "small-0", "pod-uid-9", "n1", "small", "p42", "ml/train"),
    e.StickyWaitStarted(
        "ml", "train", "group-uid-1", 1, RACK, "r1", "sticky_domain", need=2, bound=1, since=1_800_000_000_000
    ),
    e.StickyWaitEnded("ml", "train", "group-uid-1", 1, RACK, None, "closed", 1_800_000_000_000),
    e.WaitDeadlineSet("ml", "train", "group-uid-1", 1, 1_800_000_060_000, "close"),
    e.WaitDeadlineWithdrawn("ml", "train", "group-uid-1", 1, None),
    e.WaitDeadlineExpired(
        "ml", "train", "group-uid-1", 1, 1_800_000_060_000, "propose", 1_800_000_000_000, True,
        1_800_000_060_250,
    ),
    e.WaitDeadlineLifted("ml", "train", "group-uid-1", 1, 1_800_000_060_000, True),
    e.WaitPolicyChanged(3_600_000, "alert"),
    e.DomainMarkedLost(RACK, "r1", (("n1", "node-uid-1", False), ("n2", "node-uid-2", True))),
    e.DomainMarkTakenBack(RACK, "r1"),
    e.ScenarioSaved("lose-r1", '{"name":"lose-r1","steps":[]}'),
    e.ScenarioRemoved("lose-r1"),
    e.RunRequested("scenario", "lose-r1", 41, '{"steps":[]}', "ab" * 32),
    e.RunCancelled(3, 2, 5),
    e.RunEnded(3, "", "given up"),
    e.MeasurementSent(3, "one_short", "plain", 431, None, "job 17, its own log", 1_800_000_000_000),
    e.CanaryStarted(
        "canary-7", "scope", (Scope(("ml",), ("dev/try",)), Scope(whole=True)),
        (Limit("wait_median", 60_000), Limit("throughput", 1_500)), "steps", 600_000, "automatic",
        1_800_000_600_000, (("ml/train", "group-uid-1"),),
    ),
    e.CanaryJudged(
        "canary-7", 0, "failed",
        (Measured("wait_median", 60_000, 90_000, 2, True, "failed"),
         Measured("throughput", 1_500, None, 0, False, "not_enough_data")),
        1_800_000_000_000, 1_800_000_600_000, "ask", True,
    ),
    e.CanaryWidened(
        "canary-7", 1, "scope", Scope(whole=True), 1_800_001_200_000, (("ml/wide", "group-uid-2"),),
        ("GangScheduling",),
    ),
    e.CanaryExtended("canary-7", 0, 1_800_001_200_000),
    e.GateRolledBack("canary-7", 1, "failed", Scope(whole=True), ("GangScheduling",), ("ml/train",), 3),
    e.CanaryEnded("canary-7", 1, "stopped", ("GangScheduling",)),
    e.ThroughputReported("ml", "train", "group-uid-1", 1, 2_345, "tokens", "trainer"),
    e.RolloutFactStated("autoscaler", "none", "runbook"),
    e.RehearsalRun((("GangScheduling", False),), 7, 41, (("moves", 2), ("same", 9))),
)  # fmt: skip


def _older(kind: type[Any]) -> Any:
    """The example of a decision, without who decided on what."""
    found = next(event for event in EXAMPLES if type(event) is kind)
    return replace(found, engine="1", decided_on=None)  # type: ignore[call-arg]


_DECIDED = '"generation":1,"name":"train","namespace":"ml"'
_GIVEN = (
    '"assignments":[["pod-uid-0","train-0","n1"]],"domain":"r1","enforced":true,"fits":1,'
    + _DECIDED
    + ',"members":1,"need":1,"profile":"exact","shapes":[[1,1]],'
    + f'"topology_key":"{RACK}","uid":"group-uid-1"'
)
_REFUSED = (
    '"bound":0,"domain":"r1","enforced":true,"fits":1,"fits_across_domains":true,"funnel":[2,2,2,1,0],'
    + _DECIDED
    + ',"members":2,"need":2,"profile":"exact","reason":"capacity","shapes":[[2,0]],'
    '"short_of":[["nvidia.com/gpu",4]],"table":{"causes":[[[0,4]],[]],"codes":["capacity","nvidia.com/gpu"],'
    '"domains":["r1","r2"],"eligible":[4,3],"fits":[1,0],"never":[0,1],"nodes":[4,4],"reasons":[0,0],'
    f'"short_of":[[[1,4]],[[1,8]]]}},"topology_key":"{RACK}","uid":"group-uid-1","unlabelled_nodes":3,'
    '"unmodelled":[],"verdict":"proved_infeasible"'
)
_COUNTS = '"members":2,"name":"train","namespace":"ml","need":2,'

OLDER: dict[tuple[str, int], tuple[str, e.Event]] = {
    ("NodeAdded", 1): ('{"node":{"name":"n1","uid":"u1"}}', e.NodeAdded(Node("n1", "u1"))),
    ("NodeUpdated", 1): (
        '{"changes":{"ready":false},"name":"n1","uid":"u1"}',
        e.NodeUpdated("n1", "u1", (("ready", False),)),
    ),
    ("PodGroupCreated", 1): (
        '{"group":{"name":"train","namespace":"ml","uid":"u1"}}',
        e.PodGroupCreated(PodGroup("ml", "train", "u1")),
    ),
    ("PodGroupUpdated", 1): (
        '{"changes":{"min_count":3},"generation":1,"name":"train","namespace":"ml","uid":"u1"}',
        e.PodGroupUpdated("ml", "train", "u1", 1, (("min_count", 3),)),
    ),
    ("PodAdded", 1): (
        '{"pod":{"name":"train-0","namespace":"ml","shape":{"requests":[["pods",1]]},"uid":"u0"}}',
        e.PodAdded(Pod("ml", "train-0", "u0", Shape((("pods", 1),)))),
    ),
    ("PodUpdated", 1): (
        '{"changes":{"shape":{"requests":[["pods",1]]}},"name":"train-0","namespace":"ml","uid":"u0"}',
        e.PodUpdated("ml", "train-0", "u0", (("shape", Shape((("pods", 1),))),)),
    ),
    ("PodGroupPlaced", 1): (f"{{{_GIVEN}}}", e.PodGroupPlaced(**_PLACED)),
    ("PlacementForecast", 1): (f"{{{_GIVEN}}}", e.PlacementForecast(**_PLACED)),
    ("PodGroupUnschedulable", 1): (
        f"{{{_REFUSED}}}",
        replace(_older(e.PodGroupUnschedulable), lost_to=None),
    ),
    ("PodGroupUnschedulable", 2): (
        f'{{{_REFUSED},"lost_to":{{"key":"ml/other","seq":7}}}}',
        _older(e.PodGroupUnschedulable),
    ),
    ("PodGroupHeld", 1): (
        '{"generation":1,"members":1,"name":"train","namespace":"ml","need":2,"reason":"not_enough_pods",'
        '"uid":"group-uid-1"}',
        _older(e.PodGroupHeld),
    ),
    ("PodGroupConflicted", 1): (
        f'{{"bound":2,"domains":["r1","r2"],"generation":1,{_COUNTS}"nodes":["n9"],'
        '"reason":"conflicting_domains","uid":"group-uid-1"}',
        _older(e.PodGroupConflicted),
    ),
    ("PodGroupSettled", 1): (
        f'{{"bound":2,"generation":1,{_COUNTS}"uid":"group-uid-1"}}',
        _older(e.PodGroupSettled),
    ),
    ("DomainLost", 1): (
        f'{{"domain":"r1",{_DECIDED},"nodes":["n1","n2"],"topology_key":"{RACK}","uid":"group-uid-1"}}',
        _older(e.DomainLost),
    ),
}
"""(type, older version) -> a body as it was stored in that version, and the event that it is read as."""


def events() -> SearchStrategy[e.Event]:
    """Any event of any type, with any values that the annotations allow."""
    return st.one_of(*(values(kind) for kind in e.CATALOGUE.values()))


def values(annotation: Any) -> SearchStrategy[Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is int:
        return st.integers(-(2**63), 2**63 - 1)
    if annotation is str:
        return st.text(max_size=8)
    if annotation is bool:
        return st.booleans()
    if origin is Annotated:
        return _changes(annotation.__metadata__[0].kind)
    if origin in (Union, types.UnionType):
        return st.none() | st.one_of(*(values(kind) for kind in arguments if kind is not type(None)))
    if origin is tuple and arguments[1:] == (...,):
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*(values(argument) for argument in arguments))
    assert is_dataclass(annotation), annotation
    kind: Any = annotation
    hints = get_type_hints(kind, include_extras=True)
    made = {field.name: values(hints[field.name]) for field in fields(kind)}
    usual = {
        field.name: st.just(field.default) | made[field.name]
        for field in fields(kind)
        if field.default is not MISSING
    }
    return st.builds(kind, **(made | usual))


def _changes(kind: Any) -> SearchStrategy[tuple[tuple[str, Any], ...]]:
    hints = get_type_hints(kind, include_extras=True)
    optional = {field.name: values(hints[field.name]) for field in fields(kind)}
    return st.fixed_dictionaries({}, optional=optional).map(lambda found: tuple(sorted(found.items())))
