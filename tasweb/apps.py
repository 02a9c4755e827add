"""The project as an app: its commands and checks."""

from django.apps import AppConfig


class TaswebConfig(AppConfig):
    name = "tasweb"

    def ready(self) -> None:
        from tasweb import checks  # noqa: F401
