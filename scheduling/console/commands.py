"""Runs a service for a POST: says what came of it and leads back to a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme

from scheduling.services.problems import Refused
from scheduling.storable import is_storable
from scheduling.wording import problems


def actor(request: HttpRequest) -> str:
    """How the log names who asked."""
    return request.user.get_username()


def command_id(request: HttpRequest) -> str:
    """The form's own id: the same form sent twice is one command. "" lets the service make one."""
    given = request.POST.get("command_id", "")[:64]
    return given if is_storable(given) else ""


def carry_out(request: HttpRequest, command: Callable[[], Any], done: str, then: str) -> HttpResponse:
    """Run ``command``; then show the page ``then`` with ``done``, or with every reason why it was refused.

    A form on another page names that page as ``back``, and is led back there.
    """
    try:
        command()
    except Refused as refused:
        for problem in refused.problems:
            messages.error(request, f"{problems.subject(problem)} {problems.sentence(problem)}".strip())
    else:
        messages.success(request, done)
    back = request.POST.get("back", "")
    return redirect(back if url_has_allowed_host_and_scheme(back, allowed_hosts=None) else then)
