"""Formulas over noisy statistics: their values, the coverage of their intervals, needs, splits, digits, speed."""

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.mechanisms import noise_combination
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.noise_combination import CombinedNoise
from discreet.mechanisms.quantile import QuantileChoice
from discreet.plan import formula as f
from discreet.plan.formula import fieller, interval_arithmetic, uncertainty
from discreet.plan.formula.linear import linear, ratio
from noise.source import FixedBits
from tiers import examples

SURE = Fraction(95, 100)
N = 20_000
HALF = 50  # half the range of the columns below: codes from 0 to 100, centred at 50


def number(value):
    return f.FormulaConstant(None if value is None else Fraction(value))


def value(formula, *statistics):
    found = f.evaluate(formula, [np.array([statistic]) for statistic in statistics])
    return None if math.isnan(found[0]) else float(found[0])


# --- values ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (f.Arithmetic("+", f.StatisticRef(0), number("1/2")), 7.5),
        (f.Arithmetic("-", f.StatisticRef(0), f.StatisticRef(1)), 10),
        (f.Arithmetic("*", f.StatisticRef(0), f.StatisticRef(1)), -21),
        (f.Arithmetic("/", f.StatisticRef(0), number(2)), 3.5),
        (f.Arithmetic("/", f.StatisticRef(0), number(0)), None),
        (f.Arithmetic("/", number(0), number(0)), None),
        (f.Arithmetic("+", f.StatisticRef(0), number(None)), None),
        (f.Quotient(f.StatisticRef(0), f.StatisticRef(1), Fraction(-10), Fraction(10)), 7),
        (f.Quotient(f.StatisticRef(0), f.StatisticRef(1), Fraction(-1), Fraction(5)), 5),
        (f.Clamp(f.StatisticRef(1), Fraction(0), None), 0),
        (f.Clamp(f.StatisticRef(0), None, Fraction(3)), 3),
        (f.Clamp(f.StatisticRef(0), None, None), 7),
        (f.Clamp(number(None), Fraction(0), Fraction(1)), None),
        (f.Call("abs", (f.StatisticRef(1),)), 3),
        (f.Call("sqrt", (number(16),)), 4),
        (f.Call("sqrt", (f.StatisticRef(1),)), None),
        (f.Call("floor", (number("-1/2"),)), -1),
        (f.Call("ceil", (number("-1/2"),)), 0),
        (f.Call("round", (number("5/2"),)), 3),
        (f.Call("round", (number("-5/2"),)), -3),
        (f.Call("round", (number("12345/1000"), number(1))), 12.3),
        (f.Call("round", (number(12345), number(-2))), 12300),
        (f.Call("least", (f.StatisticRef(0), number(None), f.StatisticRef(1))), -3),
        (f.Call("greatest", (f.StatisticRef(0), number(None), f.StatisticRef(1))), 7),
        (f.Call("least", (number(None), number(None))), None),
        (f.Call("coalesce", (number(None), f.StatisticRef(0), f.StatisticRef(1))), 7),
        (f.Call("nullif", (f.StatisticRef(0), number(7))), None),
        (f.Call("nullif", (f.StatisticRef(0), f.StatisticRef(1))), 7),
        (f.Compare("<", f.StatisticRef(0), f.StatisticRef(1)), 0),
        (f.Compare(">=", f.StatisticRef(0), number(7)), 1),
        (f.Compare("=", f.StatisticRef(0), number(None)), None),
        (f.Compare("<>", f.StatisticRef(0), number(7)), 0),
        (f.And((f.Compare("=", number(1), number(2)), f.Compare("=", number(1), number(None)))), 0),
        (f.And((f.Compare("=", number(1), number(1)), f.Compare("=", number(1), number(None)))), None),
        (f.Or((f.Compare("=", number(1), number(1)), f.Compare("=", number(1), number(None)))), 1),
        (f.Or((f.Compare("=", number(1), number(2)), f.Compare("=", number(1), number(None)))), None),
        (f.Or((f.Compare("=", number(1), number(2)), f.Compare("=", number(1), number(3)))), 0),
        (f.Not(f.Compare("<", f.StatisticRef(0), f.StatisticRef(1))), 1),
        (f.Not(f.Compare("<", f.StatisticRef(0), number(None))), None),
        (f.IsNull(f.Arithmetic("/", f.StatisticRef(0), number(0))), 1),
        (f.IsNull(f.StatisticRef(0)), 0),
    ],
    ids=str,
)
def test_values_are_sqls(formula, expected):
    assert value(formula, 7, -3) == expected


