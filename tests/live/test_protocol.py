"""The wire: every message as it is sent, every close code named once."""

import json
from typing import Any

import pytest

from scheduling.live import protocol
from scheduling.live.protocol import (
    Advanced,
    BadMessage,
    Close,
    Delta,
    Heartbeat,
    Hello,
    Ping,
    decode,
    encode,
)

KPI: Any = {"nodes": 1}
BODY: Any = {
    "t": "delta",
    "epoch": 1,
    "from": 4,
    "to": 6,
    "ts": 9,
    "groups": ["a/b"],
    "nodes": [],
    "kpi": KPI,
}


@pytest.mark.parametrize(
    ("message", "body"),
    [
        (Hello(1, 7), {"t": "hello", "epoch": 1, "seq": 7}),
        (Advanced(8, 99), {"t": "advanced", "seq": 8, "ts": 99}),
        (Heartbeat(8, 99), {"t": "hb", "seq": 8, "ts": 99}),
        (Delta(BODY), BODY),
    ],
)
def test_a_message_is_one_json_object_whose_t_names_its_type(message: protocol.Outgoing, body: Any) -> None:
    assert json.loads(encode(message)) == body
    assert json.loads(encode(message))["t"] == message.T


def test_a_ping_is_tolerated() -> None:
    assert decode('{"t":"ping"}') == Ping()


@pytest.mark.parametrize("text", ["", "nonsense", "[]", "{}", '{"t":"drop"}', "null", '{"t":["ping"]}'])
def test_anything_else_is_a_bad_message(text: str) -> None:
    with pytest.raises(BadMessage):
        decode(text)


def test_close_codes_are_in_the_range_that_is_free_for_applications() -> None:
    assert all(4400 <= code < 4500 for code in Close)
    assert len(set(Close)) == len(Close.__members__)
