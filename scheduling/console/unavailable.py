"""What pages answer while log or tables are of another version, or held by others: 503, and why."""

from __future__ import annotations

import structlog
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.deprecation import MiddlewareMixin

from scheduling.ledger.bases import UnreadableBase
from scheduling.ledger.binary import is_held
from scheduling.ledger.codec import UnknownEvent
from scheduling.projections.writer import TablesBehind

RETRY_AFTER = "30"
"""Seconds after which an upgrade that goes on now may have come further."""

log = structlog.get_logger(__name__)


class Unavailable(MiddlewareMixin):
    """The API answers for itself (``api.errors``)."""

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        held = is_held(error)
        if not held and not isinstance(error, TablesBehind | UnknownEvent | UnreadableBase):
            return None
        log.error("page unavailable", path=request.path, error=str(error))
        context = {
            "newer": error if isinstance(error, UnknownEvent) else None,
            "base": isinstance(error, UnreadableBase),
            "held": held,
            "again": request.get_full_path() if request.method == "GET" else "",
        }
        response = render(request, "503.html", context, status=503)
        response["Retry-After"] = RETRY_AFTER
        return response
