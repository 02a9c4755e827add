"""The releases of kube-scheduler that are followed, and everything in which they differ: one table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Release:
    """``stops_early``: a placement is given up as soon as the members still to be tried cannot bring the
    group to minCount; otherwise every member is tried. ``equal_priority``: members of another priority than
    the group's make the cycle end in an error.
    """

    name: str
    stops_early: bool
    equal_priority: bool


RELEASES: dict[str, Release] = {
    release.name: release
    for release in (
        Release("upstream-1.36", stops_early=False, equal_priority=False),
        Release("upstream-1.37", stops_early=True, equal_priority=True),
    )
}
"""By profile. That minCount may change in 1.37 is a rule of its API (v1beta1), not of its scheduler: both
read the minCount that stands in the PodGroup at the start of the cycle.
"""
