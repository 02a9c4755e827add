"""How the API writes JSON: one way for answers, streamed lines and the command line."""

from __future__ import annotations

from typing import Any

import orjson
from django.http import HttpRequest
from ninja.renderers import BaseRenderer


def encode(data: Any) -> bytes:
    """JSON; times end in Z. TypeError for what is neither JSON nor a time."""
    return orjson.dumps(data, option=orjson.OPT_UTC_Z)


class JsonRenderer(BaseRenderer):
    media_type = "application/json"

    def render(self, request: HttpRequest, data: Any, *, response_status: int) -> bytes:
        return encode(data)
