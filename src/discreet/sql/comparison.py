"""Two typed expressions compared: an expression, and the set of its values for which the comparison is TRUE.

Comparisons are between the declared table's values: a decimal is on its grid, a category is its text in
byte order. A literal that can never match is a typing error, and said so.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from discreet.accounting.region import NOT_NULL, NOTHING, ValueSet
from discreet.errors import Refused
from discreet.plan.algebra import lookup, minus, times
from discreet.plan.expression_facts import MOST_BOUND
from discreet.plan.expressions import Code, Expression, Null, TextCode, Whole, to_data
from discreet.schema.column import moment_code
from discreet.schema.privacy_unit import display_name
from discreet.schema.schema import closest_name_hint
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
    align_to_grid,
    codes_of,
)

Operator = Literal["=", "<>", "<", "<=", ">", ">="]
#: A literal of the question. None is NULL.
Constant = Fraction | str | bool | None

FLIPPED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def constant_of(operand: TypedExpression) -> Constant:
    """The value of a literal; the code of a moment."""
    match operand.expression, operand.kind:
        case Null(), _:
            return None
        case Whole(value=code), NumericKind(step=step):
            return code * step
        case Whole(value=code), CategoryKind(values=values):
            return values[code]
        case Whole(value=code), BooleanKind():
            return bool(code)
        case Whole(value=code), DateKind() | TimestampKind():
            return Fraction(code)
        case _:
            raise Refused("a literal value is required here")


def is_literal(operand: TypedExpression) -> bool:
    return isinstance(operand.expression, Whole | Null)


def compare(left: TypedExpression, operator: Operator, right: TypedExpression) -> tuple[Expression, ValueSet]:
    """An expression, and the values for which `left operator right` is TRUE; for its others, save NULL, it is FALSE."""
    if _comes_later(left, right):
        left, operator, right = right, FLIPPED[operator], left
    if isinstance(left.expression, Null) or isinstance(right.expression, Null):
        return Null(), NOTHING
    if operator == "<>":
        expression, equal = compare(left, "=", right)
        return expression, equal.complement() & NOT_NULL
    match left.kind, right.kind:
        case (TextKind(), TextKind()) | (CategoryKind(), TextKind()) | (TextKind(), CategoryKind()) if not is_literal(
            right
        ):
            raise Refused(
                "free text can be compared only with literals", hint="declare it as a category, with its values"
            )
        case NumericKind(), NumericKind():
            return _numbers(left, operator, right)
        case DateKind() | TimestampKind(), _:
            return _moments(left, operator, right)
        case BooleanKind(), _:
            return _truths(left, operator, right)
        case CategoryKind(), _:
            return _choices(left, operator, right)
        case TextKind(), CategoryKind():
            return left.expression, _texts(operator, str(constant_of(right)))
        case _:
            raise mismatch(left, right)


def _comes_later(left: TypedExpression, right: TypedExpression) -> bool:
    """Literals stand on the right, and the rest in one order: `a < b` and `b > a` are one question."""
    if is_literal(left) or is_literal(right):
        return not is_literal(right)
    return repr(to_data(left.expression)) > repr(to_data(right.expression))


def _numbers(left: TypedExpression, operator: Operator, right: TypedExpression) -> tuple[Expression, ValueSet]:
    """With a literal on its own grid, which nothing has to be computed for; else the difference and 0."""
    if isinstance(right.expression, Whole):
        assert isinstance(left.kind, NumericKind) and isinstance(right.kind, NumericKind)
        return compare_with_constant(
            left.expression, operator, right.expression.value * right.kind.step / left.kind.step
        )
    (one, two), _ = align_to_grid([_with_stored_bounds(left), _with_stored_bounds(right)])
    return compare_with_constant(minus(one, two), operator, Fraction(0))


def _moments(left: TypedExpression, operator: Operator, right: TypedExpression) -> tuple[Expression, ValueSet]:
    if isinstance(right.kind, CategoryKind) and is_literal(right):
        return compare_with_constant(left.expression, operator, moment_of(str(constant_of(right)), left.kind))
    if not isinstance(right.kind, DateKind | TimestampKind):
        raise mismatch(left, right)
    one, two = _with_stored_bounds(left), _with_stored_bounds(right)
    if left.kind != right.kind:
        one, two = to_timestamp(one), to_timestamp(two)
    if isinstance(right.expression, Whole):
        return compare_with_constant(one.expression, operator, Fraction(codes_of(two).low or 0))
    return compare_with_constant(minus(codes_of(one), codes_of(two)), operator, Fraction(0))


def to_timestamp(moment: TypedExpression) -> TypedExpression:
    """A date as the instant that it begins at."""
    if isinstance(moment.kind, TimestampKind):
        return moment
    return TypedExpression(times(codes_of(moment), Whole(DAY_US)), TimestampKind())


def moment_of(text: str, kind: Kind) -> Fraction:
    """A written date or timestamp as a code, which may lie between two days."""
    try:
        return moment_code(text, "date" if isinstance(kind, DateKind) else "timestamp")
    except (ValueError, OverflowError):
        example = "'2026-01-31'" if isinstance(kind, DateKind) else "'2026-01-31 12:00:00'"
        word = "date" if isinstance(kind, DateKind) else "timestamp"
        raise Refused(f"{text[:40]!r} is not a {word}", hint=f"write {example}") from None


def _truths(left: TypedExpression, operator: Operator, right: TypedExpression) -> tuple[Expression, ValueSet]:
    if (
        isinstance(right.kind, CategoryKind)
        and is_literal(right)
        and str(constant_of(right)).lower() in ("true", "false")
    ):
        right = TypedExpression(Whole(int(str(constant_of(right)).lower() == "true")), BooleanKind())
    if not isinstance(right.kind, BooleanKind) or operator != "=":
        raise mismatch(left, right)
    if isinstance(right.expression, Whole):
        return left.expression, ValueSet.of([right.expression.value])
    return compare_with_constant(minus(codes_of(left), codes_of(right)), "=", Fraction(0))


def _choices(left: TypedExpression, operator: Operator, right: TypedExpression) -> tuple[Expression, ValueSet]:
    """A category with a literal, or with another category, both by their texts."""
    assert isinstance(left.kind, CategoryKind)
    if not is_literal(right):
        return _two_choices(left, operator, right)
    word = _category_text(left, right)
    values = left.kind.values
    if operator == "=" and word in values:
        return left.expression, ValueSet.of([values.index(word)])
    if operator == "=" and not is_literal(left):
        codes = [code for code, label in left.kind.labels if label.lower() == word.lower()]
        hint = f"write '{codes[0]}', which has this label" if len(codes) == 1 else closest_name_hint(word, values)
        raise Refused(f"{word[:40]!r} is not {_value_of(left)}", hint=hint)
    # Python orders text by code point, which is the byte order of UTF-8.
    order = [(value > word) - (value < word) for value in values]
    _, matching_signs = compare_with_constant(left.expression, operator, Fraction(0))
    return left.expression, ValueSet.of(place for place, sign in enumerate(order) if sign in matching_signs)


def _two_choices(left: TypedExpression, operator: Operator, right: TypedExpression) -> tuple[Expression, ValueSet]:
    if not isinstance(left.kind, CategoryKind) or not isinstance(right.kind, CategoryKind):
        raise mismatch(left, right)
    ranks = {text: rank for rank, text in enumerate(sorted({*left.kind.values, *right.kind.values}))}
    one = lookup(codes_of(left), [ranks[text] for text in left.kind.values], first=0)
    two = lookup(codes_of(right), [ranks[text] for text in right.kind.values], first=0)
    return compare_with_constant(minus(one, two), operator, Fraction(0))


def _category_text(left: TypedExpression, right: TypedExpression) -> str:
    """A literal as a category's text: numbers and truths are written out."""
    match constant_of(right), right.kind:
        case str() as word, _:
            return word
        case bool() as flag, _:
            return str(flag).lower()
        case Fraction(denominator=1) as number, NumericKind():
            return str(int(number))
        case _:
            raise mismatch(left, right)


