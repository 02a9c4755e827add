"""Views of the site itself: health, metrics, the sign-in link, and what is shown for a failure."""

import ipaddress
import sys

import redis
from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.models import User
from django.db import Error, InterfaceError, OperationalError, connection, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from django.views.defaults import server_error
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from tasweb import login_links

PROBE_SECONDS = 2
RETRY_SECONDS = 5
"""After a 503; about what PostgreSQL needs to be back after a crash."""


def _database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("select 1")


def _redis() -> None:
    with redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=PROBE_SECONDS, socket_connect_timeout=PROBE_SECONDS
    ) as client:
        client.ping()


@never_cache
@require_GET
def health(request: HttpRequest) -> HttpResponse:
    """200 when the database and Redis answer, else 503; says which, never why (the reason is in the log)."""
    answers = {}
    for name, probe, errors in (("database", _database, Error), ("redis", _redis, redis.RedisError)):
        try:
            probe()
            answers[name] = "ok"
        except errors:
            answers[name] = "unreachable"
    healthy = set(answers.values()) == {"ok"}
    return JsonResponse(answers, status=200 if healthy else 503)


def _from_this_machine(request: HttpRequest) -> bool:
    """Whether the peer is loopback and no proxy forwarded somebody else's request."""
    peer = request.META.get("REMOTE_ADDR", "")
    if "HTTP_X_FORWARDED_FOR" in request.META or "HTTP_FORWARDED" in request.META:
        return False
    try:
        return ipaddress.ip_address(peer).is_loopback
    except ValueError:
        return False


@never_cache
@require_GET
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus metrics, for staff and for a scraper on this machine."""
    user = request.user
    if not (_from_this_machine(request) or (isinstance(user, User) and user.is_active and user.is_staff)):
        return HttpResponse(
            "Metrics are for staff and for this machine only.\n", status=403, content_type="text/plain"
        )
    return HttpResponse(generate_latest(), content_type=CONTENT_TYPE_LATEST)


@never_cache
@require_GET
def login_once(request: HttpRequest, token: str) -> HttpResponse:
    """Sign in by a link of `login_links`; a link that is used, old or forged leads to the sign-in page."""
    with transaction.atomic():
        user = login_links.redeem(token)
        if user is not None:
            login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    if user is None:
        messages.error(
            request,
            _(
                "This sign-in link was used before or is too old. Start “manage.py up” again: it prints a "
                "new one. To sign in here, give the user a password: manage.py changepassword admin."
            ),
        )
        return redirect(settings.LOGIN_URL)
    return redirect(settings.LOGIN_REDIRECT_URL)


def failure(request: HttpRequest) -> HttpResponse:
    """``handler500``: 503 while the database does not answer, or not in time, else 500. Neither page asks it
    for anything.
    """
    if not isinstance(sys.exception(), OperationalError | InterfaceError):
        return server_error(request)
    # What a form sent is not sent again by a link.
    again = request.get_full_path() if request.method == "GET" else ""
    page = render_to_string("database_away.html", {"again": again})
    return HttpResponse(page, status=503, headers={"Retry-After": str(RETRY_SECONDS)})
