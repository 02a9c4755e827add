"""One WebSocket of one browser: who may listen, how far behind it may be, when it is closed."""

from __future__ import annotations

import asyncio
from importlib import import_module
from urllib.parse import parse_qs

import django.db
import structlog
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest

from scheduling.live.hub import FeedLost, Subscription, hub
from scheduling.live.protocol import BadMessage, Close, decode
from scheduling.models import Cluster
from scheduling.storable import is_storable

SEND_SECONDS = 10.0
"""A browser that does not take a message in this time is let go; it asks again when it is back."""

RECHECK_SECONDS = 300.0
"""How long a sign-out or a lost permission may go unnoticed on an open socket."""

TRY_AGAIN_LATER = 1013
"""The close code of RFC 6455's registry for a server that cannot serve now; the browser connects again."""

MAX_KEY = 317
"""A label key: a prefix of 253, a slash, a name of 63."""

log = structlog.get_logger(__name__)


class ClusterConsumer(AsyncWebsocketConsumer):
    """``/ws/clusters/{name}/?key=``. Refusals are told by a close code, which only an accepted socket can
    carry.
    """

    async def connect(self) -> None:
        self.cluster: Cluster | None = None
        self.subscription: Subscription | None = None
        self.tasks: list[asyncio.Task[None]] = []
        await self.accept()
        self.key = parse_qs(self.scope["query_string"].decode()).get("key", [""])[0] or None
        if self.key is not None and (len(self.key) > MAX_KEY or not is_storable(self.key)):
            await self.close(Close.BAD_MESSAGE)
            return
        try:
            await self._admit()
        except django.db.Error as error:
            log.warning("live_unavailable", error=str(error))
            await self._end(TRY_AGAIN_LATER)

    async def _admit(self) -> None:
        """Refuse, or begin to send. Raises django.db.Error."""
        refusal = await self._refusal()
        if refusal is None:
            self.cluster = await Cluster.objects.filter(
                name=self.scope["url_route"]["kwargs"]["name"]
            ).afirst()
            refusal = Close.NO_SUCH_CLUSTER if self.cluster is None else None
        if refusal is not None or self.cluster is None:
            await self.close(refusal)
            return
        self.subscription = await hub().subscribe(self.cluster, self.key)
        self.tasks = [
            asyncio.create_task(self._pump(self.subscription)),
            asyncio.create_task(self._watch_session()),
        ]

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        try:
            decode(text_data or "")
        except BadMessage:
            await self._end(Close.BAD_MESSAGE)

    async def disconnect(self, code: int) -> None:
        self._stop_listening()

    def _stop_listening(self) -> None:
        """Also before a close of our own: nothing may be sent after it."""
        for task in self.tasks:
            if task is not asyncio.current_task():
                task.cancel()
        if self.subscription is not None and self.cluster is not None:
            hub().unsubscribe(self.cluster, self.key, self.subscription)
            if self.subscription.dropped:
                log.info(
                    "live_messages_dropped",
                    cluster=self.cluster.name,
                    messages=self.subscription.dropped,
                )
        self.subscription = None

    async def _end(self, code: int) -> None:
        self._stop_listening()
        await self.close(code)

    async def _pump(self, subscription: Subscription) -> None:
        try:
            while True:
                text = await subscription.next()
                await asyncio.wait_for(self.send(text_data=text), SEND_SECONDS)
        except FeedLost:
            await self._end(1011)
        except TimeoutError:
            await self._end(Close.TOO_SLOW)
        except OSError as error:
            # The browser went while we were sending; `disconnect` follows and cleans up.
            log.debug("live_client_gone", error=str(error))

    async def _watch_session(self) -> None:
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            try:
                refusal = await self._refusal()
            except django.db.Error as error:
                # A browser that hears nothing says so itself; looking must go on when the database is back.
                log.warning("live_recheck_failed", error=str(error))
                continue
            if refusal is not None:
                await self._end(refusal)
                return

    @database_sync_to_async
    def _refusal(self) -> Close | None:
        """Why this browser's session may not watch clusters, as it stands in the session table now; None: it
        may.
        """
        session = self.scope.get("session")
        store = import_module(settings.SESSION_ENGINE).SessionStore
        request = HttpRequest()
        request.session = store(session.session_key if session is not None else None)
        user = get_user(request)
        if not user.is_authenticated:
            return Close.SIGNED_OUT
        return None if user.has_perm("scheduling.view_cluster") else Close.FORBIDDEN
