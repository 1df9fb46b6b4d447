"""Marginals by least squares from noisy parts: residual by residual, each the mean of what the parts say of it.

The answer is that of weighted least squares over the whole domain, which is never written out: all Gram matrices of
parts are sums of the same projections, one for each residual (docs/proofs/tables-marginals.md). Marginals that are
put together from the same residuals agree with each other, whatever they share.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.inference.linear.residual_part import Axes, ResidualPart, informative_axes, subsets

Table = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidualPrecision:
    """What parts with noise of these variances tell about residuals, before any is drawn."""

    sizes: tuple[int, ...]
    parts: tuple[ResidualPart, ...]
    variances: tuple[float, ...]
    of: Mapping[Axes, float]

    @staticmethod
    def from_parts(
        sizes: Sequence[int], parts: Sequence[ResidualPart], variances: Sequence[float]
    ) -> ResidualPrecision:
        """The information on every residual that some part tells about: it adds up."""
        information: dict[Axes, float] = {}
        for part, variance in zip(parts, variances, strict=True):
            for subset in part.subsets():
                information[subset] = information.get(subset, 0.0) + part.information(subset, sizes) / variance
        return ResidualPrecision(sizes=tuple(sizes), parts=tuple(parts), variances=tuple(variances), of=information)

    def variance(self, axes: Axes) -> float:
        """The variance of each cell of the marginal over `axes`: the same for all of them.

        Because: the residual of S has covariance P / information, P a projection whose diagonal is the product of
            (n - 1) / n over S, and it is spread evenly along the other axes.
        """
        variance = 0.0
        for subset in subsets(informative_axes(axes, self.sizes)):
            spread = math.prod(self.sizes[axis] ** 2 for axis in axes if axis not in subset)
            own = math.prod((self.sizes[axis] - 1) / self.sizes[axis] for axis in subset)
            variance += own / (spread * self.of[subset])
        return variance

    def share(self, place: int, subset: Axes) -> float:
        """How much a part counts in the mean that is the residual of `subset`."""
        return self.parts[place].information(subset, self.sizes) / (self.variances[place] * self.of[subset])


@dataclass(frozen=True, slots=True, kw_only=True)
class Residuals:
    """The residuals that noisy parts tell, from which every marginal is put together."""

    sizes: tuple[int, ...]
    of: Mapping[Axes, Table]

    @staticmethod
    def fit(precision: ResidualPrecision, noisy: Sequence[NDArray[np.int64] | NDArray[np.object_]]) -> Residuals:
        """Least squares: each residual is the mean by information of what the parts say of it."""
        sizes, residuals = precision.sizes, dict[Axes, Table]()
        for place, (part, values) in enumerate(zip(precision.parts, noisy, strict=True)):
            table = np.asarray(values).astype(np.float64).reshape(part.shape(sizes))
            for subset in part.subsets():
                weighted = precision.share(place, subset) * _residual_from_part(part, table, subset, sizes)
                residuals[subset] = residuals[subset] + weighted if subset in residuals else weighted
        return Residuals(sizes=sizes, of=residuals)

    @property
    def total(self) -> float:
        """The number of rows that all marginals sum to."""
        return float(self.of[()])

    def table(self, axes: Axes) -> Table:
        """The marginal over axes, an axis each."""
        shape = tuple(self.sizes[axis] for axis in axes)
        marginal = np.zeros(shape)
        for subset in subsets(informative_axes(axes, self.sizes)):
            own = self.of[subset].reshape([self.sizes[axis] if axis in subset else 1 for axis in axes])
            marginal += own / math.prod(self.sizes[axis] for axis in axes if axis not in subset)
        return marginal

    def tables(self, sets: Sequence[Axes]) -> Iterator[Table]:
        """Several marginals, one at a time."""
        return (self.table(axes) for axes in sets)


def _residual_from_part(part: ResidualPart, table: Table, subset: Axes, sizes: Sequence[int]) -> Table:
    """What one part says of one residual: its pseudo-inverse, axis by axis."""
    for place, axis in reversed(list(enumerate(part.axes))):
        if axis not in subset:
            table = table.sum(axis=place)
        elif axis not in part.centred:
            table = table - table.mean(axis=place, keepdims=True)
        elif sizes[axis] == 2:
            table = np.concatenate([table, -table], axis=place) / 2
        else:
            table = (table - table.mean(axis=place, keepdims=True)) / sizes[axis]
    return np.asarray(table)
