"""Every error of the API has one form, ``{"code", "message", "problems"}``; problems name object and field.

| status | code | when |
|---|---|---|
| 400 | undecodable | the body or a parameter is not what it says it is |
| 401 | unauthenticated | no valid token or session |
| 403 | forbidden | the permission or the CSRF token is missing |
| 404 | not_found | no such cluster, object or event |
| 405 | not_allowed | the address does not take this method; `Allow` has those it takes |
| 409 | conflict | others wrote first, again and again; or the Idempotency-Key stands for another request |
| 410 | gone | the map has another history: take a snapshot; or the event is archived |
| 413 | too_large | the body is larger than the server takes |
| 422 | refused | understood and not accepted; nothing was stored |
| 500 | error | the console failed; nothing was half done |
| 503 | unavailable | the database is away, tables or log of another version or held; see `Retry-After` |
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core.exceptions import RequestDataTooBig
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from ninja import NinjaAPI
from ninja.errors import HttpError, ValidationError

from scheduling.api.schemas import ErrorCode, ErrorOut, ProblemOut
from scheduling.ledger.archives import Archived
from scheduling.ledger.bases import UnreadableBase
from scheduling.ledger.binary import is_held
from scheduling.ledger.codec import UnknownEvent
from scheduling.ledger.store import CommandReused, ConflictingAppend
from scheduling.projections.writer import TablesBehind
from scheduling.services.problems import NOT_FOUND, Problem, Refused

CODES: dict[int, ErrorCode] = {
    400: "undecodable",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "not_allowed",
    409: "conflict",
    410: "gone",
    413: "too_large",
    422: "refused",
    503: "unavailable",
}


RETRY_AFTER = "30"
"""Seconds after which an upgrade that goes on now may have come further."""


class ApiError(HttpError):
    """An error with its status, whose code follows from it, and the parameters that are at fault."""

    def __init__(self, status_code: int, message: str, problems: Iterable[ProblemOut] = ()) -> None:
        super().__init__(status_code, message)
        self.problems = tuple(problems)


def no_state(error: Exception) -> ApiError:
    """The log does not lead to a state: an event cannot be read, perhaps because a newer console wrote it."""
    return ApiError(503, f"The log leads to no state that this version of the console can tell: {error}.")


def errors(*statuses: int) -> dict[int, type[ErrorOut]]:
    """The ``response`` entries of an operation: those every operation has, and ``statuses``."""
    return dict.fromkeys(sorted({401, 403, *statuses}), ErrorOut)


def problem(found: Problem) -> ProblemOut:
    return ProblemOut(
        kind=found.kind,
        namespace=found.namespace,
        name=found.name,
        path=found.path,
        reason=found.reason,
        message=found.message,
    )


def _answer(
    api: NinjaAPI, request: HttpRequest, status: int, message: str, problems: Iterable[ProblemOut] = ()
) -> HttpResponse:
    body = ErrorOut(code=CODES.get(status, "error"), message=message, problems=list(problems))
    response = api.create_response(request, body.model_dump(), status=status)
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    return response


def _parameter(error: dict[str, Any]) -> ProblemOut:
    """A fault that the schema found, with the path as the caller wrote it, without ninja's wrapping."""
    where, *rest = [str(part) for part in error["loc"]]
    path = ".".join(rest[1:] if where == "body" and len(rest) > 1 else rest)
    return ProblemOut(kind="", path=path, reason=error["type"], message=error["msg"])


def _later(response: HttpResponse) -> HttpResponse:
    response["Retry-After"] = RETRY_AFTER
    return response


def install(api: NinjaAPI) -> None:
    """Make ``api`` answer every expected exception in the one form; any other stays a 500 with a trace."""

    @api.exception_handler(Refused)
    def refused(request: HttpRequest, error: Refused) -> HttpResponse:
        reasons = {found.reason for found in error.problems}
        status = {frozenset({"Undecodable"}): 400, frozenset({NOT_FOUND}): 404}.get(frozenset(reasons), 422)
        first, *others = map(str, error.problems)
        message = f"{first} (and {len(others)} more)" if others else first
        return _answer(api, request, status, message, map(problem, error.problems))

    @api.exception_handler(ConflictingAppend)
    def conflicting(request: HttpRequest, error: ConflictingAppend) -> HttpResponse:
        return _answer(api, request, 409, "The cluster changed while this was being decided; ask again.")

    @api.exception_handler(TablesBehind)
    def behind(request: HttpRequest, error: TablesBehind) -> HttpResponse:
        message = "The tables are those of another version: run manage.py rebuild_projections."
        return _later(_answer(api, request, 503, message))

    @api.exception_handler(UnknownEvent)
    def newer(request: HttpRequest, error: UnknownEvent) -> HttpResponse:
        message = (
            f"A newer version of the console wrote to the log, and this one decides nothing on it: {error}."
        )
        return _later(_answer(api, request, 503, message))

    @api.exception_handler(OperationalError)
    def held(request: HttpRequest, error: OperationalError) -> HttpResponse:
        if not is_held(error):
            raise error
        message = "The log of the cluster is held by others for longer than the console waits; ask again."
        return _later(_answer(api, request, 503, message))

    @api.exception_handler(Archived)
    def archived(request: HttpRequest, error: Archived) -> HttpResponse:
        return _answer(api, request, 410, f"{str(error)[0].upper()}{str(error)[1:]}.")

    @api.exception_handler(UnreadableBase)
    def unreadable(request: HttpRequest, error: UnreadableBase) -> HttpResponse:
        return _later(_answer(api, request, 503, f"{str(error)[0].upper()}{str(error)[1:]}."))

    @api.exception_handler(CommandReused)
    def reused(request: HttpRequest, error: CommandReused) -> HttpResponse:
        return _answer(api, request, 409, "This Idempotency-Key was already used for another request.")

    @api.exception_handler(ValidationError)
    def invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
        found = [_parameter(each) for each in error.errors]
        return _answer(api, request, 422, "The request does not have the form that is documented.", found)

    @api.exception_handler(Http404)
    def missing(request: HttpRequest, error: Http404) -> HttpResponse:
        return _answer(api, request, 404, str(error) or "There is no such thing.")

    @api.exception_handler(RequestDataTooBig)
    def too_big(request: HttpRequest, error: RequestDataTooBig) -> HttpResponse:
        return _answer(api, request, 413, "The body is larger than this operation takes.")

    @api.exception_handler(HttpError)
    def other(request: HttpRequest, error: HttpError) -> HttpResponse:
        if isinstance(error.__cause__, Refused):
            # The body was read and then refused (``parsing``); ninja takes every such error for unreadable.
            return refused(request, error.__cause__)
        status = error.status_code
        message = "The body is not JSON." if status == 400 and "parse" in error.message else error.message
        problems = error.problems if isinstance(error, ApiError) else ()
        return _answer(api, request, status, message, problems)
