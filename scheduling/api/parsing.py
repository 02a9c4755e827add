"""JSON bodies: read, and refused where they hold strings that are no text."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from scheduling.services.problems import INVALID, Problem, Refused
from scheduling.storable import unstorable


class JsonParser(Parser):
    def parse_body(self, request: HttpRequest) -> Any:
        """Raises ValueError for what is no JSON, Refused for what no log can hold."""
        body = json.loads(request.body)
        message = "it holds a NUL or half of a surrogate pair, which is no text"
        if found := unstorable(body):
            raise Refused(Problem("", "", "", path, INVALID, message) for path in found)
        return body
