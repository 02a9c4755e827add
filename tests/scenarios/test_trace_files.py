"""A trace is read whole or refused, and what is wrong with it is told with its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.model import TAS_GATES, Node
from scheduling.scenarios import kueue_load, openb, trace_files
from scheduling.scenarios.traces import Ending, Submission, Trace, TraceQueue
from scheduling.scenarios.virtual_time import Replay, ground
from scheduling.services.problems import DUPLICATE, INVALID, NOT_FOUND, REQUIRED, Refused

HEAD = {"kind": "trace", "version": 1}
NODE = {"kind": "node", "name": "n1", "labels": {"rack": "r1"}, "allocatable": {"cpu": "4"}}
SUBMIT: dict[str, Any] = {
    "kind": "submit",
    "at_ms": 5,
    "name": "a",
    "members": 2,
    "requests": {"cpu": "500m"},
}


def ndjson(*rows: Any) -> bytes:
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows).encode()


def wrong(*rows: Any) -> list[tuple[str, str]]:
    with pytest.raises(Refused) as error:
        trace_files.read(ndjson(*rows))
    return [(problem.path, problem.reason) for problem in error.value.problems]


def test_a_workload_has_what_its_line_says_and_the_rest_by_default() -> None:
    made = trace_files.read(ndjson(HEAD, NODE, SUBMIT))
    assert made.submissions == (Submission(5, "a", 2, (("cpu", 500),), 2),)
    assert made.nodes[0].allocatable == (("cpu", 4000), ("pods", 110))


@pytest.mark.parametrize(
    ("row", "path", "reason"),
    [
        ("{", "line 2", INVALID),
        ("[]", "line 2", INVALID),
        ({"kind": "other"}, "line 2: kind", INVALID),
        ({"at_ms": 5}, "line 2: kind", REQUIRED),
        (SUBMIT | {"at_ms": -1}, "line 2: at_ms", INVALID),
        (SUBMIT | {"at_ms": 1.5}, "line 2: at_ms", INVALID),
        (SUBMIT | {"at_ms": "5"}, "line 2: at_ms", INVALID),
        (SUBMIT | {"members": 0}, "line 2: members", INVALID),
        (SUBMIT | {"min_count": 3}, "line 2: min_count", INVALID),
        (SUBMIT | {"more": 1}, "line 2: more", INVALID),
        (SUBMIT | {"name": "A b"}, "line 2: name", INVALID),
        (SUBMIT | {"requests": {"cpu": "many"}}, "line 2: requests.cpu", INVALID),
        (SUBMIT | {"requests": {"pods": "1"}}, "line 2: requests.pods", INVALID),
        (SUBMIT | {"requests": {}}, "line 2: requests", INVALID),
        (SUBMIT | {"run_ms": 0}, "line 2: run_ms", INVALID),
        (SUBMIT | {"topology_key": "a b"}, "line 2: topology_key", INVALID),
        (SUBMIT | {"node_labels": {"a": []}}, "line 2: node_labels.a", INVALID),
        (SUBMIT | {"queue": "q"}, "line 2: queue", NOT_FOUND),
        (NODE | {"labels": {"a": "b c"}}, "line 2: labels.a", INVALID),
        (NODE | {"allocatable": {"cpu": "-1"}}, "line 2: allocatable.cpu", INVALID),
        ({"kind": "end", "at_ms": 9, "name": "b"}, "line 2: name", NOT_FOUND),
        ({key: value for key, value in SUBMIT.items() if key != "name"}, "line 2: name", REQUIRED),
    ],
)
def test_what_is_wrong_is_told_with_line_and_field(row: Any, path: str, reason: str) -> None:
    assert (path, reason) in wrong(HEAD, row)


def test_the_first_line_says_what_the_file_is() -> None:
    assert wrong(SUBMIT)[0][0].startswith("line 1")
    assert wrong(HEAD | {"version": 2}) == [("line 1: version", INVALID)]
    assert wrong() == [("line 1", INVALID)]


def test_a_name_is_there_once() -> None:
    assert wrong(HEAD, SUBMIT, SUBMIT) == [("line 3: name", DUPLICATE)]
    assert wrong(HEAD, SUBMIT, NODE, NODE) == [("line 4: name", DUPLICATE)]


def test_a_workload_does_not_end_before_it_comes() -> None:
    assert wrong(HEAD, SUBMIT, {"kind": "end", "at_ms": 4, "name": "a"}) == [("line 3: at_ms", INVALID)]


def test_a_trace_without_workloads_is_none() -> None:
    assert wrong(HEAD, NODE) == [("line 1", REQUIRED)]


def test_a_file_that_is_too_large_is_not_read() -> None:
    with pytest.raises(Refused) as error:
        trace_files.read(b" " * (trace_files.LARGEST + 1))
    assert "16 MiB" in error.value.problems[0].message


def test_not_more_is_told_than_anybody_reads() -> None:
    assert len(wrong(HEAD, *["{"] * 50)) == trace_files.MOST_TOLD


names = st.from_regex(r"[a-z0-9]{1,8}", fullmatch=True)
amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(1, 1 << 40), min_size=1
).map(lambda found: tuple(sorted(found.items())))


@given(
    st.lists(st.tuples(names, amounts), unique_by=lambda pair: pair[0], max_size=4),
    st.lists(
        st.tuples(
            names, st.integers(0, 1 << 40), st.integers(1, 99), amounts, st.integers(-5, 5), st.booleans()
        ),
        unique_by=lambda row: row[0],
        min_size=1,
        max_size=5,
    ),
)
def test_a_trace_that_is_written_is_read_as_it_was(nodes: list[Any], rows: list[Any]) -> None:
    submissions = [
        Submission(
            at, name, members, asked, 1, "rack" if keyed else "", priority, at + 1 if keyed else None,
            "class" if keyed else "", "q" if keyed else "", (("zone", ("a", "b")),) if keyed else (),
        )
        for name, at, members, asked, priority, keyed in rows
    ]  # fmt: skip
    made = Trace(
        tuple(
            Node(name, f"node-{name}", (("rack", name),), allocatable=tuple(sorted((*offered, ("pods", 9)))))
            for name, offered in nodes
        ),
        tuple(sorted(submissions, key=lambda each: each.at)),
        (Ending(max(each.at for each in submissions), submissions[0].name),),
        (TraceQueue("q", "all", (("cpu", 10),), (("cpu", 5),)), TraceQueue("r", "", (("cpu", 10),))),
    )
    assert trace_files.read(trace_files.write(made)) == made


def test_the_built_in_load_is_read_as_it_is_written() -> None:
    made = kueue_load.trace()
    assert trace_files.read(trace_files.write(made)) == made


class TestOpenb:
    NODES = b"sn,cpu_milli,memory_mib,gpu,model\nn1,64000,1024,2,T4\nn2,64000,1024,0,\n"
    PODS = (
        b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,creation_time,deletion_time,scheduled_time\n"
        b"p1,1000,10,1,500,T4|A10,10,30,12\n"
        b"p2,1000,10,1,500,T4|A10,11,20,\n"
        b"p3,2000,10,2,1000,,12,20,12\n"
    )

    def test_times_begin_with_the_first_pod_and_run_from_when_it_was_scheduled(self) -> None:
        made = openb.read(self.PODS, self.NODES, openb.Options())
        assert [(each.name, each.at, each.run_ms) for each in made.submissions] == [
            ("p1", 0, 18_000), ("p2", 1000, 9000), ("p3", 2000, 8000),
        ]  # fmt: skip

    def test_parts_of_a_gpu_are_thousandths_or_whole_ones(self) -> None:
        for parts, key, offered, asked in (("milli", openb.GPU_MILLI, 2000, 500), ("whole", openb.GPU, 2, 1)):
            made = openb.read(self.PODS, self.NODES, openb.Options(parts=parts))
            assert dict(made.nodes[0].allocatable)[key] == offered
            assert key not in dict(made.nodes[1].allocatable)
            assert dict(made.submissions[0].requests)[key] == asked

    def test_a_pod_may_use_the_models_it_names(self) -> None:
        made = openb.read(self.PODS, self.NODES, openb.Options())
        assert made.submissions[0].labelled == ((openb.MODEL, ("A10", "T4")),)
        assert made.nodes[0].label(openb.MODEL) == "T4"

    def test_pods_alike_in_a_row_become_a_gang(self) -> None:
        made = openb.read(self.PODS, self.NODES, openb.Options(gang=4))
        assert [(each.name, each.members, each.at, each.run_ms) for each in made.submissions] == [
            ("p1", 2, 1000, 18_000), ("p3", 1, 2000, 8000),
        ]  # fmt: skip
        assert [each.min_count for each in made.submissions] == [2, 1]

    def test_pods_may_come_more_often_than_they_did(self) -> None:
        made = openb.read(self.PODS, self.NODES, openb.Options(denser=10))
        assert [each.at for each in made.submissions] == [0, 100, 200]

    def test_without_times_they_come_one_by_one(self) -> None:
        pods = b"name,cpu_milli,memory_mib,num_gpu,gpu_milli\np1,1,1,0,0\np2,1,1,0,0\n"
        made = openb.read(pods, self.NODES, openb.Options(every_ms=7, run_ms=9))
        assert [(each.at, each.run_ms) for each in made.submissions] == [(0, 9), (7, 9)]

    @pytest.mark.parametrize(
        ("old", "new", "path"),
        [
            (b"p1,1000", b"p1,x", "pods: line 2: cpu_milli"),
            (b"p1,1000", b"p2,1000", "pods: line 3: name"),
            (b"1,500,T4|A10,10,30,12", b"1,1500,T4|A10,10,30,12", "pods: line 2: gpu_milli"),
            (b",30,12", b",9,12", "pods: line 2: deletion_time"),
            (b"cpu_milli", b"cpus", "pods: line 1"),
            (b"scheduled_time", b"scheduled", "pods: line 1"),
            (b"p3,2000,10,2,1000,,12,20,12", b"p3,2000", "pods: line 4"),
            (b"p3", b"\xff", "pods: line 4"),
        ],
    )
    def test_what_is_wrong_is_told_with_file_line_and_column(self, old: bytes, new: bytes, path: str) -> None:
        with pytest.raises(Refused) as error:
            openb.read(self.PODS.replace(old, new, 1), self.NODES, openb.Options())
        assert path in [problem.path for problem in error.value.problems]

    def test_a_run_of_sixteen_nodes_of_one_model_is_a_rack(self, real_inputs: Path) -> None:
        folder = real_inputs / "traces/alibaba-openb"
        made = openb.read(
            (folder / "openb_pod_list_default.csv").read_bytes(),
            (folder / "openb_node_list_gpu_node.csv").read_bytes(),
            openb.Options(),
        )
        assert (len(made.nodes), len(made.submissions)) == (1213, 8152)
        racks: dict[str | None, list[str | None]] = {}
        for node in made.nodes:
            racks.setdefault(node.label(openb.RACK), []).append(node.label(openb.MODEL))
        assert all(len(models) <= 16 and len(set(models)) == 1 for models in racks.values())

    @pytest.mark.parametrize(
        ("file", "options", "workloads"),
        [
            ("default", openb.Options(), 8152),
            ("multigpu50", openb.Options(every_ms=6_000, run_ms=900_000, gang=8), None),
        ],
    )
    def test_the_whole_trace_is_replayed_and_nobody_is_lost(
        self, real_inputs: Path, file: str, options: openb.Options, workloads: int | None
    ) -> None:
        folder = real_inputs / "traces/alibaba-openb"
        made = openb.read(
            (folder / f"openb_pod_list_{file}.csv").read_bytes(),
            (folder / "openb_node_list_gpu_node.csv").read_bytes(),
            options,
        )
        assert workloads in (None, len(made.submissions))
        replay = Replay(made, ground(made.nodes, dict.fromkeys(TAS_GATES, True)))
        while replay.step():
            pass
        result = replay.result()
        assert result["placed"] + result["rejected"] + result["waiting_at_end"] == len(made.submissions)
        assert result["ended"] == result["placed"] > 0
        assert not replay.state.pods_on(made.nodes[0].name)
        assert set(replay.used.values()) == {0}
        assert sum(each["count"] for each in result["classes"]) == result["placed"]
