"""How long what is tried out takes. `bench scenarios kueue scenario batch` takes these parts, or those of
them that are named; each is a file of its own, which says how it measures.

The figures of the closing JSON line, null where they could not be taken:

``kueue_load_s``, ``kueue_load_use``: seconds for the load of Kueue's own test (640 nodes, 15,000 workloads)
in virtual time, and the share of the CPU that was in use, as ``_kueue`` defines it.
``scenario_15k_s``: seconds from the request to the result of a scenario on a cluster of 15,000 nodes.
``batch_1000_s``: seconds of a batch of 1,000 points with all workers of this machine.
"""

from importlib import import_module

from bench import Figures

NEEDS_STACK = True
DURABLE = True

PARTS = {"kueue": "_kueue", "scenario": "_scenario_15k", "batch": "_batch"}
FIGURES = ("kueue_load_s", "kueue_load_use", "scenario_15k_s", "batch_1000_s")


def main(argv: list[str]) -> Figures:
    question = "How long do a trace, a scenario on 15,000 nodes and a batch of 1,000 points take?"
    answer = Figures(question, FIGURES)
    named = [word for word in argv if word in PARTS]
    for name in named or PARTS:
        import_module(f"bench.{PARTS[name]}").measure(answer)
    return answer
