"""retention: old events to files and back."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.dateparse import parse_date, parse_datetime

from scheduling.ledger.archive_files import BadArchive
from scheduling.ledger.bases import UnreadableBase
from scheduling.management.commands.tas import actor, within
from scheduling.management.counting import counted
from scheduling.models import Cluster
from scheduling.projections.writer import TablesBehind
from scheduling.services import retention
from scheduling.services.retention import NotDone, Piece
from scheduling.wording import units

LAST_SEQ = 2**63 - 1


def moment(text: str) -> int | datetime:
    """A seq, or a time in ISO 8601; without a zone it is in UTC."""
    if text.isdecimal():
        return int(text)
    try:
        found = parse_datetime(text)
        day = parse_date(text) if found is None else None
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no time: {error}") from None
    if day is not None:
        found = datetime(day.year, day.month, day.day)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is neither a seq nor a time like 2026-11-30T09:00:00Z")
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


class Command(BaseCommand):
    help = "Move whole partitions of old events to files and back. As the role that owns the log."

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(
            dest="action", required=True, metavar="list|detach|attach|verify|rebase"
        )
        action = actions.add_parser("list", help="where the events of every cluster are, and which may go")
        action.add_argument("cluster", nargs="?")

        action = actions.add_parser("detach", help="write the oldest partitions to files and take them out")
        action.add_argument("cluster")
        action.add_argument("--to", type=Path, required=True, metavar="DIR", help="folder of the files")
        which = action.add_mutually_exclusive_group(required=True)
        which.add_argument(
            "--keep", type=within(1, LAST_SEQ), metavar="N", help="partitions that stay, the newest included"
        )
        which.add_argument(
            "--before", type=moment, metavar="SEQ|TIME", help="only partitions whose events are all before it"
        )

        action = actions.add_parser("attach", help="bring the events of a file back")
        action.add_argument("file", type=Path)

        action = actions.add_parser("verify", help="check files in themselves and against the log")
        action.add_argument("paths", type=Path, nargs="+", metavar="DIR|FILE")

        action = actions.add_parser("rebase", help="fold the files of a cluster anew, after an upgrade")
        action.add_argument("cluster")
        action.add_argument("folder", type=Path, metavar="DIR")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            getattr(self, f"{options['action']}_")(**options)
        except (NotDone, BadArchive, UnreadableBase, TablesBehind) as error:
            raise CommandError(str(error)) from error
        except OSError as error:
            where = error.filename or options.get("to") or options.get("folder")
            raise CommandError(f"{where}: {error.strerror}") from error

    def list_(self, cluster: str | None, **_: Any) -> None:
        clusters = Cluster.objects.all() if cluster is None else [_find(cluster)]
        for found in clusters:
            self.stdout.write(f"{found.name}:")
            for piece in retention.pieces(found.pk):
                self.stdout.write(f"  {_line(piece)}")

    def detach_(
        self, cluster: str, to: Path, keep: int | None, before: int | datetime | None, **_: Any
    ) -> None:
        found = _find(cluster)
        done = retention.detach(
            cluster=found, folder=to, keep=keep, before=before, actor=actor(), tell=self.stdout.write
        )
        for archive in done:
            self.stdout.write(f"{archive} ({units.in_bytes(archive.size)}, sha256 {archive.sha256})")
        if not done:
            self.stdout.write("There was nothing to archive: only full partitions are, never the newest one.")

    def attach_(self, file: Path, **_: Any) -> None:
        archive = retention.attach(path=file, actor=actor(), tell=self.stdout.write)
        self.stdout.write(
            f"events {archive.first_seq:,} to {archive.last_seq:,} are in the database again; "
            f"{file.name} may be kept"
        )

    def verify_(self, paths: list[Path], **_: Any) -> None:
        found = list(retention.check(paths))
        for checked in found:
            self.stdout.write(checked.told)
        faulty = sum(not checked.ok for checked in found)
        if faulty:
            raise CommandError(f"{faulty} of {len(found)} are not as they should be")
        if not found:
            raise CommandError("there is no archive of events among these")

    def rebase_(self, cluster: str, folder: Path, **_: Any) -> None:
        done = retention.rebase(cluster=_find(cluster), folder=folder, tell=self.stdout.write)
        self.stdout.write(f"{len(done)} made; `rebuild_projections {cluster}` brings the tables up to date")


def _find(name: str) -> Cluster:
    try:
        return Cluster.objects.get(name=name)
    except Cluster.DoesNotExist:
        raise CommandError(f"there is no cluster {name}") from None


def _line(piece: Piece) -> str:
    times = f"{piece.recorded_first:%Y-%m-%d %H:%M} to {piece.recorded_last:%Y-%m-%d %H:%M} UTC"
    size = f"{counted(piece.rows, 'event')}, {units.in_bytes(piece.size)}"
    what = f"{piece.first:,} to {piece.last:,}, {times}, {size}"
    if piece.archive is None:
        return f"{what}, in the database" + (", may be detached" if piece.may_go else "")
    if piece.standing is None:
        return f"{what}, in {piece.archive.file}"
    return f"{what}, in {piece.archive.file} and, until `retention detach` is run again, in the database"
