"""What comes in: measured numbers with their exact regions, and the values that columns can take."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from discreet.accounting.region import ANYTHING, Box, Region, ValueSet
from discreet.schema.column import Column, TextColumn, domain, nullable

#: The family of counts of rows: every record weighs 1.
ROWS = "rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredNumber:
    """`family`, summed over the records of `region`, plus independent noise of mean 0 and this variance."""

    region: Region
    value: Fraction | float | int
    variance: float
    family: str = ROWS

    def __post_init__(self) -> None:
        if not (0.0 < self.variance < math.inf):
            raise ValueError(f"a measured number has a positive, finite variance, not {self.variance}")
        if not math.isfinite(self.value):
            raise ValueError(f"a measured number is finite, not {self.value}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDomains:
    """Of each declared column the values that it can take. Too many is safe (fewer identities), too few is not.

    >>> from discreet.schema.column import CategoryColumn
    >>> ColumnDomains.of([CategoryColumn(name="sex", values=("Male", "Female"), closed=True)]).columns
    {'sex': ValueSet(runs=((0, 2),), null=False)}
    """

    columns: Mapping[str, ValueSet] = field(default_factory=dict)

    @staticmethod
    def of(columns: Iterable[Column]) -> ColumnDomains:
        """The domain that a table's columns declare: open columns may hold NULL, bounded ones stay in their bounds."""
        return ColumnDomains(columns={column.name: _possible(column) for column in columns})

    def possible(self, column: str) -> ValueSet:
        """The values that this column can take."""
        return self.columns.get(column, ANYTHING)

    def box(self) -> Box:
        """Every possible record."""
        return Box(self.columns)


def _possible(column: Column) -> ValueSet:
    bounds = domain(column)
    if bounds is not None:
        return ValueSet((bounds,), nullable(column))
    # No text sorts below the empty one.
    return ValueSet(((("" if isinstance(column, TextColumn) else None), None),), nullable(column))


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberIdentity:
    """Sum of coefficient * number = 0, for the true numbers of any data. `terms`: places in the list of measured
    numbers and their coefficients."""

    terms: tuple[tuple[int, Fraction], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberEstimate:
    """The best linear unbiased estimate of a number: `weights` over measured numbers, and what they give.

    >>> NumberEstimate(weights={0: 0.5, 1: 0.5}, value=10.0, variance=50.0).with_another(50.0)
    25.0
    """

    weights: Mapping[int, float]
    value: float
    variance: float

    @property
    def standard_error(self) -> float:
        return math.sqrt(self.variance)

    def with_another(self, variance: float) -> float:
        """The variance after one more independent measurement of the same number, of this variance."""
        return 0.0 if self.variance == 0.0 else self.variance * variance / (self.variance + variance)

    def share(self, variance: float) -> float:
        """The weight of this estimate beside one more independent measurement; the rest is the new one's."""
        return variance / (self.variance + variance)

    def missing(self, target: float) -> float | None:
        """The variance that one more measurement may have to reach the target; None if nothing is missing."""
        return None if self.variance <= target else self.variance * target / (self.variance - target)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciledNumbers:
    """The weighted least-squares answers, in the order of the measured numbers.

    `chi_square`: the weighted squared distance to what was measured, about `degrees` if all is well.
    """

    values: tuple[float, ...]
    standard_errors: tuple[float, ...]
    identities: tuple[NumberIdentity, ...]
    chi_square: float
    degrees: int
