"""What kube-scheduler would do beside what this console does: misses, ties and luck, in sentences."""

from __future__ import annotations

from django.utils.translation import gettext, ngettext

from scheduling.engine.profiles.compare import Comparison
from scheduling.engine.reasons import Verdict
from scheduling.wording import units, words
from scheduling.wording.decisions import Sentences

_NAMED = 6
"""So many equal domains are named."""


def release(profile: str) -> str:
    """``upstream-1.36`` is kube-scheduler 1.36."""
    return f"kube-scheduler {profile.removeprefix('upstream-')}"


def sentences(found: Comparison) -> Sentences:
    """The headline, then ties and luck."""
    exact, upstream = found.exact, found.upstream
    scope_key = upstream.topology_key if upstream.enforced else ""
    k, n = upstream.luck
    values = {
        "release": release(upstream.profile),
        "kind": words.domain_kind(scope_key),
        "ours": words.domain_name(scope_key, exact.domain),
        "theirs": words.domain_name(scope_key, upstream.domain),
        "placed": units.count(upstream.fits),
        "k": units.count(k),
        "n": units.count(n),
        "ties": units.count(len(upstream.ties)),
        "names": ", ".join(words.domain_name(scope_key, name) for name in upstream.ties[:_NAMED])
        + (" …" if len(upstream.ties) > _NAMED else ""),
    }
    return Sentences(_headline(found) % values, _details(found, values))


def _headline(found: Comparison) -> str:
    exact, upstream = found.exact, found.upstream
    if found.misses and upstream.depends_on_ties:
        return gettext("%(release)s would place this with some rolls and miss it with others.")
    if found.misses:
        return gettext("%(release)s would miss this: it finds no place where %(ours)s has one.")
    if exact.verdict == Verdict.PLACED and not exact.assignments:
        return gettext("All members are on nodes: there is nothing to place.")
    if not upstream.assignments:
        return gettext("%(release)s would not place it either.")
    if exact.verdict in (Verdict.HELD, Verdict.CONFLICTED):  # not evaluated: no place was looked for
        return gettext("%(release)s would place it in %(theirs)s; this console looked for no place.")
    if not exact.assignments:
        return gettext("%(release)s would place it in %(theirs)s, where this console found no place.")
    if found.agree and len(upstream.ties) < 2:
        return gettext("%(release)s would place it in %(theirs)s too.")
    if found.agree:
        return gettext("%(release)s might place it in %(ours)s too, by chance.")
    return gettext("%(release)s would place it in %(theirs)s; this console chooses %(ours)s.")


def _details(found: Comparison, values: dict[str, str]) -> tuple[str, ...]:
    upstream = found.upstream
    said = []
    k, n = upstream.luck
    if n and k < n:
        said.append(
            gettext("Ways to roll that were tried: %(n)s. With %(k)s of them it places the group.") % values
        )
    if len(upstream.ties) > 1:
        said.append(gettext("By chance: %(theirs)s is 1 of %(ties)s equal ones: %(names)s.") % values)
    if upstream.assignments and upstream.fits != found.exact.fits:
        said.append(
            ngettext("It would place %(placed)s member.", "It would place %(placed)s members.", upstream.fits)
            % values
        )
    if found.unaware:
        said.append(gettext("It knows of no reservation and no queue, and leaves them out."))
    return tuple(said)
