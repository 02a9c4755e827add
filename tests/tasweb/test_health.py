"""/health, /metrics and the header that every page carries."""

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection


@pytest.mark.django_db
def test_health_is_200_when_database_and_redis_answer(client):
    answer = client.get("/health")
    assert answer.status_code == 200
    assert answer.json() == {"database": "ok", "redis": "ok"}


@pytest.mark.django_db
def test_health_is_503_and_names_redis_when_redis_is_away(client, settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/nobody-listens"
    answer = client.get("/health")
    assert answer.status_code == 503
    assert answer.json() == {"database": "ok", "redis": "unreachable"}


@pytest.mark.django_db
def test_health_is_503_and_names_the_database_when_a_query_fails(client):
    def refuse(*_arguments):
        raise OperationalError("the server went away")

    with connection.execute_wrapper(refuse):
        answer = client.get("/health")
    assert answer.status_code == 503
    assert answer.json() == {"database": "unreachable", "redis": "ok"}


@pytest.mark.django_db
def test_metrics_are_for_this_machine_and_for_staff_only(client):
    assert client.get("/metrics").status_code == 200
    assert client.get("/metrics", REMOTE_ADDR="192.0.2.7").status_code == 403
    forwarded = client.get("/metrics", HTTP_X_FORWARDED_FOR="192.0.2.7")
    assert forwarded.status_code == 403, "a proxy on this machine must not open them to everyone"
    client.force_login(User.objects.create_user("worker"))
    assert client.get("/metrics", REMOTE_ADDR="192.0.2.7").status_code == 403
    client.force_login(User.objects.create_user("operator", is_staff=True))
    assert client.get("/metrics", REMOTE_ADDR="192.0.2.7").status_code == 200


@pytest.mark.django_db
def test_every_page_forbids_scripts_and_styles_from_elsewhere_and_inline(client):
    policy = client.get("/login/").headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert "connect-src 'self' ws://testserver wss://testserver" in policy
