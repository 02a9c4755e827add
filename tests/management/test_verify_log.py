"""verify_log: heads noted in files and held against the log later. What it says of one log is tested with the
tables (tests/projections).
"""

from __future__ import annotations

import io
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction

from scheduling.ledger import store
from scheduling.models import Cluster
from scheduling.services import nodes
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.services.builders import node, text

KEY = "a key of the auditors"


@pytest.fixture
def cluster(db: None) -> Cluster:
    import_cluster(name="c", request=ImportRequest(text(node("a")), mode="simulated"), actor="t")
    return Cluster.objects.get(name="c")


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("verify_log", *arguments, stdout=out)
    return out.getvalue()


def failed(*arguments: str) -> str:
    with pytest.raises(CommandError) as error:
        run(*arguments)
    assert error.value.returncode == 1
    return str(error.value)


@pytest.mark.parametrize("key", ["", KEY])
def test_heads_are_noted_in_a_file_and_found_in_the_log_later(
    cluster: Cluster, tmp_path: Path, settings: Any, key: str
) -> None:
    settings.TAS_HEADS_KEY = key
    file, head = str(tmp_path / "heads.json"), store.head(cluster.pk)
    trust = "signed" if key else "not signed"
    why = trust if key else "not signed: TAS_HEADS_KEY is not set"
    assert run("--export-heads", file).splitlines()[-1] == f"1 head noted in {file} ({why})"
    noted = orjson.loads(Path(file).read_bytes())
    assert noted["heads"] == [{"kind": "cluster", "name": "c", "seq": head.seq, "hash": head.hash.hex()}]
    assert noted["console"] == "0.1.0"
    nodes.cordon(cluster=cluster, node="a", actor="t")
    last = run("--against", file).splitlines()[-1]
    assert last.startswith("in the log: 1 of 1 head noted at 20") and last.endswith(
        f"+00:00 by version 0.1.0 ({trust})"
    )
    assert KEY not in run("--against", file) and KEY.encode() not in Path(file).read_bytes()


def test_a_signed_file_without_the_key_is_compared_and_that_is_said(
    cluster: Cluster, tmp_path: Path, settings: Any
) -> None:
    file = str(tmp_path / "heads.json")
    settings.TAS_HEADS_KEY = KEY
    run("--export-heads", file)
    settings.TAS_HEADS_KEY = ""
    assert run("--against", file).endswith("(signed, which was not checked: TAS_HEADS_KEY is not set)\n")


def test_another_signature_is_refused_before_anything_is_walked(
    cluster: Cluster, tmp_path: Path, settings: Any
) -> None:
    file = str(tmp_path / "heads.json")
    settings.TAS_HEADS_KEY = "another"
    run("--export-heads", file)
    settings.TAS_HEADS_KEY = KEY
    assert failed("--against", file) == (
        f"{file}: its signature is not that of the key that is set: another key, or it was changed"
    )


def test_what_was_noted_is_never_written_over(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "heads.json"
    file.write_text("evidence")
    assert failed("--export-heads", str(file)) == f"{file}: File exists"
    assert file.read_text() == "evidence"


def test_files_that_cannot_be_read_or_written_are_named(cluster: Cluster, tmp_path: Path) -> None:
    nowhere = str(tmp_path / "no" / "heads.json")
    assert failed("--against", nowhere) == f"{nowhere}: No such file or directory"
    assert failed("--export-heads", nowhere) == f"{nowhere}: No such file or directory"


def test_standard_output_holds_the_file_alone_and_standard_input_gives_it(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, said = StringIO(), StringIO()
    call_command("verify_log", "--export-heads", "-", stdout=out, stderr=said)
    assert orjson.loads(out.getvalue())["form"] == "tas-console-heads"
    assert said.getvalue().startswith("cluster c: ")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(out.getvalue().encode())))
    assert "1 of 1 head noted" in run("--against", "-")


def test_a_log_that_differs_from_its_noted_head_fails_and_nothing_is_noted(
    cluster: Cluster, tmp_path: Path
) -> None:
    old, new = str(tmp_path / "old.json"), tmp_path / "new.json"
    run("--export-heads", old)
    noted = orjson.loads(Path(old).read_bytes())
    noted["heads"].append({"kind": "cluster", "name": "gone", "seq": 7, "hash": "00" * 32})
    noted["heads"][0]["seq"] += 1
    Path(old).write_bytes(orjson.dumps(noted))
    head = store.head(cluster.pk).seq
    assert failed("--against", old, "--export-heads", str(new)) == (
        f"not the log whose heads were noted: cluster c ends at event {head}: its head was noted at event "
        f"{head + 1}; cluster gone is gone: its head was noted at event 7"
    )
    assert not new.exists()


def test_heads_of_a_broken_log_are_not_noted(cluster: Cluster, tmp_path: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"alter table scheduling_event_{cluster.pk}_0 disable trigger append_only_rows")
        cursor.execute("update scheduling_event set actor = 'user:eve' where seq = 1")
    file = tmp_path / "heads.json"
    assert failed("--export-heads", str(file)) == "not as written, or not to be read: cluster c"
    assert not file.exists()


def test_one_cluster_is_held_against_its_own_head(cluster: Cluster, tmp_path: Path) -> None:
    file = str(tmp_path / "heads.json")
    run("c", "--export-heads", file)
    with transaction.atomic():
        store.open_stream("site", "site")
    assert "1 of 1 head noted" in run("c", "--against", file)
    import_cluster(name="d", request=ImportRequest(text(node("a")), mode="simulated"), actor="t")
    assert failed("d", "--against", file) == (
        "not the log whose heads were noted: the file notes no head of cluster d"
    )


def test_events_are_counted_on_a_terminal(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    plain = run()
    head = store.head(cluster.pk).seq
    assert "cluster c: tables" in screen.getvalue() and f"{head}/{head}" in screen.getvalue()
    monkeypatch.setattr("sys.stderr", StringIO())
    assert run() == plain