def _texts(operator: Operator, text: str) -> ValueSet:
    match operator:
        case "=":
            return ValueSet.of([text])
        case "<":
            return ValueSet.interval(None, text)
        case "<=":
            return ValueSet.interval(None, text + "\0")
        case ">":
            return ValueSet.interval(text + "\0", None)
        case ">=":
            return ValueSet.interval(text, None)
        case _:
            raise AssertionError(operator)


def compare_with_constant(expression: Expression, operator: Operator, value: Fraction) -> tuple[Expression, ValueSet]:
    """Codes on one side of an exact value, which may lie between two codes.

    A value beyond all codes is moved just outside, so that every engine can read it: stored codes have 64 bits.
    """
    open_ended = expression.low is None or expression.high is None
    most = 2**63 if open_ended else MOST_BOUND + 1
    value = min(max(value, Fraction(-most - 1)), Fraction(most))
    match operator:
        case "=":
            return expression, ValueSet.of([int(value)]) if value.denominator == 1 else NOTHING
        case "<":
            return expression, ValueSet.interval(None, math.ceil(value))
        case "<=":
            return expression, ValueSet.interval(None, math.floor(value) + 1)
        case ">":
            return expression, ValueSet.interval(math.floor(value) + 1, None)
        case ">=":
            return expression, ValueSet.interval(math.ceil(value), None)
        case _:
            raise AssertionError(operator)


