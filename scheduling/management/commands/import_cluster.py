"""`manage.py import_cluster NAME FILE`: make a cluster of a dump, or bring it up to date with one."""

from __future__ import annotations

import getpass
import sys
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from scheduling.ledger.codec import UnknownEvent
from scheduling.projections.writer import TablesBehind
from scheduling.services.clusters import ImportReport, ImportRequest, import_cluster, preview_import
from scheduling.services.importing import COMPLETE_KINDS
from scheduling.services.problems import Refused
from scheduling.services.switching import MODES

_NAMED = 10
"""So many removed objects are named; the rest is counted."""


def gate(text: str) -> tuple[str, bool]:
    name, _, value = text.partition("=")
    if value not in ("true", "false"):
        raise ArgumentTypeError(f"{text!r} is not Name=true or Name=false")
    return name, value == "true"


def kinds(text: str) -> frozenset[str]:
    return frozenset(filter(None, text.split(",")))


class Command(BaseCommand):
    help = (
        "Import what `kubectl get nodes,pods,podgroups.scheduling.k8s.io -A -o json` printed; twice is once."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the cluster; a new name makes a new one")
        parser.add_argument("file", help="JSON or YAML, gzip or not; - for standard input")
        parser.add_argument("--mode", choices=MODES, help="needed for a new cluster")
        parser.add_argument(
            "--complete",
            type=kinds,
            default=frozenset(),
            metavar="KINDS",
            help=f"of {','.join(COMPLETE_KINDS)}: kinds of which what the file does not hold is gone",
        )
        parser.add_argument(
            "--partial", action="store_true", help="leave refused objects out and take the rest"
        )
        parser.add_argument(
            "--gate",
            type=gate,
            action="append",
            default=[],
            metavar="NAME=true|false",
            help="for a new cluster",
        )
        parser.add_argument("--dry-run", action="store_true", help="tell what would be done and do nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        request = ImportRequest(
            data=_read(options["file"]),
            mode=options["mode"],
            gates=dict(options["gate"]) or None,
            complete=options["complete"],
            partial=options["partial"],
        )
        try:
            if options["dry_run"]:
                report = preview_import(name=options["name"], request=request)
            else:
                actor = f"cli:{getpass.getuser()}"
                report = import_cluster(name=options["name"], request=request, actor=actor)
        except Refused as refused:
            for problem in refused.problems:
                self.stderr.write(str(problem))
            self.stderr.write("Nothing was imported.")
            raise SystemExit(1) from None
        except (TablesBehind, UnknownEvent) as error:
            raise CommandError(str(error)) from error
        self._tell(report, options["dry_run"])
        if options["dry_run"] and report.refused and not options["partial"]:
            raise SystemExit(1)

    def _tell(self, report: ImportReport, dry_run: bool) -> None:
        for problem in report.refused:
            self.stderr.write(f"refused: {problem}")
        for notice in report.notices:
            self.stdout.write(f"note: {notice}")
        for kind in sorted(report.accepted.keys() | report.removed.keys()):
            gone = report.removed.get(kind, ())
            counts = (
                (report.added.get(kind, 0), "added"),
                (report.updated.get(kind, 0), "updated"),
                (len(gone), "removed"),
                (report.unchanged.get(kind, 0), "unchanged"),
            )
            self.stdout.write(f"{kind}: " + ", ".join(f"{count} {what}" for count, what in counts if count))
            for name in gone[:_NAMED]:
                self.stdout.write(f"  removed {name}")
            if len(gone) > _NAMED:
                self.stdout.write(f"  and {len(gone) - _NAMED} more")
        for kind, count in report.ignored.items():
            self.stdout.write(f"{kind}: {count} ignored")
        if dry_run:
            gates = ", ".join(f"{name}={str(on).lower()}" for name, on in report.proposed_gates.items())
            if report.created:
                self.stdout.write(f"Proposed for a new cluster: mode {report.proposed_mode}, gates {gates}.")
            self.stdout.write("Nothing was imported: this was a dry run.")
            return
        made = "was made" if report.created else "is up to date"
        self.stdout.write(f"Cluster {report.cluster} {made}; its log is at {report.seq}.")


def _read(name: str) -> bytes:
    try:
        return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error
