"""Search of the log: pages join without gap or overlap, cost what they may, and say what they cover."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduling.engine.model import Node, Pod, PodGroup, Shape
from scheduling.ledger import events as e
from scheduling.ledger import store
from scheduling.models import Cluster, Event
from scheduling.selectors import event_search, history
from scheduling.selectors.event_search import Filters, gather, search

START = datetime(2024, 11, 29, 7, tzinfo=UTC)
SHAPE = Shape((("cpu", 1_000), ("pods", 1)))
COMMANDS = 40
ACTORS = ("scheduler", "ada", "import")


def happened(number: int) -> list[e.Event]:
    """What command ``number`` writes: 1 to 4 events of several kinds."""
    name = f"g{number % 7}"
    about = ("ml" if number % 2 else "web", name, f"u{number}", 1)
    told: list[e.Event] = [
        e.PodGroupCreated(PodGroup(about[0], name, about[2])),
        e.PodAdded(Pod(about[0], f"{name}-0", f"p{number}", SHAPE, group=name)),
        e.PodGroupHeld(*about, "not_enough_pods", 2, 1),
        e.NodeAdded(Node(f"n{number % 5}", f"u{number}")),
    ]
    return told[: 1 + number % 4]


@pytest.fixture
def cluster(db: None) -> Cluster:
    """A hundred events by forty commands, one a minute; every event after the first of a command is caused by
    that one.
    """
    with transaction.atomic():
        stream = store.open_stream("cluster", "demo")
        for number in range(COMMANDS):
            head = store.head(stream).seq
            told = happened(number)
            store.append(
                stream,
                head,
                told,
                actor=ACTORS[number % 3],
                command_id=f"command-{number}",
                now=store.to_milliseconds(START + timedelta(minutes=number)),
                cause=[None] + [head + 1] * (len(told) - 1),
            )
    return Cluster(stream_id=stream, name="demo")


def fits(row: Event, filters: Filters) -> bool:
    """The obvious way to say what filters leave."""
    asked = {name: getattr(filters, name) for name in ("type", "subject", "namespace", "name", "actor")}
    return (
        all(value in ("", getattr(row, name)) for name, value in asked.items())
        and filters.text in row.body
        and filters.cause in (None, row.cause)
        and filters.command in ("", row.command_id)
        and (filters.since is None or row.recorded_at >= filters.since)
        and (filters.until is None or row.recorded_at < filters.until)
        and (filters.first is None or row.seq >= filters.first)
        and (filters.last is None or row.seq <= filters.last)
    )


def one_of(*values: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(values)


TIMES = st.none() | st.integers(-90_000, 60 * 60 * 1000).map(lambda ms: START + timedelta(milliseconds=ms))
FILTERS = st.builds(
    Filters,
    type=one_of("", "", "PodGroupCreated", "NodeAdded", "PodRemoved"),
    subject=one_of("", "", "podgroup", "node", "pod", "cluster"),
    namespace=one_of("", "", "ml", "web", "none"),
    name=one_of("", "", "g1", "g2-0", "n3", "none"),
    actor=one_of("", "", "", "ada", "nobody"),
    text=one_of("", "", "", "p3", "cpu", "%"),
    since=TIMES,
    until=TIMES,
    first=st.none() | st.integers(1, 120),
    last=st.none() | st.integers(1, 120),
    cause=st.none() | st.none() | st.integers(1, 120),
    command=one_of("", "", "", "command-7", "none"),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    filters=FILTERS,
    limit=st.integers(1, 9),
    upwards=st.booleans(),
    chunk=st.integers(1, 9),
    most=st.integers(1, 40),
)
def test_pages_join_to_just_what_the_filters_leave(
    cluster: Cluster, filters: Filters, limit: int, upwards: bool, chunk: int, most: int
) -> None:
    wanted = [row.seq for row in Event.objects.order_by("seq") if fits(row, filters)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_search, "FIRST_CHUNK", chunk)
        patch.setattr(event_search, "LARGEST_CHUNK", 2 * chunk)
        patch.setattr(event_search, "MOST_LOOKED_AT", most)
        patch.setattr(event_search, "PATIENCE", 3600.0)

        seen: list[int] = []
        place: dict[str, int] = {"after": 0} if upwards else {}
        for _page in range(500):
            found = search(cluster, filters, limit=limit, **place)
            seqs = [row.seq for row in found.items]
            assert len(seqs) <= limit
            covered = [seq for seq in wanted if found.low <= seq <= found.high]
            assert seqs == (covered if upwards else covered[::-1])
            assert found.looked_at <= most + 2 * chunk
            seen += seqs
            if found.next is None:
                break
            place = {"after" if upwards else "before": found.next}

        assert found.next is None
        assert seen == (wanted if upwards else wanted[::-1])
        assert [row.seq for row in gather(cluster, filters, limit=1000)] == wanted[::-1]
        assert [row.seq for row in gather(cluster, filters, after=0, limit=5)] == wanted[:5]


def test_a_search_that_no_index_serves_ends_early_and_says_so(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_search, "FIRST_CHUNK", 10)
    monkeypatch.setattr(event_search, "LARGEST_CHUNK", 10)
    monkeypatch.setattr(event_search, "MOST_LOOKED_AT", 30)

    found = search(cluster, Filters(actor="nobody"))

    assert (found.items, found.low, found.high, found.next, found.looked_at) == ([], 71, 100, 71, 30)


def test_a_slow_search_ends_after_its_patience(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_search, "FIRST_CHUNK", 10)
    monkeypatch.setattr(event_search, "LARGEST_CHUNK", 10)
    monkeypatch.setattr(event_search, "LEAST_LOOKED_AT", 20)
    monkeypatch.setattr(event_search, "PATIENCE", -1.0)

    found = search(cluster, Filters(text="nothing"))

    assert (found.low, found.high, found.next) == (81, 100, 81)


@pytest.mark.parametrize(
    "filters",
    [
        Filters(),
        Filters(type="PodGroupCreated"),
        Filters(subject="podgroup", namespace="ml", name="g1"),
        Filters(namespace="ml", name="g1"),
        Filters(subject="node", name="n1"),
        Filters(cause=2),
        Filters(command="command-3"),
        Filters(first=3, last=40),
        Filters(since=START, until=START + timedelta(minutes=9)),
    ],
)
def test_what_an_index_serves_is_never_looked_for(filters: Filters, cluster: Cluster) -> None:
    found = search(cluster, filters)

    assert found.looked_at == 0
    assert [row.seq for row in found.items] == [
        row.seq for row in Event.objects.order_by("-seq") if fits(row, filters)
    ][:50]


def test_many_events_of_an_object_are_named_in_pieces(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_search, "LARGEST_CHUNK", 3)

    found = search(cluster, Filters(type="PodGroupCreated"), limit=20)

    assert len(found.items) == 20
    assert found.next == found.items[-1].seq


@pytest.mark.parametrize(
    ("since", "until", "number"),
    [
        (datetime.min, datetime.max, 100),
        (datetime.max, None, 0),
        (None, datetime.min, 0),
        (None, START.replace(tzinfo=None), 0),
        (START.replace(tzinfo=None), None, 100),
        (START.replace(tzinfo=None, microsecond=1), None, 99),
    ],
)
def test_bounds_in_time_may_lie_anywhere(
    since: datetime | None, until: datetime | None, number: int, cluster: Cluster
) -> None:
    """The first command, at START, wrote one event."""
    bounds = [None if each is None else each.replace(tzinfo=UTC) for each in (since, until)]

    found = search(cluster, Filters(since=bounds[0], until=bounds[1]), limit=200)

    assert len(found.items) == number


def test_a_log_without_events_has_nothing_to_find(db: None) -> None:
    with transaction.atomic():
        empty = Cluster(stream_id=store.open_stream("cluster", "empty"), name="empty")

    assert search(empty, Filters()) == event_search.Found([], None, 1, 0, 0)


@pytest.mark.parametrize(
    ("filters", "index"),
    [
        (Filters(type="NodeAdded"), "event_type"),
        (Filters(subject="node", name="n1"), "event_object"),
        (Filters(cause=2), "event_cause"),
    ],
)
def test_each_index_is_there_for_a_filter(
    filters: Filters, index: str, cluster: Cluster, django_assert_num_queries: Callable[..., Any]
) -> None:
    """On a table as small as this one the planner has to be told not to read it whole."""
    with connection.cursor() as cursor:
        cursor.execute("set local enable_seqscan = off")
        cursor.execute("set local enable_bitmapscan = off")
        with CaptureQueriesContext(connection) as asked:
            search(cluster, filters)
        named = next(query["sql"] for query in asked if "LIMIT 51" in query["sql"])
        cursor.execute(f"explain {named.replace('%', '%%')}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute(
            "select i.relname from pg_inherits join pg_class i on i.oid = inhrelid "
            "where inhparent = %s::regclass",
            [index],
        )
        parts = [row[0] for row in cursor.fetchall()]

    assert any(f"using {part}" in plan for part in parts), plan


def test_a_type_that_most_events_are_of_is_found_by_walking(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No index holds it, so a page may end before the log does, and says so."""
    rare = search(cluster, Filters(type="NodeAdded"), limit=200)
    assert rare.items and rare.looked_at == 0

    monkeypatch.setattr("scheduling.selectors.event_search.COMMON_TYPES", ("NodeAdded",))
    walked = search(cluster, Filters(type="NodeAdded"), limit=200)
    assert ([row.seq for row in walked.items], walked.looked_at) == ([row.seq for row in rare.items], 100)

    monkeypatch.setattr(event_search, "FIRST_CHUNK", 10)
    monkeypatch.setattr(event_search, "MOST_LOOKED_AT", 10)
    piece = search(cluster, Filters(type="NodeAdded"), limit=200)
    assert (piece.low, piece.high, piece.next) == (91, 100, 91)


