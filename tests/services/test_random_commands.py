"""Commands in random order on PostgreSQL: log, memory and tables tell the same, whatever was asked."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from scheduling.engine.canary import Canary, Scope
from scheduling.engine.waits import ACTIONS
from scheduling.ledger import fold, snapshots
from scheduling.ledger.verify import verify_chain
from scheduling.models import Cluster
from scheduling.services import (
    canary,
    clusters,
    cycles,
    deadlines,
    generations,
    lost_domains,
    nodes,
    workloads,
)
from scheduling.services.canary import CanaryWish
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.execute import now_ms
from scheduling.services.generations import NextGeneration
from scheduling.services.problems import Refused
from scheduling.services.state import state_of
from scheduling.services.submitting import MemberTemplate
from tests.services.builders import GPU, RACK, form, node, text

NAMES = [f"n{number}" for number in range(8)]


def some_node(dice: random.Random) -> Any:
    return node(
        dice.choice(NAMES), dice.choice(["r1", "r2", None]), gpu=dice.randint(0, 4), ready=dice.random() > 0.2
    )


def import_nodes(cluster: Cluster, dice: random.Random) -> None:
    found = {made["metadata"]["name"]: made for made in (some_node(dice) for _ in range(dice.randint(1, 8)))}
    complete = frozenset(dice.choice([[], ["Node"]]))
    import_cluster(
        name=cluster.name, request=ImportRequest(text(*found.values()), complete=complete), actor="t"
    )


def submit(cluster: Cluster, dice: random.Random) -> None:
    template = MemberTemplate("", dice.randint(1, 5), {"cpu": "1", GPU: str(dice.randint(0, 2))})
    wanted = form(
        f"g{dice.randint(0, 4)}",
        min_count=dice.randint(1, template.count),
        topology_key=dice.choice([RACK, ""]),
        templates=(template,),
    )
    workloads.submit(cluster=cluster, form=wanted, actor="t")


def end(cluster: Cluster, dice: random.Random) -> None:
    workloads.end_group(cluster=cluster, namespace="default", name=f"g{dice.randint(0, 4)}", actor="t")


def delete_member(cluster: Cluster, dice: random.Random) -> None:
    uid = dice.choice([*sorted(state_of(cluster).pods), "none"])
    workloads.delete_member(cluster=cluster, uid=uid, actor="t")


def cordon(cluster: Cluster, dice: random.Random) -> None:
    dice.choice([nodes.cordon, nodes.uncordon])(cluster=cluster, node=dice.choice(NAMES), actor="t")


def switch(cluster: Cluster, dice: random.Random) -> None:
    clusters.set_gate(cluster=cluster, gate="GangScheduling", enabled=dice.random() > 0.5, actor="t")


def try_out(cluster: Cluster, dice: random.Random) -> None:
    """A canary begins, or a person says what becomes of the last one."""
    canaries = list(state_of(cluster).records.of(Canary))
    if not canaries or dice.random() < 0.4:
        stages = (Scope(groups=(f"default/g{dice.randint(0, 4)}",)), Scope(("default",)), Scope(whole=True))
        limits = dict(dice.choice([(("errors", 0),), (("pending", 9),), (("wait_longest", 1_000),)]))
        wish = CanaryWish(stages[: dice.randint(1, 3)], limits, 1_000, dice.choice(["scope", "gate"]))
        canary.start(cluster=cluster, wish=wish, actor="t")
        return
    command = dice.choice([canary.approve, canary.widen, canary.roll_back_now, canary.stop])
    command(cluster=cluster, name=canaries[-1], actor="t")


def wait(cluster: Cluster, dice: random.Random) -> None:
    """A deadline of a group or of the cluster, of which some are past by the next cycle."""
    after, action = dice.choice([None, 1, 3_600_000]), dice.choice(ACTIONS)
    if dice.random() < 0.5:
        deadlines.set_policy(cluster=cluster, after=after, action=action, actor="t")
        return
    deadlines.set_deadline(
        cluster=cluster,
        namespace="default",
        name=f"g{dice.randint(0, 4)}",
        at=None if after is None else now_ms() + 100 * after,
        action=action,
        actor="t",
    )


def supersede(cluster: Cluster, dice: random.Random) -> None:
    wanted = NextGeneration(
        dice.choice([None, RACK, ""]), dice.choice([None, 1, 2]), elastic=dice.random() < 0.5
    )
    name = f"g{dice.randint(0, 4)}"
    generations.open_next(cluster=cluster, namespace="default", name=name, wanted=wanted, actor="t")


def mark(cluster: Cluster, dice: random.Random) -> None:
    command = dice.choice([lost_domains.mark, lost_domains.take_back])
    command(cluster=cluster, topology_key=RACK, domain=dice.choice(["r1", "r2"]), actor="t")


def cycle(cluster: Cluster, dice: random.Random) -> None:
    cycles.run_cycle(cluster.pk)


COMMANDS: list[Callable[[Cluster, random.Random], None]] = [
    import_nodes, submit, submit, submit, end, delete_member, cordon, switch, cycle, cycle, cycle,
    wait, wait, supersede, mark, try_out, try_out, try_out,
]  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
def test_log_memory_and_tables_agree_after_any_commands(seed: int, make: Any, tables_agree: Any) -> None:
    dice = random.Random(seed)
    cluster = make(*(node(name, dice.choice(["r1", "r2"]), gpu=4) for name in NAMES))
    refused = 0
    for _ in range(60):
        try:
            dice.choice(COMMANDS)(cluster, dice)
        except Refused:
            refused += 1
    assert 0 < refused < 50, "most commands must have done something"
    kept, told = state_of(cluster), fold.state_at(cluster.pk)
    for what in ("seq", "mode", "gates", "nodes", "pods", "groups", "verdicts"):
        assert getattr(kept, what) == getattr(told, what)
    assert snapshots.pack(kept) == snapshots.pack(told)
    assert kept.seq > 60
    assert verify_chain(cluster.pk).ok
    tables_agree(cluster)
