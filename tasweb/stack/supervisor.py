"""One supervisor: starts processes in groups, waits until each answers, tells which one died, stops in
reverse order."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tasweb.stack import ROOT, ProcessDied, StackError, privileges

POLL_SECONDS = 0.05
LOG_LINES = 20


@dataclass(frozen=True)
class Service:
    """A long-running process. `ready` answers whether it serves; it may raise OSError while it does not."""

    name: str
    argv: Sequence[str | Path]
    ready: Callable[[], Awaitable[bool]]
    env: Mapping[str, str] | None = None
    prepare: Callable[[], None] = lambda: None
    """Called before every start."""
    identity: privileges.Identity = "same"
    stop_signal: signal.Signals = signal.SIGTERM
    orphan_signal: signal.Signals = signal.SIGKILL
    """What the kernel sends it when the supervisor is killed."""
    start_seconds: float = 60
    stop_seconds: float = 8


@dataclass
class Running:
    service: Service
    process: asyncio.subprocess.Process
    exited: "asyncio.Task[int]"


@dataclass
class Supervisor:
    """Owns every process it started until `stop`; logs go to ``<logs>/<name>.log``."""

    logs: Path
    groups: list[list[Running]] = field(default_factory=list)

    async def _spawn(
        self,
        name: str,
        argv: Sequence[str | Path],
        env: Mapping[str, str] | None,
        identity: privileges.Identity,
        orphan_signal: signal.Signals,
    ) -> asyncio.subprocess.Process:
        parent = os.getpid()

        def before_exec() -> None:
            privileges.assume(identity)
            privileges.follow_parent(parent, orphan_signal)

        with self.log(name).open("wb") as log:
            try:
                return await asyncio.create_subprocess_exec(
                    *map(str, argv),
                    cwd=ROOT,  # where the console's own modules are found
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=env,
                    preexec_fn=before_exec,
                )
            except OSError as error:
                raise StackError(f"{name} could not be started: {error}") from error

    def log(self, name: str) -> Path:
        return self.logs / f"{name}.log"

    def _tail(self, name: str) -> str:
        text = self.log(name).read_text(errors="replace")
        return "\n".join(f"    {line}" for line in text.splitlines()[-LOG_LINES:])

    async def run(
        self,
        name: str,
        argv: Sequence[str | Path],
        *,
        env: Mapping[str, str] | None = None,
        identity: privileges.Identity = "same",
    ) -> str:
        """Run a step to its end and return what it printed; StackError with the last lines when it fails."""
        process = await self._spawn(name, argv, env, identity, signal.SIGKILL)
        try:
            code = await process.wait()
        finally:
            if process.returncode is None:
                await _end(process, signal.SIGTERM, 5)
        if code:
            raise ProcessDied(f"{name} failed with exit code {code}; its last lines:\n{self._tail(name)}")
        return self.log(name).read_text(errors="replace")

    async def start(self, *services: Service) -> None:
        """Start the services together, as one group, and return when all of them are ready."""
        group: list[Running] = []
        self.groups.append(group)
        for service in services:
            service.prepare()
            process = await self._spawn(
                service.name, service.argv, service.env, service.identity, service.orphan_signal
            )
            group.append(Running(service, process, asyncio.create_task(process.wait())))
        waits = [asyncio.create_task(self._until_ready(running)) for running in group]
        try:
            await asyncio.gather(*waits)
        finally:
            for wait in waits:
                wait.cancel()

    async def _until_ready(self, running: Running) -> None:
        service, deadline = running.service, asyncio.get_running_loop().time() + running.service.start_seconds
        while asyncio.get_running_loop().time() < deadline:
            with suppress(OSError):
                if await service.ready():
                    return
            await asyncio.wait([running.exited], timeout=POLL_SECONDS)
            if running.exited.done():
                raise self.obituary(running)
        raise ProcessDied(
            f"{service.name} did not answer within {service.start_seconds:.0f} s; its last lines:\n"
            f"{self._tail(service.name)}"
        )

    def obituary(self, running: Running) -> ProcessDied:
        code, name = running.exited.result(), running.service.name
        cause = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"exited with code {code}"
        return ProcessDied(f"{name} {cause}; its last lines:\n{self._tail(name)}")

    async def until_one_dies(self) -> ProcessDied:
        """Wait until any process ends by itself and say which."""
        everyone = [running for group in self.groups for running in group]
        await asyncio.wait([running.exited for running in everyone], return_when=asyncio.FIRST_COMPLETED)
        return self.obituary(next(running for running in everyone if running.exited.done()))

    def find(self, name: str) -> Running:
        return next(running for group in self.groups for running in group if running.service.name == name)

    async def kill(self, *names: str) -> list[Service]:
        """SIGKILL the processes with all their descendants, at once; returns when every one of them is gone.

        Descendants are looked for one by one: each backend of PostgreSQL is in a session of its own, and a
        server cannot be started on data that one of them still uses.
        """
        victims = [self.find(name) for name in names]
        for running in victims:
            os.killpg(running.process.pid, signal.SIGSTOP)  # so that they make no more children
        children = descendants({running.process.pid for running in victims})
        for pid in children:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for running in victims:
            os.killpg(running.process.pid, signal.SIGKILL)
        for running in victims:
            await running.exited
            for group in self.groups:
                if running in group:
                    group.remove(running)
        while any(map(lives, children)):
            await asyncio.sleep(POLL_SECONDS / 5)
        return [running.service for running in victims]

    async def stop(self) -> None:
        """Stop the groups in reverse order; what does not stop in its time is killed with its whole process
        group."""
        while self.groups:
            group = self.groups[-1]
            await asyncio.gather(
                *(
                    _end(running.process, running.service.stop_signal, running.service.stop_seconds)
                    for running in group
                )
            )
            self.groups.pop()


def descendants(pids: Collection[int]) -> set[int]:
    """All processes below these; empty where there is no /proc."""
    parents = {
        int(stat.parent.name): int(text.rpartition(")")[2].split()[1])
        for stat in Path("/proc").glob("[0-9]*/stat")
        if (text := _read(stat))
    }
    found: set[int] = set()
    while more := {pid for pid, parent in parents.items() if parent in {*pids, *found}} - found:
        found |= more
    return found


def lives(pid: int) -> bool:
    """Whether the process holds anything: a zombie does not."""
    text = _read(Path(f"/proc/{pid}/stat"))
    return bool(text) and text.rpartition(")")[2].split()[0] not in "ZX"


def _read(path: Path) -> str:
    """ "" when the process is gone."""
    try:
        return path.read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


async def _end(process: asyncio.subprocess.Process, stop_signal: signal.Signals, seconds: float) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(stop_signal)
        with suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), seconds)
    # Also after an orderly end: children that outlived their parent share its group.
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
