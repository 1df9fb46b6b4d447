"""Expressions and predicates as DuckDB SQL. Numbers and texts are written by us and identifiers are quoted.

Guarantee: no form written here fails on any row of a declared table, and each has the value that
    `plan.evaluate` defines.
Because: arithmetic is on whole numbers, 64 bits wide where operands, result and whatever lies between them, in
    any order of computing, fit into them, else 128; a divisor that can be 0 becomes NULL; days are within the
    calendar; indices are within their list; patterns are our own; and the other functions take any value.
"""

from __future__ import annotations

from typing import NamedTuple, assert_never

from discreet.accounting.region import Allowed, Box, Region, Run
from discreet.plan.expressions import (
    Absolute,
    Choose,
    Code,
    Every,
    Expression,
    First,
    Greatest,
    Least,
    Length,
    Like,
    Lookup,
    Lower,
    Member,
    Null,
    Number,
    Over,
    Part,
    Plus,
    Predicate,
    Remainder,
    Some,
    Start,
    Substr,
    Test,
    TextCode,
    Times,
    Trim,
    Upper,
    Whole,
    Words,
    bounded,
)

_NO, _YES = Allowed.of([0]), Allowed.of([1])

#: Whole numbers that reach no further than this are computed in 64 bits, with room for what is added on the way.
_NARROW = 2**61


