"""How fast the log takes events and gives them back, beside the `eventsourcing` package on the same server,
and how it stands at a million events. `bench ledger append rebuild million cold` takes these parts, or those
of them that are named.

Appends. Ours: types of all fields looked at, canonical JSON, hash chain, head and command id, one COPY, one
COMMIT, through Django's connection. The package: its own classes of events, mapper and recorder as
`EventStore.put` uses them, prepared statements and pool included; the bodies of its events are plain dicts
made beforehand, and its events, which carry their version, are made while time is taken (a few per cent of
it). Rebuilds: ours is the whole state that decisions are made on, with Python's search for cycles off as
`fold` has it; the package's aggregate keeps less, and is got with `repository.get`.

PostgreSQL is as durable as in production. Contenders take turns in one run, so that a busy moment of the
machine meets them all; ratios are medians of rounds. The figures of the closing JSON line, null where
they could not be taken:

``append_ratio``: events a second of 4 writers in batches of 100, each with a stream of its own, our hash
chain on, over the faster mode of the package; both from event objects to the commit.
``append_tables_ratio``: the same with our tables and hints. ``append_recorder_ratio``: over the
package's recorder alone, which is given bodies that are bytes already.
``rebuild_ratio``: time of the package to rebuild its state of 100,000 events, over ours.
``rebuild_1m_s``, ``verify_1m_s``, ``tables_1m_s``: seconds for 1,000,000 events of a cluster of 480
nodes.
``history_page_ms``: server time of the history page at 1,000,000 events: the worst of several filters'
medians.
``state_at_ms``: the state in the middle of them, with the snapshots that were left on the way.
``cold_start_ratio``: from the stored snapshot of 15,000 nodes and their pods to a state that has decided
a group, over reading the rows of nodes and pods as ORM objects.
"""

import gc
import os
import statistics
import time
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import psycopg
from django.conf import settings
from django.db import transaction
from django.test import Client

from bench import Figures, _library, time_rounds
from bench._histories import Commit, Life
from bench._writers import FUNCTIONS, OURS, OURS_WITH_TABLES, RECORDER, SAFE, Writers
from scheduling.engine.decide import decide
from scheduling.engine.state import ClusterState
from scheduling.ledger import fold, snapshot_store, store
from scheduling.ledger.signals import log_advanced
from scheduling.ledger.verify import verify_chain
from scheduling.models import NodeRow, PodRow
from scheduling.projections import rebuild

NEEDS_STACK = True
DURABLE = True

WRITERS, BATCH = 4, 100
SIZES = (1, 20, 500)
SECONDS, ROUNDS = 0.5, 3
COUNTED_SECONDS, COUNTED_ROUNDS = 1.0, 7
REBUILT, REBUILDS = 100_000, 3
MANY = 1_000_000
COMMITS_AT_ONCE = 100
COLD_NODES, COLD_RACK, COLD_ROUNDS = 15_000, 16, 7
PAGE_ROUNDS = 9
PARTS = ("append", "rebuild", "million", "cold")
KEYS = (
    "append_ratio",
    "append_tables_ratio",
    "append_recorder_ratio",
    "rebuild_ratio",
    "rebuild_1m_s",
    "verify_1m_s",
    "tables_1m_s",
    "history_page_ms",
    "state_at_ms",
    "cold_start_ratio",
)


