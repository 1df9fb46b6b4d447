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
from discreet.accounting.region import NOT_NULL, ONLY_NULL, ValueSet
from discreet.errors import Refused, UsageError
from discreet.plan import algebra
from discreet.plan.expressions import Code, Null, TextCode, Whole, walk
from discreet.plan.predicate import FALSE, Predicate, every, negation, some, span, within
from discreet.sql.casts import CASTS
from discreet.sql.comparison import Constant, Operator, compare, constant_of, is_literal, type_word
from discreet.sql.date_functions import MOMENTS, NAMED
from discreet.sql.query_text import QueryText
from discreet.sql.query_text import span as span_of
from discreet.sql.real_expressions import REALS
from discreet.sql.scalar_expressions import ARITHMETIC
from discreet.sql.text_functions import TEXTS
from discreet.sql.typed_expression import BooleanKind, TypedExpression, literal
from discreet.sql.unsupported_syntax import refusal_of

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
_SCALARS = {**ARITHMETIC, **REALS, **TEXTS, **MOMENTS, **CASTS}
_HINT = "use a condition: =, <>, <, <=, >, >=, BETWEEN, IN, LIKE, IS NULL, AND, OR, NOT"


#: What is known in arithmetic over rows and over aggregates, with the arguments that are.
ARGUMENTS = {type_: argument_names for type_, (_, argument_names) in _SCALARS.items()}


def check_arguments(node: exp.Expr, allowed: frozenset[str]) -> None:
    """Refuse a node with an argument that would be passed over, or without one that it needs."""
    if any(value and name not in allowed for name, value in node.args.items()):
        raise refusal_of(node)
    if any(required and node.args.get(name) is None for name, required in node.arg_types.items()):
        name = node.sql_name().lower() if isinstance(node, exp.Func) else "this"
        raise Refused(f"{name} is missing an argument")


