"""Noisy tables made to agree: counts that are nowhere negative and could all be of one table of rows; and such rows.

Three things come of it. The *agreed* counts are the least-squares answer, unbiased, with an exact standard error each
(`inference.agreement_errors`). The *consistent* counts are the nearest marginals of one table of rows in which no cell
is negative: Private-PGM (McKenna, Sheldon and Miklau 2019), of which `inference.fit` finds the model of most entropy.
The *rows* are sampled from that model.

Guarantee: none is spent. Whatever privacy the given tables have, all of this has: it is a function of them alone.
Because: intervals. An agreed count is a sum of independent noises with fixed weights, so it is unbiased with the stated
    variance. Noise that is symmetric with one peak stays so when it is summed (Wintner 1938), and then lies beyond k
    standard errors with probability 4 / (9 k^2) at most (Gauss 1823): k = 2.98 for 95%. Gaussian noise stays Gaussian:
    k = 1.96. The exact count is not negative, so an interval may be cut at 0. The consistent count itself is biased
    where the noise is large, and has no error of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import UsageError
from discreet.inference.agreement_errors import agreement_variances, degrees_of_disagreement
from discreet.inference.axes import Axes, Table
from discreet.inference.cell_sampler import sample_cells
from discreet.inference.consistency import make_consistent
from discreet.inference.fit import FitSearch, FittedGraphicalModel, MeasuredMarginal, fit
from discreet.inference.junction_tree import model_cells
from discreet.schema.schema import closest_name_hint
from discreet.tables.infer.noisy_tables import GivenTables, read_noisy_tables

if TYPE_CHECKING:
    import pyarrow as pa

#: The confidence of the intervals, and how many standard errors they reach, by the law of the noise.
CONFIDENCE = 0.95
REACH = {"any": math.sqrt(4 / (9 * (1 - CONFIDENCE))), "gaussian": 1.959964}

#: The model's tables together have at most so many cells: 128 megabytes of them.
MOST_MODEL_CELLS = 2**24

#: Solved again around the last answer, this goes to the optimum (see `inference.fit`); 5 times reach three digits.
SEARCH = FitSearch(iterations=400, tolerance=1e-4, centres=6)

#: A chi-square so many of its standard deviations above what is expected is no noise any more.
FAR = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredTable:
    """One table: what was given, what agrees, and what is consistent; an axis for each column.

    `noisy_error`: the standard error that was given, 0 where the table is exact; `standard_error`: of `agreed`.
    `low`, `high`: between them the exact count lies, with 95% confidence for each cell by itself.
    """

    name: str
    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    noisy: Table
    noisy_error: Table
    agreed: Table
    standard_error: Table
    counts: Table
    low: Table
    high: Table

    def rows(self) -> Iterator[dict[str, Any]]:
        """The cells, row-major."""
        numbers = [
            each.ravel().tolist()
            for each in (
                self.noisy,
                self.noisy_error,
                self.counts,
                self.agreed,
                self.standard_error,
                self.low,
                self.high,
            )
        ]
        names = ("noisy", "noisy_error", "count", "agreed", "standard_error", "low", "high")
        for labels, *values in zip(product(*self.labels), *numbers, strict=True):
            yield {"values": list(labels), **dict(zip(names, values, strict=True))}

    def to_data(self) -> dict[str, Any]:
        return {"name": self.name, "columns": list(self.columns), "cells": list(self.rows())}


@dataclass(frozen=True, slots=True, kw_only=True)
class InferredTables:
    """Tables that agree with each other, and the model that they are of. Costs nothing.

    `chi_square`: how far the given tables disagree, in units of their noise; about `degrees` is expected.
    """

    labels: Mapping[str, tuple[str, ...]]
    tables: tuple[InferredTable, ...]
    total: float
    total_error: float
    chi_square: float
    degrees: int
    noise: str
    fitted: FittedGraphicalModel

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.labels)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the numbers themselves give reason to doubt."""
        if self.chi_square <= self.degrees + FAR * math.sqrt(2 * max(self.degrees, 1)):
            return ()
        return (
            f"the tables disagree by far more than their noise explains (chi-square {self.chi_square:,.4g}, about "
            f"{self.degrees:,} is expected): a variance may be too small, or they may be of different rows",
        )

    def counts(self, *columns: str) -> Table:
        """The consistent counts of any columns, also of those that no table has together: as the model has them."""
        return self.fitted.calibrated.project([self._place(name) for name in columns])

    def sample(self, n: int | None = None, *, seed: int | None = None) -> pa.Table:
        """Rows of text, one column for each column; as many as the total says where no number is given."""
        import pyarrow as pa

        codes = sample_cells(self.fitted.calibrated, self.row_count(n), np.random.default_rng(seed))
        arrays = [
            pa.array(labels, type=pa.string()).take(pa.array(codes[:, place].astype(np.int64)))
            for place, labels in enumerate(self.labels.values())
        ]
        return pa.table(arrays, names=list(self.labels))

    def row_count(self, n: int | None) -> int:
        """How many rows a sample has."""
        if n is not None and n < 0:
            raise UsageError(f"a sample cannot have {n:,} rows")
        return round(self.total) if n is None else n

    def to_data(self) -> dict[str, Any]:
        return {
            "total": self.total,
            "total_error": self.total_error,
            "columns": {name: list(labels) for name, labels in self.labels.items()},
            "tables": [table.to_data() for table in self.tables],
            "confidence": CONFIDENCE,
            "noise": self.noise,
            "chi_square": self.chi_square,
            "degrees": self.degrees,
            "warnings": list(self.warnings),
        }

    def _place(self, name: str) -> int:
        if name not in self.labels:
            raise UsageError(f"no table has a column {name[:60]!r}", hint=closest_name_hint(name, self.columns))
        return self.columns.index(name)


