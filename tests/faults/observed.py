"""The Celery application of the console, stopped where a test wants to kill it: `celery -A
tests.faults.observed`.

The test puts a file ``wanted.<point>`` into the folder TAS_STOP_FOLDER. The first process to reach that point
of a cycle renames it to ``reached.<its pid>`` and waits there to be killed.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

from django.dispatch import receiver

from scheduling.services.signals import cycle_reached
from tasweb.celery import app

__all__ = ["app"]


@receiver(cycle_reached)
def stop(*, point: str, **_: object) -> None:
    folder = Path(os.environ["TAS_STOP_FOLDER"])
    try:
        (folder / f"wanted.{point}").rename(folder / f"reached.{os.getpid()}")
    except FileNotFoundError:
        return
    while True:
        signal.pause()
