"""`manage.py compile_catalogues`: translations for the image; `up` and `test` do it by themselves."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from tasweb.stack.translations import compile_catalogues


class Command(BaseCommand):
    help = "Compile the message catalogues whose source is newer."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"{compile_catalogues(settings.BASE_DIR / 'locale')} compiled")
