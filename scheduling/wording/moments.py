"""Why a text names no moment of a cluster's history, in the reader's language."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from scheduling.selectors.moments import BadMoment, Fault
from scheduling.wording import units

_SENTENCES: dict[Fault, Any] = {
    Fault.UNREADABLE: _(
        "“%(text)s” is neither the number of an event nor a time such as 2026-11-29T16:24:07+09:00."
    ),
    Fault.AFTER_HEAD: _("%(text)s lies after the head of the log, event %(head)s."),
    Fault.BEFORE_FIRST: _("%(text)s lies before the first event of the log."),
    Fault.BEFORE_TABLE: _("%(text)s lies before the oldest event that is in the table of events."),
    Fault.FUTURE: _("%(text)s lies in the future."),
    Fault.NOT_KEPT: _("Event %(text)s is not in the table of events."),
    Fault.ARCHIVED: _("%(text)s lies among archived events, which are in the file %(file)s."),
}


def sentence(error: BadMoment) -> str:
    """What is wrong with the moment, in one sentence."""
    return str(_SENTENCES[error.fault]) % {
        "text": error.text,
        "head": units.count(error.head),
        "file": error.file,
    }
