"""Plans: the figures they promise, against dense algebra, references, targets and real noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import UsageError
from discreet.inference.linear.solvers import solver_for
from discreet.inference.strategy_choice.strategy_plan import StrategyPlan, plan_strategy, rmse
from discreet.inference.strategy_choice.workload import AllRanges, GivenRanges, Prefixes, ProductWorkload, Workload
from discreet.inference.strategy_choice.workload_error import mean_variance, singular_bound
from discreet.mechanisms.bits import system
from discreet.mechanisms.gaussian import DiscreteGaussian
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import IdentityStrategy, MatrixStrategy, StackStrategy
from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from tiers import examples


def per_query(planned: StrategyPlan) -> float:
    """The root mean squared error at epsilon 1 (continuous Laplace noise), or rho 0.5."""
    moves = planned.strategy.sensitivity(1)
    scale = moves.l2_squared if planned.gaussian else 2 * moves.l1**2
    return math.sqrt(scale * planned.mean_variance)


def bound_per_query(planned: StrategyPlan) -> float:
    return per_query(planned) * math.sqrt(planned.lower_bound / planned.mean_variance)


def law_of(planned: StrategyPlan) -> DiscreteLaplace | DiscreteGaussian:
    """Epsilon 1, or rho 0.5."""
    moves = planned.strategy.sensitivity(1)
    if planned.gaussian:
        return DiscreteGaussian(sigma2=Fraction(moves.l2_squared))
    return DiscreteLaplace(scale=Fraction(moves.l1))


def written_out(planned: StrategyPlan) -> float:
    """The mean variance by dense algebra, from the rounded matrix itself."""
    inverse = np.linalg.pinv(planned.strategy.matrix().astype(float), rcond=1e-12)
    return float(np.trace(planned.workload.gram() @ inverse @ inverse.T)) / planned.workload.queries


# --- the references: what everybody gets


@pytest.mark.parametrize(
    ("workload", "gaussian", "strategy", "expected"),
    [
        (AllRanges(1024), False, "identity", 26.15),
        (AllRanges(4096), False, "identity", 52.27),
        (AllRanges(1024), False, "binary", 21.83),
        (AllRanges(4096), False, "binary", 27.90),
        (Prefixes(1024), False, "identity", 32.02),
        (Prefixes(1024), False, "binary", 17.29),
        (AllRanges(1024), True, "binary", 4.654),
        (Prefixes(1024), True, "binary", 3.686),
        (ProductWorkload(AllRanges(256), AllRanges(256)), False, "identity", 121.6),
        (ProductWorkload(AllRanges(256), AllRanges(256)), False, "binary", 187.2),
    ],
)
def test_named_strategies_have_the_errors_of_the_references(workload, gaussian, strategy, expected):
    planned = plan_strategy(workload, gaussian=gaussian, strategy=strategy)
    assert per_query(planned) == pytest.approx(expected, rel=4e-4)
    assert planned.lower_bound < planned.mean_variance


# --- the targets


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("workload", "gaussian", "seconds", "most"),
    [
        (AllRanges(1024), False, 0.0, 12.43),
        (AllRanges(1024), False, 1.0, 11.06),
        (AllRanges(4096), False, 1.0, 14.6),
        (AllRanges(2**20), False, 1.0, 34.6),
        (Prefixes(1024), False, 1.0, 9.6),
        (AllRanges(1024), True, 0.0, 4.25),
        (AllRanges(1024), True, 1.0, 3.52),
        (Prefixes(1024), True, 1.0, 2.9606),
        (ProductWorkload(AllRanges(256), AllRanges(256)), False, 1.0, 46.2),
    ],
)
def test_planning_reaches_its_targets(workload, gaussian, seconds, most):
    assert per_query(plan_strategy(workload, gaussian=gaussian, seconds=seconds)) <= most


@pytest.mark.deep
def test_more_seconds_never_make_it_worse():
    for workload, gaussian in ((AllRanges(200), False), (AllRanges(200), True), (Prefixes(200), False)):
        errors = [per_query(plan_strategy(workload, gaussian=gaussian, seconds=seconds)) for seconds in (0, 0.05, 0.3)]
        assert errors == sorted(errors, reverse=True)


# --- the promise is that of the rounded matrix


def few_ranges(cells: int) -> st.SearchStrategy[GivenRanges]:
    end = st.integers(0, cells - 1)
    pairs = st.lists(st.tuples(end, end).map(sorted), min_size=1, max_size=6)
    return pairs.map(lambda p: GivenRanges(cells, np.array([a for a, _ in p]), np.array([b for _, b in p])))


lines = st.integers(1, 40).flatmap(
    lambda cells: st.one_of(st.just(AllRanges(cells)), st.just(Prefixes(cells)), few_ranges(cells))
)


@given(lines, st.booleans(), st.sampled_from(["best", "binary", "identity"]), st.sampled_from([0, 0.05]))
@settings(max_examples=examples(80), deadline=None)
def test_the_error_of_a_plan_is_that_of_its_matrix(workload, gaussian, strategy, seconds):
    planned = plan_strategy(workload, gaussian=gaussian, strategy=strategy, seconds=seconds)
    assert planned.mean_variance == pytest.approx(written_out(planned), rel=1e-6)
    assert planned.lower_bound <= planned.mean_variance * (1 + 1e-9)
    assert planned.strategy.cells == workload.cells
    assert planned.words


@given(lines, lines, st.booleans())
@settings(max_examples=examples(15), deadline=None)
def test_boxes_are_answered_by_products(first, second, gaussian):
    if first.cells * second.cells > 200:
        return
    planned = plan_strategy(ProductWorkload(first, second), gaussian=gaussian, seconds=0.02)
    assert planned.mean_variance == pytest.approx(written_out(planned), rel=1e-6)
    if not any(isinstance(axis, GivenRanges) for axis in (first, second)):
        assert mean_variance(planned.workload, solver_for(planned.strategy)) == pytest.approx(planned.mean_variance)


@given(st.integers(2, 60), st.booleans())
@settings(max_examples=examples(20), deadline=None)
def test_the_best_is_never_worse_than_a_named_one(cells, gaussian):
    best = per_query(plan_strategy(AllRanges(cells), gaussian=gaussian, seconds=0.05))
    for name in ("identity", "binary"):
        assert best <= per_query(plan_strategy(AllRanges(cells), gaussian=gaussian, strategy=name)) * (1 + 1e-4)


# --- lower bounds


@pytest.mark.parametrize("workload", [AllRanges(37), Prefixes(37)])
def test_closed_forms_of_the_singular_values(workload):
    values = np.linalg.eigvalsh(workload.gram())
    total = np.sqrt(np.maximum(values, 0)).sum() ** 2 / workload.cells / workload.queries
    assert singular_bound(workload) == pytest.approx(total, rel=1e-9)


def test_bounds_are_the_references_and_the_best_factorisation_meets_its_own():
    assert bound_per_query(plan_strategy(AllRanges(1024), gaussian=False, strategy="identity")) == pytest.approx(
        4.94, abs=0.01
    )
    planned = plan_strategy(AllRanges(200), gaussian=True, seconds=1.0)
    assert bound_per_query(planned) <= per_query(planned) <= 1.001 * bound_per_query(planned)


def test_a_bound_for_many_given_ranges_is_still_one():
    rng = np.random.default_rng(7)
    ends = np.sort(rng.integers(0, 9000, (3000, 2)), axis=1)
    workload = GivenRanges(9000, ends[:, 0], ends[:, 1])
    planned = plan_strategy(workload, gaussian=False, seconds=0.1)
    assert 0 < planned.lower_bound < planned.mean_variance


# --- given ranges


def test_cells_that_no_range_tells_apart_are_measured_as_one():
    workload = GivenRanges(1000, np.array([100, 400]), np.array([299, 899]))
    planned = plan_strategy(workload, gaussian=False)
    assert isinstance(planned.strategy, MergeStrategy) and planned.strategy.rows == 2
    assert per_query(planned) == pytest.approx(math.sqrt(2))
    assert solver_for(planned.strategy).range_variances(np.array([0, 100]), np.array([99, 299])).tolist() == [
        np.inf,
        1.0,
    ]


@pytest.mark.deep
def test_few_ranges_are_answered_better_than_by_a_plan_for_all():
    rng = np.random.default_rng(3)
    ends = np.sort(rng.integers(0, 512, (20, 2)), axis=1)
    workload = GivenRanges(512, ends[:, 0], ends[:, 1])
    for gaussian in (False, True):
        own, general = (plan_strategy(asked, gaussian=gaussian, seconds=0.5) for asked in (workload, AllRanges(512)))
        variances = solver_for(general.strategy).range_variances(workload.lows, workload.highs)
        moves = general.strategy.sensitivity(1)
        scale = moves.l2_squared if gaussian else 2 * moves.l1**2
        assert per_query(own) < 0.7 * math.sqrt(scale * variances.mean())


# --- real noise


def measured(planned: StrategyPlan, draws: int) -> tuple[float, float]:
    """The mean squared error over all ranges of fits to real noise, and its own standard error."""
    law, found, cells = law_of(planned), solver_for(planned.strategy), planned.workload.cells
    noise = law.draw(draws * planned.strategy.rows, bits=system()).reshape(draws, -1)
    prefixes = np.cumsum([found.fit(line) for line in noise], axis=1)
    squares = (cells + 1) * (prefixes**2).sum(axis=1) - prefixes.sum(axis=1) ** 2
    errors = squares / planned.workload.queries
    return float(errors.mean()), float(errors.std() / math.sqrt(draws))


@pytest.mark.thin(1)
@pytest.mark.parametrize(
    ("workload", "gaussian", "strategy", "draws"),
    [
        (AllRanges(256), False, "best", 2000),
        (AllRanges(256), True, "best", 2000),
        (AllRanges(250), False, "binary", 2000),
        (AllRanges(1024), False, "best", 300),
    ],
)
def test_real_noise_has_the_error_that_was_promised(workload, gaussian, strategy, draws):
    """Within 6 standard errors, which a correct build misses less than once in 10^7 runs; a tenth off is caught."""
    planned = plan_strategy(workload, gaussian=gaussian, strategy=strategy, seconds=0.3)
    mean, error = measured(planned, draws)
    promised = rmse(planned, law_of(planned)) ** 2
    assert abs(mean - promised) <= 6 * error
    assert error < 0.03 * promised


# --- manners


@pytest.mark.deep
def test_the_same_plan_comes_out_again():
    one, two = (plan_strategy(AllRanges(200), gaussian=False, seconds=0.3) for _ in range(2))
    assert one.strategy.to_data() == two.strategy.to_data()


def test_the_binary_tree_of_lectures_measures_every_level_alike():
    planned = plan_strategy(AllRanges(1000), gaussian=False, strategy="binary")
    assert planned.strategy == LevelStrategy(1000, tuple((2**k, 1) for k in range(11)))
    assert planned.strategy.sensitivity(1).l1 == 11


@pytest.mark.deep
def test_kinds_of_strategy():
    assert isinstance(plan_strategy(AllRanges(5), gaussian=False).strategy, IdentityStrategy)
    assert isinstance(plan_strategy(AllRanges(256), gaussian=False).strategy, StackStrategy)
    assert isinstance(plan_strategy(AllRanges(256), gaussian=True).strategy, MatrixStrategy)
    assert isinstance(plan_strategy(AllRanges(2**15), gaussian=True).strategy, LevelStrategy)


@pytest.mark.parametrize("workload", [AllRanges(1), Prefixes(1), GivenRanges(1, np.array([0]), np.array([0]))])
@pytest.mark.parametrize("gaussian", [False, True])
def test_one_cell_is_one_cell(workload: Workload, gaussian):
    assert per_query(plan_strategy(workload, gaussian=gaussian)) == pytest.approx(1.0 if gaussian else math.sqrt(2))


def test_wrong_wishes_are_refused():
    with pytest.raises(UsageError, match="unknown strategy"):
        plan_strategy(AllRanges(4), gaussian=False, strategy="magic")
    for seconds in (-1.0, math.nan):
        with pytest.raises(UsageError, match="seconds"):
            plan_strategy(AllRanges(4), gaussian=False, seconds=seconds)
