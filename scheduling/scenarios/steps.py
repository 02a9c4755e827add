"""The steps a scenario is made of, as data: what each is called in documents and which fields it has.

What a step does to a fork is in ``effects``. Groups are named by key (``namespace/name``); a step about nodes
names one, or all of one topology domain.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

MOST_MEMBERS = 10_000
MOST_NODES = 5_000
LONGEST_ADVANCE = 30 * 24 * 3600

Text = Annotated[str, StringConstraints(max_length=316)]
Named = Annotated[str, StringConstraints(min_length=1, max_length=316)]
GroupKey = Annotated[str, StringConstraints(pattern=r"^[^/\s]+/[^/\s]+$", max_length=316)]


class Part(BaseModel):
    """Immutable; a field that it does not have is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Members(Part):
    """``count`` members alike; quantities as in manifests."""

    role: Text = ""
    count: int = Field(1, ge=1, le=MOST_MEMBERS)
    requests: dict[str, str] = {}
    node_selector: dict[str, str] = {}
    tolerations: tuple[dict[str, Any], ...] = ()
    spread: tuple[dict[str, Any], ...] = ()


class Submit(Part):
    """Submit a PodGroup with its members, as the form of the console does."""

    step: Literal["submit"] = "submit"
    namespace: Named
    name: Named
    policy: Literal["gang", "basic"] = "gang"
    min_count: int = Field(1, ge=1, le=MOST_MEMBERS)
    topology_key: Text = ""
    priority: int = 0
    queue: Text = ""
    templates: tuple[Members, ...] = Field(min_length=1, max_length=20)


class SubmitManifest(Part):
    """Submit everything in a manifest: any number of PodGroups with their pods."""

    step: Literal["submit_manifest"] = "submit_manifest"
    manifest: Annotated[str, StringConstraints(min_length=1, max_length=1 << 20)]


class OnNodes(Part):
    """``node``, or every node with the label ``key`` = ``domain``: one of the two."""

    node: Text = ""
    key: Text = ""
    domain: Text | None = None

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if bool(self.node) == bool(self.key) or bool(self.key) != (self.domain is not None):
            raise ValueError("name either a node, or a topology key and a domain")
        return self


class LoseNodes(OnNodes):
    """The nodes are gone, and what was on them."""

    step: Literal["lose_nodes"] = "lose_nodes"


class Cordon(OnNodes):
    step: Literal["cordon"] = "cordon"


class Uncordon(OnNodes):
    step: Literal["uncordon"] = "uncordon"


class SetReady(OnNodes):
    """The nodes become ready, or not ready."""

    step: Literal["set_ready"] = "set_ready"
    ready: bool


class SetLabel(OnNodes):
    step: Literal["set_label"] = "set_label"
    label: Named
    value: Text


class RemoveLabel(OnNodes):
    step: Literal["remove_label"] = "remove_label"
    label: Named


class AddNodes(Part):
    """New empty nodes in a domain: of a node type that the cluster has, or like one of its nodes."""

    step: Literal["add_nodes"] = "add_nodes"
    count: int = Field(ge=1, le=MOST_NODES)
    type: Text = ""
    like: Text = ""
    key: Text = ""
    domain: Text = ""

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        if bool(self.type) == bool(self.like):
            raise ValueError("name either a node type, or a node that the new ones are like")
        return self


class ChangeGpu(OnNodes):
    """The nodes have another GPU: the value of the label that names the product, and how many there are
    (None: as many as before).
    """

    step: Literal["change_gpu"] = "change_gpu"
    product: Named
    label: Named = "nvidia.com/gpu.product"
    gpus: int | None = Field(None, ge=0, le=1024)


class RecreateMembers(Part):
    """Bound members of the group die and are made anew. ``pod``: which one; else the first ``count``."""

    step: Literal["recreate_members"] = "recreate_members"
    group: GroupKey
    pod: Text = ""
    count: int = Field(1, ge=1, le=MOST_MEMBERS)


class ChangeMinCount(Part):
    """A new generation with another minCount; none of its members is bound."""

    step: Literal["change_min_count"] = "change_min_count"
    group: GroupKey
    min_count: int = Field(ge=1, le=MOST_MEMBERS)


class EndGroup(Part):
    step: Literal["end_group"] = "end_group"
    group: GroupKey


class SwitchGate(Part):
    step: Literal["switch_gate"] = "switch_gate"
    gate: Named
    enabled: bool


class AdvanceClock(Part):
    """Time passes: rests end, deadlines and reservations run out."""

    step: Literal["advance_clock"] = "advance_clock"
    seconds: int = Field(ge=1, le=LONGEST_ADVANCE)


class Tolerate(Part):
    """The waiting members of the group tolerate a taint."""

    step: Literal["tolerate"] = "tolerate"
    group: GroupKey
    key: Named
    value: Text = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class ReleaseReservation(Part):
    step: Literal["release_reservation"] = "release_reservation"
    name: Named


class Ungate(Part):
    """So many members of the group have their scheduling gates taken off."""

    step: Literal["ungate"] = "ungate"
    group: GroupKey
    count: int = Field(1, ge=1, le=MOST_MEMBERS)


class AddMembers(Part):
    """So many members more are made, each like the last one there is."""

    step: Literal["add_members"] = "add_members"
    group: GroupKey
    count: int = Field(1, ge=1, le=MOST_MEMBERS)


STEPS: tuple[type[Part], ...] = (
    Submit, SubmitManifest, LoseNodes, Cordon, Uncordon, SetReady, SetLabel, RemoveLabel, AddNodes, ChangeGpu,
    RecreateMembers, ChangeMinCount, EndGroup, SwitchGate, AdvanceClock, Tolerate, ReleaseReservation, Ungate,
    AddMembers,
)  # fmt: skip
"""Every kind of step, in the order in which a form offers them."""

Step = Annotated[
    Submit
    | SubmitManifest
    | LoseNodes
    | Cordon
    | Uncordon
    | SetReady
    | SetLabel
    | RemoveLabel
    | AddNodes
    | ChangeGpu
    | RecreateMembers
    | ChangeMinCount
    | EndGroup
    | SwitchGate
    | AdvanceClock
    | Tolerate
    | ReleaseReservation
    | Ungate
    | AddMembers,
    Field(discriminator="step"),
]
