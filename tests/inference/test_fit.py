"""Fitting: the optimum, public facts kept exactly, and every small case."""

import itertools
import math
from functools import cache

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.inference.dual_problem import DualProblem
from discreet.inference.fit import FitSearch, MeasuredMarginal, fit
from discreet.inference.fit_inputs import gather_inputs
from inference.small_models import (
    joint_of,
    loss,
    marginal_of,
    noisy_marginals,
    random_allowed,
    random_joint,
    random_sets,
    slow_optimum,
)

EXACT = FitSearch(centres=12, tolerance=1e-8, iterations=400, strength=0.02)


def problem(seed, *, total=100.0, deviation=4.0, allowed=0):
    generator = np.random.default_rng(seed)
    sizes = (2, 3, 2, 3, 2)
    masks = random_allowed(generator, sizes, allowed)
    joint = random_joint(generator, sizes, total)
    sets = random_sets(generator, sizes, 6)
    return sizes, noisy_marginals(generator, joint, sets, deviation), masks


@cache
def exactly_fitted(seed):
    """The problem of a seed with its optimum: fitting to so many digits takes a second, and nobody changes it."""
    sizes, measurements, masks = problem(seed, allowed=seed % 3)
    return sizes, measurements, masks, fit(sizes, measurements, 100.0, allowed=masks, search=EXACT)


def check_mirror_descent(seed):
    sizes, measurements, masks, fitted = exactly_fitted(seed)
    found = fitted.calibrated
    slow = slow_optimum(sizes, measurements, 100.0, masks)
    best = loss(measurements, lambda axes: 100 * marginal_of(slow, axes))
    assert loss(measurements, found.project) == pytest.approx(best, rel=1e-6)
    for each in measurements:
        reference = 100 * marginal_of(slow, each.attributes)
        assert found.project(each.attributes) / 100 == pytest.approx(reference / 100, abs=1e-6)


