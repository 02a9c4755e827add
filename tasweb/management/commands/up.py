"""`manage.py up`: the whole console on this machine, with servers of its own."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from tasweb.stack import StackError, state
from tasweb.stack.private import up


class Command(BaseCommand):
    help = "Start the console and all it needs on this machine; Ctrl-C stops it, the data stays."
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="port of the web server on 127.0.0.1")
        parser.add_argument("--state-dir", type=Path, default=state.DEFAULT, help="where the data is kept")

    def handle(self, *args: Any, **options: Any) -> None:
        def say(line: str) -> None:
            self.stdout.write(line)
            self.stdout.flush()

        try:
            up(options["state_dir"], options["port"], say)
        except StackError as error:
            raise CommandError(str(error), returncode=error.exit_code) from error
