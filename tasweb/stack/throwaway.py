"""Throw-away servers, and the console's processes on them, for tests and benches.

`reserve` only names the sockets, so settings can be read before anything runs; `servers` and `application`
start processes and end them with the context. Another process (`python -m tasweb.stack.held`) owns what they
start and ends it when its standard input closes, so nothing outlives a test run that is killed.
"""

import json
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tasweb.stack import ROOT, StackError, postgres, valkey
from tasweb.stack.application import OWN, Modules

SOCKET_PATH_LIMIT = 100
"""Bytes; the systems allow 103 to 107 for the whole path of a unix socket."""


def short_directory() -> Path:
    """A new name (no directory yet) whose sockets stay below the limit of a socket path."""
    name = f"tas-{secrets.token_hex(4)}"
    preferred = Path(tempfile.gettempdir()) / name
    return (
        preferred
        if len(os.fsencode(preferred / ".s.PGSQL.5432.lock")) < SOCKET_PATH_LIMIT
        else Path("/tmp") / name
    )


def urls(directory: Path) -> dict[str, str]:
    """As of the private stack, but the owner runs the tests: it makes and drops the test database."""
    found = postgres.urls(directory) | valkey.urls(directory)
    return found | {"DATABASE_URL": found["DATABASE_OWNER_URL"]}


def reserve() -> None:
    """Put the addresses of servers yet to be started into the environment, unless it names servers
    already."""
    os.environ.setdefault("SECRET_KEY", "for tests only: nothing signed with it is ever trusted")
    if "DATABASE_URL" in os.environ and "REDIS_URL" in os.environ:
        return
    directory = short_directory()
    os.environ.update({"TAS_THROWAWAY": str(directory), **urls(directory)})


def release() -> None:
    """Take back what `reserve` put, so that each process that is started next reserves servers of its own."""
    directory = os.environ.pop("TAS_THROWAWAY", None)
    if directory is not None:
        for name in urls(Path(directory)):
            del os.environ[name]


@dataclass
class Held:
    """Processes that a holder runs for us; `kill` and `start` are for tests of failures."""

    holder: "subprocess.Popen[str]"

    def _say(self, *words: str) -> dict[str, int]:
        assert self.holder.stdin and self.holder.stdout
        if words:
            print(*words, file=self.holder.stdin, flush=True)
        line = self.holder.stdout.readline()
        if not line.startswith("{"):
            raise StackError((line + self.holder.stdout.read()).strip())
        pids: dict[str, int] = json.loads(line)
        return pids

    def kill(self, *names: str) -> None:
        """SIGKILL processes with all their children, at once; returns when they are gone."""
        self._say("kill", *names)

    def start(self, *names: str) -> None:
        """Start killed processes again, together; returns when they are ready."""
        self._say("start", *names)

    def pids(self) -> dict[str, int]:
        """The running processes by name."""
        return self._say("pids")


@contextmanager
def _held(*arguments: str, env: Mapping[str, str] | None = None) -> Iterator[Held]:
    holder = subprocess.Popen(
        [sys.executable, "-m", "tasweb.stack.held", *arguments],
        cwd=ROOT,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        held = Held(holder)
        held._say()
        yield held
    finally:
        assert holder.stdin and holder.stdout
        holder.stdin.close()
        last_words = holder.stdout.read().strip()
        code = holder.wait()
        holder.stdout.close()
    if code:
        raise StackError(last_words)


def servers(directory: Path, *, durable: bool = False) -> AbstractContextManager[Held]:
    """PostgreSQL and Valkey on sockets in `directory`, which the holder makes and removes.

    `durable`: what they have acknowledged outlives them, as in production.
    """
    return _held("servers", str(directory), *(["durable"] if durable else []))


def application(
    env: Mapping[str, str], port: int, *, directory: Path | None = None, modules: Modules = OWN
) -> AbstractContextManager[Held]:
    """Web on `port`, worker and beat, with the given environment; their logs are in `directory`, which the
    holder makes and removes.
    """
    where = str(directory or short_directory())
    return _held("application", where, str(port), modules.celery, modules.asgi, env=env)
