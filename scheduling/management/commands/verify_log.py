"""verify_log: is the log what was written, are the tables what it says, and are noted heads still in it?"""

from __future__ import annotations

import sys
import time
import tomllib
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from scheduling.ledger import archives, heads, store
from scheduling.ledger.bases import UnreadableBase
from scheduling.ledger.codec import BadEvent
from scheduling.ledger.fold import BrokenHistory
from scheduling.ledger.heads import BadHeads, Heads, NotedHead
from scheduling.ledger.verify import beginning, verify_chain
from scheduling.management.counting import counted
from scheduling.management.progress import progress
from scheduling.models import Stream
from scheduling.projections.rebuild import compare

SHOWN = 20
"""Differences printed for a stream; the rest is counted."""


class Command(BaseCommand):
    help = (
        "Walk the hash chain of every stream, or of one cluster, and compare the tables with the log. "
        "Exit code 1 when something is not as written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster", nargs="?", help="Name of a cluster; all streams when not given.")
        parser.add_argument(
            "--against",
            metavar="FILE",
            help="Check that the heads of an earlier --export-heads are in the log. `-`: standard input.",
        )
        parser.add_argument(
            "--archives",
            metavar="DIR",
            type=Path,
            help="With --against: where the files of archived events are, for heads that lie in one.",
        )
        parser.add_argument(
            "--export-heads",
            metavar="FILE",
            help="When all is as written, note the head of every log that was verified in a new file, signed "
            "with HMAC-SHA256 when TAS_HEADS_KEY is set. `-`: standard output.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name, out = options["cluster"], options["export_heads"]
        self.out = self.stderr if out == "-" else self.stdout
        streams = Stream.objects.order_by("kind", "name")
        if name is not None:
            streams = streams.filter(kind=Stream.Kind.CLUSTER, name=name)
            if not streams:
                raise CommandError(f"there is no cluster {name}")
        folder = options["archives"]
        if folder is not None and options["against"] is None:
            raise CommandError("--archives is for --against, which is not given", returncode=2)
        if folder is not None and not folder.is_dir():
            raise CommandError(f"{folder} is no folder")
        noted = None if options["against"] is None else self._read(options["against"])
        verified, faulty = list[NotedHead](), list[str]()
        for stream in streams:
            head = self._verify(stream)
            if head is None:
                faulty.append(str(stream))
            else:
                verified.append(head)
        problems = [] if noted is None else self._check(noted, name, folder)
        if faulty:
            raise CommandError(f"not as written, or not to be read: {', '.join(faulty)}")
        if problems:
            raise CommandError(f"not the log whose heads were noted: {'; '.join(problems)}")
        if out is not None:
            self._export(verified, out)

    def _say(self, text: str) -> None:
        self.out.write(text, str)  # on standard error too it is no error

    def _verify(self, stream: Stream) -> NotedHead | None:
        """The head up to which the stream is sound; None when it is not, or its tables differ."""
        for archive in archives.of(stream.pk):
            self._say(f"{stream}: {archive}: `retention verify` checks it")
        events = store.head(stream.pk).seq - beginning(stream.pk).seq
        with progress(f"{stream}: hashes", events) as advance:
            report = verify_chain(stream.pk, advance=advance)
        if not report.ok:
            self._say(f"{stream}: BROKEN: {report.sentence}")
            return None
        self._say(
            f"{stream}: {counted(report.events, 'event')}, head {report.head.seq} {report.head.hash.hex()}"
        )
        head = NotedHead(stream.kind, stream.name, report.head.seq, report.head.hash)
        if stream.kind != Stream.Kind.CLUSTER:
            return head
        try:
            with progress(f"{stream}: tables", report.events) as advance:
                differences = compare(stream.pk, advance)
        except (BadEvent, BrokenHistory, UnreadableBase) as error:
            self._say(f"{stream}: the tables cannot be compared: {error}")
            return None
        for difference in differences[:SHOWN]:
            self._say(f"{stream}: {difference}")
        if len(differences) > SHOWN:
            self._say(f"{stream}: and {counted(len(differences) - SHOWN, 'difference')} more")
        return None if differences else head

    def _read(self, name: str) -> Heads:
        try:
            data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror}") from error
        try:
            return heads.read(data, key=settings.TAS_HEADS_KEY)
        except BadHeads as error:
            raise CommandError(f"{name}: {error}") from error

    def _check(self, noted: Heads, name: str | None, folder: Path | None) -> list[str]:
        """What is wrong with the noted heads, or with that of one cluster."""
        listed = [head for head in noted.heads if name is None or (head.kind, head.name) == ("cluster", name)]
        if name is not None and not listed:
            return [f"the file notes no head of cluster {name}"]
        problems = [sentence for head in listed if (sentence := heads.problem(head, folder))]
        trust = "not signed" if not noted.signed else "signed"
        if noted.signed and not settings.TAS_HEADS_KEY:
            trust = "signed, which was not checked: TAS_HEADS_KEY is not set"
        moment = store.to_datetime(noted.at).isoformat(timespec="seconds")
        self._say(
            f"in the log: {len(listed) - len(problems)} of {counted(len(listed), 'head')} noted at {moment} "
            f"by version {noted.console} ({trust})"
        )
        return problems

    def _export(self, verified: list[NotedHead], name: str) -> None:
        project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
        now = time.time_ns() // 1_000_000
        data = heads.write(verified, at=now, console=project["version"], key=settings.TAS_HEADS_KEY)
        if name == "-":
            self.stdout.write(data.decode(), ending="")
            return
        try:
            # What was noted before is evidence, so it is never written over.
            with Path(name).open("xb") as file:
                file.write(data)
        except OSError as error:
            raise CommandError(f"{name}: {error.strerror}") from error
        signed = "signed" if settings.TAS_HEADS_KEY else "not signed: TAS_HEADS_KEY is not set"
        self._say(f"{counted(len(verified), 'head')} noted in {name} ({signed})")
