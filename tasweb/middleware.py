"""Response headers that hold for every page."""

from collections.abc import Callable

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware


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

        async def answer_async(request: HttpRequest) -> HttpResponse:
            response: HttpResponse = await get_response(request)
            response.headers.setdefault("Content-Security-Policy", policy(request))
            return response

        return answer_async

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        assert isinstance(response, HttpResponse)
        response.headers.setdefault("Content-Security-Policy", policy(request))
        return response

    return answer
