"""Scenarios as documents: one model for forms, YAML, JSON and the log, which goes from each to each
unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, TypeVar

import yaml
from pydantic import BaseModel, Field, StringConstraints, ValidationError

from scheduling.engine.decide import PROFILES
from scheduling.kube.export import to_yaml as dump
from scheduling.kube.yaml_loader import YamlProblem, load
from scheduling.scenarios.steps import Part, Step
from scheduling.services.problems import INVALID, REQUIRED, Problem, Refused
from scheduling.storable import unstorable

MOST_STEPS = 200

_Model = TypeVar("_Model", bound=BaseModel)


class ScenarioDocument(Part):
    """``name``: as it is saved, "" for one that is not. ``at``: where it begins: "" for the newest event when
    it is run, else a seq or a time as addresses have them. ``profile``: of the engine.
    """

    name: Annotated[str, StringConstraints(pattern=r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$", max_length=63)] = ""
    about: Annotated[str, StringConstraints(max_length=2000)] = ""
    at: Annotated[str, StringConstraints(max_length=60)] = ""
    profile: str = "exact"
    steps: tuple[Step, ...] = Field((), max_length=MOST_STEPS)


def read_yaml(text: str) -> ScenarioDocument:
    """One document of YAML or JSON. Raises Refused, with the line where the text itself is at fault."""
    return read(parsed(text))


def parsed(text: str) -> dict[str, Any]:
    """What the one document of a text says, whatever that is. Raises Refused for text that is none."""
    try:
        found = [value for value, _ in load(text)]
    except YamlProblem as error:
        message = f"{error.message} (line {error.line})"
        raise Refused([Problem("Scenario", "", "", "", INVALID, message)]) from None
    except (yaml.YAMLError, RecursionError) as error:
        raise Refused([Problem("Scenario", "", "", "", INVALID, str(error))]) from None
    if len(found) != 1 or not isinstance(found[0], dict):
        raise Refused([Problem("Scenario", "", "", "", INVALID, "one document with the steps is needed")])
    return dict(found[0])


def read(value: Any) -> ScenarioDocument:
    """Of parsed JSON. Raises Refused: a problem for each field at fault, with its path
    (``steps[2].node``).
    """
    document = checked(ScenarioDocument, value, "Scenario")
    if document.profile not in PROFILES:
        message = f"{document.profile!r} is none of {', '.join(PROFILES)}"
        raise Refused([Problem("Scenario", "", document.name, "profile", INVALID, message)])
    return document


def checked(model: type[_Model], value: Any, kind: str) -> _Model:
    """The value as the model has it; strings are not taken for numbers. Raises Refused for ``kind``, also for
    what the log could not hold.
    """
    name = value.get("name", "") if isinstance(value, dict) else ""
    name = name if isinstance(name, str) and not unstorable(name) else ""
    if bad := unstorable(value):
        message = "holds characters that cannot be stored"
        paths = (re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", path) for path in bad)
        raise Refused([Problem(kind, "", name, path, INVALID, message) for path in paths])
    if fractions := list(_no_integers(value, "")):
        message = "a whole number of at most 64 bits is needed"
        raise Refused([Problem(kind, "", name, path, INVALID, message) for path in fractions])
    try:
        # As JSON: there a list is a tuple, and nothing else is taken for what it is not.
        return model.model_validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        raise Refused([_problem(kind, name, value, found) for found in _faults(error)]) from None
    except (TypeError, ValueError) as error:
        raise Refused([Problem(kind, "", name, "", INVALID, str(error))]) from None


def _no_integers(value: Any, path: str) -> Iterator[str]:
    """Paths of numbers that are no integers of 64 bits."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _no_integers(part, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _no_integers(part, f"{path}[{place}]")
    elif isinstance(value, float) or (isinstance(value, int) and not -(2**63) <= value < 2**63):
        yield path


def to_json(document: BaseModel) -> dict[str, Any]:
    """Without the fields that have their default, but for the kind of each step."""
    body: dict[str, Any] = document.model_dump(mode="json", exclude_defaults=True)
    for step, kept in zip(getattr(document, "steps", ()), body.get("steps", []), strict=True):
        kept["step"] = step.step
    return body


def step_json(step: Part) -> dict[str, Any]:
    """A step alone, without the fields that have their default, but for its kind."""
    return {"step": step.step, **step.model_dump(mode="json", exclude_defaults=True)}  # type: ignore[attr-defined]


def to_yaml(document: ScenarioDocument) -> str:
    """As people write it: the kind of a step first."""
    return written(to_json(document))


def written(body: dict[str, Any]) -> str:
    """A document as YAML, also one that is not right yet."""
    first = [{"step": step["step"], **step} for step in body.get("steps", ())]
    return dump({**body, "steps": first} if first else body)


def _faults(error: ValidationError) -> list[Any]:
    """Without lists that are said to be too short because the items in them are at fault."""
    found = error.errors()
    inner = {each["loc"][:length] for each in found for length in range(len(each["loc"]))}
    return [each for each in found if each["type"] != "too_short" or each["loc"] not in inner]


def _problem(kind: str, name: str, value: Any, found: Any) -> Problem:
    """``loc`` holds the discriminator's value too, where it names no key of what was sent."""
    path, at = "", value
    before: Any = None
    for part in found["loc"]:
        item, before = isinstance(before, int), part
        if isinstance(part, int):
            path += f"[{part}]"
            at = at[part] if isinstance(at, list) and part < len(at) else None
        elif item and isinstance(at, dict) and part in (at.get("step"), at.get("axis")):
            continue
        else:
            path += f".{part}" if path else str(part)
            at = at.get(part) if isinstance(at, dict) else None
    missing = found["type"] in ("missing", "union_tag_not_found")
    message = str(found["ctx"]["error"]) if "error" in found.get("ctx", {}) else found["msg"]
    return Problem(kind, "", name, path, REQUIRED if missing else INVALID, message)
