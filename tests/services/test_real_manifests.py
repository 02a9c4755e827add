"""Manifests that nobody here wrote: each is taken or refused by name, and a second time is no change."""

from __future__ import annotations

from pathlib import Path

from scheduling.kube.manifests import read
from scheduling.services.conformance.stream import MemoryStream


def test_every_file_is_taken_or_refused_with_names_and_a_second_time_changes_nothing(
    real_inputs: Path,
) -> None:
    files = [path for path in sorted((real_inputs / "manifests").rglob("*.*")) if path.suffix != ".md"]
    assert len(files) > 20
    for path in files:
        data = path.read_bytes()
        made = MemoryStream()
        plan = made.import_data(data)
        found = read(data)
        objects = (found.nodes, found.pods, found.pod_groups, found.workloads)
        assert sum(plan.accepted.values()) == sum(map(len, objects)), path.name
        assert all(bad.message and bad.reason for bad in plan.refused), path.name
        made.settle()
        assert made.import_data(data).events == (), path.name
