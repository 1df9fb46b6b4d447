"""Functions of text. Of a category they are tables over its values; of free text, expressions of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from sqlglot import exp

from discreet.errors import Refused
from discreet.plan import algebra, evaluate, pattern
from discreet.plan.expressions import Length, Like, Lower, Null, Number, Sides, Substr, Trim, Upper, Whole
from discreet.plan.expressions import Words as TextExpression
from discreet.sql.compare import constant_of, is_literal, words_for
from discreet.sql.express import Handler, Reads, integer
from discreet.sql.typed import Choice, Numeric, Truth, Typed, Words, literal, whole

#: The space separators of Unicode: what TRIM takes off when it is not told.
BLANKS = "\u0020\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"

#: Two categories joined make at most so many values.
MOST_JOINED = 4096

#: Positions in a text.
_MOST_PLACE = 2**31 - 1

_SIDES: Mapping[str, Sides] = {"": "both", "BOTH": "both", "LEADING": "leading", "TRAILING": "trailing"}


def text(reader: Reads, node: exp.Expr) -> Typed:
    """A category, a literal or free text; anything else is refused."""
    found = reader.typed(node)
    if isinstance(found.kind, Choice | Words) or isinstance(found.expression, Null):
        return found
    raise Refused(f"a text belongs here, not {words_for(found.kind)}")


def constant(reader: Reads, node: exp.Expr, *, name: str) -> str:
    """A text literal."""
    found = reader.typed(node)
    value = constant_of(found) if is_literal(found) else None
    if not isinstance(value, str):
        raise Refused(f"{name} must be a text, written out", hint="write it in single quotes: '…'")
    return value


def listed(code: Number, texts: Sequence[str]) -> Typed:
    """The category of `texts[code]`."""
    values = tuple(dict.fromkeys(texts))
    places = {value: place for place, value in enumerate(values)}
    return Typed(algebra.lookup(code, [places[value] for value in texts], first=0), Choice(values=values))


def _mapped(found: Typed, function: Callable[[str], str], node: Callable[[TextExpression], TextExpression]) -> Typed:
    """A function of text, of whichever kind."""
    if isinstance(found.expression, Null):
        return found
    if isinstance(found.expression, TextExpression):
        return Typed(node(found.expression), Words())
    assert isinstance(found.kind, Choice)
    return listed(whole(found), [function(value) for value in found.kind.values])


def _lower(reader: Reads, node: exp.Expr) -> Typed:
    return _mapped(text(reader, node.this), evaluate.lower, Lower)


def _upper(reader: Reads, node: exp.Expr) -> Typed:
    return _mapped(text(reader, node.this), evaluate.upper, Upper)


def _trim(reader: Reads, node: exp.Expr) -> Typed:
    given = node.args.get("expression")
    letters = BLANKS if given is None else constant(reader, given, name="what is trimmed off")
    sides = _SIDES[str(node.args.get("position") or "").upper()]
    return _mapped(
        text(reader, node.this),
        lambda value: evaluate.trim(value, sides, letters),
        lambda inner: Trim(inner, sides, letters),
    )


def _substring(reader: Reads, node: exp.Expr) -> Typed:
    length = node.args.get("length")
    return substring(
        text(reader, node.this),
        integer(reader, node.args.get("start"), most=_MOST_PLACE, name="the start"),
        None if length is None else integer(reader, length, most=_MOST_PLACE, name="the length"),
    )


def substring(found: Typed, start: int, length: int | None) -> Typed:
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
    return _mapped(
        found, lambda value: evaluate.substr(value, start, length), lambda inner: Substr(inner, start, length)
    )


def _left(reader: Reads, node: exp.Expr) -> Typed:
    found = text(reader, node.this)
    size = integer(reader, node.expression, most=_MOST_PLACE, name="the length")
    if size >= 0:
        return substring(found, 1, size)
    if isinstance(found.expression, TextExpression):
        raise Refused("LEFT of a free text needs a length of 0 or more", hint="substr(…, 1, 3)")
    return _mapped(found, lambda value: value[:size], lambda inner: inner)


def _right(reader: Reads, node: exp.Expr) -> Typed:
    found = text(reader, node.this)
    size = integer(reader, node.expression, most=_MOST_PLACE, name="the length")
    if size == 0:
        return substring(found, 1, 0)
    return substring(found, -size if size > 0 else 1 - size, None)


def _length(reader: Reads, node: exp.Expr) -> Typed:
    found = text(reader, node.this)
    if isinstance(found.expression, TextExpression):
        return Typed(Length(found.expression), Numeric())
    return _number_of(found, len)


def _number_of(found: Typed, function: Callable[[str], int], kind: Numeric | Truth | None = None) -> Typed:
    """A whole number for each value of a category."""
    kind = Numeric() if kind is None else kind
    if isinstance(found.expression, Null):
        return Typed(Null(), kind)
    assert isinstance(found.kind, Choice)
    return Typed(algebra.lookup(whole(found), [function(value) for value in found.kind.values], first=0), kind)


def _pipe(reader: Reads, node: exp.Expr) -> Typed:
    """a || b, which is NULL where either is."""
    return joined(text(reader, node.this), text(reader, node.expression))


def _concat(reader: Reads, node: exp.Expr) -> Typed:
    """CONCAT, for which NULL is the empty text."""
    found = literal("")
    for part in node.expressions:
        found = joined(found, _or_empty(text(reader, part)))
    return found


def _or_empty(found: Typed) -> Typed:
    if isinstance(found.expression, Null):
        return literal("")
    if not isinstance(found.kind, Choice) or not found.expression.null:
        return found
    values = tuple(dict.fromkeys((*found.kind.values, "")))
    return Typed(algebra.first([whole(found), Whole(values.index(""))]), Choice(values=values))


def joined(left: Typed, right: Typed) -> Typed:
    """Two categories, or a category and a literal, one after the other."""
    if isinstance(left.expression, Null) or isinstance(right.expression, Null):
        return Typed(Null(), Choice(values=("",)))
    if not isinstance(left.kind, Choice) or not isinstance(right.kind, Choice):
        raise Refused("free texts are not joined", hint="declare the column as a category, with its values")
    one, two = left.kind.values, right.kind.values
    if len(one) * len(two) > MOST_JOINED:
        raise Refused(f"together these can take more than {MOST_JOINED:,} values", hint="group by both instead")
    code = algebra.plus(algebra.times(whole(left), Whole(len(two))), whole(right))
    return listed(code, [head + tail for head in one for tail in two])


def _like(reader: Reads, node: exp.Expr, *, escape: str | None = None) -> Typed:
    """LIKE and ILIKE. Without ESCAPE no character escapes."""
    given = constant(reader, node.expression, name="the pattern")
    pieces = pattern.tokens(given, escape=escape)
    if pieces is None:
        raise Refused("the pattern ends with its escape character", hint="write the character twice to mean itself")
    found = text(reader, node.this)
    if isinstance(node, exp.ILike):
        pieces = [evaluate.lower(piece) if isinstance(piece, str) else piece for piece in pieces]
        found = _mapped(found, evaluate.lower, Lower)
    truth = matched(found, pattern.written(pieces))
    return opposite(truth) if node.args.get("negate") else truth


def _escaped(reader: Reads, node: exp.Expr) -> Typed:
    if not isinstance(node.this, exp.Like | exp.ILike):
        raise Refused("ESCAPE belongs to LIKE")
    escape = constant(reader, node.expression, name="the escape character")
    if len(escape) != 1:
        raise Refused("the escape character must be one character")
    return _like(reader, node.this, escape=escape)


def matched(found: Typed, written: str) -> Typed:
    """Whether a text matches a pattern in its normal form."""
    if isinstance(found.expression, TextExpression):
        return Typed(Like(found.expression, written), Truth())
    matches = pattern.matcher(written)
    return _number_of(found, lambda value: int(matches(value)), Truth())


def opposite(truth: Typed) -> Typed:
    """NOT, of a code that is 0 or 1."""
    return Typed(algebra.minus(Whole(1), whole(truth)), Truth())


def _contains(reader: Reads, node: exp.Expr, *, before: bool, after: bool) -> Typed:
    letters = list[pattern.Token](constant(reader, node.expression, name="what is looked for"))
    pieces = [*([pattern.ANY] if before else []), *letters, *([pattern.ANY] if after else [])]
    return matched(text(reader, node.this), pattern.written(pieces))


def _position(reader: Reads, node: exp.Expr) -> Typed:
    raise Refused("the place of a text in another is not known", hint="contains(…, 'x'), or LIKE '%x%'")


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