def main(argv: list[str]) -> Figures:
    wanted = argv or list(PARTS)
    if unknown := sorted(set(wanted) - set(PARTS)):
        raise SystemExit(f"There is no part {', '.join(unknown)}; there are: {', '.join(PARTS)}.")
    answer = Figures("The log: how fast it takes events and gives them back", KEYS)
    if not _library.installed():
        answer.notes.append(
            "no ratios to eventsourcing: it is not installed: pip install -r requirements-bench.lock"
        )
    if "append" in wanted:
        appends(answer)
    # Nobody listens to the streams that follow.
    log_advanced.receivers = []
    log_advanced.sender_receivers_cache.clear()
    if "rebuild" in wanted:
        rebuilding(answer)
    if "million" in wanted:
        a_million(answer)
    if "cold" in wanted:
        cold_start(answer)
    answer.notes.append(f"load average at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return answer


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


# ---------------------------------------------------------------- append


def appends(answer: Figures) -> None:
    sides = [OURS, OURS_WITH_TABLES, *([SAFE, FUNCTIONS] if _library.installed() else [])]
    writers = Writers(WRITERS)
    for count in (1, WRITERS):
        for batch in SIZES:
            rounds = [
                {side: writers.rate(side, count, batch, SECONDS) for side in sides} for _ in range(ROUNDS)
            ]
            _add_rates(answer, f"{count} x {batch}", rounds)
    rounds = [
        {
            side: writers.rate(side, WRITERS, 20, SECONDS, shared=True)
            for side in sides
            if "tables" not in side
        }
        for _ in range(ROUNDS)
    ]
    _add_rates(answer, f"{WRITERS} x 20, one stream", rounds)
    if _library.installed():
        sides.append(RECORDER)
    rounds = [
        {side: writers.rate(side, WRITERS, BATCH, COUNTED_SECONDS) for side in sides}
        for _ in range(COUNTED_ROUNDS)
    ]
    _add_rates(answer, f"{WRITERS} x {BATCH}", rounds)
    writers.close()
    if _library.installed():
        answer.figures |= {
            "append_ratio": _ratio(rounds, OURS, (SAFE, FUNCTIONS)),
            "append_tables_ratio": _ratio(rounds, OURS_WITH_TABLES, (SAFE, FUNCTIONS)),
            "append_recorder_ratio": _ratio(rounds, OURS, (RECORDER,)),
        }
        answer.notes.append(
            "eventsourcing with db functions takes no lock: a reader of its notifications loses events"
        )


def _add_rates(answer: Figures, what: str, rounds: list[dict[str, float]]) -> None:
    for side in rounds[0]:
        answer.add(f"append {what}, {side}", [taken[side] for taken in rounds], "events/s")


def _ratio(rounds: list[dict[str, float]], ours: str, theirs: Iterable[str]) -> float:
    return statistics.median(taken[ours] / max(taken[side] for side in theirs) for taken in rounds)


# ---------------------------------------------------------------- histories


def write(commits: Iterable[Commit], name: str) -> int:
    """Append them to a new stream, without tables; many in a transaction, each under a command of its own."""
    with transaction.atomic():
        stream_id = store.open_stream("cluster", name)
    seq, number = 0, 0
    waiting = iter(commits)
    while some := list(islice(waiting, COMMITS_AT_ONCE)):
        with transaction.atomic():
            for commit in some:
                number += 1
                seq = store.append(
                    stream_id, seq, commit.events, actor=commit.actor, command_id=f"bench-{number:07}",
                    cause=commit.causes, now=commit.at,
                ).last  # fmt: skip
    return stream_id


def until(events: int, life: Life) -> Iterable[Commit]:
    told = 0
    for commit in life.commits():
        if told >= events:
            return
        told += len(commit.events)
        yield commit


def from_zero(stream_id: int) -> ClusterState:
    return fold.fold(ClusterState(), store.read(stream_id))


# ---------------------------------------------------------------- rebuild


def rebuilding(answer: Figures) -> None:
    commits = list(until(REBUILT, Life("rebuilt", seed=1)))
    stream_id = write(commits, "rebuilt")
    ours: list[float] = []
    theirs: list[float] = []
    if _library.installed():
        library = _library.Library(os.environ["DATABASE_OWNER_URL"], _library.SAFE)
        cluster = library.begin()
        version = library.last(cluster)
        for commit in commits:
            version = library.append(cluster, version, _library.bodies(commit.events))
    del commits
    for _ in range(REBUILDS):
        ours.append(seconds(lambda: from_zero(stream_id)))
        if _library.installed():
            theirs.append(seconds(lambda: library.rebuild(cluster)))
    answer.add(f"rebuild of {REBUILT:,} events, ours", ours, "s")
    if not _library.installed():
        return
    answer.add(f"rebuild of {REBUILT:,} events, eventsourcing", theirs, "s")
    _agree(from_zero(stream_id), library.rebuild(cluster))
    library.close()
    answer.figures["rebuild_ratio"] = statistics.median(b / a for a, b in zip(ours, theirs, strict=True))


def _agree(state: ClusterState, cluster: Any) -> None:
    used = {
        name: {resource: amount for resource, amount in state.used(name).items() if amount}
        for name in state.nodes
    }
    found = {
        name: {resource: amount for resource, amount in amounts.items() if amount}
        for name, amounts in cluster.used.items()
    }
    if (used, state.pods.keys(), state.groups.keys()) != (found, cluster.pods.keys(), cluster.groups.keys()):
        raise SystemExit("Our state and the aggregate of eventsourcing disagree.")


# ---------------------------------------------------------------- a million


def a_million(answer: Figures) -> None:
    life = Life("million")
    stream_id = 0

    def make() -> None:
        nonlocal stream_id
        stream_id = write(until(MANY, life), "million")

    answer.add(f"make and append {MANY:,} events, no tables", [seconds(make)], "s")
    with psycopg.connect(os.environ["DATABASE_OWNER_URL"], autocommit=True) as owner:
        owner.execute("vacuum analyze scheduling_event")  # what autovacuum does with time
    gc.collect()
    rebuilt = seconds(lambda: from_zero(stream_id))
    answer.add(f"state of {MANY:,} events", [rebuilt], "s")
    verified = seconds(lambda: _verify(stream_id))
    answer.add(f"chain of {MANY:,} events verified", [verified], "s")
    tables = seconds(lambda: rebuild.rebuild(stream_id))
    answer.add(f"tables of {MANY:,} events rebuilt", [tables], "s")
    answer.add("tables rebuilt", [store.head(stream_id).seq / tables], "events/s")
    answer.add("state at the head, leaving snapshots", [seconds(lambda: fold.state_at(stream_id))], "s")
    middle = time_rounds(lambda: fold.state_at(stream_id, MANY // 2), rounds=5)
    answer.add("state in the middle, with snapshots", middle)
    answer.figures |= {
        "rebuild_1m_s": rebuilt,
        "verify_1m_s": verified,
        "tables_1m_s": tables,
        "state_at_ms": statistics.median(middle),
        "history_page_ms": history_page(answer, stream_id, life),
    }


def _verify(stream_id: int) -> None:
    report = verify_chain(stream_id)
    if not report.ok:
        raise SystemExit(report.sentence)


def history_page(answer: Figures, stream_id: int, life: Life) -> float:
    """The worst median, in milliseconds, of the page as a signed-in reader gets it."""
    from django.contrib.auth import get_user_model

    from scheduling.models import Cluster, Event

    cluster = Cluster.objects.get(pk=stream_id)
    reader = get_user_model().objects.create_superuser("bench", password=None)
    client = Client(headers={"host": settings.ALLOWED_HOSTS[0]})
    client.force_login(reader)
    pod = (
        Event.objects.filter(stream_id=stream_id, type="PodRemoved", seq__gt=MANY // 3)
        .order_by("seq")
        .first()
    )
    cause = (
        Event.objects.filter(stream_id=stream_id, cause__isnull=False, seq__gt=MANY // 2)
        .order_by("seq")
        .first()
    )
    assert pod is not None and cause is not None
    asked = {
        "newest": {},
        "deep": {"before": MANY // 2},
        "a common type": {"type": "PodAdded"},
        "a rare type": {"type": "SnapshotImported"},
        "a type that never was": {"type": "PodGroupConflicted"},
        "one object": {"subject": pod.subject, "namespace": pod.namespace, "name": pod.name},
        "a namespace": {"namespace": pod.namespace},
        "an actor": {"actor": "user:leslie"},
        "an actor who never was": {"actor": "user:nobody"},
        "a cause": {"cause": cause.cause},
        "text": {"text": "train-llm-000123-1"},
        "text that never was": {"text": "no such text"},
        "a time": {"until": pod.recorded_at.isoformat()},
    }
    worst = 0.0
    for what, parameters in asked.items():

        def get(parameters: dict[str, object] = parameters) -> None:
            response = client.get(f"/c/{cluster.name}/history", parameters)
            assert response.status_code == 200, response.status_code

        taken = time_rounds(get, rounds=PAGE_ROUNDS)
        answer.add(f"history page: {what}", taken)
        worst = max(worst, statistics.median(taken))
    return worst


# ---------------------------------------------------------------- cold start


def cold_start(answer: Figures) -> None:
    life = Life("cold", COLD_NODES, COLD_RACK, seed=3, use=0.8)
    woken: dict[str, int | None] = {}
    told = [life.beginning(), *life.happenings(woken), *life.cycle(woken), life.submit(woken)]
    key = life.gangs[-1][0]  # submitted last, and waiting
    stream_id = write(told, "cold")
    state = from_zero(stream_id)
    rebuild.rebuild(stream_id)
    snapshot_store.save(stream_id, state, store.head(stream_id).hash)
    del state

    def ours() -> None:
        found = snapshot_store.nearest(stream_id, store.head(stream_id).seq)
        assert found is not None
        decide(found[0], key)

    def objects() -> None:
        list(NodeRow.objects.filter(cluster_id=stream_id))
        list(PodRow.objects.filter(cluster_id=stream_id, removed=False))

    snapshots: list[float] = []
    rows: list[float] = []
    for _ in range(COLD_ROUNDS):
        snapshots += time_rounds(ours, rounds=1)
        rows += time_rounds(objects, rounds=1)
    pods = PodRow.objects.filter(cluster_id=stream_id, removed=False).count()
    answer.add(f"cold start, {COLD_NODES:,} nodes and {pods:,} pods, and a decision", snapshots)
    answer.add("the same rows as ORM objects", rows)
    answer.figures["cold_start_ratio"] = statistics.median(
        a / b for a, b in zip(snapshots, rows, strict=True)
    )
