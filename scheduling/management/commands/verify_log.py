"""verify_log: is the log what was written, and are the tables what the log says?"""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from scheduling.ledger import archives
from scheduling.ledger.verify import verify_chain
from scheduling.models import Stream
from scheduling.projections.rebuild import compare

SHOWN = 20
"""Differences printed for a stream; the rest is counted."""


class Command(BaseCommand):
    help = "Walk the hash chain of every stream, or of one cluster, and compare the tables with the log."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster", nargs="?", help="Name of a cluster; all streams when not given.")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["cluster"]
        streams = Stream.objects.order_by("kind", "name")
        if name is not None:
            streams = streams.filter(kind=Stream.Kind.CLUSTER, name=name)
            if not streams:
                raise CommandError(f"there is no cluster {name}")
        faulty = [str(stream) for stream in streams if not self._verify(stream)]
        if faulty:
            raise CommandError(f"not as written: {', '.join(faulty)}")

    def _verify(self, stream: Stream) -> bool:
        for archive in archives.of(stream.pk):
            self.stdout.write(f"{stream}: {archive}: `retention verify` checks it")
        report = verify_chain(stream.pk)
        if not report.ok:
            self.stdout.write(f"{stream}: BROKEN: {report.sentence}")
            return False
        self.stdout.write(
            f"{stream}: {report.events} events, head {report.head.seq} {report.head.hash.hex()}"
        )
        if stream.kind != Stream.Kind.CLUSTER:
            return True
        differences = compare(stream.pk)
        for difference in differences[:SHOWN]:
            self.stdout.write(f"{stream}: {difference}")
        if len(differences) > SHOWN:
            self.stdout.write(f"{stream}: and {len(differences) - SHOWN} differences more")
        return not differences
