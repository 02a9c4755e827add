"""Bytes kept between the preview of an import and its confirmation.

They lie in a session row of their own: shared by all web processes, gone after an hour, cleared with the
sessions.
The address of the row is signed together with its owner, so that nobody reads another's draft; it is no
sign-in.
"""

from __future__ import annotations

import base64
import zlib
from importlib import import_module

from django.conf import settings
from django.core import signing

SALT = "scheduling.console.drafts"
SECONDS = 3600


def _store(key: str | None = None):
    return import_module(settings.SESSION_ENGINE).SessionStore(key)


def keep(data: bytes, owner: int) -> str:
    """Keep ``data`` for an hour; returns what ``load`` needs."""
    draft = _store()
    draft["import"] = base64.b85encode(zlib.compress(data, 1)).decode()
    draft.set_expiry(SECONDS)
    draft.create()
    return signing.dumps([draft.session_key, owner], salt=SALT)


def load(reference: str, owner: int) -> bytes | None:
    """What was kept; None when it is too old, not this owner's, or the reference is forged."""
    try:
        key, kept_for = signing.loads(reference, salt=SALT, max_age=SECONDS)
    except signing.BadSignature:
        return None
    draft = _store(key)
    packed = draft.get("import")
    if kept_for != owner or packed is None:
        return None
    return zlib.decompress(base64.b85decode(packed))


def drop(reference: str, owner: int) -> None:
    """Forget a draft that has been used."""
    try:
        key, kept_for = signing.loads(reference, salt=SALT)
    except signing.BadSignature:
        return
    if kept_for == owner:
        _store(key).delete()
