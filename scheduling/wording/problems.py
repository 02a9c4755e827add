"""What is wrong with an input: the field, the reason code in words, and the message of the one who
refused.
"""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

from scheduling.wording import messages, words


def sentence(problem: Any) -> str:
    """A problem of an import or a form: reason and message in the reader's language (``messages``), with its
    field.
    """
    values = {
        "path": problem.path,
        "why": words.word(words.PROBLEMS, problem.reason),
        "message": messages.translated(problem.message),
    }
    if problem.path and problem.message:
        return gettext("%(path)s: %(why)s. %(message)s") % values
    if problem.path:
        return gettext("%(path)s: %(why)s.") % values
    return gettext("%(why)s. %(message)s") % values if problem.message else f"{values['why']}."


def notice(problem: Any) -> str:
    """What is worth knowing of something that was taken, with the object it is about."""
    return f"{subject(problem)}: {messages.translated(problem.message)}."


def subject(problem: Any) -> str:
    """The object a problem is about, as ``kind namespace/name``."""
    name = f"{problem.namespace}/{problem.name}" if problem.namespace else problem.name
    return " ".join(part for part in (problem.kind, name) if part)


def came_first(first: Any) -> str:
    """The event of another command or decision that came first, for a link to it."""
    values = {"actor": first.actor, "event": words.word(words.EVENT_TYPES, first.type), "seq": first.seq}
    return gettext("%(actor)s came first (%(event)s): event %(seq)s") % values


def reason(problem: Any) -> str:
    """The reason alone, for a message that stands at its field already."""
    return f"{words.word(words.PROBLEMS, problem.reason)}." if problem.reason else ""
