"""One reader per watched map in each web process, however many browsers watch it.

A hint over the channel layer wakes the reader, and so does a timer, so that a lost hint delays news by
``HEARTBEAT_SECONDS`` at most. It reads the tables, never the hint, and reads at most four times a second.
A reader that cannot read sends nothing, not even heartbeats: its browsers then say that they are stale.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from weakref import WeakKeyDictionary

import django.db
import structlog
from channels.db import database_sync_to_async
from channels.layers import get_channel_layer
from redis.exceptions import RedisError

from scheduling.live.protocol import (
    HEARTBEAT_SECONDS,
    Advanced,
    Delta,
    Heartbeat,
    Hello,
    LogAdvanced,
    Outgoing,
    encode,
    group_of,
)
from scheduling.models import Cluster
from scheduling.selectors import rack_map

COALESCE_SECONDS = 0.25
"""Least time between two reads of one feed."""

QUEUE_MESSAGES = 64
"""What one browser may be behind. Beyond that its queue is dropped and it asks for what it missed."""

log = structlog.get_logger(__name__)


class FeedLost(Exception):
    """The reader behind a subscription has ended; the browser should connect again."""


class Subscription:
    """The messages for one browser, oldest first, at most ``QUEUE_MESSAGES`` of them."""

    def __init__(self) -> None:
        self._messages: deque[str] = deque()
        self._some = asyncio.Event()
        self._lost = False
        self.dropped = 0

    def put(self, text: str) -> None:
        if len(self._messages) >= QUEUE_MESSAGES:
            self.dropped += len(self._messages)
            self._messages.clear()
        self._messages.append(text)
        self._some.set()

    def lose(self) -> None:
        self._lost = True
        self._some.set()

    async def next(self) -> str:
        """The next text frame. Raises FeedLost."""
        await self._some.wait()
        if self._lost:
            raise FeedLost
        text = self._messages.popleft()
        if not self._messages:
            self._some.clear()
        return text


class Feed:
    """What one cluster by one key (None: hints only) has to tell, to everybody who listens."""

    def __init__(self, hub: Hub, cluster: Cluster, key: str | None) -> None:
        self.hub = hub
        self.cluster = cluster
        self.key = key
        self.epoch = 0
        self.seq = 0
        self.woken = asyncio.Event()
        self.subscriptions: set[Subscription] = set()
        self.opened = asyncio.ensure_future(self._open())
        self._task: asyncio.Task[None] | None = None

    async def _open(self) -> None:
        await self.hub.join(self.cluster.pk)
        self.epoch, self.seq = await database_sync_to_async(rack_map.head)(self.cluster)
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(self._ended)

    def publish(self, message: Outgoing) -> None:
        text = encode(message)
        for subscription in self.subscriptions:
            subscription.put(text)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        beat = loop.time() + HEARTBEAT_SECONDS
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.woken.wait(), max(0.0, beat - loop.time()))
            self.woken.clear()
            try:
                await self._read()
            except django.db.Error as error:
                log.warning("live_read_failed", cluster=self.cluster.name, key=self.key, error=str(error))
                beat = loop.time() + HEARTBEAT_SECONDS
            else:
                if loop.time() >= beat:
                    self.publish(Heartbeat(self.seq, _now()))
                    beat = loop.time() + HEARTBEAT_SECONDS
            await self.hub.join(self.cluster.pk)
            await asyncio.sleep(COALESCE_SECONDS)

    async def _read(self) -> None:
        """Tell what the tables have beyond ``seq``."""
        epoch, seq = await database_sync_to_async(rack_map.head)(self.cluster)
        if epoch != self.epoch or seq < self.seq:
            self._restart(epoch, seq)
        elif seq == self.seq:
            return
        elif self.key is None:
            self.seq = seq
            self.publish(Advanced(seq, _now()))
        else:
            body = await database_sync_to_async(rack_map.delta)(self.cluster, self.key, self.seq)
            if body is None or body["epoch"] != self.epoch:
                self._restart(*await database_sync_to_async(rack_map.head)(self.cluster))
            else:
                self.seq = body["to"]
                self.publish(Delta(body))

    def _restart(self, epoch: int, seq: int) -> None:
        self.epoch, self.seq = epoch, seq
        self.publish(Hello(epoch, seq))

    def _ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():
            return
        log.error("live_feed_died", cluster=self.cluster.name, key=self.key, exc_info=task.exception())
        self.hub.forget(self)
        for subscription in self.subscriptions:
            subscription.lose()

    def stop(self) -> None:
        self.opened.cancel()
        if self._task is not None:
            self._task.cancel()


class Hub:
    """The feeds of one process, by stream and key."""

    def __init__(self) -> None:
        self._feeds: dict[tuple[int, str | None], Feed] = {}
        self._layer = get_channel_layer()
        self._channel = ""
        self._joined: set[int] = set()
        self._listener: asyncio.Task[None] | None = None

    async def subscribe(self, cluster: Cluster, key: str | None) -> Subscription:
        """Listen from now on; the first message is Hello. Raises django.db.Error when the tables cannot be
        read.
        """
        feed = self._feeds.get((cluster.pk, key))
        if feed is None:
            feed = self._feeds[(cluster.pk, key)] = Feed(self, cluster, key)
        subscription = Subscription()
        # Listening before the first await, so that another browser that leaves does not close the feed under
        # us.
        feed.subscriptions.add(subscription)
        try:
            await asyncio.shield(feed.opened)
        except BaseException:
            self.unsubscribe(cluster, key, subscription)
            raise
        subscription.put(encode(Hello(feed.epoch, feed.seq)))
        return subscription

    def unsubscribe(self, cluster: Cluster, key: str | None, subscription: Subscription) -> None:
        feed = self._feeds.get((cluster.pk, key))
        if feed is None or subscription not in feed.subscriptions:
            return
        feed.subscriptions.discard(subscription)
        if not feed.subscriptions:
            self.forget(feed)
            feed.stop()

    def forget(self, feed: Feed) -> None:
        if self._feeds.get((feed.cluster.pk, feed.key)) is feed:
            del self._feeds[(feed.cluster.pk, feed.key)]

    async def join(self, stream: int) -> None:
        """Listen for hints about a stream. Without the channel layer the timer alone brings the news, and we
        try again.
        """
        if stream in self._joined:
            return
        try:
            if self._listener is None:
                self._channel = await self._layer.new_channel()
                self._listener = asyncio.create_task(self._listen())
                self._listener.add_done_callback(self._deaf)
            await self._layer.group_add(group_of(stream), self._channel)
        except (RedisError, OSError) as error:
            log.warning("live_hints_unavailable", stream=stream, error=str(error))
        else:
            self._joined.add(stream)

    async def _listen(self) -> None:
        while True:
            hint: LogAdvanced = await self._layer.receive(self._channel)
            for feed in list(self._feeds.values()):
                if feed.cluster.pk == hint["stream"] and hint["seq"] > feed.seq:
                    feed.woken.set()

    def _deaf(self, task: asyncio.Task[None]) -> None:
        """The listener ended: timers carry on alone until the next `join` makes another."""
        self._listener = None
        self._joined.clear()
        if not task.cancelled():
            log.warning("live_hints_lost", exc_info=task.exception())


_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running event loop; a web process has one."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub()
    return _hubs[loop]


def _now() -> int:
    return time.time_ns() // 1_000_000
