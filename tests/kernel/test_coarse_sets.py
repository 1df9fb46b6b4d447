"""Marginals over groups of cells: counted, neighbour-tested on the real engine, and each a step of its own."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import LedgerFault, QueryFailed
from discreet.kernel.binned_table import BinnedTable, Candidate, CoarseSet
from kernel.test_program import BUDGET, LINES, PURE, cut_of, exact, start, with_persons
from synth.worlds import PEOPLE, open_project

AGES = CoarseSet((0,), ((0, 0, 1, 1),))
BOTH = CoarseSet((1, 0), ((0, 1), (0, 1, 0, 1)))


@pytest.fixture
def project(tmp_path):
    return open_project(tmp_path, PEOPLE, LINES, budget=BUDGET)


def test_groups_are_sums_of_their_cells(project):
    cut = cut_of(start(project))
    assert exact(cut, AGES).tolist() == [400, 200]
    ages = exact(cut, (1, 0)).reshape(2, 4)
    assert (
        exact(cut, BOTH).reshape(2, 2).tolist()
        == np.stack([ages[:, [0, 2]].sum(1), ages[:, [1, 3]].sum(1)], 1).tolist()
    )
    merged = cut.merged((np.array([0, 1, 1, 2]), np.array([0, 1])))
    assert exact(merged, CoarseSet((0,), ((1, 0, 0),))).tolist() == [400, 200]


def neighbours(tmp_path):
    """What a person of fifty rows, five of which count, moves: each marginal's counts, and each score."""
    sets = [AGES, BOTH, CoarseSet((0,), ((0, 0, 0, 0),))]
    counts, scores = [], []
    for rows in (0, 50):
        program = start(with_persons(tmp_path / str(rows), [f"{n % 3 * 25},F,x" for n in range(rows)]), PURE)
        cut = cut_of(program)
        counts.append([exact(cut, own) for own in sets])
        zeros = [np.zeros(len(each), dtype=np.int64) for each in counts[-1]]
        scored = [(own, Candidate(estimate=zero, weight=2, penalty=1)) for own, zero in zip(sets, zeros, strict=True)]
        scores.append(cut._scores(sets, scored, 2))
    moved = [int(np.abs(after - before).sum()) for before, after in zip(*counts, strict=True)]
    return moved, np.abs(scores[1] - scores[0]).tolist(), program.moves.l1


def test_a_person_moves_groups_by_no_more_than_is_paid_for(tmp_path):
    """Exact neighbours: a row lies in one group of each marginal, whatever the groups. The bounds are attained."""
    moved, scores, most = neighbours(tmp_path)
    assert moved == [5, 5, 5] == [most] * 3
    assert scores == [10, 10, 10] == [2 * most] * 3


def test_a_row_that_were_counted_in_two_groups_is_caught(tmp_path, monkeypatch):
    """The planted fault: groups that overlap, as bins that slide do."""
    plain = BinnedTable._sum_groups

    def sliding(self, own, exact_counts):
        counts = plain(self, own, exact_counts)
        return counts + np.roll(counts, 1)

    monkeypatch.setattr(BinnedTable, "_sum_groups", sliding)
    with pytest.raises(AssertionError):
        test_a_person_moves_groups_by_no_more_than_is_paid_for(tmp_path)


@pytest.mark.parametrize("groups", [((0, 1),), ((0, 0, 2, 2),), ((0, 0, -1, 1),), ((1, 1, 2, 2),)])
def test_groups_that_do_not_cover_the_cells_are_not_counted(project, groups):
    program = start(project)
    with pytest.raises(QueryFailed):
        cut_of(program).measure([CoarseSet((0,), groups)], [program.law(Fraction(1, 2))])


def test_other_groups_are_another_step(project):
    program = start(project)
    cut_of(program).measure([AGES], [program.law(Fraction(1, 2))])
    again = start(project)
    for other in (CoarseSet((0,), ((0, 1, 1, 1),)), (0,), BOTH):
        with pytest.raises(LedgerFault, match="is not the step"):
            cut_of(again).measure([other], [again.law(Fraction(1, 2))])
    noisy = cut_of(again).measure([AGES], [again.law(Fraction(1, 2))])
    assert len(noisy[0]) == 2 and again.share_left == Fraction(1, 2)


def test_of_groups_the_one_that_is_far_off_is_chosen(project):
    program = start(project, PURE)
    cut = cut_of(program)
    sets = [(0,), AGES]
    near = Candidate(estimate=np.array([200, 200, 200, 0]), weight=1, penalty=0)
    far = Candidate(estimate=np.array([0, 600]), weight=1, penalty=0)
    assert cut.choose(sets, lambda: [(AGES, far), ((0,), near)], epsilon=Fraction(1), most_weight=1) == 1
