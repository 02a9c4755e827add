"""How long a group rests after attempts that failed."""

import pytest

from scheduling.engine.turns import FIRST_REST, LONGEST_REST, Turn, rest


def test_the_rest_doubles_from_one_second_to_ten() -> None:
    assert [rest(attempts) for attempts in (1, 2, 3, 4, 5, 6, 1_000_000)] == [
        1_000,
        2_000,
        4_000,
        8_000,
        10_000,
        10_000,
        10_000,
    ]
    assert (FIRST_REST, LONGEST_REST) == (1_000, 10_000)


def test_there_is_no_rest_without_a_failed_attempt() -> None:
    assert Turn(seq=9, at=5_000).rests_until == 0
    with pytest.raises(ValueError, match="0 attempts"):
        rest(0)


def test_the_rest_begins_with_the_last_attempt_that_failed_not_with_the_last_decision() -> None:
    assert Turn(seq=9, at=9_000, attempts=2, failed_at=5_000).rests_until == 7_000
