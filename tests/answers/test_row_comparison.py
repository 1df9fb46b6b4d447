"""Two groups of an answer compared: the numbers, intervals that hold the exact ones, and what is refused."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.answers import row_comparison
from discreet.answers.row_comparison import compare_rows
from discreet.errors import UsageError
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.plan import formula
from discreet.sql.parsed_query import OutputColumn
from tiers import size

COUNT = OutputColumn(name="n", formula=formula.count(0))
MEAN = OutputColumn(name="a", formula=formula.average(1, 0, centre=50, low=0, high=100))
LAWS = {0: DiscreteLaplace(scale=Fraction(3)), 1: DiscreteLaplace(scale=Fraction(150))}
#: Rows of two groups, and their sums of what lies above 50.
ROWS, SUMS = np.array([120, 80]), np.array([600, -900])
EXACT = {
    ("n", "difference"): 40,
    ("n", "ratio"): 1.5,
    ("a", "difference"): 600 / 120 + 900 / 80,
    ("a", "ratio"): (50 + 600 / 120) / (50 - 900 / 80),
}


def noise(draw, law):
    chance = 1 - np.exp(-1 / float(law.scale))
    return draw.geometric(chance, 2) - draw.geometric(chance, 2)


class Block:
    """As much of a block of two groups as a comparison looks at."""

    def __init__(self, draw, outputs):
        self.query = SimpleNamespace(inquiry=SimpleNamespace(statistics=[None, None]), outputs=outputs)
        self.values = {0: ROWS + noise(draw, LAWS[0]), 1: SUMS + noise(draw, LAWS[1])}
        self.laws, self.thresholds = LAWS, {}

    def hidden(self, output):
        return [False, False]


def reading(draw, output):
    block = Block(draw, (output,))
    return SimpleNamespace(blocks=[block], query=block.query, unsorted_groups=np.array([0, 1]))


def coverage(output, operation, runs):
    draw = np.random.default_rng(5)
    exact = EXACT[output.name, operation]
    held = 0
    for _ in range(runs):
        ((_, ends),) = compare_rows(reading(draw, output), 0, 1, operation, Fraction(95, 100))
        held += ends is None or ends[0] <= exact <= ends[1]
    return held / runs


@pytest.mark.thin(2)
@pytest.mark.parametrize("operation", ["difference", "ratio"])
@pytest.mark.parametrize("output", [COUNT, MEAN], ids=["count", "mean"])
def test_intervals_cover(output, operation):
    assert coverage(output, operation, size(500, 20_000)) >= 0.94


def test_a_comparison_that_forgets_the_second_noise_is_seen(monkeypatch):
    quiet = DiscreteLaplace(scale=Fraction(1, 100))
    real = formula.interval

    def deaf(of, vectors, laws, confidence):
        return real(of, vectors, [*laws[:2], quiet, quiet], confidence)

    monkeypatch.setattr(row_comparison.formula, "interval", deaf)
    assert coverage(COUNT, "difference", 500) < 0.92


def test_an_answer_compares_its_groups(shop):
    release = shop.sql("select sex, count(*) n, avg(items) a, max(items) from orders group by sex").ask(epsilon=900)
    rows = {row[0]: row for row in release.rows}
    found = release.compare("F", "M")
    assert (found.left, found.right, found.columns) == (("F",), ("M",), ("n", "a", "max(items)"))
    assert found.values[0] == rows["F"][1] - rows["M"][1]
    assert abs(found.values[1] - (rows["F"][2] - rows["M"][2])) < 0.2
    assert found.values[2] is None and found.intervals[2] is None  # a quantile has no law
    assert found.intervals[0][0] <= found.values[0] <= found.intervals[0][1]
    ratio = release.compare({"sex": "F"}, {"sex": "M"}, ratio=True)
    assert abs(ratio.values[0] - rows["F"][1] / rows["M"][1]) < 0.05
    wide = release.compare("F", "M", confidence="0.999")
    assert wide.intervals[0][1] >= found.intervals[0][1]
    assert str(found).startswith("F - M\nn: ")


def test_several_keys_and_an_order(shop):
    text = "select city, sex, count(*) n from orders group by city, sex order by n desc"
    release = shop.sql(text).ask(epsilon=900)
    rows = {row[:2]: row[2] for row in release.rows}
    assert release.compare(("bonn", "F"), ("ulm", "M")).values[0] == rows["bonn", "F"] - rows["ulm", "M"]
    assert release.compare(("bonn", "F"), ("bonn", "F")).values == (None,)


def test_what_has_noise_in_common_is_not_compared(shop):
    text = "select sex, count(*) / sum(count(*)) over () as p, sum(count(*)) over (order by sex) as r from orders group by sex"
    assert shop.sql(text).ask(epsilon=900).compare("F", "M").values == (None, None)


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        ("F", "X", "no row"),
        ("F", ("M", 1), "has 1 keys"),
        ({"city": "bonn"}, "F", "no key 'city'"),
        ({}, "F", "more than one row"),
    ],
)
def test_refused(shop, left, right, reason):
    release = shop.sql("select sex, count(*) n from orders group by sex").ask(epsilon=900)
    with pytest.raises(UsageError, match=reason):
        release.compare(left, right)
