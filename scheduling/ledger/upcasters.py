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

UPCASTERS: dict[str, Steps] = {
    "PodGroupUnschedulable": {1: lambda body: body | {"lost_to": None}},
}
"""Type name -> its steps."""
