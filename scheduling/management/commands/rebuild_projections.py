"""rebuild_projections: make the tables anew from the log."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from scheduling.ledger import archives, store
from scheduling.ledger.bases import UnreadableBase
from scheduling.ledger.codec import BadEvent
from scheduling.ledger.fold import BrokenHistory
from scheduling.management.progress import progress
from scheduling.models import Cluster, Stream
from scheduling.projections import workbench
from scheduling.projections.rebuild import is_behind, rebuild
from scheduling.services.execute import lock_head


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
                events = store.head(stream.pk).seq - archives.begin(stream.pk)
                with progress(label, events, lines=True) as advance:
                    seq = rebuild(stream.pk, advance)
            except (BadEvent, BrokenHistory, UnreadableBase) as error:
                raise CommandError(f"{stream} cannot be rebuilt: {error}") from error
            self.stdout.write(f"{stream}: rebuilt at {seq}")
            self._rebuild_workbench(stream.pk, stream.name, options["behind"])

    def _rebuild_workbench(self, cluster: int, name: str, only_behind: bool) -> None:
        """Its tables have no versions, so they are never behind."""
        stream = Stream.objects.filter(kind=Stream.Kind.WORKBENCH, name=name).first()
        if stream is None or only_behind:
            return
        with transaction.atomic():
            lock_head(stream.pk)
            workbench.rebuild(Cluster.objects.get(pk=cluster), stream.pk)
        self.stdout.write(f"{stream}: rebuilt")
