"""The API's own pages in a real browser: the content security policy must not leave them empty."""

from typing import Any
from urllib.parse import urlsplit

from django.contrib.auth.models import User

from tasweb import login_links


def test_the_api_pages_draw_every_operation_and_ask_no_other_server(page: Any, live_stack: Any) -> None:
    user = User.objects.create_superuser("admin")
    page.goto(f"/login/once/{login_links.create(user)}/")
    said: list[str] = []
    hosts: set[str] = set()
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: hosts.add(urlsplit(request.url).netloc))
    page.goto("/api/v1/docs")
    page.locator(".opblock-tag").first.wait_for()
    shown = page.locator(".opblock-tag").evaluate_all("tags => tags.map(tag => tag.dataset.tag)")
    assert sorted(shown) == [
        *("batches", "canary", "capacity", "clusters", "events", "map", "nodes", "podgroups", "preemption"),
        *("queues", "reservations", "rollout", "runs", "scenarios", "waits"),
    ]
    page.locator('.opblock-tag[data-tag="clusters"] button').click()
    page.get_by_text("List clusters").wait_for()
    assert said == []
    assert hosts - {"", urlsplit(live_stack.url).netloc} == set()  # "": data: pictures of the style sheet
