"""Deploy checks: what must not be put on a network."""

import pytest

from tasweb import checks


def ids(messages):
    return [message.id for message in messages]


def test_a_star_among_the_hosts_is_an_error(settings):
    settings.ALLOWED_HOSTS = ["console.example", "*"]
    assert ids(checks.hosts_are_named()) == ["tasweb.E001"]
    settings.ALLOWED_HOSTS = ["console.example"]
    assert checks.hosts_are_named() == []


def test_a_time_limit_past_the_visibility_timeout_is_an_error(settings):
    assert checks.messages_outlive_tasks() == []
    settings.CELERY_TASK_TIME_LIMIT = 120
    assert ids(checks.messages_outlive_tasks()) == ["tasweb.E005"]


@pytest.mark.django_db
def test_a_role_that_owns_the_tables_is_an_error():
    assert ids(checks.runtime_role_owns_nothing(databases=["default"])) == [
        "tasweb.E004"
    ]  # tests run as owner


@pytest.mark.django_db
def test_the_runtime_role_of_the_private_servers_owns_nothing(stack):
    with stack.connect("tas_app") as connection:
        owned = connection.execute(
            "select count(*) from pg_class where relowner = current_user::regrole"
        ).fetchone()
        superuser = connection.execute(
            "select rolsuper from pg_roles where rolname = current_user"
        ).fetchone()
    assert (owned, superuser) == ((0,), (False,))
