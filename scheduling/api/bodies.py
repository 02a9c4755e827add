"""Bodies that are documents, not JSON calls: dumps and manifests, taken as they are up to a limit."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from scheduling.api.errors import ApiError
from scheduling.kube.documents import MAX_UNPACKED

IMPORT_LIMIT = MAX_UNPACKED
"""Bytes of a dump as sent. What a gzip stream unpacks to has the same limit, kept where it is unpacked."""

MANIFESTS_LIMIT = 8 << 20
"""Bytes of the manifests of one submission."""

CHUNK = 1 << 20


def read(request: HttpRequest, *, limit: int) -> bytes:
    """The body. Raises ApiError: 413 beyond ``limit`` bytes, 400 for an empty one."""
    parts, size = [], 0
    while chunk := request.read(CHUNK):
        size += len(chunk)
        if size > limit:
            raise ApiError(413, f"The body is larger than {limit} bytes.")
        parts.append(chunk)
    if not parts:
        raise ApiError(400, "The body is empty.")
    return b"".join(parts)


def documents(*content_types: str) -> dict[str, Any]:
    """The OpenAPI ``requestBody`` of an operation that takes a document as it is."""
    text = {"schema": {"type": "string"}}
    binary = {"schema": {"type": "string", "format": "binary"}}
    content = {name: binary if name == "application/gzip" else text for name in content_types}
    return {"requestBody": {"required": True, "content": content}}
