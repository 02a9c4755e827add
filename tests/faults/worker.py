"""A worker of the console that a test can stop at a point and kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from chaos.points import Points

ROOT = Path(__file__).parents[2]
PATIENCE = 90
"""Seconds after which a wait has failed; a wait ends as soon as what it waits for is there."""


def until(condition: Callable[[], Any], what: str) -> Any:
    """The first true value of the condition."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError(f"{what}: not within {PATIENCE} s")


class Worker:
    """A worker of the console in a process group of its own, stopped where ``points`` say."""

    def __init__(self, folder: Path, database_url: str, queues: str = "celery", children: int = 1) -> None:
        self.folder = folder
        self.queues, self.children_wanted = queues, children
        self.points = Points(folder / "points")
        self.env = {
            **os.environ,
            "DATABASE_URL": database_url,
            "DJANGO_SETTINGS_MODULE": "tasweb.settings",
            "TAS_PROCESS": "worker",
            **self.points.env,
        }
        self.start()

    def start(self) -> None:
        ready = self.folder / "ready"
        ready.unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "celery", "-A", "chaos.worker", "worker"),
                    *("--queues", self.queues, "--concurrency", str(self.children_wanted)),
                    *("--without-gossip", "--without-mingle"),
                ],
                cwd=ROOT,
                env={**self.env, "TAS_READY_FILE": str(ready)},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(ready.exists, "the worker is ready")

    def reached(self) -> int:
        """Waits until a child stands at the point; its pid."""
        pid: int = until(self.points.reached, "the point is reached")
        return pid

    def kill(self) -> None:
        """The worker with all its children, unless it has ended."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
