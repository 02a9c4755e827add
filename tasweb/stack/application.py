"""The processes of the console itself: web, two workers, beat."""

import asyncio
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tasweb.stack.supervisor import Service


@dataclass(frozen=True)
class Modules:
    """Where the applications are: those of the console, or ones around them that a harness listens with."""

    celery: str = "tasweb.celery"
    asgi: str = "tasweb.asgi:application"


OWN = Modules()


def services(
    env: Mapping[str, str], run_directory: Path, port: int, modules: Modules = OWN
) -> tuple[Service, ...]:
    """Worker of cycles, worker of the workbench, beat and web. `run_directory` takes their ready marks and
    beat's schedule file.
    """
    celery = [sys.executable, "-m", "celery", "-A", modules.celery]
    processors = os.cpu_count() or 2

    def worker(name: str, queues: str, children: int) -> Service:
        own = ("--queues", queues, "--concurrency", str(children), "--hostname", f"{name}@%h")
        return marked(name, *celery, "worker", *own, "--without-gossip", "--without-mingle")

    def marked(name: str, *argv: str) -> Service:
        mark = run_directory / f"{name}.ready"

        def prepare() -> None:
            mark.unlink(missing_ok=True)

        async def ready() -> bool:
            return mark.exists()

        return Service(name, argv, ready, {**env, "TAS_PROCESS": name, "TAS_READY_FILE": str(mark)}, prepare)

    async def web_ready() -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
            return b" 200 " in await reader.readline()
        finally:
            writer.close()

    return (
        worker("worker", "celery", max(1, processors - 1)),
        worker("workbench", "workbench,points", max(2, processors)),
        marked("beat", *celery, "beat", "--pidfile", "", "--schedule", str(run_directory / "beat-schedule")),
        Service(
            "web",
            [
                *(sys.executable, "-m", "uvicorn", modules.asgi),
                *("--host", "127.0.0.1", "--port", str(port), "--ws", "websockets-sansio"),
                *("--no-access-log", "--timeout-graceful-shutdown", "5"),
            ],
            web_ready,
            {**env, "TAS_PROCESS": "web"},
        ),
    )