@pytest.mark.deep  # in the fast tier: the conditions below, and the fits of others in test_oracle
@pytest.mark.parametrize("seed", [1])
def test_the_optimum_is_that_of_slow_mirror_descent(seed):
    """One, with masks, that knows nothing of conditions: that those hold is asked of six optima below."""
    check_mirror_descent(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", [0, 2, 3, 4, 5])
def test_more_optima_are_those_of_slow_mirror_descent(seed):
    check_mirror_descent(seed)


#: In the fast tier those with no mask, with one and with two.
OPTIMA = [pytest.param(seed, marks=() if seed in (2,) else pytest.mark.deep) for seed in range(6)]


@pytest.mark.parametrize("seed", [*OPTIMA, *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in range(6, 30))])
def test_the_optimum_satisfies_its_own_conditions(seed):
    """Karush, Kuhn and Tucker on the full joint table: no cell's gradient is below the mean over the model's mass."""
    sizes, measurements, masks, fitted = exactly_fitted(seed)
    found = fitted.calibrated
    joint = found.project(tuple(range(5)))
    gradient = np.zeros(sizes)
    for each in measurements:
        away = (found.project(each.attributes) - each.values) / each.variance
        gradient += away.reshape([sizes[held] if held in each.attributes else 1 for held in range(5)])
    possible = joint_of(sizes, [], masks)[1] > 0
    mean = float((joint * gradient).sum() / joint.sum())
    assert gradient[possible].min() > mean - 1e-3
    assert (joint[~possible] == 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_is_that_of_the_value(seed):
    sizes, measurements, masks = problem(seed, allowed=seed % 3)
    dual = DualProblem(gather_inputs(sizes, 100.0, measurements, masks, ()), 0.05)
    generator = np.random.default_rng(seed)
    start = dual.starting_point({})
    centre, theta = generator.normal(size=(2, len(start)))
    possible = (
        dual.starting_point({axes: np.ones(np.shape(table)) for axes, table in dual.potentials(start).items()}) > 0
    )
    centre, theta = centre * possible, theta * possible
    function = dual.centred_at(centre)
    _, gradient = function(theta)
    for number in np.flatnonzero(possible):
        step = np.zeros(len(theta))
        step[number] = 1e-4
        slope = (function(theta + step)[0] - function(theta - step)[0]) / 2e-4
        assert slope == pytest.approx(gradient[number], abs=1e-5)


def test_centred_once_it_leans_to_the_uniform_by_less_than_the_noise():
    sizes, measurements, _, exact = exactly_fitted(3)
    once = fit(sizes, measurements, 100.0, search=FitSearch(tolerance=1e-6, iterations=1000))
    apart = [
        once.calibrated.project(each.attributes) - exact.calibrated.project(each.attributes) for each in measurements
    ]
    assert 0.001 < math.sqrt(np.mean(np.concatenate([table.ravel() for table in apart]) ** 2)) < 0.3 * 4.0
    assert exact.misfit < once.misfit < exact.misfit * 1.1


def test_a_warm_start_ends_where_a_cold_one_does_and_sooner():
    sizes, measurements, _ = problem(3)
    first = fit(sizes, measurements[:-1], 100.0, search=FitSearch(tolerance=1e-3))
    cold = fit(sizes, measurements, 100.0, search=FitSearch(tolerance=1e-6, iterations=1000))
    again = fit(sizes, measurements, 100.0, start=cold, search=FitSearch(tolerance=1e-6, iterations=1000))
    warm = fit(sizes, measurements, 100.0, start=first, search=FitSearch(tolerance=1e-6, iterations=1000))
    assert again.iterations == 1 and cold.iterations > 5
    for each in measurements:
        expected = cold.calibrated.project(each.attributes)
        assert warm.calibrated.project(each.attributes) == pytest.approx(expected, abs=1e-3)


def test_a_start_with_marginals_that_are_gone_goes_to_one_that_holds_them():
    one = fit(
        (2, 3),
        [MeasuredMarginal(attributes=(0,), values=np.array([9.0, 1.0]), variance=1.0)],
        10.0,
        search=FitSearch(tolerance=1e-6),
    )
    both = MeasuredMarginal(attributes=(1, 0), values=np.array([[3.0, 0.3]] * 3), variance=1.0)
    assert fit((2, 3), [both], 10.0, start=one, search=FitSearch(iterations=1)).calibrated.project(
        (0,)
    ) == pytest.approx(one.calibrated.project((0,)))


def test_the_same_marginal_twice_is_their_mean_by_inverse_variance():
    one = MeasuredMarginal(attributes=(0, 1), values=np.array([[8.0, 2.0], [4.0, 6.0]]), variance=1.0)
    other = MeasuredMarginal(attributes=(1, 0), values=np.array([[4.0, 4.0], [6.0, 6.0]]), variance=3.0)
    mean = MeasuredMarginal(attributes=(0, 1), values=(3 * one.values + other.values.T) / 4, variance=0.75)
    apart, merged = (fit((2, 2), each, 20.0, search=FitSearch(tolerance=1e-9)) for each in ([one, other], [mean]))
    assert apart.calibrated.project((0, 1)) == pytest.approx(merged.calibrated.project((0, 1)), abs=1e-6)


def test_residual_and_misfit_are_in_units_of_the_noise():
    values = np.array([30.0, 10.0])
    found = fit(
        (2,),
        [MeasuredMarginal(attributes=(0,), values=values, variance=4.0)],
        60.0,
        search=FitSearch(tolerance=1e-9, centres=20),
    )
    assert found.calibrated.project((0,)) == pytest.approx([40, 20], abs=1e-4)
    assert found.misfit == pytest.approx(10 / 2, rel=1e-4) and found.residual <= 1e-9


# Public facts


@pytest.mark.thin(4)
@pytest.mark.parametrize("seed", range(12))
def test_structural_zeros_are_exact_in_every_marginal(seed):
    sizes, measurements, masks = problem(seed, allowed=3)
    found = fit(sizes, measurements, 100.0, allowed=masks).calibrated
    possible = joint_of(sizes, [], masks)[1] > 0
    for length in (1, 2, 3, 5):
        for asked in itertools.combinations(range(5), length):
            table = found.project(asked)
            ruled_out = marginal_of(possible.astype(float), asked) == 0
            assert (table[ruled_out] == 0).all()
            assert table.sum() == pytest.approx(100.0)


def test_cells_that_are_ruled_out_have_no_potential():
    """No potential can move them, so none is looked for: the search would never end, and a start must not bring any."""
    sizes, measurements, masks = problem(3, allowed=3)
    free = fit(sizes, measurements, 100.0)
    found = fit(
        sizes, measurements, 100.0, allowed=masks, start=free, search=FitSearch(tolerance=1e-6, iterations=1000)
    )
    possible = joint_of(sizes, [], masks)[1] > 0
    ruled_out = {axes: marginal_of(possible.astype(float), axes) == 0 for axes in found.potentials}
    assert any(cells.any() for cells in ruled_out.values())
    assert found.residual <= 1e-6
    for axes, table in found.potentials.items():
        assert (table[ruled_out[axes]] == 0).all()


def test_constraints_that_contradict_are_refused():
    with pytest.raises(UsageError, match="rule out every"):
        fit((2, 2), [], 5.0, allowed=[((0,), [True, False]), ((0, 1), [[False, False], [True, True]])])


@pytest.mark.thin(2)
@pytest.mark.parametrize("seed", range(8))
def test_totals_are_kept_and_the_rest_is_fitted_around_them(seed):
    sizes, measurements, _ = problem(seed)
    generator = np.random.default_rng(seed)
    truth = random_joint(generator, sizes, 100.0)
    totals = [(axes, marginal_of(truth, axes)) for axes in ((0, 1), (2, 1), (3,))]
    found = fit(sizes, measurements, 100.0, totals=totals, search=FitSearch(tolerance=1e-6, iterations=2000)).calibrated
    for axes, counts in totals:
        assert np.abs(found.project(axes) - counts).max() <= 1e-9 * 100
    # As if they had been measured with next to no noise; the pull is that of the others.
    measured = [MeasuredMarginal(attributes=axes, values=counts, variance=1e-3) for axes, counts in totals]
    pull = 0.05 * math.sqrt(1e-3) / 4.0
    nearly = fit(
        sizes, measurements + measured, 100.0, search=FitSearch(tolerance=1e-4, iterations=4000, strength=pull)
    ).calibrated
    for each in measurements:
        assert found.project(each.attributes) == pytest.approx(nearly.project(each.attributes), abs=0.05)


def test_totals_are_kept_by_a_model_that_was_hardly_fitted():
    """The sweeps alone do it, through the whole tree: the tables still agree, which `Calibrated` checks."""
    truth = random_joint(np.random.default_rng(5), (2, 3, 2), 100.0)
    measured = noisy_marginals(np.random.default_rng(6), truth, [(0, 1), (1, 2)], 5.0)
    totals = [(axes, marginal_of(truth, axes)[::-1]) for axes in ((0,), (2,))]
    start = fit((2, 3, 2), measured, 100.0)
    found = fit((2, 3, 2), measured, 100.0, totals=totals, start=start, search=FitSearch(iterations=1)).calibrated
    for axes, counts in totals:
        assert np.abs(found.project(axes) - counts).max() <= 1e-9 * 100


def test_totals_of_a_loop_are_kept():
    """Three pairs: no closed form, so the sweeps have to go on until all three hold."""
    truth = random_joint(np.random.default_rng(2), (3, 3, 3), 1000.0)
    totals = [(axes, marginal_of(truth, axes)) for axes in ((0, 1), (1, 2), (0, 2))]
    found = fit((3, 3, 3), [], 1000.0, totals=totals).calibrated
    for axes, counts in totals:
        assert np.abs(found.project(axes) - counts).max() <= 1e-9 * 1000


def test_totals_of_zero_are_exact_zeros():
    counts = np.array([[5.0, 0.0], [2.0, 3.0]])
    measured = MeasuredMarginal(attributes=(0, 1), values=np.full((2, 2), 7.0), variance=1.0)
    found = fit((2, 2, 2), [measured], 10.0, totals=[((0, 1), counts)]).calibrated.project((0, 1, 2))
    assert (found[0, 1] == 0).all() and found.sum(axis=2) == pytest.approx(counts, abs=1e-8)


@pytest.mark.parametrize(
    ("totals", "allowed"),
    [
        ([((0,), [4.0, 6.0]), ((0, 1), [[5.0, 1.0], [2.0, 2.0]])], []),
        ([((0,), [4.0, 6.0])], [((0, 1), [[False, False], [True, True]])]),
        ([((0,), [4.0, 5.0])], []),
    ],
)
def test_totals_that_contradict_are_refused(totals, allowed):
    with pytest.raises(UsageError, match=r"public|rule out"):
        fit((2, 2), [], 10.0, totals=totals, allowed=allowed)


# Small and strange


def test_nothing_measured_is_uniform():
    found = fit((2, 3, 1), [], 12.0)
    assert found.calibrated.project((0, 1, 2)) == pytest.approx(np.full((2, 3, 1), 2.0))
    assert found.iterations == 0 and found.potentials == {}


def test_attributes_never_measured_are_uniform_and_independent():
    measured = MeasuredMarginal(attributes=(2,), values=np.array([30.0, 10.0]), variance=0.01)
    found = fit((3, 2, 2), [measured], 40.0).calibrated.project((0, 1, 2))
    assert found == pytest.approx(np.broadcast_to(found.sum(axis=(0, 1)) / 6, found.shape))


def test_parts_that_are_not_connected_are_independent():
    generator = np.random.default_rng(0)
    measurements = noisy_marginals(generator, random_joint(generator, (2, 3, 2, 2), 50.0), [(0, 1), (2, 3)], 1.0)
    found = fit((2, 3, 2, 2), measurements, 50.0).calibrated
    product = np.multiply.outer(found.project((0, 1)), found.project((2, 3))) / 50
    assert found.project((0, 1, 2, 3)) == pytest.approx(product)


def test_a_total_of_nothing():
    measured = MeasuredMarginal(attributes=(0, 1), values=np.array([[1.0, -2.0], [0.5, 0.0]]), variance=4.0)
    found = fit((2, 2), [measured], 0.0)
    assert found.calibrated.total == 0 and (found.calibrated.project((0, 1)) == 0).all() and found.iterations == 0


def test_attributes_of_one_value():
    measured = MeasuredMarginal(attributes=(1, 0, 2), values=np.array([[[4.0], [6.0]]]), variance=1.0)
    lone = MeasuredMarginal(attributes=(1,), values=np.array([11.0]), variance=1.0)
    found = fit((2, 1, 1), [measured, lone], 10.0, search=FitSearch(tolerance=1e-6, centres=20)).calibrated
    assert found.project((0, 1, 2)) == pytest.approx(np.array([[[4.0]], [[6.0]]]), abs=1e-3)


def test_no_attributes():
    assert fit((), [], 5.0).calibrated.project(()) == 5.0


def test_noise_far_larger_than_the_data_still_gives_a_model():
    generator = np.random.default_rng(1)
    measurements = noisy_marginals(generator, random_joint(generator, (3, 4, 2), 10.0), [(0, 1), (1, 2)], 1e6)
    found = fit((3, 4, 2), measurements, 10.0)
    assert found.residual <= 0.05 and found.calibrated.project((0, 1)).min() >= 0


def test_almost_no_noise_is_met():
    generator = np.random.default_rng(1)
    joint = random_joint(generator, (3, 4, 2), 1e6)
    found = fit(
        (3, 4, 2), noisy_marginals(generator, joint, [(0, 1), (1, 2)], 1e-3), 1e6, search=FitSearch(iterations=3000)
    )
    assert found.calibrated.project((0, 1)) == pytest.approx(marginal_of(joint, (0, 1)), rel=1e-3, abs=1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"values": np.array([1.0, np.nan])},
        {"values": np.array([1.0, np.inf])},
        {"values": np.ones((2, 2))},
        {"attributes": ()},
        {"variance": 0.0},
        {"variance": -1.0},
        {"variance": math.nan},
        {"variance": math.inf},
    ],
)
def test_a_wrong_measurement_is_not_born(wrong):
    with pytest.raises(ValueError, match="noisy marginal"):
        MeasuredMarginal(**{"attributes": (0,), "values": np.ones(2), "variance": 1.0} | wrong)