def test_vectors_of_any_integers():
    wide = np.array([10**30, -(10**30)], dtype=object)
    assert f.evaluate(f.Arithmetic("*", number(2), f.StatisticRef(0)), [wide]).tolist() == [2e30, -2e30]
    assert f.evaluate(number(3), [wide]).tolist() == [3, 3]


@pytest.mark.parametrize(
    "make",
    [
        lambda: f.Call("sin", (f.StatisticRef(0),)),
        lambda: f.Call("abs", ()),
        lambda: f.Call("nullif", (f.StatisticRef(0),)),
        lambda: f.Call("round", (f.StatisticRef(0), f.StatisticRef(1))),
        lambda: f.Quotient(f.StatisticRef(0), f.StatisticRef(1), Fraction(1), Fraction(2)),
    ],
)
def test_what_is_no_formula(make):
    with pytest.raises(ValueError):
        make()


# --- moments --------------------------------------------------------------------------------------------------------


def side(total, squares, *, step=Fraction(1)):
    return f.RegressionColumn(moved=None, total=total, squares=squares, centre=HALF, low=-HALF, high=HALF, step=step)


def statistics(x, y):
    """n, sums, squares and products of codes minus 50, and a smaller count."""
    x, y = (np.asarray(column, dtype=np.int64) - HALF for column in (x, y))
    return [len(x), *(int(part.sum()) for part in (x, x * x, y, y * y, x * y)), len(x) // 3]


SENSITIVITIES = (1, HALF, HALF**2, HALF, HALF**2, HALF**2, 1)
BOUNDS = {"low": -HALF, "high": HALF}


def formulas(step=Fraction(1)):
    x, y = side(1, 2, step=step), side(3, 4)
    mean = [f.average(total, 0, centre=HALF, low=0, high=100) for total in (1, 3)]
    return {
        "count": f.count(0),
        "total": f.total(1, step=step),
        "average": f.average(1, 0, centre=HALF, low=0, high=100, step=step),
        "var_pop": f.variance(0, 1, 2, **BOUNDS, step=step, sample=False),
        "var_samp": f.variance(0, 1, 2, **BOUNDS, step=step, sample=True),
        "stddev_pop": f.stddev(0, 1, 2, **BOUNDS, step=step, sample=False),
        "stddev_samp": f.stddev(0, 1, 2, **BOUNDS, step=step, sample=True),
        "covar_pop": f.covariance(0, x, y, 5, sample=False),
        "covar_samp": f.covariance(0, x, y, 5, sample=True),
        "corr": f.correlation(0, x, y, 5),
        "slope": f.slope(0, x, y, 5),
        "intercept": f.intercept(0, x, y, 5),
        "share": f.Arithmetic("/", f.StatisticRef(6), f.StatisticRef(0)),
        "part of a whole": f.Arithmetic(
            "/", f.StatisticRef(6), f.Arithmetic("+", f.StatisticRef(6), f.StatisticRef(0))
        ),
        "whole of itself": f.Arithmetic("/", *[f.Arithmetic("+", f.StatisticRef(6), f.StatisticRef(0))] * 2),
        "ratio of sums": f.Arithmetic("/", f.StatisticRef(1), f.StatisticRef(3)),
        "difference": f.Arithmetic("-", f.StatisticRef(0), f.StatisticRef(6)),
        "ratio of averages": f.Arithmetic("/", *mean),
        "rounded": f.Call("round", (f.Arithmetic("*", number(100), mean[0]), number(1))),
    }


@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 100), Fraction(-3)], ids=str)
def test_moments_without_noise_are_numpys(step):
    generator = np.random.default_rng(1)
    x = generator.integers(0, 101, 40)
    y = np.clip(x // 2 + generator.integers(0, 30, 40), 0, 100)
    exact = statistics(x, y)
    x = x * float(step)
    slope, intercept = np.polyfit(x, y, 1)
    expected = {
        "average": x.mean(),
        "var_pop": x.var(),
        "var_samp": x.var(ddof=1),
        "stddev_pop": x.std(),
        "stddev_samp": x.std(ddof=1),
        "covar_pop": np.cov(x, y, ddof=0)[0, 1],
        "covar_samp": np.cov(x, y)[0, 1],
        "corr": np.corrcoef(x, y)[0, 1],
        "slope": slope,
        "intercept": intercept,
    }
    for name, true in expected.items():
        assert value(formulas(step)[name], *exact) == pytest.approx(true), name


def test_grains():
    assert value(f.average(1, 0, centre=50, low=0, high=100, grain=8), 10, 5) == 54
    found = f.variance(0, 1, 2, **BOUNDS, sample=False, grains=(8, 64))
    assert value(found, 10, 5, 20) == 20 * 64 / 10 - 4**2


def test_results_are_moved_to_what_is_possible():
    found = formulas()
    assert value(found["average"], 1, 10**6) == 100
    assert value(found["average"], -5, 3) == 53  # a number of rows below 1 counts as 1
    assert value(found["var_pop"], 10, 500, 0) == 0
    assert value(found["var_pop"], 1, 0, 10**9) == 2500
    assert value(found["var_samp"], 1, 0, 10**9) == 5000
    assert value(found["corr"], 100, 0, 100, 0, 100, 10**5) == 1
    assert value(found["corr"], 100, 0, -5, 0, 100, 50) is None
    assert value(found["slope"], 100, 0, 0, 0, 100, 50) is None


# --- intervals ------------------------------------------------------------------------------------------------------


def columns(kind, n):
    generator = np.random.default_rng(7)
    x = {
        "uniform": generator.integers(0, 101, n),
        "skewed": np.minimum(generator.exponential(4, n).astype(int), 100),
        "at a bound": np.full(n, 100),
        "two heaps": generator.integers(0, 2, n) * 100,
    }[kind]
    return x, np.clip(x // 2 + generator.integers(0, 41, n), 0, 100)


def laws(kind, spread):
    if kind == "laplace":
        return [DiscreteLaplace(scale=Fraction(part * spread)) for part in SENSITIVITIES]
    return [DiscreteGaussian(sigma2=Fraction(part * spread) ** 2) for part in SENSITIVITIES]


def covered(formula, exact, noise, bits):
    """How often the interval holds the formula of the exact statistics, in 20,000 draws of the noise."""
    true = value(formula, *exact)
    noisy = [statistic + law.draw(N, bits=bits) for statistic, law in zip(exact, noise, strict=True)]
    low, high = f.interval(formula, noisy, noise, SURE)
    shown = f.evaluate(formula, noisy)
    assert np.all((low <= shown) & (shown <= high) | np.isnan(shown))
    return 1.0 if true is None else float(np.mean((low <= true) & (true <= high)))


@pytest.mark.thin(2)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("kind", ["uniform", "skewed", "at a bound", "two heaps"])
@pytest.mark.parametrize("n", [0, 1, 5, 50, 5000])
def test_coverage(law, kind, n):
    """At least 94% of 20,000 draws. A true 95% falls below that once in 10^10 runs (and the bits are fixed)."""
    exact, bits = statistics(*columns(kind, n)), FixedBits(n)
    for name, formula in formulas().items():
        assert covered(formula, exact, laws(law, 6), bits) >= 0.94, name


@pytest.mark.thin(2)
@pytest.mark.parametrize("spread", [Fraction(1, 2), Fraction(3, 2), 40], ids=str)
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_coverage_under_little_and_much_noise(law, spread):
    exact, bits = statistics(*columns("uniform", 60)), FixedBits(3)
    for name, formula in formulas().items():
        assert covered(formula, exact, laws(law, spread), bits) >= 0.94, name


@pytest.mark.parametrize("law", ["laplace", "gaussian"])
def test_ratios_have_the_nominal_coverage_and_no_more(law):
    exact = statistics(*columns("uniform", 5000))
    for name in ("average", "share", "difference"):
        assert covered(formulas()[name], exact, laws(law, 6), FixedBits(4)) <= 0.963, name


@pytest.mark.parametrize(
    "broken",
    ["narrow fan", "no union bound", "count without noise"],
)
def test_broken_intervals_are_caught(broken, monkeypatch):
    exact, name = statistics(*columns("uniform", 60)), "average"
    noise = laws("laplace", 6)
    uncertainty._fan.cache_clear()
    if broken == "narrow fan":
        monkeypatch.setattr(uncertainty, "half_widths", lambda *a, **k: 0.8 * noise_combination.half_widths(*a, **k))
    if broken == "no union bound":
        name = "product"
        monkeypatch.setattr(
            uncertainty,
            "_levels",
            lambda formula, sure, choices: {f.StatisticRef(0): sure, f.StatisticRef(6): Fraction(1, 2)},
        )
    if broken == "count without noise":
        monkeypatch.setattr(fieller, "_ANGLE", 1e-9 + math.pi)
        monkeypatch.setattr(uncertainty, "_parts", lambda law: [(Fraction(1), DiscreteLaplace(scale=Fraction(1)), 1)])
    found = (
        f.Arithmetic("-", f.StatisticRef(0), f.Arithmetic("*", f.StatisticRef(6), f.StatisticRef(6)))
        if name == "product"
        else formulas()[name]
    )
    assert covered(found, exact, noise, FixedBits(5)) < 0.94
    uncertainty._fan.cache_clear()


SMALL_LAWS = [
    (DiscreteLaplace(scale=Fraction(left)), DiscreteLaplace(scale=Fraction(right)))
    for left, right in (("1/2", 1), (1, 1), ("3/2", 2), (1, 5), (2, 2), (5, 2), (5, 5), (10, 4))
] + [
    (DiscreteGaussian(sigma2=Fraction(left) ** 2), DiscreteGaussian(sigma2=Fraction(right) ** 2))
    for left, right in ((1, 1), (1, 5), (2, 2), (5, 5))
]


@pytest.mark.thin(2)
@pytest.mark.parametrize("pair", SMALL_LAWS, ids=range(len(SMALL_LAWS)))
def test_the_test_of_a_ratio_by_summation(pair):
    """Between the directions of the fan, too, grainy noise leaves its width at most 1.03 times as often as it may."""
    fan = uncertainty._fan(ratio(f.Arithmetic("/", f.StatisticRef(0), f.StatisticRef(1))), tuple(enumerate(pair)), SURE)
    reach = np.arange(-200, 201)
    masses = [np.array([law.mass(int(k)) for k in reach]) for law in pair]
    joint = masses[0][:, None] * masses[1]
    for angle in np.linspace(-1.5, 1.5, 41):
        slope = math.tan(angle) * math.sqrt(pair[0].variance() / pair[1].variance())
        place = int(np.flatnonzero(fan.v - slope * fan.u <= 0)[-1])
        before, after = ((fan.v - slope * fan.u)[index] for index in (place, place + 1))
        part = before / (before - after)
        u, width = ((1 - part) * side[place] + part * side[place + 1] for side in (fan.u, fan.widths))
        inside = np.abs(u * (reach[:, None] - slope * reach)) <= width
        assert joint[inside].sum() >= 1 - 0.05 * 1.03


def test_a_plain_count_has_its_laws_interval():
    law = DiscreteLaplace(scale=Fraction(10))
    noisy = np.array([-3, 0, 1000])
    low, high = f.interval(f.count(0), [noisy], [law], SURE)
    assert low.tolist() == [-33, -30, 970]
    assert high.tolist() == [27, 30, 1030]
    low, high = f.interval(f.total(0, step=Fraction(-1, 2)), [noisy], [law], SURE)
    assert (high - low).tolist() == [30, 30, 30]
    both = CombinedNoise(parts=((Fraction(1, 2), law), (Fraction(1, 2), law)))
    low, high = f.interval(f.count(0), [noisy], [both], SURE)
    assert high[0] - low[0] == pytest.approx(2 * both.half_width(SURE))


def test_a_linear_formula_has_the_law_of_its_sum():
    pair = (DiscreteLaplace(scale=Fraction(10)), DiscreteLaplace(scale=Fraction(20)))
    formula = f.Arithmetic(
        "+", f.Arithmetic("*", number(3), f.StatisticRef(0)), f.Arithmetic("-", number(5), f.StatisticRef(1))
    )
    low, high = f.interval(formula, [np.array([100]), np.array([10])], pair, SURE)
    true = CombinedNoise(parts=((Fraction(3), pair[0]), (Fraction(-1), pair[1]))).half_width(SURE)
    assert (low[0], high[0]) == (pytest.approx(295 - true), pytest.approx(295 + true))
    same = f.Arithmetic("-", f.StatisticRef(0), f.StatisticRef(0))
    assert [end.tolist() for end in f.interval(same, [np.array([5])], pair, SURE)] == [[0], [0]]
    assert linear(f.Arithmetic("/", f.StatisticRef(0), number(0))) is None
    assert linear(f.Arithmetic("/", number(1), f.StatisticRef(0))) is None


def test_intervals_keep_to_what_is_possible():
    noise = laws("laplace", 60)
    bits = FixedBits(6)
    noisy = [10 + law.draw(2000, bits=bits) for law in noise]
    limits = {"average": (0, 100), "var_pop": (0, 2500), "var_samp": (0, 5000), "stddev_pop": (0, 50), "corr": (-1, 1)}
    for name, (least, most) in limits.items():
        low, high = f.interval(formulas()[name], noisy, noise, SURE)
        assert low.min() >= least and high.max() <= most
        assert np.all(low <= high)


def test_a_ratio_of_nothing_is_anything():
    noise = [DiscreteLaplace(scale=Fraction(10))] * 2
    low, high = f.interval(formulas()["share"], [np.array([3, 500])] * 7, noise * 4, SURE)
    assert (low[0], high[0]) == (-math.inf, math.inf)
    assert 0.8 < low[1] < 1 < high[1] < 1.25


@pytest.mark.thin(15)
@pytest.mark.parametrize("epsilon", [20, 60, 170, 185, 400, 900])
@pytest.mark.parametrize("law", ["laplace", "gaussian"])
@pytest.mark.parametrize("ends", [(0, 1), (-1, 0), (-50, 50)])
def test_a_ratio_under_hardly_any_noise(epsilon, law, ends):
    """A variance of 1e-60 made directions that floats cannot tell apart: 0.49 came out as "0.04 to 1.00"."""
    low, high = ends
    size = max(-low, high)
    scales = size / Fraction(716 * epsilon, 1000), 1 / Fraction(284 * epsilon, 1000)
    laws = [DiscreteLaplace(scale=each) if law == "laplace" else DiscreteGaussian(sigma2=each**2) for each in scales]
    rows = np.array([7, 7, 3000, 3000])
    totals = np.array([low * 7, high * 7, 1480 * low + 1520 * high, 3000 * high])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        below, above = f.interval(f.average(0, 1, centre=0, low=low, high=high), [totals, rows], laws, SURE)
    assert (below <= totals / rows + 1e-12).all() and (totals / rows <= above + 1e-12).all()
    reach = [float(each.half_width(Fraction(99, 100))) + 1 for each in laws]
    assert (above - below <= 3 * (reach[0] + size * reach[1]) / rows).all()


def test_more_confidence_is_wider_and_less_noise_narrower():
    noisy = [np.array([500]), np.array([900])]
    formula = f.average(1, 0, centre=HALF, low=0, high=100)
    widths = []
    for spread, confidence in ((6, SURE), (6, Fraction(99, 100)), (3, SURE)):
        low, high = f.interval(formula, noisy, laws("laplace", spread), confidence)
        widths.append(high[0] - low[0])
    assert widths[2] < 0.6 * widths[0] < widths[0] < 0.8 * widths[1]


def test_comparisons_are_sure_or_open():
    law = DiscreteLaplace(scale=Fraction(10))
    noisy = [np.array([0, 100, 1000])]
    low, high = f.interval(f.Compare(">", f.StatisticRef(0), number(100)), noisy, [law], SURE)
    assert (low.tolist(), high.tolist()) == ([0, 0, 1], [0, 1, 1])
    low, high = f.interval(f.Not(f.Compare("<=", f.StatisticRef(0), number(100))), noisy, [law], SURE)
    assert (low.tolist(), high.tolist()) == ([0, 0, 1], [0, 1, 1])


def test_misses_add_to_what_is_allowed():
    for formula in formulas().values():
        levels = uncertainty._levels(formula, SURE, {})
        assert sum(1 - level for level in levels.values()) == 1 - SURE
    shares = uncertainty._levels(formulas()["var_pop"], SURE, {})
    assert len(shares) == 2
    assert min(shares.values()) == 1 - Fraction(2, 3) * (1 - SURE)  # the squares matter twice as much


def test_a_sum_of_combined_measurements():
    law = DiscreteLaplace(scale=Fraction(10))
    both = CombinedNoise(parts=((Fraction(1, 4), law), (Fraction(3, 4), law)))
    low, high = f.interval(
        f.Arithmetic("+", f.StatisticRef(0), f.StatisticRef(1)), [np.array([0])] * 2, [both, law], SURE
    )
    flat = CombinedNoise(parts=(*both.parts, (Fraction(1), law)))
    assert high[0] == -low[0] == pytest.approx(flat.half_width(SURE))
    low, high = f.interval(formulas()["average"], [np.array([1000]), np.array([100])], [both, both], SURE)
    other, another = f.interval(formulas()["average"], [np.array([1000]), np.array([100])], [law, law], SURE)
    assert high[0] - low[0] < 0.9 * (another[0] - other[0])


def test_noise_beyond_the_bounds_leaves_an_interval_at_the_bound():
    noise = [DiscreteLaplace(scale=Fraction(2)), DiscreteLaplace(scale=Fraction(100))]
    low, high = f.interval(formulas()["average"], [np.array([100, 100]), np.array([10**5, -(10**5)])], noise, SURE)
    assert high[0] == 100 and 90 < low[0] < 99
    assert low[1] == 0 and 1 < high[1] < 10


#: Boxes for three statistics, and points of each: its ends and its middle.
LOWS, SIZES = (np.array(part) for part in zip(*itertools.product(range(-3, 4), (0, 1, 4)), strict=True))
PICKED = np.random.default_rng(1).integers(0, LOWS.size, (3, 600))
ENDS = [(LOWS[pick].astype(float), (LOWS + SIZES)[pick].astype(float)) for pick in PICKED]
POINTS = [
    np.stack([low + part * (high - low) for part in parts])
    for (low, high), parts in zip(ENDS, zip(*itertools.product((0, 0.5, 1), repeat=3), strict=True), strict=True)
]


def faults(formula):
    """How many values of a formula, at points of boxes, lie outside the interval of their box."""
    known = {f.StatisticRef(place): ends for place, ends in enumerate(ENDS)}
    with np.errstate(all="ignore"):
        low, high = interval_arithmetic.enclosing_interval(formula, known)
    found = f.evaluate(formula, POINTS)
    null = np.isnan(found)
    assert interval_arithmetic.nullable(formula) or not null.any()
    room = 1e-9 * np.abs(found)
    return int(np.count_nonzero(~null & ((found < low - room) | (found > high + room))))


def grown(one, two):
    """Every node over two formulas."""
    truths = [f.Compare(operator, one, two) for operator in ("=", "<>", "<", "<=", ">", ">=")]
    return [
        *(f.Arithmetic(operator, one, two) for operator in "+-*/"),
        f.Arithmetic("*", one, one),
        f.Quotient(one, two, Fraction(-5), Fraction(5)),
        *(f.Call(name, (one,)) for name in ("abs", "sqrt", "floor", "ceil", "round")),
        *(f.Call(name, (one, two)) for name in ("least", "greatest", "coalesce", "nullif")),
        f.Call("round", (one, number(-1))),
        f.Clamp(one, Fraction(-(10**6)), Fraction(10**6)),
        *truths,
        *(f.Not(truth) for truth in truths),
        *(f.IsNull(part) for part in (one, two)),
        f.And((truths[2], truths[1])),
        f.Or((truths[0], truths[4])),
    ]


OPERANDS = [
    f.StatisticRef(0),
    f.StatisticRef(1),
    number(None),
    number(0),
    number(2),
    f.Arithmetic("/", f.StatisticRef(0), f.StatisticRef(1)),
    f.Arithmetic("/", number(1), f.StatisticRef(2)),
    f.Call("sqrt", (f.StatisticRef(2),)),
    f.Call("nullif", (f.StatisticRef(1), number(0))),
]


@pytest.mark.thin(2)
@pytest.mark.parametrize("one", OPERANDS, ids=str)
def test_interval_arithmetic_holds_every_value(one):
    """Every node over every pair of operands: its value at each point of a box lies in the interval of the box."""
    for two in OPERANDS:
        for formula in grown(one, two):
            assert faults(formula) == 0, formula


@settings(max_examples=examples(150))
@given(st.recursive(st.sampled_from(OPERANDS), lambda inner: st.builds(grown, inner, inner).flatmap(st.sampled_from)))
def test_interval_arithmetic_of_deep_formulas(formula):
    assert faults(formula) == 0


# --- needs, splits, digits ------------------------------------------------------------------------------------------


def test_needs():
    found = formulas()
    assert f.needs(found["count"]) == {0: 1}
    assert f.needs(found["total"]) == {1: 1}
    assert f.needs(found["average"]) == {1: 1, 0: Fraction(1, 16)}
    assert f.needs(found["stddev_samp"])[2] == 1
    assert f.needs(found["share"]) == {6: 1, 0: Fraction(1, 4)}
    assert f.needs(found["average"], found["count"]) == {1: 1, 0: Fraction(17, 16)}
    assert f.needs(number(3)) == {}
    for name in ("covar_pop", "corr", "slope", "intercept"):
        needs = f.needs(found[name])
        assert max(needs.values()) == 1 and min(needs.values()) > 0
        assert needs.keys() == f.cells(found[name])
        assert needs[5] == 1


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(
    "needs", [[1], [1, 1], [1, "1/16"], [1, "1/4", "1/16"], [0, 1], [0, 0], ["1/100000"] * 7], ids=str
)
def test_splits_add_to_one(needs, gaussian):
    shares = f.split({("name", place): Fraction(need) for place, need in enumerate(needs)}, gaussian=gaussian)
    assert sum(shares.values()) == 1
    assert min(shares.values()) > 0
    assert all(1000 % share.denominator == 0 for share in shares.values())
    assert list(shares) == [("name", place) for place in range(len(needs))]


def test_splits_of_nothing_and_of_many():
    assert f.split({}, gaussian=False) == {}
    many = f.split({place: Fraction(1, place + 1) for place in range(5000)}, gaussian=False)
    assert sum(many.values()) == 1 and min(many.values()) > 0
    with pytest.raises(ValueError):
        f.split({0: Fraction(-1)}, gaussian=False)


@pytest.mark.parametrize("gaussian", [False, True])
def test_a_split_is_the_best_there_is(gaussian):
    """Moving a part of any share elsewhere makes the sum of need * variance larger."""
    needs = {0: Fraction(1), 1: Fraction(1, 16), 2: Fraction(1, 4)}
    shares = f.split(needs, gaussian=gaussian)

    def error(shares):
        return sum(float(need) / float(shares[name]) ** (1 if gaussian else 2) for name, need in needs.items())

    for giver, taker in itertools.permutations(needs, 2):
        moved = dict(shares)
        moved[giver] -= Fraction(2, 100)
        moved[taker] += Fraction(2, 100)
        assert error(moved) > error(shares)


@pytest.mark.parametrize("name", ["average", "var_pop", "covar_pop", "slope"])
def test_a_split_beats_equal_shares(name):
    """On ordinary data the error of the output is smaller, in the median of 20,000 draws."""
    exact, formula, errors = statistics(*columns("uniform", 3000)), formulas()[name], []
    needs = f.needs(formula)
    for shares in (f.split(needs, gaussian=False), dict.fromkeys(needs, Fraction(1, len(needs)))):
        bits = FixedBits(8)
        noisy = [np.full(N, statistic) for statistic in exact]
        for cell, share in shares.items():
            scale = Fraction(SENSITIVITIES[cell]) / share
            noisy[cell] = noisy[cell] + DiscreteLaplace(scale=scale).draw(N, bits=bits)
        errors.append(np.median(np.abs(f.evaluate(formula, noisy) - value(formula, *exact))))
    assert errors[0] < 0.95 * errors[1]


@pytest.mark.parametrize(
    ("shown", "width", "expected"),
    [
        (1234.5678, 45.6, 1235),
        (1234.5678, 456.7, 1230),
        (1234.5678, 4567.8, 1200),
        (-1234.5678, 0.0123, -1234.568),
        (0.1 + 0.2, 0.05, 0.3),
        (3.0, 100000.0, 0.0),
        (-3.0, 100000.0, 0.0),
        (123.456, 0.0, 123.456),
        (123.456, math.inf, 120.0),
        (0.0, math.inf, 0.0),
        (123.456, 1e-300, 123.456),
    ],
)
def test_digits(shown, width, expected):
    assert float(f.meaningful(shown, width)) == expected
    assert math.copysign(1, float(f.meaningful(shown, width))) == math.copysign(1, expected)


def test_digits_of_many():
    found = f.meaningful([1.234, math.nan, 5678.9, 4.4], [0.1, 1.0, math.nan, 10.0])
    assert found[0] == 1.23 and math.isnan(found[1]) and found[2] == 5678.9 and found[3] == 4.0
    assert f.meaningful(np.zeros(0), np.zeros(0)).size == 0


def test_digits_of_quantiles():
    """A 200th of the way to the nearer end at most, whatever the farther one is; and an end is no nearer than 0."""
    draw = np.random.default_rng(9)
    lows, values, highs = np.sort(10 ** draw.uniform(-3, 6, (3, 2000)), axis=0)
    shown = np.array(f.meaningful_quantiles(values, lows, highs))
    near = np.minimum(values - lows, highs - values)
    assert (np.abs(shown - values) <= near / 200 * (1 + 1e-9)).all()
    assert (np.abs(shown - values) > near / 2500).any()  # and it rounds
    units = 10 ** (np.floor(np.log10(near)) - 2)
    assert np.abs(shown / units - np.round(shown / units)).max() < 1e-4
    assert f.meaningful_quantiles([5.4321, 0.1], [5.4321, 0.0], [9.0, 0.1]) == [5.4321, 0.1]


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
@pytest.mark.parametrize("persons", [1000, 10_000, 100_000])
def test_digits_do_not_move_a_median_away(epsilon, persons):
    """The mean rank error over the law of the choice, before and after, by an interval half as wide again as its ends are aimed."""
    choice = QuantileChoice(fraction=Fraction(1, 2), bins=4096, rows=1, epsilon=Fraction(epsilon))
    bins = np.arange(4096)
    lost = []
    for scale in (100, 1000, 4000):  # exponential: far from the upper bound, near it, and cut off by it
        reached = persons * (1 - np.exp(-(bins + 1) / scale))
        half, margin = reached[-1] / 2, 1.5 * choice.margin / 2
        errors = np.maximum(0, np.maximum(np.concatenate([[0], reached[:-1]]) - half, half - reached))
        law = np.exp(-float(choice.estimate.epsilon) * errors)
        low, high = (np.searchsorted(reached, rank).clip(max=4095) for rank in (half - margin, half + margin))
        inside = (low <= bins) & (bins <= high)
        ends = np.full(4096, float(low))[inside], np.full(4096, float(high))[inside]
        for digits in (f.meaningful_quantiles, f.meaningful_within):
            shown = digits(bins.astype(np.float64)[inside], *ends)
            after = errors[np.round(shown).astype(np.int64)]
            lost.append(law[inside] @ after - 1.01 * (law[inside] @ errors[inside]))
    assert max(lost[::2]) <= 0
    assert max(lost[1::2]) > 0 or (epsilon, persons) != ("0.1", 1000)  # by half widths a median of 69 becomes 100


@pytest.mark.parametrize("width", [99, 100, 101, 317, 999, 1000, 5000])
@pytest.mark.parametrize("gaussian", [False, True])
def test_digits_of_whole_numbers_cost_little(width, gaussian):
    """Whatever is counted, the root mean square error grows by less than 0.2%, and nothing becomes larger in the mean."""
    spread = width / 1.96 if gaussian else width / np.log(20)
    noise = np.arange(-14 * width, 14 * width + 1)
    law = np.exp(-((noise / spread) ** 2) / 2) if gaussian else np.exp(-np.abs(noise) / spread)
    law /= law.sum()
    unit = 10 if width < 1000 else 100
    counted = range(0, 2 * unit, unit // 10)
    errors = np.array([f.meaningful_whole(count + noise, width) - count for count in counted])
    grown = np.sqrt((errors**2 @ law) / (noise**2 @ law))
    assert grown.max() == pytest.approx(1, abs=1e-12) if width < 100 else 1 + 1e-9 < grown.max() < 1.002
    assert abs((errors @ law).mean()) < 1e-9


def test_digits_of_large_whole_numbers():
    large = np.array([2**63 - 1, -(2**63) + 1, 15, 25], dtype=np.int64)
    assert f.meaningful_whole(large, 123).tolist() == [9223372036854775810, -9223372036854775810, 20, 20]
    larger = np.array([10**30 + 50, 10**30 + 150, 10**30 + 151], dtype=object)
    assert [each - 10**30 for each in f.meaningful_whole(larger, 1234).tolist()] == [0, 200, 200]
