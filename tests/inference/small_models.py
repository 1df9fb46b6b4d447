"""Random small problems, and the obvious answers to them on the full joint table."""

import numpy as np

from discreet.inference.axes import broadcast_over, shape_of, sum_to
from discreet.inference.fit import MeasuredMarginal


def random_sizes(generator, most=6):
    return tuple(int(size) for size in generator.integers(1, 5, size=generator.integers(1, most + 1)))


def random_sets(generator, sizes, count, longest=3):
    """Distinct sorted sets of attributes."""
    found = set()
    for _ in range(count):
        length = generator.integers(1, min(len(sizes), longest) + 1)
        found.add(tuple(sorted(int(place) for place in generator.choice(len(sizes), length, replace=False))))
    return sorted(found)


def random_allowed(generator, sizes, count, share=0.7):
    """Tables of bool that leave at least the joint cell of all zeros."""
    found = []
    for axes in random_sets(generator, sizes, count):
        table = generator.random(shape_of(sizes, axes)) < share
        table[(0,) * len(axes)] = True
        found.append((axes, table))
    return found


def joint_of(sizes, potentials, allowed=()):
    """log Z and the joint probabilities of a model, by adding everything up on the full table."""
    everything = tuple(range(len(sizes)))
    exponent = np.zeros(sizes)
    for axes, table in potentials:
        exponent = exponent + broadcast_over(table, axes, everything)
    for axes, table in allowed:
        exponent = np.where(broadcast_over(np.asarray(table), axes, everything), exponent, -np.inf)
    largest = exponent.max()
    weights = np.exp(exponent - largest)
    return float(np.log(weights.sum()) + largest), weights / weights.sum()


def marginal_of(joint, axes):
    return sum_to(joint, tuple(range(joint.ndim)), axes)


def random_joint(generator, sizes, total):
    """Counts of a correlated kind, some cells empty."""
    weights = generator.gamma(0.3, size=sizes)
    return total * weights / weights.sum()


def noisy_marginals(generator, joint, sets, deviation):
    return [
        MeasuredMarginal(
            attributes=axes,
            values=marginal_of(joint, axes) + generator.normal(0, deviation, [joint.shape[axis] for axis in axes]),
            variance=deviation**2,
        )
        for axes in sets
    ]


def loss(measurements, project):
    return sum(((project(each.attributes) - each.values) ** 2).sum() / (2 * each.variance) for each in measurements)


def slow_optimum(sizes, measurements, total, allowed=(), iterations=15_000):
    """The best joint table, by entropic mirror descent on all of its cells with a backtracking step: slow and plain."""
    everything = tuple(range(len(sizes)))
    _, joint = joint_of(sizes, [], allowed)
    step, now = 1.0, loss(measurements, lambda axes: total * marginal_of(joint, axes))
    for _ in range(iterations):
        gradient = np.zeros(sizes)
        for each in measurements:
            away = (total * marginal_of(joint, each.attributes) - each.values) / each.variance
            gradient = gradient + total * broadcast_over(away, each.attributes, everything)
        while True:
            trial = joint * np.exp(-step * (gradient - (joint * gradient).sum()).clip(-50 / step, 50 / step))
            trial /= trial.sum()
            later = loss(measurements, lambda axes, trial=trial: total * marginal_of(trial, axes))
            if later <= now + 1e-15 * abs(now):
                break
            step /= 2
            if step < 1e-18:
                return joint
        joint, now, step = trial, later, step * 1.1
    return joint
