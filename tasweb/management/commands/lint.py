"""`manage.py lint`: style, types, floors, front-end types."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from tasweb.stack import StackError
from tasweb.stack.quality import lint


class Command(BaseCommand):
    help = "Run ruff, mypy, the import floors and the TypeScript compiler."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            lint(self.stdout.write)
        except StackError as error:
            raise CommandError(str(error), returncode=error.exit_code) from error
