"""What released answers already tell about a question: estimates of its cells, and how wrong they may be.

Everything here reads noisy, released numbers and public facts, so it is post-processing and free.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.answers.query_quote import laws_of
from discreet.kernel.measurement import Law, Measurement, NoisyCells
from discreet.mechanisms.weighted_sum import SumSignature, WeightedPart, half_width, signature
from discreet.plan.price import Price
from discreet.sql.parsed_query import ParsedQuery

#: A price is searched for in some thirty steps, each of which weighs every different law of the cells.
_MOST_KINDS = 32
_MOST_WEIGHTS = 20_000


#: An estimate that would count for less than the rest of this brings nothing.
_ALL = 0.98


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedCell:
    """An unbiased estimate of one exact number: a weighted sum of released ones, whose laws of noise are `parts`."""

    value: float
    variance: float
    parts: tuple[WeightedPart, ...]
    releases: tuple[str, ...]

    def with_another(self, value: float, law: Law, release: str) -> EstimatedCell:
        """Combined, by inverse variance, with one more measurement of the same number, whose noise is independent."""
        share = self._share(law)
        return EstimatedCell(
            value=share * self.value + (1 - share) * value,
            variance=share**2 * self.variance + (1 - share) ** 2 * float(law.variance()),
            parts=self.parts_with(law),
            releases=(*self.releases, release),
        )

    def with_estimate(self, other: EstimatedCell) -> EstimatedCell:
        """Combined, by inverse variance, with another estimate of the same number, whose noise is independent."""
        both = self.variance + other.variance
        share = other.variance / both if both > 0 else 1.0
        if share > _ALL:
            return self
        scaled = [(share * weight, law, times) for weight, law, times in self.parts]
        scaled += [((1 - share) * weight, law, times) for weight, law, times in other.parts]
        return EstimatedCell(
            value=share * self.value + (1 - share) * other.value,
            variance=share**2 * self.variance + (1 - share) ** 2 * other.variance,
            parts=tuple(scaled),
            releases=tuple(dict.fromkeys((*self.releases, *other.releases))),
        )

    def parts_with(self, law: Law) -> tuple[WeightedPart, ...]:
        """The laws of the noise of `with_another`."""
        share = self._share(law)
        return (*((share * weight, own, times) for weight, own, times in self.parts), (1 - share, law, 1))

    def _share(self, law: Law) -> float:
        new = float(law.variance())
        return new / (self.variance + new) if self.variance + new > 0 else 1.0


@dataclass(frozen=True, kw_only=True)
class EarlierEstimate:
    """What is told about every cell of a question, by grouping set and statistic, row-major.

    `repeats`: each cell is one that a release of tables shows itself, so that the question was measured before.
    """

    query: ParsedQuery
    cells: Mapping[tuple[int, int], tuple[EstimatedCell, ...]]
    repeats: bool = False

    @cached_property
    def releases(self) -> tuple[str, ...]:
        """The releases that it comes from, cell by cell, of each cell the oldest first."""
        return tuple(dict.fromkeys(name for cells in self.cells.values() for cell in cells for name in cell.releases))

    @cached_property
    def _steps(self) -> dict[int, Fraction]:
        """For each statistic that an output shows, how many times it does."""
        steps: dict[int, Fraction] = {}
        for output in self.query.outputs:
            if output.plain is not None:
                index, step = output.plain
                steps[index] = max(steps.get(index, Fraction(0)), abs(step))
        return steps

    @cached_property
    def _kinds(self) -> dict[tuple[int, int], dict[SumSignature, EstimatedCell]]:
        """The different laws among the cells, each with one of those that have it."""
        return {key: {signature(cell.parts): cell for cell in cells} for key, cells in self.cells.items()}

    def widest(self, confidence: Fraction) -> Fraction:
        """The widest noise of any number that the answer would show."""
        widths = [Fraction(half_width(cell.parts, confidence)) * self._steps[key[1]] for key, cell in self._shown]
        return max(widths, default=Fraction(0))

    def widest_with(self, price: Price, confidence: Fraction) -> Fraction:
        """The widest noise after one more measurement at this price, combined with what is told."""
        laws = laws_of(price)
        widths = [
            Fraction(half_width(cell.parts_with(laws[index][place]), confidence)) * self._steps[index]
            for (place, index), cell in self._shown
        ]
        return max(widths, default=Fraction(0))

    def meets_width_with(self, price: Price, width: Fraction, confidence: Fraction) -> bool:
        """Whether one more measurement at this price, combined with what is told, is within a width.

        Privacy: a price that is chosen by this is a function of released answers and public facts. Such adaptive
            choices are what the filters of the ledger are for (docs/proofs/filters.md).
        """
        laws = laws_of(price)
        return all(
            Fraction(half_width(cell.parts_with(laws[index][place]), confidence)) * self._steps[index] <= width
            for (place, index), cell in self._shown
        )

    @cached_property
    def _shown(self) -> list[tuple[tuple[int, int], EstimatedCell]]:
        """One cell for each law among those that the answer shows, the noisiest first: they decide soonest."""
        keyed_cells = [
            (key, cell) for key, kinds in self._kinds.items() if key[1] in self._steps for cell in kinds.values()
        ]
        return sorted(keyed_cells, key=lambda pair: -pair[1].variance * float(self._steps[pair[0][1]]) ** 2)

    def as_exact_as(self, price: Price) -> bool:
        """Whether no number has more noise than one that is bought at this price."""
        laws = laws_of(price)
        return all(
            cell.variance <= float(laws[index][place].variance())
            for (place, index), cells in self.cells.items()
            for cell in cells
        )

    def has_few_laws(self) -> bool:
        """Whether a price can take it into account in time: the laws of its cells are few, and of few weights."""
        kinds = [cell for kinds in self._kinds.values() for cell in kinds.values()]
        weights = sum(np.size(weight) for cell in kinds for weight, _, _ in cell.parts)
        return len(kinds) <= _MOST_KINDS and weights <= _MOST_WEIGHTS

    def with_measured(self, measurement: Measurement) -> EarlierEstimate:
        """Each cell combined with a new measurement of the question."""
        order = self.query.inquiry.order
        cells = dict(self.cells)
        for part in measurement.parts:
            if not isinstance(part, NoisyCells):
                continue
            place = order.sets.index(part.place)
            for number, values, law in zip(part.statistics, part.noisy_values, part.laws, strict=True):
                key = (place, order.statistics.index(number))
                cells[key] = tuple(
                    cell.with_another(value, law, measurement.id)
                    for cell, value in zip(cells[key], values, strict=True)
                )
        return EarlierEstimate(query=self.query, cells=cells)
