"""`manage.py test [pytest arguments]`: lint, front-end tests, then pytest on throw-away servers.

The servers are those of tests/conftest.py: started when a test first asks for the database, gone with the
run.
"""

import os
import subprocess
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tasweb.stack import StackError, chromium, node, quality, translations

ELSEWHERE = ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "SECRET_KEY", "DJANGO_SETTINGS_MODULE")
"""What a shell may have exported for a real console; tests must never reach it."""

UNCOMPILED = "PYTHONDONTWRITEBYTECODE"
"""Under it each process that tests start compiles the console anew, a quarter of what its start costs."""

EVERYTHING = ("-n", "auto", "--maxprocesses", "4", "--dist", "loadfile", "--no-loadscope-reorder")
"""Without arguments: a process for each core, each with servers of its own. The files keep their order."""


class Command(BaseCommand):
    help = "Run all checks and tests; what follows is handed to pytest."
    requires_system_checks = ()

    def run_from_argv(self, argv: list[str]) -> None:
        # Not by argparse, which would keep pytest's own options for itself.
        try:
            code = self.run(argv[2:])
        except StackError as error:
            self.stderr.write(str(error))
            code = error.exit_code
        sys.exit(code)

    def handle(self, *args: Any, **options: Any) -> None:
        raise CommandError("Run it as `manage.py test`.")

    def run(self, arguments: list[str]) -> int:
        """The exit code: pytest's, or 1 when a check before it failed. pytest runs in any case."""
        failed = False
        for check in (lambda: quality.lint(self._say), self._front_end, chromium.install):
            try:
                check()
            except StackError as error:
                self._say(str(error))
                failed = True
        translations.compile_catalogues(settings.BASE_DIR / "locale")
        env = {name: value for name, value in os.environ.items() if name not in (*ELSEWHERE, UNCOMPILED)}
        command = [sys.executable, "-m", "pytest", *(arguments or EVERYTHING)]
        tests = subprocess.run(command, cwd=settings.BASE_DIR, env=env)
        if failed:
            self._say("A check before the tests failed, see above.")
        return tests.returncode or int(failed)

    def _front_end(self) -> None:
        node.build()
        self._say(node.test())

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()
