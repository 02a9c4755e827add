"""`manage.py up` as its user sees it: one console through a crash, a second try, and Ctrl-C."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from tasweb.management.commands.test import ELSEWHERE

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 120


class Up:
    """One `manage.py up`, and all processes that descend from it, known by a mark in their environment."""

    def __init__(self, state, port):
        self.port, self.mark = port, f"TAS_TEST_MARK={uuid.uuid4()}"
        env = {k: v for k, v in os.environ.items() if k not in ELSEWHERE and not k.startswith("TAS_")}
        name, value = self.mark.split("=")
        command = [
            sys.executable,
            str(ROOT / "manage.py"),
            "up",
            "--port",
            str(port),
            "--state-dir",
            str(state),
        ]
        self.process = subprocess.Popen(
            command,
            cwd="/",
            env={**env, name: value},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def wait_until_open(self):
        """The address that it prints; fails with what it said when it ends instead."""
        said = []
        for line in self.process.stdout:
            said.append(line)
            if line.startswith("Open "):
                return line.split()[1]
        pytest.fail("up ended:\n" + "".join(said))

    def end(self):
        """(exit code, what it still said), once it has ended."""
        said, _ = self.process.communicate(timeout=60)
        return self.process.returncode, said

    def processes(self):
        """{pid: command line} of everything it started that still runs."""
        found = {}
        for directory in Path("/proc").glob("[0-9]*"):
            try:
                if self.mark.encode() in (directory / "environ").read_bytes().split(b"\0"):
                    found[int(directory.name)] = (directory / "cmdline").read_bytes().replace(b"\0", b" ")
            except (OSError, ValueError):
                continue  # gone meanwhile, or not ours
        return found


def until_none(up):
    deadline = time.monotonic() + 20
    while left := up.processes():
        assert time.monotonic() < deadline, f"still running: {left}"
        time.sleep(0.05)  # polls the process table


def get(address, cookies=None):
    """(status, redirect, cookies) by curl's rules, without following."""
    import http.client
    from urllib.parse import urlsplit

    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=20)
    connection.request("GET", parts.path, headers={"Cookie": cookies} if cookies else {})
    answer = connection.getresponse()
    answer.read()
    set_cookies = "; ".join(value.split(";")[0] for value in answer.headers.get_all("Set-Cookie") or [])
    return answer.status, answer.headers.get("Location"), set_cookies


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_up_through_a_crash_a_second_start_a_dead_worker_and_ctrl_c(state, port):
    first = Up(state, port)
    try:
        address = first.wait_until_open()
        assert re.fullmatch(rf"http://127\.0\.0\.1:{port}/login/once/[\w.-]+/", address)
        status, where, cookies = get(address)
        assert (status, where) == (302, "/")
        assert "sessionid=" in cookies
        assert get(address)[1] == "/login/", "the link works once"
        assert (state.stat().st_mode & 0o777) == 0o700

        # A second one on the same state, and one on the same port.
        code, said = Up(state, port + 1).end()
        assert (code, said.count("\n")) == (2, 1)
        assert "Another `up` already runs" in said
        code, said = Up(state.with_name("other-state"), port).end()
        assert (code, said.count("\n")) == (2, 1)
        assert f"Port {port} cannot be used" in said

        # Killed, it leaves nothing behind but the data.
        assert len(first.processes()) > 4
        first.process.kill()
        first.end()
        until_none(first)
    finally:
        first.process.kill()

    second = Up(state, port)
    try:
        second.wait_until_open()
        assert get(f"http://127.0.0.1:{port}/", cookies)[1] != "/login/?next=/", (
            "still signed in: the data is there"
        )
        worker = next(
            pid for pid, command in second.processes().items() if b" worker --queues celery " in command
        )
        os.kill(worker, signal.SIGKILL)
        code, said = second.end()
        assert code == 1
        assert "worker was killed by SIGKILL" in said
        until_none(second)
    finally:
        second.process.kill()

    third = Up(state, port)
    try:
        third.wait_until_open()
        began = time.monotonic()
        third.process.send_signal(signal.SIGINT)
        code, _ = third.end()
        assert code == 0
        assert time.monotonic() - began < 15
        until_none(third)
    finally:
        third.process.kill()
