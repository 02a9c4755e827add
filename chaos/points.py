"""Where a process of the console can be stopped to be killed: the listening end, and the end that asks for
it.

Who wants a stop puts a file ``wanted.<process>.<point>`` into the folder TAS_STOP_FOLDER. The first thread of
such a process to come to that point renames it to ``reached.<pid>`` and waits there, for the gate to open or
for SIGKILL.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scheduling.ledger.signals import APPEND_POINTS, append_reached
from scheduling.scenarios.signals import RUN_POINTS, run_reached
from scheduling.services.signals import CYCLE_POINTS, cycle_reached

APPEND = tuple(f"append.{point}" for point in APPEND_POINTS)
CYCLE = tuple(f"cycle.{point}" for point in CYCLE_POINTS)
RUN = tuple(f"run.{point}" for point in RUN_POINTS)

FOLDER = "TAS_STOP_FOLDER"
PROCESS = "TAS_PROCESS"


# ---------------------------------------------------------------- in the process


def listen() -> None:
    """Connect this process's signals; called by the application modules around those of the console."""
    append_reached.connect(_on_append, weak=False)
    cycle_reached.connect(_on_cycle, weak=False)
    run_reached.connect(_on_run, weak=False)


def _on_append(*, point: str, **_: object) -> None:
    _stop(f"append.{point}")


def _on_cycle(*, point: str, **_: object) -> None:
    _stop(f"cycle.{point}")


def _on_run(*, point: str, **_: object) -> None:
    _stop(f"run.{point}")


def _stop(point: str) -> None:
    folder = Path(os.environ[FOLDER])
    try:
        (folder / f"wanted.{os.environ[PROCESS]}.{point}").rename(folder / f"reached.{os.getpid()}")
    except FileNotFoundError:
        return
    # Opening a pipe to read waits until somebody opens it to write.
    os.close(os.open(folder / "gate", os.O_RDONLY))


# ---------------------------------------------------------------- outside of it


class Points:
    """The stops that are wanted in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        os.mkfifo(folder / "gate")
        self.folder = folder

    @property
    def env(self) -> dict[str, str]:
        return {FOLDER: str(self.folder)}

    def want(self, process: str, point: str) -> None:
        """Stop the first thread of ``process`` (as TAS_PROCESS names it) that comes to ``point``."""
        (self.folder / f"wanted.{process}.{point}").touch()

    def reached(self) -> int | None:
        """The pid of the process that has been stopped, once; None when none has been yet."""
        mark = next(self.folder.glob("reached.*"), None)
        if mark is None:
            return None
        mark.unlink()
        return int(mark.suffix[1:])

    def withdraw(self) -> None:
        """Want nothing any more."""
        for mark in self.folder.glob("wanted.*"):
            mark.unlink(missing_ok=True)

    def release(self, lives: Callable[[], Any]) -> bool:
        """Let the stopped process go on; False when it ``lives`` no more."""
        while lives():
            try:
                os.close(os.open(self.folder / "gate", os.O_WRONLY | os.O_NONBLOCK))
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                time.sleep(0.005)  # between its mark and its waiting at the gate
            else:
                return True
        return False
