"""Heads noted in a file show later what the chain alone cannot: a log rewritten whole, cut short, or gone."""

from __future__ import annotations

import hmac
from dataclasses import replace
from typing import Any

import orjson
import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.model import Node
from scheduling.ledger import heads, store
from scheduling.ledger.events import NodeAdded
from scheduling.ledger.heads import BadHeads, NotedHead
from scheduling.ledger.verify import verify_chain
from tests.ledger.conftest import NOW, Append

KEY = "a key of the auditors"
NOTED = (NotedHead("cluster", "demo", 3, b"d" * 32), NotedHead("site", "site", 0, bytes(32)))


def written(key: str = "") -> bytes:
    return heads.write(NOTED, at=NOW, console="0.1.0", key=key)


@pytest.mark.parametrize("key", ["", KEY])
def test_what_was_noted_is_read_again(key: str) -> None:
    found = heads.read(written(key), key=key)
    assert (found.at, found.console, found.heads, found.signed) == (NOW, "0.1.0", NOTED, bool(key))


def test_the_form_of_the_file_and_what_is_signed() -> None:
    """As docs/operations.md tells, so that others can check it without this program."""
    canonical = (
        '{"console":"0.1.0","exported_at":1800000000123,"form":"tas-console-heads","heads":['
        f'{{"hash":"{"64" * 32}","kind":"cluster","name":"demo","seq":3}},'
        f'{{"hash":"{"00" * 32}","kind":"site","name":"site","seq":0}}],"version":1}}'
    )
    assert orjson.loads(written(KEY)) == {
        "form": "tas-console-heads",
        "version": 1,
        "exported_at": NOW,
        "console": "0.1.0",
        "heads": [
            {"kind": "cluster", "name": "demo", "seq": 3, "hash": "64" * 32},
            {"kind": "site", "name": "site", "seq": 0, "hash": "00" * 32},
        ],
        "hmac_sha256": hmac.digest(KEY.encode(), canonical.encode(), "sha256").hex(),
    }


def test_a_signed_file_is_read_without_a_key_and_says_that_it_is_signed() -> None:
    assert heads.read(written(KEY)).signed


def fault(data: bytes, key: str = "") -> str:
    with pytest.raises(BadHeads) as refused:
        heads.read(data, key=key)
    return str(refused.value)


def test_with_a_key_the_signature_has_to_be_that_of_the_key() -> None:
    other = "its signature is not that of the key that is set: another key, or it was changed"
    assert fault(written(), KEY) == "it is not signed, but a key is set"
    assert fault(written("another"), KEY) == other
    assert fault(written(KEY).replace(b'"seq": 3', b'"seq": 2'), KEY) == other
    assert fault(written(KEY).replace(b'"seq": 3', b'"seq": 3.5'), KEY) == other
    for signature in (b"7", b'"\xc3\xa9"', b"null", b'""'):
        body = orjson.loads(written()) | {"hmac_sha256": orjson.loads(signature)}
        assert fault(orjson.dumps(body), KEY) in (other, "it is not signed, but a key is set")


@given(st.data())
def test_no_other_content_has_the_signature(data: st.DataObject) -> None:
    """Any byte changed makes it another file, or none, or one that means the same."""
    good = written(KEY)
    place = data.draw(st.integers(0, len(good) - 1))
    changed = bytearray(good)
    changed[place] = data.draw(st.integers(0, 255))
    try:
        assert heads.read(bytes(changed), key=KEY).heads == NOTED
    except BadHeads:
        assert bytes(changed) != good


def body(**changes: Any) -> bytes:
    return orjson.dumps(orjson.loads(written()) | changes)


