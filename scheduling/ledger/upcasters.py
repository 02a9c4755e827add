"""How bodies of older schema versions become bodies of newer ones, when they are read.

The log is never rewritten. When an event type changes its form, its ``VERSION`` goes up by one and the step
from the version before is added here: a pure function that takes the old body and returns the new one,
defaults spelled out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Steps = dict[int, Callable[[dict[str, Any]], dict[str, Any]]]
"""Version -> step from it to the next one."""


def _same(body: dict[str, Any]) -> dict[str, Any]:
    """The newer version has a field more, and its default is what the older one meant."""
    return body


UPCASTERS: dict[str, Steps] = {
    "NodeAdded": {1: _same},  # node.zones: none were known
    "NodeUpdated": {1: _same},  # changes: zones were not there to change
    "PodGroupCreated": {1: _same},  # why, checkpoint: nobody said; the group's annotations: none were read
    "PodGroupUpdated": {1: _same},  # changes: annotations were not there to change
    "PodAdded": {1: _same},  # pod.shape.spread: was not kept
    "PodUpdated": {1: _same},  # changes: nor in a shape that changed
    # engine: it was the first one; decided_on: not told
    "PodGroupPlaced": {1: _same},
    "PodGroupUnschedulable": {1: lambda body: body | {"lost_to": None}, 2: _same},
    "PodGroupHeld": {1: _same},
    "PodGroupConflicted": {1: _same},
    "PodGroupSettled": {1: _same},
    "DomainLost": {1: _same},
    "PlacementForecast": {1: _same},
}
"""Type name -> its steps."""
