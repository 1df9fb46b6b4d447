"""Counts that are known publicly: of the values of a column, or of combinations. Kept exactly where they can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.synth.attribute import Attribute
from discreet.synth.code_spans import Codes, cells_of
from discreet.synth.rules import check_cells


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCounts:
    """How many rows have which codes in some columns; combinations that are not named have none."""

    columns: tuple[str, ...]
    codes: tuple[tuple[int, ...], ...]
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.columns)) != len(self.columns) or len(self.codes) != len(self.counts):
            raise ValueError("known counts must name at least one column, and have one count for each combination")
        if any(len(row) != len(self.columns) for row in self.codes) or len(set(self.codes)) != len(self.codes):
            raise ValueError("known counts must list each combination exactly once")
        if any(count < 0 for count in self.counts):
            raise ValueError("known counts must be 0 or more")

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return sum(self.counts)

    def cells(self, attributes: Mapping[str, Attribute]) -> Codes:
        """For each combination the cells of the model that it lies in."""
        columns = np.array(self.codes, dtype=np.int64).reshape(len(self.codes), len(self.columns)).T
        model_cells = np.array(
            [cells_of(attributes[name], own) for name, own in zip(self.columns, columns, strict=True)]
        )
        lost = (model_cells < 0).any(axis=0) & (np.array(self.counts) > 0)
        if lost.any():
            raise UsageError(
                f"the known counts of {', '.join(self.columns)} include a value that the model's column cannot have"
            )
        return model_cells

    def table(self, attributes: Mapping[str, Attribute]) -> NDArray[np.float64]:
        """The counts on the cells of the model."""
        check_cells(self.columns, attributes)
        table_counts = np.zeros([attributes[name].size for name in self.columns])
        cells, counts = self.cells(attributes), np.array(self.counts, dtype=np.float64)
        has_cell = (cells >= 0).all(axis=0)
        np.add.at(table_counts, tuple(cells[:, has_cell]), counts[has_cell])
        return table_counts


class RemainingCounts:
    """Known counts that are still to be given out, batch after batch.

    A sample whose cells have the known counts gets codes that have them, too.
    """

    def __init__(self, known_counts: KnownCounts, attributes: Mapping[str, Attribute]) -> None:
        self.known_counts = known_counts
        self._cells = known_counts.cells(attributes)
        self._codes = np.array(known_counts.codes, dtype=np.int64).reshape(
            len(known_counts.codes), len(known_counts.columns)
        )
        self._left = np.array(known_counts.counts, dtype=np.int64)

    def give(self, cells: Sequence[Codes], generator: np.random.Generator) -> dict[str, Codes]:
        """Codes for rows that lie in these cells, one array a column: each combination as often as is left of it."""
        drawn_codes = np.zeros((len(cells[0]), len(self.known_counts.columns)), dtype=np.int64)
        rows = np.stack(cells, axis=1)
        distinct_cells, place = np.unique(rows, axis=0, return_inverse=True)
        place = place.ravel()
        for number, own in enumerate(distinct_cells):
            at = np.flatnonzero(place == number)
            fitting = np.flatnonzero((self._cells == own[:, None]).all(axis=0))
            drawn = generator.multivariate_hypergeometric(self._left[fitting], len(at), method="marginals")
            self._left[fitting] -= drawn
            drawn_codes[generator.permutation(at)] = np.repeat(self._codes[fitting], drawn, axis=0)
        return dict(zip(self.known_counts.columns, drawn_codes.T, strict=True))
