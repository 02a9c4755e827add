"""Scenarios made of what the console already knows could help. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from scheduling.engine import change_steps as changes
from scheduling.scenarios import steps as s


def from_changes(group_key: str, wanted: Iterable[changes.Step], scope_key: str = "") -> tuple[s.Part, ...]:
    """The steps of a change set for the group (``engine.changes``). ``scope_key``: the topology key whose
    domains were looked at, "" for none.
    """
    return tuple(_step(group_key, change, scope_key) for change in wanted)


def _step(key: str, change: changes.Step, scope_key: str) -> s.Part:
    match change:
        case changes.Uncordon(node):
            return s.Uncordon(node=node)
        case changes.NodeReady(node):
            return s.SetReady(node=node, ready=True)
        case changes.Tolerate():
            return s.Tolerate.model_validate(
                {"group": key, "key": change.key, "value": change.value, "effect": change.effect}
            )
        case changes.LabelNode(node, label, value):
            return s.SetLabel(node=node, label=label, value=value)
        case changes.AddNodes(domain, like, count):
            return s.AddNodes(count=count, like=like, key=scope_key, domain=domain if scope_key else "")
        case changes.ReleaseReservation(name):
            return s.ReleaseReservation(name=name)
        case changes.EndGroup(group):
            return s.EndGroup(group=group)
        case changes.NewGeneration(min_count):
            return s.ChangeMinCount(group=key, min_count=min_count)
        case changes.Ungate(count):
            return s.Ungate(group=key, count=count)
        case changes.AddMembers(count):
            return s.AddMembers(group=key, count=count)
