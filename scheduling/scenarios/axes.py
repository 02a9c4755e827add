"""What a batch varies: one or two axes over one scenario document, each a list of values and what one of them
does to the document. Pure.

Fields of steps are named as problems name them (``steps[1].templates[0].count``), in the document as it was
given: steps that an axis puts in come on top.
"""

from __future__ import annotations

import json
import re
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints, ValidationInfo, field_validator

from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.state import ClusterState
from scheduling.scenarios import documents
from scheduling.scenarios.documents import MOST_STEPS, ScenarioDocument
from scheduling.scenarios.steps import Named, Part, Text
from scheduling.services.problems import FORBIDDEN, INVALID, NOT_FOUND, REQUIRED, Problem, Refused

MOST_POINTS = 10_000
MOST_CHECKED = 30_000_000
"""Bytes of scenarios that are checked, one for each value of each axis, before a batch is taken."""
Value = int | bool | Text
Path = Annotated[str, StringConstraints(pattern=r"^steps\[\d{1,4}\]\..+$", max_length=400)]


class _Numbers(Part):
    """From ``first`` to ``last``, every ``by``."""

    first: int
    last: int
    by: int = Field(1, ge=1)

    @field_validator("last")
    @classmethod
    def _forward(cls, last: int, info: ValidationInfo) -> int:
        if last < info.data.get("first", last):
            raise ValueError("the last value comes before the first")
        return last

    def numbers(self) -> range:
        return range(self.first, self.last + 1, self.by)


class MembersAxis(_Numbers):
    """Members of the template of a submit step. A minCount that meant all members goes on to mean all of
    them; another one stays, and is never more than there are members.
    """

    axis: Literal["members"] = "members"
    step: int = Field(0, ge=0)
    template: int = Field(0, ge=0)


class MinCountAxis(_Numbers):
    """minCount of a step that has one."""

    axis: Literal["min_count"] = "min_count"
    step: int = Field(0, ge=0)


class LostNodesAxis(_Numbers):
    """So many nodes of one domain are lost before step ``before``, one after the other: by name, or those on
    which most or least of the GPUs (without GPUs: of the CPU) is in use first.
    """

    axis: Literal["lost_nodes"] = "lost_nodes"
    first: int = Field(0, ge=0)
    key: Named
    domain: Text
    order: Literal["name", "fullest", "emptiest"] = "name"
    before: int = Field(0, ge=0)


class EachDomainAxis(Part):
    """Each domain of the key in turn is lost or cordoned before step ``before``."""

    axis: Literal["each_domain"] = "each_domain"
    key: Named
    happens: Literal["lose_nodes", "cordon"] = "lose_nodes"
    before: int = Field(0, ge=0)


class RangeAxis(_Numbers):
    """Any whole number of a step."""

    axis: Literal["range"] = "range"
    path: Path


class ValuesAxis(Part):
    """Any field of a step: these values, one after the other."""

    axis: Literal["values"] = "values"
    path: Path
    values: tuple[Value, ...] = Field(min_length=1, max_length=MOST_POINTS)


Axis = Annotated[
    MembersAxis | MinCountAxis | LostNodesAxis | EachDomainAxis | RangeAxis | ValuesAxis,
    Field(discriminator="axis"),
]

AXES: tuple[type[Part], ...] = (
    MembersAxis, MinCountAxis, LostNodesAxis, EachDomainAxis, RangeAxis, ValuesAxis,
)  # fmt: skip
"""In the order in which a form offers them."""


class BatchDocument(Part):
    """``group``: whose verdict is asked at the end of each point, "" for the last one that the steps
    submit.
    """

    scenario: ScenarioDocument
    axes: tuple[Axis, ...] = Field(min_length=1, max_length=2)
    group: Annotated[str, StringConstraints(pattern=r"^([^/\s]+/[^/\s]+)?$", max_length=316)] = ""


def read(value: Any) -> BatchDocument:
    """Of parsed JSON. Raises Refused: problems with paths (``axes[0].last``, ``scenario.steps[1].node``)."""
    return documents.checked(BatchDocument, value, "Batch")


def ticks(axis: Axis, state: ClusterState) -> list[Any]:
    """The values of an axis on the state that a batch begins with. Raises Refused, with the field of the axis
    as the path.
    """
    if isinstance(axis, ValuesAxis):
        return list(axis.values)
    if isinstance(axis, EachDomainAxis):
        return list(_domains(axis.key, state))
    if isinstance(axis, LostNodesAxis):
        there = len(_nodes_in(axis, state))
        if axis.last > min(there, MOST_STEPS):
            message = f"{axis.key}={axis.domain} has {there} nodes; a scenario has at most {MOST_STEPS} steps"
            raise _refused("last", INVALID, message)
    count = (axis.last - axis.first) // axis.by + 1  # before a list of them takes all memory
    if count > MOST_POINTS:
        raise _refused(
            "last", INVALID, f"these are {count:,} values; a batch has at most {MOST_POINTS:,} points"
        )
    return list(axis.numbers())


