"""replay: would this console decide the same again? Every recorded decision, byte for byte."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError

from scheduling.engine.version import ENGINE
from scheduling.ledger import archives, store
from scheduling.ledger.bases import UnreadableBase
from scheduling.ledger.codec import BadEvent
from scheduling.ledger.fold import BrokenHistory
from scheduling.management.counting import counted
from scheduling.management.progress import progress
from scheduling.models import Stream
from scheduling.services.replaying import Difference, Replay, replay_stream

SHOWN = 20
"""Differences printed for people; the rest is counted."""

LONGEST = 300
"""Characters of a value that are printed for people."""


class Command(BaseCommand):
    help = (
        "Decide again what the log of a cluster says was decided, each decision on its state, and show what "
        "differs. Exit code 1 when something does. Nothing is written."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("cluster", help="Name of a cluster.")
        parser.add_argument(
            "--from",
            dest="first",
            type=int,
            metavar="SEQ",
            help="First event; the oldest that is not archived when not given.",
        )
        parser.add_argument(
            "--to", dest="last", type=int, metavar="SEQ", help="Last event; the head when not given."
        )
        parser.add_argument("--json", action="store_true", help="One JSON document, all differences in it.")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["cluster"]
        stream = Stream.objects.filter(kind=Stream.Kind.CLUSTER, name=name).first()
        if stream is None:
            raise CommandError(f"there is no cluster {name}")
        head = store.head(stream.pk).seq
        first = archives.begin(stream.pk) + 1 if options["first"] is None else options["first"]
        last = head if options["last"] is None else options["last"]
        if not 1 <= first <= last <= head:
            raise CommandError(f"the log of cluster {name} has events 1 to {head}, not {first} to {last}")
        sums, found = Replay(first - 1), list[Difference]()
        started = time.monotonic()
        try:
            with progress(f"replay {name}", last - first + 1) as advance:
                for cycle in replay_stream(stream.pk, first, last):
                    advance(cycle.last - sums.seq)
                    sums.count(cycle, first)
                    found += cycle.differences
                advance(last - sums.seq)
        except (LookupError, BadEvent, BrokenHistory, UnreadableBase) as error:
            raise CommandError(f"cluster {name} cannot be replayed: {error}") from error
        seconds = time.monotonic() - started
        if options["json"]:
            self._print_json(name, first, last, sums, found, seconds)
        else:
            self._print(name, first, last, sums, found, seconds)
        if found:
            events = len({item.seq for item in found})
            raise CommandError(
                f"cluster {name}: {events} recorded decisions differ from what is decided here"
            )

    def _print(
        self, name: str, first: int, last: int, sums: Replay, found: list[Difference], seconds: float
    ) -> None:
        for item in found[:SHOWN]:
            self.stdout.write(_sentence(item))
        if len(found) > SHOWN:
            self.stdout.write(f"and {counted(len(found) - SHOWN, 'difference')} more")
        for engine, number in sorted(sums.others.items()):
            self.stdout.write(
                f"{counted(number, 'decision')} of engine {engine}, not compared: "
                f"this console has engine {ENGINE}"
            )
        differing = len({item.seq for item in found})
        rate = sums.decisions / seconds if seconds else 0
        self.stdout.write(
            f"cluster {name}, events {first} to {last}: {counted(sums.decisions, 'decision')} made again, "
            f"{differing} differ; {seconds:.1f} s, {rate:.0f} decisions/s"
        )

    def _print_json(
        self, name: str, first: int, last: int, sums: Replay, found: list[Difference], seconds: float
    ) -> None:
        document = {
            "cluster": name,
            "from": first,
            "to": last,
            "engine": ENGINE,
            "decisions": sums.decisions,
            "other_engines": dict(sorted(sums.others.items())),
            "differences": [
                {"seq": item.seq, "field": item.field, "recorded": item.recorded, "replayed": item.replayed}
                for item in found
            ],
            "seconds": round(seconds, 3),
        }
        self.stdout.write(orjson.dumps(document, option=orjson.OPT_INDENT_2).decode())


def _sentence(item: Difference) -> str:
    if item.recorded is None and not item.field:
        return f"event {item.seq}: {item.replayed} is decided in its place; the log does not have it there"
    if item.replayed is None and not item.field:
        return f"event {item.seq}: {item.recorded} was recorded; it is not decided again"
    if item.field == "order":
        return f"event {item.seq}: {item.recorded} was recorded where {item.replayed} is decided"
    if not item.field:
        return f"event {item.seq}: {item.recorded} was recorded, {item.replayed} is decided"
    return (
        f"event {item.seq}: {item.field} was recorded as {_short(item.recorded)}, "
        f"is decided as {_short(item.replayed)}"
    )


def _short(value: Any) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= LONGEST else text[:LONGEST] + "..."
