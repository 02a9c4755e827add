"""API tokens: shown once, kept as a digest, ended by expiry, revocation and deactivation."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from scheduling.models import ApiToken
from scheduling.services import tokens

pytestmark = pytest.mark.django_db


@pytest.fixture
def user() -> User:
    return User.objects.create_user("mika")


def test_a_token_stands_for_its_user(user: User) -> None:
    _, plain = tokens.create_token(user=user, name="notebook")
    assert tokens.authenticate(plain) == user


def test_the_token_itself_is_stored_nowhere(user: User) -> None:
    row, plain = tokens.create_token(user=user, name="notebook")
    stored = ApiToken.objects.filter(pk=row.pk).values_list().get()
    assert not any(plain in str(value) or plain.removeprefix(tokens.PREFIX) in str(value) for value in stored)
    assert plain.startswith(tokens.PREFIX)


def test_two_tokens_are_never_alike(user: User) -> None:
    assert tokens.create_token(user=user, name="a")[1] != tokens.create_token(user=user, name="a")[1]


@pytest.mark.parametrize("plain", ["", "tas_", "tas_no-such-token", "\udcff", "x" * 100_000])
def test_what_was_never_made_is_no_token(user: User, plain: str) -> None:
    tokens.create_token(user=user, name="notebook")
    assert tokens.authenticate(plain) is None


def test_an_expired_token_is_none(user: User) -> None:
    row, plain = tokens.create_token(
        user=user, name="short", expires_at=timezone.now() + timedelta(minutes=1)
    )
    assert tokens.authenticate(plain) == user
    ApiToken.objects.filter(pk=row.pk).update(expires_at=timezone.now())
    assert tokens.authenticate(plain) is None


def test_a_revoked_token_is_none_at_once(user: User) -> None:
    row, plain = tokens.create_token(user=user, name="notebook")
    assert tokens.revoke(user=user, token_id=row.pk)
    assert tokens.authenticate(plain) is None
    assert not tokens.revoke(user=user, token_id=row.pk)


def test_nobody_revokes_the_token_of_another(user: User) -> None:
    row, plain = tokens.create_token(user=user, name="notebook")
    assert not tokens.revoke(user=User.objects.create_user("other"), token_id=row.pk)
    assert tokens.authenticate(plain) == user


def test_the_tokens_of_a_deactivated_user_are_none(user: User) -> None:
    _, plain = tokens.create_token(user=user, name="notebook")
    User.objects.update(is_active=False)
    assert tokens.authenticate(plain) is None


def test_use_is_noted_at_most_once_a_minute(user: User) -> None:
    row, plain = tokens.create_token(user=user, name="notebook")
    assert row.last_used_at is None
    tokens.authenticate(plain)
    row.refresh_from_db()
    first = row.last_used_at
    assert first is not None
    tokens.authenticate(plain)
    row.refresh_from_db()
    assert row.last_used_at == first
    ApiToken.objects.update(last_used_at=first - tokens.SEEN_EVERY)
    tokens.authenticate(plain)
    row.refresh_from_db()
    assert row.last_used_at >= first


@pytest.mark.parametrize("name", ["", "   "])
def test_a_token_needs_a_name(user: User, name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        tokens.create_token(user=user, name=name)


def test_a_token_that_would_be_expired_is_not_made(user: User) -> None:
    with pytest.raises(ValueError, match="expired"):
        tokens.create_token(user=user, name="late", expires_at=timezone.now())
    assert not ApiToken.objects.exists()
