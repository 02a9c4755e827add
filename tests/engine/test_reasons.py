"""The list of codes is complete."""

from scheduling.engine.eligibility import BAR_CODE, BAR_REASON, Bar
from scheduling.engine.reasons import MEANINGS, Reason


def test_every_reason_says_what_it_means_and_what_lifts_it() -> None:
    assert set(MEANINGS) == set(Reason)
    assert all(meaning.means and meaning.lifted_by for meaning in MEANINGS.values())


def test_every_bar_has_a_code_and_a_reason_unless_it_is_room_that_pods_take() -> None:
    assert set(BAR_CODE) == set(Bar) - {Bar.NONE}
    assert set(BAR_REASON) == set(Bar) - {Bar.NONE, Bar.ANTI_AFFINITY, Bar.HOST_PORT}
    assert all(BAR_CODE[bar] == BAR_REASON[bar] for bar in BAR_REASON if bar != Bar.AFFINITY)
