"""A description as it is released: what noisy counts say of every column. Post-processing; nothing here sees data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.kernel.measurement import Law
from discreet.release import Spending
from discreet.schema.column import Column, Label, MomentColumn, NumberColumn, code_labels, shown_label, type_name
from discreet.tables.description.description_plan import CONFIDENCE, DEVIATIONS, Source, in_shown_order

#: Which quantiles are told.
QUANTILES = (Fraction(1, 20), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(19, 20))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoisyNumber:
    """A number of rows or persons with its 95% interval. What noise hides has no value, but is at most `high`.

    `limit`: what noise alone goes beyond with 5% at most, in any of the numbers that it is shown with.
    """

    noisy_value: int
    plus_minus: int
    limit: int

    @property
    def is_below_noise(self) -> bool:
        return self.noisy_value <= self.limit

    @property
    def value(self) -> int | None:
        return None if self.is_below_noise else self.noisy_value

    @property
    def high(self) -> int:
        return max(0, self.noisy_value + self.plus_minus)

    def to_data(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "plus_minus": self.plus_minus,
            "at_most": self.high,
            "below_noise": self.is_below_noise,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedCell:
    """A cell of a histogram: a value, or codes from `low` to `high`, and about how many rows it holds."""

    label: Label
    number: NoisyNumber

    def share(self, rows: NoisyNumber) -> float | None:
        """Its share of the rows; None where noise hides it."""
        if self.number.value is None or rows.value is None:
            return None
        return min(1.0, self.number.value / rows.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedQuantile:
    """A quantile with its 95% interval; no value where that is all there is."""

    fraction: Fraction
    value: Label
    low: Label
    high: Label

    @property
    def is_below_noise(self) -> bool:
        return self.value is None

    def to_data(self) -> dict[str, Any]:
        return {
            "fraction": float(self.fraction),
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "below_noise": self.is_below_noise,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedColumn:
    """What is known of one column.

    `nulls`: how many rows are NULL; None where none can be. `low`, `high`: its bounds, declared or bought; None where
    they could not be known, or it has none. `settings`: what discreet.toml gets of it, where that is not declared.
    """

    column: Column
    source: Source
    nulls: NoisyNumber | None
    low: Label
    high: Label
    quantiles: tuple[DescribedQuantile, ...]
    cells: tuple[DescribedCell, ...]
    others: NoisyNumber | None
    settings: Mapping[str, Any]
    measured: Fraction
    notes: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def is_ordered(self) -> bool:
        return isinstance(self.column, NumberColumn | MomentColumn)

    @property
    def common(self) -> list[DescribedCell]:
        """Its values that noise does not hide, the most common first; of numbers, those of a histogram of values."""
        seen = [cell for cell in self.cells if not cell.number.is_below_noise]
        return sorted(seen, key=lambda cell: -cell.number.noisy_value)

    def shown(self, cell: DescribedCell) -> Label:
        """The value of a cell as people read it: by its label, where it has one."""
        return shown_label(code_labels([self.column]), self.name, cell.label)

    def to_data(self, rows: NoisyNumber) -> dict[str, Any]:
        return {
            "column": self.name,
            "type": type_name(self.column),
            "source": self.source,
            "nulls": None if self.nulls is None else {**self.nulls.to_data(), "share": share_of(self.nulls, rows)},
            "low": self.low,
            "high": self.high,
            "quantiles": [each.to_data() for each in self.quantiles],
            "cells": [{"label": cell.label, **cell.number.to_data(), "share": cell.share(rows)} for cell in self.cells],
            "others": None if self.others is None else self.others.to_data(),
            "notes": list(self.notes),
        }


def share_limit(number: NoisyNumber, rows: NoisyNumber) -> str:
    """The share that a number below noise has at most, rounded up: never 0."""
    assert rows.value is not None
    tenths = math.ceil(1000 * min(1.0, max(number.high, 0) / max(rows.value, 1)))
    return f"{max(tenths, 1) / 1000:.1%}"


def share_of(number: NoisyNumber, rows: NoisyNumber) -> float | None:
    """A share of the rows; None where noise hides it."""
    return DescribedCell(label=None, number=number).share(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A private profile of a table. `cached`: it was stored, and cost nothing now."""

    release: str
    table: str
    version: int
    unit: str
    rows: NoisyNumber
    persons: NoisyNumber | None
    columns: tuple[DescribedColumn, ...]
    epsilon: Fraction
    cost: Spending
    cached: bool
    notes: tuple[str, ...]

    def column(self, name: str) -> DescribedColumn:
        """The description of a column."""
        return next(each for each in self.columns if each.name.lower() == name.lower())

    def in_order(self, names: Sequence[str]) -> Description:
        """The description with its columns as people know them."""
        return replace(self, columns=tuple(in_shown_order(self.columns, names, lambda each: each.name)))

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """What was found that is not declared, as discreet.toml has it, marked with the epsilon it was measured for."""
        return {
            each.name: {**each.settings, "measured": Fraction(exact.show(each.measured, up=True))}
            for each in self.columns
            if each.settings
        }

    def to_data(self) -> dict[str, Any]:
        free = Spending(epsilon=Fraction(0), rho=Fraction(0), delta=Fraction(0))
        return {
            "release": self.release,
            "table": self.table,
            "version": self.version,
            "unit": self.unit,
            "rows": self.rows.to_data(),
            "persons": None if self.persons is None else self.persons.to_data(),
            "columns": [each.to_data(self.rows) for each in self.columns],
            "confidence": float(CONFIDENCE),
            "cost": (free if self.cached else self.cost).to_data(up=True),
            "cached": self.cached,
            "notes": list(self.notes),
        }


