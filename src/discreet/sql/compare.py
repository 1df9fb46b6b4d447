"""Two typed expressions compared: an expression, and the set of its values for which the comparison is TRUE.

Comparisons are between the declared table's values: a decimal is on its grid, a category is its text in
byte order. A literal that can never match is a typing error, and said so.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal

from discreet.accounting.region import NOT_NULL, NOTHING, Allowed
from discreet.errors import Refused
from discreet.plan.algebra import lookup, minus, times
from discreet.plan.expressions import Code, Expression, Null, TextCode, Whole, to_data
from discreet.plan.known import MOST_BOUND
from discreet.schema.column import moment_code
from discreet.schema.schema import closest
from discreet.schema.unit import called
from discreet.sql.typed import DAY_US, Choice, Day, Instant, Kind, Numeric, Truth, Typed, Words, aligned, whole

Operator = Literal["=", "<>", "<", "<=", ">", ">="]
#: A literal of the question. None is NULL.
Constant = Fraction | str | bool | None

FLIPPED: dict[Operator, Operator] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def constant_of(found: Typed) -> Constant:
    """The value of a literal; the code of a moment."""
    match found.expression, found.kind:
        case Null(), _:
            return None
        case Whole(value=code), Numeric(step=step):
            return code * step
        case Whole(value=code), Choice(values=values):
            return values[code]
        case Whole(value=code), Truth():
            return bool(code)
        case Whole(value=code), Day() | Instant():
            return Fraction(code)
        case _:
            raise Refused("a literal belongs here")


def is_literal(found: Typed) -> bool:
    return isinstance(found.expression, Whole | Null)


def compare(left: Typed, operator: Operator, right: Typed) -> tuple[Expression, Allowed]:
    """An expression, and the values for which `left operator right` is TRUE; for its others, save NULL, it is FALSE."""
    if _comes_later(left, right):
        left, operator, right = right, FLIPPED[operator], left
    if isinstance(left.expression, Null) or isinstance(right.expression, Null):
        return Null(), NOTHING
    if operator == "<>":
        expression, equal = compare(left, "=", right)
        return expression, equal.complement() & NOT_NULL
    match left.kind, right.kind:
        case (Words(), Words()) | (Choice(), Words()) | (Words(), Choice()) if not is_literal(right):
            raise Refused(
                "a free text is compared with literals only", hint="declare it as a category, with its values"
            )
        case Numeric(), Numeric():
            return _numbers(left, operator, right)
        case Day() | Instant(), _:
            return _moments(left, operator, right)
        case Truth(), _:
            return _truths(left, operator, right)
        case Choice(), _:
            return _choices(left, operator, right)
        case Words(), Choice():
            return left.expression, _texts(operator, str(constant_of(right)))
        case _:
            raise mismatch(left, right)


def _comes_later(left: Typed, right: Typed) -> bool:
    """Literals stand on the right, and the rest in one order: `a < b` and `b > a` are one question."""
    if is_literal(left) or is_literal(right):
        return not is_literal(right)
    return repr(to_data(left.expression)) > repr(to_data(right.expression))


def _numbers(left: Typed, operator: Operator, right: Typed) -> tuple[Expression, Allowed]:
    """With a literal on its own grid, which nothing has to be computed for; else the difference and 0."""
    if isinstance(right.expression, Whole):
        assert isinstance(left.kind, Numeric) and isinstance(right.kind, Numeric)
        return ordered(left.expression, operator, right.expression.value * right.kind.step / left.kind.step)
    (one, two), _ = aligned([_stored(left), _stored(right)])
    return ordered(minus(one, two), operator, Fraction(0))


def _moments(left: Typed, operator: Operator, right: Typed) -> tuple[Expression, Allowed]:
    if isinstance(right.kind, Choice) and is_literal(right):
        return ordered(left.expression, operator, moment_of(str(constant_of(right)), left.kind))
    if not isinstance(right.kind, Day | Instant):
        raise mismatch(left, right)
    one, two = _stored(left), _stored(right)
    if left.kind != right.kind:
        one, two = instant(one), instant(two)
    if isinstance(right.expression, Whole):
        return ordered(one.expression, operator, Fraction(whole(two).low or 0))
    return ordered(minus(whole(one), whole(two)), operator, Fraction(0))


def instant(moment: Typed) -> Typed:
    """A date as the instant that it begins at."""
    if isinstance(moment.kind, Instant):
        return moment
    return Typed(times(whole(moment), Whole(DAY_US)), Instant())


def moment_of(text: str, kind: Kind) -> Fraction:
    """A written date or timestamp as a code, which may lie between two days."""
    try:
        return moment_code(text, "date" if isinstance(kind, Day) else "timestamp")
    except (ValueError, OverflowError):
        example = "'2026-01-31'" if isinstance(kind, Day) else "'2026-01-31 12:00:00'"
        word = "date" if isinstance(kind, Day) else "timestamp"
        raise Refused(f"{text[:40]!r} is not a {word}", hint=f"write {example}") from None


def _truths(left: Typed, operator: Operator, right: Typed) -> tuple[Expression, Allowed]:
    if isinstance(right.kind, Choice) and is_literal(right) and str(constant_of(right)).lower() in ("true", "false"):
        right = Typed(Whole(int(str(constant_of(right)).lower() == "true")), Truth())
    if not isinstance(right.kind, Truth) or operator != "=":
        raise mismatch(left, right)
    if isinstance(right.expression, Whole):
        return left.expression, Allowed.of([right.expression.value])
    return ordered(minus(whole(left), whole(right)), "=", Fraction(0))


def _choices(left: Typed, operator: Operator, right: Typed) -> tuple[Expression, Allowed]:
    """A category with a literal, or with another category, both by their texts."""
    assert isinstance(left.kind, Choice)
    if not is_literal(right):
        return _two_choices(left, operator, right)
    word = _word(left, right)
    values = left.kind.values
    if operator == "=" and word in values:
        return left.expression, Allowed.of([values.index(word)])
    if operator == "=" and not is_literal(left):
        raise Refused(f"{word[:40]!r} is not {_value_of(left)}", hint=closest(word, values))
    # Python orders text by code point, which is the byte order of UTF-8.
    order = [(value > word) - (value < word) for value in values]
    _, wanted = ordered(left.expression, operator, Fraction(0))
    return left.expression, Allowed.of(place for place, sign in enumerate(order) if sign in wanted)


def _two_choices(left: Typed, operator: Operator, right: Typed) -> tuple[Expression, Allowed]:
    if not isinstance(left.kind, Choice) or not isinstance(right.kind, Choice):
        raise mismatch(left, right)
    ranks = {text: rank for rank, text in enumerate(sorted({*left.kind.values, *right.kind.values}))}
    one = lookup(whole(left), [ranks[text] for text in left.kind.values], first=0)
    two = lookup(whole(right), [ranks[text] for text in right.kind.values], first=0)
    return ordered(minus(one, two), operator, Fraction(0))


def _word(left: Typed, right: Typed) -> str:
    """A literal as a category's text: numbers and truths are written out."""
    match constant_of(right), right.kind:
        case str() as word, _:
            return word
        case bool() as flag, _:
            return str(flag).lower()
        case Fraction(denominator=1) as number, Numeric():
            return str(int(number))
        case _:
            raise mismatch(left, right)


