"""The API as one object, mounted at ``/api/v1/``."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import NinjaAPI, Swagger

import scheduling.addresses  # noqa: F401  # the converter "any"
from scheduling.api import (
    batches,
    canary,
    capacity,
    clusters,
    compare,
    errors,
    event_effects,
    events,
    explanations,
    map,
    nodes,
    pod_groups,
    preemption,
    queues,
    reservations,
    rollout,
    run_maps,
    runs,
    scenarios,
    traces,
    waits,
)
from scheduling.api.parsing import JsonParser
from scheduling.api.rendering import JsonRenderer
from scheduling.services import tokens


def _signed_in(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """The documentation is for users: by session, or by token for programs that fetch the document."""

    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        by_token = scheme.lower() == "bearer" and tokens.authenticate(token.strip()) is not None
        if by_token or request.user.is_authenticated:
            return view(request, *args, **kwargs)
        if request.path.endswith(".json"):
            body: dict[str, object] = {
                "code": errors.CODES[401],
                "message": "No valid token or session.",
                "problems": [],
            }
            return JsonResponse(body, status=401, headers={"WWW-Authenticate": "Bearer"})
        return redirect_to_login(request.get_full_path(), settings.LOGIN_URL)

    return checked


DESCRIPTION = f"""Clusters, PodGroups, decisions with their evidence, and the log.

Send `Authorization: Bearer <token>`, or the console's session cookie (and `X-CSRFToken` to change
anything).

{errors.__doc__}
"""

api = NinjaAPI(
    title="TAS Console",
    version="1",
    description=DESCRIPTION,
    urls_namespace="api-1",
    docs=Swagger(settings={"docExpansion": "none", "validatorUrl": ""}),
    docs_decorator=_signed_in,
    parser=JsonParser(),
    renderer=JsonRenderer(),
)
errors.install(api)
for module in (
    clusters,
    nodes,
    pod_groups,
    explanations,
    reservations,
    queues,
    events,
    event_effects,
    compare,
    map,
    capacity,
    preemption,
    waits,
    runs,
    canary,
    batches,
    run_maps,
    scenarios,
    rollout,
    traces,
):
    api.add_router("/clusters", module.router)
