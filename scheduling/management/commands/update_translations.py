"""`manage.py update_translations`: bring locale/*/LC_MESSAGES/django.po in line with the sources, without
gettext tools.

Messages are found by Babel in Python and, after Django has turned them into calls, in templates.
Translations are
kept, new messages come in empty, and what nobody uses any more goes.
"""

from __future__ import annotations

import io
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_python
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.core.management.base import BaseCommand
from django.utils.translation.template import templatize

KEYWORDS: dict[str, Any] = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
FOLDERS = ("scheduling", "tasweb")

Found = tuple[str | tuple[str, str], str | None, str, int]
"""Message id (or singular and plural), context, file, line."""


def _python_of(path: Path) -> str:
    """The source of a Python file, or the calls that a template stands for."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return source
    # Left-over blanks at the start of lines would be indentation to Python's tokenizer.
    return "\n".join(line.lstrip() for line in templatize(source, origin=str(path)).splitlines())


def messages(root: Path) -> Iterator[Found]:
    """Every message of the sources, in the order of files and lines."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".py", ".html", ".txt") or "migrations" in path.parts:
                continue
            name = path.relative_to(root).as_posix()
            stream = io.BytesIO(_python_of(path).encode())
            for line, keyword_found, found, _comments in extract_python(stream, KEYWORDS, [], {}):
                function = str(keyword_found)
                if found is None:
                    continue  # its argument is no literal: the sentences are marked where they stand
                parts = [found] if isinstance(found, str) else list(found)
                keyword = KEYWORDS[function]
                context = parts.pop(0) if keyword and isinstance(keyword[0], tuple) else None
                wanted = 2 if function.removesuffix("_lazy").endswith("ngettext") else 1
                if len(parts) < wanted or any(not isinstance(part, str) for part in parts[:wanted]):
                    continue
                yield (parts[0] if wanted == 1 else (parts[0], parts[1])), context, name, line


def catalogue(root: Path) -> Catalog:
    """All messages, with the files they are in."""
    found = Catalog(charset="utf-8")
    for message, context, name, _line in messages(root):
        found.add(message, locations=[(name, 0)], context=context)
    return found


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="change nothing; fail when something is missing"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        root = Path(settings.BASE_DIR)
        current = catalogue(root)
        missing = 0
        for path in sorted(root.glob("locale/*/LC_MESSAGES/django.po")):
            with path.open("rb") as stream:
                known = read_po(stream, locale=path.parts[-3])
            known.update(current, no_fuzzy_matching=True)
            known.obsolete.clear()
            empty = [message for message in known if message.id and not all(_strings(message))]
            missing += len(empty)
            for message in empty:
                self.stdout.write(f"{path.parts[-3]}: no translation of {message.id!r}")
            if not options["check"]:
                with path.open("wb") as stream:
                    write_po(
                        stream, known, width=110, omit_header=False, sort_output=True, include_lineno=False
                    )
        if options["check"] and missing:
            raise SystemExit(1)


def _strings(message: Any) -> list[str]:
    # A message that is new has no strings at all yet.
    return [message.string] if isinstance(message.string, str) else list(message.string or ("",))
