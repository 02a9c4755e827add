"""What pages show of one group's situation: the live decision where it is open, else the last one in the
log.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from scheduling.console import events
from scheduling.engine.decision import Decision
from scheduling.engine.reasons import Reason, Verdict
from scheduling.ledger.store import to_datetime
from scheduling.models import Cluster, PodGroupRow
from scheduling.selectors import clusters, history, pending, pod_groups
from scheduling.selectors.past_groups import PastGroup
from scheduling.services.explain import NEAR, Explanation, explain
from scheduling.services.problems import Refused
from scheduling.services.standing import Standing, standings
from scheduling.wording import census, changes, decisions, preemption, scale_up

_BESIDE_THE_MAP = 5


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list of groups shares. ``domains``: where groups run without a decision that says so, by key.
    ``beside``: whether another group of an observed cluster is foretold to be placed.
    """

    enforced: bool
    observed: bool
    domains: dict[str, str]
    beside: bool

    @classmethod
    def of(cls, cluster: Cluster, rows: Iterable[PodGroupRow]) -> Listed:
        observed = cluster.mode == Cluster.Mode.OBSERVED
        return cls(
            enforced=clusters.enforced(cluster),
            observed=observed,
            domains=pod_groups.bound_domains(cluster, rows),
            beside=observed and pending.placed(cluster) > 0,
        )

    def domain(self, row: PodGroupRow) -> str | None:
        """None when it is not known; "" is a label value."""
        return row.domain or self.domains.get(row.key)


_WAITING = (PodGroupRow.Status.PENDING, PodGroupRow.Status.HELD)


def _standing(row: PodGroupRow, observed: bool) -> tuple[str, str]:
    """Verdict and reason of the last decision; not those that the facts have overtaken since, which the next
    cycle decides again.
    """
    conflicted = row.verdict == Verdict.CONFLICTED
    if row.status == PodGroupRow.Status.ERROR:
        return str(Verdict.CONFLICTED), row.reason if conflicted else ""
    # Whether the loss of a domain is open is for the next decision to say, when no member tells of it.
    lost = conflicted and row.reason == Reason.DOMAIN_LOST and not row.bound and row.members > 0
    overtaken = (
        (conflicted and not lost)
        or (
            row.status == PodGroupRow.Status.PENDING
            and row.verdict == Verdict.HELD
            and row.reason != Reason.QUOTA
        )
        or (row.status in _WAITING and row.verdict == Verdict.PLACED and not observed)
    )
    return ("", "") if overtaken and not row.closed else (row.verdict, row.reason)


def facts_of_row(row: PodGroupRow, listed: Listed) -> decisions.Facts:
    """What the tables know of how the group stands: enough for one sentence in a list."""
    verdict, reason = _standing(row, listed.observed)
    return decisions.Facts(
        verdict=verdict,
        reason=reason,
        topology_key=row.topology_key,
        enforced=listed.enforced and bool(row.topology_key),
        domain=listed.domain(row),
        need=row.need,
        members=row.members,
        bound=row.bound,
        fits=row.fits,
        short_of=tuple((str(resource), int(amount)) for resource, amount in row.short_of),
        unmodelled=tuple(row.unmodelled),
        forecast=listed.observed and verdict == Verdict.PLACED and row.bound < row.members,
        beside=listed.beside,
    )


def sentences_of_row(row: PodGroupRow, listed: Listed) -> decisions.Sentences:
    """The list's sentence: where it runs once nothing is left to decide, else what the last decision said."""
    if row.status == PodGroupRow.Status.FINISHED:
        return decisions.finished_sentences()
    if row.status == PodGroupRow.Status.SCHEDULED and row.bound == row.members:
        return decisions.bound_sentences(facts_of_row(row, listed))
    return decisions.sentences(facts_of_row(row, listed))


def funnel(decision: Decision) -> list[dict[str, Any]]:
    """The steps from all domains to those that would do, each with how many the step lost."""
    steps = (
        ("domains", decision.funnel.domains),
        ("eligible", decision.funnel.eligible),
        ("one_fits", decision.funnel.one_fits),
        ("quorum_fits", decision.funnel.quorum_fits),
    )
    lost = [0, *(before[1] - after[1] for before, after in pairwise(steps))]
    return [
        {"step": step, "count": count, "lost": gone} for (step, count), gone in zip(steps, lost, strict=True)
    ]


