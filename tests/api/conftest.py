"""A small cluster, and users with one permission each."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Permission, User

from scheduling.models import Cluster
from scheduling.services import tokens
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.api.support import NODES, Caller, dump, gang


@pytest.fixture
def cluster(db: None) -> Cluster:
    """`demo`, simulated, the gates on, with a gang that fits a rack and one that fits none."""
    request = ImportRequest(
        data=dump(*NODES, *gang("fits", 2), *gang("wide", 3)), mode="simulated", gates=None
    )
    import_cluster(name="demo", request=request, actor="test")
    return Cluster.objects.get(name="demo")


@pytest.fixture
def caller(db: None) -> Callable[..., Caller]:
    """`caller("view_cluster", ...)`: a new user with just those permissions."""

    def make(*permissions: str) -> Caller:
        user = User.objects.create_user(f"user-{User.objects.count()}")
        user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        return Caller(user, tokens.create_token(user=user, name="test")[1])

    return make


@pytest.fixture
def viewer(caller: Callable[..., Caller]) -> Caller:
    return caller("view_cluster")


@pytest.fixture
def operator(caller: Callable[..., Caller]) -> Caller:
    return caller("view_cluster", "operate_cluster")
