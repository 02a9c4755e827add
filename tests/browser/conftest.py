"""Browser tests see the translations as they are in the sources now; and pages of a signed-in user."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client

from tasweb.stack.translations import compile_catalogues
from tests.browser.support import LIVE


@pytest.fixture(scope="session", autouse=True)
def _translations_are_compiled() -> None:
    compile_catalogues(settings.BASE_DIR / "locale")


@pytest.fixture
def visit(browser: Any, live_stack: Any) -> Iterator[Callable[..., Any]]:
    """`visit(path)`: a signed-in page at the path, when it shows `ready`; any error in it fails the test."""
    client = Client()
    client.force_login(User.objects.create_superuser("ops"))
    contexts: list[Any] = []
    faults: list[str] = []

    def open_page(
        path: str,
        *,
        theme: str = "light",
        width: int = 1600,
        before: Any = None,
        ready: str = LIVE,
        **options: Any,
    ) -> Any:
        context = browser.new_context(
            base_url=live_stack.url, viewport={"width": width, "height": 950}, color_scheme=theme, **options
        )
        contexts.append(context)
        context.add_cookies(
            [{"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_stack.url}]
        )
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        if before:
            before(page)
        page.goto(path)
        page.wait_for_selector(ready)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert faults == []
