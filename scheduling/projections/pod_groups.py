"""Rows of PodGroups: what they are, what was decided about them, and the one word for how they stand."""

from __future__ import annotations

from datetime import datetime

from scheduling.engine.model import PodGroup
from scheduling.engine.reasons import Reason, Verdict
from scheduling.engine.roster import roster
from scheduling.engine.status import GroupStatus, group_status
from scheduling.ledger import events as e
from scheduling.ledger.fold import BrokenHistory
from scheduling.ledger.store import Recorded, to_datetime
from scheduling.projections.tables import PodGroupRecord, Tables

VERSION = 3

_WAITING = (GroupStatus.PENDING, GroupStatus.HELD, GroupStatus.ERROR)


def apply(tables: Tables, recorded: Recorded) -> None:
    event = recorded.event
    if isinstance(event, e.PodGroupCreated):
        _open(tables, event.group, recorded)
    elif isinstance(event, e.PodGroupUpdated):
        key = f"{event.namespace}/{event.name}"
        row = tables.groups.change((key, event.uid))
        if row is None:
            raise LookupError(f"PodGroup {key} ({event.uid}) has no row")
        _describe(row, tables.state.groups[key])
    elif isinstance(event, e.PodGroupClosed):
        row = tables.groups.change((f"{event.namespace}/{event.name}", event.uid))
        if row is not None and not row.closed:
            _close(row, event.reason)
    elif isinstance(event, e.PodGroupPlaced | e.PlacementForecast):
        _decide(tables, recorded, event, Verdict.PLACED, "", event.domain, event.fits)
    elif isinstance(event, e.PodGroupUnschedulable):
        row = _decide(tables, recorded, event, event.verdict, event.reason, event.domain, event.fits)
        row.short_of = [list(pair) for pair in event.short_of]
    elif isinstance(event, e.PodGroupHeld):
        _decide(tables, recorded, event, Verdict.HELD, event.reason, "", event.bound)
    elif isinstance(event, e.PodGroupOverQuota):
        _decide(tables, recorded, event, Verdict.HELD, Reason.QUOTA, "", event.bound)
    elif isinstance(event, e.PodGroupConflicted):
        _decide(tables, recorded, event, Verdict.CONFLICTED, event.reason, "", event.bound)
    elif isinstance(event, e.PodGroupSettled):
        _decide(tables, recorded, event, "", "", "", event.bound)


def settle(tables: Tables, moment: datetime) -> None:
    """End of a commit: counts and status of every group that it concerns, by the engine's own rules."""
    for key in tables.take_stale_groups():
        row = _row_of(tables, key, moment)
        if row is None:
            continue
        who = roster(tables.state, key)
        row.members, row.bound, row.need = who.known, len(who.bound), who.need
        row.degraded = who.degraded
        row.degraded_since = (row.degraded_since or moment) if who.degraded else None
        row.unmodelled = list(who.unmodelled)
        status = group_status(tables.state, key)
        if status != row.status:
            row.status, row.status_since = status.value, moment
        row.waiting_since = (row.waiting_since or moment) if status in _WAITING else None


def _row_of(tables: Tables, key: str, moment: datetime) -> PodGroupRecord | None:
    """The open row of a key. While there is no PodGroup and pods name it, there is a row without a uid."""
    group = tables.state.groups.get(key)
    if group is None and tables.state.pods_naming(key):
        return _nameless(tables, key, moment)
    tables.groups.remove((key, ""))
    return None if group is None else tables.groups.change((key, group.uid))


def _open(tables: Tables, group: PodGroup, recorded: Recorded) -> None:
    moment = to_datetime(recorded.occurred_at)
    row = _blank(group.namespace, group.name, group.uid, group.generation, moment, recorded.seq)
    _describe(row, group)
    if group.created:
        row.created_at = to_datetime(group.created)
    tables.groups.put((group.key, group.uid), row)


def _describe(row: PodGroupRecord, group: PodGroup) -> None:
    row.policy, row.min_count, row.topology_key = group.policy, group.min_count, group.topology_key
    row.priority, row.spec_unmodelled = group.priority, list(group.unmodelled)
    row.elastic, row.protected, row.queue = group.elastic, group.protected, group.queue


def _close(row: PodGroupRecord, reason: str) -> None:
    """The row stays as it last was; members that stay belong to whatever comes under the key next."""
    row.closed, row.close_reason, row.waiting_since = True, reason, None
    row.degraded_since = None


def _nameless(tables: Tables, key: str, moment: datetime) -> PodGroupRecord:
    row = tables.groups.change((key, ""))
    if row is None:
        namespace, _, name = key.partition("/")
        row = tables.groups.put((key, ""), _blank(namespace, name, "", 0, moment, 0))
    return row


def _blank(
    namespace: str, name: str, uid: str, generation: int, moment: datetime, seq: int
) -> PodGroupRecord:
    return PodGroupRecord(
        namespace, name, generation, uid, policy="", min_count=1, topology_key="", priority=None,
        status=GroupStatus.EMPTY.value, degraded=False, verdict="", reason="", domain="", fits=0, need=1,
        members=0, bound=0, short_of=[], unmodelled=[], spec_unmodelled=[], closed=False, close_reason="",
        created_at=moment, waiting_since=None, status_since=moment, decision_seq=None, changed_seq=seq,
        changed_at=moment, elastic=False, protected=False, queue="",
        degraded_since=None,
    )  # fmt: skip


_Decision = (
    e.PodGroupPlaced
    | e.PlacementForecast
    | e.PodGroupUnschedulable
    | e.PodGroupHeld
    | e.PodGroupOverQuota
    | e.PodGroupConflicted
    | e.PodGroupSettled
)


def _decide(
    tables: Tables, recorded: Recorded, event: _Decision, verdict: str, reason: str, domain: str, fits: int
) -> PodGroupRecord:
    key = f"{event.namespace}/{event.name}"
    moment = to_datetime(recorded.occurred_at)
    row = tables.groups.change((key, event.uid)) if event.uid else _nameless(tables, key, moment)
    if row is None:
        raise BrokenHistory(f"PodGroup {key} ({event.uid}) was decided about, but it is not there")
    row.verdict, row.reason, row.domain, row.fits = str(verdict), reason, domain, fits
    row.short_of = []
    row.decision_seq = recorded.seq
    return row
