"""GROUP BY: expressions as axes of known keys, or as keys to be discovered."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from sqlglot import exp

from discreet.plan.calendar import LAST_DAY, StartUnit, part_of
from discreet.plan.cells import MOST_CELLS, MOST_VALUES, Axis
from discreet.plan.expressions import Expression, Number, Start, Times, Whole, to_data
from discreet.schema.column import Column, Label, MomentColumn
from discreet.schema.column import NumberColumn as NumberColumn
from discreet.sql.date_functions import count_periods
from discreet.sql.expression_reader import ExpressionReader
from discreet.sql.scope import Scope
from discreet.sql.typed_expression import (
    DAY_US,
    BooleanKind,
    CategoryKind,
    DateKind,
    Kind,
    NumericKind,
    TextKind,
    TimestampKind,
    TypedExpression,
    column_expression,
)

#: The bins that a quantile is searched in.
MOST_BINS = 4096


#: Among so many edges of periods a key's cell is searched; more are counted by the calendar.
_MOST_SEARCHED = 64

#: Periods by the days that they have at least.
_PERIODS = {"hour": Fraction(1, 24), "day": Fraction(1), "week": Fraction(7), "month": Fraction(28)}

_MONTHS: dict[StartUnit, int] = {"year": 12, "quarter": 3, "month": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupKey:
    """One key of GROUP BY: an axis where its values are declared, else an expression to be discovered."""

    node: exp.Expr
    typed: TypedExpression
    axis: Axis | None

    def label(self, code: object) -> Label:
        """A discovered value as people read it."""
        if code is None or isinstance(code, str):
            return code
        try:
            return self.typed.label(int(str(code)))
        except OverflowError:  # beyond the calendar
            return str(code)


def key_of(node: exp.Expr, reader: ExpressionReader, scope: Scope) -> GroupKey:
    """An expression as a key."""
    operand = reader.typed(node)
    column = scope.resolve(node).column if isinstance(node, exp.Column) else None
    axis = _declared_bins(operand, column) or axis_of(operand)
    if axis is None and not _is_discoverable(operand):
        raise reader.source.refusal(
            f"this key can have more than {_most_values(operand):,} values",
            at=node,
            hint=_coarser_key_hint(operand, reader.source.text_of(node)),
        )
    return GroupKey(node=node, typed=operand, axis=axis)


def _most_values(operand: TypedExpression) -> int:
    """How many single values a key may have: of a category the owner has listed them all."""
    return MOST_CELLS if isinstance(operand.kind, CategoryKind) else MOST_VALUES


def _coarser_key_hint(operand: TypedExpression, words: str) -> str:
    """Keys of which there are fewer, written out; bins in the declaration serve as well."""
    low, high = operand.expression.low, operand.expression.high
    assert low is not None and high is not None
    match operand.kind:
        case NumericKind(step=step):
            width = (high - low + 1) * step / (MOST_VALUES - 2)
            power = 0
            while Fraction(10) ** power < width:
                power += 1
            while Fraction(10) ** (power - 1) >= width:
                power -= 1
            size = 10 ** abs(power)
            return f"floor({words} / {size}) * {size}" if power >= 0 else f"floor({words} * {size}) / {size}"
        case DateKind() | TimestampKind():
            days = (high - low) // (DAY_US if isinstance(operand.kind, TimestampKind) else 1) + 2
            enough = (unit for unit, length in _PERIODS.items() if days < length * (MOST_VALUES - 2))
            return f"date_trunc('{next(enough, 'year')}', {words})"
        case _:
            return "group by another column, or choose some of its values with CASE"


def declared_axis(column: Column) -> Axis | None:
    """A declared column as a key, by its bins or single values; None where its values are not declared."""
    operand = column_expression(column)
    return _declared_bins(operand, column) or axis_of(operand)


def _is_discoverable(operand: TypedExpression) -> bool:
    """Text, and numbers without bounds, have keys that can only be discovered."""
    return isinstance(operand.kind, TextKind) or operand.expression.low is None or operand.expression.high is None


def _declared_bins(operand: TypedExpression, column: Column | None) -> Axis | None:
    if not isinstance(column, NumberColumn | MomentColumn) or column.edges is None:
        return None
    last = column.edges[-1]
    bins = [_interval(column, low, high, last=high == last) for low, high in itertools.pairwise(column.edges)]
    return Axis(of=operand.expression, edges=column.edges, null=True, labels=(*bins, None))


def _interval(column: NumberColumn | MomentColumn, low: int, high: int, *, last: bool) -> str:
    """A bin for people: [0, 100), and the last one [500, 20000]."""
    return f"[{column.label(low)}, {column.label(high - last)}{']' if last else ')'}"


def axis_of(operand: TypedExpression) -> Axis | None:
    """The axis of an expression with few values; multiples of a constant count as the numbers they are multiples of."""
    if isinstance(operand.kind, TextKind):
        return None
    of: Expression = operand.expression
    factor = 1
    while isinstance(of, Times) and (split := _constant(of)) is not None:
        of, times = split
        factor *= times
    if isinstance(of, Start):
        return _starts(of, factor, operand)
    low, high = of.low, of.high
    if low is None or high is None or high - low >= _most_values(operand):
        return None
    labels: tuple[Label, ...] = tuple(operand.label(code * factor) for code in range(low, high + 1))
    return Axis(of=of, edges=tuple(range(low, high + 2)), null=of.null, labels=(*labels, None) if of.null else labels)


def _constant(product: Times) -> tuple[Number, int] | None:
    """A product with a positive constant, taken apart."""
    for one, two in ((product.left, product.right), (product.right, product.left)):
        if isinstance(two, Whole) and two.value > 0:
            return one, two.value
    return None


def _starts(start: Start, factor: int, operand: TypedExpression) -> Axis | None:
    """date_trunc: an axis over the days themselves, cut where a period starts."""
    low, high = start.low, start.day.high
    assert low is not None and high is not None
    edges = period_starts(start.unit, low, high, most=MOST_VALUES)
    if edges is None:
        return None
    labels: tuple[Label, ...] = tuple(day_labels(edges[:-1], operand.kind, factor))
    null = start.null
    of: Expression = start.day
    if len(edges) > _MOST_SEARCHED and start.unit != "week":
        # Numbered from its first period on: an engine is slow to plan a search among many edges that are uneven.
        of = count_periods(TypedExpression(start.day, DateKind()), start.unit)
        first = period_of(start.unit, low)
        edges = tuple(range(first, first + len(edges)))
    return Axis(of=of, edges=edges, null=null, labels=(*labels, None) if null else labels)


def quantile_axis(operand: TypedExpression) -> Axis | None:
    """The bins that a quantile is searched in: single values, or as many equal ones as are searched in time."""
    if isinstance(operand.kind, TextKind | CategoryKind | BooleanKind):
        return None
    low, high = operand.expression.low, operand.expression.high
    if low is None or high is None:
        return None
    size = high - low + 1
    bins = min(size, MOST_BINS)
    edges = tuple(low + place * size // bins for place in range(bins + 1))
    return Axis(of=operand.expression, edges=edges, null=False, labels=edges[:-1])


def axis_order(axis: Axis) -> str:
    """Axes are in the order of what they are, so that spelling does not matter."""
    return repr((to_data(axis.of), axis.edges))


def period_starts(unit: StartUnit, low: int, high: int, *, most: int) -> tuple[int, ...] | None:
    """The day `low`, which starts a period, every later start up to `high`, and the one after it; None if over `most`.

    Past the calendar's end the last period ends on the day after it. All at once: a century of months is a key like
    any other.

    >>> period_starts("month", 0, 40, most=100), period_starts("week", 4, 18, most=100)
    ((0, 31, 59), (4, 11, 18, 25))
    >>> period_starts("year", 0, 400, most=2)
    """
    if unit == "week":
        start_days = np.arange(low, high + 8, 7)
    else:
        months = _MONTHS[unit]
        first, last = (np.datetime64(day, "D").astype("M8[M]").astype(np.int64) for day in (low, high))
        start_days = np.arange(first, last + months + 1, months).astype("M8[M]").astype("M8[D]").astype(np.int64)
    # The first start beyond `high` closes the last period.
    edges = start_days[: int(np.searchsorted(start_days, high, side="right")) + 1]
    if len(edges) > most:
        return None
    return tuple(np.minimum(edges, LAST_DAY + 1).tolist())


def period_of(unit: StartUnit, day: int) -> int:
    """The number of the period that a day lies in, as `date_functions.count_periods` counts years, quarters and months.

    >>> period_of("month", 31) - period_of("month", 0), period_of("quarter", -1) - period_of("quarter", 0)
    (1, -1)
    """
    year, month = part_of("year", day), part_of("month", day)
    counts: dict[StartUnit, int] = {"year": year, "quarter": year * 4 + (month + 2) // 3, "month": year * 12 + month}
    return counts[unit]


def day_labels(days: Sequence[int], kind: Kind, factor: int) -> list[str]:
    """Days as people read them, `factor` codes to a day: dates, or timestamps at midnight."""
    if (kind, factor) not in ((DateKind(), 1), (TimestampKind(), DAY_US)):
        raise ValueError(f"not a moment of whole days: {kind}, {factor}")
    dates: list[str] = np.datetime_as_string(np.array(days, dtype="M8[D]")).tolist()
    return dates if factor == 1 else [f"{day} 00:00:00" for day in dates]
