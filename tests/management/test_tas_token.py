"""`manage.py tas_token`: the token is printed once, and nowhere else."""

from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from scheduling.services import tokens

pytestmark = pytest.mark.django_db


def run(*words: str) -> str:
    out = StringIO()
    call_command("tas_token", *words, stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.fixture
def user() -> User:
    return User.objects.create_user("mika")


def test_create_prints_a_token_that_holds_and_nothing_else(user: User) -> None:
    plain = run("create", "mika", "notebook").strip()
    assert tokens.authenticate(plain) == user


def test_a_token_may_end_by_itself(user: User) -> None:
    run("create", "mika", "notebook", "--days", "7")
    assert user.api_tokens.get().expires_at is not None


def test_list_shows_names_and_use_but_never_the_token(user: User) -> None:
    plain = run("create", "mika", "notebook").strip()
    listed = run("list", "mika")
    assert "notebook" in listed and "never" in listed and plain not in listed


def test_revoke_ends_it(user: User) -> None:
    plain = run("create", "mika", "notebook").strip()
    run("revoke", "mika", str(user.api_tokens.get().pk))
    assert tokens.authenticate(plain) is None


def test_an_unknown_user_token_or_lifetime_is_an_error(user: User) -> None:
    for words in (
        ("create", "nobody", "x"),
        ("revoke", "mika", "999999"),
        ("create", "mika", "x", "--days", "0"),
        ("create", "mika", " "),
    ):
        with pytest.raises(CommandError):
            run(*words)


@pytest.mark.parametrize("days", ["99999999999", "3000000", "-1"])
def test_a_lifetime_beyond_the_calendar_is_refused(days: str, user: User) -> None:
    with pytest.raises(CommandError, match="No token was made: "):
        run("create", "mika", "x", "--days", days)
    assert not user.api_tokens.exists()
