"""What a page that switches gates shows of rehearsals of exactly that switch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scheduling.models import Cluster
from scheduling.scenarios import rehearsal
from scheduling.selectors import clusters
from scheduling.wording import rehearsal as wording


def offered(cluster: Cluster, gates: Mapping[str, bool]) -> dict[str, Any]:
    """For ``parts/rehearse.html``."""
    run = rehearsal.newest(cluster, gates)
    return {
        "switch": [f"{gate}:{'true' if on else 'false'}" for gate, on in gates.items()],
        "rehearsal": {
            "run": run,
            "headline": wording.headline(run.result) if run is not None and run.result is not None else "",
            "age": wording.age(clusters.head(cluster) - run.base_seq) if run is not None else "",
        },
    }
