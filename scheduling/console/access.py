"""What every view goes through: sign-in, one permission, the method, the cluster by its name, the reader's
zone.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode, urlsplit

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render, resolve_url
from django.utils import timezone
from django.utils.translation import gettext

from scheduling.console import zones
from scheduling.models import Cluster
from scheduling.selectors import clusters

VIEW = "scheduling.view_cluster"
OPERATE = "scheduling.operate_cluster"
SWITCH_GATE = "scheduling.switch_gate"
RUN = "scheduling.run_scenario"
SIGNED_IN = ""
"""In place of a permission: for everybody who has signed in."""

View = Callable[..., HttpResponseBase]


def _sign_in_again(request: HttpRequest) -> HttpResponse:
    """For a part of a page: the whole page goes to the sign-in, and comes back to where it is."""
    here = urlsplit(request.headers.get("HX-Current-URL", ""))
    query = urlencode({"next": here._replace(scheme="", netloc="").geturl() or "/"})
    return HttpResponse(status=401, headers={"HX-Redirect": f"{resolve_url(settings.LOGIN_URL)}?{query}"})


def _not_allowed(request: HttpRequest, allowed: tuple[str, ...]) -> HttpResponse:
    """For people who open an address that a form sends to: a page, not an empty answer."""
    response = render(request, "405.html", status=405)
    response["Allow"] = ", ".join(allowed)
    return response


def page(permission: str, *methods: str) -> Callable[[View], View]:
    """A view that needs ``permission`` (``SIGNED_IN``: none) and answers ``methods`` (GET and HEAD unless
    told otherwise).

    A ``cluster`` in the address reaches the view as a Cluster; an unknown one is 404. The permission is
    checked first.
    """

    allowed = methods or ("GET", "HEAD")

    def decorate(view: View) -> View:
        @wraps(view)
        def checked(request: HttpRequest, **parts: Any) -> HttpResponseBase:
            user = request.user
            if not user.is_active or (permission != SIGNED_IN and not user.has_perm(permission)):
                raise PermissionDenied
            if "cluster" in parts:
                try:
                    parts["cluster"] = clusters.get(parts["cluster"])
                except Cluster.DoesNotExist:
                    raise Http404(gettext("There is no cluster of this name.")) from None
            with timezone.override(zones.zone(request)):
                return view(request, **parts)

        @wraps(view)
        def guarded(request: HttpRequest, **parts: Any) -> HttpResponseBase:
            if request.method not in allowed:
                return _not_allowed(request, allowed)
            if "HX-Request" in request.headers and not request.user.is_authenticated:
                return _sign_in_again(request)
            return login_required(checked)(request, **parts)

        guarded.permission = permission  # type: ignore[attr-defined]  # for the test that no view is without one
        return guarded

    return decorate
