"""A file of archived events speaks for itself, and one that is not as it was written is found out."""

import gzip
import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from scheduling.engine.model import Node
from scheduling.ledger import archive_files, store
from scheduling.ledger.archive_files import BadArchive, Header
from scheduling.ledger.events import NodeAdded
from scheduling.ledger.store import Head, StoredRow
from tests.ledger.conftest import NOW

AFTER = Head(20, bytes(range(32)))


def rows(count: int = 5) -> list[StoredRow]:
    """A stream's events 21 to 25, as ``append`` would write them."""
    events = [NodeAdded(Node(f"ノード{number}", f"u{number}")) for number in range(count)]
    causes = [None, 3, None, None, None]
    made, _ = store._chain(7, AFTER, events, "user:ada", "command", causes, NOW - 5, NOW)
    return [
        StoredRow(*row[:4], NOW - 5, NOW, *row[6:12], body=row[12].decode(), prev_hash=row[13], hash=row[14])
        for row in made
    ]


def header(found: list[StoredRow], **other: object) -> Header:
    told: dict[str, object] = {
        "stream": 7, "kind": "cluster", "name": "demo", "first": found[0].seq, "last": found[-1].seq,
        "rows": len(found), "recorded_first": NOW, "recorded_last": NOW, "prev_hash": AFTER.hash.hex(),
        "hash": found[-1].hash.hex(),
    }  # fmt: skip
    return Header(**(told | other))  # type: ignore[arg-type]


def written(folder: Path) -> Path:
    told = header(rows())
    return archive_files.publish(archive_files.write(folder, told, rows()), told).path


Lines = list[bytes]


def rewritten(path: Path, change: Callable[[Lines], Lines]) -> Path:
    """The file with other lines, packed as before."""
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(change(lines))))
    return path


def sentence(path: Path) -> str:
    with pytest.raises(BadArchive) as refused:
        archive_files.check(path)
    return str(refused.value)


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    path = written(tmp_path)
    assert path.name == "demo-7-000000000021-000000000025.ndjson.gz"
    assert list(archive_files.read(path)) == rows()
    assert archive_files.header(path) == header(rows())
    assert sorted(file.name for file in tmp_path.iterdir()) == [path.name, f"{path.name}.sha256"]


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    one, other = written(tmp_path / "one"), written(tmp_path / "other")
    assert one.read_bytes() == other.read_bytes()
    before = one.stat()
    assert written(tmp_path / "one") == one
    assert one.stat() == before  # the one that was there stays


def test_sha256sum_reads_what_lies_beside_it(tmp_path: Path) -> None:
    path = written(tmp_path)
    command = ["sha256sum", "--check", f"{path.name}.sha256"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert checked.stdout == f"{path.name}: OK\n"


def test_a_file_can_be_checked_with_the_standard_library_alone(tmp_path: Path) -> None:
    """The lines of docs/archive-format.md, run as they stand there."""
    page = (Path(__file__).parents[2] / "docs/archive-format.md").read_text()
    program = page.split("```python\n")[1].split("```")[0]
    path = written(tmp_path)
    command = ["python3", "-c", program, str(path)]
    good = subprocess.run(command, capture_output=True, text=True)
    assert (good.returncode, good.stdout, good.stderr) == (0, "events 21 to 25 are as written\n", "")
    bad = subprocess.run([*command[:3], str(rewritten(path, other_actor))], capture_output=True, text=True)
    assert bad.returncode == 1 and "event 23 is not as written" in bad.stderr


def test_another_file_of_that_name_is_not_overwritten(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(b"something else")
    with pytest.raises(BadArchive, match="is there already and holds something else: move it away"):
        written(tmp_path)
    assert path.read_bytes() == b"something else"


def other_actor(lines: Lines) -> Lines:
    return [*lines[:3], lines[3].replace(b"user:ada", b"user:eve"), *lines[4:]]


@pytest.mark.parametrize(
    "change, found",
    [
        (other_actor, "event 23: it does not have the hash of what it holds"),
        (lambda lines: [*lines[:2], *lines[3:]], "event 22: event 23 stands in its place"),
        (
            lambda lines: [*lines[:2], lines[3], lines[2], *lines[4:]],
            "event 22: event 23 stands in its place",
        ),
        (lambda lines: [*lines[:4], lines[3], *lines[4:]], "event 24: event 23 stands in its place"),
        (lambda lines: lines[:4], ": it ends with event 23; event 25 should be the last, with hash "),
        (lambda lines: [*lines[:3], b"{}\n", *lines[4:]], "event 23: the line is no event: "),
        (lambda lines: [*lines[:3], b"torn", *lines[4:]], "event 23: the line is no event: "),
        (
            lambda lines: [lines[0].replace(b"000102", b"ff0102"), *lines[1:]],
            "event 21: it does not follow the event before it",
        ),
        (
            lambda lines: [lines[0].replace(b'"last":25', b'"last":24'), *lines[1:]],
            ": its first line tells 5 events from 21 to 24",
        ),
        (
            lambda lines: [lines[0].replace(b'"version":1', b'"version":2'), *lines[1:]],
            " is written in version 2 of the format; 1 is known here",
        ),
        (
            lambda lines: [lines[0].replace(b'"kind"', b'"sort"'), *lines[1:]],
            ": its first line is not as written: Header.kind: missing",
        ),
        (lambda lines: lines[1:], " is no archive of events: its first line does not say "),
        (lambda lines: [], " is no archive of events: its first line does not say "),
    ],
)
def test_what_was_done_to_a_file_is_told(
    tmp_path: Path, change: Callable[[Lines], Lines], found: str
) -> None:
    path = rewritten(written(tmp_path), change)
    assert sentence(path).startswith(str(path))
    assert found in sentence(path)


def test_a_file_that_was_cut_off_is_torn(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes()[:-20])
    assert sentence(path).startswith(f"{path} is torn or no gzip file: ")


def test_something_else_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson.gz"
    assert sentence(path) == f"{path} cannot be read: No such file or directory"
    path.write_text("hello")
    assert sentence(path).startswith(f"{path} is torn or no gzip file: ")


def test_the_sum_beside_a_file_is_held_to_it(tmp_path: Path) -> None:
    path = written(tmp_path)
    archive_files.check_sidecar(archive_files.digest(path))
    rewritten(path, other_actor)
    now = hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(BadArchive, match=f"has SHA-256 {now}, and {path.name}.sha256 says another one"):
        archive_files.check_sidecar(archive_files.digest(path))


def test_lines_are_what_the_database_holds(tmp_path: Path) -> None:
    first, *lines = gzip.decompress(written(tmp_path).read_bytes()).splitlines()
    assert json.loads(first)["format"] == "tas-console-events"
    assert [json.loads(line)["body"] for line in lines] == [row.body for row in rows()]
