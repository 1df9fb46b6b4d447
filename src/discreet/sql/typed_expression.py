"""What an expression means: a code on a grid of numbers, a day, an instant, a truth, a choice, words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from fractions import Fraction
from typing import assert_never

from discreet.errors import Refused
from discreet.plan.algebra import times
from discreet.plan.expression_facts import MOST_BOUND
from discreet.plan.expressions import Code, Expression, Null, Predicate, TextCode, Whole
from discreet.plan.expressions import Number as WholeNumber
from discreet.plan.expressions import Words as TextExpression
from discreet.schema.column import (
    EPOCH,
    BooleanColumn,
    CategoryColumn,
    Column,
    Label,
    MomentColumn,
    NumberColumn,
    TextColumn,
    nullable,
)

#: Microseconds of a day: an instant's code is so many times a day's.
DAY_US = 86_400_000_000

#: What is the same on every grid.
_ANY_GRID = (Null(), Whole(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericKind:
    """A number: value = code * step."""

    step: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.step <= 0:
            raise ValueError(f"the step of a grid must be positive: {self.step}")

    def label(self, code: int) -> Label:
        value = code * self.step
        return int(value) if value.denominator == 1 else float(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class DateKind:
    """A date: code = days since 1970."""

    def label(self, code: int) -> Label:
        return (EPOCH + timedelta(days=code)).date().isoformat()


@dataclass(frozen=True, slots=True, kw_only=True)
class TimestampKind:
    """A timestamp in UTC: code = microseconds since 1970."""

    def label(self, code: int) -> Label:
        return (EPOCH + timedelta(microseconds=code)).replace(tzinfo=None).isoformat(sep=" ")


@dataclass(frozen=True, slots=True, kw_only=True)
class BooleanKind:
    """False is 0, true is 1."""

    def label(self, code: int) -> Label:
        return bool(code)


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryKind:
    """One of a known list of texts: code = its place. `labels`: what some are called; they make no other kind."""

    values: tuple[str, ...]
    labels: tuple[tuple[str, str], ...] = field(default=(), compare=False)

    def label(self, code: int) -> Label:
        return self.values[code]


@dataclass(frozen=True, slots=True, kw_only=True)
class TextKind:
    """Free text. Its expression is a text, not a code."""


Kind = NumericKind | DateKind | TimestampKind | BooleanKind | CategoryKind | TextKind


@dataclass(frozen=True, slots=True)
class TypedExpression:
    """An expression and what it means.

    defined: when it is not NULL, where that is known in fewer words than by computing it.
    """

    expression: Expression
    kind: Kind
    defined: Predicate | None = field(default=None, compare=False, repr=False, kw_only=True)

    def label(self, code: int) -> Label:
        """What a reader sees for a code."""
        if isinstance(self.kind, TextKind):
            raise ValueError("free text has no codes")
        return self.kind.label(code)


def column_expression(column: Column, *, name: str | None = None) -> TypedExpression:
    """A declared column, by its own name or the one that a relation gives it."""
    called = column.name if name is None else name
    match column:
        case NumberColumn(low=low, high=high, step=step):
            return TypedExpression(Code(called, low, high, null=nullable(column)), NumericKind(step=step))
        case MomentColumn(low=low, high=high, type=type_):
            return TypedExpression(
                Code(called, low, high, null=nullable(column)), DateKind() if type_ == "date" else TimestampKind()
            )
        case BooleanColumn():
            return TypedExpression(Code(called, 0, 1, null=nullable(column)), BooleanKind())
        case CategoryColumn(values=values, labels=labels):
            kind = CategoryKind(values=values, labels=labels)
            return TypedExpression(Code(called, 0, len(values) - 1, null=nullable(column)), kind)
        case TextColumn():
            return TypedExpression(TextCode(called, null=True), TextKind())
        case _:
            assert_never(column)


def literal(value: Fraction | str | bool | None) -> TypedExpression:
    """A constant. NULL, which has no type of its own, counts as a number until it meets something else."""
    match value:
        case None:
            return TypedExpression(Null(), NumericKind())
        case bool():
            return TypedExpression(Whole(int(value)), BooleanKind())
        case str():
            return TypedExpression(Whole(0), CategoryKind(values=(value,)))
        case Fraction() if abs(value.numerator) > MOST_BOUND:
            # Beyond all codes, and still good to be compared with.
            return TypedExpression(Whole(1 if value > 0 else -1), NumericKind(step=abs(value)))
        case Fraction():
            return TypedExpression(Whole(value.numerator), NumericKind(step=Fraction(1, value.denominator)))


def codes_of(operand: TypedExpression) -> WholeNumber:
    """The codes of anything but free text."""
    if isinstance(operand.expression, TextExpression):
        raise Refused("free text is not supported here", hint="declare it as a category, with its values")
    return operand.expression


def align_to_grid(parts: Sequence[TypedExpression]) -> tuple[list[WholeNumber], Fraction]:
    """Numbers on one grid: their codes, and its step, the largest that all of theirs are multiples of."""
    steps = [
        part.kind.step for part in parts if isinstance(part.kind, NumericKind) and part.expression not in _ANY_GRID
    ]
    if not steps:
        return [codes_of(part) for part in parts], Fraction(1)
    below = math.lcm(*(step.denominator for step in steps))
    common = Fraction(math.gcd(*(int(step * below) for step in steps)), below)
    return [_on_grid(part, common) for part in parts], common


def _on_grid(part: TypedExpression, step: Fraction) -> WholeNumber:
    assert isinstance(part.kind, NumericKind)
    codes = codes_of(part)
    return codes if codes in _ANY_GRID else times(codes, Whole(int(part.kind.step / step)))
