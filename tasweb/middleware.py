"""What holds for every page: its Content-Security-Policy, and that its address is text."""

from collections.abc import Callable

from asgiref.sync import iscoroutinefunction
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from django.utils.translation import gettext

from scheduling.storable import is_storable


def policy(request: HttpRequest) -> str:
    """Everything from this origin only; the live socket is named because older browsers do not count it as
    'self'."""
    host = request.get_host()
    return "; ".join(
        (
            "default-src 'self'",
            "img-src 'self' data:",
            "style-src 'self'",
            f"connect-src 'self' ws://{host} wss://{host}",
            "object-src 'none'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    )


@sync_and_async_middleware
def content_security_policy(get_response: Callable[..., object]) -> Callable[..., object]:
    """Set Content-Security-Policy unless the view has set its own."""
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            response: HttpResponseBase = await get_response(request)
            response.headers.setdefault("Content-Security-Policy", policy(request))
            return response

        return answer_async

    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        assert isinstance(response, HttpResponseBase)
        response.headers.setdefault("Content-Security-Policy", policy(request))
        return response

    return answer


def _look(request: HttpRequest) -> None:
    """Raises Http404 for an address or a parameter that no page and no object can have."""
    parts = (text for name, values in request.GET.lists() for text in (name, *values))
    if not is_storable(request.path_info) or not all(map(is_storable, parts)):
        raise Http404(gettext("No page has an address with such letters."))


@sync_and_async_middleware
def text_only(get_response: Callable[..., object]) -> Callable[..., object]:
    """404 for addresses with text that no database holds; the API has an answer of its own."""
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            _look(request)
            response: HttpResponseBase = await get_response(request)
            return response

        return answer_async

    def answer(request: HttpRequest) -> HttpResponseBase:
        _look(request)
        response = get_response(request)
        assert isinstance(response, HttpResponseBase)
        return response

    return answer
