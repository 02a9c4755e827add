"""`manage.py bench [NAME] [--json] [arguments]`: one bench or all, on throw-away servers where a bench needs
them."""

import importlib
import os
import pkgutil
import subprocess
import sys
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tasweb.stack import StackError, postgres, throwaway, valkey


class Command(BaseCommand):
    help = "Run the bench NAME, or all; --json adds one closing JSON line to each."
    requires_system_checks = ()

    def run_from_argv(self, argv: list[str]) -> None:
        names = [word for word in argv[2:3] if not word.startswith("-")]
        try:
            sys.exit(self.run(names or self._all(), argv[2 + len(names) :]))
        except StackError as error:
            self.stderr.write(str(error))
            sys.exit(error.exit_code)

    def handle(self, *args: Any, **options: Any) -> None:
        raise CommandError("Run it as `manage.py bench`.")

    def _all(self) -> list[str]:
        found = pkgutil.iter_modules([str(settings.BASE_DIR / "bench")])
        return sorted(module.name for module in found if not module.name.startswith("_"))

    def run(self, names: list[str], arguments: list[str]) -> int:
        """The worst exit code of the benches."""
        unknown = sorted(set(names) - set(self._all()))
        if unknown:
            raise StackError(f"There is no bench {', '.join(unknown)}; there are: {', '.join(self._all())}.")
        return max((self._one(name, arguments) for name in names), default=0)

    def _one(self, name: str, arguments: list[str]) -> int:
        env = {**os.environ, "DJANGO_SETTINGS_MODULE": "tasweb.settings"}
        env.setdefault("SECRET_KEY", "for benches only")
        command = [sys.executable, "-m", "bench", name, *arguments]
        bench = importlib.import_module(f"bench.{name}")
        if not getattr(bench, "NEEDS_STACK", False):
            return subprocess.run(command, cwd=settings.BASE_DIR, env=env).returncode
        directory = throwaway.short_directory()
        with throwaway.servers(directory, durable=getattr(bench, "DURABLE", False)):
            env |= {**postgres.urls(directory), **valkey.urls(directory)}
            migrate = [sys.executable, "manage.py", "migrate", "--verbosity", "0"]
            subprocess.run(migrate, cwd=settings.BASE_DIR, env=env, check=True)
            return subprocess.run(command, cwd=settings.BASE_DIR, env=env).returncode
