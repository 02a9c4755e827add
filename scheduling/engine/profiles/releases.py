"""The releases of kube-scheduler that are followed, and everything in which they differ: one table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Release:
    """``stops_early``: a placement is given up as soon as the members still to be tried cannot bring the
    group to minCount; otherwise every member is tried. ``equal_priority``: members of another priority than
    the group's make the cycle end in an error. ``rolls_order``: members of one priority that were never tried
    before come in the order of a walk through a Go map, which begins anywhere; otherwise oldest first. (In
    each of the 180 recorded placements of three to eight members the real scheduler took them in order of
    creation from some member on and around.)
    """

    name: str
    stops_early: bool
    equal_priority: bool
    rolls_order: bool


RELEASES: dict[str, Release] = {
    release.name: release
    for release in (
        Release("upstream-1.36", stops_early=False, equal_priority=False, rolls_order=True),
        Release("upstream-1.37", stops_early=True, equal_priority=True, rolls_order=False),
    )
}
"""By profile. That minCount may change in 1.37 is a rule of its API (v1beta1), not of its scheduler: both
read the minCount that stands in the PodGroup at the start of the cycle.
"""
