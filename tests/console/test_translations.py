"""The Japanese catalogue is complete, and says the same things with the same placeholders."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from django.conf import settings
from django.core.management import call_command

from scheduling.management.commands.update_translations import catalogue, messages

ROOT = Path(settings.BASE_DIR)
PLACEHOLDER = re.compile(r"%\((\w+)\)s|\{(\w+)\}")
ENGLISH_ALIKE = {
    *("PodGroup", "PodGroups", "PodGroup %(group)s: %(what)s", "GPUs", "pod", "pods", "Pod", "Workload"),
    *("gang", "basic", "ready", "host ports", "Taints", "{node} {state}", "TAS", "upstream"),
}
"""Messages whose translation is a name of Kubernetes, a term of both languages, or has no words."""


@pytest.fixture(scope="module")
def japanese() -> Catalog:
    with (ROOT / "locale" / "ja" / "LC_MESSAGES" / "django.po").open("rb") as stream:
        return read_po(stream, locale="ja", abort_invalid=True)


def identity(message: object) -> tuple[object, object]:
    return message.context, message.id  # type: ignore[attr-defined]


def test_the_catalogue_holds_every_message_of_the_sources_and_no_other(japanese: Catalog) -> None:
    in_sources = {identity(message) for message in catalogue(ROOT) if message.id}
    translated = {identity(message) for message in japanese if message.id}

    assert in_sources - translated == set()
    assert translated - in_sources == set()


def test_nothing_is_untranslated_or_fuzzy(japanese: Catalog) -> None:
    empty = [
        message.id
        for message in japanese
        if message.id and not all([message.string] if isinstance(message.string, str) else message.string)
    ]

    assert empty == []
    assert [message.id for message in japanese if message.fuzzy and message.id] == []


def test_placeholders_are_the_same_in_both_languages(japanese: Catalog) -> None:
    def names(texts: object) -> set[str]:
        parts = [texts] if isinstance(texts, str) else list(texts)  # type: ignore[call-overload]
        return {first or second for part in parts for first, second in PLACEHOLDER.findall(part)}

    different = [
        message.id for message in japanese if message.id and names(message.id) != names(message.string)
    ]

    assert different == []


def test_what_should_read_japanese_does(japanese: Catalog) -> None:
    kana_or_kanji = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")
    english = [
        message.id
        for message in japanese
        if message.id
        and not kana_or_kanji.search("".join(message.string))
        and re.search(r"[A-Za-z]", PLACEHOLDER.sub("", "".join(message.id)))
    ]

    assert set(english) <= ENGLISH_ALIKE


@pytest.mark.parametrize(
    "term",
    [
        "トポロジードメイン",
        "同一ドメイン",
        "ドメイン固定の待機",
        "世代",
        "候補配置",
        "スケジュール不可",
        "フィーチャーゲート",
    ],
)
def test_the_terms_of_the_trade_are_used(term: str, japanese: Catalog) -> None:
    assert any(term in "".join(message.string) for message in japanese if message.id)


def test_templates_and_python_are_both_read() -> None:
    files = {name for _message, _context, name, _line in messages(ROOT)}

    assert "scheduling/templates/scheduling/pending.html" in files
    assert "scheduling/wording/decisions.py" in files


def test_the_check_of_the_command_passes() -> None:
    call_command("update_translations", "--check")
