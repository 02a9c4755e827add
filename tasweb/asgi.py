"""The ASGI application: HTTP by Django, WebSockets by Channels, for signed-in users of an allowed host only;
and what is left to do when the server ends.
"""

import os
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasweb.settings")
# WhiteNoise answers with synchronous iterators; Django says so for each file, and they are small.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")
os.environ.setdefault("TAS_PROCESS", "web")  # settings: the connection pool is for this process

from django.core.asgi import get_asgi_application  # noqa: E402

http = get_asgi_application()  # sets Django up, which the imports below need

from asgiref.sync import sync_to_async  # noqa: E402
from channels.auth import AuthMiddlewareStack  # noqa: E402
from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402

from scheduling.live.routing import websocket_urlpatterns  # noqa: E402
from scheduling.services.state import save_before_end  # noqa: E402


async def lifespan(scope: object, receive: Receive, send: Send) -> None:
    """Begins with nothing; at the end the kept states are saved."""
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await sync_to_async(save_before_end)()
    await send({"type": "lifespan.shutdown.complete"})


application = ProtocolTypeRouter(
    {
        "http": http,
        "lifespan": lifespan,
        "websocket": AllowedHostsOriginValidator(AuthMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