def _texts(operator: Operator, text: str) -> Allowed:
    match operator:
        case "=":
            return Allowed.of([text])
        case "<":
            return Allowed.interval(None, text)
        case "<=":
            return Allowed.interval(None, text + "\0")
        case ">":
            return Allowed.interval(text + "\0", None)
        case ">=":
            return Allowed.interval(text, None)
        case _:
            raise AssertionError(operator)


def ordered(expression: Expression, operator: Operator, value: Fraction) -> tuple[Expression, Allowed]:
    """Codes on one side of an exact value, which may lie between two codes.

    A value beyond all codes is moved just outside, so that every engine can read it: stored codes have 64 bits.
    """
    open_ended = expression.low is None or expression.high is None
    most = 2**63 if open_ended else MOST_BOUND + 1
    value = min(max(value, Fraction(-most - 1)), Fraction(most))
    match operator:
        case "=":
            return expression, Allowed.of([int(value)]) if value.denominator == 1 else NOTHING
        case "<":
            return expression, Allowed.interval(None, math.ceil(value))
        case "<=":
            return expression, Allowed.interval(None, math.floor(value) + 1)
        case ">":
            return expression, Allowed.interval(math.floor(value) + 1, None)
        case ">=":
            return expression, Allowed.interval(math.ceil(value), None)
        case _:
            raise AssertionError(operator)


def _stored(found: Typed) -> Typed:
    """A column without declared bounds is still stored in 64 bits: enough to compare it, never to sum it."""
    code = found.expression
    if isinstance(code, Code) and (code.low is None or code.high is None):
        return Typed(Code(code.column, -(2**63), 2**63 - 1, code.null), found.kind)
    return found


def mismatch(left: Typed, right: Typed) -> Refused:
    """The refusal of two types that do not go together."""
    hints: dict[type, str] = {
        Numeric: "write a number, without quotes",
        Truth: "write … = true, or just its name",
        Day: "write '2026-01-31'",
        Instant: "write '2026-01-31 12:00:00'",
        Words: "write a text in quotes: '…'",
    }
    hint = hints.get(type(left.kind), "")
    if isinstance(left.kind, Words) and isinstance(left.expression, TextCode) and not isinstance(right.kind, Choice):
        hint += f'; if {_name(left.expression)} is no text, its owner declares it: type = "{type_word(right.kind)}"'
    return Refused(f"{_subject(left)} is compared with {words_for(right.kind)}", hint=hint)


def _subject(found: Typed) -> str:
    if isinstance(found.expression, Code | TextCode):
        return f"{_name(found.expression)!r} is declared {type_word(found.kind)} and"
    return words_for(found.kind)


def _value_of(found: Typed) -> str:
    if isinstance(found.expression, Code):
        return f"a declared value of {_name(found.expression)!r}"
    return "a value that this can take"


def _name(code: Code | TextCode) -> str:
    """A column's name without the number of the join that brought it."""
    return called(code.column)


def type_word(kind: Kind) -> str:
    """The word for a type in discreet.toml."""
    match kind:
        case Numeric(step=step):
            return "integer" if step == 1 else "decimal"
        case Day():
            return "date"
        case Instant():
            return "timestamp"
        case Truth():
            return "boolean"
        case Choice():
            return "category"
        case Words():
            return "text"


def words_for(kind: Kind) -> str:
    """What a value of a type is called."""
    match kind:
        case Numeric():
            return "a number"
        case Day():
            return "a date"
        case Instant():
            return "a timestamp"
        case Truth():
            return "true or false"
        case Choice() | Words():
            return "a text"
