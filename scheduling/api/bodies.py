"""Bodies that are documents, not JSON calls: dumps and manifests, read with a limit, gzip or not."""

from __future__ import annotations

import zlib
from typing import Any

from django.http import HttpRequest

from scheduling.api.errors import ApiError

CHUNK = 1 << 20

IMPORT_LIMIT = 256 << 20
"""Bytes of a dump, unpacked: more than 15,000 nodes with their status and 100,000 pods take."""

MANIFESTS_LIMIT = 8 << 20
"""Bytes of the manifests of one submission."""


def read(request: HttpRequest, *, limit: int) -> bytes:
    """The body, at most ``limit`` bytes before and after unpacking; gzip is told by its first two bytes.

    Raises ApiError 413 beyond the limit and 400 for an empty body or a broken gzip stream.
    """
    parts, size = [], 0
    while chunk := request.read(CHUNK):
        size += len(chunk)
        if size > limit:
            raise too_large(limit)
        parts.append(chunk)
    data = b"".join(parts)
    if not data:
        raise ApiError(400, "The body is empty.")
    return unpack(data, limit=limit) if data[:2] == b"\x1f\x8b" else data


def unpack(data: bytes, *, limit: int) -> bytes:
    """A gzip stream unpacked, member after member; stops at ``limit``: a small body cannot fill memory."""
    out: list[bytes] = []
    room = limit
    while data:
        member = zlib.decompressobj(wbits=31)
        try:
            part = member.decompress(data, room + 1)
        except zlib.error as error:
            raise ApiError(400, f"The body is not valid gzip: {error}.") from error
        room -= len(part)
        if room < 0:
            raise too_large(limit)
        if not member.eof:
            raise ApiError(400, "The gzip stream ends too early.")
        out.append(part)
        data = member.unused_data
    return b"".join(out)


def too_large(limit: int) -> ApiError:
    return ApiError(413, f"The body is larger than {limit} bytes, unpacked.")


def documents(*content_types: str) -> dict[str, Any]:
    """The OpenAPI ``requestBody`` of an operation that takes a document as it is."""
    text = {"schema": {"type": "string"}}
    binary = {"schema": {"type": "string", "format": "binary"}}
    content = {name: binary if name == "application/gzip" else text for name in content_types}
    return {"requestBody": {"required": True, "content": content}}