def noisy_number(value: int, law: Law, *, among: int = 1) -> NoisyNumber:
    """A noisy count, with its interval; shown with as many others as `among` says."""
    limit = law.half_width(1 - (1 - CONFIDENCE) / among)
    return NoisyNumber(noisy_value=int(value), plus_minus=law.half_width(CONFIDENCE), limit=limit)


def noisy_sum(values: Sequence[int], law: Law) -> NoisyNumber:
    """A sum of noisy counts, with an interval of at least 95%."""
    if len(values) == 1:
        return noisy_number(values[0], law)
    width = math.ceil(DEVIATIONS * math.sqrt(len(values) * float(law.variance())))
    return NoisyNumber(noisy_value=int(sum(values)), plus_minus=width, limit=width)


def quantiles_of(
    column: NumberColumn | MomentColumn,
    edges: Sequence[int],
    noisy_counts: NDArray[np.int64],
    law: Law,
    *,
    is_open: bool = False,
) -> tuple[DescribedQuantile, ...]:
    """Quantiles from a noisy histogram: the cells [edges[i], edges[i + 1]) hold these counts.

    `is_open`: the first and the last count are sums of two, with what lies outside.

    Let G(j) be the rows below edge j less q times all rows. The quantile lies in the cell after which G is positive
    first. G(j) has the noise of j cells times 1 - q and of the others times q, all independent; an edge whose
    noisy G is farther below 0 than that noise goes lies below the quantile, but for 2.5%, and so above.
    """
    below = np.concatenate([[0], np.cumsum(noisy_counts)]).astype(float)
    total, cells = below[-1], len(noisy_counts)
    places = np.arange(cells + 1)
    sd = math.sqrt(float(law.variance()))
    described = []
    for fraction in QUANTILES:
        share = float(fraction)
        gaps = below - share * total
        widths = (
            DEVIATIONS * sd * np.sqrt((1 - share) ** 2 * (places + is_open) + share**2 * (cells - places + is_open))
        )
        first = max(0, int(np.argmax(gaps >= -widths)) - 1)
        last = min(cells, cells - int(np.argmax((gaps <= widths)[::-1])) + 1)
        low, high = edges[first], edges[last] - 1
        is_known = (first, last) != (0, cells) or cells <= 2
        is_known = is_known and total > DEVIATIONS * sd * math.sqrt(cells + 2 * is_open)
        value = column.label(_crossing(edges, gaps)) if is_known else None
        described.append(
            DescribedQuantile(fraction=fraction, value=value, low=column.label(low), high=column.label(high))
        )
    return tuple(described)


def _crossing(edges: Sequence[int], gaps: NDArray[np.float64]) -> int:
    """Where gaps, made to rise, are 0: a code within the cell, by even spread."""
    rising = (np.maximum.accumulate(gaps) + np.minimum.accumulate(gaps[::-1])[::-1]) / 2
    place = int(np.clip(np.searchsorted(rising, 0.0, side="right") - 1, 0, len(edges) - 2))
    before, after = rising[place], rising[place + 1]
    part = 0.5 if after <= before else min(1.0, max(0.0, -before / (after - before)))
    width = edges[place + 1] - edges[place]
    return min(edges[place + 1] - 1, edges[place] + int(part * width))
