"""`manage.py chaos [--rounds N] [--seed S] [--json]`: the console on servers of its own, killed under
load.
"""

import re
import secrets
import subprocess
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from chaos.stack import environment
from tasweb.stack import throwaway


class Command(BaseCommand):
    help = "Kill worker, web, Redis and PostgreSQL under load, over and over, and look each time what it did."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--rounds", type=int, default=20)
        parser.add_argument(
            "--seed", default="", help="Decides victims and points; a new one when not given."
        )
        parser.add_argument("--json", action="store_true", help="The sums as one JSON line before the last.")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["rounds"] < 1:
            raise CommandError("--rounds must be at least 1.")
        if not re.fullmatch(r"[\w-]{0,40}", options["seed"]):
            raise CommandError("--seed must be at most 40 letters, digits, hyphens and underscores.")
        directory = throwaway.short_directory()
        seed = options["seed"] or secrets.token_hex(3)
        command = [sys.executable, "-m", "chaos", str(directory), seed, str(options["rounds"])]
        command += ["--json"] if options["json"] else []
        sys.exit(subprocess.run(command, cwd=settings.BASE_DIR, env=environment(directory)).returncode)
