"""How far a long command is: a bar on a terminal, and lines where there is none, if they are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import click

LINE_EVERY = 100_000
"""Events between two lines."""


class Advance(Protocol):
    """Called with how many more were done."""

    def __call__(self, number: int, /) -> None: ...


@contextmanager
def progress(stream: Any, label: str, total: int, *, lines: bool = False) -> Iterator[Advance]:
    """``stream``: the command's stderr, so that what it prints on stdout stays as it is."""
    if stream.isatty():
        with click.progressbar(length=total, label=label, file=stream, show_pos=True) as bar:
            yield bar.update
        return
    done = 0

    def say(number: int) -> None:
        nonlocal done
        before, done = done, done + number
        if lines and done // LINE_EVERY > before // LINE_EVERY:
            stream.write(f"{label}: {done} of {max(total, done)} events\n")

    yield say
