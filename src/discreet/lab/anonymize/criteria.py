"""What is asked of every class of a release, and which classes fall short."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from discreet.errors import Flag, Message, UsageError
from discreet.lab.anonymize.column_codes import CodedColumn, Flags, Integers
from discreet.lab.anonymize.equivalence_classes import EquivalenceClasses
from discreet.lab.anonymize.sensitive_spread import SensitiveSpread, measure_spread

#: Entropies and distances are floats: two equally frequent values have an entropy of ln 2 up to the last bit.
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Criteria:
    """Every class has at least `k` rows and, in each sensitive column, at least `l` values and a distance of at most
    `t` from the whole release. `entropy`: l is the exponential of the entropy instead of the number of values."""

    k: int = 1
    l: float = 1.0  # noqa: E741 - its name for twenty years
    t: float = 1.0
    entropy: bool = False

    def __post_init__(self) -> None:
        if self.k < 1:
            raise UsageError(f"k must be at least 1, got {self.k}", hint=Message(Flag("k", 10)))
        if not 1 <= self.l < math.inf:
            raise UsageError(f"l must be at least 1, got {self.l:g}", hint=Message(Flag("l", 2)))
        if not 0 <= self.t <= 1:
            raise UsageError(f"t must be between 0 and 1, got {self.t:g}", hint=Message(Flag("t", 0.3)))
        if not self.entropy and self.l != int(self.l):
            raise UsageError(
                f"l must be a whole number, got {self.l:g}",
                hint=Message("with ", Flag("entropy", True), ", l can be a fraction"),
            )

    @property
    def needs_sensitive(self) -> bool:
        """Whether it asks for anything of the sensitive columns."""
        return self.l > 1 or self.t < 1

    def too_small(self, sizes: Integers) -> Flags:
        """Which classes have too few rows."""
        return sizes < self.k

    def too_few(self, column_spread: SensitiveSpread) -> Flags:
        """Which classes have too few distinct values, as each l asks: an entropy of l needs as many values too."""
        return column_spread.distinct < self.l - TOLERANCE

    def too_uneven(self, column_spread: SensitiveSpread) -> Flags:
        """Which classes have too little entropy."""
        return (column_spread.entropy < self.l - TOLERANCE) & self.entropy

    def too_far(self, column_spread: SensitiveSpread) -> Flags:
        """Which classes are too far from the whole."""
        return column_spread.distance > self.t + TOLERANCE

    def falls_short(self, column_spread: SensitiveSpread) -> Flags:
        """Which classes fall short in this sensitive column."""
        return self.too_few(column_spread) | self.too_uneven(column_spread) | self.too_far(column_spread)

    def refuse_unreachable(self, columns: Sequence[CodedColumn], rows: int) -> None:
        """Refuse what even the whole table as one class does not meet."""
        if rows < self.k:
            raise UsageError(
                f"the table has only {rows:,} rows, so no class can have {self.k:,}",
                hint=Message("a smaller ", Flag("k")),
            )
        if self.needs_sensitive and not columns:
            raise UsageError("l and t need a sensitive column", hint=Message(Flag("sensitive", "COLUMN")))
        whole = EquivalenceClasses(ids=np.zeros(rows, dtype=np.int64), sizes=np.array([rows]))
        for column in columns:
            whole_spread = measure_spreads(whole, [column])[0]
            most = whole_spread.entropy[0] if self.entropy else whole_spread.distinct[0]
            if most < self.l - TOLERANCE:
                what = "entropy allows at most" if self.entropy else "values allow at most"
                raise UsageError(
                    f"column {column.name!r}: its {what} l = {math.floor(most * 100) / 100:g} in the whole table, "
                    f"not {self.l:g}",
                    hint=Message("a smaller ", Flag("l")),
                )


def measure_spreads(classes: EquivalenceClasses, columns: Sequence[CodedColumn]) -> list[SensitiveSpread]:
    """How each sensitive column spreads in each class, against all these rows."""
    return [
        measure_spread(
            classes.ids,
            classes.sizes,
            column.codes,
            overall=np.bincount(column.codes, minlength=column.size),
            ordered=column.ordered,
        )
        for column in columns
    ]