def _with_stored_bounds(operand: TypedExpression) -> TypedExpression:
    """A column without declared bounds is still stored in 64 bits: enough to compare it, never to sum it."""
    code = operand.expression
    if isinstance(code, Code) and (code.low is None or code.high is None):
        return TypedExpression(Code(code.column, -(2**63), 2**63 - 1, code.null), operand.kind)
    return operand


def mismatch(left: TypedExpression, right: TypedExpression) -> Refused:
    """The refusal of two types that do not go together."""
    hints: dict[type, str] = {
        NumericKind: "write a number, without quotes",
        BooleanKind: "write … = true, or use it as a condition by itself",
        DateKind: "write '2026-01-31'",
        TimestampKind: "write '2026-01-31 12:00:00'",
        TextKind: "write text in quotes: '…'",
    }
    hint = hints.get(type(left.kind), "")
    if (
        isinstance(left.kind, TextKind)
        and isinstance(left.expression, TextCode)
        and not isinstance(right.kind, CategoryKind)
    ):
        hint += f'; if {_name(left.expression)} is not text, its owner can declare it: type = "{type_word(right.kind)}"'
    return Refused(f"{_subject(left)} is compared with {kind_phrase(right.kind)}", hint=hint)


def _subject(operand: TypedExpression) -> str:
    if isinstance(operand.expression, Code | TextCode):
        return f"{_name(operand.expression)!r} is declared {type_word(operand.kind)} and"
    return kind_phrase(operand.kind)


def _value_of(operand: TypedExpression) -> str:
    if isinstance(operand.expression, Code):
        return f"a declared value of {_name(operand.expression)!r}"
    return "a possible value of this expression"


def _name(code: Code | TextCode) -> str:
    """A column's name without the number of the join that brought it."""
    return display_name(code.column)


def type_word(kind: Kind) -> str:
    """The word for a type in discreet.toml."""
    match kind:
        case NumericKind(step=step):
            return "integer" if step == 1 else "decimal"
        case DateKind():
            return "date"
        case TimestampKind():
            return "timestamp"
        case BooleanKind():
            return "boolean"
        case CategoryKind():
            return "category"
        case TextKind():
            return "text"


def kind_phrase(kind: Kind) -> str:
    """What a value of a type is called."""
    match kind:
        case NumericKind():
            return "a number"
        case DateKind():
            return "a date"
        case TimestampKind():
            return "a timestamp"
        case BooleanKind():
            return "a boolean"
        case CategoryKind() | TextKind():
            return "text"