@pytest.mark.parametrize("total", [math.nan, math.inf, -1.0])
def test_a_wrong_total_is_refused(total):
    with pytest.raises(ValueError, match="total"):
        fit((2,), [], total)


@pytest.mark.parametrize(
    "wrong",
    [
        {"sizes": (3,), "measurements": [MeasuredMarginal(attributes=(0,), values=np.ones(2), variance=1.0)]},
        {"sizes": (2,), "measurements": [MeasuredMarginal(attributes=(1,), values=np.ones(2), variance=1.0)]},
        {"sizes": (0,), "measurements": []},
        {"sizes": (2,), "measurements": [], "allowed": [((0,), [True])]},
        {"sizes": (2,), "measurements": [], "totals": [((0,), [6.0, -1.0])]},
        {"sizes": (2,), "measurements": [], "totals": [((0,), [5.0, math.nan])]},
    ],
)
def test_wrong_facts_are_refused(wrong):
    with pytest.raises(ValueError, match=r"attribute|shape|totals"):
        fit(total=5.0, **wrong)


def test_a_model_that_is_too_large_is_refused():
    with pytest.raises(UsageError, match="cells"):
        fit((1000,) * 4, [], 1.0, totals=[], allowed=[((0, 1), np.ones((1000, 1000)) - np.eye(1000)), *ring()])


def ring():
    """Pairs that make one clique of four attributes of a thousand values."""
    table = np.ones((1000, 1000)) - np.eye(1000)
    return [((1, 2), table), ((2, 3), table), ((0, 3), table), ((0, 2), table), ((1, 3), table)]
