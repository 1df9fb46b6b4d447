"""Conditions and scalar expressions: syntax trees as predicates and typed expressions.

Each condition is read twice, for when it is TRUE and for when it is FALSE; NULL makes it neither,
so NOT swaps the two and three-valued logic is exact. What is not on the list of what is known is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from sqlglot import exp

from discreet import exact
from discreet.accounting.region import NOT_NULL, ONLY_NULL, Allowed
from discreet.errors import Refused, UsageError
from discreet.plan import algebra
from discreet.plan.expressions import Code, Null, TextCode, Whole, walk
from discreet.plan.predicate import FALSE, Predicate, every, negation, some, span, within
from discreet.sql.casts import CASTS
from discreet.sql.compare import Constant, Operator, compare, constant_of, is_literal, type_word
from discreet.sql.express import ARITHMETIC
from discreet.sql.moments import MOMENTS, NAMED
from discreet.sql.text import Source
from discreet.sql.text import span as span_of
from discreet.sql.typed import Truth, Typed, literal
from discreet.sql.unknown import refusal_of
from discreet.sql.words import TEXTS

_OPERATORS: dict[type[exp.Expr], Operator] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_CONDITIONS: tuple[type[exp.Expr], ...] = (
    exp.And, exp.Or, exp.Not, exp.Is, exp.Between, exp.In, exp.NullSafeEQ, exp.NullSafeNEQ, *_OPERATORS,
)  # fmt: skip
_SCALARS = {**ARITHMETIC, **TEXTS, **MOMENTS, **CASTS}
_HINT = "conditions are =, <>, <, <=, >, >=, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT"


#: What is known in arithmetic over rows and over aggregates, with the arguments that are.
ARGUMENTS = {type_: known for type_, (_, known) in _SCALARS.items()}


def check_arguments(node: exp.Expr, known: frozenset[str]) -> None:
    """Refuse a node with an argument that would be passed over, or without one that it needs."""
    if any(value and name not in known for name, value in node.args.items()):
        raise refusal_of(node)
    if any(required and node.args.get(name) is None for name, required in node.arg_types.items()):
        name = node.sql_name().lower() if isinstance(node, exp.Func) else "this"
        raise Refused(f"{name} of what?")


class Scope(Protocol):
    """What names mean."""

    def column(self, node: exp.Column) -> Typed:
        """The column that a name means; an unknown one is refused."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """Reads conditions and expressions over the columns of one scope.

    domains: the values that the columns met so far can take. Everything that is read is remembered, because
        a condition within a condition would else be read again for each TRUE and FALSE around it.
    """

    source: Source
    scope: Scope
    domains: dict[str, Allowed] = field(default_factory=dict)
    _read: dict[int, tuple[exp.Expr, Typed]] = field(default_factory=dict, repr=False)

    def typed(self, node: exp.Expr) -> Typed:
        """What a scalar expression means."""
        known = self._read.get(id(node))
        if known is None:
            known = self._read[id(node)] = (node, self._placed(node))
        return known[1]

    def predicate(self, node: exp.Expr, *, wanted: bool = True) -> Predicate:
        """When the condition is TRUE, or, with `wanted` False, when it is FALSE."""
        try:
            return self._condition(node, wanted)
        except Refused as problem:
            raise self._at(problem, node) from None

    def constant(self, node: exp.Expr) -> Constant:
        """A literal as an exact value."""
        found = self.typed(node)
        if not is_literal(found):
            raise self.source.refusal("a literal belongs here", at=node)
        return constant_of(found)

    def _placed(self, node: exp.Expr) -> Typed:
        try:
            return self._scalar(node)
        except Refused as problem:
            raise self._at(problem, node) from None

    def _at(self, problem: Refused, node: exp.Expr) -> Refused:
        """A refusal that points at the innermost node that was being read."""
        return problem if problem.sql else self.source.refusal(problem.reason, at=self._place(node), hint=problem.hint)

    def _place(self, node: exp.Expr) -> exp.Expr | tuple[int, int]:
        """Where a node stands. Of some keywords the parser forgets it: there the text is searched for them."""
        if span_of(node) is not None:
            return node
        word = re.match(r"[\w$?]+", node.sql(dialect="duckdb"))
        found = word and re.search(rf"(?<!\w){re.escape(word[0])}(?!\w)", self.source.text, re.IGNORECASE)
        return found.span() if found else (0, 0)

    def _scalar(self, node: exp.Expr) -> Typed:
        match node:
            case exp.Paren():
                return self.typed(node.this)
            case exp.Column():
                return self._column(node)
            case exp.Null():
                return literal(None)
            case exp.Boolean():
                return literal(bool(node.this))
            case exp.Literal():
                return literal(str(node.this) if node.is_string else self._digits(node))
            case exp.Anonymous() if str(node.this).lower() in NAMED:
                return NAMED[str(node.this).lower()](self, node)
        if isinstance(node, _CONDITIONS):
            return self._truth(node)
        known = _SCALARS.get(type(node))
        if known is None:
            raise refusal_of(node)
        check_arguments(node, known[1])
        return known[0](self, node)

    def _column(self, node: exp.Column) -> Typed:
        found = self.scope.column(node)
        for part in walk(found.expression):
            if isinstance(part, Code | TextCode):
                self.domains[part.column] = span(part)
        return found

    def _digits(self, node: exp.Literal) -> Fraction:
        try:
            return exact.number(re.sub("_", "", str(node.this)), name="a literal")
        except UsageError:
            raise Refused("this number is out of range") from None

    def _truth(self, node: exp.Expr) -> Typed:
        """A condition as a value: 1 where it is TRUE, 0 where it is FALSE, else NULL."""
        when_true, when_false = self.predicate(node), self.predicate(node, wanted=False)
        if negation(when_true, self.domains) == when_false:
            return Typed(algebra.choose([(when_true, Whole(1))], Whole(0)), Truth())
        return Typed(algebra.choose([(when_true, Whole(1)), (when_false, Whole(0))], Null()), Truth())

    def _condition(self, node: exp.Expr, wanted: bool) -> Predicate:
        match node:
            case exp.Paren():
                return self.predicate(node.this, wanted=wanted)
            case exp.Not():
                return self.predicate(node.this, wanted=not wanted)
            case exp.And() | exp.Or():
                parts = [self.predicate(part, wanted=wanted) for part in node.flatten()]
                return every(parts) if isinstance(node, exp.And) == wanted else some(parts, self.domains)
            case exp.Null():
                return FALSE
            case exp.Is():
                return self._is(node, wanted)
            case exp.Between():
                return self._between(node, wanted)
            case exp.In():
                return self._in(node, wanted)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                return self._distinct(node, isinstance(node, exp.NullSafeNEQ) == wanted)
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                operator = _OPERATORS[type(node)]
                return self._compared(self.typed(node.left), operator, self.typed(node.right), wanted)
            case _:
                return self._flag(node, wanted)

    def _within(self, found: Typed, allowed: Allowed) -> Predicate:
        return within(found.expression, allowed, self.domains)

    def _compared(self, left: Typed, operator: Operator, right: Typed, wanted: bool) -> Predicate:
        expression, when_true = compare(left, operator, right)
        return within(expression, when_true if wanted else when_true.complement() & NOT_NULL, self.domains)

    def _flag(self, node: exp.Expr, wanted: bool) -> Predicate:
        """A value that is true or false."""
        found = self.typed(node)
        if isinstance(found.expression, Null):
            return FALSE
        if not isinstance(found.kind, Truth):
            what = f"{node.name!r}" if isinstance(node, exp.Column) else f"this {type_word(found.kind)}"
            raise Refused(f"{what} is not boolean, so it is no condition", hint=_HINT)
        return self._within(found, Allowed.of([int(wanted)]))

    def _is(self, node: exp.Is, wanted: bool) -> Predicate:
        match node.expression:
            case exp.Null():
                return self._within(self.typed(node.this), ONLY_NULL if wanted else NOT_NULL)
            case exp.Boolean(this=asked):
                holds = self.predicate(node.this, wanted=bool(asked))
                return holds if wanted else negation(holds, self.domains)
            case _:
                raise Refused("IS is known with NULL, TRUE and FALSE, and as IS DISTINCT FROM")

    def _between(self, node: exp.Between, wanted: bool) -> Predicate:
        if node.args.get("symmetric"):
            raise Refused("BETWEEN SYMMETRIC is not known", hint="x BETWEEN least(a, b) AND greatest(a, b)")
        found, low, high = (self.typed(part) for part in (node.this, node.args["low"], node.args["high"]))
        parts = [self._compared(found, ">=", low, wanted), self._compared(found, "<=", high, wanted)]
        return every(parts) if wanted else some(parts, self.domains)

    def _in(self, node: exp.In, wanted: bool) -> Predicate:
        listed = node.args.get("expressions") or []
        if not listed or any(value and name not in ("this", "expressions") for name, value in node.args.items()):
            raise Refused("IN takes a list", hint="x IN (1, 2, 3)")
        found = self.typed(node.this)
        constants: list[Allowed] = []
        others: list[Predicate] = []
        for part in listed:
            member = self.typed(part)
            if not is_literal(member) or is_literal(found):
                others.append(self._compared(found, "=", member, wanted))
            elif isinstance(member.expression, Null):
                others.append(FALSE)  # x might equal the unknown: not TRUE, and not FALSE either
            else:
                constants.append(self._equal(found, member, part))
        if constants:
            equal = Allowed.union(constants)
            others.append(self._within(found, equal if wanted else equal.complement() & NOT_NULL))
        return some(others, self.domains) if wanted else every(others)

    def _equal(self, found: Typed, member: Typed, node: exp.Expr) -> Allowed:
        """The values of `found` that equal a literal."""
        try:
            return compare(found, "=", member)[1]
        except Refused as problem:
            raise self._at(problem, node) from None

    def _distinct(self, node: exp.Expr, wanted: bool) -> Predicate:
        """IS DISTINCT FROM where `wanted`, else IS NOT DISTINCT FROM: NULL counts as a value like any other."""
        left, right = self.typed(node.this), self.typed(node.expression)
        equal = self._compared(left, "=", right, True)
        both = every([self._within(left, ONLY_NULL), self._within(right, ONLY_NULL)])
        same = some([equal, both], self.domains)
        return negation(same, self.domains) if wanted else same
