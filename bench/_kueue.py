"""The load of Kueue's performance test in virtual time: 640 nodes, 15,000 workloads, 45,000 members.

``kueue_load_s``: seconds by the clock for the whole replay, from the trace in memory to its result; the table
has the processor time beside it. ``kueue_load_use``: percent of the CPU quota of all queues that was in use,
as Kueue's runner measures it for its queues: milli-cores of admitted workloads times milliseconds, by the
nominal quota of all queues times the time from the first event to the last. Its own runs reach 62.4; there
time is real, so that what controllers take counts too, which virtual time leaves out.
"""

from __future__ import annotations

import time

from bench import Figures
from scheduling.engine.model import TAS_GATES
from scheduling.scenarios import kueue_load
from scheduling.scenarios.virtual_time import Replay, ground

ROUNDS = 3


def measure(answer: Figures) -> None:
    trace = kueue_load.trace()
    seconds, used, share = [], [], 0
    for _ in range(ROUNDS):
        replay = Replay(trace, ground(trace.nodes, dict.fromkeys(TAS_GATES, True)))
        began, processor = time.perf_counter(), time.process_time()
        while replay.step():
            pass
        result = replay.result()
        seconds.append(time.perf_counter() - began)
        used.append(time.process_time() - processor)
        if result["placed"] != len(trace.submissions):
            raise RuntimeError(f"{result['placed']} of {len(trace.submissions)} workloads were placed")
        share = result["quota_use"][0]["per_mille"]
    answer.add("load of Kueue's test, clock", seconds, "s")
    answer.add("load of Kueue's test, processor", used, "s")
    answer.figures["kueue_load_s"] = sorted(seconds)[ROUNDS // 2]
    answer.figures["kueue_load_use"] = share / 10
