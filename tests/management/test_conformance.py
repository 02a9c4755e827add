"""`manage.py conformance` says in plain words which file it cannot read, and where."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.core.management import CommandError, call_command


def refusal(path: Path) -> str:
    with pytest.raises(CommandError) as error:
        call_command("conformance", path)
    return str(error.value)


def test_a_broken_line_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('\n{"name": "x", "stages": [}\n')
    assert refusal(path) == f"{path}, line 2, column 26: this is not JSON (Expecting value)"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("[]", "a case is a JSON object, this is a list"),
        ("3", "a case is a JSON object, this is a number"),
        ('{"name": "x"}', "the case has no stages"),
        ('{"stages": []}', "the case has no name"),
        ('{"name": "x", "stages": 3}', "stages must be a list of objects"),
        ('{"name": "x", "stages": ["a"]}', "stages must be a list of objects"),
    ],
)
def test_what_is_no_case_is_told_with_what_is_missing(line: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(line)
    assert refusal(path) == f"{path}, line 1: {what}"


def test_a_binary_file_is_told_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b"\x1f\x8b\x08\x00")
    assert refusal(path) == f"{path}: this is not UTF-8 text"


def test_a_file_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    assert refusal(path) == f"{path}: No such file or directory"
