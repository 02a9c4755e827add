"""Old events go to files and come back, and the cluster lives on as if nothing had happened."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from psycopg import errors

from scheduling.ledger import archive_files, archives, bases, fold, heads, snapshot_store, snapshots, store
from scheduling.ledger.archive_files import BadArchive
from scheduling.ledger.archives import Archived
from scheduling.ledger.bases import UnreadableBase
from scheduling.ledger.events import EventsArchived, EventsRestored
from scheduling.ledger.heads import NotedHead
from scheduling.ledger.verify import Fault, verify_chain
from scheduling.models import Archive, Base, Cluster, PodGroupRow, Snapshot, TableHead
from scheduling.projections import commit, rebuild
from scheduling.services import cycles, nodes, retention, state, workloads
from scheduling.services.clusters import ImportRequest, import_cluster
from scheduling.services.problems import Refused
from scheduling.services.retention import NotDone
from scheduling.services.state import state_of
from tests.services.builders import form, node, text
from tests.services.test_random_commands import COMMANDS, NAMES

Detach = Callable[..., list[Archive]]

NODES = [node(f"n{number}", f"r{number % 2}", gpu=4) for number in range(8)]


@pytest.fixture(autouse=True)
def forgetful(narrow: int) -> Iterator[None]:
    """What this process keeps in memory is of the stream numbers of this test only."""
    forget()
    yield
    forget()


def forget() -> None:
    """As a process that has just started, where nobody has left a snapshot."""
    state._states.clear()
    Snapshot.objects.all().delete()


@pytest.fixture
def cluster(narrow: int, make: Any) -> Cluster:
    """49 events: nodes, and gangs that were placed and most of them ended."""
    made: Cluster = make(*NODES)
    number = 0
    while store.head(made.pk).seq < 45:
        number += 1
        workloads.submit(cluster=made, form=form(f"g{number}"), actor="t", command_id=f"submit-{number}")
        cycles.run_cycle(made.pk)
        if number > 1:
            workloads.end_group(cluster=made, namespace="default", name=f"g{number}", actor="t")
    assert store.head(made.pk).seq == 49
    return made


@pytest.fixture
def detach(cluster: Cluster, tmp_path: Path) -> Detach:
    def detached(**more: Any) -> list[Archive]:
        given = more or {"keep": 1}
        return retention.detach(cluster=cluster, folder=tmp_path, actor="cli:ada", **given)

    return detached


def attach_all(cluster: Cluster, folder: Path) -> None:
    for archive in reversed(archives.of(cluster.pk)):
        retention.attach(path=folder / archive.file, actor="cli:ada")


def in_table(cluster: Cluster) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("select seq from scheduling_event where stream_id = %s order by seq", [cluster.pk])
        return [seq for (seq,) in cursor.fetchall()]


def sound(cluster: Cluster) -> None:
    """Chain, tables, and what is kept in memory are what the log says."""
    report = verify_chain(cluster.pk)
    assert report.ok, report.sentence
    assert rebuild.compare(cluster.pk) == []
    kept = snapshots.pack(state_of(cluster))
    forget()
    assert snapshots.pack(state_of(cluster)) == kept


def refusal(call: Callable[[], Any]) -> str:
    with pytest.raises((NotDone, BadArchive)) as refused:
        call()
    return str(refused.value)


# --- what goes


def test_whole_partitions_go_to_files_and_the_newest_stays(
    cluster: Cluster, detach: Detach, tmp_path: Path
) -> None:
    done = detach()
    spans = [(archive.first_seq, archive.last_seq) for archive in done]
    assert spans == [(1, 10), (11, 20), (21, 30), (31, 40)]
    assert in_table(cluster) == list(range(41, 54))
    told = [item.event for item in store.read(cluster.pk, after=49)]
    assert told == [
        EventsArchived(
            archive.first_seq, archive.last_seq, store.to_milliseconds(archive.first_at),
            store.to_milliseconds(archive.last_at), bytes(archive.hash).hex(), archive.file, archive.size,
            archive.sha256,
        )
        for archive in done
    ]  # fmt: skip
    for archive in done:
        file = archive_files.digest(tmp_path / archive.file)
        assert (file.size, file.sha256) == (archive.size, archive.sha256)
    assert {item.actor for item in store.read(cluster.pk, after=49)} == {"cli:ada"}
    assert [archive.told_seq for archive in done] == [50, 51, 52, 53]
    sound(cluster)


def test_keep_leaves_as_many_partitions(cluster: Cluster, detach: Detach) -> None:
    assert [archive.last_seq for archive in detach(keep=4)] == [10]
    assert detach(keep=4) == []
    assert detach(keep=9) == []


@pytest.mark.parametrize("before, last", [(10, 0), (11, 10), (20, 10), (21, 20), (1000, 40)])
def test_before_a_seq_all_of_a_partition_is(cluster: Cluster, detach: Detach, before: int, last: int) -> None:
    detach(before=before)
    assert archives.begin(cluster.pk) == last


def test_before_a_time_all_of_a_partition_is(cluster: Cluster, detach: Detach) -> None:
    moments = {item.seq: store.to_datetime(item.recorded_at) for item in store.read(cluster.pk)}
    detach(before=moments[20])
    assert archives.begin(cluster.pk) == 10
    detach(before=moments[20] + timedelta(milliseconds=1))
    assert archives.begin(cluster.pk) == 20


def test_a_full_partition_without_a_successor_stays(narrow: int, make: Any, tmp_path: Path) -> None:
    made = make(*NODES)
    nodes.cordon(cluster=made, node="n1", actor="t")
    while store.head(made.pk).seq < narrow:
        nodes.uncordon(cluster=made, node="n1", actor="t")
        nodes.cordon(cluster=made, node="n1", actor="t")
    assert store.head(made.pk).seq in (narrow, narrow + 1)
    expected = [] if store.head(made.pk).seq == narrow else [10]
    done = retention.detach(cluster=made, folder=tmp_path, keep=1, actor="t")
    assert [archive.last_seq for archive in done] == expected


def test_pieces_tell_where_events_are(cluster: Cluster, detach: Detach) -> None:
    def told() -> list[tuple[int, int, str, bool]]:
        return [
            (piece.first, piece.last, piece.archive.file if piece.archive else "", piece.may_go)
            for piece in retention.pieces(cluster.pk)
        ]

    assert told() == [
        (1, 10, "", True), (11, 20, "", True), (21, 30, "", True), (31, 40, "", True), (41, 49, "", False)
    ]  # fmt: skip
    detach(before=21)
    name = f"c-{cluster.pk}-000000000001-000000000010.ndjson.gz"
    assert told()[0] == (1, 10, name, False)
    assert told()[2:] == [(21, 30, "", True), (31, 40, "", True), (41, 50, "", True), (51, 51, "", False)]


# --- life goes on


def test_a_state_in_the_table_is_what_it_was_and_one_in_a_file_says_where(
    cluster: Cluster, detach: Detach
) -> None:
    before = {seq: snapshots.pack(fold.state_at(cluster.pk, seq)) for seq in range(20, 50)}
    archive = detach(before=21)[-1]
    for seq in range(20, 50):
        assert snapshots.pack(fold.state_at(cluster.pk, seq)) == before[seq]
    assert fold.state_at(cluster.pk, 0).seq == 0
    for call in (fold.state_at, fold.state_from_zero):
        with pytest.raises(Archived) as refused:
            call(cluster.pk, 19)
        assert str(refused.value) == (
            f"events 11 to 20, until {archive.last_at:%Y-%m-%d %H:%M:%S} UTC, are in the file {archive.file} "
            f"(sha256 {archive.sha256}); `manage.py retention attach` brings them back"
        )


def test_a_reader_never_skips_what_is_archived(cluster: Cluster, detach: Detach) -> None:
    detach(before=21)
    for after, upto in ((0, None), (5, 8), (19, 30), (0, 1)):
        with pytest.raises(Archived):
            list(store.read(cluster.pk, after=after, upto=upto))
    assert next(store.read(cluster.pk, after=20)).seq == 21


def test_a_time_finds_its_event_or_the_file(cluster: Cluster, detach: Detach) -> None:
    moments = {item.seq: item.recorded_at for item in store.read(cluster.pk)}
    inside = next(seq for seq in range(11, 20) if moments[seq] < moments[20])
    detach(before=21)
    assert fold.seq_at(cluster.pk, moments[1] - 1) == 0
    assert fold.seq_at(cluster.pk, moments[49]) >= 49
    with pytest.raises(Archived):
        fold.seq_at(cluster.pk, moments[inside])
    if moments[20] < moments[21]:
        assert fold.seq_at(cluster.pk, moments[20]) == 20


def test_a_process_with_an_old_state_goes_on(cluster: Cluster, detach: Detach) -> None:
    """Its state is of an event whose successors were taken out meanwhile."""
    kept = fold.state_at(cluster.pk, 15)
    entry = state._states._entry(cluster.pk)
    entry.state, entry.hash = kept, next(store.read(cluster.pk, after=14)).hash
    detach(before=31)
    assert snapshots.pack(state_of(cluster)) == snapshots.pack(fold.state_at(cluster.pk))


def test_a_command_of_archived_events_is_still_not_carried_out_twice(
    cluster: Cluster, detach: Detach
) -> None:
    def submit() -> Any:
        return workloads.submit(cluster=cluster, form=form("g2"), actor="t", command_id="submit-2")

    before = submit()
    assert before.repeated and before.events
    detach()
    again = submit()
    assert (again.first_seq, again.last_seq, again.repeated, again.events) == (
        before.first_seq,
        before.last_seq,
        True,
        (),
    )


def test_an_import_of_archived_events_says_why_it_tells_no_counts(
    cluster: Cluster, tmp_path: Path, detach: Detach
) -> None:
    def again(data: bytes, command: str, mode: str | None = None) -> Any:
        request = ImportRequest(data, mode=mode)
        return import_cluster(name="c", request=request, actor="t", command_id=command)

    more = text(node("n9", "r9"))
    first = again(more, "more")
    while archives.begin(cluster.pk) < first.seq:
        nodes.cordon(cluster=cluster, node="n9", actor="t")
        nodes.uncordon(cluster=cluster, node="n9", actor="t")
        detach()
    told = again(more, "more")
    assert (told.seq, told.created, told.added) == (first.seq, False, {})
    (notice,) = told.notices
    assert notice.message.startswith("what this import changed is not told again: events ")


def test_a_group_that_waited_all_the_time_is_placed_when_there_is_room(
    narrow: int, make: Any, tmp_path: Path
) -> None:
    """Its last decision, which says what could help it, is archived."""
    made = make(node("n1", "r1", cpu="2"), node("n2", "r2"))
    workloads.submit(cluster=made, form=form("waits", 9), actor="t")
    cycles.run_cycle(made.pk)
    decided = PodGroupRow.objects.get(name="waits").decision_seq
    assert decided is not None
    while store.head(made.pk).seq <= decided + 2 * narrow:
        nodes.cordon(cluster=made, node="n2", actor="t")
        nodes.uncordon(cluster=made, node="n2", actor="t")
        cycles.run_cycle(made.pk)
    retention.detach(cluster=made, folder=tmp_path, keep=1, actor="t")
    assert archives.begin(made.pk) > decided
    later = [cycles.now_ms() + 60_000]
    assert cycles.run_cycle(made.pk, clock=lambda: later[0]).placed == 0
    import_cluster(name="c", request=ImportRequest(text(node("n3", "r3", cpu="9"))), actor="t")
    later[0] += 60_000
    assert cycles.run_cycle(made.pk, clock=lambda: later[0]).placed == 1
    assert PodGroupRow.objects.get(name="waits").domain == "r3"
    sound(made)


def test_an_append_that_crosses_partitions_may_be_cut_anywhere(
    narrow: int, make: Any, tmp_path: Path
) -> None:
    """Rows change by whole appends; the first of these is 36 events, four partitions of them archived one by
    one.
    """
    made = make(*(node(f"n{number}") for number in range(34)))
    assert store.head(made.pk).seq == 36
    import_cluster(name="c", request=ImportRequest(text(node("n3", cpu="9"), node("m1"))), actor="t")
    for last in (10, 20, 30):
        retention.detach(cluster=made, folder=tmp_path, before=last + 1, actor="t")
        assert archives.begin(made.pk) == last
        sound(made)
        head = rebuild.rebuild(made.pk)
        assert head == store.head(made.pk).seq
        sound(made)
    attach_all(made, tmp_path)
    sound(made)


@pytest.mark.parametrize("seed", range(4))
def test_any_life_cut_anywhere_is_the_same_life(narrow: int, make: Any, tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    made = make(*(node(name, dice.choice(["r1", "r2"]), gpu=4) for name in NAMES))
    seen: dict[int, bytes] = {}
    for _ in range(60):
        with suppress(Refused):
            dice.choice(COMMANDS)(made, dice)
        seq = store.head(made.pk).seq
        seen[seq] = snapshots.pack(state_of(made))
        if dice.random() < 0.15:
            retention.detach(cluster=made, folder=tmp_path, keep=dice.randint(1, 3), actor="t")
            begin = archives.begin(made.pk)
            known = [seq for seq in seen if seq >= begin]
            some = dice.choice(known)
            assert snapshots.pack(fold.state_at(made.pk, some)) == seen[some]
            sound(made)
        if dice.random() < 0.05 and archives.of(made.pk):
            newest = archives.of(made.pk)[-1]
            retention.attach(path=tmp_path / newest.file, actor="t")
            sound(made)
    retention.detach(cluster=made, folder=tmp_path, keep=1, actor="t")
    assert len(archives.of(made.pk)) >= 3
    rebuild.rebuild(made.pk)
    sound(made)
    assert all(checked.ok for checked in retention.check([tmp_path]))
    attach_all(made, tmp_path)
    sound(made)
    assert verify_chain(made.pk).events == store.head(made.pk).seq
    for seq, packed in seen.items():
        assert snapshots.pack(fold.state_at(made.pk, seq)) == packed


@pytest.mark.parametrize("seq", [15, 20, 25])
def test_a_snapshot_of_the_events_in_the_table_is_used_and_no_older_one(
    cluster: Cluster, detach: Detach, seq: int
) -> None:
    before = snapshots.pack(fold.state_at(cluster.pk, 30))
    row = next(store.stored(cluster.pk, seq - 1))
    assert snapshot_store.save(cluster.pk, fold.state_at(cluster.pk, seq), row.hash)
    detach(before=21)
    assert bases.nearest(cluster.pk, 30).state.seq == max(seq, 20)
    assert snapshots.pack(fold.state_at(cluster.pk, 30)) == before
    state._states.clear()
    assert snapshots.pack(state_of(cluster)) == snapshots.pack(fold.state_from_zero(cluster.pk))


# --- the way back


def test_what_comes_back_is_what_went(cluster: Cluster, detach: Detach, tmp_path: Path) -> None:
    before = list(store.stored(cluster.pk))
    done = detach()
    attach_all(cluster, tmp_path)
    after = list(store.stored(cluster.pk))
    assert after[: len(before)] == before
    assert archives.of(cluster.pk) == [] and not Base.objects.exists()
    told = [item.event for item in store.read(cluster.pk, after=49 + len(done))]
    assert told == [
        EventsRestored(gone.first_seq, gone.last_seq, gone.file, gone.sha256) for gone in reversed(done)
    ]
    sound(cluster)
    assert [archive.sha256 for archive in detach(before=41)] == [archive.sha256 for archive in done]


def test_a_partition_that_came_back_is_protected_as_all_others(
    cluster: Cluster, detach: Detach, tmp_path: Path, stack: Any
) -> None:
    detach()
    attach_all(cluster, tmp_path)
    table = f"scheduling_event_{cluster.pk}_0"
    with connection.cursor() as cursor:
        cursor.execute(
            "select tgname, tgenabled from pg_trigger where tgrelid = %s::regclass order by 1", [table]
        )
        assert cursor.fetchall() == [("append_only_rows", "A"), ("append_only_table", "A")]
        cursor.execute("select relacl from pg_class where oid = %s::regclass", [table])
        (rights,) = cursor.fetchone()
        assert rights is None or "tas_app" not in rights
    with stack.connect("tas_app") as runtime, pytest.raises(errors.InsufficientPrivilege):
        runtime.execute(f"select * from {table}")
    for name in ("scheduling_event", table):
        for statement in (f"delete from {name}", f"update {name} set actor = 'eve'"):
            with stack.connect("tas_owner") as owner, pytest.raises(errors.RestrictViolation):
                owner.execute(statement)


def test_the_newest_archive_comes_back_first(cluster: Cluster, detach: Detach, tmp_path: Path) -> None:
    first, second = detach(before=21)
    path = tmp_path / first.file
    assert refusal(lambda: retention.attach(path=path, actor="t")) == (
        f"{path} does not end where the events in the database begin: {second.file} comes first"
    )


def test_what_is_there_does_not_come_twice(cluster: Cluster, detach: Detach, tmp_path: Path) -> None:
    (archive,) = detach(before=11)
    path = tmp_path / archive.file
    retention.attach(path=path, actor="t")
    assert refusal(lambda: retention.attach(path=path, actor="t")) == (
        "events 1 to 10 of c are in the database"
    )


def test_a_changed_or_torn_file_does_not_come_back(cluster: Cluster, detach: Detach, tmp_path: Path) -> None:
    (archive,) = detach(before=11)
    path = tmp_path / archive.file
    whole = path.read_bytes()
    head = store.head(cluster.pk)
    for bad in (whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], whole[:-1], whole + b"\0"):
        path.write_bytes(bad)
        found = archive_files.digest(path).sha256
        assert refusal(lambda: retention.attach(path=path, actor="t")) == (
            f"{path} was changed or is torn: its SHA-256 is {found}, the log says {archive.sha256}"
        )
    path.write_bytes(whole[:30])
    assert refusal(lambda: retention.attach(path=path, actor="t")).startswith(f"{path} is torn or no gzip")
    path.unlink()
    assert refusal(lambda: retention.attach(path=path, actor="t")) == (
        f"{path} cannot be read: No such file or directory"
    )
    assert store.head(cluster.pk) == head and archives.of(cluster.pk) == [archive]
    path.write_bytes(whole)
    retention.attach(path=path, actor="t")
    sound(cluster)


def test_a_file_of_another_log_does_not_come_in(
    cluster: Cluster, detach: Detach, tmp_path: Path, make: Any
) -> None:
    detach(before=11)
    other = make(*NODES, node("n8"), node("n9"), name="other")
    (tmp_path / "other").mkdir()
    (gone,) = retention.detach(cluster=other, folder=tmp_path / "other", keep=1, actor="t")
    path = tmp_path / "other" / gone.file
    whole = list(archive_files.read(path))

    def pretend(**told: Any) -> Path:
        """A file that is sound in itself, as another database could have written it."""
        given = archive_files.header(path)
        names = given.__slots__
        header = archive_files.Header(**({name: getattr(given, name) for name in names} | told))
        before, rows = bytes(32), []
        for row in whole:
            made = row._replace(stream_id=header.stream, prev_hash=before)
            before = made.computed_hash()
            rows.append(made._replace(hash=before))
        values = {name: getattr(header, name) for name in names} | {"hash": before.hex()}
        header = archive_files.Header(**values)
        (tmp_path / "more").mkdir(exist_ok=True)
        made_path = tmp_path / "more" / header.file
        made_path.unlink(missing_ok=True)
        return archive_files.publish(archive_files.write(tmp_path / "more", header, rows), header).path

    for told, sentence in (
        ({"stream": 4040}, "is of cluster other, stream 4040: there is none here"),
        ({"name": "c"}, f"is of cluster c, stream {other.pk}: there is none here"),
        (
            {"stream": cluster.pk, "name": "c"},
            "is not of this database: its log of c went another way",
        ),
    ):
        foreign = pretend(**told)
        assert refusal(lambda f=foreign: retention.attach(path=f, actor="t")) == f"{foreign} {sentence}"  # type: ignore[misc]
    attach_all(cluster, tmp_path)
    foreign = pretend(stream=cluster.pk, name="c")
    assert refusal(lambda: retention.attach(path=foreign, actor="t")) == (
        f"{foreign} is not of this database: its log of c has no such events archived"
    )
    sound(cluster)


# --- checking


def test_files_are_checked_against_the_log(cluster: Cluster, detach: Detach, tmp_path: Path) -> None:
    one, two = detach(before=21)
    path = tmp_path / one.file

    def told(*paths: Path) -> list[tuple[bool, str]]:
        return [(checked.ok, checked.told) for checked in retention.check(list(paths))]

    assert told(tmp_path) == [
        (True, f"{path}: cluster c, events 1 to 10: as the log tells"),
        (True, f"{tmp_path / two.file}: cluster c, events 11 to 20: as the log tells"),
    ]
    retention.attach(path=tmp_path / two.file, actor="t")
    assert told(tmp_path / two.file) == [
        (True, f"{tmp_path / two.file}: cluster c, events 11 to 20: sound; they are in the database too")
    ]
    (tmp_path / two.file).unlink()
    path.rename(tmp_path / "elsewhere")
    assert told(tmp_path) == []
    detach(before=31)
    three = archives.of(cluster.pk)[-1]
    assert told(tmp_path)[1:] == [
        (True, f"{tmp_path / three.file}: cluster c, events 21 to 30: as the log tells"),
        (False, f"{one.file} is missing: cluster c, events 1 to 10 in {one.file}"),
    ]
    ((ok, sentence),) = told(tmp_path / "elsewhere")
    assert ok
    (tmp_path / "elsewhere").write_bytes(b"x")
    ((ok, sentence),) = told(tmp_path / "elsewhere")
    assert not ok and "is torn or no gzip file" in sentence


def test_a_record_that_was_changed_is_found(cluster: Cluster, detach: Detach, tmp_path: Path) -> None:
    (archive,) = detach(before=11)
    Archive.objects.update(sha256="00" * 32)
    ((ok, sentence),) = [(checked.ok, checked.told) for checked in retention.check([tmp_path])]
    assert not ok and sentence.endswith(f"not the file that the log tells of, which has {'00' * 32}")
    Archive.objects.update(sha256=archive.sha256, hash=bytes(32))
    report = verify_chain(cluster.pk)
    assert (report.bad_seq, report.fault) == (11, Fault.CHANGED)
    ((ok, sentence),) = [(checked.ok, checked.told) for checked in retention.check([tmp_path])]
    assert not ok and "tells of another file" in sentence


def test_a_broken_chain_is_not_archived(cluster: Cluster, detach: Detach, tmp_path: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"alter table scheduling_event_{cluster.pk}_0 disable trigger append_only_rows")
        cursor.execute("update scheduling_event set actor = 'eve' where seq = 7")
    sentence = refusal(detach)
    assert sentence.startswith("the log is not as it was written, see verify_log: ")
    assert sentence.endswith("event 7: it does not have the hash of what it holds")
    assert list(tmp_path.iterdir()) == [] and archives.of(cluster.pk) == []


# --- another version of the console


def test_rows_of_another_version_are_made_anew_from_the_files(
    cluster: Cluster, detach: Detach, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = detach(before=21)
    monkeypatch.setitem(commit.PROJECTIONS, "nodes", commit.PROJECTIONS["nodes"] + 1)
    with pytest.raises(UnreadableBase) as refused:
        rebuild.rebuild(cluster.pk)
    assert str(refused.value).endswith(
        f"run `manage.py retention rebase c DIR` with the folder of {one.file}, {two.file}"
    )
    assert [archive.pk for archive in retention.rebase(cluster=cluster, folder=tmp_path)] == [one.pk, two.pk]
    rebuild.rebuild(cluster.pk)
    sound(cluster)


def test_a_state_of_another_version_is_made_anew_from_the_files_or_read_when_they_are_back(
    cluster: Cluster, detach: Detach, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    detach(before=21)
    kept = {base.seq: bytes(base.state) for base in Base.objects.all()}
    Base.objects.update(state=b"of another version", versions={})
    forget()
    for call in (lambda: state_of(cluster), lambda: fold.state_at(cluster.pk, 30)):
        with pytest.raises(UnreadableBase, match=r"manage\.py retention rebase c DIR"):
            call()
    retention.rebase(cluster=cluster, folder=tmp_path)
    assert {base.seq: bytes(base.state) for base in Base.objects.all()} == kept
    sound(cluster)
    Base.objects.update(state=b"of another version", versions={})
    forget()
    attach_all(cluster, tmp_path)
    sound(cluster)


def test_a_rebase_needs_all_of_the_files(cluster: Cluster, detach: Detach, tmp_path: Path) -> None:
    one, _ = detach(before=21)
    kept = list(Base.objects.values_list("seq", "state"))
    (tmp_path / one.file).rename(tmp_path / "elsewhere")
    assert refusal(lambda: retention.rebase(cluster=cluster, folder=tmp_path)) == (
        f"{tmp_path / one.file} cannot be read: No such file or directory"
    )
    assert [(seq, bytes(packed)) for seq, packed in Base.objects.values_list("seq", "state")] == [
        (seq, bytes(packed)) for seq, packed in kept
    ]


# --- who may, and who waits


def test_the_runtime_can_do_none_of_it(cluster: Cluster, detach: Detach, stack: Any) -> None:
    detach(before=11)
    last = f"scheduling_event_{cluster.pk}_1"
    with stack.connect("tas_app") as runtime:
        assert runtime.execute("select count(*) from scheduling_archive").fetchone() == (1,)
        for statement in (
            f"alter table scheduling_event detach partition {last} concurrently",
            f"drop table {last}",
            "delete from scheduling_archive",
            "update scheduling_archive set sha256 = ''",
            "insert into scheduling_archive select * from scheduling_archive",
            "delete from scheduling_base",
            "update scheduling_base set state = ''",
            "truncate scheduling_base",
        ):
            with pytest.raises(errors.InsufficientPrivilege):
                runtime.execute(statement)
        with pytest.raises(
            errors.RestrictViolation, match=f"events of stream {cluster.pk}, block 0 are arch"
        ):
            runtime.execute("select scheduling_open_partition(%s, 0)", [cluster.pk])
        with pytest.raises(errors.CheckViolation):
            runtime.execute(
                "insert into scheduling_event select stream_id, 5, type, version, occurred_at, recorded_at, "
                "actor, command_id, cause, subject, namespace, name, body, prev_hash, hash "
                "from scheduling_event where seq = 11"
            )


def test_a_service_of_the_runtime_refuses(cluster: Cluster, tmp_path: Path, detach: Detach) -> None:
    wanted = (
        "the role tas_app does not own the log, tas_owner does: give DATABASE_OWNER_URL (docs/operations.md)"
    )
    given = connection.settings_dict
    kept = {"USER": given["USER"], "OPTIONS": dict(given["OPTIONS"])}
    connection.close()
    given["USER"] = "tas_app"
    given["OPTIONS"].pop("user", None)
    try:
        assert refusal(detach) == wanted
        path = tmp_path / "x"
        assert refusal(lambda: retention.attach(path=path, actor="t")) == wanted
        assert refusal(lambda: retention.rebase(cluster=cluster, folder=tmp_path)) == wanted
        assert len(retention.pieces(cluster.pk)) == 5
    finally:
        connection.close()
        given.update(kept)
    assert archives.of(cluster.pk) == []


def test_a_long_reader_holds_up_nobody_but_the_detaching(
    cluster: Cluster, tmp_path: Path, stack: Any
) -> None:
    """Appends and reads go on while the partition waits to leave."""
    done = threading.Event()

    def run() -> None:
        retention.detach(cluster=cluster, folder=tmp_path, before=11, actor="t")
        connection.close()
        done.set()

    with stack.connect("tas_app") as reader:
        reader.execute("begin")
        reader.execute("select count(*) from scheduling_event")
        thread = threading.Thread(target=run)
        thread.start()
        waiting = (
            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' "
            "and query ilike '%%detach partition%%concurrently'"
        )
        with stack.connect("postgres") as watch:
            while watch.execute(waiting).fetchone() != (1,):
                assert thread.is_alive(), "it did not wait"
        before = store.head(cluster.pk).seq
        workloads.submit(cluster=cluster, form=form("meanwhile"), actor="t")
        cycles.run_cycle(cluster.pk)
        assert store.head(cluster.pk).seq > before
        assert next(store.read(cluster.pk, after=10)).seq == 11
        sound(cluster)
        with transaction.atomic():
            store.open_stream("cluster", "another")  # makes a partition
        assert not done.is_set()
        reader.execute("commit")
    thread.join()
    assert done.is_set() and in_table(cluster)[0] == 11
    sound(cluster)


def test_there_is_one_at_a_time(cluster: Cluster, detach: Detach, stack: Any) -> None:
    with stack.connect("tas_owner") as other:
        other.execute("select pg_advisory_lock(7102, %s)", [cluster.pk])
        assert refusal(detach) == "another retention command works on c"


def test_what_stands_in_the_way_is_told(cluster: Cluster, detach: Detach, tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    sentence = refusal(lambda: retention.detach(cluster=cluster, folder=missing, keep=1, actor="t"))
    assert sentence == f"{missing} is no folder"
    TableHead.objects.filter(stream=cluster.pk, name="pods").update(version=0)
    assert refusal(detach) == "the tables of c are behind its log: rebuild_projections first"
    assert list(tmp_path.iterdir()) == []


# --- what looks back


def test_a_replay_begins_where_the_table_does(
    narrow: int, make: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where that is in the midst of a cycle, whose state is archived."""
    made = make(*(node(f"n{number}", "r1") for number in range(6)))
    for number in range(8):
        workloads.submit(cluster=made, form=form(f"g{number}", 1), actor="t")
    begun = store.head(made.pk).seq
    cycles.run_cycle(made.pk)
    cut = (begun // narrow + 1) * narrow
    assert begun < cut < begun + 8
    workloads.submit(cluster=made, form=form("more", 1), actor="t")
    cycles.run_cycle(made.pk)
    while store.head(made.pk).seq <= cut + narrow:
        nodes.cordon(cluster=made, node="n1", actor="t")
        nodes.uncordon(cluster=made, node="n1", actor="t")
    retention.detach(cluster=made, folder=tmp_path, before=cut + 1, actor="t")
    assert archives.begin(made.pk) == cut
    call_command("replay", "c")
    assert ": 1 decision made again, 0 differ" in capsys.readouterr().out
    with pytest.raises(CommandError, match=f"events .* to {cut:,}, until .* are in the file"):
        call_command("replay", "c", "--from", str(cut))


def test_a_head_that_was_noted_of_an_archived_event(cluster: Cluster, detach: Detach, tmp_path: Path) -> None:
    """The last event of a file is known by its hash; for another one the file has to come back."""
    rows = {row.seq: row.hash for row in store.stored(cluster.pk)}
    detach(before=21)
    noted = {seq: NotedHead("cluster", "c", seq, rows[seq]) for seq in (7, 20, 21)}
    assert heads.problem(noted[21]) == heads.problem(noted[20]) == ""
    assert "has another hash at event 20" in heads.problem(NotedHead("cluster", "c", 20, bytes(32)))
    first = archives.of(cluster.pk)[0]
    assert heads.problem(noted[7]) == (
        "cluster c: event 7, at which its head was noted, is archived and cannot be looked at: "
        f"`manage.py retention attach` brings them back from {first.file}"
    )
    attach_all(cluster, tmp_path)
    assert heads.problem(noted[7]) == ""


def test_a_head_inside_an_archive_is_looked_up_in_its_file(
    cluster: Cluster, detach: Detach, tmp_path: Path
) -> None:
    rows = {row.seq: row.hash for row in store.stored(cluster.pk)}
    detach(before=21)
    noted = NotedHead("cluster", "c", 7, rows[7])
    assert heads.problem(noted, tmp_path) == ""
    assert "has another hash at event 7" in heads.problem(NotedHead("cluster", "c", 7, bytes(32)), tmp_path)
    empty = tmp_path / "empty"
    empty.mkdir()
    first = archives.of(cluster.pk)[0]
    assert heads.problem(noted, empty) == (
        "cluster c: event 7, at which its head was noted, is archived and cannot be looked at: "
        f"{first.file} is not in {empty}; `manage.py retention attach` brings them back from {first.file}"
    )


def test_a_file_that_is_not_the_archived_one_vouches_for_no_head(
    cluster: Cluster, detach: Detach, tmp_path: Path
) -> None:
    """Another file under its name; and one that the table tells of, from which the log does not go on."""
    rows = {row.seq: row.hash for row in store.stored(cluster.pk)}
    detach(before=21)
    noted = NotedHead("cluster", "c", 7, rows[7])
    first, second = archives.of(cluster.pk)
    path = tmp_path / first.file
    good = path.read_bytes()
    path.write_bytes(good[:-40])
    assert "is not the file that was archived: it has another SHA-256" in heads.problem(noted, tmp_path)
    Archive.objects.filter(first_seq=1).update(sha256=archive_files.digest(path).sha256)
    assert "is torn or no gzip file" in heads.problem(noted, tmp_path)
    path.write_bytes(good)
    Archive.objects.filter(first_seq=1).update(sha256=first.sha256, hash=bytes(second.hash))
    assert "the log does not go on from" in heads.problem(noted, tmp_path)


def test_verify_log_looks_into_the_files_of_a_folder(
    cluster: Cluster, detach: Detach, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(tmp_path / "heads.json")
    row = next(store.stored(cluster.pk, after=6, upto=7))
    noted = heads.write([NotedHead("cluster", "c", 7, row.hash)], at=0, console="0.1.0")
    Path(file).write_bytes(noted)
    detach(before=21)
    with pytest.raises(CommandError, match="is archived and cannot be looked at"):
        call_command("verify_log", "--against", file)
    call_command("verify_log", "--against", file, "--archives", str(tmp_path))
    assert "1 of 1 head noted" in capsys.readouterr().out
    with pytest.raises(CommandError, match="is no folder"):
        call_command("verify_log", "--against", file, "--archives", file)
    with pytest.raises(CommandError, match="--archives is for --against"):
        call_command("verify_log", "--archives", str(tmp_path))
