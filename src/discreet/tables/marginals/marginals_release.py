"""Marginals as they are released: unbiased tables that agree with each other, with their errors and intervals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.accounting.events import ReservationEvent
from discreet.errors import UsageError
from discreet.inference.linear.residual_fit import ResidualPrecision, Residuals
from discreet.inference.linear.residual_law import MarginalErrors
from discreet.inference.linear.residual_part import Axes, ResidualPart, informative_axes
from discreet.inference.linear.topdown import round_to_total
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.program import Program
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.noise_combination import NoiseLaw
from discreet.mechanisms.weighted_sum import half_width
from discreet.plan.cells import Axis
from discreet.release import Spending
from discreet.schema.column import Label, code_labels
from discreet.schema.schema import closest_name_hint
from discreet.sql.group_keys import declared_axis
from discreet.tables.marginals.marginals_plan import MarginalsPlan, part_law

if TYPE_CHECKING:
    import pyarrow


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedMarginal:
    """One table: the estimated number of rows in every cell, an axis for each column.

    `values` are unbiased, so that they may lie below 0; `round_to_total` are whole numbers of at least 0 with the
    release's total, which are not unbiased. A cell's error has `standard_error`, and stays within `half_width` with the
    confidence of the release, each cell taken alone. `code_labels`: what values of columns are called for people.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    values: NDArray[np.float64]
    total: int
    standard_error: float
    half_width: float
    code_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def whole(self) -> NDArray[np.int64]:
        """The table in whole numbers of at least 0 that sum to the release's total."""
        return round_to_total(self.values, self.total)

    @property
    def header(self) -> tuple[str, ...]:
        """The columns, then value, low and high; with an underscore where a column has such a name."""
        names = list(self.columns)
        for name in ("value", "low", "high"):
            while name in names:
                name += "_"
            names.append(name)
        return tuple(names)

    def to_arrow(self) -> pyarrow.Table:
        """The cells as an Arrow table: a line each, with labels, value, low and high."""
        import pyarrow

        places = np.indices(self.values.shape).reshape(self.values.ndim, -1)
        arrays: list[Any] = [
            pyarrow.array(labels).take(pyarrow.array(own)) for labels, own in zip(self.labels, places, strict=True)
        ]
        flat = self.values.ravel()
        arrays += [pyarrow.array(each) for each in (flat, flat - self.half_width, flat + self.half_width)]
        return pyarrow.table(arrays, names=list(self.header))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def rows(self, *, whole: bool = False) -> Iterator[list[Any]]:
        """The cells, row-major: labels, value, [low, high]."""
        shown = (self.whole if whole else self.values).ravel().tolist()
        middles = self.values.ravel().tolist()
        for labels, value, middle in zip(product(*self.labels), shown, middles, strict=True):
            yield [*labels, value, [middle - self.half_width, middle + self.half_width]]

    def to_data(self, *, whole: bool = False) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "standard_error": self.standard_error,
            "rows": list(self.rows(whole=whole)),
            **({"labels": {name: dict(own) for name, own in self.code_labels.items()}} if self.code_labels else {}),
        }


@dataclass(frozen=True, kw_only=True)
class MarginalsRelease:
    """A release of marginals: ask it for any table of columns that were wished for together. Free.

    `columns` are in the version's order, `shown` are their places in the order of whoever asked.
    """

    release: str
    table: str
    version: int
    columns: tuple[str, ...]
    shown: tuple[int, ...]
    labels: tuple[tuple[Label, ...], ...]
    planned: MarginalsPlan
    laws: tuple[NoiseLaw, ...]
    residuals: Residuals
    confidence: Fraction
    cost: Spending
    cached: bool = False
    warnings: tuple[str, ...] = ()
    code_labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @cached_property
    def precision(self) -> ResidualPrecision:
        return self.planned.precision(self.laws)

    @cached_property
    def _errors(self) -> MarginalErrors:
        return MarginalErrors.of(self.precision, self.laws)

    @property
    def strategy(self) -> str:
        """What was measured, in words."""
        return self.planned.words

    @cached_property
    def expected_rmse(self) -> float:
        """The root of the mean variance over all cells of all tables, by weight."""
        return expected_rmse(self.planned, self.precision)

    @property
    def total(self) -> int:
        """The number of rows that all whole tables sum to."""
        return max(0, round(self.residuals.total))

    def marginal(self, *names: str) -> ReleasedMarginal:
        """The table over these columns, in this order: one of the wish, or one that it holds. None: the total."""
        axes = tuple(self._place(name) for name in names)
        own = informative_axes(sorted(axes), self.planned.workload.sizes)
        if len(set(axes)) != len(axes) or own not in self.residuals.of:
            raise UsageError(f"this release has no table of {', '.join(names)}", hint="request it in a new release")
        return self._marginal(axes)

    def _place(self, name: object) -> int:
        lowered = [each.lower() for each in self.columns]
        if not isinstance(name, str):
            raise UsageError(f"a column name must be text, got {str(name)[:40]}", hint='marginal("sex", "ward")')
        if name.lower() not in lowered:
            raise UsageError(f"the release has no column {name[:60]!r}", hint=closest_name_hint(name, self.columns))
        return lowered.index(name.lower())

    def _marginal(self, axes: Axes) -> ReleasedMarginal:
        rising = tuple(sorted(axes))
        values = self.residuals.table(rising).transpose([rising.index(axis) for axis in axes])
        columns = tuple(self.columns[axis] for axis in axes)
        return ReleasedMarginal(
            columns=columns,
            labels=tuple(self.labels[axis] for axis in axes),
            values=values,
            total=self.total,
            standard_error=math.sqrt(self.precision.variance(rising)),
            half_width=half_width(self._errors.cell(rising), self.confidence),
            code_labels={name: own for name, own in self.code_labels.items() if name in columns},
        )

    def __iter__(self) -> Iterator[ReleasedMarginal]:
        return (self._marginal(axes) for axes in sets_in_shown_order(self.planned.workload.sets, self.shown))

    def to_data(self, *, whole: bool = False) -> dict[str, Any]:
        return {
            "release": self.release,
            "version": self.version,
            "marginals": [marginal.to_data(whole=whole) for marginal in self],
            "total": self.total,
            "expected_rmse": self.expected_rmse,
            "strategy": self.strategy,
            "confidence": float(self.confidence),
            "cost": Spending(epsilon=Fraction(0), rho=Fraction(0), delta=Fraction(0)).to_data(up=True)
            if self.cached
            else self.cost.to_data(up=True),
            "cached": self.cached,
            "warnings": list(self.warnings),
        }


