"""Parts of addresses that are names given elsewhere: any text, not only what an address likes."""

from __future__ import annotations

from urllib.parse import quote, unquote

from django.urls import register_converter


class AnyText:
    """``<any:uid>``: all that is left of an address, slashes too, as a caller percent-encodes it once."""

    regex = "(?s:.+)"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class QuotedText:
    """``<quoted:uid>``: one segment whatever the text: encoded once more than its address, so that neither a
    slash nor a segment of dots is seen by a browser or a proxy.
    """

    regex = "[^/]+"

    def to_python(self, value: str) -> str:
        return unquote(value)

    def to_url(self, value: str) -> str:
        return quote(value, safe="") if value.strip(".") else value.replace(".", "%2E")


register_converter(AnyText, "any")
register_converter(QuotedText, "quoted")
