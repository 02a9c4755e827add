"""Where folding begins: at nothing, or at what the cluster was after its last archived event."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.state import ClusterState
from scheduling.ledger import archives, snapshots
from scheduling.ledger.snapshots import BadSnapshot
from scheduling.ledger.store import GENESIS
from scheduling.models import Base, Stream


class UnreadableBase(RuntimeError):
    """What is kept of a cluster's archived past is of another version of the console, or not as it was
    written. Only the files tell it again: ``manage.py retention rebase``.
    """

    def __init__(self, stream_id: int, why: str) -> None:
        files = ", ".join(archive.file for archive in archives.of(stream_id))
        name = Stream.objects.get(pk=stream_id).name
        super().__init__(
            f"what {name} was after its archived events cannot be used ({why}): run "
            f"`manage.py retention rebase {name} DIR` with the folder of {files}"
        )


@dataclass(frozen=True, slots=True)
class Beginning:
    """``state``: at the last event that is no longer in the table (empty when all are there). ``hash``: of
    that event.
    """

    state: ClusterState
    hash: bytes


def beginning(stream_id: int) -> Beginning:
    """What the events in the table go on from; the state is the caller's own. Raises UnreadableBase."""
    found = newest(stream_id)
    if found is None:
        return Beginning(ClusterState(), GENESIS)
    try:
        state = snapshots.unpack(bytes(found.state))
    except BadSnapshot as error:
        raise UnreadableBase(stream_id, str(error)) from error
    return Beginning(state, bytes(found.hash))


def newest(stream_id: int) -> Base | None:
    """The base of the newest archive, of its larger parts ``state`` only; None when nothing is archived."""
    archive = archives.newest(stream_id)
    if archive is None:
        return None
    bases = Base.objects.filter(stream_id=stream_id, seq=archive.last_seq).defer("past", "tables")
    found = bases.first()
    if found is None:
        raise UnreadableBase(stream_id, "it is missing")
    return found
