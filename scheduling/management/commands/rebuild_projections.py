"""rebuild_projections: make the tables anew from the log."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from scheduling.ledger import store
from scheduling.ledger.codec import BadEvent
from scheduling.ledger.fold import BrokenHistory
from scheduling.management.progress import progress
from scheduling.models import Stream
from scheduling.projections.rebuild import is_behind, rebuild


class Command(BaseCommand):
    help = (
        "Replace the rows of every cluster, or of one, by what its log gives. The console keeps serving; "
        "appends wait while the rows are exchanged."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster", nargs="?", help="Name of a cluster; all of them when not given.")

        parser.add_argument(
            "--behind",
            action="store_true",
            help="Only those that an older version of the console wrote, as after an upgrade.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["cluster"]
        streams = Stream.objects.filter(kind=Stream.Kind.CLUSTER).order_by("name")
        if name is not None:
            streams = streams.filter(name=name)
            if not streams:
                raise CommandError(f"there is no cluster {name}")
        for stream in streams:
            if options["behind"] and not is_behind(stream.pk):
                continue
            label = f"rebuild {stream.name}"
            try:
                with progress(label, store.head(stream.pk).seq, lines=True) as advance:
                    seq = rebuild(stream.pk, advance)
            except (BadEvent, BrokenHistory) as error:
                raise CommandError(f"{stream} cannot be rebuilt: {error}") from error
            self.stdout.write(f"{stream}: rebuilt at {seq}")