def checked(document: BatchDocument, state: ClusterState) -> list[list[Any]]:
    """The ticks of each axis; every value of each has been tried with the first of the other. Raises Refused
    with the axis and its field as paths.
    """
    found: list[list[Any]] = []
    for place, axis in enumerate(document.axes):
        try:
            found.append(ticks(axis, state))
        except Refused as refused:
            raise _at(place, refused) from None
    total = 1
    for values in found:
        total *= len(values)
    if not 1 <= total <= MOST_POINTS:
        message = f"these are {total:,} points; a batch has from 1 to {MOST_POINTS:,}"
        raise Refused([Problem("Batch", "", "", "axes", INVALID, message)])
    size = len(json.dumps(document.scenario.model_dump(mode="json")))
    if size * sum(map(len, found)) > MOST_CHECKED:
        message = (
            f"a scenario of {size:,} bytes is too large for so many values: at most {MOST_CHECKED // size:,}"
        )
        raise Refused([Problem("Batch", "", "", "axes", INVALID, message)])
    for place, values in enumerate(found):
        for value in values:
            point = [value if at == place else others[0] for at, others in enumerate(found)]
            try:
                made = varied(document, point, state)
            except Refused as refused:
                raise _at(place, refused, value) from None
            if not document.group and not any(step.step.startswith("submit") for step in made.steps):
                message = "no step submits a group: name the one whose verdict is asked"
                raise Refused([Problem("Batch", "", "", "group", REQUIRED, message)])
    return found


def varied(document: BatchDocument, point: list[Any], state: ClusterState) -> ScenarioDocument:
    """The scenario with a value of each axis put in. Raises Refused, with the path in the scenario that came
    of it, or the field of the axis.
    """
    body = document.scenario.model_dump(mode="json")
    steps: list[dict[str, Any]] = body["steps"]
    before: list[tuple[int, list[dict[str, Any]]]] = []
    for axis, value in zip(document.axes, point, strict=True):
        match axis:
            case MembersAxis():
                _with_members(steps, axis, value)
            case MinCountAxis():
                _put(steps, f"steps[{axis.step}].min_count", value, "step")
            case RangeAxis() | ValuesAxis():
                _put(steps, axis.path, value, "path")
            case LostNodesAxis():
                lost = _nodes_in(axis, state)[:value]
                before.append((axis.before, [{"step": "lose_nodes", "node": name} for name in lost]))
            case EachDomainAxis():
                happens = {"step": axis.happens, "key": axis.key, "domain": value}
                before.append((axis.before, [happens]))
    for place, more in sorted(before, key=lambda each: -each[0]):
        if place > len(document.scenario.steps):
            raise _refused("before", INVALID, f"the scenario has {len(document.scenario.steps)} steps")
        steps[place:place] = more
    return documents.read(body)


def _with_members(steps: list[dict[str, Any]], axis: MembersAxis, count: int) -> None:
    if axis.step >= len(steps) or steps[axis.step]["step"] != "submit":
        raise _refused("step", INVALID, f"steps[{axis.step}] is no step that submits by a form")
    step = steps[axis.step]
    if axis.template >= len(step["templates"]):
        raise _refused("template", INVALID, f"steps[{axis.step}] has {len(step['templates'])} templates")
    before = sum(template["count"] for template in step["templates"])
    step["templates"][axis.template]["count"] = count
    after = sum(template["count"] for template in step["templates"])
    step["min_count"] = after if step["min_count"] == before else min(step["min_count"], after)


_NEXT = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,9})\]")


def _put(steps: list[dict[str, Any]], path: str, value: Any, field: str) -> None:
    """Put the value at the path, where something is already. What is left of the path is looked for as one
    name first: names of resources have dots.
    """
    missing = _refused(field, NOT_FOUND, f"the scenario has no {path}")
    at: Any = {"steps": steps}
    rest = path
    while True:
        name = rest.removeprefix(".")
        if isinstance(at, dict) and name in at:
            there = at[name]
            # Quantities are text in documents; whole numbers in their place are meant as such.
            at[name] = json.dumps(value) if isinstance(there, str) and isinstance(value, int) else value
            return
        found = _NEXT.match(rest)
        if found is None:
            raise missing
        step: Any = found[1] if found[1] is not None else int(found[2])
        inside = step in at if isinstance(at, dict) else isinstance(step, int) and step < len(at)
        if not isinstance(at, dict | list) or not inside:
            raise missing
        if found.end() == len(rest):
            at[step] = value
            return
        at, rest = at[step], rest[found.end() :]
        if not isinstance(at, dict | list):
            raise missing


def _domains(key: str, state: ClusterState) -> tuple[str, ...]:
    if key == NUMA_KEY:
        raise _refused("key", FORBIDDEN, "a NUMA zone is a part of its node, and is not lost alone")
    domains = state.index(key).domains
    if not domains:
        raise _refused("key", NOT_FOUND, f"no node carries the label {key}")
    return domains


def _nodes_in(axis: LostNodesAxis, state: ClusterState) -> list[str]:
    """The nodes of its domain in the order in which they are lost."""
    index = state.index(axis.key)
    if axis.domain not in _domains(axis.key, state):
        raise _refused("domain", NOT_FOUND, f"no node carries {axis.key}={axis.domain}")
    names = sorted(index.names[index.slice(index.number[axis.domain])])
    if axis.order == "name":
        return names

    def used(name: str) -> int:
        amounts = state.used(name)
        devices = [amount for resource, amount in amounts.items() if resource.endswith("/gpu")]
        return sum(devices) if devices else amounts.get("cpu", 0)

    return sorted(names, key=used, reverse=axis.order == "fullest")


def _refused(path: str, reason: str, message: str) -> Refused:
    return Refused([Problem("Batch", "", "", path, reason, message)])


def _at(place: int, refused: Refused, value: Any = None) -> Refused:
    """As problems of the axis; those of the scenario that a value made name the value and their path."""
    problems = []
    for problem in refused.problems:
        if problem.kind == "Batch":
            path, message = f"axes[{place}].{problem.path}", problem.message
        else:
            path, message = f"axes[{place}]", f"with {value}: {problem.path}: {problem.message}"
        problems.append(Problem("Batch", "", "", path, problem.reason, message))
    return Refused(problems)
