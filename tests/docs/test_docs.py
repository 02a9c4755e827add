"""The documentation names everything there is: events, verdicts, reasons, commands, settings, links."""

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

from scheduling.engine.eligibility import BAR_CODE
from scheduling.engine.model import TAS_GATES
from scheduling.engine.reasons import MEANINGS, Reason, Verdict
from scheduling.ledger.events import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXT = {page.name: page.read_text() for page in PAGES}


def rows(page: str, first: str) -> dict[str, list[str]]:
    """Rows, by the code in their first cell, of the tables of a page that are headed by ``first``."""
    found: dict[str, list[str]] = {}
    inside = False
    for line in TEXT[page].splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif cells[0].strip("| ") == first:
            inside = True
        elif inside and (match := re.fullmatch(r"\|?\s*`(\w+)`", cells[0])):
            found[match[1]] = [cell.strip(" |") for cell in cells[1:]]
    return found


def test_every_event_is_listed_with_its_subject_and_no_other() -> None:
    listed = {name: cells[0] for name, cells in rows("architecture.md", "event").items()}
    assert listed == {name: kind.SUBJECT for name, kind in CATALOGUE.items()}


def test_every_reason_is_listed_as_the_engine_means_it() -> None:
    listed = rows("concepts.md", "reason")
    assert listed == {str(code): [MEANINGS[code].means, MEANINGS[code].lifted_by] for code in Reason}


def test_every_cause_but_room_is_listed_and_no_other() -> None:
    assert rows("concepts.md", "cause").keys() == set(BAR_CODE.values())


def test_every_verdict_is_listed_and_no_other() -> None:
    assert rows("concepts.md", "verdict").keys() == set(map(str, Verdict))


def test_every_gate_is_named() -> None:
    assert [gate for gate in TAS_GATES if f"`{gate}`" not in TEXT["concepts.md"]] == []


def own_commands() -> list[str]:
    return sorted(name for name, app in get_commands().items() if app in ("scheduling", "tasweb"))


def test_every_management_command_is_in_the_page_of_the_command_line() -> None:
    assert [name for name in own_commands() if f"`{name}" not in TEXT["cli.md"]] == []


def test_every_command_that_the_pages_show_exists() -> None:
    shown = {name for text in TEXT.values() for name in re.findall(r"manage\.py ([a-z_]+)", text)}
    assert shown - set(get_commands()) == set()


@pytest.mark.parametrize("command", ["up", "test"])
def test_the_readme_starts_with_the_two_commands(command: str) -> None:
    assert re.search(rf"^    python3 manage\.py {command}$", TEXT["README.md"], re.MULTILINE)


BETWEEN_OUR_OWN = {"TAS_READY_FILE", "TAS_THROWAWAY"}
"""What our own processes tell each other: nobody sets these by hand."""


def settings_read() -> set[str]:
    """Environment variables: what the settings read, and everything of ours that the project's code names."""
    text = (ROOT / "tasweb" / "settings.py").read_text()
    names = set(re.findall(r"env(?:\.\w+)?\(\s*\"([A-Z_]+)\"", text))
    for file in (ROOT / "tasweb").rglob("*.py"):
        names |= set(re.findall(r"\"(TAS_[A-Z_]+)\"", file.read_text()))
    return names - BETWEEN_OUR_OWN


def test_every_setting_is_documented() -> None:
    assert settings_read() >= {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "TAS_CHROMIUM", "TAS_HTTPS"}
    everything = "\n".join(TEXT.values())
    assert sorted(name for name in settings_read() if f"`{name}" not in everything) == []


def test_every_page_is_in_the_index() -> None:
    pages = {page.name for page in PAGES} - {"README.md", "index.md"}
    assert [name for name in sorted(pages) if f"({name})" not in TEXT["index.md"]] == []


def anchors(text: str) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_picture_leads_to_a_file_and_a_heading(page: Path) -> None:
    text = page.read_text()
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|srcset)="([^"]+)"', text)
    for target in targets:
        if re.match(r"https?://", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        assert file.exists(), f"{page.name} leads to {target}, which is not there"
        if anchor:
            assert anchor in anchors(file.read_text()), (
                f"{page.name} leads to {target}, which has no such heading"
            )
