"""A model: fitted from noisy measurements alone, it answers `project` and `sample` for ever, free of charge.

What it holds is safe to save and to send: noisy values, public facts, and what follows from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.source_values import cell_code, code_of
from discreet.errors import UsageError
from discreet.inference.calibrated_tree import CalibratedTree
from discreet.inference.fit import FittedGraphicalModel
from discreet.inference.fit_inputs import MeasuredMarginal
from discreet.schema.column import BooleanColumn, Column, Label
from discreet.schema.schema import closest_name_hint
from discreet.synth import cell_decoder
from discreet.synth.attribute import Attribute
from discreet.synth.attribute_discovery import has_no_words
from discreet.synth.constraints import PublicConstraints
from discreet.synth.row_sampler import RowSampler

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows are made so many at a time.
AT_ONCE = 500_000

MOST_ROWS = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """Where a model comes from and what it cost.

    `shares`: how the guarantee was split, by what it went to. `repeat`: the fit was there already and is free now.
    `outside`: for each column with bought bounds the most rows that lie outside of them, with 95% confidence.
    `doubtful`: columns for which these are so many that nothing about them can be relied on. `degree`: the most parents
    of a column that were asked for (K); None where the noise decided.
    """

    kind: str
    table: str
    version: int
    unit: str
    release: str | None = None
    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None
    steps: int = 0
    shares: Mapping[str, Fraction] = field(default_factory=dict)
    because: str = ""
    warnings: tuple[str, ...] = ()
    repeat: bool = False
    doubtful: tuple[str, ...] = ()
    outside: Mapping[str, float] = field(default_factory=dict)
    degree: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """A marginal of a model: expected counts, one axis for each of `names`, and what its cells are called."""

    names: tuple[str, ...]
    labels: tuple[tuple[Label, ...], ...]
    counts: NDArray[np.float64]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Labels and the count of each cell."""
        for place in np.ndindex(self.counts.shape):
            yield (*(labels[cell] for labels, cell in zip(self.labels, place, strict=True)), float(self.counts[place]))


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelContents:
    """What a model holds, and what it answers. `columns` are those of the table that come out, in their order."""

    card: ModelCard
    columns: tuple[Column, ...]
    attributes: tuple[Attribute, ...]
    fitted: FittedGraphicalModel
    measured: tuple[MeasuredMarginal, ...] = ()
    total_sd: float = 0.0
    constraints: PublicConstraints = field(default_factory=PublicConstraints)

    @property
    def calibrated(self) -> CalibratedTree:
        return self.fitted.calibrated

    @property
    def total(self) -> float:
        """About how many rows the table has: a noisy number."""
        return self.fitted.total

    def project(self, names: Sequence[str]) -> Projection:
        """The model's own marginal: expected counts, without the error of sampling."""
        places = [self.place(name) for name in names]
        if len(set(places)) != len(places):
            raise UsageError("a column is named twice")
        return Projection(
            names=tuple(self.attributes[place].name for place in places),
            labels=tuple(self.attributes[place].labels() for place in places),
            counts=self.calibrated.project(places),
        )

    def place(self, name: str) -> int:
        """Which attribute a name means."""
        for place, attribute in enumerate(self.attributes):
            if attribute.name.lower() == name.lower():
                return place
        names = [attribute.name for attribute in self.attributes]
        if name.lower() in {column.name.lower() for column in self.columns}:
            raise UsageError(f"column {name[:60]!r} has only placeholders: the model knows none of its values")
        raise UsageError(f"the model has no column {name[:60]!r}", hint=closest_name_hint(name, names))

    def sample(
        self, n: int | None = None, *, given: Mapping[str, object] | None = None, seed: int | None = None
    ) -> pa.Table:
        """Sample n rows as an Arrow table. Without n: about as many rows as the real table has.

        `given`: fix the values of some columns, such as {"sex": "F"}; sampling is exactly conditional. `seed`: get the
        same rows again. This is safe, because a sample is post-processing: its randomness protects no one.
        """
        import pyarrow as pa

        return pa.concat_tables(self.batches(n, given=given, seed=seed))

    def batches(
        self, n: int | None = None, *, given: Mapping[str, object] | None = None, seed: int | None = None
    ) -> Iterator[pa.Table]:
        """Sample in batches, so that memory does not grow with n."""
        row_count = self.rows(n)
        if seed is not None and (type(seed) is not int or seed < 0):
            raise UsageError(f"the seed must be a whole number, 0 or more, got {seed!r}")
        generator = np.random.default_rng(seed)
        fixed = self.fixed_codes(given or {})
        drawing = RowSampler.of(self.attributes, self.constraints, self.calibrated, fixed)
        return self._tables(drawing.sample_rows(row_count, generator, at_once=AT_ONCE))

    def _tables(self, batches: Iterator[dict[str, NDArray[np.int64]]]) -> Iterator[pa.Table]:
        # An attribute's column can be another than the table's: text whose words were bought is a category.
        model_columns = {
            attribute.name: attribute.column for attribute in self.attributes if not has_no_words(attribute)
        }
        columns = [model_columns.get(column.name, column) for column in self.columns]
        start = 0
        for row_codes in batches:
            rows = len(next(iter(row_codes.values())))
            yield cell_decoder.arrow_table(columns, row_codes, rows=rows, start=start)
            start += rows

    def rows(self, n: int | None) -> int:
        """How many rows a sample has: n, or about as many as the table."""
        row_count = round(self.total) if n is None else n
        if not isinstance(row_count, int) or isinstance(row_count, bool) or not 0 <= row_count <= MOST_ROWS:
            raise UsageError(f"a sample can have 0 to {MOST_ROWS:,} rows, got {n!r}", hint="-n 10000")
        return row_count

    def fixed_codes(self, given: Mapping[str, object]) -> dict[int, int]:
        """The values of some columns, as places and codes."""
        return {self.place(name): self._code(self.place(name), value) for name, value in given.items()}

    def _code(self, place: int, value: object) -> int:
        """A value as the code of its column."""
        attribute = self.attributes[place]
        if value is None:
            if not attribute.null:
                raise UsageError(f"column {attribute.name!r} is never NULL")
            return cell_decoder.NULL
        column = attribute.column
        code = None if isinstance(column, BooleanColumn) else code_of(column, value)  # type: ignore[arg-type]
        if code is None:
            code = cell_code(column, value)  # type: ignore[arg-type]  # as rows spell it
        if not isinstance(code, int) or not attribute.edges[0] <= code < attribute.edges[-1]:
            raise UsageError(f"{str(value)[:60]!r} is not a value of column {attribute.name!r}")
        return code
