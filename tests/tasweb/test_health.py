"""/health, /metrics and the header that every page carries."""

import pytest
from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError, connection
from django.test import Client


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


@pytest.mark.django_db
@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "The database does not answer. Load this page again in a moment."),
        ("ja", "データベースが応答しません。しばらくしてからこのページを再読み込みしてください。"),
    ],
)
def test_pages_are_503_with_a_sentence_while_the_database_is_away(error, language, sentence):
    def refuse(*_arguments):
        raise error("the server went away")

    client = Client(raise_request_exception=False, headers={"Accept-Language": language})
    client.force_login(User.objects.create_user("viewer"))
    with connection.execute_wrapper(refuse):
        answer = client.get("/clusters/")
    assert answer.status_code == 503
    assert answer.headers["Retry-After"] == "5"
    assert sentence in answer.content.decode()
    assert "went away" not in answer.content.decode()


@pytest.mark.django_db
def test_what_was_asked_for_can_be_asked_for_again_but_not_what_a_form_sent():
    def refuse(*_arguments):
        raise OperationalError("the server went away")

    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_user("viewer"))
    with connection.execute_wrapper(refuse):
        shown = client.get("/c/demo/map?key=a%22b").content.decode()
        sent = client.post("/c/demo/nodes/n1/cordon").content.decode()
    assert 'href="/c/demo/map?key=a%22b">Try again</a>' in shown
    assert "The database is away" in sent and "Try again" not in sent


@pytest.mark.django_db
def test_any_other_failure_of_a_page_is_a_500():
    def refuse(*_arguments):
        raise RuntimeError("a fault of ours")

    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_user("viewer"))
    with connection.execute_wrapper(refuse):
        answer = client.get("/clusters/")
    assert answer.status_code == 500
    assert "The console failed" in answer.content.decode()
