"""A dump of a real 1.36.2 control plane through the API: taken whole, and read as that scheduler left it."""

from collections import Counter
from pathlib import Path

import pytest

from scheduling.models import Cluster
from scheduling.services.cycles import run_cycle
from tests.api.support import Caller


@pytest.mark.django_db
def test_the_recorded_cluster_is_imported_as_it_was(real_inputs: Path, operator: Caller) -> None:
    data = (real_inputs / "dumps" / "openb-70-gangs.json.gz").read_bytes()
    path = "/clusters/openb/import?mode=observed&complete=Node,Pod,PodGroup"
    answer = operator("POST", path, data, content_type="application/gzip")
    assert answer.status_code == 200, answer.content
    assert answer.json()["accepted"] == {"Node": 1213, "Pod": 1078, "PodGroup": 70}
    assert answer.json()["refused"] == []
    run_cycle(Cluster.objects.get(name="openb").pk)
    groups = operator("GET", "/clusters/openb/podgroups?limit=1000").json()["items"]
    assert Counter(group["status"] for group in groups) == {"scheduled": 69, "pending": 1}
    assert {group["domain"] for group in groups if group["bound"]} <= {f"rack-{n:03d}" for n in range(80)}
    (waiting,) = [group for group in groups if group["status"] == "pending"]
    path = f"/clusters/openb/podgroups/{waiting['namespace']}/{waiting['name']}/explanation"
    found = operator("GET", path).json()
    assert found["verdict"] == "proved_infeasible" and len(found["domains"]) == found["funnel"]["domains"]
    again = operator("POST", "/clusters/openb/import", data, content_type="application/gzip").json()
    assert again["unchanged"] == {"Node": 1213, "Pod": 1078, "PodGroup": 70}
