"""`manage.py conformance PATH...`: run conformance cases and tell which hold."""

from __future__ import annotations

from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from scheduling.engine.decide import PROFILES
from scheduling.services.conformance.cases import read_cases, run_case


class Command(BaseCommand):
    help = "Run conformance cases (tests/conformance/README.md has the format); no database is used."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "paths", nargs="+", type=Path, metavar="PATH", help="a .jsonl file, or a folder of them"
        )
        parser.add_argument("--profile", choices=PROFILES, help="engine profile; by default the case's own")

    def handle(self, *args: Any, **options: Any) -> None:
        counts: Counter[str] = Counter()
        for path in options["paths"]:
            for file in sorted(path.glob("*.jsonl")) if path.is_dir() else [path]:
                try:
                    cases = list(read_cases(file))
                except OSError as error:
                    raise CommandError(f"{file}: {error.strerror}") from error
                except ValueError as error:
                    raise CommandError(str(error)) from error
                for case in cases:
                    result = run_case(case, options["profile"])
                    counts[result.verdict] += 1
                    for why in result.why:
                        self.stdout.write(f"{result.verdict} {result.name}: {why}")
        if not counts:
            raise CommandError("no cases there")
        self.stdout.write(
            f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped"
        )
        if counts["failed"]:
            raise SystemExit(1)
