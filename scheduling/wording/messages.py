"""The most common messages about manifests in the reader's language.

They are made as English sentences where manifests are read (kube, services), with values in them. Here is
each of these sentences with names in the place of its values; one that fits none is shown as it was made.
"""

from __future__ import annotations

import re

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

SENTENCES = (
    _("must be given and at least 1"),
    _("%(number)s is less than 1"),
    _("must be an object, not %(value)s"),
    _("must be a list, not %(value)s"),
    _("must be a string, but is the truth value %(value)s; put it in quotes"),
    _("must be a string, but is the number %(value)s; put it in quotes"),
    _("must be true or false, not %(value)s"),
    _("must be a whole number, not %(value)s"),
    _("must have exactly one of basic and gang, not none"),
    _("must have exactly one of basic and gang, not basic and gang"),
    _("must have at most 1 entry, not %(number)s"),
    _("must fit 32 bits"),
    _("field is immutable: %(change)s is another PodGroup"),
    _("there is no PodGroup, Pod or Workload in it"),
    _("only members of a PodGroup are scheduled here"),
    _("the node is the scheduler's to choose"),
    _("a submission holds PodGroups and Pods; nodes are imported"),
    _("is missing: no pod fits this node"),
    _("%(number)s members: at most %(most)s in one form"),
    _("minCount %(need)s is more than the %(number)s members: it would be held for ever"),
    _("with several kinds of members each needs a role"),
    _("PodGroup %(key)s is open: end it first, or take another name"),
    _("Pod %(key)s exists already"),
    _("1 node has no label %(key)s and belong to none of its domains: %(names)s"),
    _("%(number)s nodes have no label %(key)s and belong to none of its domains: %(names)s"),
    _("the value %(value)s of %(key)s spans %(number)s zones, yet it is one domain"),
    _("%(value)s has characters that cannot be printed"),
    _("%(value)s must be a quantity such as 500m or 2Gi"),
    _("%(value)s must not be negative"),
    _("%(value)s must have at most 63 characters"),
    _("%(value)s must consist of lower-case letters, digits and '-', with a letter or digit at both ends"),
    _("%(value)s must consist of letters, digits, '-', '_' and '.', with a letter or digit at both ends"),
    _("%(value)s is not one of %(values)s"),
    _("the deadline must be in the future"),
    _("the group does not wait: it has minCount members on nodes, or they have finished"),
    _("an observed cluster is only read: no group of it is closed here"),
    _("must be more than 0 and at most %(number)s days"),
    _("minCount may be lowered from %(need)s only where the group is marked elastic"),
    _("a group of the basic policy has no minCount"),
    _("must have at most %(most)s characters"),
    _("a NUMA zone is a part of its node: cordon the node"),
    _("no node carries %(label)s"),
    _("%(label)s is not marked lost"),
)

_PLACE = re.compile(r"(?P<text>.*) \(document (?P<document>\d+)(?:, line (?P<line>\d+))?\)", re.S)
_NAME = re.compile(r"%\((\w+)\)s")


def _pattern(sentence: str) -> re.Pattern[str]:
    """Numbers are matched as numbers, so that a sentence about one is never taken for one about a text."""
    parts = _NAME.split(sentence)
    numbers = {"number", "need", "most"}
    return re.compile(
        "".join(
            (rf"(?P<{part}>-?\d+)" if part in numbers else f"(?P<{part}>.+)")
            if place % 2
            else re.escape(part)
            for place, part in enumerate(parts)
        ),
        re.S,
    )


_PATTERNS = tuple((sentence, _pattern(sentence)) for sentence in SENTENCES)


def translated(message: str) -> str:
    """The message in the reader's language, with its place in the input; itself when it is none of these."""
    place = _PLACE.fullmatch(message)
    if place is None:
        return _sentence(message)
    values = place.groupdict()
    where = (
        gettext("document %(document)s, line %(line)s")
        if values["line"]
        else gettext("document %(document)s")
    )
    return f"{_sentence(values['text'])} ({where % values})"


def _sentence(message: str) -> str:
    for sentence, pattern in _PATTERNS:
        if found := pattern.fullmatch(message):
            return gettext(sentence) % found.groupdict()
    return message
