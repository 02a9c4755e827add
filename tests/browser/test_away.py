"""The page of a database that is away, as a browser shows it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.test import RequestFactory
from django.utils.translation import override

from tasweb import views
from tests.browser.test_pages import violations

SAID = {"en": "The database is away", "ja": "データベースに接続できません"}


def answer(language: str) -> bytes:
    """What the console answers where the database does not."""
    with override(language):
        try:
            raise OperationalError("the connection is lost")
        except OperationalError:
            return views.failure(RequestFactory().get("/c/demo/map")).content


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ja"])
def test_it_is_a_whole_page_in_both_languages_and_themes(
    language: str, theme: str, browser: Any, live_stack: Any, screenshot: Callable[..., Path]
) -> None:
    context = browser.new_context(
        base_url=live_stack.url, color_scheme=theme, viewport={"width": 1000, "height": 600}
    )
    page = context.new_page()
    body = answer(language).decode()
    page.route("**/c/demo/map", lambda route: route.fulfill(status=503, content_type="text/html", body=body))
    page.goto("/c/demo/map")
    screenshot(page, f"page-away-{language}-{theme}")
    assert (
        page.locator("h1").inner_text() == SAID[language]
        and page.title() == f"{SAID[language]} · TAS Console"
    )
    assert page.locator("main .pri").get_attribute("href") == "/c/demo/map"
    assert violations(page) == []
    context.close()
