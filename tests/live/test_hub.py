"""One reader for many browsers, that no lost hint, lost database or slow browser can mislead."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import django.db
import pytest
from channels.db import database_sync_to_async

from scheduling.ledger.signals import log_advanced
from scheduling.live import hub as hub_module
from scheduling.live import protocol
from scheduling.live.hub import QUEUE_MESSAGES, FeedLost, Hub, Subscription
from scheduling.models import Cluster, TableHead
from scheduling.selectors import rack_map
from scheduling.services.nodes import cordon, uncordon
from tests.api.support import RACK

cordoned = database_sync_to_async(cordon)
uncordoned = database_sync_to_async(uncordon)


async def heard(subscription: Subscription, kind: str) -> dict[str, Any]:
    """The next message of a type."""
    while True:
        message: dict[str, Any] = json.loads(await asyncio.wait_for(subscription.next(), 8))
        if message["t"] == kind:
            return message


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int]]:
    """Every delta that was read, by key and number."""
    made: list[tuple[str, int]] = []
    real = rack_map.delta

    def delta(cluster: Cluster, key: str, since: int) -> rack_map.Delta | None:
        made.append((key, since))
        return real(cluster, key, since)

    monkeypatch.setattr(rack_map, "delta", delta)
    return made


@pytest.fixture
def no_hints(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every hint is lost."""
    monkeypatch.setattr(log_advanced, "send", lambda *_, **__: None)
    monkeypatch.setattr(log_advanced, "send_robust", lambda *_, **__: None)
    monkeypatch.setattr(log_advanced, "receivers", [])


async def test_a_hundred_browsers_cost_one_read(cluster: Cluster, reads: list[tuple[str, int]]) -> None:
    hub = Hub()
    many = [await hub.subscribe(cluster, RACK) for _ in range(100)]
    first = [await heard(one, "hello") for one in many]
    await cordoned(cluster=cluster, node="node-1-1", actor="test")
    deltas = [await heard(one, "delta") for one in many]
    assert reads == [(RACK, first[0]["seq"])]
    assert all(delta == deltas[0] for delta in deltas)
    for one in many:
        hub.unsubscribe(cluster, RACK, one)
    assert hub._feeds == {}


async def test_a_lost_hint_costs_no_more_than_the_timer(cluster: Cluster, no_hints: None) -> None:
    hub = Hub()
    one = await hub.subscribe(cluster, RACK)
    outcome = await cordoned(cluster=cluster, node="node-1-1", actor="test")
    assert (await heard(one, "delta"))["to"] == outcome.last_seq
    hub.unsubscribe(cluster, RACK, one)


async def test_many_quick_events_are_told_in_few_messages(cluster: Cluster) -> None:
    hub = Hub()
    one = await hub.subscribe(cluster, RACK)
    mine = (await heard(one, "hello"))["seq"]
    for _ in range(10):
        await cordoned(cluster=cluster, node="node-1-1", actor="test")
        outcome = await uncordoned(cluster=cluster, node="node-1-1", actor="test")
    messages = 0
    while mine < outcome.last_seq:
        delta = await heard(one, "delta")
        assert delta["from"] == mine
        mine = delta["to"]
        messages += 1
    assert messages < 20
    hub.unsubscribe(cluster, RACK, one)


async def test_heartbeats_carry_the_newest_number(
    cluster: Cluster, no_hints: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub_module, "HEARTBEAT_SECONDS", 0.3)
    hub = Hub()
    one = await hub.subscribe(cluster, None)
    outcome = await cordoned(cluster=cluster, node="node-1-1", actor="test")
    assert (await heard(one, "advanced"))["seq"] == outcome.last_seq
    assert (await heard(one, "hb"))["seq"] == outcome.last_seq
    hub.unsubscribe(cluster, None, one)


