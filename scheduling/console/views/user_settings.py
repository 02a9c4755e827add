"""Settings of the signed-in user: API tokens, time zone, language, theme and shortcuts."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext

from scheduling.console import zones
from scheduling.console.access import SIGNED_IN, page
from scheduling.console.forms.tokens import TokenForm
from scheduling.console.pages import owner, show
from scheduling.services import tokens

YEAR = 365 * 24 * 3600


def _page(request: HttpRequest, form: TokenForm, *, plain: str = "", status: int = 200) -> HttpResponse:
    context = {
        "form": form,
        "plain": plain,
        "tokens": owner(request).api_tokens.all(),
        "zones": zones.CHOICES,
    }
    return show(request, "settings.html", context, here="settings", status=status)


@page(SIGNED_IN)
def settings_page(request: HttpRequest) -> HttpResponse:
    return _page(request, TokenForm())


@page(SIGNED_IN, "POST")
def choose_zone(request: HttpRequest) -> HttpResponse:
    response = redirect("settings")
    chosen = request.POST.get("zone", "")
    if chosen in zones.CHOICES:
        response.set_cookie(zones.COOKIE, chosen, max_age=YEAR, samesite="Lax", secure=request.is_secure())
    return response


@page(SIGNED_IN, "POST")
def create_token(request: HttpRequest) -> HttpResponse:
    """Shows the token once, in the answer to this very request: it is kept nowhere to show again."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, form, status=422)
    _row, plain = tokens.create_token(
        user=owner(request), name=form.cleaned_data["name"], expires_at=form.expires_at()
    )
    response = _page(request, TokenForm(), plain=plain)
    response["Cache-Control"] = "no-store"
    return response


@page(SIGNED_IN, "POST")
def revoke_token(request: HttpRequest, token: int) -> HttpResponse:
    if tokens.revoke(user=owner(request), token_id=token):
        messages.success(request, gettext("The token was revoked."))
    else:
        messages.error(request, gettext("You have no such token."))
    return redirect("settings")
