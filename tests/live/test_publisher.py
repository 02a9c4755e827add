"""Hints reach whoever listens, from threads and forked children alike, over one connection."""

import asyncio
import os
import threading
from typing import Any

import pytest
from channels.layers import get_channel_layer

from scheduling.live import publisher
from scheduling.live.protocol import HINT, group_of

pytestmark = pytest.mark.usefixtures("stack")


async def listener(stream: int) -> tuple[Any, str]:
    layer = get_channel_layer()
    channel = await layer.new_channel()
    await layer.group_add(group_of(stream), channel)
    return layer, channel


async def test_a_hint_names_the_stream_and_its_newest_number() -> None:
    layer, channel = await listener(41)
    publisher.publish(41, 7)
    assert await asyncio.wait_for(layer.receive(channel), 5) == {"type": HINT, "stream": 41, "seq": 7}


async def test_all_threads_of_a_process_send_from_one_loop() -> None:
    layer, channel = await listener(42)
    threads = [threading.Thread(target=publisher.publish, args=(42, seq)) for seq in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    heard = [(await asyncio.wait_for(layer.receive(channel), 5))["seq"] for _ in range(20)]
    assert sorted(heard) == list(range(20))
    assert sum(thread.name == "live-publisher" for thread in threading.enumerate()) == 1


async def test_a_forked_child_makes_a_loop_of_its_own() -> None:
    """As in a prefork worker whose parent has published before."""
    publisher.publish(43, 1).result(5)
    layer, channel = await listener(43)
    child = os.fork()
    if child == 0:
        try:
            publisher.publish(43, 2).result(5)
            os._exit(0)
        finally:
            os._exit(1)
    assert await asyncio.wait_for(layer.receive(channel), 8) == {"type": HINT, "stream": 43, "seq": 2}
    _, status = await asyncio.to_thread(os.waitpid, child, 0)
    assert status == 0


async def test_a_hint_that_cannot_be_sent_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    class Away:
        async def group_send(self, group: str, message: Any) -> None:
            raise ConnectionRefusedError("no redis")

    monkeypatch.setattr(publisher, "get_channel_layer", Away)
    future = publisher.publish(44, 1)
    await asyncio.wait([asyncio.wrap_future(future)])
    assert isinstance(future.exception(), ConnectionRefusedError)
