"""The console while PostgreSQL or Redis is away; when they are back it is itself again, with nothing of it
started anew.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPConnection
from typing import Any

import pytest

from chaos.stack import Stack, environment, running, until
from tasweb.stack import ROOT, node, throwaway

PATIENCE = 60
"""Seconds after which a wait has failed; a wait ends as soon as what it waits for is there."""


@dataclass
class Console:
    """A console of its own with the demo cluster, and what its user `admin` signs in with."""

    stack: Stack
    sign_in: str
    token: str
    node: str = ""

    def ask(self, method: str, path: str) -> tuple[int, Message, str]:
        """Status, headers and body of an answer; a page is asked with a cookie that has to be looked up."""
        connection = HTTPConnection("127.0.0.1", self.stack.port, timeout=PATIENCE)
        headers = {"Authorization": f"Bearer {self.token}", "Cookie": f"sessionid={'x' * 32}"}
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        return answer.status, answer.headers, body

    def api(self, method: str, path: str) -> tuple[int, Any]:
        status, _, body = self.ask(method, f"/api/v1{path}")
        return status, json.loads(body)

    def is_decided(self) -> bool:
        status, body = self.api("GET", "/clusters/demo")
        return status == 200 and body["seq"] == body["last_cycle_seq"]


@pytest.fixture(scope="module")
def console() -> Iterator[Console]:
    node.build()
    directory = throwaway.short_directory()
    env = environment(directory)
    with running(env, directory) as stack:

        def manage(*words: str) -> str:
            command = [sys.executable, "manage.py", *words]
            done = subprocess.run(command, cwd=ROOT, env=env, check=True, capture_output=True, text=True)
            return done.stdout.split()[-1]

        made = Console(
            stack, f"/login/once/{manage('first_start')}/", manage("tas_token", "create", "admin", "t")
        )
        until(made.is_decided, "the demo cluster is decided", PATIENCE)
        made.node = made.api("GET", "/clusters/demo/nodes?state=free&limit=1")[1]["items"][0]["name"]
        yield made


def fill_the_pool(console: Console) -> None:
    """So that connections lie in it when the server dies."""
    with ThreadPoolExecutor(6) as several:
        assert list(several.map(lambda _: console.ask("GET", "/clusters/")[0], range(12))) == [302] * 12


def test_pages_and_api_say_that_the_database_is_away_and_serve_at_once_when_it_is_back(
    console: Console,
) -> None:
    fill_the_pool(console)
    console.stack.kill("postgres")
    try:
        status, headers, page = console.ask("GET", "/clusters/")
        assert (status, headers["Retry-After"]) == (503, "5")
        assert "The database does not answer. Load this page again in a moment." in page
        status, body = console.api("GET", "/clusters")
        assert (status, body["code"]) == (503, "unavailable")
        assert body["message"].startswith("The database does not answer.")
        status, _, text = console.ask("GET", "/health")
        assert (status, json.loads(text)) == (503, {"database": "unreachable", "redis": "ok"})
    finally:
        console.stack.start("postgres")
    assert [console.api("GET", "/clusters")[0] for _ in range(12)] == [200] * 12


def test_no_request_gets_a_connection_of_the_server_that_was_before(console: Console) -> None:
    fill_the_pool(console)
    console.stack.kill("postgres")
    console.stack.start("postgres")
    assert [console.api("GET", "/clusters")[0] for _ in range(12)] == [200] * 12


@pytest.mark.parametrize("server", ["postgres", "redis"])
def test_worker_and_beat_go_on_by_themselves_after_a_server_was_away(console: Console, server: str) -> None:
    before = console.stack.application.pids()
    console.stack.kill(server)
    console.stack.start(server)
    until(console.stack.healthy, "/health is 200", PATIENCE)

    status, done = console.api("POST", f"/clusters/demo/nodes/{console.node}/cordon")
    assert status == 200, done
    until(console.is_decided, "the cordon is decided on", PATIENCE)

    status, done = console.api("POST", f"/clusters/demo/nodes/{console.node}/uncordon")
    assert status == 200 and done["first_seq"] == done["last_seq"]
    until(console.is_decided, "the uncordon is decided on", PATIENCE)
    assert console.stack.application.pids() == before


def test_commands_are_taken_while_redis_is_away_and_decided_when_it_is_back(console: Console) -> None:
    console.stack.kill("redis")
    try:
        status, done = console.api("POST", f"/clusters/demo/nodes/{console.node}/cordon")
        assert status == 200, done
        status, _, text = console.ask("GET", "/health")
        assert (status, json.loads(text)) == (503, {"database": "ok", "redis": "unreachable"})
        status, page = console.api("GET", f"/clusters/demo/events?after={done['first_seq'] - 1}")
        assert [event["type"] for event in page["items"]] == ["NodeUpdated"]
    finally:
        console.stack.start("redis")
    until(console.is_decided, "the cordon is decided on", PATIENCE)


def test_open_pages_say_that_they_are_stale_while_the_database_is_away_and_recover(
    console: Console, browser: Any
) -> None:
    context = browser.new_context(base_url=f"http://127.0.0.1:{console.stack.port}")
    pages = {path: context.new_page() for path in ("/c/demo/map", "/c/demo/podgroups/")}
    next(iter(pages.values())).goto(console.sign_in)

    def wait_for(state: str) -> None:
        for page in pages.values():
            page.wait_for_selector(f"#live-pill[data-state={state}]", timeout=PATIENCE * 1000)

    for path, page in pages.items():
        page.goto(path)
    wait_for("live")
    console.stack.kill("postgres")
    try:
        wait_for("stale")
    finally:
        console.stack.start("postgres")
    wait_for("live")
    context.close()
