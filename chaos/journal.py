"""What the clients know for certain: every command that they sent, and what came of it."""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class Command:
    """``key``: the Idempotency-Key, the same in every try. ``tries``: of each a status, or what went wrong.
    ``answer``: the body of the 2xx; ``refusal``: that of a 4xx. Neither: not known yet, and asked
    again.
    """

    key: str
    cluster: str
    kind: str
    method: str
    path: str
    body: Any = None
    tries: list[str] = field(default_factory=list)
    answer: dict[str, Any] | None = None
    refusal: dict[str, Any] | None = None

    @property
    def known(self) -> bool:
        return self.answer is not None or self.refusal is not None

    def as_dict(self) -> dict[str, Any]:
        told = asdict(self)
        if isinstance(self.body, bytes):
            told["body"] = self.body.decode()
        return told


class Journal:
    """Kept in the memory of the clients, who are never killed. For any number of threads."""

    def __init__(self) -> None:
        self._commands: dict[str, Command] = {}
        self._failures: list[str] = []
        self._lock = threading.Lock()

    def write(self, command: Command) -> None:
        """Before it is sent the first time."""
        with self._lock:
            self._commands[command.key] = command

    def complain(self, sentence: str) -> None:
        """Something that no client should have seen."""
        with self._lock:
            self._failures.append(sentence)

    def commands(self) -> list[Command]:
        with self._lock:
            return list(self._commands.values())

    def complaints(self) -> list[str]:
        """Those since it was asked last."""
        with self._lock:
            told, self._failures = self._failures, []
            return told
