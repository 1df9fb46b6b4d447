"""Many calls of `coalesce` in one question: each is looked at once, whatever the groups take of the others."""

from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.answers.answer_block import AnswerBlock
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan import formula
from discreet.plan.cell_statistics import Sum
from discreet.plan.expressions import Code
from discreet.sql.parsed_query import OutputColumn

PAIRS, GROUPS = 9, 2**9


def coalesce(*arguments):
    return formula.Call("coalesce", arguments)


def plus(*parts):
    return parts[0] if len(parts) == 1 else formula.Arithmetic("+", plus(*parts[:-1]), parts[-1])


def literal(value):
    return formula.FormulaConstant(Fraction(value))


def mean(pair):
    return formula.average(2 * pair, 2 * pair + 1, centre=50, low=0, high=100)


@pytest.fixture
def block():
    """Pair by pair a sum and its number of rows; each group has rows in another set of pairs."""
    asked = SimpleNamespace(inquiry=SimpleNamespace(statistics=[None] * (2 * PAIRS)))
    block = AnswerBlock(query=asked, place=0, keys=None, shape=(GROUPS,))
    rows = 60 * np.array(list(product((0, 1), repeat=PAIRS))).T
    for pair in range(PAIRS):
        block.values.update({2 * pair: rows[pair] * (pair - 4), 2 * pair + 1: rows[pair]})
        block.laws.update(
            {2 * pair: DiscreteLaplace(scale=Fraction(50)), 2 * pair + 1: DiscreteLaplace(scale=Fraction(1))}
        )
    return block


def hidden(block, of):
    return block.hidden(OutputColumn(name="", formula=of))


def test_each_coalesce_is_looked_at_once(block, monkeypatch):
    """There are as many patterns of hidden arguments as groups; nothing may be computed for each of them."""
    calls = []
    for name in ("evaluate", "interval"):
        real = getattr(formula, name)
        monkeypatch.setattr(
            formula, name, lambda *args, real=real, **options: calls.append(args[0]) or real(*args, **options)
        )
    of = plus(*(coalesce(mean(pair), literal(7)) for pair in range(PAIRS)))
    output = OutputColumn(name="", formula=of)
    block.cells(output), block.sortable(output), block.interval(output, Fraction(95, 100))
    assert len(calls) <= 8 * PAIRS


def test_nested_ones_too(block, monkeypatch):
    calls = []
    real = formula.evaluate
    monkeypatch.setattr(formula, "evaluate", lambda *args, **options: calls.append(args[0]) or real(*args, **options))
    of = literal(3)
    for pair in range(PAIRS):
        of = coalesce(plus(mean(pair), coalesce(mean((pair + 1) % PAIRS), literal(1))), of)
    hidden(block, of)
    assert len(calls) <= 16 * PAIRS


def test_a_group_has_the_sum_of_what_it_takes(block):
    parts = [coalesce(mean(pair), literal(-pair)) for pair in range(PAIRS)]
    rows = [block.values[2 * pair + 1] for pair in range(PAIRS)]
    expected = sum(np.where(some > 0, 50 + (pair - 4), -pair) for pair, some in enumerate(rows))
    assert np.array_equal(block._computed(plus(*parts)), expected)
    assert not hidden(block, plus(*parts)).any()
    shown = np.array(block.cells(OutputColumn(name="", formula=plus(*parts))))
    assert shown[0] == -36 and np.abs(shown - expected).max() < 20


def test_a_part_outside_hides_the_number(block):
    of = plus(coalesce(mean(0), literal(7)), mean(1))
    assert np.array_equal(hidden(block, of), block.values[3] == 0)
    last = plus(coalesce(mean(0), mean(1)), literal(1))  # hidden where neither is known
    assert np.array_equal(hidden(block, last), (block.values[1] == 0) & (block.values[3] == 0))
    inner = coalesce(plus(coalesce(mean(0), literal(7)), mean(1)), literal(5))
    expected = np.where(block.values[3] == 0, 5, 47 + np.where(block.values[1] == 0, 7, 46))
    assert np.array_equal(block._computed(inner), expected) and not hidden(block, inner).any()


def test_a_count_that_cannot_be_null_changes_nothing(block):
    """The ratio of two is judged as a ratio, as without `coalesce`."""
    ratio = formula.Arithmetic("/", formula.StatisticRef(0), formula.StatisticRef(1))
    same = formula.Arithmetic(
        "/", coalesce(formula.StatisticRef(0), literal(0)), coalesce(formula.StatisticRef(1), literal(1))
    )
    block.values[1] = np.arange(GROUPS) % 9 - 2
    assert np.array_equal(hidden(block, same), hidden(block, ratio))
    assert 0 < hidden(block, same).sum() < GROUPS


SIGNED, POSITIVE = (Sum(of=Code("x", low, 9, null=False)) for low in (-9, 0))


@pytest.mark.parametrize(
    ("statistic", "confidence", "least", "most"), [(SIGNED, 95, 0.02, 0.05), (POSITIVE, 99, 0.001, 0.005)]
)
@pytest.mark.parametrize("scales", [(1, 1), (5, 5), (40, 3), (3, 8)])
def test_a_quotient_of_sums_of_nobody_shows_one_time_in_20_or_in_200(scales, statistic, confidence, least, most):
    """By the exact law: it shows where the noise of the divisor alone is beyond its half width: on either side, or, if
    the divisor is never negative, above it.
    """
    above, below = laws = [DiscreteLaplace(scale=Fraction(scale)) for scale in scales]
    reach = int(below.half_width(Fraction(999999, 1000000)))
    divisors = np.arange(-reach, reach + 1)
    asked = SimpleNamespace(inquiry=SimpleNamespace(statistics=[statistic] * 2))
    chances = np.array(
        [float(below.tail(abs(int(at)) - 1) - below.tail(abs(int(at)))) / 2 if at else 0.0 for at in divisors]
    )
    width = below.half_width(Fraction(confidence, 100))
    for dividend in (0, 1, int(above.half_width(Fraction(95, 100)))):
        block = AnswerBlock(query=asked, place=0, keys=None, shape=divisors.shape)
        block.values.update({0: np.full(divisors.shape, dividend), 1: divisors})
        block.laws.update(enumerate(laws))
        shown = ~hidden(block, formula.Arithmetic("/", formula.StatisticRef(0), formula.StatisticRef(1)))
        assert np.array_equal(shown, (divisors if statistic is POSITIVE else np.abs(divisors)) > width)
        assert least < chances[shown].sum() <= most
