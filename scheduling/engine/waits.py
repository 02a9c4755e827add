"""What is recorded of waits: a group held to its domain, until when a group may wait, and domains that an
operator marked lost. Times are milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

ACTIONS = ("alert", "propose", "close")
"""What the end of a deadline does: tell it; tell it and propose the next way out; end the generation."""


@dataclass(frozen=True, slots=True)
class StickyWait:
    """Members of the generation ``uid`` wait for room in the one domain that those on nodes pin, or that is
    lost. ``id``: group key; ``domain``: None when it cannot be told; ``seq``: of the event that tells it.
    """

    id: str
    uid: str
    topology_key: str
    domain: str | None
    since: int
    seq: int


@dataclass(frozen=True, slots=True)
class WaitDeadline:
    """Until when the generation ``uid`` may wait for minCount. ``id``: group key; ``at``: None for as long as
    it takes, whatever the default of the cluster; ``expired_at``: when it was found to be past, None before.
    """

    id: str
    uid: str
    at: int | None
    action: str
    expired_at: int | None = None


@dataclass(frozen=True, slots=True)
class WaitPolicy:
    """The default of the cluster: how long any group may wait, in milliseconds, and what happens then."""

    after: int
    action: str
    id: str = "default"


@dataclass(frozen=True, slots=True)
class MarkedLost:
    """``nodes``: (name, uid, whether it was cordoned before) of the nodes that were taken out of the
    domain.
    """

    id: str
    topology_key: str
    domain: str
    nodes: tuple[tuple[str, str, bool], ...]