async def test_a_database_that_is_away_silences_the_feed_until_it_is_back(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No heartbeat while nothing can be read: the browser says stale instead of live."""
    monkeypatch.setattr(hub_module, "HEARTBEAT_SECONDS", 0.2)
    hub = Hub()
    one = await hub.subscribe(cluster, None)
    await heard(one, "hb")
    real = rack_map.head

    def away(cluster: Cluster) -> tuple[int, int]:
        raise django.db.OperationalError("gone")

    monkeypatch.setattr(rack_map, "head", away)
    with pytest.raises(TimeoutError):
        while True:  # what was under way before may still come
            await asyncio.wait_for(one.next(), 1)
    monkeypatch.setattr(rack_map, "head", real)
    await heard(one, "hb")
    hub.unsubscribe(cluster, None, one)


async def test_another_epoch_is_told_by_another_hello(cluster: Cluster) -> None:
    hub = Hub()
    one = await hub.subscribe(cluster, RACK)
    first = await heard(one, "hello")
    heads = TableHead.objects.filter(stream_id=cluster.pk, name="nodes")
    await heads.aupdate(version=first["epoch"] + 1)
    hub._feeds[(cluster.pk, RACK)].woken.set()
    assert (await heard(one, "hello"))["epoch"] == first["epoch"] + 1
    hub.unsubscribe(cluster, RACK, one)


async def test_a_reader_that_dies_lets_its_browsers_go_and_the_next_one_gets_a_new_one(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub()
    one = await hub.subscribe(cluster, RACK)
    await heard(one, "hello")
    real = rack_map.head

    def broken(cluster: Cluster) -> tuple[int, int]:
        raise RuntimeError("a bug")

    monkeypatch.setattr(rack_map, "head", broken)
    hub._feeds[(cluster.pk, RACK)].woken.set()
    with pytest.raises(FeedLost):
        await heard(one, "never")
    monkeypatch.setattr(rack_map, "head", real)
    other = await hub.subscribe(cluster, RACK)
    await heard(other, "hello")
    hub.unsubscribe(cluster, RACK, other)
    hub.unsubscribe(cluster, RACK, one)


async def test_a_feed_that_cannot_start_is_not_kept(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(cluster: Cluster) -> tuple[int, int]:
        raise django.db.OperationalError("gone")

    hub = Hub()
    with monkeypatch.context() as patch:
        patch.setattr(rack_map, "head", away)
        with pytest.raises(django.db.OperationalError):
            await hub.subscribe(cluster, RACK)
    one = await hub.subscribe(cluster, RACK)
    assert (await heard(one, "hello"))["seq"] > 0
    hub.unsubscribe(cluster, RACK, one)


async def test_a_browser_too_slow_loses_its_queue_and_hears_the_newest() -> None:
    subscription = Subscription()
    for number in range(QUEUE_MESSAGES + 10):
        subscription.put(protocol.encode(protocol.Heartbeat(number, 0)))
    assert subscription.dropped == QUEUE_MESSAGES
    first = json.loads(await subscription.next())
    assert first["seq"] == QUEUE_MESSAGES


@pytest.mark.usefixtures("stack")
async def test_hints_of_other_clusters_wake_nobody(cluster: Cluster, watch: Callable[..., Any]) -> None:
    hub = Hub()
    one = await hub.subscribe(cluster, None)
    await heard(one, "hello")
    feed = hub._feeds[(cluster.pk, None)]
    await hub.join(cluster.pk + 1)
    layer = hub._layer
    hint = {"type": protocol.HINT, "stream": cluster.pk + 1, "seq": 10**9}
    mine = {"type": protocol.HINT, "stream": cluster.pk, "seq": 10**9}
    woken: list[int] = []
    feed.woken.set = lambda: woken.append(1)  # type: ignore[method-assign]
    await layer.group_send(protocol.group_of(cluster.pk + 1), hint)
    await layer.group_send(protocol.group_of(cluster.pk), mine)
    async with asyncio.timeout(5):
        while not woken:
            await asyncio.sleep(0.01)
    assert woken == [1]
    hub.unsubscribe(cluster, None, one)


async def test_a_listener_that_dies_is_replaced(cluster: Cluster) -> None:
    hub = Hub()
    one = await hub.subscribe(cluster, None)
    await heard(one, "hello")
    assert hub._listener is not None
    hub._listener.cancel()
    await asyncio.wait([hub._listener])
    await asyncio.sleep(0)  # lets the callback of the ended task run
    await hub.join(cluster.pk)
    woken = asyncio.Event()
    hub._feeds[(cluster.pk, None)].woken.set = woken.set  # type: ignore[method-assign]
    hint = {"type": protocol.HINT, "stream": cluster.pk, "seq": 10**9}
    await hub._layer.group_send(protocol.group_of(cluster.pk), hint)
    await asyncio.wait_for(woken.wait(), 5)
    hub.unsubscribe(cluster, None, one)
