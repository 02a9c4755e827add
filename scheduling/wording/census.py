"""Where the nodes are: each of them in one row, from codes and numbers alone."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext, pgettext

from scheduling.engine.census import USABLE, Census
from scheduling.wording import units, words


@dataclass(frozen=True, slots=True)
class Row:
    """``what``: of the nodes; ``nodes``: how many; ``more``: of what sorts, "" when that is plain."""

    what: str
    nodes: int
    more: str


def rows(census: Census) -> list[Row]:
    """The rows that have nodes; together they are all nodes."""
    partly = sum(nodes for _, nodes in census.partly)
    every = [
        Row(gettext("room for a member"), census.takes, ""),
        Row(gettext("some of what a member asks for is free"), partly, _lacks(census)),
        Row(gettext("nothing of what a member asks for is free"), census.full, ""),
        Row(gettext("members may not use them"), _sum(census.barred), _listed(census.barred)),
        Row(gettext("no label: in no domain"), _sum(census.unlabelled), _listed(census.unlabelled)),
        Row(gettext("outside the domain that bound members pin"), census.elsewhere, ""),
    ]
    return [row for row in every if row.nodes]


def _sum(pairs: tuple[tuple[str, int], ...]) -> int:
    return sum(nodes for _, nodes in pairs)


def _listed(pairs: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{_code(code)}: {units.count(nodes)}" for code, nodes in pairs)


def _code(code: str) -> str:
    return pgettext("node", "usable otherwise") if code == USABLE else words.word(words.REASONS, code)


def _lacks(census: Census) -> str:
    return ", ".join(
        gettext("too little %(resources)s: %(nodes)s")
        % {"resources": " + ".join(lacks), "nodes": units.count(nodes)}
        for lacks, nodes in census.partly
    )
