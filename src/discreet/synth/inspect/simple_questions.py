"""Simple questions about one column, `column = value` and `column in a range`: which are expected within 5%."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.present.cell_text import NULL
from discreet.schema.column import Label, TextColumn
from discreet.synth.attribute import Attribute
from discreet.synth.inspect.model_evidence import NEAR, ModelEvidence
from discreet.synth.inspect.model_histograms import is_mixed, kind_of, reading_order


@dataclass(frozen=True, slots=True, kw_only=True)
class SimplePredicate:
    """A condition on one column: the model's number of rows, give or take what the noise leaves open.

    `plus_minus` is None where nothing was measured. `good`: within 5% of the truth, at 95%.
    """

    column: str
    condition: str
    count: float
    plus_minus: float | None
    good: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnQuestions:
    """The simple questions about one column; `least`: from about so many rows on a single value's count is good."""

    column: str
    predicates: tuple[SimplePredicate, ...]
    least: float | None


def simple_questions(evidence: ModelEvidence) -> tuple[ColumnQuestions, ...]:
    """For each column: every value or bin, and, where values have an order, everything up to a bin and from one on."""
    return tuple(_of_column(evidence, place, each) for place, each in enumerate(evidence.model.attributes))


def _of_column(evidence: ModelEvidence, place: int, attribute: Attribute) -> ColumnQuestions:
    noisy_marginal = evidence.noisy_marginal((place,))
    predicates = []
    for condition, chosen in _conditions(attribute):
        count, width = evidence.of_cells(place, chosen)
        predicates.append(
            SimplePredicate(
                column=attribute.name,
                condition=condition,
                count=count,
                plus_minus=width if math.isfinite(width) else None,
                good=is_good(count, width),
            )
        )
    least = (
        None
        if noisy_marginal is None
        else evidence.widths * float(np.sqrt(np.median(noisy_marginal.variances))) * (1 + NEAR) / NEAR
    )
    return ColumnQuestions(column=attribute.name, predicates=tuple(predicates), least=least)


def is_good(count: float, width: float) -> bool:
    """Whether a count is within 5% of every truth that lies no further off than `width`.

    >>> is_good(2100, 100), is_good(2090, 100)
    (True, False)
    """
    return count > 0 and width * (1 + NEAR) <= NEAR * count


def _conditions(attribute: Attribute) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    cells = np.arange(attribute.size)
    for cell in reading_order(attribute):
        if not is_mixed(attribute, cell):
            yield _equals(attribute, cell), cells == cell
    if kind_of(attribute) in ("number", "moment"):
        yield from _ranges(attribute)


def _equals(attribute: Attribute, cell: int) -> str:
    if attribute.null and cell == attribute.groups[-1]:
        return f"is {NULL}"
    low, high = _first(attribute, cell), _last(attribute, cell)
    return f"= {value_text(low)}" if low == high else f"from {value_text(low)} to {value_text(high)}"


def value_text(label: Label) -> str:
    """A value as people read it."""
    if isinstance(label, bool):
        return "true" if label else "false"
    return f"{label:,}" if isinstance(label, int | float) and abs(label) >= 10_000 else str(label)


def _ranges(attribute: Attribute) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """All bins up to one, and all from one on, where the bins are whole runs of values. NULL is in none."""
    null = int(attribute.groups[-1]) if attribute.null else -1
    bins = [cell for cell in reading_order(attribute) if cell != null and not is_mixed(attribute, cell)]
    if len(bins) + (null >= 0) != attribute.size:
        return  # some values were merged: a range would have to cut that cell
    for turn in range(1, len(bins)):
        low, high = _first(attribute, bins[turn]), _last(attribute, bins[turn - 1])
        yield f"at most {value_text(high)}", np.isin(np.arange(attribute.size), bins[:turn])
        yield f"at least {value_text(low)}", np.isin(np.arange(attribute.size), bins[turn:])


def _first(attribute: Attribute, cell: int) -> Label:
    assert not isinstance(attribute.column, TextColumn)
    return attribute.text(attribute.edges[int(np.flatnonzero(attribute.groups == cell)[0])])


def _last(attribute: Attribute, cell: int) -> Label:
    assert not isinstance(attribute.column, TextColumn)
    return attribute.text(attribute.edges[int(np.flatnonzero(attribute.groups == cell)[-1]) + 1] - 1)