def sets_in_shown_order(sets: Sequence[Axes], shown: Sequence[int]) -> list[Axes]:
    """Sets of columns as they are shown: small ones first, columns and sets in the order of whoever asked.

    >>> sets_in_shown_order([(0,), (1,), (0, 1)], [1, 0])
    [(1,), (0,), (1, 0)]
    """
    ranks = {axis: rank for rank, axis in enumerate(shown)}
    ranked_sets = sorted((len(axes), sorted(ranks[axis] for axis in axes)) for axes in sets)
    return [tuple(shown[rank] for rank in own) for _, own in ranked_sets]


def expected_rmse(planned: MarginalsPlan, precision: ResidualPrecision) -> float:
    """The root of the mean variance over all cells of all tables that are wished for, by weight. Before any data."""
    workload = planned.workload
    shares = [cells * weight for cells, weight in zip(workload.cells, workload.weights, strict=True)]
    sums = math.fsum(share * precision.variance(axes) for share, axes in zip(shares, workload.sets, strict=True))
    return math.sqrt(sums / math.fsum(shares))


def reservation_cost(event: ReservationEvent, budget: Fraction | None = None) -> Spending:
    """What a reservation costs, as people are told."""
    return Spending(epsilon=event.epsilon, rho=event.rho, delta=event.delta, budget=budget)


def release_marginals(
    program: Program,
    columns: Sequence[str],
    axes: Sequence[Axis],
    planned: MarginalsPlan,
    *,
    shown: Sequence[int] | None = None,
    confidence: Fraction = Fraction(95, 100),
    cached: bool = False,
    warnings: tuple[str, ...] = (),
) -> MarginalsRelease:
    """Measure what is planned over these axes, as one step of the program, and make marginals of it.

    Guarantee: the step loses no more than the reservation.
    Because: `MarginalsPlan.laws`; each part is measured on the exact marginal over its axes, in which a row lies in one
        cell. What follows sees noisy numbers alone.
    """
    version = program.version
    laws = planned.laws(program.event, rows=version.schema.unit.rows)
    noisy = _measure(program, axes, planned.parts, laws)
    return MarginalsRelease(
        release=program.id,
        table=version.table,
        version=version.number,
        columns=tuple(columns),
        shown=tuple(range(len(columns)) if shown is None else shown),
        labels=tuple(axis.labels for axis in axes),
        planned=planned,
        laws=laws,
        residuals=Residuals.fit(planned.precision(laws), noisy),
        confidence=confidence,
        cost=reservation_cost(program.event, program.budget_cost),
        cached=cached,
        warnings=warnings,
        code_labels={name: own for name, own in code_labels(version.schema.columns).items() if name in columns},
    )


def repeat_measurement(program: Program, stored: dict[str, Any]) -> None:
    """Take the step that a stored release says it took: its columns as they are declared, its parts and its shares."""
    schema = program.version.schema
    columns = [column for name in stored["columns"] if (column := schema.column(name)) is not None]
    axes = tuple(axis for column in columns if (axis := declared_axis(column)) is not None)
    if len(axes) != len(stored["columns"]):
        raise ValueError("some columns of these marginals are not declared")
    sizes = [axis.size for axis in axes]
    parts = [ResidualPart(axes=tuple(own), centred=tuple(centred)) for own, centred in stored["parts"]]
    shares = [exact.read(share) for share in stored["shares"]]
    laws = [
        part_law(part.norms(sizes), share, program.event, schema.unit.rows)
        for part, share in zip(parts, shares, strict=True)
    ]
    _measure(program, axes, parts, laws)


def _measure(
    program: Program, axes: Sequence[Axis], parts: Sequence[ResidualPart], laws: Sequence[NoiseLaw]
) -> list[Integers]:
    sizes = [axis.size for axis in axes]
    measured = [(part.strategy(sizes), law) for part, law in zip(parts, laws, strict=True)]
    return BinnedTable(program, tuple(axes)).linear([part.axes for part in parts], measured)
