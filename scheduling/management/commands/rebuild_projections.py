"""rebuild_projections: make the tables anew from the log."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from scheduling.models import Stream
from scheduling.projections.rebuild import rebuild


class Command(BaseCommand):
    help = (
        "Replace the rows of every cluster, or of one, by what its log gives. Appends to it wait meanwhile."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster", nargs="?", help="Name of a cluster; all of them when not given.")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["cluster"]
        streams = Stream.objects.filter(kind=Stream.Kind.CLUSTER).order_by("name")
        if name is not None:
            streams = streams.filter(name=name)
            if not streams:
                raise CommandError(f"there is no cluster {name}")
        for stream in streams:
            self.stdout.write(f"{stream}: rebuilt at {rebuild(stream.pk)}")
