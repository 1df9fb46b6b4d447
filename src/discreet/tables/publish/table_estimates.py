"""From noisy tables to estimates with standard errors, and to whole tables that add up. Free, and always the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.topdown import whole_tables
from discreet.inference.linear.tree_least_squares import LevelPrecisions, LevelVariances, fit_tree, level_variances
from discreet.kernel.measurement import Law
from discreet.tables.publish.layout import Layout
from discreet.tables.publish.publication_price import variance_of

Floats = NDArray[np.float64]
Wholes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Accuracy:
    """How exact the estimates are, known before any data: variances by classes of coordinates."""

    layout: Layout
    precisions: LevelPrecisions
    variances: tuple[LevelVariances, ...]

    def cell_errors(self, level: int) -> Floats:
        """The standard error of each estimated cell, cells by nodes; of the last level by the nodes above it."""
        weights = self.layout.basis.weights(self.precisions.classes)
        return np.sqrt(weights @ self.variances[level].final)

    def total_errors(self, level: int) -> Floats:
        """The standard error of each node's total, in the same way."""
        weights = self.layout.basis.total_weights(self.precisions.classes)
        return np.sqrt(weights @ self.variances[level].final)

    def spread(self, level: int, errors: Floats) -> Floats:
        """Errors of a level for each of its nodes."""
        if not self.variances[level].shared:
            return errors
        return np.asarray(self.layout.places.tree.spread(level - 1, errors))

    def typical(self, level: int, errors: Floats) -> float:
        """The root of the mean square over the nodes of a level."""
        squares = (errors**2).reshape(-1, errors.shape[-1]).mean(axis=0)
        if self.variances[level].shared:
            fan_outs = self.layout.places.tree.fan_outs[level - 1]
            return float(np.sqrt(np.average(squares, weights=fan_outs)))
        return float(np.sqrt(squares.mean()))


def expected_accuracy(layout: Layout, laws: Sequence[Sequence[Law]]) -> Accuracy:
    """The variances that the laws of the noise lead to."""
    basis, depth = layout.basis, layout.places.tree.depth
    strengths = iter(basis.eigenvalues)
    of = np.zeros((depth, basis.cells))
    for level, own in enumerate(laws):
        for law in own:
            of[level] += next(strengths) / variance_of(law)
    is_exact = np.zeros((depth, basis.cells), dtype=np.bool_)
    if layout.lowest_exact_level is not None:
        is_exact[layout.lowest_exact_level, basis.place_of(len(basis.eigenvalues) - 1)] = True
    precisions = LevelPrecisions(of=of, is_exact=is_exact)
    return Accuracy(layout=layout, precisions=precisions, variances=level_variances(layout.places.tree, precisions))


@dataclass(frozen=True, kw_only=True)
class RefinedTables:
    """Tables of every level from the top, cells by nodes: unbiased estimates, and whole counts that add up."""

    estimates: tuple[Floats, ...]
    counts: tuple[Wholes, ...]


def refine(
    accuracy: Accuracy,
    laws: Sequence[Sequence[Law]],
    values: Sequence[Sequence[NDArray[np.int64]]],
    totals: Wholes | None,
) -> RefinedTables:
    """Least squares, then whole numbers from the top down."""
    layout, basis, tree = accuracy.layout, accuracy.layout.basis, accuracy.layout.places.tree
    measured = [_coordinates(accuracy, level, own, values[level]) for level, own in enumerate(laws)]
    exact_coordinates = {}
    if layout.lowest_exact_level is not None and totals is not None:
        exact_coordinates[layout.lowest_exact_level] = totals / np.sqrt(basis.cells)
        if basis.vectors is not None:
            exact_coordinates[layout.lowest_exact_level] *= np.sign(
                basis.vectors[0, basis.place_of(len(basis.eigenvalues) - 1)]
            )
    smoothed = fit_tree(tree, accuracy.precisions, accuracy.variances, measured, exact_coordinates)
    estimates = tuple(basis.values(each) for each in smoothed)
    weights = basis.weights(accuracy.precisions.classes)
    counts = whole_tables(
        tree, estimates, [weights @ each.subtree for each in accuracy.variances], _all_totals(layout, totals)
    )
    return RefinedTables(estimates=estimates, counts=tuple(counts))


def _coordinates(accuracy: Accuracy, level: int, laws: Sequence[Law], values: Sequence[NDArray[np.int64]]) -> Floats:
    """What a level's queries say of each coordinate, by their precisions; 0 where they say nothing."""
    layout, basis = accuracy.layout, accuracy.layout.basis
    queries = layout.queries[level]
    if len(queries) == 1 and basis.vectors is None:
        return values[0].astype(np.float64)
    total = np.zeros((basis.cells, layout.places.tree.sizes[level]))
    for query, law, noisy in zip(queries, laws, values, strict=True):
        total += noisy[query.groups] / variance_of(law)
    precision = accuracy.precisions.of[level]
    weighted_sums = basis.coordinates(total)
    return np.asarray(
        np.divide(weighted_sums, precision[:, None], out=np.zeros_like(weighted_sums), where=precision[:, None] > 0)
    )


def _all_totals(layout: Layout, totals: Wholes | None) -> dict[int, Wholes]:
    """The exact totals of every level from the top down to the one that they are known of."""
    if layout.lowest_exact_level is None or totals is None:
        return {}
    exact_totals = {layout.lowest_exact_level: totals}
    for level in range(layout.lowest_exact_level - 1, -1, -1):
        exact_totals[level] = layout.places.tree.sums(level, exact_totals[level + 1])
    return exact_totals
