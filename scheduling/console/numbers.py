"""Whole numbers as addresses and forms carry them."""

from __future__ import annotations

DIGITS = 18
"""More do not fit a column of the database, and Python does not read any number of them."""


def whole(text: str) -> int | None:
    """The number that these are the ASCII digits of; None for any other text."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= DIGITS else None
