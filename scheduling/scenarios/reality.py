"""Did reality agree? Groups that a scenario submitted, held against what happened when groups of these names
were submitted to the cluster later.

::

    {
      "head": seq,                       # up to which event the log was read
      "groups": [{
        "key",
        "verdict",                       # VERDICTS
        "comparable",                    # nothing that could matter lies between, and nothing was assumed
        "forecast": {"verdict", "reason", "domain", "runs", "wait_ms"},
        "real": {                        # null when none was submitted since
          "seq", "at",                   # of its PodGroup
          "decided": {"seq", "at", "verdict", "reason", "domain"} | null,   # first decision about it
          "ran": {"seq", "at", "domains", "wait_ms"} | null,   # when minCount members were first on nodes
          "closed": {"seq", "at", "reason"} | null,            # its end, if it came before that
          "waited_ms"                    # until it ran or ended, so far while it waits
        } | null,
        "agrees": {"verdict", "reason", "domain"},   # each null where only one side has it
        "other": [field],                # min_count, topology_key, members: in which it was another group
        "changed": {"events", "types": [[type, count]]},   # between the fork and the real group
        "assumed": [step]                # other steps of the scenario, which nobody took in the cluster
      }]
    }

``verdict``: ``not_submitted``; ``another_group``, where minCount, topology key or shapes of members are
others; ``not_decided``; ``agrees`` and ``differs``, by verdict, then domain or reason. The forecast is that
of the end of the scenario, the real decision the first one.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.db.models import Count

from scheduling.engine.model import Shape
from scheduling.engine.state import ClusterState
from scheduling.engine.status import GroupStatus, group_status
from scheduling.ledger import events as e
from scheduling.ledger import fold, store
from scheduling.ledger.store import Recorded, to_milliseconds
from scheduling.models import Event, Run
from scheduling.scenarios import outcome
from scheduling.scenarios.scenario_runs import fork_state, result_of
from scheduling.selectors import past_states

VERDICTS = ("not_submitted", "another_group", "not_decided", "agrees", "differs")

MOST_GROUPS = 50
MOST_EVENTS = 50_000
"""So far the log is followed after a group was submitted."""

_SUBMITTING = ("submit", "submit_manifest", "advance_clock")
_MATTER = (
    e.NodeAdded, e.NodeUpdated, e.NodeRemoved, e.PodGroupCreated, e.PodGroupUpdated, e.PodGroupClosed,
    e.PodAdded, e.PodUpdated, e.PodRemoved, e.PodGroupPlaced, e.FeatureGateChanged, e.ClusterModeChanged,
    e.MemberEvicted, e.ReservationMade, e.ReservationReleased, e.QueueDefined, e.QueueRemoved,
    e.DomainMarkedLost, e.DomainMarkTakenBack,
)  # fmt: skip
"""What could make another decision of the same question."""
_DECISIONS = (
    e.PodGroupPlaced, e.PlacementForecast, e.PodGroupUnschedulable, e.PodGroupHeld, e.PodGroupOverQuota,
    e.PodGroupConflicted,
)  # fmt: skip

Json = dict[str, Any]


def reality(run: Run) -> Json:
    """Raises Refused for a run that has no result, and LookupError as ``fork_state``."""
    result, head = result_of(run), store.head(run.cluster_id).seq
    submitted = [group for group in result["asked"] if group["role"] == "submitted"]
    forecast = fork_state(run)
    return {
        "head": head,
        "groups": [_group(run, forecast, group, head) for group in submitted[:MOST_GROUPS]],
    }


def _group(run: Run, forecast: ClusterState, group: Json, head: int) -> Json:
    key = group["key"]
    namespace, _, name = key.partition("/")
    facts, after = group["facts"] or {}, group["after"]
    told: Json = {
        "verdict": facts.get("verdict", ""),
        "reason": facts.get("reason", ""),
        "domain": facts.get("domain"),
        "runs": after is not None and after["status"] == GroupStatus.SCHEDULED,
        "wait_ms": group["wait_ms"],
    }
    assumed = [one["step"] for one in run.document.get("steps", []) if one["step"] not in _SUBMITTING]
    row = (
        Event.objects.filter(
            stream_id=run.cluster_id,
            seq__gt=run.base_seq,
            type="PodGroupCreated",
            namespace=namespace,
            name=name,
        )
        .order_by("seq")
        .first()
    )
    found: Json = {
        "key": key,
        "verdict": "not_submitted",
        "comparable": False,
        "forecast": told,
        "real": None,
        "agrees": {"verdict": None, "reason": None, "domain": None},
        "other": [],
        "changed": {"events": 0, "types": []},
        "assumed": assumed,
    }
    if row is None:
        return found
    changed = _changed(run, row.seq)
    followed = _Followed(run, key, row, head)
    real = followed.told()
    found |= {"real": real, "changed": changed, "comparable": not changed["events"] and not assumed}
    if real["decided"] is None:
        return found | {"verdict": "not_decided"}
    other = _other(forecast, followed, key)
    if other:
        return found | {"verdict": "another_group", "other": other, "comparable": False}
    agrees = _agrees(told, real["decided"])
    return found | {"agrees": agrees, "verdict": "differs" if False in agrees.values() else "agrees"}


def _changed(run: Run, upto: int) -> Json:
    """What happened in the cluster after the fork and before the group was submitted. The command that
    submitted it may hold others too; what is right before it in the log is counted.
    """
    rows = (
        Event.objects.filter(
            stream_id=run.cluster_id,
            seq__gt=run.base_seq,
            seq__lt=upto,
            type__in=[kind.__name__ for kind in _MATTER],
        )
        .values_list("type")
        .annotate(count=Count("seq"))
    )
    types = sorted(([kind, count] for kind, count in rows), key=lambda pair: (-pair[1], pair[0]))
    return {"events": sum(count for _, count in types), "types": types}


def _agrees(forecast: Json, real: Json) -> Json:
    """By part; None where only one side has it."""
    verdict = forecast["verdict"] == real["verdict"]
    placed = forecast["verdict"] == "placed"
    domains = verdict and placed and forecast["domain"] is not None
    return {
        "verdict": verdict,
        "reason": forecast["reason"] == real["reason"] if verdict and not placed else None,
        "domain": forecast["domain"] == real["domain"] if domains else None,
    }


class _Followed:
    """The real group from its submission on, as the log tells it."""

    def __init__(self, run: Run, key: str, row: Event, head: int) -> None:
        self.key, self.row = key, row
        self.decided: Json | None = None
        self.ran: Json | None = None
        self.closed: Json | None = None
        self.members: Counter[Shape] = Counter()
        """Of the first decision."""
        state = past_states.state_at(run.cluster, row.seq)
        self.group = state.groups[key]
        self.at = to_milliseconds(row.recorded_at)
        self.last = self.at
        upto = min(head, row.seq + MOST_EVENTS)
        for item in store.read(run.cluster_id, after=row.seq, upto=upto):
            if isinstance(item.event, _DECISIONS) and self.decided is None and self._is_about(item.event):
                self._decide(state, item)
            fold.apply(state, item)
            self.last = item.recorded_at
            if self._over(state, item):
                break

    def told(self) -> Json:
        end = self.ran or self.closed
        return {
            "seq": self.row.seq,
            "at": self.at,
            "decided": self.decided,
            "ran": self.ran,
            "closed": self.closed,
            "waited_ms": (end["at"] if end is not None else self.last) - self.at,
        }

    def _is_about(self, event: Any) -> bool:
        return f"{event.namespace}/{event.name}" == self.key and event.uid == self.group.uid

    def _decide(self, state: ClusterState, item: Recorded) -> None:
        event = item.event
        self.members = _shapes(state, self.key)
        verdict, reason, domain = "placed", "", None
        if isinstance(event, e.PodGroupPlaced | e.PlacementForecast):
            domain = event.domain if event.enforced else None
        elif isinstance(event, e.PodGroupUnschedulable):
            verdict, reason, domain = event.verdict, event.reason, event.domain
        elif isinstance(event, e.PodGroupOverQuota):
            verdict, reason = "held", "quota"
        elif isinstance(event, e.PodGroupHeld | e.PodGroupConflicted):
            verdict = "held" if isinstance(event, e.PodGroupHeld) else "conflicted"
            reason = event.reason
        self.decided = {
            "seq": item.seq, "at": item.recorded_at, "verdict": verdict, "reason": reason, "domain": domain,
        }  # fmt: skip

    def _over(self, state: ClusterState, item: Recorded) -> bool:
        """Whether it runs, or has ended, with this event."""
        event = item.event
        if isinstance(event, e.PodGroupClosed) and self._is_about(event):
            self.closed = {"seq": item.seq, "at": item.recorded_at, "reason": event.reason}
            return True
        touches = isinstance(event, e.PodGroupPlaced) and self._is_about(event)
        if isinstance(event, e.PodAdded):
            touches = event.pod.group_key == self.key and event.pod.node != ""
        elif isinstance(event, e.PodUpdated):
            pod = state.pods.get(event.uid)
            touches = pod is not None and pod.group_key == self.key and pod.node != ""
        if not touches or group_status(state, self.key) != GroupStatus.SCHEDULED:
            return False
        standing = outcome.standing(state, self.key) or {}
        self.ran = {
            "seq": item.seq,
            "at": item.recorded_at,
            "domains": standing["domains"],
            "wait_ms": item.recorded_at - self.at,
        }
        return True


def _other(forecast: ClusterState, real: _Followed, key: str) -> list[str]:
    """In what the real group is not the one that the scenario submitted."""
    group = forecast.groups.get(key)
    if group is None:
        return []
    told = [
        name
        for name in ("policy", "min_count", "topology_key")
        if getattr(group, name) != getattr(real.group, name)
    ]
    if _shapes(forecast, key) != real.members:
        told.append("members")
    return told


def _shapes(state: ClusterState, key: str) -> Counter[Shape]:
    return Counter(pod.shape for pod in state.members(key))