def head(**changes: Any) -> bytes:
    return body(heads=[orjson.loads(written())["heads"][0] | changes])


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "it is no JSON: "),
        (b"\xff", "it is no JSON: "),
        (b"[]", "it is no file of heads: its form is not 'tas-console-heads'"),
        (b'"tas-console-heads"', "it is no file of heads: its form is not 'tas-console-heads'"),
        (body(form="other"), "it is no file of heads: its form is not 'tas-console-heads'"),
        (body(version=2), "it has version 2 of the form; this console reads 1"),
        (body(exported_at="now"), "exported_at, console or heads is missing or of another type"),
        (body(console=None), "exported_at, console or heads is missing or of another type"),
        (body(heads={}), "exported_at, console or heads is missing or of another type"),
        (body(heads=[1]), "a head in it does not have kind, name, seq and hash"),
        (head(more=1), "a head in it does not have kind, name, seq and hash"),
        (head(seq="3"), "the head of cluster demo has a kind, name or seq of another type"),
        (head(seq=True), "the head of cluster demo has a kind, name or seq of another type"),
        (head(seq=-1), "the head of cluster demo has a kind, name or seq of another type"),
        (head(hash="00"), "the hash of the head of cluster demo is no SHA-256 in hexadecimal"),
        (head(hash=7), "the hash of the head of cluster demo is no SHA-256 in hexadecimal"),
        (head(hash="x" * 64), "the hash of the head of cluster demo is no SHA-256 in hexadecimal"),
    ],
)
def test_a_file_of_another_form_is_refused_with_a_sentence(data: bytes, sentence: str) -> None:
    assert fault(data).startswith(sentence)


# --- against a log


@pytest.fixture
def noted(stream: int, append: Append) -> NotedHead:
    """The head of a log of three events, to which two more come after."""
    for number in range(3):
        append(NodeAdded(Node(f"n{number}", f"u{number}")))
    there = store.head(stream)
    for number in range(3, 5):
        append(NodeAdded(Node(f"n{number}", f"u{number}")))
    return NotedHead("cluster", "demo", there.seq, there.hash)


def test_a_log_that_went_on_has_the_noted_head(noted: NotedHead) -> None:
    assert heads.problem(noted) == ""


def test_an_empty_log_has_its_noted_beginning(stream: int) -> None:
    assert heads.problem(NotedHead("cluster", "demo", 0, store.GENESIS)) == ""
    assert heads.problem(NotedHead("cluster", "demo", 0, b"x" * 32)) == (
        "cluster demo began otherwise than was noted"
    )


def test_a_stream_that_is_gone_is_told(noted: NotedHead) -> None:
    assert (
        heads.problem(replace(noted, name="other")) == "cluster other is gone: its head was noted at event 3"
    )


def as_superuser(stream: int, *statements: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"alter table scheduling_event_{stream}_0 disable trigger append_only_rows")
        for statement in statements:
            cursor.execute(statement)


def test_a_log_that_was_cut_short_is_told_though_its_chain_is_sound(stream: int, noted: NotedHead) -> None:
    last = next(store.stored(stream, after=1, limit=1))
    as_superuser(
        stream,
        "delete from scheduling_event where seq > 2",
        f"update scheduling_streamhead set seq = 2, hash = '\\x{last.hash.hex()}'",
    )
    assert verify_chain(stream).ok
    assert heads.problem(noted) == "cluster demo ends at event 2: its head was noted at event 3"


def rewrite(stream: int, seq: int) -> None:
    """One event, and all hashes after it, the head's too."""
    rows, previous = list(store.stored(stream)), store.GENESIS
    for row in rows:
        made = row._replace(prev_hash=previous, actor="user:eve" if row.seq == seq else row.actor)
        previous = made.computed_hash()
        as_superuser(
            stream,
            f"update scheduling_event set actor = '{made.actor}', hash = '\\x{previous.hex()}', "
            f"prev_hash = '\\x{made.prev_hash.hex()}' where seq = {row.seq}",
            f"update scheduling_streamhead set hash = '\\x{previous.hex()}'",
        )


@pytest.mark.parametrize("seq", [1, 2, 3])
def test_a_log_that_was_rewritten_whole_is_told_though_its_chain_is_sound(
    stream: int, noted: NotedHead, seq: int
) -> None:
    rewrite(stream, seq)
    assert verify_chain(stream).ok
    assert heads.problem(noted) == (
        "cluster demo has another hash at event 3 than was noted: that event or one before it was rewritten"
    )


def test_what_was_rewritten_after_the_noted_head_is_for_a_later_one(stream: int, noted: NotedHead) -> None:
    rewrite(stream, 4)
    assert heads.problem(noted) == ""


def test_a_noted_event_that_is_missing_is_told(stream: int, noted: NotedHead) -> None:
    as_superuser(stream, "delete from scheduling_event where seq = 3")
    assert heads.problem(noted) == "cluster demo has no event 3 any more: its head was noted there"
