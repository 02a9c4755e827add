"""A cluster of two racks to try things out on."""

import pytest

from scheduling.models import Cluster
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.api.support import NODES, dump


@pytest.fixture
def cluster(db: None) -> Cluster:
    import_cluster(name="demo", request=ImportRequest(data=dump(*NODES), mode="simulated"), actor="ada")
    return Cluster.objects.get(name="demo")
