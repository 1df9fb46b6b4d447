"""WHERE: a syntax tree of comparisons as a predicate.

Each condition is read twice, for when it is TRUE and for when it is FALSE; NULL makes it neither,
so NOT swaps the two and three-valued logic is exact.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from discreet import exact
from discreet.accounting.region import NOT_NULL, NOTHING, ONLY_NULL, Allowed
from discreet.errors import Refused, UsageError
from discreet.plan.predicate import FALSE, TRUE, Predicate, every, member, some
from discreet.schema.column import Boolean, Column, domain, nullable
from discreet.schema.schema import Schema, closest
from discreet.sql.compare import FLIPPED, Constant, Operator, compare
from discreet.sql.text import Source

_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MOMENTS = (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPNTZ, exp.DType.TIMESTAMPTZ)
_HINT = "compare declared columns with literals: =, <>, <, <=, >, >=, BETWEEN, IN, IS NULL, AND, OR, NOT"


def span_of(column: Column) -> Allowed:
    """Every value the declared table can hold in this column."""
    limits = domain(column)
    values = NOT_NULL if limits is None else Allowed.interval(*limits)
    return values | ONLY_NULL if nullable(column) else values


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads conditions over one table."""

    source: Source
    schema: Schema
    names: frozenset[str]

    def column(self, node: exp.Column) -> Column:
        """The declared column a name means."""
        if node.args.get("db") or (node.table and node.table.lower() not in self.names):
            raise self.source.refusal(f"there is no table {node.table!r} in this question", at=node)
        found = self.schema.column(node.name)
        if found is None:
            raise self.source.refusal(
                f"{self.schema.table!r} has no declared column {node.name[:60]!r}",
                at=node,
                hint="a text is written in single quotes: '…'"
                if node.this.args.get("quoted")
                else closest(node.name, [column.name for column in self.schema.columns]),
            )
        return found

    def predicate(self, node: exp.Expr, *, wanted: bool = True) -> Predicate:
        """When the condition is TRUE, or, with `wanted` False, when it is FALSE."""
        match node:
            case exp.Paren():
                return self.predicate(node.this, wanted=wanted)
            case exp.Not():
                return self.predicate(node.this, wanted=not wanted)
            case exp.And() | exp.Or():
                parts = [self.predicate(part, wanted=wanted) for part in node.flatten()]
                return every(parts) if isinstance(node, exp.And) == wanted else some(parts, self._domains())
            case exp.Boolean():
                return TRUE if node.this == wanted else FALSE
            case exp.Null():
                return FALSE
            case exp.Column():
                return self._flag(node, wanted=wanted)
            case exp.Is():
                return self._is(node, wanted=wanted)
            case exp.Between():
                return self._between(node, wanted=wanted)
            case exp.In():
                return self._in(node, wanted=wanted)
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return self._comparison(node, wanted=wanted)
            case _:
                raise self.source.refusal("this condition is not among those that are known", at=node, hint=_HINT)

    def _domains(self) -> dict[str, Allowed]:
        return {column.name: span_of(column) for column in self.schema.columns}

    def _member(self, column: Column, when_true: Allowed, when_false: Allowed, *, wanted: bool) -> Predicate:
        return member(column.name, when_true if wanted else when_false, span_of(column))

    def _flag(self, node: exp.Column, *, wanted: bool) -> Predicate:
        column = self.column(node)
        if not isinstance(column, Boolean):
            raise self.source.refusal(f"{column.name!r} is not boolean, so it is no condition", at=node, hint=_HINT)
        return self._member(column, Allowed.of([1]), Allowed.of([0]), wanted=wanted)

    def _is(self, node: exp.Is, *, wanted: bool) -> Predicate:
        if not isinstance(node.this, exp.Column) or not isinstance(node.expression, exp.Null):
            raise self.source.refusal("IS is known only as IS NULL and IS NOT NULL", at=node, hint=_HINT)
        return self._member(self.column(node.this), ONLY_NULL, NOT_NULL, wanted=wanted)

    def _between(self, node: exp.Between, *, wanted: bool) -> Predicate:
        if not isinstance(node.this, exp.Column) or node.args.get("symmetric"):
            raise self.source.refusal("BETWEEN needs a column on its left", at=node, hint=_HINT)
        column = self.column(node.this)
        low, high = self.constant(node.args["low"]), self.constant(node.args["high"])
        above = self._compare(column, ">=", low, node), self._compare(column, "<", low, node)
        below = self._compare(column, "<=", high, node), self._compare(column, ">", high, node)
        return self._member(column, above[0] & below[0], above[1] | below[1], wanted=wanted)

    def _in(self, node: exp.In, *, wanted: bool) -> Predicate:
        listed = node.args.get("expressions") or []
        if not isinstance(node.this, exp.Column) or not listed or node.args.get("query") or node.args.get("unnest"):
            raise self.source.refusal("IN needs a column and a list of literals", at=node, hint=_HINT)
        column = self.column(node.this)
        constants = [self.constant(part) for part in listed]
        pairs = zip(constants, listed, strict=True)
        when_true = Allowed.union(self._compare(column, "=", constant, part) for constant, part in pairs)
        # x NOT IN (…, NULL) is never TRUE: x might equal the unknown.
        when_false = NOTHING if None in constants else when_true.complement() & NOT_NULL
        return self._member(column, when_true, when_false, wanted=wanted)

    def _comparison(self, node: exp.Binary, *, wanted: bool) -> Predicate:
        operator = _OPERATORS[type(node)]
        left, right = node.left, node.right
        if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
            left, right, operator = right, left, FLIPPED[operator]
        if not isinstance(left, exp.Column):
            raise self.source.refusal("a comparison needs a plain column on one side", at=node, hint=_HINT)
        column = self.column(left)
        if isinstance(right, exp.Column) and right.this.args.get("quoted") and self.schema.column(right.name) is None:
            raise self.source.refusal(
                "double quotes make a name, not a text", at=right, hint=f"write '{right.name[:40]}' in single quotes"
            )
        if isinstance(right, exp.Column):
            raise self.source.refusal(
                "comparing two columns is not known; compare a column with a literal", at=right, hint=_HINT
            )
        constant = self.constant(right)
        when_true = self._compare(column, operator, constant, node)
        when_false = NOTHING if constant is None else when_true.complement() & NOT_NULL
        return self._member(column, when_true, when_false, wanted=wanted)

    def _compare(self, column: Column, operator: Operator, constant: Constant, node: exp.Expr) -> Allowed:
        try:
            return compare(column, operator, constant)
        except Refused as problem:
            raise self.source.refusal(problem.reason, at=node, hint=problem.hint) from None

    def constant(self, node: exp.Expr) -> Constant:
        """A literal as an exact value."""
        match node:
            case exp.Paren():
                return self.constant(node.this)
            case exp.Null():
                return None
            case exp.Boolean():
                return bool(node.this)
            case exp.Literal() if node.is_string:
                return str(node.this)
            case exp.Literal():
                return self._digits(node)
            case exp.Neg():
                value = self.constant(node.this)
                if isinstance(value, Fraction):
                    return -value
            case exp.Cast() if node.to.this in _MOMENTS:
                value = self.constant(node.this)
                if isinstance(value, str):
                    return self._moment(value, node)
        raise self.source.refusal("only literals can be compared with a column", at=node, hint=_HINT)

    def _digits(self, node: exp.Literal) -> Fraction:
        try:
            return exact.number(re.sub("_", "", str(node.this)), name="a literal")
        except UsageError:
            raise self.source.refusal("this number is out of range", at=node) from None

    def _moment(self, text: str, node: exp.Expr) -> str:
        """A DATE or TIMESTAMP literal: its text, checked; a DATE drops the time of day."""
        try:
            moment = datetime.datetime.fromisoformat(text.strip())
        except ValueError:
            raise self.source.refusal("this is not a date", at=node, hint="write DATE '2026-01-31'") from None
        assert isinstance(node, exp.Cast)
        return moment.date().isoformat() if node.to.this == exp.DType.DATE else moment.isoformat()
