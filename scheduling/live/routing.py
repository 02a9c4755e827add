"""Addresses of the WebSockets."""

from django.urls import path

from scheduling.live.consumers import ClusterConsumer

websocket_urlpatterns = [path("ws/clusters/<slug:name>/", ClusterConsumer.as_asgi())]
