"""Files of archived events: written, read and checked, with nothing but the file at hand.

docs/archive-format.md describes the format for other tools. The same rows give the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from scheduling.ledger import codec
from scheduling.ledger.store import Head, StoredRow

FORMAT: Final = "tas-console-events"
VERSION: Final = 1
SUFFIX: Final = ".ndjson.gz"
_PIECE = 1 << 20
_LEVEL = 6


class BadArchive(ValueError):
    """A file that is no archive, or not as it was written. The sentence names the file and what is wrong."""


@dataclass(frozen=True, slots=True)
class Header:
    """First line of a file. ``prev_hash``: of the event before ``first``; ``hash``: of ``last``; both in
    hexadecimal. ``recorded_first``, ``recorded_last``: when these were recorded, in milliseconds.
    """

    stream: int
    kind: str
    name: str
    first: int
    last: int
    rows: int
    recorded_first: int
    recorded_last: int
    prev_hash: str
    hash: str

    @property
    def file(self) -> str:
        """The name under which it is stored; names sort as the events do."""
        return f"{self.name}-{self.stream}-{self.first:012d}-{self.last:012d}{SUFFIX}"


@dataclass(frozen=True, slots=True)
class Stored:
    """A file on disk: its bytes and their SHA-256."""

    path: Path
    size: int
    sha256: str


def write(folder: Path, header: Header, rows: Iterable[StoredRow]) -> Path:
    """The bytes of the file on disk, under a name that says that it is not finished. Nothing is left of it
    when it cannot be: OSError, and what ``rows`` raises.
    """
    part = folder / f".{header.file}.part"
    try:
        with part.open("wb") as file:
            with gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as packed:  # no name, no time: fixed bytes
                packed.write(_line({"format": FORMAT, "version": VERSION, **asdict(header)}))
                for row in rows:
                    packed.write(_line(_record(row)))
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return part


def publish(part: Path, header: Header) -> Stored:
    """Give a written file its name, and its ``.sha256`` beside it. One of that name with the same bytes is
    left as it is; BadArchive when it has others. OSError.
    """
    made = digest(part)
    path = part.with_name(header.file)
    if path.exists():
        part.unlink()
        if digest(path).sha256 != made.sha256:
            raise BadArchive(f"{path} is there already and holds something else: move it away")
    else:
        part.rename(path)
    note = part.with_name(f".{path.name}.sha256.part")
    with note.open("w") as file:
        file.write(f"{made.sha256}  {path.name}\n")
        file.flush()
        os.fsync(file.fileno())
    note.rename(sidecar(path))
    descriptor = os.open(part.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return Stored(path, made.size, made.sha256)


def sidecar(path: Path) -> Path:
    """Where `sha256sum --check` finds what the file was."""
    return path.with_name(path.name + ".sha256")


def digest(path: Path) -> Stored:
    """Size and SHA-256 of a file. BadArchive when it cannot be read."""
    total, size = hashlib.sha256(), 0
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                total.update(piece)
                size += len(piece)
    except OSError as error:
        raise BadArchive(f"{path} cannot be read: {error.strerror}") from error
    return Stored(path, size, total.hexdigest())


def check_sidecar(stored: Stored) -> None:
    """BadArchive when the ``.sha256`` beside the file says that it was another one. None need be there."""
    note = sidecar(stored.path)
    if note.exists() and note.read_text().split()[:1] != [stored.sha256]:
        raise BadArchive(f"{stored.path} has SHA-256 {stored.sha256}, and {note.name} says another one")


def header(path: Path) -> Header:
    """The first line of a file. BadArchive when it is no archive of a version that is known here."""
    with _lines(path) as lines:
        return _header(path, next(lines, b""))


def check(path: Path) -> None:
    """Read a whole file. BadArchive when it is not as it was written."""
    for _ in read(path):
        pass


def read(path: Path) -> Iterator[StoredRow]:
    """All rows, each checked on the way: its hash, that it follows the one before, and at the end that the
    file holds what its header says. BadArchive names the file and the first event that is not as written.
    """
    with _lines(path) as lines:
        told = _header(path, next(lines, b""))
        before = Head(told.first - 1, bytes.fromhex(told.prev_hash))
        for line in lines:
            row = _row(path, line, told.stream, before)
            before = Head(row.seq, row.hash)
            yield row
    if (before.seq, before.hash.hex()) != (told.last, told.hash):
        raise BadArchive(
            f"{path}: it ends with event {before.seq:,}; event {told.last:,} should be the last, "
            f"with hash {told.hash}"
        )


# --- steps


def _line(value: dict[str, Any]) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE)


def _record(row: StoredRow) -> dict[str, Any]:
    return {
        name: value.hex() if isinstance(value, bytes) else value
        for name, value in ((name, getattr(row, name)) for name in _COLUMNS)
    }


_COLUMNS = [name for name in StoredRow._fields if name != "stream_id"]


@contextmanager
def _lines(path: Path) -> Iterator[Iterator[bytes]]:
    try:
        with path.open("rb") as file, gzip.GzipFile(fileobj=file) as unpacked:
            yield iter(unpacked)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadArchive(f"{path} is torn or no gzip file: {error}") from error
    except OSError as error:
        raise BadArchive(f"{path} cannot be read: {error.strerror or error}") from error


def _header(path: Path, line: bytes) -> Header:
    try:
        told = orjson.loads(line)
    except orjson.JSONDecodeError:
        told = None
    if not isinstance(told, dict) or told.get("format") != FORMAT:
        raise BadArchive(f"{path} is no archive of events: its first line does not say {FORMAT!r}")
    if told.get("version") != VERSION:
        raise BadArchive(
            f"{path} is written in version {told.get('version')} of the format; {VERSION} is known here"
        )
    try:
        found = codec.decode_part(Header, {k: v for k, v in told.items() if k not in ("format", "version")})
        bytes.fromhex(found.prev_hash), bytes.fromhex(found.hash)
    except ValueError as error:
        raise BadArchive(f"{path}: its first line is not as written: {error}") from error
    if found.rows != found.last - found.first + 1 or not 1 <= found.first <= found.last:
        raise BadArchive(
            f"{path}: its first line tells {found.rows} events from {found.first} to {found.last}"
        )
    return found


def _row(path: Path, line: bytes, stream: int, before: Head) -> StoredRow:
    place = f"{path}, event {before.seq + 1:,}"
    try:
        told = orjson.loads(line)
        for name in ("prev_hash", "hash"):
            told[name] = bytes.fromhex(told[name])
        row = StoredRow(stream_id=stream, **told)
        computed = row.computed_hash()
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadArchive(f"{place}: the line is no event: {error}") from error
    if row.seq != before.seq + 1:
        raise BadArchive(f"{place}: event {row.seq:,} stands in its place")
    if row.prev_hash != before.hash:
        raise BadArchive(f"{place}: it does not follow the event before it")
    if row.hash != computed:
        raise BadArchive(f"{place}: it does not have the hash of what it holds")
    return row
