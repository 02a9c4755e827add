"""API tokens: made once, shown once, kept as a digest only.

A token is 256 random bits, so one pass of SHA-256 is enough to keep it: it cannot be guessed.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db.models import Q
from django.utils import timezone

from scheduling.models import ApiToken

PREFIX = "tas_"
"""Every token starts so, that a leaked one is found by secret scanners and told from a password."""

SEEN_EVERY = timedelta(minutes=1)
"""``last_used_at`` is this exact at best: a busy script must not write a row for each of its requests."""


def digest(plain: str) -> str:
    """What is stored of a token: its SHA-256 in hexadecimal."""
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def create_token(*, user: User, name: str, expires_at: datetime | None = None) -> tuple[ApiToken, str]:
    """A new token of ``user``: the row, and the plain text, which cannot be had again.

    Raises ValueError for an empty name or an expiry that is past.
    """
    name = name.strip()
    if not name:
        raise ValueError("a token needs a name that says what it is for")
    if expires_at is not None and expires_at <= timezone.now():
        raise ValueError("the token would have expired already")
    plain = PREFIX + secrets.token_urlsafe(32)
    row = ApiToken.objects.create(user=user, name=name, digest=digest(plain), expires_at=expires_at)
    return row, plain


def authenticate(plain: str) -> User | None:
    """The active user whom the token stands for; None when it is unknown, revoked or expired."""
    now = timezone.now()
    row = (
        ApiToken.objects.select_related("user")
        .filter(Q(expires_at=None) | Q(expires_at__gt=now), digest=digest(plain), user__is_active=True)
        .first()
    )
    if row is None:
        return None
    if row.last_used_at is None or now - row.last_used_at >= SEEN_EVERY:
        ApiToken.objects.filter(pk=row.pk).update(last_used_at=now)
    user: User = row.user
    return user


def revoke(*, user: User, token_id: int) -> bool:
    """Take a token of ``user`` back at once; False when they have no such token."""
    deleted, _ = ApiToken.objects.filter(user=user, pk=token_id).delete()
    return deleted > 0