def infer_tables(source: object) -> InferredTables:
    """Consistent tables of noisy ones, from a TOML file or a mapping of the same form."""
    return _Inference(read_noisy_tables(source)).run()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merged:
    """What is known of one set of attributes: the mean by inverse variance, and the variance of each cell of it."""

    values: Table
    variances: Table

    @property
    def variance(self) -> float:
        return float(self.variances.mean())


class _Inference:
    """One inference: attributes are places of columns, tables are by sorted attributes."""

    def __init__(self, given: GivenTables) -> None:
        self.given = given
        self.names = tuple(given.labels)
        self.sizes = tuple(len(labels) for labels in given.labels.values())
        self.exact_tables = self._exact_tables()
        self.noisy = {axes: each for axes, each in self._merged().items() if axes not in self.exact_tables}
        self.total_is_exact = bool(self.exact_tables) or given.total is not None

    def run(self) -> InferredTables:
        self._refuse_large()
        total, total_error = self._total()
        agreed = make_consistent(
            {axes: (each.values, each.variance) for axes, each in self.noisy.items()}, self.exact_tables, total
        )
        variances = agreement_variances(
            self.sizes,
            {axes: each.variances for axes, each in self.noisy.items()},
            list(self.exact_tables),
            total_is_exact=self.total_is_exact,
        ) | {axes: np.zeros(counts.shape) for axes, counts in self.exact_tables.items()}
        fitted = fit(
            self.sizes,
            [
                MeasuredMarginal(attributes=axes, values=each.values, variance=each.variance)
                for axes, each in self.noisy.items()
            ],
            total,
            totals=list(self.exact_tables.items()),
            search=SEARCH,
        )
        return InferredTables(
            labels=self.given.labels,
            tables=tuple(self._inferred(agreed, variances, fitted)),
            total=total,
            total_error=total_error,
            chi_square=self._chi_square(agreed),
            degrees=self._degrees(),
            noise=self.given.noise,
            fitted=fitted,
        )

    def _axes(self, columns: Sequence[str]) -> Axes:
        return tuple(self.names.index(name) for name in columns)

    def _sorted(self, columns: Sequence[str], table: Table) -> tuple[Axes, Table]:
        axes = self._axes(columns)
        order = sorted(range(len(axes)), key=axes.__getitem__)
        return tuple(axes[place] for place in order), table.transpose(order)

    def _exact_tables(self) -> dict[Axes, Table]:
        tables: dict[Axes, Table] = {}
        for table in self.given.tables:
            if table.variances is None:
                axes, counts = self._sorted(table.columns, table.values)
                if (counts < 0).any():
                    raise UsageError(f"{table.name} is exact and has a negative count")
                if axes in tables and not np.array_equal(tables[axes], counts):
                    raise UsageError(f"{table.name} contradicts another exact table of the same columns")
                tables[axes] = counts
        return tables

    def _merged(self) -> dict[Axes, _Merged]:
        """One noisy table for each set of columns, weighed as `inference.fit_inputs` weighs them."""
        sums: dict[Axes, tuple[Table, Table, float]] = {}
        for table in self.given.tables:
            if table.variances is None:
                continue
            axes, values = self._sorted(table.columns, table.values)
            _, variances = self._sorted(table.columns, table.variances)
            weight = 1 / float(variances.mean())
            before = sums.get(axes, (np.zeros(values.shape), np.zeros(values.shape), 0.0))
            sums[axes] = (before[0] + weight * values, before[1] + weight**2 * variances, before[2] + weight)
        return {
            axes: _Merged(values=values / weight, variances=variances / weight**2)
            for axes, (values, variances, weight) in sums.items()
        }

    def _refuse_large(self) -> None:
        cells = model_cells(self.sizes, [*self.noisy, *self.exact_tables])
        if cells > MOST_MODEL_CELLS:
            raise UsageError(
                f"a model of all these tables has {cells:,} cells; the maximum is {MOST_MODEL_CELLS:,}",
                hint="leave out a table that closes a circle of columns, or put values together",
            )

    def _total(self) -> tuple[float, float]:
        """The number of rows, and its standard error: public, else the mean by inverse variance of the tables' sums."""
        if self.exact_tables:
            total = float(next(iter(self.exact_tables.values())).sum())
            if self.given.total is not None and abs(total - self.given.total) > 1e-9 * max(total, 1):
                raise UsageError("an exact table does not sum to the total", hint="leave the total out, or correct it")
            return total, 0.0
        if self.given.total is not None:
            return self.given.total, 0.0
        weights = {axes: 1 / (each.variance * each.values.size) for axes, each in self.noisy.items()}
        whole = math.fsum(weights.values())
        total = math.fsum(weights[axes] * float(each.values.sum()) for axes, each in self.noisy.items()) / whole
        if total <= 0:
            raise UsageError("the counts sum to less than 0: there is no table to infer", hint="total = 1000")
        variance = math.fsum(weights[axes] ** 2 * float(each.variances.sum()) for axes, each in self.noisy.items())
        return total, math.sqrt(variance) / whole

    def _chi_square(self, agreed: Mapping[Axes, Table]) -> float:
        """How far the given tables are from the agreed ones; of one set of columns each table counts by itself."""
        parts = []
        for table in self.given.tables:
            if table.variances is not None:
                axes, values = self._sorted(table.columns, table.values)
                parts.append(float(((values - agreed[axes]) ** 2).sum()) / float(table.variances.mean()))
        return math.fsum(parts)

    def _degrees(self) -> int:
        noisy = [tuple(sorted(self._axes(table.columns))) for table in self.given.tables if table.variances is not None]
        return degrees_of_disagreement(self.sizes, noisy, list(self.exact_tables), total_is_exact=self.total_is_exact)

    def _inferred(
        self, agreed: Mapping[Axes, Table], variances: Mapping[Axes, Table], fitted: FittedGraphicalModel
    ) -> Iterator[InferredTable]:
        reach = REACH[self.given.noise]
        for table in self.given.tables:
            axes = self._axes(table.columns)
            key = tuple(sorted(axes))
            order = [key.index(place) for place in axes]
            middle, error = agreed[key].transpose(order), np.sqrt(variances[key].transpose(order))
            yield InferredTable(
                name=table.name,
                columns=table.columns,
                labels=tuple(self.given.labels[name] for name in table.columns),
                noisy=table.values,
                noisy_error=np.zeros(table.values.shape) if table.variances is None else np.sqrt(table.variances),
                agreed=middle,
                standard_error=error,
                counts=fitted.calibrated.project(axes),
                low=np.maximum(middle - reach * error, 0.0),
                high=np.maximum(middle + reach * error, 0.0),
            )
