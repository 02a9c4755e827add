"""The live feed as it is served: uvicorn, the channel layer, the runtime's database role, a real client."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from websockets.exceptions import InvalidStatus
from websockets.sync.client import ClientConnection, connect

from scheduling.models import Cluster
from scheduling.services.nodes import cordon, uncordon
from tests.api.support import RACK
from tests.conftest import LiveStack

Dial = Callable[[str], ClientConnection]


@pytest.fixture
def dial(live_stack: LiveStack, cookie: str) -> Iterator[Dial]:
    """A socket of the signed-in viewer."""
    with ExitStack() as opened:

        def make(path: str) -> ClientConnection:
            address = live_stack.url.replace("http:", "ws:") + path
            headers = {"Cookie": cookie}
            socket = connect(address, origin=live_stack.url, additional_headers=headers)  # type: ignore[arg-type]
            return opened.enter_context(socket)

        yield make


def heard(socket: ClientConnection, seconds: float = 10) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(socket.recv(seconds))
    return message


def test_an_idle_socket_lives_on_and_hears_a_heartbeat_every_five_seconds(
    cluster: Cluster, dial: Dial
) -> None:
    """A channel layer with a read timeout ends idle sockets after some seconds; so do some proxies after
    30.
    """
    socket = dial("/ws/clusters/demo/")
    assert heard(socket)["t"] == "hello"
    started = time.monotonic()
    beats = 0
    while time.monotonic() - started < 31:
        beats += heard(socket)["t"] == "hb"
    assert beats >= 5
    seq = cordon(cluster=cluster, node="node-1-1", actor="test").last_seq
    while (message := heard(socket))["t"] != "advanced":
        pass
    assert message["seq"] == seq


def test_150_quick_events_arrive_complete_or_are_recovered(
    cluster: Cluster, dial: Dial, viewer: User
) -> None:
    client = Client()
    client.force_login(viewer)

    def ask(path: str, **query: Any) -> Any:
        answer = client.get(f"/api/v1/clusters/demo/{path}", {"key": RACK, **query})
        assert answer.status_code == 200, answer.content
        return answer.json()

    socket = dial(f"/ws/clusters/demo/?key={RACK}")
    assert heard(socket)["t"] == "hello"
    snapshot = ask("map")
    states = dict(zip(snapshot["nodes"]["name"], snapshot["nodes"]["state"], strict=True))
    mine = snapshot["seq"]
    names = sorted(states)
    last = mine
    for number in range(150):
        act = cordon if number // len(names) % 2 == 0 else uncordon
        last = act(cluster=cluster, node=names[number % len(names)], actor="test").last_seq
    assert last == mine + 150
    messages = 0
    while mine < last:
        message = heard(socket)
        messages += 1
        missed = message["from"] if message["t"] == "delta" else message["seq"]
        if missed > mine:
            message = ask("map/deltas", since=mine)
        if message["t"] == "delta" and message["from"] <= mine < message["to"]:
            states |= {row[1]: row[3] for row in message["nodes"]}
            mine = message["to"]
    after = ask("map")["nodes"]
    assert states == dict(zip(after["name"], after["state"], strict=True))
    assert messages < 150


def test_a_page_of_another_origin_gets_no_socket(
    live_stack: LiveStack, cluster: Cluster, cookie: str
) -> None:
    address = live_stack.url.replace("http:", "ws:") + "/ws/clusters/demo/"
    with pytest.raises(InvalidStatus) as refused:
        connect(address, origin="https://evil.test", additional_headers={"Cookie": cookie}).__enter__()  # type: ignore[arg-type]
    assert refused.value.response.status_code == 403


def test_a_stranger_hears_why_the_socket_is_closed(live_stack: LiveStack, cluster: Cluster) -> None:
    address = live_stack.url.replace("http:", "ws:") + "/ws/clusters/demo/"
    with connect(address, origin=live_stack.url) as socket:  # type: ignore[arg-type]
        with pytest.raises(Exception, match="4401"):
            socket.recv(10)
        assert socket.close_code == 4401