def identifier(name: str) -> str:
    """A name, quoted.

    >>> print(identifier('the "age"'))
    "the ""age\"""
    """
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text, quoted; a NUL, which SQL text cannot hold, by its number.

    >>> print(text_literal("it's"), text_literal("a" + chr(0)))
    'it''s' ('a' || chr(0) || '')
    """
    parts = ["'" + part.replace("'", "''") + "'" for part in text.split("\0")]
    return parts[0] if len(parts) == 1 else "(" + " || chr(0) || ".join(parts) + ")"


def predicate_sql(predicate: Predicate) -> str:
    """A predicate as a condition that is TRUE, or FALSE or NULL, where `predicate.holds` says so."""
    match predicate:
        case Member(column=column, allowed=allowed):
            return allowed_sql(identifier(column), allowed, bits=_bits(allowed))
        case Test(of=of, allowed=allowed):
            return _test(of, allowed)
        case Every(parts=parts):
            return _joined(" AND ", [predicate_sql(part) for part in parts], empty="TRUE")
        case Some(parts=parts):
            return _joined(" OR ", [predicate_sql(part) for part in parts], empty="FALSE")
        case _:
            assert_never(predicate)


def _bits(allowed: Allowed) -> int:
    """How wide a column's numbers are. Only sums over a person's rows leave 64 bits, and then so do their bounds;
    the reader moves literals that do to just outside."""
    ends = [end for run in allowed.runs for end in run if isinstance(end, int)]
    return 127 if any(abs(end) > 2**64 for end in ends) else 63


def region_sql(region: Region) -> str:
    """The records of a region as a condition."""
    return _joined(" OR ", [_box(box) for box in region.boxes], empty="FALSE")


def _box(box: Box) -> str:
    sides = [allowed_sql(identifier(name), allowed) for name, allowed in box.sides.items()]
    return _joined(" AND ", sides, empty="TRUE")


def _test(of: Expression, allowed: Allowed) -> str:
    if isinstance(of, Like) and allowed in (_NO, _YES):
        return _like(of, wanted=allowed == _YES)
    if isinstance(of, Words):
        return allowed_sql(_words(of), allowed)
    sql = _number(of)
    return allowed_sql(_at_least(sql, _BIG), allowed, bits=127 if sql.width == _HUGE else 63)


def allowed_sql(name: str, allowed: Allowed, *, bits: int = 63) -> str:
    """`name`, SQL of a column or an expression, takes an allowed value. `bits` is how wide its numbers can be."""
    points, spans = [], []
    for run in allowed.runs:
        point = _point(run, bits)
        if point is None:
            spans.append(_span(name, run, bits))
        else:
            points.append(point)
    parts = [f"{name} = {points[0]}"] if len(points) == 1 else []
    parts = [f"{name} IN ({', '.join(points)})"] if len(points) > 1 else parts
    parts += spans
    if allowed.null:
        parts.append(f"{name} IS NULL")
    return _joined(" OR ", parts, empty="FALSE")


def _point(run: Run, bits: int) -> str | None:
    """The one value in a run, as a literal."""
    match run:
        case (int() as low, int() as high) if high == low + 1 and -(2**bits) < low < 2**bits:
            return str(low)
        case (str() as low, str() as high) if high == low + "\0":
            return text_literal(low)
        case _:
            return None


def _span(name: str, run: Run, bits: int) -> str:
    """A run as comparisons. Whole numbers are cut to their width: beyond it an engine compares floats."""
    low, high = run
    if isinstance(low, str) or isinstance(high, str):
        return _joined(" AND ", [*_text_low(name, low), *_text_high(name, high)], empty="TRUE")
    first = None if low is None or low <= -(2**bits) else low
    last = None if high is None or high >= 2**bits else high - 1
    if (first is not None and first >= 2**bits) or (last is not None and last < -(2**bits)):
        return "FALSE"
    if first is not None and last is not None:
        return f"{name} BETWEEN {first} AND {last}"
    if first is not None:
        return f"{name} >= {first}"
    return f"{name} IS NOT NULL" if last is None else f"{name} <= {last}"


def _text_low(name: str, low: object) -> list[str]:
    """At least `low`. No text lies between s and s + NUL, so a trailing NUL is a strict comparison."""
    if not isinstance(low, str):
        return []
    return [f"{name} > {text_literal(low[:-1])}" if low.endswith("\0") else f"{name} >= {text_literal(low)}"]


def _text_high(name: str, high: object) -> list[str]:
    """Below `high`."""
    if not isinstance(high, str):
        return []
    return [f"{name} <= {text_literal(high[:-1])}" if high.endswith("\0") else f"{name} < {text_literal(high)}"]


def _joined(word: str, parts: list[str], *, empty: str) -> str:
    """Conditions joined by AND or OR, in brackets where there are several."""
    if not parts:
        return empty
    return parts[0] if len(parts) == 1 else f"({word.join(parts)})"


def expression_sql(expression: Expression) -> str:
    """An expression: a text, or a whole number of 64 or 128 bits. It binds as tightly as a name does."""
    return _words(expression) if isinstance(expression, Words) else _at_least(_number(expression), _BIG)


def floor_sql(left: str, right: str) -> str:
    """The quotient of two whole numbers, rounded down; NULL where the divisor is 0.

    Because `//` cuts towards zero: where something is cut off and the signs differ, that is one too many.
    """
    divisor = f"nullif({right}, 0)"
    over = f"{left} % {divisor} <> 0 AND ({left} < 0) <> ({right} < 0)"
    return f"({left} // {divisor} - CASE WHEN {over} THEN 1 ELSE 0 END)"


#: A literal or a stored column has the width it needs and no more: it is cast before anything is computed from
#: it. The others are 64 and 128 bits wide.
_NATURAL, _BIG, _HUGE = 0, 1, 2


class _Sql(NamedTuple):
    text: str
    width: int


def _at_least(sql: _Sql, width: int) -> str:
    """The same number, at least so wide."""
    if sql.width >= width:
        return sql.text
    return f"CAST({sql.text} AS {'HUGEINT' if width == _HUGE else 'BIGINT'})"


def _width(*ends: int | None) -> int:
    return _BIG if all(end is None or abs(end) <= _NARROW for end in ends) else _HUGE


def _number(expression: Number) -> _Sql:
    """A whole-number expression."""
    match expression:
        case Code(column=column, low=low, high=high):
            stored = _Sql(identifier(column), _NATURAL)
            return stored if _width(low, high) == _BIG else _Sql(_at_least(stored, _HUGE), _HUGE)
        case Null():
            return _Sql("NULL", _NATURAL)
        case Whole(value=literal):
            text = str(literal) if literal >= 0 else f"({literal})"
            return _Sql(text, _NATURAL) if _width(literal) == _BIG else _Sql(f"CAST({text} AS HUGEINT)", _HUGE)
        case Plus() | Times() | Remainder():
            return _arithmetic(expression)
        case Over():
            return _over(expression)
        case Absolute(of=of):
            inner = _number(of)
            return _Sql(f"abs({_at_least(inner, _BIG)})", max(inner.width, _BIG))
        case Least(parts=parts):
            return _call("least", parts)
        case Greatest(parts=parts):
            return _call("greatest", parts)
        case First(parts=parts):
            return _call("coalesce", parts)
        case Choose():
            return _choose(expression)
        case Lookup():
            return _lookup(expression)
        case Part(unit=unit, day=day):
            return _Sql(f"date_part('{unit}', {_date(day)})", _BIG)
        case Start(unit=unit, day=day):
            return _Sql(f"(CAST(date_trunc('{unit}', {_date(day)}) AS DATE) - DATE '1970-01-01')", _BIG)
        case Length(text=text):
            return _Sql(f"length({_words(text)})", _BIG)
        case Like():
            return _Sql(f"CAST({_like(expression, wanted=True)} AS BIGINT)", _BIG)
        case _:
            assert_never(expression)


def _arithmetic(expression: Plus | Times | Remainder) -> _Sql:
    match expression:
        case Plus(left=kept, right=Times(left=taken, right=Whole(value=-1))):
            return _joining("-", expression, kept, taken)
        case Plus(left=Times(left=taken, right=Whole(value=-1)), right=kept):
            return _joining("-", expression, kept, taken)
        case Plus(left=kept, right=Whole(value=moved)) if moved < 0:
            return _joining("-", expression, kept, Whole(-moved))
        case Plus(left=left, right=right):
            return _joining("+", expression, left, right)
        case Times(left=left, right=Whole(value=-1)):
            inner = _number(left)
            return _Sql(f"(-{_at_least(inner, _BIG)})", max(inner.width, _BIG))
        case Times(left=left, right=right):
            return _joining("*", expression, left, right)
        case Remainder(left=left, right=right):
            return _joining("%", expression, left, right)
        case _:
            assert_never(expression)


def _joining(sign: str, expression: Plus | Times | Remainder, left: Number, right: Number) -> _Sql:
    """Two operands as wide as either and as the result. A literal on the right takes the width of the left one."""
    one, two = _number(left), _number(right)
    width = max(_width(expression.reach), one.width, two.width)
    text = two.text if isinstance(right, Whole) else _at_least(two, width)
    text = _divisor(right, text) if sign == "%" else text
    return _Sql(f"({_at_least(one, width)} {sign} {text})", width)


def _divisor(right: Number, text: str) -> str:
    ends = bounded(right)
    return f"nullif({text}, 0)" if ends.low <= 0 <= ends.high else text


def _over(expression: Over) -> _Sql:
    """A quotient. `//` cuts towards zero, which is down where nothing is negative."""
    left, right = bounded(expression.left), bounded(expression.right)
    sqls = _number(expression.left), _number(expression.right)
    if isinstance(expression.right, Whole) and right.low > 0:
        return _over_literal(expression, sqls[0], right.low)
    width = max(_BIG, sqls[0].width, sqls[1].width)
    one, two = _at_least(sqls[0], width), _at_least(sqls[1], width)
    if expression.rounding == "zero" or (left.low >= 0 and right.low >= 0):
        return _Sql(f"({one} // {_divisor(expression.right, two)})", width)
    return _Sql(floor_sql(one, two), width)


def _over_literal(expression: Over, sql: _Sql, divisor: int) -> _Sql:
    """A quotient by a positive constant: what is negative is moved above 0 by a multiple of it, and back."""
    left = bounded(expression.left)
    rounding = expression.rounding
    factor = 2 if rounding == "nearest" else 1
    width = max(sql.width, _width(2 * (factor * expression.left.reach + 3 * divisor)))
    one = _at_least(sql, width)
    if rounding == "nearest" and left.low < 0:
        half = f"CASE WHEN {one} < 0 THEN {-divisor} ELSE {divisor} END"
        return _Sql(f"(({one} * 2 + {half}) // {2 * divisor})", width)
    if rounding == "nearest":
        return _Sql(f"(({one} * 2 + {divisor}) // {2 * divisor})", width)
    if rounding == "zero" or left.low >= 0:
        return _Sql(f"({one} // {divisor})", width)
    turns = -(left.low // divisor)
    return _Sql(f"(({one} + {turns * divisor}) // {divisor} - {turns})", width)


def _call(name: str, parts: tuple[Number, ...]) -> _Sql:
    sqls = [_number(part) for part in parts]
    return _Sql(f"{name}({', '.join(sql.text for sql in sqls)})", max(sql.width for sql in sqls))


def _choose(expression: Choose) -> _Sql:
    otherwise = _number(expression.otherwise)
    cases = [(predicate_sql(condition), _number(chosen)) for condition, chosen in expression.cases]
    told = " ".join(f"WHEN {condition} THEN {chosen.text}" for condition, chosen in cases)
    width = max(otherwise.width, *(chosen.width for _, chosen in cases))
    return _Sql(f"CASE {told} ELSE {otherwise.text} END", width)


def _lookup(expression: Lookup) -> _Sql:
    """An element of a list, which is counted from 1."""
    code, moved = _at_least(_number(expression.code), _BIG), 1 - expression.first
    place = f"{code} + {moved}" if moved > 0 else f"{code} - {-moved}" if moved < 0 else code
    listed = f"[{', '.join('NULL' if found is None else str(found) for found in expression.table)}]"
    if _width(expression.low, expression.high) == _HUGE:
        return _Sql(f"list_extract(CAST({listed} AS HUGEINT[]), {place})", _HUGE)
    return _Sql(f"list_extract({listed}, {place})", _NATURAL)


def _date(day: Number) -> str:
    return f"DATE '1970-01-01' + CAST({_number(day).text} AS INTEGER)"


def _like(expression: Like, *, wanted: bool) -> str:
    escaped = " ESCAPE '\\'" if "\\" in expression.pattern else ""
    word = "LIKE" if wanted else "NOT LIKE"
    return f"({_words(expression.text)} {word} {text_literal(expression.pattern)}{escaped})"


def _words(expression: Words) -> str:
    """A text expression."""
    match expression:
        case TextCode(column=column):
            return identifier(column)
        case Lower(text=text):
            return f"lower({_words(text)})"
        case Upper(text=text):
            return f"upper({_words(text)})"
        case Trim(text=text, sides=sides, characters=characters):
            name = {"both": "trim", "leading": "ltrim", "trailing": "rtrim"}[sides]
            return f"{name}({_words(text)}, {text_literal(characters)})"
        case Substr(text=text, start=start, length=length):
            return f"substr({_words(text)}, {start}{'' if length is None else f', {length}'})"
        case _:
            assert_never(expression)
