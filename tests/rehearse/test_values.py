"""Codes as the values of a source: exact, whatever their size."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.engines.source_values import code_of
from discreet.rehearse.source_values import NULL, arrow_column, words_of
from discreet.schema.column import MOST_CODE, CategoryColumn, MomentColumn, NumberColumn, TextColumn


@pytest.mark.parametrize("step", [Fraction(1, 100), Fraction(1, 4), Fraction(1000), Fraction(1, 10**12), Fraction(5)])
@pytest.mark.parametrize("largest", [0, 1, 12_345, MOST_CODE])
def test_decimals_are_exact_multiples_of_their_step(step, largest):
    column = NumberColumn(name="x", type="decimal", step=step)
    codes = np.array([largest, -largest, NULL, 3], dtype=np.int64)
    found = arrow_column(column, codes).to_pylist()
    assert found[2] is None
    assert [Fraction(value) for value in found if value is not None] == [code * step for code in (largest, -largest, 3)]
    assert all(isinstance(value, Decimal) for value in found if value is not None)


def test_moments_and_words_are_read_as_they_were_meant():
    days = arrow_column(MomentColumn(name="d", type="date"), np.array([0, 20_000, NULL])).to_pylist()
    assert [None if day is None else code_of(MomentColumn(name="d", type="date"), day.isoformat()) for day in days] == [
        0,
        20_000,
        None,
    ]
    column = CategoryColumn(name="c", values=("a", "not listed"))
    assert arrow_column(column, np.array([0, 1, 2, NULL])).to_pylist() == ["a", "not listed", "not listed?", None]
    assert words_of(TextColumn(name="t"), ("x",)) == ("x",) and len(words_of(TextColumn(name="t"))) == 25
