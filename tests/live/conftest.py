"""A small cluster that is really in the database, and browsers that watch it."""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from asgiref.sync import SyncToAsync
from asgiref.testing import ApplicationCommunicator
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.db import connections
from django.test import Client

from scheduling.models import Cluster
from scheduling.services.clusters import ImportRequest, import_cluster
from tasweb.asgi import application
from tests.api.support import dump, node


@pytest.fixture
def cluster(transactional_db: None) -> Cluster:
    """`demo`: two racks of two nodes with 8 GPUs each."""
    nodes = [node(f"node-{rack}-{place}", f"rack-{rack}") for rack in (1, 2) for place in (1, 2)]
    request = ImportRequest(data=dump(*nodes), mode="simulated", gates=None)
    import_cluster(name="demo", request=request, actor="test")
    return Cluster.objects.get(name="demo")


@pytest.fixture
def viewer(transactional_db: None) -> User:
    user = User.objects.create_user("viewer")
    user.user_permissions.add(Permission.objects.get(codename="view_cluster"))
    return user


@pytest.fixture
def cookie(viewer: User) -> str:
    return cookie_of(viewer)


def cookie_of(user: User) -> str:
    """The Cookie header of a browser in which the user is signed in."""
    client = Client()
    client.force_login(user)
    return f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"


class Browser:
    """A WebSocket of the whole ASGI application, as a page of this origin opens it."""

    def __init__(self, path: str, cookie: str = "", origin: str = "http://localhost") -> None:
        route, _, query = path.partition("?")
        self.wire = ApplicationCommunicator(
            application,
            {
                "type": "websocket",
                "path": route,
                "query_string": query.encode(),
                "headers": [
                    (b"origin", origin.encode()),
                    (b"host", b"localhost"),
                    (b"cookie", cookie.encode()),
                ],
                "subprotocols": [],
            },
        )

    async def open(self) -> bool:
        """Whether the server accepted."""
        await self.wire.send_input({"type": "websocket.connect"})
        accepted: bool = (await self.wire.receive_output(5))["type"] == "websocket.accept"
        return accepted

    async def say(self, text: str) -> None:
        await self.wire.send_input({"type": "websocket.receive", "text": text})

    async def next(self, timeout: float = 5) -> dict[str, Any]:
        output = await self.wire.receive_output(timeout)
        assert output["type"] == "websocket.send", output
        message: dict[str, Any] = json.loads(output["text"])
        return message

    async def until(self, kind: str, timeout: float = 8) -> dict[str, Any]:
        """The next message of a type; others before it are dropped."""
        while (message := await self.next(timeout))["t"] != kind:
            pass
        return message

    async def code(self) -> int:
        """The code with which the server closes."""
        output = await self.wire.receive_output(5)
        assert output["type"] == "websocket.close", output
        code: int = output["code"]
        return code

    async def leave(self) -> None:
        await self.wire.send_input({"type": "websocket.disconnect", "code": 1000})
        await self.wire.wait(5)


@pytest.fixture
async def watch(cookie: str) -> AsyncIterator[Callable[..., Any]]:
    """`await watch(path)`: an open browser of the viewer; closed after the test."""
    browsers: list[Browser] = []

    async def make(path: str) -> Browser:
        browser = Browser(path, cookie)
        assert await browser.open()
        browsers.append(browser)
        return browser

    yield make
    for browser in browsers:
        await browser.leave()


@pytest.fixture(autouse=True)
def close_connections() -> Iterator[None]:
    """The one thread in which the consumers' queries ran keeps its connection, and with it the test
    database.
    """
    yield
    SyncToAsync.single_thread_executor.submit(connections.close_all).result()
