"""The time zone that a reader chose: UTC, Japan, or whatever their browser says it is in."""

from __future__ import annotations

from zoneinfo import ZoneInfo, available_timezones

from django.http import HttpRequest

COOKIE = "tas_zone"
BROWSER_COOKIE = "tas_browser_zone"
BROWSER = "browser"
CHOICES = ("UTC", "Asia/Tokyo", BROWSER)


def choice(request: HttpRequest) -> str:
    """What the reader chose, UTC when they did not."""
    chosen = request.COOKIES.get(COOKIE, "")
    return chosen if chosen in CHOICES else "UTC"


def zone(request: HttpRequest) -> ZoneInfo:
    """The zone to print times in. The browser's own is told by a cookie, so it is checked like any input."""
    name = choice(request)
    if name == BROWSER:
        told = request.COOKIES.get(BROWSER_COOKIE, "")
        name = told if told in available_timezones() else "UTC"
    return ZoneInfo(name)
