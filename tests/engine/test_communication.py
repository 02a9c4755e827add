"""The model of traffic and throughput: formulas by hand, and what must hold for any job and network."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduling.engine.communication import (
    DEFAULTS,
    FORMULAS,
    ORIGINS,
    Collective,
    Level,
    Link,
    Place,
    Training,
    estimate,
)

GB = 10**9

LINKS = st.builds(Link, st.integers(1, 10**6), st.integers(0, 10**6))
TRAININGS = st.builds(
    Training,
    collective=st.sampled_from(Collective),
    bytes_per_step=st.integers(0, 10**12),
    compute_us=st.integers(1, 10**8),
    overlap_thousandths=st.integers(0, 1000),
    node=LINKS,
    domain=LINKS,
    between=LINKS,
    wider=LINKS,
)
PLACES = st.lists(
    st.builds(
        Place,
        node=st.sampled_from([f"node-{i}" for i in range(8)]),
        domain=st.sampled_from([None, "a", "b", "c", "d"]),
        zone=st.sampled_from(["", "north", "south"]),
    ),
    min_size=1,
    max_size=20,
)
"""Also what cannot be in a cluster: one node in several domains, as with NUMA zones, and zones."""


def spread_over(domains: int, members: int = 8) -> list[Place]:
    """Each member on a node of its own."""
    return [Place(f"node-{i}", f"rack-{i % domains}") for i in range(members)]


class TestByHand:
    def test_a_ring_in_one_domain(self) -> None:
        """8 members, 14 GB: 2·7 rounds of 14/8 GB at 50 GB/s and 5 µs are 490,070 µs, beside computing."""
        found = estimate(DEFAULTS, spread_over(1))
        assert (found.crossing_bytes, found.communication_us, found.exposed_us) == (0, 490_070, 0)
        assert (found.step_us, found.steps_thousandths, found.relative_thousandths) == (1_500_000, 667, 1000)

    def test_a_ring_over_two_domains(self) -> None:
        """Two of its eight links cross, each with 2·7/8·14 GB; every round is as slow as they are."""
        found = estimate(DEFAULTS, spread_over(2))
        assert found.crossing_bytes == 2 * 24_500_000_000
        assert found.level_bytes == (0, 6 * 24_500_000_000, 2 * 24_500_000_000, 0)
        assert found.communication_us == round(14 * (10 + 1_750_000_000 / 7_143))
        assert found.step_us == round(1_500_000 + found.communication_us - 1_000_500)

    def test_a_tree_over_two_domains(self) -> None:
        """One edge crosses, up and down; two levels deep in a rack of four, one between."""
        found = estimate(replace(DEFAULTS, collective=Collective.TREE), spread_over(2))
        assert found.crossing_bytes == 28 * GB
        assert found.level_bytes == (0, 6 * 28 * GB, 28 * GB, 0)
        assert found.communication_us == round(2 * (2 * 5 + 10) + 28 * GB / 7_143)

    def test_members_of_one_node_talk_inside_of_it(self) -> None:
        found = estimate(DEFAULTS, [Place("node-1", "rack-1")] * 8)
        assert found.level_bytes == (8 * 24_500_000_000, 0, 0, 0)
        assert found.communication_us == round(14 * (1 + 1_750_000_000 / 450_000))

    def test_numa_zones_of_a_node_are_domains_that_traffic_crosses_inside_of_it(self) -> None:
        found = estimate(DEFAULTS, [Place("node-1", f"node-1/{i % 2}") for i in range(4)])
        assert (found.nodes, found.domains) == (1, 2)
        assert found.crossing_bytes == 2 * 21 * GB
        assert found.level_bytes[1:] == (0, 0, 0)

    def test_a_node_without_the_key_is_far_from_all_others(self) -> None:
        found = estimate(DEFAULTS, [*spread_over(1, 3), Place("lone", None)])
        assert found.domains == 2
        assert found.level_bytes[3] == found.crossing_bytes > 0

    def test_zones_are_wider_than_domains(self) -> None:
        places = [Place(f"node-{i}", f"rack-{i}", "north" if i < 2 else "south") for i in range(4)]
        found = estimate(DEFAULTS, places)
        assert found.level_bytes == (0, 0, 2 * 21 * GB, 2 * 21 * GB)

    def test_a_member_alone_sends_nothing(self) -> None:
        found = estimate(DEFAULTS, spread_over(1, 1))
        assert (found.communication_us, found.level_bytes, found.step_us) == (0, (0, 0, 0, 0), 1_500_000)

    def test_work_counts_members(self) -> None:
        assert estimate(DEFAULTS, spread_over(1, 4)).work_thousandths == round(4 * 1000 / 1.5)


class TestForAnyJobAndNetwork:
    @given(TRAININGS, PLACES)
    def test_nothing_is_below_zero_and_all_bytes_have_a_level(
        self, training: Training, places: list[Place]
    ) -> None:
        found = estimate(training, places)
        assert min(found.level_bytes) >= 0
        total = 2 * (len(places) - 1) * training.bytes_per_step
        assert abs(sum(found.level_bytes) - total) <= len(Level)
        assert 0 <= found.crossing_bytes <= total + 1
        assert found.step_us >= training.compute_us

    @given(TRAININGS, st.lists(st.integers(0, 7), min_size=1, max_size=20))
    def test_nothing_crosses_from_one_domain(self, training: Training, nodes: list[int]) -> None:
        found = estimate(training, [Place(f"node-{i}", "rack-1") for i in nodes])
        assert found.crossing_bytes == found.level_bytes[2] == found.level_bytes[3] == 0
        assert found.relative_thousandths == 1000

    @given(TRAININGS, PLACES, st.integers(0, 10**12))
    def test_more_bytes_never_make_it_faster(
        self, training: Training, places: list[Place], more: int
    ) -> None:
        less = estimate(training, places)
        found = estimate(replace(training, bytes_per_step=training.bytes_per_step + more), places)
        assert found.communication_us >= less.communication_us
        assert found.crossing_bytes >= less.crossing_bytes
        assert found.steps_thousandths <= less.steps_thousandths

    @given(TRAININGS, PLACES, st.randoms(use_true_random=False))
    def test_order_and_names_of_members_do_not_count(
        self, training: Training, places: list[Place], order
    ) -> None:  # type: ignore[no-untyped-def]
        other = [
            Place(place.node[::-1], None if place.domain is None else f"x{place.domain}", f"{place.zone}y")
            for place in places
        ]
        order.shuffle(other)
        assert estimate(training, other) == estimate(training, places)

    @given(TRAININGS, st.integers(2, 12), st.data())
    def test_where_wider_levels_are_slower_more_domains_never_help(
        self, training: Training, members: int, data: st.DataObject
    ) -> None:
        links = [training.node, training.domain, training.between, training.wider]
        speeds = sorted((link.bandwidth_mb_s for link in links), reverse=True)
        latencies = sorted(link.latency_ns for link in links)
        node, domain, between, wider = map(Link, speeds, latencies)
        training = replace(training, node=node, domain=domain, between=between, wider=wider)
        domains = data.draw(st.integers(1, members))
        found = estimate(training, spread_over(domains, members))
        assert found.relative_thousandths <= 1000
        if training.collective is Collective.RING and domains < members:
            assert estimate(training, spread_over(domains + 1, members)).step_us >= found.step_us


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("field", "value"),
        [("bytes_per_step", -1), ("compute_us", 0), ("overlap_thousandths", 1001), ("between", Link(0, 1))],
    )
    def test_a_number_out_of_range_is_named(self, field: str, value: object) -> None:
        with pytest.raises(ValueError, match=field):
            replace(DEFAULTS, **{field: value})

    def test_no_member(self) -> None:
        with pytest.raises(ValueError, match="no member"):
            estimate(DEFAULTS, [])


def test_every_default_says_where_it_comes_from_and_every_formula_has_a_source() -> None:
    fields = {f"{level}.{part}" for level in Level for part in ("bandwidth_mb_s", "latency_ns")}
    assert set(ORIGINS) == fields | {"collective", "bytes_per_step", "compute_us", "overlap_thousandths"}
    assert all(formula.text and formula.source for formula in FORMULAS)
