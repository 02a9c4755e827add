"""Heads of logs noted in a file, to be kept where nobody who can rewrite a log can reach, and checked later.

The file is one JSON object: ``form`` and ``version`` of it, ``exported_at`` (milliseconds since the epoch),
``console`` (its version), ``heads`` (objects of ``kind``, ``name``, ``seq`` and ``hash`` in hexadecimal) and,
when there was a key, ``hmac_sha256``: HMAC-SHA256 in hexadecimal over the canonical JSON of all the rest.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from scheduling.ledger import archive_files, archives, codec, store
from scheduling.ledger.store import GENESIS
from scheduling.models import Archive, Stream

FORM = "tas-console-heads"
VERSION = 1


class BadHeads(ValueError):
    """A file of heads that is not to be believed, or not one at all; the sentence says why."""


@dataclass(frozen=True, slots=True)
class NotedHead:
    """``kind`` and ``name`` of the stream, the seq of its last event and the hash of that."""

    kind: str
    name: str
    seq: int
    hash: bytes

    @property
    def stream(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Heads:
    """``at``: milliseconds. ``signed``: with a signature; ``read`` has checked it when it had a key."""

    at: int
    console: str
    heads: tuple[NotedHead, ...]
    signed: bool = False


def write(heads: Sequence[NotedHead], *, at: int, console: str, key: str = "") -> bytes:
    """The file; signed when there is a key."""
    body: dict[str, Any] = {
        "form": FORM,
        "version": VERSION,
        "exported_at": at,
        "console": console,
        "heads": [
            {"kind": head.kind, "name": head.name, "seq": head.seq, "hash": head.hash.hex()} for head in heads
        ],
    }
    if key:
        body["hmac_sha256"] = _signature(body, key)
    return orjson.dumps(body, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def read(data: bytes, *, key: str = "") -> Heads:
    """What the file notes. With a key it has to be signed with that one. Raises BadHeads."""
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BadHeads(f"it is no JSON: {error}") from error
    if not isinstance(body, dict) or body.get("form") != FORM:
        raise BadHeads(f"it is no file of heads: its form is not {FORM!r}")
    if body.get("version") != VERSION:
        raise BadHeads(f"it has version {body.get('version')!r} of the form; this console reads {VERSION}")
    signature = body.pop("hmac_sha256", None)
    if key:
        if signature is None:
            raise BadHeads("it is not signed, but a key is set")
        if not isinstance(signature, str) or not _is_signed(body, key, signature):
            raise BadHeads("its signature is not that of the key that is set: another key, or it was changed")
    at, console, listed = body.get("exported_at"), body.get("console"), body.get("heads")
    if type(at) is not int or not isinstance(console, str) or not isinstance(listed, list):
        raise BadHeads("exported_at, console or heads is missing or of another type")
    return Heads(at, console, tuple(map(_noted, listed)), signature is not None)


def problem(head: NotedHead, folder: Path | None = None) -> str:
    """Why the log is not one that continues the noted head, in a sentence; "" when it is. ``folder``: where
    the files of archived events are looked for.

    That events before it are what their hashes say is for ``verify.verify_chain``, and of archived ones for
    ``retention verify``.
    """
    stream = Stream.objects.filter(kind=head.kind, name=head.name).first()
    if stream is None:
        return f"{head.stream} is gone: its head was noted at event {head.seq}"
    if head.seq == 0:
        return "" if head.hash == GENESIS else f"{head.stream} began otherwise than was noted"
    reached = store.head(stream.pk).seq
    if reached < head.seq:
        return f"{head.stream} ends at event {reached}: its head was noted at event {head.seq}"
    archive = archives.holding(stream.pk, head.seq)
    if archive is not None and archive.last_seq != head.seq:
        return _problem_in_file(head, archive, folder)
    if archive is not None:
        return "" if bytes(archive.hash) == head.hash else _rewritten(head)
    row = next(store.stored(stream.pk, after=head.seq - 1, upto=head.seq), None)
    if row is None:
        return f"{head.stream} has no event {head.seq} any more: its head was noted there"
    return "" if row.hash == head.hash else _rewritten(head)


def _problem_in_file(head: NotedHead, archive: Archive, folder: Path | None) -> str:
    """The file is read to its end: only then it is known that the log goes on from the noted event."""
    path = None if folder is None else folder / archive.file
    if path is None or not path.is_file():
        where = "" if folder is None else f"{archive.file} is not in {folder}; "
        return (
            f"{head.stream}: event {head.seq}, at which its head was noted, is archived and cannot be looked "
            f"at: {where}{archives.BRINGS_BACK} from {archive.file}"
        )
    found = b""
    try:
        if archive_files.digest(path).sha256 != archive.sha256:
            return f"{head.stream}: {path} is not the file that was archived: it has another SHA-256"
        told = archive_files.header(path)
        for row in archive_files.read(path):
            if row.seq == head.seq:
                found = row.hash
    except archive_files.BadArchive as error:
        return f"{head.stream}: {error}"
    if bytes.fromhex(told.hash) != bytes(archive.hash):
        return f"{head.stream}: the log does not go on from {path}, which ends with another hash"
    return "" if found == head.hash else _rewritten(head)


def _rewritten(head: NotedHead) -> str:
    return (
        f"{head.stream} has another hash at event {head.seq} than was noted: that event or one before it "
        "was rewritten"
    )


def _noted(value: Any) -> NotedHead:
    if not isinstance(value, dict) or value.keys() != {"kind", "name", "seq", "hash"}:
        raise BadHeads("a head in it does not have kind, name, seq and hash")
    kind, name, seq, digest = (value[field] for field in ("kind", "name", "seq", "hash"))
    if not isinstance(kind, str) or not isinstance(name, str) or type(seq) is not int or seq < 0:
        raise BadHeads(f"the head of {kind} {name} has a kind, name or seq of another type")
    try:
        found = bytes.fromhex(digest)
    except (TypeError, ValueError):
        found = b""
    if len(found) != len(GENESIS):
        raise BadHeads(f"the hash of the head of {kind} {name} is no SHA-256 in hexadecimal")
    return NotedHead(kind, name, seq, found)


def _signature(body: dict[str, Any], key: str) -> str:
    return hmac.new(key.encode(), codec.canonical(body), hashlib.sha256).hexdigest()


def _is_signed(body: dict[str, Any], key: str, signature: str) -> bool:
    try:
        wanted = _signature(body, key)
    except codec.BadEvent:  # a float, which no export holds
        return False
    return hmac.compare_digest(wanted.encode(), signature.encode())
