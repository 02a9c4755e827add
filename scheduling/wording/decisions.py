"""What a decision says, in sentences: the headline first, then what stands behind it. Claims no more than
it does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import get_language, gettext, ngettext

from scheduling.engine.decision import Decision
from scheduling.engine.numa_names import NUMA_KEY
from scheduling.engine.queues import QuotaCount
from scheduling.engine.reasons import Reason, Verdict
from scheduling.wording import units, words


@dataclass(frozen=True, slots=True)
class Facts:
    """The codes and numbers that a sentence is made of.

    ``fits``: members that fit in ``domain``, those bound there included. ``enforced``: whether the one-domain
    law held. ``forecast``: of an observed cluster. ``planned``: decided, but in no log: nothing is placed
    yet. ``domain``: "" is a label value like any other, None is not known. ``beside``: others' forecasts of
    the same cycle count as room taken. ``quota``: with the reason ``quota``, where the numbers are known.
    """

    verdict: str
    reason: str
    topology_key: str
    enforced: bool
    domain: str | None
    need: int
    members: int
    bound: int
    fits: int
    short_of: tuple[tuple[str, int], ...] = ()
    fits_across_domains: bool = False
    unmodelled: tuple[str, ...] = ()
    forecast: bool = False
    planned: bool = False
    beside: bool = False
    quota: QuotaCount | None = None

    @property
    def scope_key(self) -> str:
        """The key whose domains were looked at: none when the constraint is absent or not enforced."""
        return self.topology_key if self.enforced else ""


@dataclass(frozen=True, slots=True)
class Sentences:
    headline: str
    details: tuple[str, ...]

    def __str__(self) -> str:
        return joined((self.headline, *self.details))


def joined(sentences: Iterable[str]) -> str:
    """Sentences one after the other; Japanese sets no space after a full stop."""
    return ("" if (get_language() or "").startswith("ja") else " ").join(sentences)


def facts_of_decision(decision: Decision) -> Facts:
    """What a live decision says, about its chosen, pinned or best domain."""
    best = decision.domains[0] if decision.domains else None
    return Facts(
        verdict=str(decision.verdict),
        reason=str(decision.reason),
        topology_key=decision.topology_key,
        enforced=decision.enforced,
        domain=decision.domain if decision.domain or decision.placed else best.domain if best else None,
        need=decision.need,
        members=decision.members,
        bound=decision.bound,
        fits=decision.fits,
        short_of=best.short_of if best and not decision.placed else (),
        fits_across_domains=decision.fits_across_domains,
        unmodelled=decision.unmodelled,
        planned=bool(decision.assignments),
        quota=decision.quota,
    )


def facts_of_result(found: Mapping[str, Any]) -> Facts:
    """Of the ``facts`` in the result of a scenario."""
    quota = found["quota"]
    return Facts(
        **{
            **found,
            "short_of": tuple((resource, amount) for resource, amount in found["short_of"]),
            "unmodelled": tuple(found["unmodelled"]),
            "quota": QuotaCount(**quota) if quota else None,
        }
    )


def _placed(facts: Facts) -> Sentences:
    values = {
        "fits": units.count(facts.fits),
        "members": units.count(facts.members),
        "need": units.count(facts.need),
        "kind": words.domain_kind(facts.scope_key),
        "domain": words.domain_name(facts.scope_key, facts.domain or ""),
    }
    in_domain = facts.scope_key != "" and facts.domain is not None
    if facts.forecast and in_domain:
        headline = ngettext(
            "Our cycle would place %(fits)s of %(members)s member in %(kind)s %(domain)s; nothing was bound.",
            "Our cycle would place %(fits)s of %(members)s members in %(kind)s %(domain)s; nothing was "
            "bound.",
            facts.members,
        )
    elif facts.forecast:
        headline = ngettext(
            "Our cycle would place %(fits)s of %(members)s member; nothing was bound.",
            "Our cycle would place %(fits)s of %(members)s members; nothing was bound.",
            facts.members,
        )
    elif facts.planned and in_domain:
        headline = ngettext(
            "%(fits)s of %(members)s member would be in %(kind)s %(domain)s; minCount is %(need)s.",
            "%(fits)s of %(members)s members would be in %(kind)s %(domain)s; minCount is %(need)s.",
            facts.members,
        )
    elif facts.planned:
        headline = ngettext(
            "%(fits)s of %(members)s member would have a node; minCount is %(need)s.",
            "%(fits)s of %(members)s members would have a node; minCount is %(need)s.",
            facts.members,
        )
    elif in_domain:
        headline = ngettext(
            "%(fits)s of %(members)s member is in %(kind)s %(domain)s; minCount is %(need)s.",
            "%(fits)s of %(members)s members are in %(kind)s %(domain)s; minCount is %(need)s.",
            facts.members,
        )
    else:
        headline = ngettext(
            "%(fits)s of %(members)s member has a node; minCount is %(need)s.",
            "%(fits)s of %(members)s members have a node; minCount is %(need)s.",
            facts.members,
        )
    return Sentences(headline % values, _law(facts))


def _law(facts: Facts) -> tuple[str, ...]:
    """What must stand beside every constrained group whose constraint was not enforced."""
    if facts.topology_key and not facts.enforced:
        return (gettext("The topology constraint was not enforced: TAS is off."),)
    return ()


def _best(facts: Facts) -> list[str]:
    """The domain that comes closest, and what it lacks."""
    values = {
        "domain": words.domain_name(facts.scope_key, facts.domain or ""),
        "fits": units.count(facts.fits),
        "need": units.count(facts.need),
        "short": units.quantities(facts.short_of),
    }
    if not facts.scope_key:
        if facts.short_of:
            return [gettext("%(fits)s of %(need)s fit; short of %(short)s.") % values]
        return [gettext("%(fits)s of %(need)s fit.") % values]
    if facts.domain is None:
        return []
    if facts.short_of:
        return [gettext("Best is %(domain)s with %(fits)s of %(need)s; short of %(short)s.") % values]
    return [gettext("Best is %(domain)s with %(fits)s of %(need)s.") % values]


def _cannot(facts: Facts, never: bool) -> str:
    """The proof, in the words of the reason: no domain now, or none ever."""
    values = {"kind": words.domain_kind(facts.scope_key), "need": units.count(facts.need)}
    if not facts.scope_key:
        if never:
            return (
                ngettext(
                    "The cluster could not hold %(need)s member even if it were empty.",
                    "The cluster could not hold %(need)s members even if it were empty.",
                    facts.need,
                )
                % values
            )
        if facts.beside:
            return (
                ngettext(
                    "The cluster has no room for %(need)s member beside the other groups that our cycle "
                    "would place.",
                    "The cluster has no room for %(need)s members beside the other groups that our cycle "
                    "would place.",
                    facts.need,
                )
                % values
            )
        return (
            ngettext(
                "The cluster cannot hold %(need)s member now.",
                "The cluster cannot hold %(need)s members now.",
                facts.need,
            )
            % values
        )
    if never:
        return (
            ngettext(
                "No %(kind)s could hold %(need)s member, not even an empty one.",
                "No %(kind)s could hold %(need)s members, not even an empty one.",
                facts.need,
            )
            % values
        )
    if facts.beside:
        return (
            ngettext(
                "No %(kind)s has room for %(need)s member beside the other groups that our cycle would "
                "place.",
                "No %(kind)s has room for %(need)s members beside the other groups that our cycle would "
                "place.",
                facts.need,
            )
            % values
        )
    return (
        ngettext(
            "No %(kind)s can hold %(need)s member now.",
            "No %(kind)s can hold %(need)s members now.",
            facts.need,
        )
        % values
    )


def _infeasible(facts: Facts) -> Sentences:
    values = {
        "key": facts.topology_key,
        "kind": words.domain_kind(facts.scope_key),
        "domain": words.domain_name(facts.scope_key, facts.domain or ""),
        "fits": units.count(facts.fits),
        "need": units.count(facts.need),
        "bound": units.count(facts.bound),
        "members": units.count(facts.members),
        "short": units.quantities(facts.short_of),
    }
    if facts.reason == Reason.NO_SUCH_DOMAIN and facts.topology_key == NUMA_KEY:
        headline = gettext(
            "No node tells its NUMA zones, so there is no domain to place the group in: "
            "import NodeResourceTopology objects."
        )
        return Sentences(headline, _law(facts))
    if facts.reason == Reason.NO_SUCH_DOMAIN:
        headline = gettext(
            "No node carries the topology key %(key)s, so there is no domain to place the group in."
        )
        return Sentences(headline % values, _law(facts))
    if facts.reason == Reason.STICKY_DOMAIN:
        headline = ngettext(
            "%(bound)s bound member pins the group to %(domain)s, which has no room for what is missing.",
            "%(bound)s bound members pin the group to %(domain)s, which has no room for what is missing.",
            facts.bound,
        )
        details = [
            ngettext(
                "It can hold %(fits)s of %(members)s member; minCount is %(need)s.",
                "It can hold %(fits)s of %(members)s members; minCount is %(need)s.",
                facts.members,
            )
            % values
        ]
        if facts.short_of:
            details.append(gettext("Short of %(short)s.") % values)
        details.append(
            gettext("The group waits there: another %(kind)s is not used, even with room.") % values
        )
        return Sentences(headline % values, (*details, *_law(facts)))
    details = []
    if facts.reason not in (Reason.CAPACITY, Reason.NEVER_FITS, ""):
        details.append(words.word(words.REASON_SENTENCES, facts.reason))
    details += _best(facts)
    if facts.scope_key and facts.fits_across_domains:
        details.append(
            gettext("More than one %(kind)s together would do, but the one-domain law forbids it.") % values
        )
    return Sentences(_cannot(facts, facts.reason == Reason.NEVER_FITS), (*details, *_law(facts)))


def _not_found(facts: Facts) -> Sentences:
    values = {
        "kind": words.domain_kind(facts.scope_key),
        "need": units.count(facts.need),
        "unmodelled": words.unmodelled(facts.unmodelled),
    }
    if facts.reason == Reason.UNMODELLED or facts.unmodelled:
        if facts.unmodelled:
            headline = (
                gettext(
                    "The group uses %(unmodelled)s, not modelled here: neither a fit nor a proof is claimed."
                )
                % values
            )
        else:
            headline = words.word(words.REASON_SENTENCES, Reason.UNMODELLED)
        return Sentences(headline, _law(facts))
    if facts.scope_key:
        headline = ngettext(
            "No %(kind)s was found that holds %(need)s member. This is no proof that none does.",
            "No %(kind)s was found that holds %(need)s members. This is no proof that none does.",
            facts.need,
        )
    else:
        headline = ngettext(
            "No place was found for %(need)s member. This is no proof that there is none.",
            "No place was found for %(need)s members. This is no proof that there is none.",
            facts.need,
        )
    why = []
    if facts.reason == Reason.ZONE_USE_UNKNOWN:
        why.append(words.word(words.REASON_SENTENCES, facts.reason))
    return Sentences(headline % values, (*why, *_best(facts), *_law(facts)))


def _held(facts: Facts) -> Sentences:
    values = {"members": units.count(facts.members), "need": units.count(facts.need)}
    if facts.reason == Reason.NOT_ENOUGH_PODS and facts.members >= facts.need:
        # Enough exist and still too few can be placed: only scheduling gates do that.
        headline = (
            ngettext(
                "Not evaluated yet: %(members)s member exists, but it waits behind scheduling gates.",
                "Not evaluated yet: %(members)s members exist, but too many wait behind scheduling gates; "
                "minCount is %(need)s.",
                facts.members,
            )
            % values
        )
    elif facts.reason == Reason.NOT_ENOUGH_PODS:
        headline = (
            ngettext(
                "Not evaluated yet: %(members)s member exists, minCount is %(need)s.",
                "Not evaluated yet: %(members)s members exist, minCount is %(need)s.",
                facts.members,
            )
            % values
        )
    elif facts.reason == Reason.NO_PODGROUP:
        headline = (
            ngettext(
                "Not evaluated yet: %(members)s pod names this PodGroup, which does not exist.",
                "Not evaluated yet: %(members)s pods name this PodGroup, which does not exist.",
                facts.members,
            )
            % values
        )
    elif facts.quota is not None and facts.quota.never:
        values = {
            "queue": facts.quota.queue,
            "quota": units.gpus(facts.quota.quota),
            "asked": units.gpus(facts.quota.own + facts.quota.asked),
        }
        headline = gettext(
            "Not evaluated: the group never fits the quota of queue %(queue)s. Its members for minCount ask "
            "for %(asked)s together, and the whole quota is %(quota)s."
        )
        return Sentences(headline % values, _law(facts))
    elif facts.quota is not None:
        headline = ngettext(
            "Not evaluated: queue %(queue)s uses %(used)s of its %(quota)s GPU, and the missing members ask "
            "for %(asked)s. Whether some domain has room is not asked.",
            "Not evaluated: queue %(queue)s uses %(used)s of its %(quota)s GPUs, and the missing members ask "
            "for %(asked)s. Whether some domain has room is not asked.",
            facts.quota.quota,
        ) % {
            "queue": facts.quota.queue,
            "used": units.count(facts.quota.used),
            "quota": units.count(facts.quota.quota),
            "asked": units.count(facts.quota.asked),
        }
    else:
        headline = gettext("Not evaluated: %(why)s") % {
            "why": words.word(words.REASON_SENTENCES, facts.reason)
        }
    return Sentences(headline, _law(facts))


def _conflicted(facts: Facts) -> Sentences:
    headline = words.word(words.REASON_SENTENCES, facts.reason)
    if facts.reason == Reason.DOMAIN_LOST and facts.topology_key == NUMA_KEY:
        headline = gettext(
            "The NUMA zone of a bound member is not known: it was not placed in one here, or its node no "
            "longer tells of it."
        )
    elif facts.reason == Reason.DOMAIN_LOST and not facts.bound:
        headline = gettext(
            "The domain of its lost members is gone: no node carries its value any more, and nothing is "
            "placed elsewhere."
        )
    if not headline:
        headline = gettext("The facts contradict each other; nothing is guessed.")
    details = [
        ngettext(
            "%(bound)s of %(members)s member is bound.",
            "%(bound)s of %(members)s members are bound.",
            facts.members,
        )
        % {"bound": units.count(facts.bound), "members": units.count(facts.members)}
    ]
    if facts.reason == Reason.DOMAIN_LOST:
        details.append(gettext("A new generation would be free to go to another domain."))
    return Sentences(headline, (*details, *_law(facts)))


def lost_sentence(winner: str) -> str:
    """``winner``: key of the group that was placed first."""
    return gettext("It lost the room to %(group)s in this cycle.") % {"group": winner}


_BY_VERDICT = {
    Verdict.PLACED: _placed,
    Verdict.PROVED_INFEASIBLE: _infeasible,
    Verdict.NOT_FOUND: _not_found,
    Verdict.HELD: _held,
    Verdict.CONFLICTED: _conflicted,
}


def sentences(facts: Facts) -> Sentences:
    """The headline and details of one decision in the active language."""
    if not facts.verdict:
        return Sentences(gettext("Not evaluated yet."), _law(facts))
    return _BY_VERDICT[Verdict(facts.verdict)](facts)


_NAMED = 5
"""So many other groups are named; of more there is only the number."""


def foreseen_sentences(
    decision: Decision,
    *,
    observed: bool,
    after: Sequence[str] = (),
    complete: bool = True,
    schedulers: Sequence[str] = (),
) -> Sentences:
    """What the next cycle would decide. ``after``: groups whose forecast room counts as taken; ``complete``:
    whether all of the queue was reckoned with; ``schedulers``: others than the default that members ask for.
    """
    said = sentences(
        replace(
            facts_of_decision(decision),
            forecast=observed and bool(decision.assignments),
            beside=bool(after),
        )
    )
    more = []
    if after and decision.verdict not in (Verdict.HELD, Verdict.CONFLICTED):
        named = ", ".join(after[:_NAMED]) + (" …" if len(after) > _NAMED else "")
        more.append(
            ngettext(
                "The room that our cycle would give to %(n)s group of the queue counts as taken: %(groups)s.",
                "The room that our cycle would give to %(n)s groups of the queue counts as taken: "
                "%(groups)s.",
                len(after),
            )
            % {"n": units.count(len(after)), "groups": named}
        )
    if not complete:
        more.append(gettext("The queue is too long to reckon with all of it here."))
    if schedulers:
        more.append(
            gettext(
                "Its members ask for the scheduler %(name)s; this is what ours would do, not what that one "
                "does."
            )
            % {"name": ", ".join(schedulers)}
        )
    return Sentences(said.headline, (*said.details, *more))


def bound_sentences(facts: Facts) -> Sentences:
    """A group whose members are all on nodes: nothing is to be decided, so only where they are is said."""
    values = {
        "bound": units.count(facts.bound),
        "members": units.count(facts.members),
        "need": units.count(facts.need),
        "kind": words.domain_kind(facts.scope_key),
        "domain": words.domain_name(facts.scope_key, facts.domain or ""),
    }
    if facts.scope_key and facts.domain is not None:
        headline = ngettext(
            "%(bound)s of %(members)s member is bound in %(kind)s %(domain)s; minCount is %(need)s.",
            "%(bound)s of %(members)s members are bound in %(kind)s %(domain)s; minCount is %(need)s.",
            facts.members,
        )
    else:
        headline = ngettext(
            "%(bound)s of %(members)s member is bound; minCount is %(need)s.",
            "%(bound)s of %(members)s members are bound; minCount is %(need)s.",
            facts.members,
        )
    return Sentences(headline % values, _law(facts))


def finished_sentences() -> Sentences:
    """A group whose members have all come to their end."""
    return Sentences(gettext("All members have finished; nothing is left to place."), ())
