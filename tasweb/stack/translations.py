"""Compiles message catalogues with Babel, so that no gettext tools have to be installed."""

from pathlib import Path

from babel.messages.mofile import write_mo
from babel.messages.pofile import PoFileError, read_po

from tasweb.stack import StackError


def compile_catalogues(locale: Path) -> int:
    """Write each ``.mo`` that is missing or older than its ``.po``; returns how many. StackError names a
    broken one."""
    compiled = 0
    for source in sorted(locale.glob("*/LC_MESSAGES/*.po")):
        target = source.with_suffix(".mo")
        if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
            continue
        try:
            with source.open("rb") as text:
                catalogue = read_po(text, abort_invalid=True)
        except PoFileError as error:
            raise StackError(f"{source.relative_to(locale.parent)} is no valid catalogue: {error}") from error
        unfinished = target.with_suffix(".mo.new")
        with unfinished.open("wb") as binary:
            write_mo(binary, catalogue)
        unfinished.rename(target)
        compiled += 1
    return compiled
