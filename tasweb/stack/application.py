"""The three processes of the console itself: web, worker, beat."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tasweb.stack.supervisor import Service


def services(env: Mapping[str, str], run_directory: Path, port: int) -> tuple[Service, Service, Service]:
    """Worker, beat and web. `run_directory` takes their ready marks and beat's schedule file."""
    celery = [sys.executable, "-m", "celery", "-A", "tasweb.celery"]
    children = max(1, (os.cpu_count() or 2) - 1)

    def marked(name: str, *argv: str) -> Service:
        mark = run_directory / f"{name}.ready"
        mark.unlink(missing_ok=True)

        async def ready() -> bool:
            return mark.exists()

        return Service(name, argv, ready, {**env, "TAS_PROCESS": name, "TAS_READY_FILE": str(mark)})

    async def web_ready() -> bool:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
            return b" 200 " in await reader.readline()
        finally:
            writer.close()

    return (
        marked(
            "worker",
            *celery,
            *("worker", "--concurrency", str(children), "--without-gossip", "--without-mingle"),
        ),
        marked("beat", *celery, "beat", "--pidfile", "", "--schedule", str(run_directory / "beat-schedule")),
        Service(
            "web",
            [
                *(sys.executable, "-m", "uvicorn", "tasweb.asgi:application"),
                *("--host", "127.0.0.1", "--port", str(port), "--ws", "websockets-sansio"),
                *("--no-access-log", "--timeout-graceful-shutdown", "5"),
            ],
            web_ready,
            {**env, "TAS_PROCESS": "web"},
        ),
    )
