import math

import numpy as np
import pytest

from discreet.inference.lbfgs import _Curvature, minimise


def size(gradient):
    return float(np.abs(gradient).max())


def quadratic(generator, count, condition):
    """A convex quadratic with known minimum."""
    turned, _ = np.linalg.qr(generator.normal(size=(count, count)))
    hessian = turned * np.geomspace(1, condition, count) @ turned.T
    least = generator.normal(size=count)
    return hessian, least, lambda x: (float((x - least) @ hessian @ (x - least)) / 2, hessian @ (x - least))


@pytest.mark.parametrize("seed", range(5))
def test_a_quadratic_takes_as_many_steps_as_it_has_dimensions(seed):
    hessian, least, function = quadratic(np.random.default_rng(seed), 12, 1e3)
    found = minimise(
        function, np.zeros(12), scaling=1 / hessian.diagonal(), residual=size, tolerance=1e-8, evaluations=120
    )
    assert found.point == pytest.approx(least, abs=1e-8) and found.evaluations < 120


def log_sum(x):
    """A smooth convex function that is far from quadratic: log sum exp, tilted."""
    tilt = np.linspace(0.01, 0.19, 10) / np.linspace(0.01, 0.19, 10).sum()
    weights = np.exp(x - x.max())
    value = math.log(weights.sum()) + x.max() - tilt @ x + 1e-6 * x @ x
    return float(value), weights / weights.sum() - tilt + 2e-6 * x


def test_far_from_quadratic_and_badly_started():
    start = np.linspace(-300, 300, 10)
    found = minimise(log_sum, start, scaling=np.ones(10), residual=size, tolerance=1e-9, evaluations=500)
    assert found.residual <= 1e-9 and size(log_sum(found.point)[1]) == found.residual


def test_the_best_point_is_kept_and_evaluations_are_counted():
    """Wherever the search is cut off, also between two points of a line search."""
    start = np.linspace(-30, 30, 10)
    last_is_best = []
    for evaluations in range(1, 25):
        seen = []

        def function(x, seen=seen):
            seen.append(x)
            return log_sum(x)

        found = minimise(function, start, scaling=np.ones(10), residual=size, tolerance=0, evaluations=evaluations)
        residuals = [size(log_sum(x)[1]) for x in seen]
        assert found.evaluations == len(seen) == evaluations
        assert found.residual == min(residuals)
        last_is_best.append(residuals[-1] == min(residuals))
    assert not all(last_is_best)


def test_no_step_where_the_start_is_good_enough():
    found = minimise(log_sum, np.zeros(10), scaling=np.ones(10), residual=size, tolerance=1, evaluations=9)
    assert found.evaluations == 1 and (found.point == 0).all()


def test_a_wall_is_stepped_back_from():
    """Where the function is not a number, the line search comes back."""

    def function(x):
        if x[0] > 1:
            return math.nan, np.full(1, math.nan)
        return float(-math.log(1 - x[0] + 1e-300) - 3 * x[0]), np.array([1 / (1 - x[0] + 1e-300) - 3])

    found = minimise(function, np.zeros(1), scaling=np.full(1, 50.0), residual=size, tolerance=1e-9, evaluations=60)
    assert found.point[0] == pytest.approx(2 / 3)


@pytest.mark.parametrize("steps", [3, 6, 11])
def test_curvature_is_the_two_loop_recursion(steps):
    """The compact form against the textbook's two loops, also after the memory has turned over."""
    generator = np.random.default_rng(steps)
    hessian, _, _ = quadratic(generator, 8, 50)
    curvature, pairs, gradient = _Curvature(5, 8), [], generator.normal(size=8)
    curvature.times(gradient, False)
    for _ in range(steps):
        step = generator.normal(size=8)
        change = hessian @ step
        pairs = [*pairs, (step, change)][-5:]
        gradient = gradient + change
        learned = curvature.learn(step, change)
        found = curvature.times(gradient, learned)
    assert found == pytest.approx(two_loops(pairs, gradient))


def two_loops(pairs, gradient):
    rest, weights = gradient.copy(), []
    for step, change in reversed(pairs):
        weights.append(step @ rest / (step @ change))
        rest = rest - weights[-1] * change
    step, change = pairs[-1]
    rest = rest * (step @ change) / (change @ change)
    for (step, change), weight in zip(pairs, reversed(weights), strict=True):
        rest = rest + step * (weight - change @ rest / (step @ change))
    return rest
