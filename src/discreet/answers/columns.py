"""The columns of an answer: what each is, and between what its numbers lie by the declaration alone."""

from __future__ import annotations

from typing import Literal

from discreet.plan import formula
from discreet.release import Bounds, ReleaseColumn
from discreet.sql.asked import Asked, Output


def columns_of(asked: Asked) -> tuple[ReleaseColumn, ...]:
    """The columns that a question selects."""
    return tuple(
        ReleaseColumn(name=output.name, kind=_kind(output), bounds=_bounds(output, asked)) for output in asked.outputs
    )


def _kind(output: Output) -> Literal["key", "noisy", "derived"]:
    if output.key is not None or output.grouping is not None:
        return "key"
    return "noisy" if output.plain is not None or output.quantile is not None else "derived"


def _bounds(output: Output, asked: Asked) -> Bounds:
    """What is known of a number before it is measured; nothing for counts and sums, and for what is no noise at all."""
    if output.quantile is not None:
        chosen = asked.quantiles[output.quantile]
        edges = chosen.quantile.axis.edges
        low, high = chosen.typed.label(edges[0]), chosen.typed.label(edges[-1] - 1)
        return None if low is None or high is None or low == high else (low, high)
    found = None if output.formula is None else formula.bounds(output.formula)
    return None if found is None or found[0] == found[1] else found