def test_neighbours_are_the_nearest_events_that_the_filters_leave(cluster: Cluster) -> None:
    assert history.neighbours(cluster, Filters(), 50) == history.Neighbours(49, 51)
    assert history.neighbours(cluster, Filters(), 1) == history.Neighbours(None, 2)
    assert history.neighbours(cluster, Filters(), 100) == history.Neighbours(99, None)
    nodes = [row.seq for row in Event.objects.filter(type="NodeAdded").order_by("seq")]
    assert history.neighbours(cluster, Filters(subject="node"), nodes[2]) == history.Neighbours(
        nodes[1], nodes[3]
    )


def test_neighbours_that_were_not_reached_are_told_by_where_the_search_ended(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_search, "FIRST_CHUNK", 10)
    monkeypatch.setattr(event_search, "MOST_LOOKED_AT", 10)

    found = history.neighbours(cluster, Filters(actor="nobody"), 50)

    assert found == history.Neighbours(None, None, sought_down=40, sought_up=60)


def test_causes_are_followed_to_the_root(cluster: Cluster) -> None:
    with transaction.atomic():
        for cause in (5, 101, 102):
            event = [e.FeatureGateChanged("GangScheduling", True)]
            head = store.head(cluster.pk).seq
            now = store.to_milliseconds(START + timedelta(hours=cause))
            store.append(cluster.pk, head, event, actor="a", command_id=f"x{cause}", now=now, cause=cause)
    last = history.get(cluster, 103)

    assert [row.seq for row in history.causes(cluster, last)] == [102, 101, 5, 4]
    assert [row.seq for row in history.causes(cluster, last, limit=2)] == [102, 101]
    assert history.causes(cluster, history.get(cluster, 1)) == []


