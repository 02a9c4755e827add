"""Who may listen, and what a browser hears."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import OperationalError

from scheduling.live import consumers
from scheduling.live.protocol import Close
from scheduling.models import Cluster
from scheduling.selectors import rack_map
from scheduling.services.nodes import cordon
from tests.api.support import RACK
from tests.live.conftest import Browser, cookie_of

HINTS = "/ws/clusters/demo/"
MAP = f"/ws/clusters/demo/?key={RACK}"

cordoned = database_sync_to_async(cordon)


async def test_a_stranger_is_refused_as_signed_out(cluster: Cluster) -> None:
    browser = Browser(HINTS)
    assert await browser.open()
    assert await browser.code() == Close.SIGNED_OUT


async def test_a_user_without_the_permission_is_refused(cluster: Cluster) -> None:
    user = await User.objects.acreate(username="nobody")
    browser = Browser(HINTS, await database_sync_to_async(cookie_of)(user))
    assert await browser.open()
    assert await browser.code() == Close.FORBIDDEN


async def test_an_unknown_cluster_is_told_from_a_forbidden_one(cookie: str) -> None:
    browser = Browser("/ws/clusters/nowhere/", cookie)
    assert await browser.open()
    assert await browser.code() == Close.NO_SUCH_CLUSTER


async def test_another_origin_is_not_even_accepted(cluster: Cluster, cookie: str) -> None:
    assert not await Browser(HINTS, cookie, origin="https://evil.test").open()


async def test_a_key_longer_than_a_label_can_be_is_refused(cluster: Cluster, cookie: str) -> None:
    browser = Browser(f"{HINTS}?key={'k' * 318}", cookie)
    assert await browser.open()
    assert await browser.code() == Close.BAD_MESSAGE


async def test_the_first_message_says_where_the_log_stands(
    cluster: Cluster, watch: Callable[..., Any]
) -> None:
    epoch, seq = await database_sync_to_async(rack_map.head)(cluster)
    assert await (await watch(HINTS)).next() == {"t": "hello", "epoch": epoch, "seq": seq}


async def test_without_a_key_only_the_news_that_there_are_news(
    cluster: Cluster, watch: Callable[..., Any]
) -> None:
    browser = await watch(HINTS)
    hello = await browser.next()
    outcome = await cordoned(cluster=cluster, node="node-1-1", actor="test")
    news = await browser.until("advanced")
    assert hello["seq"] < news["seq"] == outcome.last_seq
    assert set(news) == {"t", "seq", "ts"}


async def test_with_a_key_the_changed_nodes(cluster: Cluster, watch: Callable[..., Any]) -> None:
    browser = await watch(MAP)
    hello = await browser.next()
    outcome = await cordoned(cluster=cluster, node="node-1-1", actor="test")
    delta = await browser.until("delta")
    assert (delta["from"], delta["to"]) == (hello["seq"], outcome.last_seq)
    assert [row[1:4] for row in delta["nodes"]] == [["node-1-1", "rack-1", rack_map.CORDONED]]


async def test_deltas_join_without_a_gap(cluster: Cluster, watch: Callable[..., Any]) -> None:
    browser = await watch(MAP)
    mine = (await browser.next())["seq"]
    for name in ("node-1-1", "node-1-2", "node-2-1"):
        outcome = await cordoned(cluster=cluster, node=name, actor="test")
    while mine < outcome.last_seq:
        delta = await browser.until("delta")
        assert delta["from"] == mine
        mine = delta["to"]


async def test_a_ping_is_taken_and_other_words_end_the_conversation(
    cluster: Cluster, watch: Callable[..., Any]
) -> None:
    browser = await watch(HINTS)
    await browser.next()
    await browser.say('{"t":"ping"}')
    await browser.say("what?")
    assert await browser.code() == Close.BAD_MESSAGE


async def test_signing_out_elsewhere_ends_the_socket(
    cluster: Cluster, watch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.05)
    browser = await watch(HINTS)
    await browser.next()
    await Session.objects.all().adelete()
    assert await browser.code() == Close.SIGNED_OUT


async def test_losing_the_permission_ends_the_socket(
    cluster: Cluster, watch: Callable[..., Any], viewer: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.05)
    browser = await watch(HINTS)
    await browser.next()
    await viewer.user_permissions.aclear()
    assert await browser.code() == Close.FORBIDDEN


async def test_a_database_that_is_away_does_not_end_the_looking(
    cluster: Cluster, watch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a sign-out would go unnoticed for as long as the socket is open."""
    monkeypatch.setattr(consumers, "RECHECK_SECONDS", 0.05)
    asked = asyncio.Event()

    def away(request: Any) -> None:
        asked.set()
        raise OperationalError("gone")

    browser = await watch(HINTS)
    await browser.next()
    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(consumers, "get_user", away)
        await asyncio.wait_for(asked.wait(), 5)
    await Session.objects.all().adelete()
    assert await browser.code() == Close.SIGNED_OUT


async def test_while_the_database_is_away_a_browser_is_told_to_come_again(
    cluster: Cluster, watch: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(request: Any) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(consumers, "get_user", away)
    browser = await watch(HINTS)
    assert await browser.code() == 1013


async def test_a_browser_that_takes_nothing_is_let_go(
    cluster: Cluster, cookie: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The send that never ends is the server's back-pressure; a browser that reads again may come again."""
    monkeypatch.setattr(consumers, "SEND_SECONDS", 0.05)
    closed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    send = consumers.ClusterConsumer.send

    async def stuck(self: Any, *args: Any, **kwargs: Any) -> None:
        await asyncio.Event().wait()

    async def close(self: Any, code: int) -> None:
        monkeypatch.setattr(consumers.ClusterConsumer, "send", send)
        closed.set_result(code)

    monkeypatch.setattr(consumers.ClusterConsumer, "send", stuck)
    monkeypatch.setattr(consumers.ClusterConsumer, "close", close)
    browser = Browser(HINTS, cookie)
    assert await browser.open()
    assert await asyncio.wait_for(closed, 5) == Close.TOO_SLOW
    await browser.leave()
