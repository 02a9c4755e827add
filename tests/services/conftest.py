"""Clusters in the real database for tests of the shells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scheduling.models import Cluster
from scheduling.projections import rebuild
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.services.builders import text


@pytest.fixture
def make(db: None) -> Callable[..., Cluster]:
    """Imports manifests as a new cluster."""

    def made(*manifests: Any, name: str = "c", mode: str = "simulated", **more: Any) -> Cluster:
        request = ImportRequest(text(*manifests), mode=mode, **more)
        import_cluster(name=name, request=request, actor="tester")
        return Cluster.objects.get(name=name)

    return made


@pytest.fixture
def tables_agree() -> Callable[[Cluster], None]:
    """Fails when the stored tables are not what the log says."""

    def check(cluster: Cluster) -> None:
        assert rebuild.compare(cluster.pk) == []

    return check
