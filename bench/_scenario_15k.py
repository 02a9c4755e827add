"""How long does a scenario on a cluster of 15,000 nodes take, from the request to the stored result?

The cluster: 15,000 nodes of 8 GPUs in racks of 32, and gangs that ask for a little more than all GPUs, so
that some of them wait, each decided by a cycle; its log as the console would have written it, with a
snapshot of some hundred events before the newest one, as workers leave it behind. The scenario: the nodes of
one rack are lost with what runs there, and a gang of 24 members of 8 GPUs is submitted, at the newest event.

A sample is the wall-clock time of ``scenario_runs.ask`` and of the slices of ``runs.work``, in one process,
without a queue between: what the run waits for a free worker is not in it. Cold: nothing of the cluster is in
the memory of the process, as in a worker that has just begun; warm: the state at that event is. The figure
is the slower one, the median of the cold samples.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable

from django.db import transaction

from bench import Figures
from bench._histories import GPU, RACK, Commit, Life
from scheduling.ledger import snapshot_store, store
from scheduling.models import Cluster, Run
from scheduling.projections import rebuild
from scheduling.scenarios import documents, runs, scenario_runs
from scheduling.selectors import past_states
from scheduling.services import cycles
from scheduling.services import state as states

NODES, NODES_IN_RACK = 15_000, 32
ASKED = 1.02
ROUNDS = 5


def measure(answer: Figures) -> None:
    """Sets ``scenario_15k_s``."""
    life = Life("bench-15k", NODES, NODES_IN_RACK, use=ASKED)
    woken: dict[str, int | None] = {}
    stream_id = write([life.beginning(), *life.happenings(woken), *life.cycle(woken)])
    snapshot_store.save(stream_id, life.state.fork(), store.head(stream_id).hash)
    write([*life.happenings(woken), *life.cycle(woken)], stream_id)
    rebuild.rebuild(stream_id)
    cycles.run_cycle(stream_id)
    cluster, head = Cluster.objects.get(pk=stream_id), store.head(stream_id)
    waiting = sum(1 for verdict in life.state.verdicts.values() if verdict.verdict != "placed")
    lost = sorted({node.label(RACK) or "" for node in life.state.nodes.values()})[17]
    document = documents.read(
        {
            "steps": [
                {"step": "lose_nodes", "key": RACK, "domain": lost},
                {
                    "step": "submit", "namespace": "bench", "name": "new", "min_count": 24,
                    "topology_key": RACK, "templates": [{"count": 24, "requests": {"cpu": "8", GPU: "8"}}],
                },
            ]
        }
    )  # fmt: skip

    def once() -> float:
        began = time.perf_counter()
        run = scenario_runs.ask(cluster=cluster, document=document, actor="bench")
        while runs.work(run.pk):
            pass
        taken = time.perf_counter() - began
        run = Run.objects.get(pk=run.pk)
        if run.status != Run.Status.DONE:
            raise RuntimeError(run.error)
        timings.append(run.result["timing"])
        return taken

    timings: list[dict[str, int]] = []

    def forgotten() -> float:
        past_states.clear()
        scenario_runs.clear()
        states._states.clear()
        return once()

    once()  # imports, prepared statements
    cold = [forgotten() for _ in range(ROUNDS)]
    warm = [once() for _ in range(ROUNDS)]
    answer.add("scenario on 15,000 nodes, cold", [1000 * taken for taken in cold])
    answer.add("scenario on 15,000 nodes, warm", [1000 * taken for taken in warm])
    answer.figures["scenario_15k_s"] = statistics.median(cold)
    for what, some in (("cold", timings[-2 * ROUNDS : -ROUNDS]), ("warm", timings[-ROUNDS:])):
        for name in ("load_cpu_us", "decide_cpu_us", "play_cpu_us", "outcome_cpu_us", "store_clock_us"):
            answer.add(f"of a {what} one, {name[:-3]}", [timing[name] / 1000 for timing in some])
    answer.notes.append(
        f"{NODES:,} nodes, {len(life.state.pods):,} pods in {len(life.state.groups):,} groups, of which "
        f"{waiting:,} wait; {head.seq:,} events; rack {lost} lost"
    )


def write(commits: Iterable[Commit], stream_id: int | None = None) -> int:
    """Append what a life tells; to a new stream when none is given."""
    with transaction.atomic():
        if stream_id is None:
            stream_id = store.open_stream("cluster", "bench-15k")
        for commit in commits:
            seq = store.head(stream_id).seq
            store.append(
                stream_id, seq, commit.events, actor=commit.actor, command_id=f"after-{seq}", now=commit.at,
                cause=commit.causes, tell=False,
            )  # fmt: skip
    return stream_id
