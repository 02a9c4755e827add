"""What a service says when it does not do what it was asked: the object, the field and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

REQUIRED = "FieldValueRequired"
INVALID = "FieldValueInvalid"
FORBIDDEN = "FieldValueForbidden"
DUPLICATE = "FieldValueDuplicate"
NOT_FOUND = "NotFound"
CONFLICT = "Conflict"
"""Reasons as an API server names the causes of a refusal (NotFound: the object that a command names is not
there; Conflict: things stand so that it cannot be done).
"""


@dataclass(frozen=True, slots=True)
class First:
    """The event that came first, and so decided what a command found. ``at``: recorded, milliseconds."""

    cluster: str
    seq: int
    type: str
    actor: str
    at: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong (or, as a notice, worth knowing) about one object.

    ``path``: the field as in a manifest (``spec.nodeName``) or a form (``templates[0].requests.cpu``), "" for
    the whole object. ``reason``: a code as above, "" for a notice. ``first``: where it is so because of
    another command or decision, the event of that.
    """

    kind: str
    namespace: str
    name: str
    path: str
    reason: str
    message: str
    first: First | None = None

    def __str__(self) -> str:
        owner = f"{self.namespace}/{self.name}" if self.namespace else self.name
        where = " ".join(part for part in (self.kind, owner, self.path) if part)
        message = self.message
        if self.first is not None:
            message += f" ({self.first.actor} came first: event {self.first.seq}, {self.first.type})"
        return f"{where}: {message}" if where else message


class Refused(Exception):
    """The command was refused and nothing was stored. ``problems`` is never empty."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(str(problem) for problem in self.problems))
