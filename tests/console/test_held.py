"""A command that finds the log of its cluster held by others for too long: told, and nothing stored."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from scheduling.ledger import store
from scheduling.models import Cluster
from scheduling.services import tokens

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def held(transactional_db: None, cluster: Cluster, stack: Any) -> Iterator[Cluster]:
    """Somebody has the head row, and we wait for a twentieth of a second."""
    with stack.connect("tas_owner") as other, other.transaction():
        other.execute("select from scheduling_streamhead where stream_id = %s for update", [cluster.pk])
        with connection.cursor() as cursor:
            cursor.execute("set lock_timeout = '50ms'")
        yield cluster
    with connection.cursor() as cursor:
        cursor.execute("reset lock_timeout")


def test_a_page_says_so(held: Cluster, operator: Client) -> None:
    head = store.head(held.pk)
    answer = operator.post("/c/demo/nodes/n11/cordon")
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert "was held by others for longer than the console waits" in html.unescape(answer.content.decode())
    assert store.head(held.pk) == head


def test_the_api_says_so(held: Cluster, operator: Client) -> None:
    from django.contrib.auth.models import User

    token = tokens.create_token(user=User.objects.get(), name="test")[1]
    answer = Client().post(
        "/api/v1/clusters/demo/nodes/n11/cordon", headers={"Authorization": f"Bearer {token}"}
    )
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert answer.json() == {
        "code": "unavailable",
        "message": "The log of the cluster is held by others for longer than the console waits; ask again.",
        "problems": [],
    }
