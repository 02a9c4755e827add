"""Proposals of preemption as pages show them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils.translation import gettext

from scheduling.engine.preemption_records import PreemptionPlan, PreemptionPolicy, Victim
from scheduling.kube import evictions
from scheduling.ledger.store import to_datetime
from scheduling.models import Cluster
from scheduling.wording import preemption as wording
from scheduling.wording import words


def shown(cluster: Cluster, plan: PreemptionPlan) -> dict[str, Any]:
    """A proposal for ``parts/preemption_plan.html``; commands only where the console does not evict."""
    observed = cluster.mode == Cluster.Mode.OBSERVED
    return {
        "id": plan.id,
        "seq": plan.seq,
        "group": plan.group,
        "domain": plan.domain or gettext("the whole cluster"),
        "cost": wording.cost(*plan.cost),
        "proof": wording.proof(plan.proved_smallest),
        "proved": plan.proved_smallest,
        "approved": plan.approved,
        "decided_on": plan.decided_on,
        "expires": to_datetime(plan.expires),
        "victims": [_victim(victim) for victim in plan.victims],
        "commands": [line for victim in plan.victims for line in _commands(victim)] if observed else [],
    }


def policy(found: PreemptionPolicy) -> dict[str, Any]:
    """The policy in words, and what each mode would do."""
    return {
        "mode": found.mode,
        "word": words.word(wording.MODES, found.mode),
        "queues": found.queues,
        "consequence": words.word(wording.CONSEQUENCES, found.mode),
        "modes": [(mode, str(name), str(wording.CONSEQUENCES[mode])) for mode, name in wording.MODES.items()],
    }


def _victim(victim: Victim) -> dict[str, Any]:
    created: datetime | None = to_datetime(victim.created) if victim.created else None
    return {
        "key": victim.key,
        "priority": victim.priority,
        "part": wording.part(victim),
        "members": len(victim.members),
        "names": [f"{name} ({node})" for _, name, node in victim.members],
        "gpus": victim.gpus,
        "created": created,
    }


def _commands(victim: Victim) -> list[str]:
    namespace, _, name = victim.key.partition("/")
    pods = [pod for _, pod, _ in victim.members]
    return evictions.commands(namespace, name, pods, whole=victim.whole)
