"""Rules that every row keeps: combinations that cannot occur, dependencies, order between columns.

A rule says which rows of codes break it, and which combinations of a model's cells hold at least one row that does
not. Public facts only.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.schema.column import nullable
from discreet.synth.attribute import Attribute
from discreet.synth.cell_decoder import NULL
from discreet.synth.code_spans import Codes, CodeSpan, cells_of, intervals_in_cell

#: A constraint's table over cells of a model has at most so many.
MOST_CELLS = 2**22

Rows = Mapping[str, Codes]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuralZero:
    """No row has all of these: for each column a set of its codes."""

    where: tuple[tuple[str, CodeSpan], ...]

    def __post_init__(self) -> None:
        if not self.where or len(set(self.columns)) != len(self.where):
            raise ValueError("an entry of zeros must name at least one column, each once")

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.where)

    @property
    def is_never_null(self) -> bool:
        """Whether it says of one column that it is never NULL, and no more."""
        return len(self.where) == 1 and self.where[0][1] == CodeSpan(intervals=(), null=True)

    def broken(self, rows: Rows) -> Bools:
        """Which rows break it."""
        return np.asarray(np.logical_and.reduce([span.holds(rows[name]) for name, span in self.where]))

    def allowed(self, attributes: Mapping[str, Attribute]) -> Bools:
        """Which combinations of cells hold a row that keeps it: all but those that lie wholly within."""
        within = np.array(True)
        for name, span in self.where:
            attribute, outside = attributes[name], span.others()
            inside = [intervals_in_cell(attribute, cell, outside).empty for cell in range(attribute.size)]
            within = np.logical_and.outer(within, np.array(inside))
        return ~within


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependency:
    """Where `source` has a code of `codes`, `target` has the one of `images`. Other codes leave it free."""

    source: str
    target: str
    codes: tuple[int, ...]
    images: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.codes) != len(self.images) or list(self.codes) != sorted(set(self.codes)) or not self.codes:
            raise ValueError("a dependency must have one target value for each source code, in increasing order")

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.source, self.target)

    def images_of(self, codes: Codes) -> tuple[Codes, Bools]:
        """What codes of the source go to, and which of them go anywhere."""
        source_codes = np.array(self.codes, dtype=np.int64)
        place = np.minimum(np.searchsorted(source_codes, codes), len(source_codes) - 1)
        return np.array(self.images, dtype=np.int64)[place], source_codes[place] == codes

    def broken(self, rows: Rows) -> Bools:
        """Which rows break it."""
        images, bound = self.images_of(rows[self.source])
        return np.asarray(bound & (images != rows[self.target]))

    def allowed(self, attributes: Mapping[str, Attribute]) -> Bools:
        """Which pairs of cells hold a pair that keeps it."""
        source, target = attributes[self.source], attributes[self.target]
        at = cells_of(source, np.array(self.codes, dtype=np.int64))
        to = cells_of(target, np.array(self.images, dtype=np.int64))
        is_modelled = at >= 0
        free = codes_in_cells(source) > np.bincount(at[is_modelled], minlength=source.size)
        allowed_pairs = np.repeat(free[:, None], target.size, axis=1)
        met = is_modelled & (to >= 0)
        allowed_pairs[at[met], to[met]] = True
        return allowed_pairs


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnOrder:
    """low * low_scale <= high * high_scale in every row, where neither is NULL."""

    low: str
    high: str
    low_scale: int = 1
    high_scale: int = 1

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.low, self.high)

    def broken(self, rows: Rows) -> Bools:
        """Which rows break it."""
        low, high = rows[self.low], rows[self.high]
        both_present = (low != NULL) & (high != NULL)
        low, high = np.where(both_present, low, 0), np.where(both_present, high, 0)
        return np.asarray(both_present & (low * self.low_scale > high * self.high_scale))

    def allowed(self, attributes: Mapping[str, Attribute]) -> Bools:
        """Which pairs of cells hold a pair that keeps it."""
        least, free_low = _ends(attributes[self.low], least=True)
        most, free_high = _ends(attributes[self.high], least=False)
        met = (least * self.low_scale)[:, None] <= (most * self.high_scale)[None, :]
        allowed_pairs: Bools = free_low[:, None] | free_high[None, :] | met
        return allowed_pairs

    def most_low(self, high: int) -> int:
        """The largest code of `low` that goes with this code of `high`."""
        return high * self.high_scale // self.low_scale

    def least_high(self, low: int) -> int:
        """The smallest code of `high` that goes with this code of `low`."""
        return -(-low * self.low_scale // self.high_scale)


Rule = StructuralZero | Dependency | ColumnOrder


def table_of(rule: Rule, attributes: Mapping[str, Attribute]) -> Bools:
    """The rule on the cells of a model, if they are not too many."""
    check_cells(rule.columns, attributes)
    return rule.allowed(attributes)


def possible_differences(
    difference: Attribute, attributes: Mapping[str, Attribute], never_null: Collection[str] = ()
) -> Bools:
    """Which fine cells of a difference can hold a row: not those that say NULL of a column that has none."""
    assert difference.between is not None
    low, high = (
        name not in never_null and (name not in attributes or nullable(attributes[name].column))
        for name in difference.between
    )
    return np.array([*[True] * (difference.fine - 3), high, low, low and high])


def check_cells(columns: Sequence[str], attributes: Mapping[str, Attribute]) -> None:
    """Refuse a constraint whose table would be too large."""
    if math.prod(attributes[name].size for name in columns) > MOST_CELLS:
        raise UsageError(
            f"the constraint on {', '.join(columns)} spans more than {MOST_CELLS:,} cells of the model",
            hint="constrain fewer columns at once, or declare bins for them",
        )


def codes_in_cells(attribute: Attribute) -> Codes:
    """How many codes each cell of the model holds, NULL one of them."""
    fine = np.diff(np.array(attribute.edges, dtype=np.int64))
    fine_counts = np.append(fine, 1) if attribute.null else fine
    code_counts = np.zeros(attribute.size, dtype=np.int64)
    np.add.at(code_counts, attribute.groups, fine_counts)
    return code_counts


def _ends(attribute: Attribute, *, least: bool) -> tuple[Codes, Bools]:
    """The least or greatest code of each cell, and which cells hold NULL."""
    edges = np.array(attribute.edges, dtype=np.int64)
    groups = attribute.groups[: len(edges) - 1]
    end_codes = np.full(attribute.size, 0, dtype=np.int64)
    free = np.zeros(attribute.size, dtype=np.bool_)
    # Written from the far end, so that what stays is the end that is asked for.
    order = slice(None, None, -1) if least else slice(None)
    end_codes[groups[order]] = (edges[:-1] if least else edges[1:] - 1)[order]
    if attribute.null:
        free[attribute.groups[-1]] = True
    return end_codes, free
