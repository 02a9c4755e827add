"""`manage.py retention` dies by SIGKILL at every step: the events are in the database or in their file, and
the same command goes on.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from scheduling.ledger import archive_files, archives, store
from scheduling.ledger.partitions import Standing
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster
from scheduling.projections import rebuild
from scheduling.services import nodes, retention, state
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.services.builders import node, text

ROOT = Path(__file__).parents[2]
OUT = ("chosen", "written", "published", "recorded", "committed", "detached", "dropped")
BACK = ("loaded", "attached", "restored")


@pytest.fixture
def cluster(narrow: int) -> Cluster:
    """23 events: two full partitions, and three events."""
    state._states.clear()
    dump = text(*(node(f"n{number}") for number in range(15)))
    import_cluster(name="c", request=ImportRequest(dump, mode="simulated"), actor="t")
    made = Cluster.objects.get(name="c")
    while store.head(made.pk).seq < 23:
        nodes.cordon(cluster=made, node="n1", actor="t")
        nodes.uncordon(cluster=made, node="n1", actor="t")
    return made


def command(width: int, stop_at: str, *arguments: str) -> subprocess.Popen[str]:
    given = connection.get_connection_params()
    url = f"postgres:///{given['dbname']}?host={given['host']}&user=tas_owner"
    env = {
        **os.environ,
        "DATABASE_URL": url,
        "DJANGO_SETTINGS_MODULE": "tasweb.settings",
        "TAS_WIDTH": str(width),
        "TAS_STOP_AT": stop_at,
    }
    program = [sys.executable, "-m", "tests.faults.retaining", *arguments]
    return subprocess.Popen(
        program, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def killed_at(width: int, point: str, *arguments: str) -> None:
    process = command(width, point, *arguments)
    assert process.stdout is not None
    for line in process.stdout:
        if line == f"reached {point}\n":
            break
    else:
        raise AssertionError(f"it ended before {point}: {process.communicate()}")
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def in_table(cluster: Cluster) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("select seq from scheduling_event where stream_id = %s order by seq", [cluster.pk])
        return [seq for (seq,) in cursor.fetchall()]


def nothing_is_lost(cluster: Cluster, folder: Path) -> None:
    """Every event is in the table, or in a file that the log tells of, or (on its way out) in both."""
    files = [row.seq for gone in archives.of(cluster.pk) for row in archive_files.read(folder / gone.file)]
    assert sorted({*files, *in_table(cluster)}) == list(range(1, store.head(cluster.pk).seq + 1))
    assert verify_chain(cluster.pk).ok
    assert rebuild.compare(cluster.pk) == []
    state._states.clear()
    nodes.cordon(cluster=cluster, node="n2", actor="t")
    nodes.uncordon(cluster=cluster, node="n2", actor="t")


@pytest.mark.parametrize("point", OUT)
def test_detaching_goes_on_wherever_it_died(
    cluster: Cluster, narrow: int, tmp_path: Path, point: str
) -> None:
    arguments = ("detach", "c", "--to", str(tmp_path), "--before", "21")
    killed_at(narrow, point, *arguments)
    recorded = point in OUT[OUT.index("committed") :]
    assert len(archives.of(cluster.pk)) == recorded
    assert (1 in in_table(cluster)) == (point not in ("detached", "dropped"))
    nothing_is_lost(cluster, tmp_path)
    again = command(narrow, "never", *arguments)
    assert again.communicate()[1] == "" and again.returncode == 0
    assert [archive.last_seq for archive in archives.of(cluster.pk)] == [10, 20]
    assert in_table(cluster)[0] == 21
    assert [piece.standing for piece in retention.pieces(cluster.pk)][:2] == [None, None]
    assert not list(tmp_path.glob(".*"))
    nothing_is_lost(cluster, tmp_path)


@pytest.mark.parametrize("point", BACK)
def test_the_way_back_goes_on_wherever_it_died(
    cluster: Cluster, narrow: int, tmp_path: Path, point: str
) -> None:
    (archive,) = retention.detach(cluster=cluster, folder=tmp_path, before=11, actor="t")
    arguments = ("attach", str(tmp_path / archive.file))
    killed_at(narrow, point, *arguments)
    restored = point == "restored"
    assert (archives.of(cluster.pk) == []) == restored == (1 in in_table(cluster))
    nothing_is_lost(cluster, tmp_path)
    again = command(narrow, "never", *arguments)
    _, said = again.communicate()
    assert (again.returncode, said == "") == (int(restored), not restored)
    assert not restored or said.endswith("CommandError: events 1 to 10 of c are in the database\n")
    assert in_table(cluster)[0] == 1 and archives.of(cluster.pk) == []
    nothing_is_lost(cluster, tmp_path)


def test_a_partition_on_its_way_out_goes_when_the_command_is_run_again(
    cluster: Cluster, narrow: int, tmp_path: Path, stack: Any
) -> None:
    """A reader held it up, and then the command died with its connection."""
    waiting = (
        "select pid from pg_stat_activity where wait_event_type = 'Lock' "
        "and query ilike '%%detach partition%%concurrently'"
    )
    with stack.connect("tas_app") as reader, stack.connect("postgres") as watch:
        reader.execute("begin")
        reader.execute("select count(*) from scheduling_event")
        process = command(narrow, "never", "detach", "c", "--to", str(tmp_path), "--before", "11")
        while (found := watch.execute(waiting).fetchone()) is None:
            assert process.poll() is None, process.communicate()
        process.kill()
        process.communicate()
        watch.execute("select pg_terminate_backend(%s)", found)
        reader.execute("commit")
        while watch.execute("select from pg_stat_activity where pid = %s", found).fetchone() is not None:
            pass
    (piece, *_) = retention.pieces(cluster.pk)
    assert piece.standing is Standing.DETACHING
    nothing_is_lost(cluster, tmp_path)
    retention.detach(cluster=cluster, folder=tmp_path, before=11, actor="t")
    (piece, *_) = retention.pieces(cluster.pk)
    assert piece.standing is None
    nothing_is_lost(cluster, tmp_path)


@pytest.mark.parametrize("point", ["committed", "detached"])
def test_a_file_that_was_lost_before_its_events_left_is_written_again(
    cluster: Cluster, narrow: int, tmp_path: Path, point: str
) -> None:
    killed_at(narrow, point, "detach", "c", "--to", str(tmp_path), "--before", "11")
    (archive,) = archives.of(cluster.pk)
    (tmp_path / archive.file).unlink()
    retention.detach(cluster=cluster, folder=tmp_path, before=11, actor="t")
    assert archive_files.digest(tmp_path / archive.file).sha256 == archive.sha256
    nothing_is_lost(cluster, tmp_path)


def test_a_partition_whose_file_is_another_one_stays(cluster: Cluster, narrow: int, tmp_path: Path) -> None:
    killed_at(narrow, "committed", "detach", "c", "--to", str(tmp_path), "--before", "11")
    (archive,) = archives.of(cluster.pk)
    (tmp_path / archive.file).write_bytes(b"another")
    with pytest.raises(retention.NotDone, match="was changed or is torn: its SHA-256 is"):
        retention.detach(cluster=cluster, folder=tmp_path, before=11, actor="t")
    assert in_table(cluster)[0] == 1
    (tmp_path / archive.file).unlink()
    retention.detach(cluster=cluster, folder=tmp_path, before=11, actor="t")
    assert in_table(cluster)[0] == 11
