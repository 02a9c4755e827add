"""Moments in addresses: the number of an event, or a time with or without its zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from scheduling.ledger import events as e
from scheduling.ledger import store
from scheduling.models import Cluster
from scheduling.selectors.moments import BadMoment, Moment, moment, newest

FIRST = datetime(2024, 11, 29, 7, 24, 0, tzinfo=UTC)


def recorded(seq: int) -> datetime:
    """Three events in each minute, from FIRST on."""
    return FIRST + timedelta(minutes=(seq - 1) // 3)


@pytest.fixture
def cluster(db: None) -> Cluster:
    """Thirty events; those of one minute have one time."""
    with transaction.atomic():
        stream = store.open_stream("cluster", "demo")
        for batch in range(10):
            at = store.to_milliseconds(recorded(3 * batch + 1))
            events = [e.FeatureGateChanged("GangScheduling", bool(number % 2)) for number in range(3)]
            store.append(stream, 3 * batch, events, actor="t", command_id=f"c{batch}", now=at)
    return Cluster.objects.create(
        stream_id=stream, name="demo", mode=Cluster.Mode.SIMULATED, created_at=FIRST
    )


@pytest.mark.parametrize("seq", [1, 7, 30])
def test_a_number_is_the_moment_after_that_event(seq: int, cluster: Cluster) -> None:
    assert moment(cluster, f" {seq} ") == Moment(seq, recorded(seq))


@pytest.mark.parametrize(
    ("text", "seq"),
    [
        ("2024-11-29T07:24:00Z", 3),
        ("2024-11-29T16:24:59.999+09:00", 3),
        ("2024-11-29T16:25:00 09:00", 6),
        ("2024-11-29 07:28:30", 15),
        ("2024-11-29T07:29", 18),
        ("2024-11-30", 30),
    ],
)
def test_a_time_is_the_last_event_recorded_by_then(text: str, seq: int, cluster: Cluster) -> None:
    assert moment(cluster, text) == Moment(seq, recorded(seq))


def test_a_time_without_a_zone_is_in_the_readers(cluster: Cluster) -> None:
    with timezone.override("Asia/Tokyo"):
        assert moment(cluster, "2024-11-29T16:24:30").seq == 3
        assert moment(cluster, "2024-11-29T07:24:30Z").seq == 3


def test_a_quiet_log_is_as_its_last_event_left_it(cluster: Cluster) -> None:
    assert moment(cluster, timezone.now().isoformat()) == newest(cluster) == Moment(30, recorded(30))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("31", "31 lies after the head of the log, event 30"),
        ("9" * 19, f"{'9' * 19} lies after the head of the log, event 30"),
        ("9" * 5000, f"{'9' * 60}… lies after the head of the log, event 30"),
        ("0", "0 lies before the first event of the log"),
        ("2024-11-29T16:23:59+09:00", "2024-11-29T16:23:59+09:00 lies before the first event of the log"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00 lies before the first event of the log"),
        ("9999-12-31T23:59:59-14:00", "9999-12-31T23:59:59-14:00 lies in the future"),
        ("", "'' is neither the number of an event nor a time such as 2026-11-29T16:24:07+09:00"),
        ("-1", "'-1' is neither the number of an event nor a time such as 2026-11-29T16:24:07+09:00"),
        ("١٢", "'١٢' is neither the number of an event nor a time such as 2026-11-29T16:24:07+09:00"),
        ("soon", "'soon' is neither the number of an event nor a time such as 2026-11-29T16:24:07+09:00"),
        (
            "2024-11-29T25:00",
            "'2024-11-29T25:00' is neither the number of an event nor a time such as "
            "2026-11-29T16:24:07+09:00",
        ),
    ],
)
def test_what_is_no_moment_is_told_in_a_sentence(text: str, sentence: str, cluster: Cluster) -> None:
    with pytest.raises(BadMoment) as told:
        moment(cluster, text)

    assert str(told.value) == sentence


@pytest.mark.parametrize("text", ["1", "2024-01-01T00:00Z"])
def test_a_log_without_events_has_no_moment(text: str, db: None) -> None:
    with transaction.atomic():
        stream = store.open_stream("cluster", "empty")
    cluster = Cluster(stream_id=stream, name="empty")

    with pytest.raises(BadMoment):
        moment(cluster, text)
    with pytest.raises(BadMoment, match=r"^0 lies before the first event of the log$"):
        newest(cluster)
