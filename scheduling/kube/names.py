"""What Kubernetes accepts as a name, a label key and a label value.

Each function returns "" for a good text and else a clause that says what is wrong (rules of
``apimachinery/pkg/util/validation``). All of them take ASCII only.
"""

from __future__ import annotations

import re
from functools import lru_cache

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_QUALIFIED = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


def dns_label_problem(text: str) -> str:
    """For namespaces and template names: at most 63 of ``a-z 0-9 -``, a letter or digit at both ends."""
    if len(text) > 63:
        return "must have at most 63 characters"
    if not _LABEL.fullmatch(text):
        return "must consist of lower-case letters, digits and '-', with a letter or digit at both ends"
    return ""


@lru_cache(maxsize=4096)
def dns_subdomain_problem(text: str) -> str:
    """For object names: at most 253 characters, DNS labels joined by dots."""
    if len(text) > 253:
        return "must have at most 253 characters"
    if not _SUBDOMAIN.fullmatch(text):
        return (
            "must consist of lower-case letters, digits, '-' and '.', a letter or digit at each part's ends"
        )
    return ""


@lru_cache(maxsize=4096)
def label_key_problem(text: str) -> str:
    """For label, taint and topology keys and resource names: ``[prefix/]name``."""
    prefix, slash, name = text.rpartition("/")
    if slash:
        if not prefix:
            return "must not have an empty prefix before '/'"
        if problem := dns_subdomain_problem(prefix):
            return f"has a prefix that {problem}"
    if not name:
        return "must not have an empty name"
    if len(name) > 63:
        return "must have a name of at most 63 characters"
    if not _QUALIFIED.fullmatch(name):
        return "must have a name of letters, digits, '-', '_' and '.', with a letter or digit at both ends"
    return ""


@lru_cache(maxsize=16384)
def label_value_problem(text: str) -> str:
    """For label and taint values: empty, or at most 63 of letters, digits, ``-``, ``_``, ``.``."""
    if len(text) > 63:
        return "must have at most 63 characters"
    if text and not _QUALIFIED.fullmatch(text):
        return "must consist of letters, digits, '-', '_' and '.', with a letter or digit at both ends"
    return ""
