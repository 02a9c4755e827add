"""Rows of PodGroups: what they are, what was decided about them, and the one word for how they stand."""

from __future__ import annotations

from datetime import datetime

from scheduling.engine.model import PodGroup
from scheduling.engine.reasons import Verdict
from scheduling.engine.status import GroupStatus
from scheduling.ledger import events as e
from scheduling.ledger.fold import BrokenHistory
from scheduling.ledger.store import Recorded, to_datetime
from scheduling.projections.clusters import tas_enforced
from scheduling.projections.tables import PodGroupRecord, PodRecord, Tables

VERSION = 1

_WAITING = (GroupStatus.PENDING, GroupStatus.HELD, GroupStatus.ERROR)


def apply(tables: Tables, recorded: Recorded) -> None:
    event = recorded.event
    if isinstance(event, e.PodGroupCreated):
        _open(tables, event.group, recorded)
    elif isinstance(event, e.PodGroupUpdated):
        key = f"{event.namespace}/{event.name}"
        row = tables.groups.change((key, event.uid))
        if row is None or tables.open_groups.get(key) != event.uid:
            raise BrokenHistory(f"PodGroup {key} ({event.uid}) changed, but it is not open")
        # Only the changed fields are looked at, so an empty group will do for the others.
        group = event.changed(PodGroup(event.namespace, event.name, event.uid))
        for field, _ in event.changes:
            if field == "unmodelled":
                row.spec_unmodelled = list(group.unmodelled)
            elif field in ("policy", "min_count", "topology_key", "priority"):
                setattr(row, field, getattr(group, field))
        tables.naming.stale.add(key)
    elif isinstance(event, e.PodGroupClosed):
        key = f"{event.namespace}/{event.name}"
        if tables.open_groups.get(key) == event.uid:
            _close(tables, key, event.reason)
    elif isinstance(event, e.PodGroupPlaced | e.PlacementForecast):
        _decide(tables, recorded, event, Verdict.PLACED, "", event.domain, event.fits)
    elif isinstance(event, e.PodGroupUnschedulable):
        row = _decide(tables, recorded, event, event.verdict, event.reason, event.domain, event.fits)
        row.short_of = [list(pair) for pair in event.short_of]
    elif isinstance(event, e.PodGroupHeld):
        _decide(tables, recorded, event, Verdict.HELD, event.reason, "", event.bound)
    elif isinstance(event, e.PodGroupConflicted):
        _decide(tables, recorded, event, Verdict.CONFLICTED, event.reason, "", event.bound)


def settle(tables: Tables, moment: datetime) -> None:
    """End of a commit: counts and status of every group that it touched, from its members."""
    for key in sorted(tables.naming.stale):
        pods = tables.pods_naming(key)
        row = _row_for(tables, key, pods, moment)
        if row is not None:
            _settle(tables, row, pods, moment)
    tables.naming.stale.clear()


def _row_for(tables: Tables, key: str, pods: list[PodRecord], moment: datetime) -> PodGroupRecord | None:
    """The open row of a key. While there is no PodGroup and pods name it, there is a row without a uid."""
    uid = tables.open_groups.get(key)
    if uid is not None:
        tables.groups.remove((key, ""))
        return tables.groups.change((key, uid))
    if pods:
        return _nameless(tables, key, moment)
    tables.groups.remove((key, ""))
    return None


def _settle(tables: Tables, row: PodGroupRecord, pods: list[PodRecord], moment: datetime) -> None:
    unfinished = [pod for pod in pods if not pod.finished]
    bound = [pod for pod in unfinished if pod.node]
    unbound = [pod for pod in unfinished if not pod.node and not pod.terminating]
    waiting = [pod for pod in unbound if not pod.gated]
    row.bound = len(bound)
    row.members = len(bound) + len(unbound)
    row.need = row.min_count if row.policy == "gang" else 1
    row.degraded = 0 < row.bound < row.need
    parts = {part for pod in (*bound, *waiting) for part in pod.unmodelled}
    row.unmodelled = sorted(parts | set(row.spec_unmodelled))
    status = _status(tables, row, pods, bound, waiting)
    if status != row.status:
        row.status, row.status_since = status, moment
    if status in _WAITING:
        row.waiting_since = row.waiting_since or moment
    else:
        row.waiting_since = None


def _status(
    tables: Tables,
    row: PodGroupRecord,
    pods: list[PodRecord],
    bound: list[PodRecord],
    waiting: list[PodRecord],
) -> str:
    """The rule of ``engine.status.group_status``, read from rows; a test holds the two together."""
    if not pods:
        return GroupStatus.EMPTY.value
    if all(pod.finished for pod in pods):
        return GroupStatus.FINISHED.value
    held = not row.uid or len(bound) + len(waiting) < row.need
    if not held and _contradicts_itself(tables, row, bound, waiting):
        return GroupStatus.ERROR.value
    if row.uid and len(bound) >= row.need:
        return GroupStatus.SCHEDULED.value
    return GroupStatus.HELD.value if held else GroupStatus.PENDING.value


def _contradicts_itself(
    tables: Tables, row: PodGroupRecord, bound: list[PodRecord], waiting: list[PodRecord]
) -> bool:
    if len({pod.scheduler_name for pod in waiting}) > 1:
        return True
    if not row.topology_key or not tas_enforced(tables):
        return False
    domains: set[str | None] = set()
    for name in {pod.node for pod in bound}:
        node = tables.nodes.get(name)
        gone = node is None or node.removed
        domains.add(None if node is None or gone else node.labels.get(row.topology_key))
    return len(domains) > 1 or None in domains


def _open(tables: Tables, group: PodGroup, recorded: Recorded) -> None:
    if group.key in tables.open_groups:
        _close(tables, group.key, "superseded")
    moment = to_datetime(recorded.occurred_at)
    row = _blank(group.namespace, group.name, group.uid, group.generation, moment, recorded.seq)
    row.policy, row.min_count, row.topology_key = group.policy, group.min_count, group.topology_key
    row.priority, row.spec_unmodelled = group.priority, list(group.unmodelled)
    if group.created:
        row.created_at = to_datetime(group.created)
    tables.groups.put((group.key, group.uid), row)
    tables.open_groups[group.key] = group.uid
    tables.naming.stale.add(group.key)


def _close(tables: Tables, key: str, reason: str) -> None:
    """The row stays as it last was; its members, if any stay, belong to whatever comes under the key next."""
    row = tables.groups.change((key, tables.open_groups.pop(key)))
    if row is None:
        raise BrokenHistory(f"PodGroup {key} is open and has no row")
    row.closed, row.close_reason, row.waiting_since = True, reason, None
    tables.naming.stale.add(key)


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
        changed_at=moment,
    )  # fmt: skip


_Decision = (
    e.PodGroupPlaced | e.PlacementForecast | e.PodGroupUnschedulable | e.PodGroupHeld | e.PodGroupConflicted
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
    tables.naming.stale.add(key)
    return row
