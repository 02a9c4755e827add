"""`python -m tasweb.stack.held`: runs servers or the application until standard input closes; obeys kill and
start.

Prints one JSON object of pids when ready and after every command; anything else it prints is an error
sentence.
"""

import asyncio
import json
import os
import shutil
import signal
import sys
from pathlib import Path

from tasweb.stack import StackError, application, postgres, valkey
from tasweb.stack.supervisor import Service, Supervisor


async def _servers(supervisor: Supervisor, directory: Path, *, durable: bool) -> None:
    binaries, data = postgres.find(), directory / "pg"
    await postgres.initialise(supervisor, binaries, data)
    await supervisor.start(
        postgres.service(binaries, data, directory, durable=durable),
        valkey.service(valkey.find(), directory / "valkey", directory, durable=False),
    )
    await postgres.create_roles(directory, may_create_databases=True)


async def _obey(supervisor: Supervisor, line: str, killed: dict[str, Service]) -> None:
    command, _, name = line.strip().partition(" ")
    if command == "kill":
        running = supervisor.find(name)
        os.killpg(running.process.pid, signal.SIGKILL)
        await running.exited
        killed[name] = running.service
        for group in supervisor.groups:
            if running in group:
                group.remove(running)
    elif command == "start":
        await supervisor.start(killed.pop(name))


def _report(supervisor: Supervisor) -> None:
    pids = {running.service.name: running.process.pid for group in supervisor.groups for running in group}
    print(json.dumps(pids), flush=True)


async def main(kind: str, directory: Path, *rest: str) -> None:
    directory.mkdir(mode=0o700)
    supervisor = Supervisor(directory)
    killed: dict[str, Service] = {}
    loop = asyncio.get_running_loop()
    commands = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    try:
        if kind == "servers":
            await _servers(supervisor, directory, durable="durable" in rest)
        else:
            await supervisor.start(*application.services(os.environ, directory, int(rest[0])))
        _report(supervisor)
        while line := await commands.readline():
            await _obey(supervisor, line.decode(), killed)
            _report(supervisor)
        dead = [running for group in supervisor.groups for running in group if running.exited.done()]
        if dead:
            raise supervisor.obituary(dead[0])
    finally:
        await supervisor.stop()
        shutil.rmtree(directory)  # here and not in whoever holds us, who may have been killed


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]))
    except StackError as error:
        print(error, flush=True)
        sys.exit(1)
