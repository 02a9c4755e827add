"""What a verb of a family is made of, and what several of them share."""

from __future__ import annotations

import argparse
import getpass
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from django.core.management.base import CommandError, OutputWrapper
from ninja import Schema

from scheduling.api.commands import outcome
from scheduling.services.execute import Outcome


class Printer(Protocol):
    """``json``: programs read it. ``stdout`` takes lines."""

    json: bool
    stdout: OutputWrapper

    def document(self, found: Schema) -> None: ...

    def table(self, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None: ...


@dataclass(frozen=True, slots=True)
class Verb:
    """``run`` gets what was asked for with ``cluster`` and ``printer``; it raises Refused and Http404."""

    help: str
    run: Callable[..., None]
    arguments: Callable[[argparse.ArgumentParser], Any] = lambda parser: None


@dataclass(frozen=True, slots=True)
class Family:
    help: str
    verbs: dict[str, Verb]


def actor() -> str:
    return f"cli:{getpass.getuser()}"


def within(least: int, most: int) -> Callable[[str], int]:
    """The type of an option: a whole number of that range."""

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is no whole number") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"{value} is not from {least} to {most}")
        return value

    return number


def done(printer: Printer, what: Outcome) -> None:
    """The events of a command, and what it told beside."""
    answer = outcome(what)
    if printer.json:
        return printer.document(answer)
    if not answer.events:
        printer.stdout.write("Nothing to do: it is so already.")
    else:
        printer.table(("seq", "event"), [(event.seq, event.type) for event in answer.events])
    for notice in what.notices:
        printer.stdout.write(f"- {notice}")


def group(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("podgroup", metavar="NAMESPACE/NAME")


def parts(podgroup: str) -> tuple[str, str]:
    """Namespace and name."""
    namespace, slash, name = podgroup.partition("/")
    if not slash or not namespace or not name:
        raise CommandError(f"{podgroup!r}: name the PodGroup as NAMESPACE/NAME.")
    return namespace, name


def pair(text: str) -> tuple[str, str]:
    """The type of an option: ``NAME=VALUE``."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value
