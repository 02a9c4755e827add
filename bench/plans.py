"""Whether plans hold when they are carried out, whether something smaller would do, and how fast victims are
found.

Random clusters (``_plans``) with a group that waits; each option of a scale-up plan and each preemption
proposal is approved, its events are folded, a cycle decides: the group must run, and with any one node or
victim left out it must not. In small cases every cheaper choice is carried out too. The figures of the
closing JSON line:

``preemption_2000_700_s``: seconds of processor time to find victims in 2,000 nodes among 700 groups that may
go, the slowest median of three kinds of clusters.
``scale_up_plans_that_hold``, ``preemption_plans_that_hold``: share of 200 random waiting groups each.
``plans_minimal``: share of the small cases of both in which nothing smaller or cheaper does.
"""

import time
from random import Random

from bench import Figures, Row
from bench._clusters import NODE, RACK, shape
from bench._plans import Tally, preemption_verdict, scale_up_verdict, tally
from scheduling.engine.model import TAS_GATES, Node, Pod, PodGroup
from scheduling.engine.preemption import Proposal, search
from scheduling.engine.state import ClusterState

PLANS = 200
NODES, RACK_SIZE, VICTIMS, ROUNDS = 2000, 40, 700, 7
KEY = "bench/wanted"
KEYS = (
    "preemption_2000_700_s",
    "scale_up_plans_that_hold",
    "preemption_plans_that_hold",
    "plans_minimal",
)


def main(argv: list[str]) -> Figures:
    answer = Figures(
        "Plans around a waiting group: do they hold, is less enough, how fast are they found", KEYS
    )
    speed(answer)
    verdicts(answer)
    return answer


# ---------------------------------------------------------------- how fast


def full_cluster(kind: str, seed: int) -> ClusterState:
    """2,000 nodes held by 700 gangs of lower priority (every fifth of ``elastic`` has members to spare, those
    of ``mixed`` are of two sizes of members, as the group that waits), and the rest by pods of nobody.
    """
    dice, state = Random(f"{kind}-{seed}"), ClusterState()
    for gate in TAS_GATES:
        state.set_gate(gate, True)
    names = [f"node-{number:04}" for number in range(NODES)]
    for number, name in enumerate(names):
        state.set_node(Node(name, name, ((RACK, f"rack-{number // RACK_SIZE:02}"),), allocatable=NODE))
    left = dict.fromkeys(names, 8)

    def put(group: str, number: int, gpus: int, node: str) -> None:
        name = f"{group or 'alone'}-{number}"
        left[node] -= gpus
        asked = shape(gpus, 4000 * gpus, 32 * gpus)
        created = dice.randint(1, 1 << 40)
        state.set_pod(Pod("bench", name, name, asked, node, group, phase="Running", created=created))

    racks = [names[start : start + RACK_SIZE] for start in range(0, NODES, RACK_SIZE)]
    for number in range(VICTIMS):
        group, gpus, size = f"run-{number}", dice.choice([1, 2, 4, 4, 8]), dice.randint(2, 8)
        free = [name for name in racks[number % len(racks)] for _ in range(left[name] // gpus)]
        chosen = dice.sample(free, min(size, len(free)))
        for member, node in enumerate(chosen):
            put(group, member, gpus if kind != "mixed" or member % 2 else max(1, gpus // 2), node)
        spare = kind == "elastic" and number % 5 == 0 and len(chosen) > 1
        state.set_group(
            PodGroup(
                "bench", group, group, "gang", max(1, len(chosen) - spare), RACK,
                priority=dice.randint(0, 4), created=number, elastic=spare,
            )
        )  # fmt: skip
    for number, name in enumerate(names):
        if left[name]:
            put("", number, left[name], name)
    state.set_group(PodGroup("bench", "wanted", "wanted", "gang", 32, RACK, priority=9))
    for member in range(32):
        gpus = 2 if kind == "mixed" and member % 2 else 4
        state.set_pod(Pod("bench", f"w-{member}", f"w-{member}", shape(gpus, 16_000, 16), group="wanted"))
    return state


def speed(answer: Figures) -> None:
    medians = []
    for kind in ("alike", "elastic", "mixed"):
        samples, proved, found = [], 0, 0
        for seed in range(ROUNDS):
            state = full_cluster(kind, seed)
            began = time.process_time()
            made = search(state, KEY)
            samples.append((time.process_time() - began) * 1000)
            found += isinstance(made, Proposal)
            proved += isinstance(made, Proposal) and made.proved_smallest
        answer.add(f"victims among {VICTIMS} groups, {kind}", samples)
        medians.append(Row(kind, samples).median)
        answer.notes.append(f"{kind}: {found} of {ROUNDS} with a proposal, {proved} proved the cheapest")
    answer.figures["preemption_2000_700_s"] = max(medians) / 1000


# ---------------------------------------------------------------- whether they hold


def verdicts(answer: Figures) -> None:
    tallies: list[Tally] = []
    for name, verdict in (("scale_up", scale_up_verdict), ("preemption", preemption_verdict)):
        large, small = tally(verdict, PLANS), tally(verdict, PLANS, small=True)
        answer.figures[f"{name}_plans_that_hold"] = large.hold / large.plans
        tallies += [large, small]
        for size, one in (("random", large), ("small", small)):
            answer.notes.append(
                f"{name}, {size}: {one.hold} of {one.plans} hold; {one.minimal} of {one.tried} tried out in "
                f"full are the cheapest; {one.missed} groups without a proposal though something would do"
            )
            answer.notes += [f"  {fault}" for fault in one.faults[:10]]
    tried = sum(one.tried for one in tallies)
    answer.figures["plans_minimal"] = sum(one.minimal for one in tallies) / tried if tried else None
