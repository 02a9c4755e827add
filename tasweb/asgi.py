"""The ASGI application: HTTP by Django, WebSockets by Channels, for signed-in users of an allowed host
only."""

import os
import warnings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasweb.settings")
# WhiteNoise answers with synchronous iterators; Django says so for each file, and they are small.
warnings.filterwarnings("ignore", message="StreamingHttpResponse must consume synchronous iterators")
os.environ.setdefault("TAS_PROCESS", "web")  # settings: the connection pool is for this process

from django.core.asgi import get_asgi_application  # noqa: E402

http = get_asgi_application()  # sets Django up, which the imports below need

from channels.routing import ProtocolTypeRouter, URLRouter  # noqa: E402
from channels.security.websocket import AllowedHostsOriginValidator  # noqa: E402
from channels.sessions import SessionMiddlewareStack  # noqa: E402

from scheduling.live.routing import websocket_urlpatterns  # noqa: E402

application = ProtocolTypeRouter(
    {
        "http": http,
        "websocket": AllowedHostsOriginValidator(SessionMiddlewareStack(URLRouter(websocket_urlpatterns))),
    }
)
