"""Runs a service for a POST: says what came of it and leads back to a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.http import url_has_allowed_host_and_scheme

from scheduling.ledger.store import CommandReused
from scheduling.services import first_come
from scheduling.services.execute import Outcome
from scheduling.services.problems import DUPLICATE, First, Problem, Refused
from scheduling.storable import is_storable
from scheduling.wording import problems

NOT_DONE = (Refused, CommandReused)
"""What a command of a page may end with; ``reasons`` says why."""


def actor(request: HttpRequest) -> str:
    """How the log names who asked."""
    return request.user.get_username()


def command_id(request: HttpRequest) -> str:
    """The form's own id: the same form sent twice is one command. "" lets the service make one."""
    given = request.POST.get("command_id", "")[:64]
    return given if is_storable(given) else ""


def reasons(error: Refused | CommandReused) -> tuple[Problem, ...]:
    """Why nothing was done. A page that a browser kept and that is sent again with something else in it has
    the id of what it did before.
    """
    if isinstance(error, Refused):
        return error.problems
    message = "this page was sent before, with something else in it; send it again to have this done too"
    return (Problem("", "", "", "", DUPLICATE, message, first_come.reused(error)),)


def with_first(text: str, first: First | None) -> str:
    """The text, and after it a link to the event that came first."""
    if first is None:
        return text
    return format_html(
        '{} <a href="{}">{}</a>',
        text,
        reverse("event", args=[first.cluster, first.seq]),
        problems.came_first(first),
    )


def tell(request: HttpRequest, done: Any) -> bool:
    """What is worth knowing of what was taken, or was so already; whether there was something."""
    notices = done.notices if isinstance(done, Outcome) else ()
    for notice in notices:
        messages.info(request, with_first(problems.notice(notice), notice.first))
    return bool(notices)


def carry_out(request: HttpRequest, command: Callable[[], Any], done: str, then: str) -> HttpResponse:
    """Run ``command``; then show the page ``then`` with ``done``, or with every reason why it was refused.

    A form on another page names that page as ``back``, and is led back there.
    """
    try:
        outcome = command()
    except NOT_DONE as error:
        for problem in reasons(error):
            text = f"{problems.subject(problem)} {problems.sentence(problem)}".strip()
            messages.error(request, with_first(text, problem.first))
    else:
        if not tell(request, outcome) or outcome.events:
            messages.success(request, done)
    back = request.POST.get("back", "")
    return redirect(back if url_has_allowed_host_and_scheme(back, allowed_hosts=None) else then)