class ColumnScope(Protocol):
    """What names mean."""

    def column(self, node: exp.Column) -> TypedExpression:
        """The column that a name means; an unknown one is refused."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionReader:
    """Reads conditions and expressions over the columns of one scope.

    domains: the values that the columns met so far can take. Everything that is read is remembered, because
        a condition within a condition would else be read again for each TRUE and FALSE around it.
    """

    source: QueryText
    scope: ColumnScope
    domains: dict[str, ValueSet] = field(default_factory=dict)
    _read: dict[int, tuple[exp.Expr, TypedExpression]] = field(default_factory=dict, repr=False)

    def typed(self, node: exp.Expr) -> TypedExpression:
        """What a scalar expression means."""
        cached = self._read.get(id(node))
        if cached is None:
            cached = self._read[id(node)] = (node, self._placed(node))
        return cached[1]

    def predicate(self, node: exp.Expr, *, truth_value: bool = True) -> Predicate:
        """When the condition is TRUE, or, with `truth_value` False, when it is FALSE."""
        try:
            return self._condition(node, truth_value)
        except Refused as problem:
            raise self._at(problem, node) from None

    def constant(self, node: exp.Expr) -> Constant:
        """A literal as an exact value."""
        operand = self.typed(node)
        if not is_literal(operand):
            raise self.source.refusal("a literal value is required here", at=node)
        return constant_of(operand)

    def _placed(self, node: exp.Expr) -> TypedExpression:
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
        word_match = word and re.search(rf"(?<!\w){re.escape(word[0])}(?!\w)", self.source.text, re.IGNORECASE)
        return word_match.span() if word_match else (0, 0)

    def _scalar(self, node: exp.Expr) -> TypedExpression:
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
        handler_entry = _SCALARS.get(type(node))
        if handler_entry is None:
            raise refusal_of(node)
        check_arguments(node, handler_entry[1])
        return handler_entry[0](self, node)

    def _column(self, node: exp.Column) -> TypedExpression:
        column_value = self.scope.column(node)
        for part in walk(column_value.expression):
            if isinstance(part, Code | TextCode):
                self.domains[part.column] = span(part)
        return column_value

    def _digits(self, node: exp.Literal) -> Fraction:
        try:
            return exact.number(re.sub("_", "", str(node.this)), name="a literal")
        except UsageError:
            raise Refused("this number is out of range") from None

    def _truth(self, node: exp.Expr) -> TypedExpression:
        """A condition as a value: 1 where it is TRUE, 0 where it is FALSE, else NULL."""
        when_true, when_false = self.predicate(node), self.predicate(node, truth_value=False)
        if negation(when_true, self.domains) == when_false:
            return TypedExpression(algebra.choose([(when_true, Whole(1))], Whole(0)), BooleanKind())
        return TypedExpression(algebra.choose([(when_true, Whole(1)), (when_false, Whole(0))], Null()), BooleanKind())

    def _condition(self, node: exp.Expr, truth_value: bool) -> Predicate:
        match node:
            case exp.Paren():
                return self.predicate(node.this, truth_value=truth_value)
            case exp.Not():
                return self.predicate(node.this, truth_value=not truth_value)
            case exp.And() | exp.Or():
                parts = [self.predicate(part, truth_value=truth_value) for part in node.flatten()]
                return every(parts) if isinstance(node, exp.And) == truth_value else some(parts, self.domains)
            case exp.Null():
                return FALSE
            case exp.Is():
                return self._is(node, truth_value)
            case exp.Between():
                return self._between(node, truth_value)
            case exp.In():
                return self._in(node, truth_value)
            case exp.NullSafeEQ() | exp.NullSafeNEQ():
                return self._distinct(node, isinstance(node, exp.NullSafeNEQ) == truth_value)
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                operator = _OPERATORS[type(node)]
                return self._compared(self.typed(node.left), operator, self.typed(node.right), truth_value)
            case _:
                return self._flag(node, truth_value)

    def _within(self, operand: TypedExpression, allowed: ValueSet) -> Predicate:
        return within(operand.expression, allowed, self.domains)

    def _compared(
        self, left: TypedExpression, operator: Operator, right: TypedExpression, truth_value: bool
    ) -> Predicate:
        expression, when_true = compare(left, operator, right)
        return within(expression, when_true if truth_value else when_true.complement() & NOT_NULL, self.domains)

    def _flag(self, node: exp.Expr, truth_value: bool) -> Predicate:
        """A value that is true or false."""
        operand = self.typed(node)
        if isinstance(operand.expression, Null):
            return FALSE
        if not isinstance(operand.kind, BooleanKind):
            what = f"{node.name!r}" if isinstance(node, exp.Column) else f"this {type_word(operand.kind)}"
            raise Refused(f"{what} is not boolean, so it cannot be a condition", hint=_HINT)
        return self._within(operand, ValueSet.of([int(truth_value)]))

    def _is(self, node: exp.Is, truth_value: bool) -> Predicate:
        match node.expression:
            case exp.Null():
                return self._within(self.typed(node.this), ONLY_NULL if truth_value else NOT_NULL)
            case exp.Boolean(this=literal_truth):
                holds = self.predicate(node.this, truth_value=bool(literal_truth))
                return holds if truth_value else negation(holds, self.domains)
            case _:
                raise Refused("IS is supported only with NULL, TRUE, FALSE and DISTINCT FROM")

    def _between(self, node: exp.Between, truth_value: bool) -> Predicate:
        if node.args.get("symmetric"):
            raise Refused("BETWEEN SYMMETRIC is not supported", hint="x BETWEEN least(a, b) AND greatest(a, b)")
        operand, low, high = (self.typed(part) for part in (node.this, node.args["low"], node.args["high"]))
        parts = [self._compared(operand, ">=", low, truth_value), self._compared(operand, "<=", high, truth_value)]
        return every(parts) if truth_value else some(parts, self.domains)

    def _in(self, node: exp.In, truth_value: bool) -> Predicate:
        listed = node.args.get("expressions") or []
        if not listed or any(value and name not in ("this", "expressions") for name, value in node.args.items()):
            raise Refused("IN takes a list of values", hint="x IN (1, 2, 3)")
        operand = self.typed(node.this)
        constants: list[ValueSet] = []
        others: list[Predicate] = []
        for part in listed:
            member = self.typed(part)
            if not is_literal(member) or is_literal(operand):
                others.append(self._compared(operand, "=", member, truth_value))
            elif isinstance(member.expression, Null):
                others.append(FALSE)  # x might equal the unknown: not TRUE, and not FALSE either
            else:
                constants.append(self._equal(operand, member, part))
        if constants:
            equal = ValueSet.union(constants)
            others.append(self._within(operand, equal if truth_value else equal.complement() & NOT_NULL))
        return some(others, self.domains) if truth_value else every(others)

    def _equal(self, operand: TypedExpression, member: TypedExpression, node: exp.Expr) -> ValueSet:
        """The values of `operand` that equal a literal."""
        try:
            return compare(operand, "=", member)[1]
        except Refused as problem:
            raise self._at(problem, node) from None

    def _distinct(self, node: exp.Expr, truth_value: bool) -> Predicate:
        """IS DISTINCT FROM where `truth_value`, else IS NOT DISTINCT FROM: NULL counts as a value like any other."""
        left, right = self.typed(node.this), self.typed(node.expression)
        equal = self._compared(left, "=", right, True)
        both = every([self._within(left, ONLY_NULL), self._within(right, ONLY_NULL)])
        same = some([equal, both], self.domains)
        return negation(same, self.domains) if truth_value else same
