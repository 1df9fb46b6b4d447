"""Functions of text. Of a category they are tables over its values; of free text, expressions of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from sqlglot import exp

from discreet.errors import Refused
from discreet.plan import algebra, evaluate, like_pattern
from discreet.plan.expressions import Length, Like, Lower, Null, Number, Sides, Substr, Trim, Upper, Whole
from discreet.plan.expressions import Words as TextExpression
from discreet.sql.comparison import constant_of, is_literal, kind_phrase
from discreet.sql.scalar_expressions import Handler, ScalarReader, integer
from discreet.sql.typed_expression import (
    BooleanKind,
    CategoryKind,
    NumericKind,
    TextKind,
    TypedExpression,
    codes_of,
    literal,
)

#: The space separators of Unicode: what TRIM takes off when it is not told.
BLANKS = "\u0020\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"

#: Two categories joined make at most so many values.
MOST_JOINED = 4096

#: Positions in a text.
_MOST_PLACE = 2**31 - 1

_SIDES: Mapping[str, Sides] = {"": "both", "BOTH": "both", "LEADING": "leading", "TRAILING": "trailing"}


def text_operand(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """A category, a literal or free text; anything else is refused."""
    operand = reader.typed(node)
    if isinstance(operand.kind, CategoryKind | TextKind) or isinstance(operand.expression, Null):
        return operand
    raise Refused(f"expected text, got {kind_phrase(operand.kind)}")


def text_constant(reader: ScalarReader, node: exp.Expr, *, name: str) -> str:
    """A text literal."""
    operand = reader.typed(node)
    value = constant_of(operand) if is_literal(operand) else None
    if not isinstance(value, str):
        raise Refused(f"{name} must be a text literal", hint="write it in single quotes: '…'")
    return value


def category_of(code: Number, texts: Sequence[str]) -> TypedExpression:
    """The category of `texts[code]`."""
    values = tuple(dict.fromkeys(texts))
    places = {value: place for place, value in enumerate(values)}
    return TypedExpression(
        algebra.lookup(code, [places[value] for value in texts], first=0), CategoryKind(values=values)
    )


def _map_texts(
    operand: TypedExpression, function: Callable[[str], str], node: Callable[[TextExpression], TextExpression]
) -> TypedExpression:
    """A function of text, of whichever kind."""
    if isinstance(operand.expression, Null):
        return operand
    if isinstance(operand.expression, TextExpression):
        return TypedExpression(node(operand.expression), TextKind())
    assert isinstance(operand.kind, CategoryKind)
    return category_of(codes_of(operand), [function(value) for value in operand.kind.values])


def _lower(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    return _map_texts(text_operand(reader, node.this), evaluate.lower, Lower)


def _upper(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    return _map_texts(text_operand(reader, node.this), evaluate.upper, Upper)


def _trim(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    given = node.args.get("expression")
    letters = BLANKS if given is None else text_constant(reader, given, name="the text to trim off")
    sides = _SIDES[str(node.args.get("position") or "").upper()]
    return _map_texts(
        text_operand(reader, node.this),
        lambda value: evaluate.trim(value, sides, letters),
        lambda inner: Trim(inner, sides, letters),
    )


def _substring(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    length = node.args.get("length")
    return substring(
        text_operand(reader, node.this),
        integer(reader, node.args.get("start"), most=_MOST_PLACE, name="the start"),
        None if length is None else integer(reader, length, most=_MOST_PLACE, name="the length"),
    )


def substring(operand: TypedExpression, start: int, length: int | None) -> TypedExpression:
    """SUBSTR as DuckDB counts: 0 stands before the first character, and a negative length goes backwards."""
    if length is not None and length < 0:
        if start == 0:
            start, length = 1, 0
        elif 0 < start <= -length:
            start, length = 1, start - 1
        else:
            start, length = start + length, -length
    if start == 0:
        start, length = 1, None if length is None else max(length - 1, 0)
    return _map_texts(
        operand, lambda value: evaluate.substr(value, start, length), lambda inner: Substr(inner, start, length)
    )


def _left(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    operand = text_operand(reader, node.this)
    size = integer(reader, node.expression, most=_MOST_PLACE, name="the length")
    if size >= 0:
        return substring(operand, 1, size)
    if isinstance(operand.expression, TextExpression):
        raise Refused("LEFT of free text needs a length of 0 or more", hint="substr(…, 1, 3)")
    return _map_texts(operand, lambda value: value[:size], lambda inner: inner)


def _right(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    operand = text_operand(reader, node.this)
    size = integer(reader, node.expression, most=_MOST_PLACE, name="the length")
    if size == 0:
        return substring(operand, 1, 0)
    return substring(operand, -size if size > 0 else 1 - size, None)


def _length(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    operand = text_operand(reader, node.this)
    if isinstance(operand.expression, TextExpression):
        return TypedExpression(Length(operand.expression), NumericKind())
    return _map_to_numbers(operand, len)


def _map_to_numbers(
    operand: TypedExpression, function: Callable[[str], int], kind: NumericKind | BooleanKind | None = None
) -> TypedExpression:
    """A whole number for each value of a category."""
    kind = NumericKind() if kind is None else kind
    if isinstance(operand.expression, Null):
        return TypedExpression(Null(), kind)
    assert isinstance(operand.kind, CategoryKind)
    return TypedExpression(
        algebra.lookup(codes_of(operand), [function(value) for value in operand.kind.values], first=0), kind
    )


def _pipe(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """a || b, which is NULL where either is."""
    return concatenate(text_operand(reader, node.this), text_operand(reader, node.expression))


def _concat(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    """CONCAT, for which NULL is the empty text."""
    concatenated = literal("")
    for part in node.expressions:
        concatenated = concatenate(concatenated, _or_empty(text_operand(reader, part)))
    return concatenated


def _or_empty(operand: TypedExpression) -> TypedExpression:
    if isinstance(operand.expression, Null):
        return literal("")
    if not isinstance(operand.kind, CategoryKind) or not operand.expression.null:
        return operand
    values = tuple(dict.fromkeys((*operand.kind.values, "")))
    return TypedExpression(algebra.first([codes_of(operand), Whole(values.index(""))]), CategoryKind(values=values))


def concatenate(left: TypedExpression, right: TypedExpression) -> TypedExpression:
    """Two categories, or a category and a literal, one after the other."""
    if isinstance(left.expression, Null) or isinstance(right.expression, Null):
        return TypedExpression(Null(), CategoryKind(values=("",)))
    if not isinstance(left.kind, CategoryKind) or not isinstance(right.kind, CategoryKind):
        raise Refused("free text cannot be concatenated", hint="declare the column as a category, with its values")
    one, two = left.kind.values, right.kind.values
    if len(one) * len(two) > MOST_JOINED:
        raise Refused(f"the joined text can have more than {MOST_JOINED:,} values", hint="group by both instead")
    code = algebra.plus(algebra.times(codes_of(left), Whole(len(two))), codes_of(right))
    return category_of(code, [head + tail for head in one for tail in two])


def _like(reader: ScalarReader, node: exp.Expr, *, escape: str | None = None) -> TypedExpression:
    """LIKE and ILIKE. Without ESCAPE no character escapes."""
    given = text_constant(reader, node.expression, name="the pattern")
    pieces = like_pattern.tokens(given, escape=escape)
    if pieces is None:
        raise Refused("the pattern ends with its escape character", hint="write the character twice to match itself")
    operand = text_operand(reader, node.this)
    if isinstance(node, exp.ILike):
        pieces = [evaluate.lower(piece) if isinstance(piece, str) else piece for piece in pieces]
        operand = _map_texts(operand, evaluate.lower, Lower)
    truth = match_pattern(operand, like_pattern.normal_form(pieces))
    return negate_truth(truth) if node.args.get("negate") else truth


def _escaped(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    if not isinstance(node.this, exp.Like | exp.ILike):
        raise Refused("ESCAPE can only follow LIKE or ILIKE")
    escape = text_constant(reader, node.expression, name="the escape character")
    if len(escape) != 1:
        raise Refused("the escape character must be one character")
    return _like(reader, node.this, escape=escape)


def match_pattern(operand: TypedExpression, written: str) -> TypedExpression:
    """Whether a text matches a pattern in its normal form."""
    if isinstance(operand.expression, TextExpression):
        return TypedExpression(Like(operand.expression, written), BooleanKind())
    matches = like_pattern.matcher(written)
    return _map_to_numbers(operand, lambda value: int(matches(value)), BooleanKind())


def negate_truth(truth: TypedExpression) -> TypedExpression:
    """NOT, of a code that is 0 or 1."""
    return TypedExpression(algebra.minus(Whole(1), codes_of(truth)), BooleanKind())


def _contains(reader: ScalarReader, node: exp.Expr, *, before: bool, after: bool) -> TypedExpression:
    letters = list[like_pattern.Token](text_constant(reader, node.expression, name="the text to look for"))
    pieces = [*([like_pattern.ANY] if before else []), *letters, *([like_pattern.ANY] if after else [])]
    return match_pattern(text_operand(reader, node.this), like_pattern.normal_form(pieces))


def _position(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    raise Refused("the position of a text in another is not supported", hint="contains(…, 'x'), or LIKE '%x%'")


TEXTS: Mapping[type[exp.Expr], tuple[Handler, frozenset[str]]] = {
    exp.Lower: (_lower, frozenset({"this"})),
    exp.Upper: (_upper, frozenset({"this"})),
    exp.Trim: (_trim, frozenset({"this", "expression", "position"})),
    exp.Substring: (_substring, frozenset({"this", "start", "length"})),
    exp.Left: (_left, frozenset({"this", "expression"})),
    exp.Right: (_right, frozenset({"this", "expression"})),
    exp.Length: (_length, frozenset({"this"})),
    exp.DPipe: (_pipe, frozenset({"this", "expression", "safe"})),
    exp.Concat: (_concat, frozenset({"expressions", "safe", "coalesce"})),
    exp.Like: (_like, frozenset({"this", "expression", "negate"})),
    exp.ILike: (_like, frozenset({"this", "expression", "negate"})),
    exp.Escape: (_escaped, frozenset({"this", "expression"})),
    exp.StartsWith: (partial(_contains, before=False, after=True), frozenset({"this", "expression"})),
    exp.EndsWith: (partial(_contains, before=True, after=False), frozenset({"this", "expression"})),
    exp.Contains: (partial(_contains, before=True, after=True), frozenset({"this", "expression"})),
    exp.StrPosition: (_position, frozenset({"this", "substr"})),
}
