"""What would make a PodGroup run and what kube-scheduler would do, as the explanation gives them."""

from __future__ import annotations

from typing import Annotated, Literal

from ninja import Field, Schema
from pydantic import TypeAdapter

from scheduling.engine.census import Census
from scheduling.engine.changes import ChangeSet
from scheduling.engine.obstacles import Obstacle
from scheduling.engine.profiles.compare import Comparison
from scheduling.wording import changes as wording
from scheduling.wording import comparison as comparing

Count = Annotated[int, Field(ge=1)]


class UncordonStep(Schema):
    step: Literal["uncordon"]
    node: str


class NodeReadyStep(Schema):
    step: Literal["node_ready"]
    node: str


class TolerateStep(Schema):
    """The members to be placed tolerate this taint, with this value and effect only."""

    step: Literal["tolerate"]
    key: str
    value: str
    effect: str


class LabelNodeStep(Schema):
    """A node that is in no domain gets the topology key with the value of one."""

    step: Literal["label_node"]
    node: str
    key: str
    value: str


class AddNodesStep(Schema):
    """New nodes in the domain, each an empty copy of the node `like`."""

    step: Literal["add_nodes"]
    domain: str
    like: str
    count: Count


class ReleaseReservationStep(Schema):
    step: Literal["release_reservation"]
    name: str
    holder_kind: str
    holder: str


class EndGroupStep(Schema):
    step: Literal["end_group"]
    group: str = Field(description="Key of the PodGroup that would end.")
    priority: int
    above: bool = Field(description="Its priority is higher than that of the group that waits.")
    members: int = Field(description="Its members on nodes.")
    gpus: int = Field(description="GPUs that they hold.")


class NewGenerationStep(Schema):
    """The group is ended and submitted again with this minCount; its members are bound to no domain."""

    step: Literal["new_generation"]
    min_count: Count
    was: int = Field(description="minCount now.")
    bound: int = Field(description="Members that lose their node by it.")


class UngateStep(Schema):
    step: Literal["ungate"]
    count: Count


class AddMembersStep(Schema):
    """Members that are missing, each like the last one there is."""

    step: Literal["add_members"]
    count: Count


StepOut = Annotated[
    UncordonStep
    | NodeReadyStep
    | TolerateStep
    | LabelNodeStep
    | AddNodesStep
    | ReleaseReservationStep
    | EndGroupStep
    | NewGenerationStep
    | UngateStep
    | AddMembersStep,
    Field(discriminator="step"),
]

_STEPS: TypeAdapter[list[StepOut]] = TypeAdapter(list[StepOut])


class ChangeSetOut(Schema):
    """Changes that would make the group run. Decided on the changed state; no step can be left out."""

    id: str = Field(description="The same steps have the same id.")
    sentence: str
    steps: list[StepOut]
    cost: list[int] = Field(
        description="The order, least first: changes to be made, groups of higher priority ended, members "
        "disturbed, GPUs disturbed, how hard the hardest step is."
    )
    domain: str = Field(description="Where the group would be then.")
    placed: int = Field(description="Members that would be on nodes then.")
    need: int = Field(description="minCount then.")


class UpstreamOut(Schema):
    """What kube-scheduler would do on the same state, by its own rules."""

    profile: str
    sentence: str
    verdict: str
    reason: str
    domain: str
    placed: int = Field(description="Members that would be on nodes.")
    misses: bool = Field(description="This console places the group; kube-scheduler does not, or by luck.")
    agree: bool = Field(description="Both choose the same domain, or neither places anything.")
    unaware: bool = Field(
        description="Room is held somewhere or the group is in a queue: kube-scheduler knows of neither."
    )
    ties: list[str] = Field(description="Equal domains between which it rolls; empty when one is best.")
    luck: list[int] = Field(description="[k, n]: of n rolls tried k place the group; [0, 0]: no matter.")


class NodeCountOut(Schema):
    code: str
    nodes: int


class PartlyOut(Schema):
    lacks: list[str] = Field(description="Resources of which too little is free for one member.")
    nodes: int


class CensusOut(Schema):
    """Every node of the cluster counted once, as the waiting members find it."""

    nodes: int
    elsewhere: int = Field(description="In other domains than the one that bound members pin.")
    unlabelled: list[NodeCountOut] = Field(
        description="In no domain: they do not carry the topology key. `usable`, or what bars them besides."
    )
    barred: list[NodeCountOut] = Field(description="taint, cordoned, node_not_ready or selector.")
    takes: int = Field(description="With room for a member.")
    partly: list[PartlyOut] = Field(description="With room for some of what a member requests.")
    full: int = Field(description="With room for none of it.")
    empty_value: int = Field(description="In the domain whose value is the empty string.")
    together: int = Field(
        description="So many domains would hold minCount between them, which the law forbids; 0: not known."
    )


class ObstacleOut(Schema):
    """What stands in the way in one of the nearest domains."""

    domain: str
    code: str = Field(description="cordoned, node_not_ready, taint, reserved, or group.")
    nodes: int
    name: str = Field(description="Of the node, when it is one; of the reservation; of the group.")


def change_sets_out(changes: tuple[ChangeSet, ...], scope_key: str) -> list[ChangeSetOut]:
    return [
        ChangeSetOut(
            id=change.id,
            sentence=wording.sentence(change, scope_key),
            steps=_STEPS.validate_python(change.to_json()["steps"]),
            cost=list(change.cost),
            domain=change.domain,
            placed=change.placed,
            need=change.need,
        )
        for change in changes
    ]


def upstream_out(found: Comparison) -> UpstreamOut:
    upstream = found.upstream
    return UpstreamOut(
        profile=upstream.profile,
        sentence=str(comparing.sentences(found)),
        verdict=str(upstream.verdict),
        reason=str(upstream.reason),
        domain=upstream.domain,
        placed=upstream.bound + len(upstream.assignments),
        misses=found.misses,
        agree=found.agree,
        unaware=found.unaware,
        ties=list(upstream.ties),
        luck=list(upstream.luck),
    )


def census_out(census: Census | None) -> CensusOut | None:
    if census is None:
        return None
    return CensusOut(
        nodes=census.nodes,
        elsewhere=census.elsewhere,
        unlabelled=[NodeCountOut(code=code, nodes=nodes) for code, nodes in census.unlabelled],
        barred=[NodeCountOut(code=code, nodes=nodes) for code, nodes in census.barred],
        takes=census.takes,
        partly=[PartlyOut(lacks=list(lacks), nodes=nodes) for lacks, nodes in census.partly],
        full=census.full,
        empty_value=census.empty_value,
        together=census.together,
    )


def obstacles_out(obstacles: tuple[Obstacle, ...]) -> list[ObstacleOut]:
    return [
        ObstacleOut(domain=found.domain, code=found.code, nodes=found.nodes, name=found.name)
        for found in obstacles
    ]
