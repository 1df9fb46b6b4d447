"""What the measurements of a model say about the true counts, cell by cell.

A marginal that was measured, alone or inside a larger one, is known up to its noise. One that was not is still caught
between bounds: no more people are F *and* young than there are F, or young; and no fewer than what F and young must
share when together they are more than everybody (Fréchet 1935). The model's own guess lies between, and how near it is
to the truth there cannot be known without the data.

Post-processing: noisy values and public facts alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from discreet.inference.axes import Axes, Table, cells_of, sum_to
from discreet.inference.fit_inputs import sum_groups
from discreet.synth.known_counts import KnownCounts
from discreet.synth.model_contents import ModelContents

#: A question is good if its answer is within this share of the truth,
NEAR = 0.05

#: with this confidence. In standard deviations of the noise: a Gaussian, and a Laplace, which has longer tails.
CONFIDENCE = 0.95
GAUSSIAN = 1.96
LAPLACE = 2.12

#: What is asked again and again is kept, where it has no more cells than this.
_KEPT_CELLS = 100_000


#: For each column the group of each of its cells.
CellGroups = list[NDArray[np.int64]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyMarginal:
    """A noisy marginal and the variance of each cell: all measurements that hold it, by inverse variance."""

    values: Table
    variances: Table


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalBounds:
    """The model's counts of a marginal, and between what the true ones lie, each with the stated confidence.

    `measured`: the bounds come from noise about the marginal itself, else from its parts.
    """

    model: Table
    low: Table
    high: Table
    measured: bool

    @property
    def near(self) -> NDArray[np.bool_]:
        """Which counts of the model are within 5% of whatever the true one is between the bounds."""
        return near(self.model, self.low, self.high)


def near(model: Table, low: Table, high: Table) -> NDArray[np.bool_]:
    """|model - true| <= 5% of true for every true in [low, high].

    >>> near(np.array([100.0, 100.0, 0.0]), np.array([97.0, 94.0, 0.0]), np.array([103.0, 103.0, 0.0])).tolist()
    [True, False, False]
    """
    is_near: NDArray[np.bool_] = (model > 0) & (model <= (1 + NEAR) * low) & (model >= (1 - NEAR) * high)
    return is_near


class ModelEvidence:
    """A model and what stands behind it. Remembers small tables, for the same ones are asked for many times."""

    def __init__(self, model: ModelContents) -> None:
        self.model = model
        self.sizes = model.fitted.sizes
        self.total = model.total
        constraints = model.constraints
        self.total_sd = 0.0 if constraints.totals or constraints.rows is not None else model.total_sd
        self.widths = LAPLACE if is_laplace(model) else GAUSSIAN
        self.outside = [_outside(model, place) for place in range(len(self.sizes))]
        self._noisy_marginals: dict[Axes, NoisyMarginal | None] = {}
        self._bounds: dict[Axes, MarginalBounds] = {}

    def measured(self, own: Axes) -> bool:
        """Whether some measurement holds all of these columns."""
        return any(set(own) <= set(each.attributes) for each in self.model.measured)

    def public(self, own: Axes) -> bool:
        """Whether these counts are known publicly, or follow from some that are: the model keeps them exactly."""
        names = names_of(self.model, own)
        return any(
            {self._source(known_counts, name) for name in names} <= set(known_counts.columns)
            for known_counts in self.model.constraints.totals
        )

    def _source(self, known_counts: KnownCounts, name: str) -> str:
        """The column of known counts that says all about this one; itself where there is none."""
        for rule in self.model.constraints.dependencies:
            if rule.target == name and rule.source in known_counts.columns and name not in known_counts.columns:
                place = known_counts.columns.index(rule.source)
                counted_codes = {
                    codes[place] for codes, count in zip(known_counts.codes, known_counts.counts, strict=True) if count
                }
                if counted_codes <= set(rule.codes):
                    return rule.source
        return name

    def noisy_marginal(self, own: Axes) -> NoisyMarginal | None:
        """What was measured of a marginal; None where nothing was."""
        if own not in self._noisy_marginals:
            noisy_marginal = self._combine(own)
            if cells_of(self.sizes, own) > _KEPT_CELLS:
                return noisy_marginal
            self._noisy_marginals[own] = noisy_marginal
        return self._noisy_marginals[own]

    def _combine(self, own: Axes) -> NoisyMarginal | None:
        """The mean by inverse variance: noises are independent, and a sum of cells has the sum of their variances.

        What was measured over groups of cells says nothing about a cell by itself; see `_from_groups`.
        """
        weighted, precision = np.zeros(()), np.zeros(())
        for each in self.model.measured:
            if set(own) <= set(each.attributes) and each.groups is None:
                variances = sum_to(each.cell_variances, each.attributes, own)
                weighted = weighted + sum_to(each.values, each.attributes, own) / variances
                precision = precision + 1 / variances
        return (
            NoisyMarginal(values=weighted / precision, variances=1 / precision)
            if precision.ndim or precision > 0
            else None
        )

    def noisy_groups(self, own: Axes) -> tuple[NoisyMarginal, CellGroups] | None:
        """Of all measurements over groups of these columns' cells the one of the least noise a cell, and its groups."""
        measured = [
            each for each in self.model.measured if each.groups is not None and set(own) <= set(each.attributes)
        ]
        if not measured:
            return None
        tables = [sum_to(each.cell_variances, each.attributes, own) for each in measured]
        best = min(range(len(tables)), key=lambda place: float(tables[place].mean()))
        chosen = measured[best]
        assert chosen.groups is not None
        return (
            NoisyMarginal(values=sum_to(chosen.values, chosen.attributes, own), variances=tables[best]),
            [chosen.groups[chosen.attributes.index(place)] for place in own],
        )

    def bounds(self, own: Axes, counts: Table | None = None) -> MarginalBounds:
        """Between what the true counts of a marginal lie. `counts`: the model's, where they are at hand."""
        if own in self._bounds:
            return self._bounds[own]
        model = self.model.calibrated.project(own) if counts is None else counts
        noisy_marginal = self.noisy_marginal(own)
        if set(names_of(self.model, own)) & set(self.model.card.doubtful):
            anything = np.full(model.shape, self.total_bounds().high)
            marginal_bounds = MarginalBounds(
                model=model, low=np.zeros(model.shape), high=anything, measured=noisy_marginal is not None
            )
        elif self.public(own):
            marginal_bounds = MarginalBounds(model=model, low=model, high=model, measured=True)
        else:
            marginal_bounds = (
                self._from_groups(own, self._from_parts(own, model))
                if noisy_marginal is None
                else self._from_noise(own, model, noisy_marginal)
            )
        if model.size <= _KEPT_CELLS:
            self._bounds[own] = marginal_bounds
        return marginal_bounds

    def _from_noise(self, own: Axes, model: Table, noisy_marginal: NoisyMarginal) -> MarginalBounds:
        """The model, give or take its noise, and rows outside bought bounds, which the cells at the ends may hold.

        The fit is a projection onto what is possible, which the truth is too, so the model is as a rule nearer to the
        truth than the measurement is. Where it stands further from the measurement than noise explains (cells that
        noise would have made negative push others down), that much more is allowed for.
        """
        noise = self.widths * np.sqrt(noisy_marginal.variances)
        width = np.maximum(noise, np.abs(model - noisy_marginal.values))
        for place in own:
            width = width + _over(self.outside[place], (place,), own)
        return MarginalBounds(model=model, low=np.maximum(model - width, 0), high=model + width, measured=True)

    def _from_groups(self, own: Axes, bounds: MarginalBounds) -> MarginalBounds:
        """The bounds by parts, and no cell above what its group of cells may hold, where groups were measured."""
        high, is_measured = bounds.high, False
        for each in self.model.measured:
            if each.groups is None or len(own) < 2 or not set(own) <= set(each.attributes):
                continue
            groups = [each.groups[each.attributes.index(place)] for place in own]
            noisy, variances = (sum_to(table, each.attributes, own) for table in (each.values, each.cell_variances))
            model = sum_groups(bounds.model, groups)
            width = np.maximum(self.widths * np.sqrt(variances), np.abs(model - noisy))
            outside = sum(_over(self.outside[place], (place,), own) for place in own)
            high, is_measured = np.minimum(high, (model + width)[np.ix_(*groups)] + outside), True
        high = np.maximum(high, bounds.model)
        return MarginalBounds(model=bounds.model, low=bounds.low, high=high, measured=is_measured)

    def _from_parts(self, own: Axes, model: Table) -> MarginalBounds:
        """At most the smallest part; at least what two parts must share.

        Because: rows in cell x of U and V together are those of U, and of V, less those in either, which are no more
            than the rows in cell x of what U and V have in common.
        """
        high, low = np.full(model.shape, math.inf), np.zeros(model.shape)
        if len(own) < 2:
            return MarginalBounds(
                model=model, low=low, high=np.full(model.shape, self.total_bounds().high), measured=False
            )
        parts = [own[:place] + own[place + 1 :] for place in range(len(own))]
        part_bounds = {part: self.bounds(part) for part in parts}
        for part in parts:
            high = np.minimum(high, _over(part_bounds[part].high, part, own))
        for one, other in combinations(parts, 2):
            both = tuple(axis for axis in one if axis in other)
            share = self.bounds(both).high if both else np.array(self.total_bounds().high)
            least = (
                _over(part_bounds[one].low, one, own)
                + _over(part_bounds[other].low, other, own)
                - _over(share, both, own)
            )
            low = np.maximum(low, least)
        return MarginalBounds(model=model, low=low, high=high, measured=False)

    def total_bounds(self) -> MarginalBounds:
        """How many rows the table has."""
        sd = self.total_sd if self.model.measured else math.inf
        width = self.widths * sd
        model = np.array(self.total)
        return MarginalBounds(
            model=model, low=np.maximum(model - width, 0), high=model + width, measured=bool(self.model.measured)
        )

    def of_cells(self, place: int, chosen: NDArray[np.bool_]) -> tuple[float, float]:
        """The model's number of rows in some cells of one column, and how far from the truth it may be.

        Known from these cells, or from all others and the number of rows, whichever is nearer.
        """
        counts = self.bounds((place,)).model
        own = float(counts[chosen].sum())
        if self.model.attributes[place].name in self.model.card.doubtful:
            return own, math.inf
        if self.public((place,)):
            return own, 0.0
        noisy_marginal = self.noisy_marginal((place,))
        if noisy_marginal is None:
            return own, math.inf
        inside = self.widths * math.sqrt(noisy_marginal.variances[chosen].sum())
        outside = self.widths * (math.sqrt(noisy_marginal.variances[~chosen].sum()) + self.total_sd)
        # Where the model was pushed off by more than noise, and where rows lie outside: as in `_from_noise`.
        width = max(min(inside, outside), abs(own - float(noisy_marginal.values[chosen].sum())))
        return own, width + float(self.outside[place][chosen].max(initial=0.0))


def _outside(model: ModelContents, place: int) -> Table:
    """For each cell of a column the most rows in it that lie outside bought bounds: where it is at one of the ends."""
    attribute, most_outside = model.attributes[place], np.zeros(model.attributes[place].size)
    ends = attribute.groups[[0, len(attribute.edges) - 2]]
    most_outside[ends] = model.card.outside.get(attribute.name, 0.0)
    return most_outside


def _over(table: Table, axes: Axes, own: Axes) -> Table:
    """A table over some of the axes, as one that broadcasts over all of them, which are in the same order."""
    shape = iter(table.shape)
    return table.reshape([next(shape) if axis in axes else 1 for axis in own])


def is_laplace(model: ModelContents) -> bool:
    """Whether the noise is Laplace's: where the guarantee is a pure epsilon."""
    return model.card.rho is None and model.card.epsilon is not None


def names_of(model: ModelContents, own: Sequence[int]) -> tuple[str, ...]:
    """What columns are called."""
    return tuple(model.attributes[place].name for place in own)
