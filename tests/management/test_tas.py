"""`manage.py tas`: what it prints for people and for programs, and what it exits with."""

import getpass
import gzip
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.core.management.base import OutputWrapper

from scheduling.ledger import store
from scheduling.management.commands.tas import REFUSED
from scheduling.models import Cluster
from scheduling.services.cycles import run_cycle
from tests.api.support import NODES, dump, gang, node, pod_group

pytestmark = pytest.mark.django_db


def tas(*words: str | Path) -> str:
    out = StringIO()
    call_command("tas", *map(str, words), stdout=OutputWrapper(out))
    return out.getvalue()


def tas_json(*words: str | Path) -> Any:
    return json.loads(tas(*words, "--json"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "dump.json.gz"
    path.write_bytes(gzip.compress(dump(*NODES, *gang("fits", 2), *gang("wide", 3))))
    return path


@pytest.fixture
def demo(file: Path) -> Cluster:
    tas("import", "demo", file, "--mode", "simulated")
    cluster = Cluster.objects.get(name="demo")
    run_cycle(cluster.pk)
    return cluster


def test_import_prints_what_it_did(file: Path) -> None:
    lines = tas("import", "demo", file, "--mode", "simulated").splitlines()
    assert lines[0].split() == ["kind", "added", "updated", "unchanged", "removed"]
    assert [line.split() for line in lines[1:4]] == [
        ["Node", "5", "0", "0", "0"],
        ["Pod", "5", "0", "0", "0"],
        ["PodGroup", "2", "0", "0", "0"],
    ]
    cluster = Cluster.objects.get(name="demo")
    assert lines[-1] == f"demo is at event {store.head(cluster.pk).seq}."
    assert next(store.read(cluster.pk)).actor == f"cli:{getpass.getuser()}"


def test_import_json_is_what_the_api_answers(demo: Cluster, file: Path) -> None:
    report = tas_json("import", "demo", file)
    assert report["unchanged"]["Node"] == 5 and report["created"] is False and report["dry_run"] is False


def test_a_dry_run_writes_nothing(file: Path) -> None:
    assert tas("import", "demo", file, "--mode", "simulated", "--dry-run").endswith("Nothing was stored.\n")
    assert not Cluster.objects.exists()


def test_gates_and_complete_kinds_are_options(demo: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "nodes.json"
    path.write_bytes(dump(*NODES[1:]))
    report = tas_json("import", "demo", path, "--complete", "Node")
    assert report["removed"]["Node"] == ["node-1-1"]
    tas("import", "off", path, "--mode", "simulated", "--gate", "GangScheduling=false")
    assert Cluster.objects.get(name="off").gates["GangScheduling"] is False
    with pytest.raises(CommandError) as error:
        tas("import", "off", path, "--gate", "GangScheduling")
    assert "'GangScheduling' is not Name=true or Name=false" in str(error.value)


def test_what_is_refused_names_every_object_and_exits_with_3(demo: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(dump(pod_group("one", 0), pod_group("two", -1)))
    for action in ("import", "submit"):
        with pytest.raises(CommandError) as error:
            tas(action, "demo", path)
        assert error.value.returncode == REFUSED
        assert "team-a/one" in str(error.value) and "team-a/two" in str(error.value)


def test_with_json_a_refusal_is_the_error_of_the_api(demo: Cluster, tmp_path: Path) -> None:
    path, out = tmp_path / "bad.json", StringIO()
    path.write_bytes(dump(pod_group("one", 0)))
    with pytest.raises(CommandError):
        call_command("tas", "submit", "demo", str(path), "--json", stdout=OutputWrapper(out))
    error = json.loads(out.getvalue())
    assert error["code"] == "refused"
    assert [problem["path"] for problem in error["problems"]] == ["spec.schedulingPolicy.gang.minCount"]


def test_a_file_that_is_not_there_and_an_unknown_cluster_exit_with_1(tmp_path: Path, demo: Cluster) -> None:
    for words in (
        ("submit", "demo", tmp_path / "nothing"),
        ("groups", "nothing"),
        ("events", "nothing"),
        ("explain", "nothing", "team-a/fits"),
        ("explain", "demo", "fits"),
    ):
        with pytest.raises(CommandError) as error:
            tas(*words)
        assert error.value.returncode == 1


def test_an_unknown_group_cannot_be_explained(demo: Cluster) -> None:
    with pytest.raises(CommandError, match="team-a/nothing") as error:
        tas("explain", "demo", "team-a/nothing")
    assert error.value.returncode == 1


def test_submit_prints_the_events(demo: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "job.json"
    path.write_bytes(dump(*gang("job", 1)))
    lines = tas("submit", "demo", path).splitlines()
    assert [line.split()[1] for line in lines] == ["event", "PodGroupCreated", "PodAdded"]


def test_groups_are_a_table_or_the_json_of_the_api(demo: Cluster) -> None:
    lines = tas("groups", "demo").splitlines()
    assert [line.split()[:2] for line in lines[1:]] == [
        ["team-a/fits", "scheduled"],
        ["team-a/wide", "pending"],
    ]
    items = tas_json("groups", "demo", "--status", "pending")["items"]
    assert [item["name"] for item in items] == ["wide"]
    assert "more than 1" in tas("groups", "demo", "--limit", "1")


def test_explain_says_the_verdict_and_every_domain(demo: Cluster) -> None:
    text = tas("explain", "demo", "team-a/wide")
    assert "proved_infeasible never_fits" in text and "rack-1" in text and "rack-2" in text
    assert tas_json("explain", "demo", "team-a/wide")["reason"] == "never_fits"


def test_events_are_the_newest_in_order_or_all_after_a_seq(demo: Cluster) -> None:
    head = store.head(demo.pk).seq
    lines = tas("events", "demo", "--limit", "2").splitlines()
    assert [int(line.split()[0]) for line in lines[1:]] == [head - 1, head]
    rows = [
        json.loads(line)
        for line in tas("events", "demo", "--after", "0", "--limit", "3", "--json").splitlines()
    ]
    assert [row["seq"] for row in rows] == [1, 2, 3]
    assert "PodGroupPlaced" in tas("events", "demo", "--type", "PodGroupPlaced")


def test_a_table_is_as_wide_as_its_cells_with_numbers_to_the_right(demo: Cluster) -> None:
    head, *rows = tas("events", "demo", "--after", "0", "--limit", "12").splitlines()
    column = head.index("recorded")
    assert all(row[column - 2 : column] == "  " and row[column].isdigit() for row in rows)


def test_a_node_of_no_rack_is_told(demo: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "more.json"
    path.write_bytes(dump(node("more", None)))
    tas("import", "demo", path)
    assert tas_json("explain", "demo", "team-a/wide")["unlabelled_nodes"] == 2


@pytest.mark.parametrize(
    "words",
    [
        ("events", "demo", "--limit", "-1"),
        ("events", "demo", "--limit", "0"),
        ("events", "demo", "--limit", "1000001"),
        ("events", "demo", "--after", "-1"),
        ("events", "demo", "--after", "99999999999999999999"),
        ("groups", "demo", "--limit", "-1"),
        ("events", "demo", "--type", "Bogus"),
        ("events", "demo", "--subject", "bogus"),
        ("groups", "demo", "--status", "bogus"),
        ("events", "demo", "--name", "a\0"),
        ("groups", "no\0such"),
        ("explain", "demo", "a\0/b"),
        ("events", "demo", "--name", "a\udcff"),
    ],
)
def test_an_option_that_means_nothing_is_refused_with_its_name(words: tuple[str, ...], demo: Cluster) -> None:
    with pytest.raises(CommandError) as error:
        tas(*words)
    option = words[2].removeprefix("--") if words[2:3] and words[2].startswith("--") else ""
    assert option in str(error.value)


def test_a_dry_run_of_what_would_be_refused_says_so(demo: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_bytes(dump(pod_group("bad", 0), node("more", "rack-1")))
    assert "Nothing would be stored" in tas("import", "demo", path, "--dry-run")
    assert "Nothing would be stored" not in tas("import", "demo", path, "--dry-run", "--partial")


# ---------------------------------------------------------------- scenarios

LOSE = "name: loss\nsteps:\n- step: lose_nodes\n  key: topology.example.com/rack\n  domain: rack-1\n"


@pytest.fixture
def loss(demo: Cluster, tmp_path: Path) -> Path:
    path = tmp_path / "loss.yaml"
    path.write_text(LOSE)
    return path


def test_a_scenario_is_saved_listed_and_shown_as_it_can_be_saved_again(loss: Path) -> None:
    assert tas("scenario", "save", "demo", loss) == "loss is saved, revision 1.\n"
    assert tas("scenario", "list", "demo").splitlines()[1].split()[:3] == ["loss", "1", "newest"]
    assert tas("scenario", "show", "demo", "loss") == LOSE
    assert tas_json("scenario", "show", "demo", "loss")["document"]["steps"][0]["domain"] == "rack-1"


def test_a_scenario_is_run_and_waited_for(loss: Path) -> None:
    lines = tas("scenario", "run", "demo", loss, "--wait").splitlines()
    assert lines[0].startswith("Run 1 on event ") and ": waits (asked 1, " in lines[0]
    assert lines[2].split()[:3] == ["team-a/fits", "hit", "stopped"]
    tas("scenario", "save", "demo", loss)
    run = tas_json("scenario", "run", "demo", "loss", "--at", "1", "--wait")
    assert (run["status"], run["base_seq"], run["scenario"]) == ("failed", 1, "loss")
    assert tas_json("scenario", "result", "demo", "1")["result"]["verdict"]["code"] == "waits"


def test_a_run_is_asked_for_and_left_to_the_workers(loss: Path) -> None:
    assert tas("scenario", "run", "demo", loss).startswith("Run 1 begins after event ")
    with pytest.raises(CommandError, match="run 1 is waiting: 0 of 0 steps"):
        tas("scenario", "result", "demo", "1")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("show", "none"), 1, "There is no scenario none"),
        (("run", "none"), 1, "There is no scenario none"),
        (("run", "none.yaml"), 1, "No such file"),
        (("result", "7"), 1, "There is no run 7"),
    ],
)
def test_what_is_not_there_is_told(demo: Cluster, words: tuple[str, ...], code: int, said: str) -> None:
    with pytest.raises(CommandError, match=said) as error:
        tas("scenario", words[0], "demo", *words[1:])
    assert error.value.returncode == code


def test_a_scenario_that_is_wrong_is_refused_at_its_field(demo: Cluster, tmp_path: Path, loss: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("name: bad\nsteps:\n- step: cordon\n")
    with pytest.raises(CommandError, match=r"steps\[0\]") as error:
        tas("scenario", "save", "demo", path)
    assert error.value.returncode == REFUSED
    with pytest.raises(CommandError, match="99999"):
        tas("scenario", "run", "demo", loss, "--at", "99999")
