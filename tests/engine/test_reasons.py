"""The list of codes is complete."""

from scheduling.engine.eligibility import BAR_REASON, Bar
from scheduling.engine.reasons import MEANINGS, Reason


def test_every_reason_says_what_it_means_and_what_lifts_it() -> None:
    assert set(MEANINGS) == set(Reason)
    assert all(meaning.means and meaning.lifted_by for meaning in MEANINGS.values())


def test_every_bar_has_a_reason() -> None:
    assert set(BAR_REASON) == set(Bar) - {Bar.NONE}
