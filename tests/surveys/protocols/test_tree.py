"""A local tree: its epsilon from the exact law, its least squares, its variances, and how much it gains on points."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.interval_tree import Tree, coin_variance, even_fanout, level_sizes, make_consistent
from discreet.surveys.protocols.randomized_response import RandomizedResponse
from discreet.surveys.protocols.randomizer import randomizer_from_parameters
from discreet.surveys.protocols.unary import OptimisedUnary
from surveys.protocols.every import largest_ratio, law
from surveys.protocols.test_numbers import Counted


def _tree(points: int, epsilon: object = 1, **more: Any) -> Tree:
    return Tree(low=0, high=points - 1, step=1, epsilon=epsilon, **more)


@pytest.mark.parametrize(
    ("points", "fanout", "epsilon"), [(3, 2, "1"), (7, 2, "0.1"), (7, 3, "1.5"), (8, 2, "4"), (4, 8, "1")]
)
def test_the_epsilon_is_that_of_the_exact_law(points: int, fanout: int, epsilon: str) -> None:
    made = _tree(points, epsilon, fanout=fanout)
    ratio = largest_ratio([law(made, value) for value in range(points)])
    assert coins.epsilon_of(ratio) == made.epsilon <= Fraction(epsilon)
    assert made.epsilon > Fraction(epsilon) * Fraction(99, 100)


def test_a_device_that_tells_two_levels_is_caught() -> None:
    """A mutant: a report about every level costs the sum, not the largest."""
    made = _tree(4, "1", fanout=2)
    both = [law(oracle, str(node)) for oracle, node in ((made.oracles[0], 0), (made.oracles[1], 0))]
    other = [law(oracle, str(node)) for oracle, node in ((made.oracles[0], 1), (made.oracles[1], 3))]
    ratio = largest_ratio([both[0], other[0]]) * largest_ratio([both[1], other[1]])
    assert coins.epsilon_of(ratio) > made.epsilon


def test_levels_and_nodes() -> None:
    assert level_sizes(1024, 8) == [2, 16, 128, 1024] and level_sizes(5, 8) == [5] and level_sizes(9, 2) == [2, 3, 5, 9]
    assert even_fanout(1024) == 6 and even_fanout(2) == 2 and even_fanout(1 << 20) == 8
    made = _tree(23, fanout=3)
    for level, size in enumerate(level_sizes(23, 3)):
        nodes = made.nodes(np.arange(23), level)
        assert nodes.max() == size - 1 == len(made.oracles[level].choices) - 1
    assert isinstance(_tree(100, 8).oracles[-1], RandomizedResponse)
    assert isinstance(_tree(100, 1).oracles[-1], OptimisedUnary)
    assert _tree(5000, 1).oracle == "hashing" and _tree(5000, 1).width < 20


@pytest.mark.parametrize(("points", "fanout"), [(8, 2), (7, 2), (10, 3), (5, 8), (27, 3)])
def test_agreeing_is_least_squares_with_the_total_held(points: int, fanout: int) -> None:
    random = np.random.default_rng(points)
    shape = level_sizes(points, fanout)
    told = [random.normal(size=size) for size in shape]
    weights = random.uniform(0.5, 3, len(shape))
    found = make_consistent(told, weights, 5.0, fanout)
    rows, depth = [], len(shape) - 1
    for level, size in enumerate(shape):
        rows.append(np.equal.outer(np.arange(size), np.arange(points) // fanout ** (depth - level)).astype(float))
    matrix = np.vstack(rows)
    weight = np.concatenate([np.full(size, weights[level]) for level, size in enumerate(shape)])
    normal = matrix.T @ (weight[:, None] * matrix)
    # With a Lagrange multiplier for the total.
    left = np.block([[normal, np.ones((points, 1))], [np.ones((1, points)), np.zeros((1, 1))]])
    right = np.append(matrix.T @ (weight * np.concatenate(told)), 5.0)
    np.testing.assert_allclose(found[-1], np.linalg.solve(left, right)[:points], atol=1e-9)
    for row, level in zip(rows, found, strict=True):
        np.testing.assert_allclose(row @ found[-1], level, atol=1e-9)


def test_answers_agree_with_each_other() -> None:
    made = _tree(37, 1)
    people = np.arange(2000) % 37
    found = made.estimate(made.randomize_all(people, bits=Counted(1)))
    assert found.counts.sum() == pytest.approx(2000)
    parts = found.ranges([(0, 9), (10, 20), (21, 36), (0, 36), (0, 20)])
    assert parts.counts[:3].sum() == pytest.approx(parts.counts[3]) == pytest.approx(2000)
    assert parts.counts[:2].sum() == pytest.approx(parts.counts[4])
    assert parts.variances[3] == pytest.approx(0, abs=1e-4)  # all: known exactly
    assert parts.labels[0] == "0..9"


@pytest.mark.parametrize(("points", "fanout"), [(8, 2), (11, 3), (64, 4)])
def test_a_range_is_unbiased_given_the_levels(points: int, fanout: int) -> None:
    """Every level's counts are unbiased (test_choices), so what they enter with must add up to the range's indicator."""
    made = _tree(points, 1, fanout=fanout)
    people = np.arange(4000) % points
    found = made.estimate(made.randomize_all(people, bits=Counted(2)))
    for first, end in ((0, 1), (1, points - 1), (2, 7), (0, points)):
        shape = found._influence(first, end)
        given = sum(level[made.nodes(np.arange(points), place)] for place, level in enumerate(shape))
        wanted = np.zeros(points)
        wanted[first:end] = 1
        np.testing.assert_allclose(given - given[0], wanted - wanted[0], atol=1e-9)
        # and the influence is that of the estimate itself: move what one level told
        for place, level in enumerate(shape):
            told = [np.zeros(size) for size in map(len, shape)]
            told[place][-1] = 1.0
            moved = make_consistent(told, found.weights, 0.0, made.fanout)[-1][first:end].sum()
            assert moved == pytest.approx(level[-1], abs=1e-9)


def test_the_coins_variance_of_a_response_is_exact() -> None:
    made = RandomizedResponse(["a", "b", "c", "d"], epsilon=1)
    weights, counts = np.array([1.0, -2.0, 0.5, 3.0]), np.array([1.0, 0.0, 2.0, 1.0])
    exact = 0.0
    for choice, many in zip(made.choices, counts, strict=True):
        found = law(made, choice)
        sums = np.array([weights @ made.estimate([report]).counts for report in found])
        chances = np.array([float(chance) for chance in found.values()])
        exact += many * (chances @ sums**2 - (chances @ sums) ** 2)
    assert coin_variance(made, weights, counts, 4) == pytest.approx(exact, rel=1e-6)


@pytest.mark.thin(1)
@pytest.mark.parametrize(("epsilon", "oracle"), [(1, "unary"), (4, "unary"), (2, "hashing")])
def test_the_error_of_ranges_is_as_stated(epsilon: int, oracle: str) -> None:
    made = _tree(50, epsilon, fanout=4, oracle=oracle)
    people = np.random.default_rng(5).binomial(49, 0.3, 3000)
    ranges = [(0, 10), (12, 18), (15, 49), (14, 14)]
    truth = np.array([((people >= low) & (people <= high)).sum() for low, high in ranges])
    runs = [made.estimate(made.randomize_all(people, bits=Counted(run))).ranges(ranges) for run in range(150)]
    errors = np.array([run.counts - truth for run in runs])
    stated = np.mean([run.variances for run in runs], axis=0)
    assert (np.abs(errors.mean(axis=0)) < 4 * np.sqrt(stated / 150)).all()
    ratio = (errors**2).mean(axis=0) / stated
    assert ((ratio > 0.6) & (ratio < 1.5)).all()
    assert 0.8 < ratio.mean() < 1.25


@pytest.mark.deep
def test_ranges_are_far_better_than_points_added_up() -> None:
    people = np.random.default_rng(6).normal(400, 150, 20_000).clip(0, 1023).round()
    ends = np.sort(np.random.default_rng(7).integers(0, 1024, (200, 2)), axis=1)
    ranges = [(int(low), int(high)) for low, high in ends]
    truth = np.array([((people >= low) & (people <= high)).sum() for low, high in ranges])
    errors = []
    for fanout in (None, 1024):
        made = _tree(1024, 1, fanout=fanout)
        found = made.estimate(made.randomize_all(people, bits=Counted(8)))
        errors.append(((found.ranges(ranges).counts - truth) ** 2).mean())
        assert found.ranges(ranges).variances.mean() > 0
    assert errors[0] < errors[1] / 4


def test_quantiles_and_prefixes() -> None:
    made = Tree(low="-1", high="1", step="0.01", epsilon=4)
    people = np.linspace(-1, 1, 20_001)
    found = made.estimate(made.randomize_all(people, bits=Counted(9)))
    for share in (0.1, 0.5, 0.9):
        assert found.quantile(share) == pytest.approx(2 * share - 1, abs=0.1)
    assert -1 <= found.quantile(0) <= found.quantile(1) <= 1
    assert (np.diff(found.prefixes()) >= 0).all() and found.prefixes()[-1] <= 20_001
    with pytest.raises(UsageError, match="share"):
        found.quantile(1.5)
    with pytest.raises(UsageError, match="lower end"):
        found.ranges([(0.5, 0.4)])
    with pytest.raises(UsageError, match="from -1 to 1"):
        found.ranges([(0, 2)])


def test_what_makes_no_sense_is_refused() -> None:
    for wrong in ({"fanout": 1}, {"fanout": 2.5}, {"fanout": "3"}, {"oracle": "magic"}, {"epsilon": 0}):
        with pytest.raises(UsageError):
            _tree(10, **{"epsilon": 1, **wrong})  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="12,000"):
        _tree(100_001, 1, oracle="unary")
    made = _tree(100, 1)
    with pytest.raises(UsageError, match="level"):
        made.estimate(made.randomize_all([5]))
    with pytest.raises(UsageError, match="cannot have made"):
        made.estimate([b"\xff" * made.width])
    assert randomizer_from_parameters(made.parameters(), {"tree": Tree}).parameters() == made.parameters()


def test_the_largest_tree_is_said_and_small_epsilons_leave_the_wide_levels_alone() -> None:
    with pytest.raises(UsageError, match=r"1,048,576 points, not 1,048,577"):
        _tree((1 << 20) + 1, 1)
    assert _tree(1 << 12, "1e-6").epsilon <= Fraction("1e-6")


def test_a_liar_who_changes_levels_moves_a_range_further_than_one_level_can() -> None:
    """Found by search: a report leaves the points for the highest level, and pulls there, too."""
    made = _tree(4, 4, fanout=2)
    ranges = [(0, 0), (0, 1), (1, 2), (1, 3)]
    reports = [bytes(report) for report in ((1, 1), (1, 0), (0, 0), (1, 1), (1, 2), (1, 2), (1, 1))]
    found = made.estimate(reports).ranges(ranges)
    reports[1] = bytes([0, 1])
    moved = float(np.abs(made.estimate(reports).ranges(ranges).counts - found.counts).max())
    assert found.reach / 2 < moved <= found.reach
