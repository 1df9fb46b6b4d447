"""Least squares on trees of tables: equal to dense algebra, with the variances that it says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.inference.linear import tree_least_squares
from discreet.inference.linear.tree_least_squares import LevelPrecisions, NodeTree, fit_tree, level_variances


@st.composite
def trees(draw):
    parents, size = [], 1
    for _ in range(draw(st.integers(0, 3))):
        fans = draw(st.lists(st.integers(1, 4), min_size=size, max_size=size))
        parents.append(np.repeat(np.arange(size), fans))
        size = len(parents[-1])
    return NodeTree(tuple(parents))


def problem(tree, generator, *, known_level=None):
    """Two coordinates, precisions of each level (some 0), and values; the second coordinate may be known somewhere."""
    of = generator.choice([0.0, 0.5, 1.0, 4.0], size=(tree.depth, 2))
    of[-1] = generator.choice([0.5, 1.0, 4.0], size=2)
    known = np.zeros((tree.depth, 2), dtype=bool)
    exact = {}
    if known_level is not None:
        known[known_level, 1] = True
        exact[known_level] = generator.normal(size=(1, tree.sizes[known_level]))
    values = [generator.normal(0, 3, size=(2, size)) for size in tree.sizes]
    return LevelPrecisions(of=of, is_exact=known), values, exact


def leaf_map(tree, level):
    """Which leaves are in each node of a level, as a matrix."""
    found = np.eye(tree.sizes[-1])
    for upper in range(tree.depth - 2, level - 1, -1):
        found = np.add.reduceat(found, tree.starts[upper], axis=0)
    return found


def dense(tree, precisions, values, exact, coordinate):
    """The same by normal equations over the leaves; what is known is a measurement of enormous precision."""
    rows, sides, weights = [], [], []
    for level in range(tree.depth):
        rows.append(leaf_map(tree, level))
        is_known = precisions.is_exact[level, coordinate]
        sides.append(exact[level][0] if is_known else values[level][coordinate])
        weights.append(np.full(tree.sizes[level], 1e9 if is_known else precisions.of[level, coordinate]))
    matrix, side, weight = np.concatenate(rows), np.concatenate(sides), np.concatenate(weights)
    covariance = np.linalg.inv(matrix.T @ (weight[:, None] * matrix))
    leaves = covariance @ (matrix.T @ (weight * side))
    maps = [leaf_map(tree, level) for level in range(tree.depth)]
    return [each @ leaves for each in maps], [np.diag(each @ covariance @ each.T) for each in maps]


def compare(tree, precisions, values, exact):
    found = level_variances(tree, precisions)
    smoothed = fit_tree(tree, precisions, found, [each.copy() for each in values], exact)
    for coordinate in (0, 1):
        estimates, spread = dense(tree, precisions, values, exact, coordinate)
        own = precisions.classes[coordinate]
        for level in range(tree.depth):
            stated = found[level].final[own]
            stated = tree.spread(level - 1, stated) if found[level].shared else stated
            np.testing.assert_allclose(smoothed[level][coordinate], estimates[level], atol=2e-5)
            np.testing.assert_allclose(np.broadcast_to(stated, spread[level].shape), spread[level], atol=2e-6)


@given(trees(), st.integers(0, 2**32), st.booleans())
def test_two_passes_are_dense_least_squares(tree, seed, with_known):
    generator = np.random.default_rng(seed)
    level = int(generator.integers(tree.depth)) if with_known else None
    compare(tree, *problem(tree, generator, known_level=level))


def test_smoothed_values_add_up():
    tree = NodeTree((np.array([0, 0, 0]), np.array([0, 0, 1, 2, 2, 2])))
    precisions, values, _ = problem(tree, np.random.default_rng(3))
    smoothed = fit_tree(tree, precisions, level_variances(tree, precisions), values)
    for level in (0, 1):
        np.testing.assert_allclose(tree.sums(level, smoothed[level + 1]), smoothed[level], atol=1e-9)


def test_a_share_by_numbers_and_not_by_variances_is_caught(monkeypatch):
    """The planted mistake: what is left over is given to children alike, though some are known better."""
    tree = NodeTree((np.array([0, 0]), np.array([0, 0, 0, 1])))
    precisions, values, exact = problem(tree, np.random.default_rng(1))
    precisions = LevelPrecisions(of=np.array([[1.0, 2.0], [1.0, 0.5], [1.0, 4.0]]), is_exact=precisions.is_exact)
    compare(tree, precisions, values, exact)
    monkeypatch.setattr(tree_least_squares, "_ratio", lambda part, whole: np.full(np.broadcast(part, whole).shape, 0.5))
    with pytest.raises(AssertionError):
        compare(tree, precisions, values, exact)


def test_strange_trees_and_precisions_are_refused():
    for parents in ((np.array([0, 1]),), (np.array([1]),), (np.array([0, 0]), np.array([1, 0])), (np.array([], int),)):
        with pytest.raises(ValueError, match="next to each other"):
            NodeTree(parents)
    with pytest.raises(ValueError, match="never measured"):
        LevelPrecisions(of=np.array([[1.0], [0.0]]), is_exact=np.zeros((2, 1), dtype=bool))
    with pytest.raises(ValueError, match="finite, not negative"):
        LevelPrecisions(of=np.array([[-1.0]]), is_exact=np.zeros((1, 1), dtype=bool))
