"""Two results of scenarios side by side: verdicts, and what differs between the ends of their forks.

::

    {
      "a": SIDE, "b": SIDE,             # {"number", "scenario", "base", "profile", "verdict", "end", "after"}
      "same": {"base", "steps", "profile"},        # whether the two began and were played alike
      "groups": [{"key", "differs": [field], "a": STANDING | null, "b": STANDING | null}], "group_count",
      "difference": {...}               # as of outcome, from the end of a to the end of b
    }

``groups``: those that stand otherwise in ``status``, ``domains``, ``verdict``, ``reason``, ``need``,
``members`` or ``bound``. SIDE, STANDING: parts of results, see ``outcome``. Objects that steps made in both
have uids of their own in each, which counts as a difference of objects but not of groups.
"""

from __future__ import annotations

from typing import Any

from scheduling.engine.state import ClusterState
from scheduling.models import Run
from scheduling.scenarios import outcome
from scheduling.scenarios.scenario_runs import fork_state, result_of
from scheduling.selectors.differences import compare

Json = dict[str, Any]

_FIELDS = ("status", "domains", "verdict", "reason", "need", "members", "bound")


def compared(a: Run, b: Run) -> Json:
    """Raises Refused for a run that has no result, and LookupError as ``fork_state``."""
    one, other = result_of(a), result_of(b)
    first, second = fork_state(a), fork_state(b)
    groups = differing(first, second)
    return {
        "a": _side(a, one),
        "b": _side(b, other),
        "same": {
            "base": (a.cluster_id, a.base_seq) == (b.cluster_id, b.base_seq),
            "steps": a.document.get("steps", []) == b.document.get("steps", []),
            "profile": one["profile"] == other["profile"],
        },
        "groups": groups[: outcome.MOST],
        "group_count": len(groups),
        "difference": outcome.difference(compare(first, second)),
    }


def differing(a: ClusterState, b: ClusterState) -> list[Json]:
    """Groups that do not stand alike in both, by key."""
    found = []
    for key in sorted({*a.group_keys(), *b.group_keys()}):
        one, other = outcome.standing(a, key), outcome.standing(b, key)
        fields = [name for name in _FIELDS if _field(one, name) != _field(other, name)]
        if fields:
            found.append({"key": key, "differs": fields, "a": one, "b": other})
    return found


def _field(standing: Json | None, name: str) -> Any:
    return standing[name] if standing is not None else None


def _side(run: Run, result: Json) -> Json:
    named = {name: result[name] for name in ("base", "profile", "verdict", "end", "after")}
    return {"number": run.number, "scenario": run.scenario, **named}
