"""Plans: known figures, optimality by dense algebra, exact prices, and mutants."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import events
from discreet.accounting.events import ReservationEvent
from discreet.errors import Refused, UsageError
from discreet.inference.linear.residual_part import ResidualPart
from discreet.plan.price import event_of
from discreet.tables.marginals.marginal_workload import MarginalWorkload
from discreet.tables.marginals.marginals_plan import gaussian_split, plan_marginals
from discreet.tables.marginals.marginals_release import expected_rmse
from discreet.tables.marginals.pure_split import MOST_CELLS, _SplitSearch, cover, pure_split
from inference.linear.residual_cases import marginal, rows
from tiers import examples

ADULT = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
RHO = ReservationEvent(epsilon=None, rho=Fraction(1, 2), delta=Fraction(0))
PURE = ReservationEvent(epsilon=Fraction(1), rho=Fraction(1, 2), delta=Fraction(0))


def error(planned, event, rows=1):
    return expected_rmse(planned, planned.precision(planned.laws(event, rows=rows)))


@pytest.mark.parametrize(("order", "most"), [(1, 3.05), (2, 6.36), (3, 10.52)])
def test_adult_under_zcdp_is_as_exact_as_residual_planning(order, most):
    planned = plan_marginals(MarginalWorkload.of_order(ADULT, order, exactly=True), gaussian=True)
    assert 0.99 * most < error(planned, RHO) < most
    assert math.sqrt(planned.mean_variance) == pytest.approx(error(planned, RHO), rel=1e-3)


@pytest.mark.deep
def test_a_hundred_attributes():
    planned = plan_marginals(MarginalWorkload.of_order((10,) * 100, 2), gaussian=True)
    assert math.sqrt(planned.mean_variance) == pytest.approx(58.28, abs=0.01)


@pytest.mark.thin(1)
@pytest.mark.parametrize(("order", "most", "direct"), [(1, 14.8, 14.99), (2, 72.0, 74.82), (3, 216.0, 234.5)])
def test_adult_under_a_pure_epsilon(order, most, direct):
    """Below what the wished tables give alone, with the best split and least squares over what they share."""
    wish = MarginalWorkload.of_order(ADULT, order, exactly=True)
    found = error(plan_marginals(wish, gaussian=False), PURE)
    assert found < most < direct
    cells = np.array(wish.cells, dtype=float)
    problem = _SplitSearch.of(wish, cells)
    start = np.array([float(part.axes in set(wish.sets) and not part.centred) for part in problem.parts])
    _, value = problem.descend(start)
    assert math.sqrt(2 * value / cells.sum()) == pytest.approx(direct, rel=1e-3)


small = st.lists(st.integers(1, 4), min_size=1, max_size=4).flatmap(
    lambda sizes: st.tuples(
        st.just(tuple(sizes)),
        st.dictionaries(
            st.sets(st.sampled_from(range(len(sizes)))).map(lambda axes: tuple(sorted(axes))),
            st.sampled_from([0.5, 1.0, 7.0]),
            min_size=1,
            max_size=5,
        ),
    )
)


@given(small)
@settings(max_examples=examples(80))
def test_no_gaussian_strategy_is_better(case):
    """The bound of all strategies, (sum of singular values)^2 / cells of the domain, by dense algebra: attained."""
    sizes, weights = case
    wish = MarginalWorkload.of_sets(sizes, weights)
    stacked = np.concatenate(
        [math.sqrt(weight) * marginal(sizes, axes) for axes, weight in zip(wish.sets, wish.weights, strict=True)]
    )
    bound = np.linalg.svd(stacked, compute_uv=False).sum() ** 2 / math.prod(sizes)
    found = gaussian_split(wish, np.array(wish.cells) * np.array(wish.weights))
    assert found.value == pytest.approx(bound, rel=1e-9)


@given(small, st.booleans(), st.integers(1, 5))
@settings(max_examples=examples(80))
def test_plans_cost_no_more_than_is_reserved_and_nearly_that(case, gaussian, unit):
    sizes, weights = case
    planned = plan_marginals(MarginalWorkload.of_sets(sizes, weights), gaussian=gaussian)
    event = RHO if gaussian else PURE
    check_price(planned, event, unit)
    told = planned.mean_variance * unit**2 * (1 if gaussian else 2)
    variances = [planned.precision(planned.laws(event, rows=unit)).variance(axes) for axes in planned.workload.sets]
    shares = np.array(planned.workload.cells) * np.array(planned.workload.weights)
    # Discrete noise has a little less variance than its scale says, at a scale of about 1.
    assert 0.8 * told < float(shares @ variances) / shares.sum() <= told * (1 + 1e-6)
    assert planned.lower_bound <= planned.mean_variance * (1 + 1e-9)


def check_price(planned, event, unit):
    laws = planned.laws(event, rows=unit)
    moves = [part.strategy(planned.workload.sizes).sensitivity(unit) for part in planned.parts]
    losses = [events.loss(event_of(law, own)) for law, own in zip(laws, moves, strict=True)]
    assert event.holds(losses)
    if event.epsilon is None:
        assert sum(loss.rho for loss in losses) > event.rho * Fraction(999, 1000)
    else:
        assert sum(loss.epsilon for loss in losses) > event.epsilon * Fraction(999, 1000)


@pytest.mark.parametrize("gaussian", [True, False])
def test_a_price_that_forgets_a_norm_or_the_unit_is_seen(gaussian, monkeypatch):
    planned, event = (
        plan_marginals(MarginalWorkload.of_order((3, 2, 4), 2), gaussian=gaussian),
        RHO if gaussian else PURE,
    )
    check_price(planned, event, 2)
    known = type(planned).laws
    with monkeypatch.context() as patched:
        patched.setattr(type(planned), "laws", lambda self, event, rows: known(self, event, rows=1))
        with pytest.raises(AssertionError):
            check_price(planned, event, 2)
    if gaussian:
        monkeypatch.setattr(ResidualPart, "norms", lambda self, sizes: (1, 1))
        with pytest.raises(AssertionError):
            check_price(planned, event, 2)


@given(small, st.integers(0, 2**32))
@settings(max_examples=examples(60))
def test_no_step_of_the_search_goes_up(case, seed):
    sizes, weights = case
    wish = MarginalWorkload.of_sets(sizes, weights)
    problem = _SplitSearch.of(wish, np.array(wish.cells, dtype=float))
    shares = np.random.default_rng(seed).random(len(problem.parts)) + 1e-3
    values = []
    for steps in range(1, 12):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("discreet.tables.marginals.pure_split._MOST_STEPS", steps)
            values.append(problem.descend(shares)[1])
    assert all(after <= before * (1 + 1e-12) for before, after in itertools.pairwise(values))


@given(small)
@settings(max_examples=examples(60))
def test_the_split_says_what_it_gives(case):
    """The value of a pure split against dense least squares over its parts, at epsilon^2 / 2 = 1."""
    sizes, weights = case
    wish = MarginalWorkload.of_sets(sizes, weights)
    cells = np.array(wish.cells) * np.array(wish.weights)
    found = pure_split(wish, cells)
    stacked = [
        rows(sizes, part) * share / part.norms(sizes)[0] for part, share in zip(found.parts, found.shares, strict=True)
    ]
    inverse = np.linalg.pinv(np.concatenate(stacked).T @ np.concatenate(stacked), rcond=1e-11)
    sums = [np.trace(marginal(sizes, axes) @ inverse @ marginal(sizes, axes).T) for axes in wish.sets]
    assert found.value == pytest.approx(float(np.array(wish.weights) @ sums), rel=1e-6)
    assert found.shares.sum() == pytest.approx(1)


def test_contrasts_of_more_than_two_cells_never_pay_in_l1():
    """What a contrast tells at the same epsilon, a table cell by cell tells, and more: so the search leaves them out."""
    for size in range(3, 40):
        contrast, table = ResidualPart(axes=(0,), centred=(0,)), ResidualPart(axes=(0,))
        told = contrast.information((0,), (size,)) / contrast.norms((size,))[0] ** 2
        assert told < table.information((0,), (size,)) / table.norms((size,))[0] ** 2


def test_few_tables_cover_many():
    planned = plan_marginals(MarginalWorkload.of_order((2,) * 12, 2, exactly=True), gaussian=False)
    assert len(planned.parts) < 20 and error(planned, PURE) < 23  # 66 pairs measured one by one: 51
    joint = plan_marginals(MarginalWorkload.of_order((2,) * 4, 2), gaussian=False)
    assert (
        error(joint, PURE)
        < error(replace(joint, parts=(ResidualPart(axes=(0, 1, 2, 3)),), shares=(Fraction(1),)), PURE) * 1.01
    )


@given(small, st.sampled_from([1.0, 1.5]))
@settings(max_examples=examples(100))
def test_a_cover_covers(case, slack):
    sizes, weights = case
    wish = MarginalWorkload.of_sets(sizes, weights)
    found = cover(wish, slack=slack)
    for axes in wish.sets:
        own = {axis for axis in axes if sizes[axis] > 1}
        assert any(own <= set(table) for table in found)
    assert all(math.prod(sizes[axis] for axis in table) <= MOST_CELLS for table in found)


@pytest.mark.parametrize("gaussian", [True, False])
def test_the_worst_table_can_be_kept_small(gaussian):
    wish = MarginalWorkload.of_order((50, 2, 3, 10, 4), 2)
    mean = plan_marginals(wish, gaussian=gaussian)
    worst = plan_marginals(replace(wish, objective="max"), gaussian=gaussian)
    event = RHO if gaussian else PURE
    highest = [
        max(planned.precision(planned.laws(event, rows=1)).variance(axes) for axes in wish.sets)
        for planned in (mean, worst)
    ]
    assert highest[1] < 0.8 * highest[0]
    assert error(worst, event) > error(mean, event)
    assert worst.lower_bound <= worst.mean_variance
    if gaussian:
        assert worst.mean_variance < 1.01 * worst.lower_bound


def test_weights_move_the_noise():
    sizes = (10, 10, 10)
    plain = plan_marginals(MarginalWorkload.of_sets(sizes, {(0, 1): 1, (1, 2): 1}), gaussian=True)
    leaning = plan_marginals(MarginalWorkload.of_sets(sizes, {(0, 1): 25, (1, 2): 1}), gaussian=True)

    def variances(planned):
        precision = planned.precision(planned.laws(RHO, rows=1))
        return precision.variance((0, 1)), precision.variance((1, 2))

    assert variances(leaning)[0] < 0.7 * variances(plain)[0] and variances(leaning)[1] > variances(plain)[1]


def test_wishes_that_make_no_sense_are_refused():
    with pytest.raises(UsageError, match="from 1 to"):
        MarginalWorkload.of_order((2, 2), 3)
    with pytest.raises(UsageError, match="weight"):
        MarginalWorkload.of_sets((2, 2), {(0,): 0})
    with pytest.raises(Refused, match="cells"):
        MarginalWorkload.of_order((2000, 2000), 2)
    with pytest.raises(Refused, match="more than"):
        MarginalWorkload.of_order((2,) * 200, 3)
    with pytest.raises(Refused, match="in total"):
        MarginalWorkload.of_order((100,) * 30, 3)
    for sets in (((1, 0),), ((0, 2),), ((0,), (0,)), ()):
        with pytest.raises(ValueError, match=r"workload|axes"):
            MarginalWorkload(sizes=(2, 2), sets=sets, weights=(1.0,) * len(sets))


def test_one_cell_columns_cost_nothing():
    one, none = MarginalWorkload.of_order((5, 1, 3), 2), MarginalWorkload.of_sets((1,), {(0,): 1})
    for gaussian in (True, False):
        planned = plan_marginals(one, gaussian=gaussian)
        assert all(1 not in part.axes for part in planned.parts)
        precision = planned.precision(planned.laws(RHO if gaussian else PURE, rows=1))
        assert precision.variance((0, 1)) == pytest.approx(precision.variance((0,)))
        assert plan_marginals(none, gaussian=gaussian).parts == (ResidualPart(axes=()),)