def explanation_sentences(explanation: Explanation) -> decisions.Sentences:
    return decisions.foreseen_sentences(
        explanation.decision,
        observed=explanation.observed,
        after=explanation.after,
        complete=explanation.complete,
        schedulers=explanation.schedulers,
    )


def _of_row(cluster: Cluster, row: PodGroupRow) -> dict[str, Any]:
    listed = Listed.of(cluster, [row])
    facts = facts_of_row(row, listed)
    return {
        "decision": None,
        "shown_verdict": "forecast" if facts.forecast else facts.verdict,
        "sentences": sentences_of_row(row, listed),
    }


def queue(standing: Standing) -> dict[str, Any]:
    """How the group stands in the queue, with times that a template can show."""

    def moment(milliseconds: int | None) -> datetime | None:
        return None if milliseconds is None else to_datetime(milliseconds)

    return {
        "attempts": standing.attempts,
        "decided_at": moment(standing.decided_at),
        "retry_at": moment(standing.retry_at),
        "lost_to": standing.lost_to,
        "woken_by": standing.woken_by,
    }


def queue_context(cluster: Cluster, row: PodGroupRow) -> dict[str, Any]:
    """``queue`` and ``woken_by`` (a line of the log, None when it is archived or not known) of an open
    generation.
    """
    if row.closed:
        return {}
    standing = standings(cluster, [row.key])[row.key]
    woken = events.listed(history.numbered(cluster, [standing.woken_by] if standing.woken_by else []))
    return {"queue": queue(standing), "woken_by": woken[0] if woken else None}


def context(cluster: Cluster, row: PodGroupRow, *, every_domain: bool = False) -> dict[str, Any]:
    """The template's variables for one group; ``decision`` is None for a generation that is closed."""
    newest = pod_groups.current(cluster, row.namespace, row.name)
    if row.closed or newest.pk != row.pk:
        return _of_row(cluster, row)
    try:
        explanation = explain(cluster=cluster, namespace=row.namespace, name=row.name)
    except Refused:
        # It ended between the two reads; the page says what was last decided, and is about to be refreshed.
        return _of_row(cluster, row)
    return explained(explanation, row.status, every_domain=every_domain)


def past_context(cluster: Cluster, group: PastGroup, seq: int) -> dict[str, Any]:
    """As ``context``, for a group as it was after event ``seq``."""
    explanation = explain(cluster=cluster, namespace=group.namespace, name=group.name, seq=seq)
    return explained(explanation, group.status)


def explained(explanation: Explanation, status: str, *, every_domain: bool = False) -> dict[str, Any]:
    """The same of an explanation of any state."""
    decision = explanation.decision
    all_bound = decision.placed and decision.members > 0 and decision.bound == decision.members
    if status == PodGroupRow.Status.FINISHED:
        said = decisions.finished_sentences()
    elif all_bound and status == PodGroupRow.Status.SCHEDULED:
        said = decisions.bound_sentences(decisions.facts_of_decision(decision))
    else:
        said = explanation_sentences(explanation)
    rows = decision.domains if every_domain else decision.domains[:NEAR]
    return {
        "decision": decision,
        "shown_verdict": "forecast" if explanation.forecast else str(decision.verdict),
        "seq": explanation.seq,
        "at": explanation.at,
        "sentences": said,
        "all_bound": all_bound,
        "funnel": funnel(decision) if decision.funnel.domains else [],
        "domain_rows": rows,
        "domains_hidden": len(decision.domains) - len(rows),
        "near": _near(explanation),
        "census": explanation.census,
        "census_rows": census.rows(explanation.census) if explanation.census else [],
        "waits": waits(decision),
        "spread": explanation.spread.all,
        "lost_to": explanation.lost_to,
        "reservations": explanation.reservations,
        "quota_uses": explanation.quota_uses,
        "no_nodes": scale_up.no_help(explanation.no_nodes) if explanation.no_nodes else "",
        "no_victims": preemption.why(explanation.no_victims, "") if explanation.no_victims else "",
    }


def waits(decision: Decision) -> bool:
    """Whether something could make it run: what would, is asked for by the page itself."""
    return not decision.placed


def _near(explanation: Explanation) -> list[dict[str, Any]]:
    """The nearest domains, each with what is in the way there."""
    named = {found.domain: changes.obstacle(found) for found in explanation.obstacles}
    return [
        {"count": row, "obstacle": named.get(row.domain, "")}
        for row in explanation.decision.domains[:_BESIDE_THE_MAP]
    ]
