"""The values of bins as people read them: without the parser, for answers that are read back."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.plan.cells import Axis
from discreet.schema.column import Label
from discreet.sql.typed_expression import DateKind, NumericKind, TimestampKind, TypedExpression

#: Beyond this floats have no fractions, and miss whole numbers.
_EXACT = 2**53


def bin_middle(axis: Axis, operand: TypedExpression, place: int) -> Label:
    """The middle of a bin, as people read it."""
    low, high = axis.edges[place], axis.edges[place + 1] - 1
    match operand.kind:
        case NumericKind(step=step):
            value = Fraction(low + high, 2) * step
            return math.floor(value) if value.denominator == 1 or abs(value) > _EXACT else float(value)
        case DateKind() | TimestampKind():
            return operand.label((low + high) // 2)
        case _:
            return operand.label(low)


def bin_range_labels(axis: Axis, operand: TypedExpression, first: int, last: int) -> tuple[Label, Label]:
    """The least and the largest value of some bins, as people read them; where floats have no fractions, outward."""
    low, high = axis.edges[first], axis.edges[last + 1] - 1
    if isinstance(operand.kind, NumericKind) and max(abs(low), abs(high)) * operand.kind.step > _EXACT:
        return math.floor(low * operand.kind.step), math.ceil(high * operand.kind.step)
    return operand.label(low), operand.label(high)
