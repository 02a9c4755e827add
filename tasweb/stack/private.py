"""`manage.py up`: the private servers, then the console on them, until told to stop."""

import asyncio
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tasweb.stack import ROOT, StackError, application, node, postgres, throwaway, translations, valkey
from tasweb.stack.state import StateDirectory
from tasweb.stack.supervisor import Service, Supervisor

OLD_SERVER_SECONDS = 15


class Private:
    """One run of `up`. `say` prints a line."""

    def __init__(self, state: StateDirectory, port: int, say: Callable[[str], None]) -> None:
        self.state, self.port, self.say = state, port, say
        self.supervisor = Supervisor(state.logs)
        self.sockets = throwaway.short_directory()

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Say what was done and how long it took."""
        began = time.monotonic()
        yield
        self.say(f"{time.monotonic() - began:6.1f} s  {what}")

    async def run(self) -> None:
        """Start everything, print the address, wait. StackError when something is missing or dies."""
        stop = asyncio.Event()
        main = asyncio.ensure_future(self._serve())
        stopped = asyncio.ensure_future(stop.wait())
        stopping = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # not under `nohup`
            stopping.append(signal.SIGHUP)
        for number in stopping:
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        try:
            await asyncio.wait([main, stopped], return_when=asyncio.FIRST_COMPLETED)
            if main.done():
                main.result()
        finally:
            stopped.cancel()
            main.cancel()
            await asyncio.wait([main, stopped])
            if self.supervisor.groups:
                with self.step("stopped"):
                    await self.supervisor.stop()
            self.state.withdraw()
            shutil.rmtree(self.sockets, ignore_errors=True)

    async def _serve(self) -> None:
        with self.step("front end"):
            await asyncio.to_thread(node.build)
            translations.compile_catalogues(ROOT / "locale")
        env = await self._servers()
        manage = [sys.executable, str(ROOT / "manage.py")]
        with self.step("database migrated"):
            await self.supervisor.run("migrate", [*manage, "migrate", "--verbosity", "0"], env=env)
        with self.step("tables in step with the log"):
            await self.supervisor.run("rebuild", [*manage, "rebuild_projections", "--behind"], env=env)
        with self.step("first user and demo cluster"):
            printed = await self.supervisor.run("first_start", [*manage, "first_start"], env=env)
            token = printed.split()[-1]
        with self.step("web, worker and beat"):
            await self.supervisor.start(*application.services(env, self.state.run, self.port))
        self.say(f"\nOpen http://127.0.0.1:{self.port}/login/once/{token}/")
        self.say("It signs you in, once, within ten minutes. Ctrl-C stops everything; the data stays.")
        raise await self.supervisor.until_one_dies()

    async def _servers(self) -> dict[str, str]:
        """Start the servers that the environment does not name; the environment for the console."""
        env = dict(os.environ)
        env.setdefault("SECRET_KEY", self.state.secret_key())
        services: list[Service] = []
        own: dict[str, str] = {"SECRET_KEY": env["SECRET_KEY"]}
        self.state.withdraw()
        self.sockets.mkdir(mode=0o700)
        with self.step("servers"):
            if "DATABASE_URL" not in env:
                binaries = postgres.find()
                await self._old_server_gone()
                await postgres.initialise(self.supervisor, binaries, self.state.postgres)
                services.append(postgres.service(binaries, self.state.postgres, self.sockets))
                own |= postgres.urls(self.sockets)
            if "REDIS_URL" not in env:
                services.append(valkey.service(valkey.find(), self.state.valkey, self.sockets))
                own |= valkey.urls(self.sockets)
            self.state.publish(own, self.sockets)
            if services:
                await self.supervisor.start(*services)
            if "DATABASE_URL" not in env:
                await postgres.create_roles(self.sockets)
        return {**env, **own, "DJANGO_SETTINGS_MODULE": "tasweb.settings"}

    async def _old_server_gone(self) -> None:
        """After a killed `up` its PostgreSQL may still be writing its last checkpoint."""
        deadline = time.monotonic() + OLD_SERVER_SECONDS
        while (pid := postgres.living_postmaster(self.state.postgres)) is not None:
            if time.monotonic() > deadline:
                raise StackError(
                    f"A PostgreSQL of an earlier run (process {pid}) still uses {self.state.postgres}: "
                    "stop it first."
                )
            await asyncio.sleep(0.1)


def claim_port(port: int) -> None:
    """StackError when the port is taken."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise StackError(
                f"Port {port} cannot be used ({error.strerror}): give another --port."
            ) from error


def up(state_directory: Path, port: int, say: Callable[[str], None]) -> None:
    """Run until Ctrl-C. StackError for what stops it from starting, ProcessDied after a process died."""
    state = StateDirectory(state_directory)
    state.prepare()
    with state.owned():
        claim_port(port)
        asyncio.run(Private(state, port, say).run())
