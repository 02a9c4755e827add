"""Every message of the live wire, in and out, and every way a socket is closed.

The socket is ``/ws/clusters/{name}/?key=<topology key>``; without a key it carries hints and heartbeats
only. Every message is one JSON object whose field ``t`` names its type. ``seq`` is the number of the newest
event of the cluster's log that the sender has seen, ``epoch`` the version of the tables behind it: a seq
says nothing across epochs. Times are milliseconds since the Unix epoch.

A browser applies a delta when ``from <= mine < to``, ignores it when ``to <= mine``, and fetches
``map/deltas?since=mine`` when ``from > mine``. A heartbeat with ``seq > mine`` reveals a loss at the tail.
Another epoch, or 410 from the server, means: take a new snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import IntEnum
from typing import ClassVar, Final, Literal, TypedDict

import orjson

from scheduling.selectors.rack_map import Delta as MapDelta

HEARTBEAT_SECONDS = 5.0
"""Between two heartbeats, and the longest that a lost hint can delay news."""

HINT: Final = "log.advanced"
"""Type of the message between processes (see ``LogAdvanced``); Channels calls it a handler name."""


# ---------------------------------------------------------------- server to browser


@dataclass(frozen=True, slots=True)
class Hello:
    """First message, and again whenever the epoch changes: what follows continues from ``seq``."""

    T: ClassVar[str] = "hello"
    epoch: int
    seq: int


@dataclass(frozen=True, slots=True)
class Advanced:
    """Sockets without a key: the log has grown to ``seq``; pages ask again for what they show."""

    T: ClassVar[str] = "advanced"
    seq: int
    ts: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Every ``HEARTBEAT_SECONDS``; a browser that hears nothing for 12 s calls its picture stale."""

    T: ClassVar[str] = "hb"
    seq: int
    ts: int


@dataclass(frozen=True, slots=True)
class Delta:
    """Sockets with a key: absolute values of every node changed in ``(from, to]``; ``body`` as the selector
    gives it.
    """

    T: ClassVar[str] = "delta"
    body: MapDelta


Outgoing = Hello | Advanced | Heartbeat | Delta


def encode(message: Outgoing) -> str:
    """The text frame of a message."""
    if isinstance(message, Delta):
        return orjson.dumps(message.body).decode()
    body = {field.name: getattr(message, field.name) for field in fields(message)}
    return orjson.dumps({"t": message.T, **body}).decode()


# ---------------------------------------------------------------- browser to server


@dataclass(frozen=True, slots=True)
class Ping:
    """Tolerated and not answered: heartbeats come unasked."""

    T: ClassVar[str] = "ping"


class BadMessage(ValueError):
    """What a browser sent is not a message of this protocol."""


def decode(text: str) -> Ping:
    """The message in a text frame. Raises BadMessage."""
    try:
        body = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadMessage("not JSON") from error
    if not isinstance(body, dict) or body.get("t") != Ping.T:
        raise BadMessage("unknown message")
    return Ping()


# ---------------------------------------------------------------- between processes


class LogAdvanced(TypedDict):
    """A hint over the channel layer that a stream has grown; may be lost, repeated or late without harm."""

    type: Literal["log.advanced"]
    stream: int
    seq: int


def group_of(stream: int) -> str:
    """Channel-layer group in which hints about a stream are sent."""
    return f"log.{stream}"


# ---------------------------------------------------------------- ends


class Close(IntEnum):
    """Close codes of our own; the browser does not reconnect after one of the 44xx codes."""

    BAD_MESSAGE = 4400
    SIGNED_OUT = 4401
    FORBIDDEN = 4403
    NO_SUCH_CLUSTER = 4404
    TOO_SLOW = 4408
