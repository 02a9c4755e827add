"""The page that says why nothing can be done while two versions of the console meet, in a real browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from scheduling.models import Cluster, TableHead
from scheduling.services.clusters import ImportRequest, import_cluster
from tests.browser.test_pages import violations
from tests.console.support import dump, node
from tests.versions import append_newer

SAID = {
    ("tables", "en"): "made by another version of the console",
    ("tables", "ja"): "別のバージョンのコンソールが作ったもの",
    ("log", "en"): "A newer version of the console wrote event",
    ("log", "ja"): "コンソールの新しいバージョンが書いたもの",
}


def signed_in() -> str:
    client = Client()
    client.force_login(User.objects.create_superuser("ops"))
    return str(client.cookies["sessionid"].value)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("what", ["tables", "log"])
def test_a_command_is_answered_with_a_page_that_says_why_not(
    what: str, language: str, theme: str, browser: Any, live_stack: Any, screenshot: Callable[..., Path]
) -> None:
    request = ImportRequest(data=dump(node("n1", "r1")), mode="simulated")
    import_cluster(name="demo", request=request, actor="ops")
    cluster = Cluster.objects.get(name="demo")
    context = browser.new_context(base_url=live_stack.url, color_scheme=theme)
    cookies = {"sessionid": signed_in(), "django_language": language}
    context.add_cookies(
        [{"name": name, "value": value, "url": live_stack.url} for name, value in cookies.items()]
    )
    page = context.new_page()
    page.goto("/c/demo/nodes/n1")
    # The upgrade begins while somebody looks at the page.
    if what == "tables":
        TableHead.objects.filter(stream=cluster.pk, name="nodes").update(version=0)
    else:
        append_newer(cluster)
    with page.expect_response(lambda response: response.url.endswith("/cordon")) as answered:
        page.locator("form[action$='/cordon'] button").click()
    assert (answered.value.status, answered.value.headers["retry-after"]) == (503, "30")
    page.wait_for_selector("h1")
    assert SAID[what, language] in page.locator("main").inner_text()
    screenshot(page, f"page-unavailable-{what}-{language}-{theme}")
    assert violations(page) == []
    context.close()
