"""`manage.py import_cluster`: what it prints and how it ends."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scheduling.models import Cluster
from scheduling.services.state import state_of
from tests.services.builders import gang, node, pod, text


@pytest.fixture
def dump(tmp_path: Path) -> Any:
    def written(*manifests: Any, name: str = "dump.json") -> str:
        data = text(*manifests)
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return str(path)

    return written


def test_it_makes_a_cluster_and_tells_so(db: None, dump: Any, capsys: pytest.CaptureFixture[str]) -> None:
    file = dump(node("a"), node("b", None), gang("g", 1), name="dump.json.gz")
    call_command("import_cluster", "c", file, "--mode", "simulated", "--gate", "GangScheduling=false")
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("note: Node b metadata.labels[topology.example.com/rack]: 1 node has no label")
    assert told[1:] == [
        "Node: 2 added",
        "PodGroup: 1 added",
        "Cluster c was made; its log is at 5.",
    ]
    assert Cluster.objects.get().gates["GangScheduling"] is False


def test_again_it_tells_what_changed(db: None, dump: Any, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("import_cluster", "c", dump(node("a"), node("b")), "--mode", "simulated")
    capsys.readouterr()
    call_command("import_cluster", "c", dump(node("a", cpu="9")), "--complete", "Node")
    assert capsys.readouterr().out.splitlines()[:2] == ["Node: 1 updated, 1 removed", "  removed b"]


def test_refusals_go_to_standard_error_one_line_each_and_fail(
    db: None, dump: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    file = dump(node("a"), gang("g", 0), pod("g-0", "g", cpu="x"))
    with pytest.raises(SystemExit) as ended:
        call_command("import_cluster", "c", file, "--mode", "simulated")
    assert ended.value.code == 1
    told = capsys.readouterr()
    assert told.out == ""
    lines = sorted(told.err.splitlines())
    assert lines[0] == "Nothing was imported."
    assert lines[1].startswith("Pod default/g-0 spec.containers[0].resources.requests[cpu]: ")
    assert lines[2].startswith("PodGroup default/g spec.schedulingPolicy.gang.minCount: ")
    assert not Cluster.objects.exists()
    call_command("import_cluster", "c", file, "--mode", "simulated", "--partial")
    assert len(capsys.readouterr().err.splitlines()) == 2
    assert list(state_of(Cluster.objects.get()).nodes) == ["a"]


def test_a_dry_run_proposes_and_stores_nothing(
    db: None, dump: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("import_cluster", "c", dump(node("a", uid="n1"), gang("g", 1)), "--dry-run")
    told = capsys.readouterr().out
    assert "mode observed, gates GenericWorkload=true" in told and "Nothing was imported" in told
    assert not Cluster.objects.exists()


def test_a_file_that_is_not_there_is_named(db: None) -> None:
    with pytest.raises(CommandError, match="no-such-file"):
        call_command("import_cluster", "c", "no-such-file")
