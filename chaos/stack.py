"""The processes that are killed: durable PostgreSQL and Valkey of their own, and web, worker and beat of the
console.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from chaos.points import Points
from tasweb.stack import ROOT, postgres, throwaway, valkey
from tasweb.stack.application import Modules
from tasweb.stack.supervisor import lives
from tasweb.stack.throwaway import Held

SERVERS = {"postgres": "postgres", "redis": "valkey"}
"""Victims that are servers, by the name of their process."""

APPLICATION = ("worker", "web", "beat")

MODULES = Modules(celery="chaos.worker", asgi="chaos.web:application")


class NotReached(Exception):
    """What was waited for did not come in its time."""


def until(condition: Callable[[], Any], what: str, seconds: float) -> Any:
    """The first true value of the condition. Raises NotReached with ``what``."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise NotReached(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.02)
    return found


@dataclass
class Stack:
    """A running console. ``directory`` has the servers' data, ``logs`` those of the application."""

    directory: Path
    logs: Path
    port: int
    servers: Held
    application: Held
    points: Points

    def kill(self, *victims: str) -> None:
        """SIGKILL to all of them."""
        application = [victim for victim in victims if victim in APPLICATION]
        servers = [SERVERS[victim] for victim in victims if victim in SERVERS]
        if application:
            self.application.kill(*application)
        if servers:
            self.servers.kill(*servers)

    def empty_redis(self) -> None:
        """Throw away what a killed Valkey had kept."""
        shutil.rmtree(self.directory / "valkey" / "appendonlydir")

    def start(self, *victims: str) -> None:
        """The killed ones again; returns when each of them is ready."""
        servers = [SERVERS[victim] for victim in victims if victim in SERVERS]
        if servers:
            self.servers.start(*servers)
        application = [victim for victim in victims if victim in APPLICATION]
        if application:
            self.application.start(*application)

    def healthy(self) -> bool:
        """Whether /health is 200."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def release(self, pid: int) -> bool:
        """Let a stopped process go on; False when it has been killed."""
        return self.points.release(lambda: lives(pid))


@contextmanager
def running(env: dict[str, str], directory: Path) -> Iterator[Stack]:
    """Servers in ``directory`` with an empty migrated database, and the console on them.

    ``env``: as ``environment`` makes it. StackError when something does not start.
    """
    logs = throwaway.short_directory()
    stops = throwaway.short_directory()
    try:
        points = Points(stops)
        with throwaway.servers(directory, durable=True) as servers:
            migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            subprocess.run(migrate, cwd=ROOT, env=env, check=True)
            port = _free_port()
            with throwaway.application(
                env | points.env, port, directory=logs, modules=MODULES
            ) as application:
                yield Stack(directory, logs, port, servers, application, points)
    finally:
        shutil.rmtree(stops, ignore_errors=True)


def environment(directory: Path) -> dict[str, str]:
    """What the console needs to know to run on servers in ``directory``: its runtime role, and the owner for
    migrations.
    """
    return {
        **os.environ,
        "SECRET_KEY": "for chaos only: nothing signed with it is ever trusted",
        "DJANGO_SETTINGS_MODULE": "tasweb.settings",
        "TAS_LOG_LEVEL": "WARNING",
        **postgres.urls(directory),
        **valkey.urls(directory),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
