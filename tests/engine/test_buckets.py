"""Sets under keys, and their cheap copies."""

from scheduling.engine.buckets import Buckets


def test_names_come_back_in_order_of_arrival_once() -> None:
    buckets = Buckets()
    for name in ("b", "a", "b"):
        buckets.add("k", name)
    assert list(buckets.get("k")) == ["b", "a"]


def test_an_emptied_key_is_gone() -> None:
    buckets = Buckets()
    buckets.add("k", "a")
    buckets.discard("k", "a")
    assert "k" not in buckets
    assert list(buckets) == []


def test_taking_out_what_is_not_there_does_nothing() -> None:
    buckets = Buckets()
    buckets.add("k", "a")
    buckets.discard("k", "b")
    buckets.discard("other", "b")
    assert list(buckets) == ["k"]
    assert list(buckets.get("k")) == ["a"]


def test_a_copy_and_its_origin_do_not_see_each_other_change() -> None:
    origin = Buckets()
    origin.add("k", "a")
    copy = origin.copy()
    copy.add("k", "b")
    origin.discard("k", "a")
    origin.add("k", "c")
    assert list(copy.get("k")) == ["a", "b"]
    assert list(origin.get("k")) == ["c"]
