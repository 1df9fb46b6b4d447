"""Who can move what in RAPPOR's least squares: every liar, and who is in which cohort."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.surveys.protocols import rappor_fit
from discreet.surveys.protocols.estimate import Estimate
from discreet.surveys.protocols.group_tally import GroupTally
from discreet.surveys.protocols.rappor import Rappor
from surveys.protocols.sources import Fixed
from surveys.protocols.test_rappor import NAMES


@pytest.mark.thin(1)
@pytest.mark.parametrize("n", [4, 6, 10, 40])
def test_no_report_in_place_of_any_other_moves_a_count_further_than_the_reach(n: int) -> None:
    """Every report in every place, in any cohort, at both ends of the change."""
    made, words = Rappor(epsilon=4, cohorts=2, wide=4), NAMES[:2]
    reports = made.randomize_all([words[lane % 2] for lane in range(n)], bits=Fixed(n))
    try:
        found = made.estimate(reports, words)
    except UsageError:
        pytest.fail("choose other bits")
    most = 0.0
    for place in range(min(n, 10)):
        for cohort in range(2):
            for bits in range(16):
                liar = reports.copy()
                liar[place] = [cohort, bits << 4]
                try:
                    told = made.estimate(liar, words)
                except UsageError:
                    continue
                moved = float(np.abs(told.counts - found.counts).max())
                assert moved <= min(found.reach, told.reach)
                most = max(most, moved)
    assert most > found.reach / (8 if n < 10 else 2)


@pytest.mark.deep  # test_no_report_in_place_of_any_other holds the bound
def test_the_reach_spans_from_one_cohort_to_another_and_to_one_that_nobody_is_in() -> None:
    """So many reports that the margin is small: what is left is the way from one cohort's end to another's."""
    made, words = Rappor(epsilon=8, functions=2, cohorts=3, wide=4, salt="2"), ["a", "b"]
    full = made.randomize_all(["b"] * 1_000, bits=Fixed(1))
    ratios = []
    for reports in (full, full[full[:, 0] != 0], full[full[:, 0] != 2]):
        most = {True: 0.0, False: 0.0}
        for own in set(reports[:, 0].tolist()):
            place = int(np.flatnonzero(reports[:, 0] == own)[0])
            others = made.tally(np.delete(reports, place, axis=0))

            def told(cohort: int, bits: int, others: GroupTally = others) -> Estimate:
                one = made.tally(np.array([[cohort, bits << 4]], dtype=np.uint8))
                return made.from_tally(others + one, words)

            for before in range(16) if reports is full else (0, 3, 12, 15):
                found = told(own, before)
                for cohort, bits in itertools.product(range(3), range(16)):
                    moved = float(np.abs(told(cohort, bits).counts - found.counts).max())
                    assert moved <= found.reach
                    most[cohort == own] = max(most[cohort == own], moved)
        assert reports is not full or found.reach < 1.2 * max(most.values())  # the bound is near
        ratios.append(most[False] / most[True])
    assert max(ratios) > 1.1  # one who stays in a cohort cannot do as much


def test_the_margin_is_needed() -> None:
    """Found by search: somebody leaves a cohort of two, and the rest weigh more than they did."""
    made, words = Rappor(epsilon=8, cohorts=3, wide=4, salt="4"), ["a", "b", "c"]
    rows = [[2, 128], [2, 48], [1, 80], [0, 32], [1, 64], [1, 192], [1, 80]]
    found = made.estimate(np.array(rows, dtype=np.uint8), words)
    rows[0] = [0, 7 << 4]
    told = made.estimate(np.array(rows, dtype=np.uint8), words)
    moved = float(np.abs(told.counts - found.counts).max())
    assert moved <= min(found.reach, told.reach)
    assert moved > _first_order(made, np.array([[2, 128], *rows[1:]], dtype=np.uint8), words) * 1.04


def _first_order(made: Rappor, reports: np.ndarray, words: list[str]) -> float:
    """The reach if weights stayed as they are."""
    with pytest.MonkeyPatch.context() as patch:
        real = rappor_fit._Reach._cohort
        patch.setattr(rappor_fit._Reach, "_cohort", lambda self, columns: replace(real(self, columns), size=0.0))
        return made.estimate(reports, words).reach


def test_where_one_report_more_or_less_decides_nothing_is_told() -> None:
    made = Rappor(epsilon=4, cohorts=2, wide=4)
    with pytest.raises(UsageError, match="distinguish that many words"):
        made.estimate(made.randomize_all(NAMES[:1], bits=Fixed(1)), NAMES[:2])


def test_who_is_in_which_cohort_has_the_variance_of_all_ways_to_be_there() -> None:
    """Reports without noise of four people in two cohorts of two: all partitions, exactly."""
    places = np.array([[[0], [1]], [[0], [3]]])  # word, cohort, function: in one cohort the two fall together
    bloom = rappor_fit.bloom_filters(places, 4)
    holds = np.array([0, 0, 0, 1])
    users, found = np.array([2, 2]), []
    for ones in itertools.combinations(range(4), 2):
        sums = np.zeros((2, 4), dtype=np.int64)
        for person in range(4):
            sums[int(person in ones)] += bloom[int(person in ones), :, holds[person]].astype(np.int64)
        found.append(rappor_fit.fit_word_counts(sums, users, bloom, chances=(1.0, 0.0), functions=1).counts)
    even_share, even_pair = rappor_fit.unlisted_word_moments(4, 1)
    noise = rappor_fit._Noise(n=4, one=1.0, zero=0.0, share=even_share, pair=even_pair)
    centred = bloom - even_share
    design = (centred * np.sqrt(0.5)).reshape(-1, 2)
    solver = np.linalg.inv(design.T @ design) @ design.T
    stated = noise.of_cohorts(solver.reshape(2, 2, 4), centred, np.array([3.0, 1.0]))
    np.testing.assert_allclose(np.mean(found, axis=0), [3, 1], atol=1e-9)
    np.testing.assert_allclose(stated, np.var(found, axis=0), rtol=1e-5, atol=1e-9)
