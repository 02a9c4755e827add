"""A cluster `demo` with two racks, one gang that runs and one that waits; and browsers signed in as each
role.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.test import Client

from scheduling.models import Cluster
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.cycles import run_cycle
from tasweb.stack.translations import compile_catalogues
from tests.console.support import dump, gang, node


@pytest.fixture(scope="session", autouse=True)
def _translations_are_compiled() -> None:
    compile_catalogues(settings.BASE_DIR / "locale")


@pytest.fixture
def cluster(db: None) -> Cluster:
    """Racks r1 and r2 of two nodes with 8 GPUs each; `fits` (2 members) runs in one, `wide` (3) fits none."""
    nodes = [node(f"n{rack}{place}", f"r{rack}") for rack in (1, 2) for place in (1, 2)]
    request = ImportRequest(
        data=dump(*nodes, node("n0", None), *gang("fits", 2), *gang("wide", 3)), mode="simulated"
    )
    import_cluster(name="demo", request=request, actor="test")
    made = Cluster.objects.get(name="demo")
    run_cycle(made.pk)
    made.refresh_from_db()
    return made


@pytest.fixture
def signed_in(db: None) -> Callable[..., Client]:
    """`signed_in("view_cluster", ...)`: a browser of a new user with just those permissions."""

    def make(*permissions: str) -> Client:
        user = User.objects.create_user(f"user-{User.objects.count()}")
        user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture
def viewer(signed_in: Callable[..., Client]) -> Client:
    return signed_in("view_cluster")


@pytest.fixture
def operator(signed_in: Callable[..., Client]) -> Client:
    return signed_in("view_cluster", "operate_cluster")


@pytest.fixture
def admin(signed_in: Callable[..., Client]) -> Client:
    return signed_in("view_cluster", "operate_cluster", "switch_gate", "run_scenario")