def test_a_cause_that_lies_after_its_event_is_not_followed(cluster: Cluster) -> None:
    assert history.causes(cluster, Event(stream_id=cluster.pk, seq=5, cause=5)) == []
    assert history.causes(cluster, Event(stream_id=cluster.pk, seq=5, cause=200)) == []


def test_a_command_is_found_by_what_it_wrote(cluster: Cluster) -> None:
    assert history.of_command(cluster, "command-3") == (7, 10)
    assert history.of_command(cluster, "none") is None


def test_a_canary_is_found_with_what_followed_from_it_at_once(cluster: Cluster) -> None:
    def write(event: e.Event, cause: int | None) -> int:
        with transaction.atomic():
            head = store.head(cluster.pk).seq
            command = f"canary-command-{head}"
            store.append(cluster.pk, head, [event], actor="ada", command_id=command, now=0, cause=cause)
        return head + 1

    begun = write(e.CanaryExtended("canary-1", 0, 1), None)
    write(e.CanaryExtended("canary-2", 0, 1), begun)
    write(e.NodeRemoved("n9", "u9"), None)
    ended = write(e.CanaryEnded("canary-1", 0, "stopped"), begun)
    node = write(e.NodeRemoved("n8", "u8"), ended)
    found = search(cluster, Filters(canary="canary-1"))

    assert [row.seq for row in found.items] == [node, ended, begun + 1, begun]
    assert (found.looked_at, found.next) == (0, None)
    first = search(cluster, Filters(canary="canary-1"), after=0, limit=2)
    rest = search(cluster, Filters(canary="canary-1"), after=first.next, limit=2)
    assert [row.seq for row in (*first.items, *rest.items)] == [begun, begun + 1, ended, node]
    assert [row.seq for row in search(cluster, Filters(canary="canary-1", cause=ended)).items] == [node]
    assert search(cluster, Filters(canary="canary-3")).items == []
