"""The columns of an answer: what each is, and between what its numbers lie by the declaration alone."""

from __future__ import annotations

from typing import Literal

from discreet.plan import formula
from discreet.plan.cell_statistics import Statistic, Sum
from discreet.release import Bounds, ReleaseColumn
from discreet.sql.parsed_query import OutputColumn, ParsedQuery
from discreet.sql.typed_expression import CategoryKind


def columns_of(query: ParsedQuery) -> tuple[ReleaseColumn, ...]:
    """The columns that a question selects."""
    return tuple(
        ReleaseColumn(
            name=output.name,
            kind=_kind(output),
            bounds=_bounds(output, query),
            least=least_of(output, query),
            labels=labels_of(output, query),
        )
        for output in query.outputs
    )


def labels_of(output: OutputColumn, query: ParsedQuery) -> tuple[tuple[str, str], ...]:
    """What the codes of a key are called, where it is a category with labels."""
    kind = None if output.key is None else query.keys[output.key].typed.kind
    return kind.labels if isinstance(kind, CategoryKind) else ()


def _kind(output: OutputColumn) -> Literal["key", "noisy", "derived"]:
    if output.key is not None or output.grouping is not None:
        return "key"
    return "noisy" if output.plain is not None or output.quantile is not None else "derived"


def _bounds(output: OutputColumn, query: ParsedQuery) -> Bounds:
    """What is known of a number before it is measured; nothing for counts and sums, and for what is no noise at all."""
    if output.quantile is not None:
        chosen = query.quantiles[output.quantile]
        edges = chosen.quantile.axis.edges
        low, high = chosen.typed.label(edges[0]), chosen.typed.label(edges[-1] - 1)
        return None if low is None or high is None or low == high else (low, high)
    formula_bounds = None if output.formula is None else formula.bounds(output.formula)
    return None if formula_bounds is None or formula_bounds[0] == formula_bounds[1] else formula_bounds


def least_of(output: OutputColumn, query: ParsedQuery) -> Literal[0] | None:
    """0 where the exact numbers of a column are never negative: counts, sums of what is not, and what they make."""
    if output.formula is None or not formula.cells(output.formula) or formula.bounds(output.formula) is not None:
        return None
    counts = frozenset(index for index, statistic in enumerate(query.inquiry.statistics) if never_negative(statistic))
    return 0 if formula.least(output.formula, never_negative=counts) == 0 else None


def never_negative(statistic: Statistic) -> bool:
    """Whether the exact numbers of a statistic are at least 0 by the declaration: counts, sums of what is."""
    if not isinstance(statistic, Sum):
        return True
    low = getattr(statistic.of, "low", None)  # a text or a truth has none
    return low is not None and low >= statistic.centre
