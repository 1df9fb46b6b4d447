"""What two columns of the row before say of the next one counts once: the row before is as the next one is within."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.inference.fit import fit
from discreet.inference.fit_inputs import MeasuredMarginal
from discreet.synth.persons.chain import ChainVariable
from discreet.synth.persons.chain_fit import _ChainSearch, _places_before

VARIABLES = [
    ChainVariable(role=role, column=column)
    for role, column in (("trait", "c"), ("previous", "a"), ("previous", "b"), ("next", "a"), ("next", "b"))
]


def exact_table():
    """A trait, then columns of two values: a stays what it was for 7 of 10, and b is what a is for 9 of 10."""
    table = np.zeros((2,) * 5)
    for cell in np.ndindex(table.shape):
        trait, a, b, next_a, next_b = cell
        chances = (0.9 if one == other else 0.1 for one, other in ((b, a), (next_b, next_a)))
        table[cell] = (500 + 100 * trait) * np.prod(list(chances)) * (0.7 if next_a == a else 0.3)
    return table


def share_that_stays(*, mirrored):
    """Of rows as they are, for which part the model of a few tables without noise says that a stays."""
    exact, sizes = exact_table(), (2,) * 5
    search = _ChainSearch.__new__(_ChainSearch)
    search.variables, search.sizes, search.before, search.model = (), sizes, _places_before(VARIABLES), None
    sets = [(0,), (1,), (2,), (3,), (4,), (1, 3), (2, 3), (3, 4)]
    search.measured = [
        MeasuredMarginal(
            attributes=own, values=exact.sum(axis=tuple(axis for axis in range(5) if axis not in own)), variance=1.0
        )
        for own in sets
    ]
    total = float(exact.sum())
    search.model = fit(sizes, search.measured, total)
    assert [own.attributes for own in search._mirrored()] == [(1, 2)]
    if mirrored:
        search.model = fit(sizes, [*search.measured, *search._mirrored()], total)
    joint = search.model.calibrated.project((0, 1, 2, 3))
    stays = joint / joint.sum(axis=3, keepdims=True)
    weights = exact.sum(axis=(3, 4))
    return float(sum(stays[:, a, :, a][trait, b] * weights[trait, a, b] for trait, a, b in np.ndindex(2, 2, 2))) / total


def test_what_two_columns_say_of_the_next_row_counts_once():
    """Exact tables and no noise; a planted fault, that the row before has no table of its own, makes a stay too often."""
    assert share_that_stays(mirrored=True) == pytest.approx(0.7, abs=0.02)
    assert share_that_stays(mirrored=False) > 0.73


def test_only_the_row_itself_and_traits_are_as_before():
    search = _ChainSearch.__new__(_ChainSearch)
    search.before = _places_before(VARIABLES)
    assert [search._axes_before(own) for own in ((0, 3), (0, 3, 4), (3,), (1, 3), (2, 4))] == [
        (0, 1),
        (0, 1, 2),
        None,
        None,
        None,
    ]
