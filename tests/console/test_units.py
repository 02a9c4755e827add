"""Amounts, durations and times as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone
from django.utils.translation import override

from scheduling.templatetags.units import requests, when
from scheduling.wording import units


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("cpu", 4000, "4 cpu"),
        ("cpu", 500, "0.5 cpu"),
        ("cpu", 250, "250m cpu"),
        ("cpu", 1_234_000, "1,234 cpu"),
        ("memory", 16 << 30, "16 GiB memory"),
        ("memory", 3 << 29, "1.5 GiB memory"),
        ("memory", 12, "12 B memory"),
        ("memory", -(1 << 30), "-1 GiB memory"),
        ("memory", 2 << 40, "2 TiB memory"),
        ("ephemeral-storage", 1 << 20, "1 MiB ephemeral-storage"),
        ("hugepages-2Mi", 4 << 20, "4 MiB hugepages-2Mi"),
        ("nvidia.com/gpu", 61204, "61,204 nvidia.com/gpu"),
        ("pods", 3, "3 pods"),
    ],
)
def test_an_amount_is_in_the_unit_people_think_in(resource: str, value: int, text: str) -> None:
    assert units.quantity(resource, value) == text


def test_devices_come_first_and_pods_last() -> None:
    pairs = [("cpu", 1000), ("memory", 1 << 30), ("nvidia.com/gpu", 8), ("pods", 2)]

    assert units.quantities(pairs) == "8 nvidia.com/gpu, 1 cpu, 1 GiB memory, 2 pods"


def test_that_a_pod_is_one_pod_goes_without_saying() -> None:
    assert requests({"pods": 1, "cpu": 1000}) == "1 cpu"
    assert requests([["pods", 1]]) == "–"


@pytest.mark.parametrize(
    ("seconds", "english", "japanese"),
    [
        (-3, "0 seconds", "0 秒"),
        (1, "1 second", "1 秒"),
        (59, "59 seconds", "59 秒"),
        (60, "1 minute", "1 分"),
        (3600 + 300, "1 h 5 min", "1 時間 5 分"),
        (2 * 86400 + 3600, "2 d 1 h", "2 日 1 時間"),
    ],
)
def test_a_wait_is_said_in_its_largest_units(seconds: int, english: str, japanese: str) -> None:
    assert units.duration(seconds) == english
    with override("ja"):
        assert units.duration(seconds) == japanese


def test_a_time_is_in_the_readers_zone_and_says_so() -> None:
    moment = datetime(2026, 11, 29, 16, 24, 7, tzinfo=UTC)

    assert "2026-11-29 16:24:07 UTC" in when(moment)
    with timezone.override(ZoneInfo("Asia/Tokyo")):
        assert "2026-11-30 01:24:07 JST" in when(moment)
        assert 'datetime="2026-11-29T16:24:07+00:00"' in when(moment)
