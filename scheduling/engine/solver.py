"""The most members of several shapes that one domain holds, asked of HiGHS, an integer programming solver.

It calculates in floating point: what it finds is counted again in whole numbers before it is believed, and
what it calls infeasible is told as the solver's word. Limits are counts of its own steps and one thread with
a fixed seed is used, so that a replay gives the same answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

import numpy as np

from scheduling.engine.box import Box
from scheduling.engine.columns import Ints

MOST_VARIABLES = 4096
"""Kinds times nodes beyond which the solver is not asked."""

MOST_NODES = 20_000
"""Limit of branch and bound nodes."""

MOST_PIVOTS = 500_000
"""Limit of simplex iterations of any one linear programme."""


@dataclass(frozen=True, slots=True)
class Solved:
    """``takes``: [kind, node] of the best packing found, None for none. ``refuted``: the solver says that
    none has the members asked for.
    """

    takes: Ints | None
    refuted: bool


def most(box: Box, missing: int) -> Solved:
    """A packing with at least ``missing`` members, and the most of them when fewer than all are asked for."""
    # Imported when first asked: it costs 30 MB of memory, and most groups never come so far.
    import highspy

    caps = np.stack(box.alone)
    upper = np.minimum(caps, np.array(box.counts)[:, None])
    kinds, nodes = np.nonzero(upper)
    if not len(kinds):
        return Solved(None, refuted=True)
    if len(kinds) > MOST_VARIABLES:
        return Solved(None, refuted=False)
    model = highspy.Highs()  # type: ignore[no-untyped-call]
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("parallel", "off"),
        ("random_seed", 0),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 0.5),
        ("mip_max_nodes", MOST_NODES),
        ("simplex_iteration_limit", MOST_PIVOTS),
    ):
        model.setOptionValue(option, value)
    everybody = missing == box.wanted
    count = len(kinds)
    infinity = highspy.kHighsInf
    model.addVars(count, np.zeros(count), upper[kinds, nodes].astype(np.float64))
    for column in range(count):
        model.changeColIntegrality(column, highspy.HighsVarType.kInteger)
        if not everybody:
            model.changeColCost(column, -1.0)
    ones = np.ones(count)
    for kind, members in enumerate(box.counts):
        columns = np.flatnonzero(kinds == kind).astype(np.int32)
        least = members if everybody else -infinity
        model.addRow(float(least), float(members), len(columns), columns, ones[: len(columns)])
    if not everybody:
        model.addRow(float(missing), infinity, count, np.arange(count, dtype=np.int32), ones)
    for resource in range(box.free.shape[0]):
        unit = gcd(*box.asks[:, resource].tolist())
        if not unit:
            continue
        asks = box.asks[:, resource] // unit
        offers = np.maximum(box.free[resource], 0) // unit
        scale = float(asks.max())
        for node in np.unique(nodes).tolist():
            columns = np.flatnonzero((nodes == node) & (asks[kinds] > 0)).astype(np.int32)
            if len(columns):
                model.addRow(
                    -infinity, offers[node] / scale, len(columns), columns, asks[kinds[columns]] / scale
                )
    model.run()
    status = model.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Solved(None, refuted=True)
    solution = model.getSolution()
    if not solution.value_valid:
        return Solved(None, refuted=False)
    takes = np.zeros(caps.shape, np.int64)
    takes[kinds, nodes] = np.rint(np.array(solution.col_value)).astype(np.int64)
    return Solved(takes if box.holds(takes) else None, refuted=False)
