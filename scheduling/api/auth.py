"""Who may call what: a bearer token or the console's session, then one permission for each operation.

The permission is checked before the body is read: who may not do it costs and learns nothing.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest
from ninja.errors import AuthenticationError, AuthorizationError
from ninja.security import APIKeyCookie, HttpBearer
from ninja.utils import check_csrf

from scheduling.services import tokens

VIEW = "scheduling.view_cluster"
OPERATE = "scheduling.operate_cluster"
SWITCH_GATE = "scheduling.switch_gate"
RUN = "scheduling.run_scenario"


def _permitted(user: User, permission: str) -> User:
    if not user.has_perm(permission):
        raise AuthorizationError(message=f"This needs the permission {permission}.")
    return user


class BearerToken(HttpBearer):
    """``Authorization: Bearer <token>``; one that does not hold is refused, whatever cookies come with it."""

    def __init__(self, permission: str) -> None:
        super().__init__()
        self.permission = permission

    def __call__(self, request: HttpRequest) -> User | None:
        # Not the base class's: that one logs the header when DEBUG is on, and a header can hold a secret.
        header = request.headers.get("Authorization")
        if header is None:
            return None
        scheme, _, token = header.partition(" ")
        if scheme.lower() != "bearer":
            raise AuthenticationError(message="The Authorization header must be of the form: Bearer <token>.")
        return self.authenticate(request, token.strip())

    def authenticate(self, request: HttpRequest, token: str) -> User:
        user = tokens.authenticate(token)
        if user is None:
            raise AuthenticationError(message="The token is unknown, revoked or expired.")
        return _permitted(user, self.permission)


class Session(APIKeyCookie):
    """The session cookie of the console; methods that change something need the CSRF token too."""

    def __init__(self, permission: str) -> None:
        from django.conf import settings

        self.param_name = settings.SESSION_COOKIE_NAME
        super().__init__(csrf=True)
        self.permission = permission

    def __call__(self, request: HttpRequest) -> User | None:
        # The base class checks CSRF first and would call a caller without any session "forbidden".
        return self.authenticate(request, request.COOKIES.get(self.param_name))

    def authenticate(self, request: HttpRequest, key: str | None) -> User | None:
        if not isinstance(request.user, User) or not request.user.is_active:
            return None
        if check_csrf(request) is not None:
            raise AuthorizationError(message="The CSRF token is missing or wrong.")
        return _permitted(request.user, self.permission)


def access(permission: str, **extra: Any) -> dict[str, Any]:
    """Keyword arguments of an operation that needs ``permission``; the OpenAPI document tells it too."""
    return {
        "auth": [BearerToken(permission), Session(permission)],
        "openapi_extra": {"x-permission": permission, **extra},
    }


def caller(request: HttpRequest) -> User:
    """The user an operation runs for."""
    user = request.auth  # type: ignore[attr-defined]
    assert isinstance(user, User)
    return user
