"""`manage.py retention`: old events to files and back, at the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from scheduling.ledger import archives, store
from scheduling.models import Archive, Cluster
from scheduling.services import nodes, state
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.services.builders import node, text

ROOT = Path(__file__).parents[2]


@pytest.fixture
def cluster(narrow: int) -> Cluster:
    """22 events."""
    state._states.clear()
    dump = text(*(node(f"n{number}") for number in range(15)))
    import_cluster(name="demo", request=ImportRequest(dump, mode="simulated"), actor="t")
    made = Cluster.objects.get(name="demo")
    for change in (nodes.cordon, nodes.uncordon, nodes.cordon, nodes.uncordon, nodes.cordon):
        change(cluster=made, node="n1", actor="t")
    assert store.head(made.pk).seq == 22
    return made


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("retention", *arguments, stdout=out)
    return out.getvalue()


def refusal(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        run(*arguments)
    return str(refused.value)


def test_events_go_and_come_back(cluster: Cluster, tmp_path: Path) -> None:
    listed = run("list").splitlines()
    assert listed[0] == "demo:"
    assert [line.rsplit(" UTC, ")[1].split(", ", 2)[2] for line in listed[1:]] == [
        "in the database, may be detached",
        "in the database, may be detached",
        "in the database",
    ]
    said = run("detach", "demo", "--to", str(tmp_path), "--keep", "1").splitlines()
    one, two = archives.of(cluster.pk)
    assert said[:4] == [
        "writing events 1 to 10",
        "reading them back",
        "folding them",
        "taking them out of the database, when nobody reads them any more",
    ]
    assert said[-2:] == [
        f"events {archive.first_seq} to {archive.last_seq} in {archive.file} "
        f"({archive.size / 1024:.1f} KiB, sha256 {archive.sha256})"
        for archive in (one, two)
    ]
    assert run("list", "demo").splitlines()[1].endswith(f"in {one.file}")
    assert run("verify", str(tmp_path)).splitlines() == [
        f"{tmp_path / archive.file}: cluster demo, events {archive.first_seq} to {archive.last_seq}: "
        "as the log tells"
        for archive in (one, two)
    ]
    assert run("attach", str(tmp_path / two.file)).splitlines()[-1] == (
        f"events 11 to 20 are in the database again; {two.file} may be kept"
    )
    assert archives.of(cluster.pk) == [one]
    assert run("rebase", "demo", str(tmp_path)).splitlines() == [
        f"folding events 1 to 10 in {one.file}",
        "1 made; `rebuild_projections demo` brings the tables up to date",
    ]
    out = StringIO()
    call_command("verify_log", "demo", stdout=out)
    assert out.getvalue().startswith(
        f"cluster demo: events 1 to 10 in {one.file}: `retention verify` checks it"
    )


def test_nothing_to_do_is_said(cluster: Cluster, tmp_path: Path) -> None:
    said = run("detach", "demo", "--to", str(tmp_path), "--before", "2020-01-01")
    assert said == "There was nothing to archive: only full partitions are, never the newest one.\n"


def test_what_cannot_be_done_is_one_sentence(cluster: Cluster, tmp_path: Path) -> None:
    assert refusal("detach", "demo", "--to", str(tmp_path / "x"), "--keep", "1") == (
        f"{tmp_path / 'x'} is no folder"
    )
    assert refusal("list", "nowhere") == "there is no cluster nowhere"
    assert refusal("attach", str(tmp_path / "x")) == (
        f"{tmp_path / 'x'} cannot be read: No such file or directory"
    )
    assert refusal("rebase", "demo", str(tmp_path)) == "no events of demo are archived"
    assert refusal("verify", str(tmp_path)) == "there is no archive of events among these"
    (tmp_path / "a.ndjson.gz").write_bytes(b"x")
    assert refusal("verify", str(tmp_path)) == "1 of 1 are not as they should be"


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (("--keep", "0"), "0 is not from 1 to"),
        (("--before", "soon"), "'soon' is neither a seq nor a time like 2026-11-30T09:00:00Z"),
        (("--before", "2026-13-01"), "'2026-13-01' is no time: month must be in 1..12"),
        (("--before", "5", "--keep", "1"), "not allowed with argument"),
        ((), "one of the arguments --keep --before is required"),
    ],
)
def test_wrong_usage_is_told(db: None, arguments: tuple[str, ...], sentence: str) -> None:
    assert sentence in refusal("detach", "demo", "--to", ".", *arguments)


@pytest.mark.parametrize("folder", ["not-a-folder", "read-only"])
def test_a_folder_that_cannot_be_written_to_is_named(cluster: Cluster, tmp_path: Path, folder: str) -> None:
    target = tmp_path / folder
    if folder == "not-a-folder":
        target.write_text("")
    else:
        target = Path("/proc/self")
    assert str(target) in refusal("detach", "demo", "--to", str(target), "--keep", "1")
    assert not Archive.objects.exists()


def manage(owner: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """As a process of its own, which chooses its role by the command that it is given."""
    given = connection.get_connection_params()
    url = f"postgres:///{given['dbname']}?host={given['host']}&user="
    env = {
        **os.environ,
        "TAS_NO_BOOTSTRAP": "1",
        "DATABASE_URL": f"{url}tas_app",
        "DATABASE_OWNER_URL": f"{url}{owner}",
        "DJANGO_SETTINGS_MODULE": "tasweb.settings",
    }
    program = [sys.executable, str(ROOT / "manage.py"), "retention", *arguments]
    return subprocess.run(program, env=env, capture_output=True, text=True)


def test_the_command_connects_as_the_owner(cluster: Cluster, tmp_path: Path) -> None:
    arguments = ("detach", "demo", "--to", str(tmp_path), "--keep", "1")
    as_runtime = manage("tas_app", *arguments)
    assert (as_runtime.returncode, as_runtime.stderr) == (
        1,
        "CommandError: the role tas_app does not own the log, tas_owner does: give DATABASE_OWNER_URL "
        "(docs/operations.md)\n",
    )
    as_owner = manage("tas_owner", "list")
    assert as_owner.returncode == 0 and as_owner.stdout.startswith("demo:\n  1 to ")
    # Its partitions have the width that is real, so none of these events may go.
    as_owner = manage("tas_owner", *arguments)
    assert as_owner.stdout == (
        "There was nothing to archive: only full partitions are, never the newest one.\n"
    ), as_owner.stderr
