"""What the API answers without an operation: no such address, wrong method, a failure; in its one form too.

Also refuses addresses and parameters with text that is none (see ``storable``) before anything asks the
database with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.utils.decorators import sync_and_async_middleware

from scheduling.api.errors import CODES
from scheduling.services.problems import INVALID
from scheduling.storable import is_storable, shown

PREFIX = "/api/v1/"
"""Where tasweb/urls.py mounts the API."""

_MESSAGES = {
    400: "The request cannot be read.",
    404: f"There is no such address; {PREFIX}openapi.json lists all there are.",
    405: "This address does not take this method; the header Allow has those it takes.",
    500: "The console failed; nothing was half done. The fault is in the log of the server.",
    503: "The database does not answer. Whether a change was stored is not known: send the same again, with "
    "the same Idempotency-Key.",
}
_NO_TEXT = "it holds a NUL or half of a surrogate pair, which is no text"


def _error(status: int, message: str, problems: list[dict[str, str]] | None = None) -> JsonResponse:
    body = {"code": CODES.get(status, "error"), "message": message, "problems": problems or []}
    return JsonResponse(body, status=status)


def _refused(request: HttpRequest) -> HttpResponse | None:
    if not is_storable(request.path_info):
        return _error(404, _MESSAGES[404])
    for name, values in request.GET.lists():
        if not all(map(is_storable, (name, *values))):
            name = shown(name)
            problem = {
                "kind": "", "namespace": "", "name": "", "path": name, "reason": INVALID, "message": _NO_TEXT
            }  # fmt: skip
            return _error(422, f"{name}: {_NO_TEXT}", [problem])
    return None


def _in_the_form(response: HttpResponseBase) -> HttpResponseBase:
    """The response itself unless it is an error that no operation has answered."""
    status = response.status_code
    if status < 400 or response.headers.get("Content-Type", "").startswith("application/json"):
        return response
    told = _error(status, _MESSAGES.get(status, response.reason_phrase))
    for name in {"Allow", "Retry-After"} & set(response.headers):
        told[name] = response.headers[name]
    return told


@sync_and_async_middleware
def one_form_of_errors(get_response: Callable[..., object]) -> Callable[..., object]:
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            if not request.path_info.startswith(PREFIX):
                return cast(HttpResponseBase, await get_response(request))
            return _refused(request) or _in_the_form(await get_response(request))

        return answer_async

    def answer(request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(PREFIX):
            return cast(HttpResponseBase, get_response(request))
        return _refused(request) or _in_the_form(cast(HttpResponseBase, get_response(request)))

    return answer
