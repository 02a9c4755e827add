"""Whole partitions of old events go to files and come back, by the role that owns the log.

Nothing is deleted: a partition leaves the database as a table, and only after its file is on disk, was read
back and is recorded in the log together with the base that folding then begins at. A process that is killed
leaves either the partition where it was, or the file and the record of it; the same command goes on from
there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from uuid import uuid4

from django.db import transaction

from scheduling.ledger import archive_files, archives, partitions, store, verify
from scheduling.ledger.archive_files import BadArchive, Header
from scheduling.ledger.events import Event, EventsArchived, EventsRestored
from scheduling.ledger.partitions import Partition, Standing
from scheduling.ledger.store import Head, StoredRow, to_datetime
from scheduling.locks import try_retention_lock
from scheduling.models import Archive, Base, Cluster, Stream
from scheduling.projections import rebuild
from scheduling.services.execute import append_and_project, lock_head, now_ms
from scheduling.services.ground import Ground
from scheduling.services.signals import retention_reached

Tell = Callable[[str], None]


class NotDone(Exception):
    """What was asked for cannot be done, in one sentence; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Events of one partition. ``archive``: the file that they are in, None in the table. ``size``: in the
    database, with indexes, or of the file. ``may_go``: whether ``detach`` would take it, when told to.
    ``standing``: of its table, None when there is none.
    """

    first: int
    last: int
    recorded_first: datetime
    recorded_last: datetime
    size: int
    archive: Archive | None
    standing: Standing | None
    may_go: bool = False

    @property
    def rows(self) -> int:
        return self.last - self.first + 1


def pieces(stream_id: int) -> list[Piece]:
    """All events of a stream, by the partitions and files that they are in, oldest first."""
    tables = {partition.first: partition for partition in partitions.of(stream_id)}
    found = []
    for archive in archives.of(stream_id):
        left = tables.pop(archive.first_seq, None)
        found.append(
            Piece(
                archive.first_seq, archive.last_seq, archive.first_at, archive.last_at, archive.size, archive,
                None if left is None else left.standing,
            )
        )  # fmt: skip
    head = store.head(stream_id).seq
    for partition in sorted(tables.values(), key=lambda table: table.first):
        last = min(partition.last, head)
        if partition.standing is not Standing.ATTACHED or partition.first > last:
            continue
        first_row, last_row = _row(stream_id, partition.first), _row(stream_id, last)
        found.append(
            Piece(
                partition.first, last, to_datetime(first_row.recorded_at), to_datetime(last_row.recorded_at),
                partition.size, None, partition.standing, may_go=partition.last < head,
            )
        )  # fmt: skip
    return found


def detach(
    *,
    cluster: Cluster,
    folder: Path,
    keep: int | None = None,
    before: int | datetime | None = None,
    actor: str,
    tell: Tell = lambda _: None,
) -> list[Archive]:
    """Archive the oldest partitions: all but the newest ``keep``, or those whose events are all before a seq
    or time; never the one that is written to. Finishes first what an earlier run left. ``tell`` hears of
    each step.

    Raises NotDone, BadArchive, OSError, UnreadableBase; what was archived until then stays so.
    """
    stream_id: int = cluster.pk
    _as_owner()
    if not folder.is_dir():
        raise NotDone(f"{folder} is no folder")
    with try_retention_lock(stream_id) as free:
        _only_one(free, cluster.name)
        for archive in archives.of(stream_id):
            _finish(archive, folder, tell)
        chosen = _chosen(stream_id, keep, before)
        if chosen and rebuild.is_behind(stream_id):
            raise NotDone(f"the tables of {cluster.name} are behind its log: rebuild_projections first")
        ground = Ground.of(stream_id) if chosen else Ground()
        done = []
        for partition in chosen:
            done.append(_archive(cluster, partition, ground, folder, actor, tell))
        return done


def attach(*, path: Path, actor: str, tell: Tell = lambda _: None) -> Archive:
    """Bring the events of a file back as a partition like any other. The newest archive comes first.

    Raises NotDone, BadArchive; nothing is changed then.
    """
    _as_owner()
    header = archive_files.header(path)
    stream = Stream.objects.filter(pk=header.stream, kind=header.kind, name=header.name).first()
    if stream is None:
        raise NotDone(f"{path} is of {header.kind} {header.name}, stream {header.stream}: there is none here")
    with try_retention_lock(stream.pk) as free:
        _only_one(free, stream.name)
        archive = _to_come_back(path, header)
        tell(f"checking {path.name}")
        archive_files.check(path)
        block, rest = divmod(header.first - 1, store.PARTITION_WIDTH)
        if rest or header.rows != store.PARTITION_WIDTH:
            raise NotDone(f"{path} is no whole partition of {store.PARTITION_WIDTH:,} events")
        _remove_table(stream.pk, header.first, tell)
        tell(f"loading {header.rows:,} events")
        partition = partitions.load(stream.pk, block, archive_files.read(path))
        _reached("loaded", stream.pk)
        for row, there in zip(archive_files.read(path), partitions.rows(partition), strict=True):
            if row != there:
                raise NotDone(f"{path}, event {row.seq:,}: the database gives it back as something else")
        with transaction.atomic():
            partitions.attach(partition)
            Base.objects.filter(stream_id=stream.pk, seq=archive.last_seq).delete()
            Archive.objects.filter(stream_id=stream.pk, first_seq=archive.first_seq).delete()
            restored = EventsRestored(archive.first_seq, archive.last_seq, archive.file, archive.sha256)
            _append(stream.pk, restored, actor)
            _reached("attached", stream.pk)
        _reached("restored", stream.pk)
        return archive


def rebase(*, cluster: Cluster, folder: Path, tell: Tell = lambda _: None) -> list[Archive]:
    """Make the bases of a cluster anew from its files: what a new version of the console may need.

    Raises NotDone, BadArchive; the bases are as they were then.
    """
    stream_id: int = cluster.pk
    _as_owner()
    with try_retention_lock(stream_id) as free:
        _only_one(free, cluster.name)
        found = archives.of(stream_id)
        if not found:
            raise NotDone(f"no events of {cluster.name} are archived")
        paths = [_recorded_file(archive, folder / archive.file) for archive in found]
        ground, made = Ground(), []
        for number, archive in enumerate(found):
            tell(f"folding {archive}")
            archive_files.check(paths[number])
            rows = chain(
                *map(archive_files.read, paths[number:]), store.stored(stream_id, found[-1].last_seq)
            )
            ground.advance((row.recorded() for row in rows), archive.last_seq)
            made.append(ground.base(stream_id, Head(archive.last_seq, bytes(archive.hash))))
        with transaction.atomic():
            Base.objects.filter(stream_id=stream_id).delete()
            for base in made:
                base.save(force_insert=True)
        return found


@dataclass(frozen=True, slots=True)
class Checked:
    """``told``: one sentence about a file, or about one that should be there. ``stream``: whose events are in
    it, None when it does not tell.
    """

    ok: bool
    told: str
    stream: int | None = None


def check(paths: list[Path]) -> Iterator[Checked]:
    """Look through files, and through all in folders: each in itself and against the log. Where there are
    folders, also which files are missing of the clusters that there are some of.
    """
    seen: set[str] = set()
    streams: set[int] = set()
    for path in paths:
        for file in sorted(path.glob(f"*{archive_files.SUFFIX}")) if path.is_dir() else [path]:
            found = _checked(file)
            seen.add(file.name)
            streams.update([] if found.stream is None else [found.stream])
            yield found
    if any(path.is_dir() for path in paths):
        expected = Archive.objects.filter(stream__in=streams).select_related("stream")
        for archive in expected.exclude(file__in=seen):
            told = f"{archive.file} is missing: {archive.stream}, {archive}"
            yield Checked(False, told, archive.stream_id)


# --- steps of detaching


def _chosen(stream_id: int, keep: int | None, before: int | datetime | None) -> list[Partition]:
    found = [piece for piece in pieces(stream_id) if piece.archive is None]
    chosen = found if keep is None else found[: max(len(found) - keep, 0)]
    firsts = []
    for piece in chosen:
        if isinstance(before, int) and piece.last >= before:
            break
        if isinstance(before, datetime) and piece.recorded_last >= before:
            break
        if not piece.may_go:
            break
        firsts.append(piece.first)
    return [partition for partition in partitions.of(stream_id) if partition.first in firsts]


def _archive(
    cluster: Cluster, partition: Partition, ground: Ground, folder: Path, actor: str, tell: Tell
) -> Archive:
    stream_id = partition.stream_id
    _reached("chosen", stream_id)
    before = verify.beginning(stream_id)
    header = _header(cluster, partition, before)
    tell(f"writing events {header.first:,} to {header.last:,}")
    part = archive_files.write(folder, header, partitions.rows(partition))
    _reached("written", stream_id)
    tell("reading them back")
    try:
        archive_files.check(part)
    except BadArchive as error:
        part.unlink()
        raise NotDone(f"the log is not as it was written, see verify_log: {error}") from error
    file = archive_files.publish(part, header)
    _reached("published", stream_id)
    tell("folding them")
    rows = chain(archive_files.read(file.path), store.stored(stream_id, header.last))
    ground.advance((row.recorded() for row in rows), header.last)
    base = ground.base(stream_id, Head(header.last, bytes.fromhex(header.hash)))
    with transaction.atomic():
        lock_head(stream_id)
        archive = Archive(
            stream_id=stream_id,
            first_seq=header.first,
            last_seq=header.last,
            prev_hash=before.hash,
            hash=base.hash,
            first_at=to_datetime(header.recorded_first),
            last_at=to_datetime(header.recorded_last),
            file=file.path.name,
            size=file.size,
            sha256=file.sha256,
            told_seq=store.head(stream_id).seq + 1,
        )
        archive.save(force_insert=True)
        base.save(force_insert=True)
        event = EventsArchived(
            header.first, header.last, header.recorded_first, header.recorded_last, header.hash,
            archive.file, file.size, file.sha256,
        )  # fmt: skip
        _append(stream_id, event, actor)
        _reached("recorded", stream_id)
    _reached("committed", stream_id)
    _remove_table(stream_id, header.first, tell)
    return archive


def _finish(archive: Archive, folder: Path, tell: Tell) -> None:
    """Take out a partition that was archived by a run that did not come to its end. Its file is made sure of
    first: a table is the only other place where its events are.
    """
    left = [table for table in partitions.of(archive.stream_id) if table.first == archive.first_seq]
    if not left:
        return
    path = folder / archive.file
    if not path.exists():
        cluster = Cluster.objects.get(pk=archive.stream_id)
        header = _header(cluster, left[0], Head(archive.first_seq - 1, bytes(archive.prev_hash)))
        tell(f"writing {archive.file} again")
        part = archive_files.write(folder, header, partitions.rows(left[0]))
        if archive_files.digest(part).sha256 != archive.sha256:
            raise NotDone(f"{archive.file} is not in {folder}, and written again it would be another file")
        archive_files.publish(part, header)
    _recorded_file(archive, path)
    _remove_table(archive.stream_id, archive.first_seq, tell)


def _remove_table(stream_id: int, first: int, tell: Tell) -> None:
    """Take an archived partition out of the log and out of the database, from whatever form it is in."""
    for standing in (Standing.ATTACHED, Standing.DETACHING, Standing.LOOSE):
        for partition in partitions.of(stream_id):
            if partition.first != first or partition.standing is not standing:
                continue
            if standing is Standing.LOOSE:
                partitions.drop(partition)
                _reached("dropped", stream_id)
            else:
                tell("taking them out of the database, when nobody reads them any more")
                partitions.detach(partition)
                _reached("detached", stream_id)


def _header(cluster: Cluster, partition: Partition, before: Head) -> Header:
    first = _row(partition.stream_id, partition.first, partition.table)
    last = _row(partition.stream_id, partition.last, partition.table)
    return Header(
        stream=partition.stream_id,
        kind=Stream.Kind.CLUSTER.value,
        name=cluster.name,
        first=partition.first,
        last=partition.last,
        rows=partition.last - partition.first + 1,
        recorded_first=first.recorded_at,
        recorded_last=last.recorded_at,
        prev_hash=before.hash.hex(),
        hash=last.hash.hex(),
    )


# --- steps of the way back


def _to_come_back(path: Path, header: Header) -> Archive:
    """What the log tells of the file; NotDone when it does not wait for this very one."""
    archive = archives.holding(header.stream, header.first)
    if archive is None:
        row = next(iter(store.stored(header.stream, header.last - 1, header.last)), None)
        if row is not None and row.hash.hex() == header.hash:
            raise NotDone(f"events {header.first:,} to {header.last:,} of {header.name} are in the database")
        raise NotDone(f"{path} is not of this database: its log of {header.name} has no such events archived")
    if header.hash != bytes(archive.hash).hex():
        raise NotDone(f"{path} is not of this database: its log of {header.name} went another way")
    _recorded_file(archive, path)
    newest = archives.newest(header.stream)
    if newest is not None and newest.first_seq != archive.first_seq:
        raise NotDone(
            f"{path} does not end where the events in the database begin: {newest.file} comes first"
        )
    return archive


def _recorded_file(archive: Archive, path: Path) -> Path:
    """The path, of a file with the bytes that the log tells. Raises NotDone and BadArchive."""
    found = archive_files.digest(path).sha256
    if found != archive.sha256:
        raise NotDone(f"{path} was changed or is torn: its SHA-256 is {found}, the log says {archive.sha256}")
    return path


# --- steps of checking


def _checked(path: Path) -> Checked:
    try:
        file = archive_files.digest(path)
        archive_files.check_sidecar(file)
        header = archive_files.header(path)
        archive_files.check(path)
    except BadArchive as error:
        return Checked(False, str(error))
    ok, told = _against_the_log(file, header)
    what = f"{path}: {header.kind} {header.name}, events {header.first:,} to {header.last:,}"
    return Checked(ok, f"{what}: {told}", header.stream)


def _against_the_log(file: archive_files.Stored, header: Header) -> tuple[bool, str]:
    archive = archives.holding(header.stream, header.first)
    if archive is None:
        row = next(iter(store.stored(header.stream, header.last - 1, header.last)), None)
        if row is not None and row.hash.hex() == header.hash:
            return True, "sound; they are in the database too"
        return False, "sound in itself, but not of this database"
    if archive.sha256 != file.sha256:
        return False, f"not the file that the log tells of, which has {archive.sha256}"
    told = _told(archive)
    if told is not None and (told.sha256, told.hash) != (archive.sha256, bytes(archive.hash).hex()):
        return False, f"event {archive.told_seq:,} tells of another file: {told.sha256}"
    return True, "as the log tells"


def _told(archive: Archive) -> EventsArchived | None:
    """The event that tells of an archive, as long as it is not archived itself."""
    if archives.begin(archive.stream_id) >= archive.told_seq:
        return None
    found = next(iter(store.read(archive.stream_id, archive.told_seq - 1, archive.told_seq)), None)
    return found.event if found is not None and isinstance(found.event, EventsArchived) else None


# --- what they share


def _as_owner() -> None:
    owns, here = partitions.owner()
    if owns != here:
        raise NotDone(
            f"the role {here} does not own the log, {owns} does: give DATABASE_OWNER_URL (docs/operations.md)"
        )


def _only_one(free: bool, name: str) -> None:
    if not free:
        raise NotDone(f"another retention command works on {name}")


def _append(stream_id: int, event: Event, actor: str) -> None:
    """As the last step of a transaction, so that the head is held for a moment only."""
    lock_head(stream_id)
    seq = store.head(stream_id).seq
    append_and_project(stream_id, seq, [event], actor=actor, command_id=uuid4().hex, now=now_ms())


def _row(stream_id: int, seq: int, table: str = partitions.PARENT) -> StoredRow:
    return next(iter(store.stored(stream_id, seq - 1, seq, table=table)))


def _reached(point: str, stream_id: int) -> None:
    retention_reached.send(sender=None, stream_id=stream_id, point=point)
