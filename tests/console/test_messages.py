"""Messages about manifests are said in the reader's language, without a change to what they say."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import translation

from scheduling.wording import messages
from tests.console.support import RACK, dump, gang, node, text

VALUES = {"number": "7", "need": "8", "most": "9"}


def made(sentence: str) -> str:
    """The sentence as it is made, with values that are odd but possible."""
    return re.sub(r"%\((\w+)\)s", lambda found: VALUES.get(found[1], "'a (b) %s'"), sentence)


@pytest.mark.parametrize("sentence", messages.SENTENCES)
@pytest.mark.parametrize("place", ["", " (document 2)", " (document 2, line 5)"])
def test_a_message_is_the_same_in_english_and_another_in_japanese(sentence: str, place: str) -> None:
    message = made(sentence) + place

    with translation.override("en"):
        assert messages.translated(message) == message
    with translation.override("ja"):
        said = messages.translated(message)
    assert said != message and re.search("[ぁ-ん]", said)
    for value in re.findall(r"'a \(b\) %s'|\b[789]\b", made(sentence)):
        assert value in said
    assert not place or "document" not in said


def test_a_message_that_is_not_known_stays_as_it_is() -> None:
    with translation.override("ja"):
        assert messages.translated("something else 3%") == "something else 3%"


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_preview_of_an_import_speaks_the_readers_language(language: str, operator: Client) -> None:
    def broken(name: str, part: str, value: Any) -> dict[str, Any]:
        made = node(name, "r1")
        made["status"]["allocatable" if part == "allocatable" else "conditions"] = value
        return made

    labelled = node("n4", "r1")
    labelled["metadata"]["labels"]["a"] = True
    group, pod = gang("job", 1)
    group["spec"]["schedulingPolicy"] = {"gang": {"minCount": 0}}
    data = dump(
        node("n1", "r1"), node("n2", None), node("n3", None), labelled, group, *gang("ok", 1),
        broken("n5", "allocatable", {"cpu": "lots"}), broken("n6", "allocatable", {"cpu": "-1"}),
        broken("n7", "allocatable", []), pod,
    )  # fmt: skip

    page = operator.post(
        "/clusters/import/",
        {"name": "new", "mode": "simulated", "text": data.decode(), "action": "preview"},
        headers={"accept-language": language},
    )

    said = text(page)
    for english in (
        "must be given and at least 1",
        "must be a string, but is the truth value true",
        "must be a quantity such as",
        "must not be negative",
        "must be an object, not",
        f"2 nodes have no label {RACK}",
    ):
        assert (english in said) is (language == "en"), said[max(0, said.find(english) - 80) :][:300]
