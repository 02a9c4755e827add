"""How commands, which speak English only, count things."""

from __future__ import annotations


def counted(number: int, thing: str) -> str:
    """``1 event``, ``1,200 events``."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
