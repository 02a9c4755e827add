"""Sign-in links that work once and for ten minutes, for the first visit after `manage.py up`.

Nothing is stored: like a password-reset token, the signature covers the user's last sign-in, so the sign-in
it gives is also what ends it.
"""

from datetime import datetime

from django.contrib.auth.models import User
from django.contrib.auth.tokens import PasswordResetTokenGenerator
from django.db import transaction
from django.utils.http import base36_to_int, urlsafe_base64_decode, urlsafe_base64_encode

LIFETIME_SECONDS = 600


class _OnceToken(PasswordResetTokenGenerator):
    key_salt = "tasweb.login_links"

    def _make_hash_value(self, user: User, timestamp: int) -> str:
        # Django rounds last_login to seconds for databases without microseconds; ours has them, and a link
        # that is made and used within the second of the last sign-in must die too.
        last: datetime | None = user.last_login
        return f"{user.pk}{user.password}{last.isoformat() if last else ''}{timestamp}{user.is_active}"

    def check_token(self, user: User, token: str) -> bool:  # type: ignore[override]
        if not super().check_token(user, token):
            return False
        made = base36_to_int(token.split("-")[0])
        return self._num_seconds(self._now()) - made <= LIFETIME_SECONDS


_tokens = _OnceToken()


def create(user: User) -> str:
    """The token of a link that signs `user` in: ``/login/once/<token>/``."""
    return f"{urlsafe_base64_encode(str(user.pk).encode())}.{_tokens.make_token(user)}"


def redeem(token: str) -> User | None:
    """The user whom the token signs in, or None when it is forged, too old or used.

    Call inside a transaction that also signs the user in: the row stays locked, so of two simultaneous
    visits one wins.
    """
    head, _, tail = token.partition(".")
    try:
        pk = int(urlsafe_base64_decode(head))
    except ValueError:
        return None
    if not transaction.get_connection().in_atomic_block:
        raise RuntimeError("redeem() must run inside the transaction that signs the user in")
    user = User.objects.select_for_update().filter(pk=pk, is_active=True).first()
    return user if user is not None and _tokens.check_token(user, tail) else None
