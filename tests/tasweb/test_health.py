"""/health, /metrics and the headers of every page."""

import pytest


@pytest.mark.django_db
def test_health_is_200_when_database_and_redis_answer(client):
    answer = client.get("/health")
    assert answer.status_code == 200
    assert answer.json() == {"database": "ok", "redis": "ok"}
