"""Which events of a stream lie in files: the table goes on where the newest archive ends."""

from __future__ import annotations

from datetime import datetime

from scheduling.models import Archive

BRINGS_BACK = "`manage.py retention attach` brings them back"


class Archived(LookupError):
    """What was asked for lies in ``archive``, a file, and not in the table."""

    def __init__(self, archive: Archive) -> None:
        until = f"{archive.last_at:%Y-%m-%d %H:%M:%S} UTC"
        super().__init__(
            f"events {archive.first_seq:,} to {archive.last_seq:,}, until {until}, are in the file "
            f"{archive.file} (sha256 {archive.sha256}); {BRINGS_BACK}"
        )
        self.archive = archive


def of(stream_id: int) -> list[Archive]:
    """All archives of a stream, oldest first, without a gap from event 1 on."""
    return list(Archive.objects.filter(stream_id=stream_id).order_by("first_seq"))


def newest(stream_id: int) -> Archive | None:
    """The one after which the table goes on; None when the table has all events."""
    return Archive.objects.filter(stream_id=stream_id).order_by("-first_seq").first()


def begin(stream_id: int) -> int:
    """The last seq that is archived, 0 when none is: the table has what comes after it."""
    found = newest(stream_id)
    return 0 if found is None else found.last_seq


def holding(stream_id: int, seq: int) -> Archive | None:
    """The archive that an event lies in; None when the table has it, or will."""
    return (
        Archive.objects.filter(stream_id=stream_id, first_seq__lte=seq, last_seq__gte=seq)
        .order_by("-first_seq")
        .first()
    )


def refuse(stream_id: int, seq: int) -> None:
    """Raises Archived when the event is in a file."""
    found = holding(stream_id, seq)
    if found is not None:
        raise Archived(found)


def seq_at(stream_id: int, at: datetime) -> int:
    """The last seq recorded at or before a time that is before the first event in the table, where an
    archive ends or nothing had happened yet. Raises Archived where it lies in the midst of one, and
    LookupError when nobody can tell.
    """
    found = of(stream_id)
    if not found:
        raise LookupError(f"the first events of stream {stream_id} are missing: verify_log")
    before = [archive for archive in found if archive.first_at <= at]
    if not before:
        return 0
    if before[-1].last_at > at:
        raise Archived(before[-1])
    return before[-1].last_seq
