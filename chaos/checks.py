"""What must hold when everything is back and nothing is left to do; every check gives sentences that say what
is wrong.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from django.db import connection

from chaos.clients import Api
from chaos.journal import Command
from chaos.manifests import RACK
from chaos.watchers import Auditor, Viewer
from scheduling.engine.state import ClusterState
from scheduling.ledger import fold, store
from scheduling.ledger.events import PodGroupPlaced
from scheduling.ledger.store import Head
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster
from scheduling.projections import rebuild
from scheduling.services.deciding import cycle_events
from scheduling.services.execute import now_ms

SHOWN = 5
"""Sentences of one kind; the rest is counted."""


@dataclass(frozen=True, slots=True)
class Written:
    """What the database has of one command: what is kept of it, and the events that carry its id."""

    kept: tuple[int, int] | None
    seqs: tuple[int, ...]
    types: tuple[str, ...]


def chain(cluster: Cluster, noted: Head | None) -> Iterator[str]:
    """The chain is whole, seqs are gapless, and nothing changed below the head that was noted before."""
    report = verify_chain(cluster.pk)
    if not report.ok:
        yield report.sentence
    elif report.events != report.head.seq:
        yield f"{report.events} events up to {report.head.seq}"
    if noted is not None and noted.seq:
        found = next(store.stored(cluster.pk, after=noted.seq - 1, limit=1), None)
        if found is None or (found.seq, found.hash) != (noted.seq, noted.hash):
            yield f"event {noted.seq} is not the one that was noted after the round before"


def tables(cluster: Cluster) -> Iterator[str]:
    """The tables are those that the log gives."""
    yield from map(str, rebuild.compare(cluster.pk))


def commands(cluster: Cluster, sent: list[Command], prefix: str) -> Iterator[str]:
    """Acknowledged: in the log once, with the answered seqs. Refused: not in it. Nothing that nobody sent."""
    written = _written(cluster.pk, prefix)
    for command in sent:
        found = written.pop(command.key, Written(None, (), ()))
        yield from (
            f"{command.kind} {command.key} {command.tries}: {wrong}" for wrong in _wrong(command, found)
        )
    for key in written:
        yield f"the log has a command {key} that nobody sent"


def _written(stream_id: int, prefix: str) -> dict[str, Written]:
    with connection.cursor() as cursor:
        cursor.execute(
            """
            select coalesce(c.command_id, e.command_id), c.first_seq, c.last_seq, e.seqs, e.types
            from (select * from scheduling_command where stream_id = %(stream)s) c
            full join (
                select command_id, array_agg(seq order by seq) as seqs, array_agg(type order by seq) as types
                from scheduling_event where stream_id = %(stream)s group by command_id
            ) e on e.command_id = c.command_id
            """,
            {"stream": stream_id},
        )
        rows = cursor.fetchall()
    return {
        command_id.removeprefix(prefix): Written(
            None if first is None else (first, last), tuple(seqs or ()), tuple(types or ())
        )
        for command_id, first, last, seqs, types in rows
        if command_id.startswith(prefix)
    }


def _wrong(command: Command, found: Written) -> Iterator[str]:
    if command.refusal is not None:
        if found.kept is not None or found.seqs:
            yield f"was refused, but the log has {found.kept} and events {found.seqs}"
        return
    if command.answer is None:
        yield "was never answered"
        return
    if found.kept is None:
        yield "was acknowledged and is lost"
        return
    first, last = found.kept
    if found.seqs != tuple(range(first, last + 1)):
        yield f"is kept as {first} to {last}, its events are {found.seqs}"
    if command.kind in ("import", "make"):
        if command.answer["seq"] != last:
            yield f"was acknowledged at {command.answer['seq']}, but is kept as {first} to {last}"
        return
    answered = [(event["seq"], event["type"]) for event in command.answer["events"]]
    if answered != list(zip(found.seqs, found.types, strict=True)):
        yield f"was acknowledged with {answered}, but wrote {found.seqs} {found.types}"


def law(state: ClusterState) -> Iterator[str]:
    """Gangs are whole and in one domain; no node holds more than it has. Counted from the facts alone."""
    bound: dict[str, list[Any]] = defaultdict(list)
    used: dict[str, Counter[str]] = defaultdict(Counter)
    for pod in state.pods.values():
        if pod.node and not pod.finished:
            bound[pod.group_key].append(pod)
            used[pod.node].update(dict(pod.shape.requests))
    for key, group in state.groups.items():
        pods = bound[key]
        if 0 < len(pods) < group.min_count:
            yield f"{key} has {len(pods)} members on nodes, minCount is {group.min_count}"
        domains = {state.nodes[pod.node].label(group.topology_key) for pod in pods}
        if group.topology_key and pods and (len(domains) > 1 or None in domains):
            yield f"{key} lies in {sorted(map(str, domains))}"
    for name, amounts in used.items():
        offered = dict(state.nodes[name].allocatable)
        over = {resource for resource, amount in amounts.items() if amount > offered.get(resource, 0)}
        if over:
            yield f"node {name} is over-committed: {sorted(over)}"


def decided(state: ClusterState) -> Iterator[str]:
    """A cycle of every waiting group places none: whatever fits has been placed. The numbers of a refusal may
    be of an older state: what can help nobody wakes nobody.
    """
    for event in cycle_events(state, now_ms()):
        if isinstance(event, PodGroupPlaced):
            yield f"{event.namespace}/{event.name} waits, though it fits in {event.domain or 'the cluster'}"


def copies(cluster: Cluster, auditor: Auditor) -> Iterator[str]:
    """What the API has ever shown of the log is still what it is."""
    known = auditor.hashes.get(cluster.name, [])
    for row in store.stored(cluster.pk, upto=len(known)):
        if row.hash.hex() != known[row.seq - 1]:
            yield f"event {row.seq} was shown with another hash"
            return
    if len(known) > store.head(cluster.pk).seq:
        yield f"events up to {len(known)} were shown, the log ends at {store.head(cluster.pk).seq}"


def sessions() -> Iterator[str]:
    """What a killed process could have left in the database."""
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_locks where locktype = 'advisory'")
        (locks,) = cursor.fetchone()
        cursor.execute("select count(*) from pg_prepared_xacts")
        (prepared,) = cursor.fetchone()
        cursor.execute(
            "select application_name from pg_stat_activity where datname = current_database()"
            " and state like 'idle in transaction%' and pid <> pg_backend_pid()"
        )
        idle = [name for (name,) in cursor.fetchall()]
    if locks:
        yield f"{locks} advisory locks are held"
    if prepared:
        yield f"{prepared} prepared transactions are left"
    if idle:
        yield f"sessions idle in a transaction: {', '.join(idle)}"


def live(viewer: Viewer, api: Api) -> Iterator[str]:
    """The browser's map, made of a snapshot and deltas, is the map."""
    status, body = api.ask("GET", f"/clusters/{viewer.cluster}/map?key={quote(RACK)}")
    if status != 200:
        yield f"the map was answered {status}: {body['message']}"
        return
    columns = body["nodes"]
    drawn = dict(zip(columns["index"], zip(columns["name"], columns["state"], strict=True), strict=True))
    if (viewer.seq, viewer.nodes) != (body["seq"], drawn):
        yield f"the browser at {viewer.seq} shows another map than the one at {body['seq']}"


def whole(
    cluster: Cluster, sent: list[Command], prefix: str, noted: Head | None, auditor: Auditor
) -> list[str]:
    """Everything that is checked of one cluster."""
    state = fold.state_at(cluster.pk)
    found: list[str] = []
    checks = (
        chain(cluster, noted),
        tables(cluster),
        commands(cluster, sent, prefix),
        law(state),
        decided(state),
        copies(cluster, auditor),
    )
    for check in checks:
        sentences = list(check)
        found += [f"{cluster.name}: {sentence}" for sentence in sentences[:SHOWN]]
        if len(sentences) > SHOWN:
            found.append(f"{cluster.name}: and {len(sentences) - SHOWN} more")
    return found
