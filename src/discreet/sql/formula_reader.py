"""What is computed from aggregates: arithmetic of the select list, HAVING and ORDER BY, as formulas."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.errors import Message, Refused, Statement
from discreet.plan import formula
from discreet.plan.formula import And, Arithmetic, Call, Compare, Formula, IsNull, Not, Or
from discreet.plan.formula.linear import linear
from discreet.sql.aggregates import Aggregates, TypedQuantile, is_aggregate
from discreet.sql.expression_reader import ARGUMENTS, ExpressionReader, check_arguments
from discreet.sql.function_names import FUNCTIONS
from discreet.sql.group_keys import GroupKey
from discreet.sql.query_text import QueryText, span
from discreet.sql.scope import Scope
from discreet.sql.unsupported_syntax import refusal_of
from discreet.sql.window_reader import WindowReader

_OPERATORS: dict[type[exp.Expr], Any] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
_COMPARISONS: dict[type[exp.Expr], Any] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_CALLS: dict[type[exp.Expr], Any] = {
    exp.Abs: "abs",
    exp.Sqrt: "sqrt",
    exp.Ln: "ln",
    exp.Exp: "exp",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Least: "least",
    exp.Greatest: "greatest",
    exp.Coalesce: "coalesce",
    exp.Nullif: "nullif",
}
#: Larger literals, or smaller ones than one over it, make no sense beside counts and sums, and leave floats.
_MOST_LITERAL = Fraction(10**18)

_HINT = (
    "compute with aggregates by + - * /, round, abs, sqrt, ln, log10, log2, exp, floor, ceil, least, greatest, "
    "coalesce, nullif"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormulaReader:
    """Reads expressions over aggregates."""

    source: QueryText
    tree: exp.Select
    scope: Scope
    aggregates: Aggregates
    keys: tuple[GroupKey, ...]
    passes: Callable[[str], bool]

    def name(self, node: exp.Expr) -> str:
        """What a column without an alias is called."""
        if isinstance(node, exp.Column):
            return str(node.name)
        if isinstance(node, exp.Count) and isinstance(node.this, exp.Star):
            return "count"
        words = " ".join(self.source.text_of(node).split())
        if isinstance(node, exp.Func) and "(" not in words:  # the parser forgot where it begins
            words = node.sql(dialect="duckdb").lower()
        return words[:60]

    def key(self, node: exp.Expr, *, required: bool = False) -> int | None:
        """Which key an expression is."""
        node = node.unnest()
        for place, key in enumerate(self.keys):
            if key.node == node:
                return place
        if isinstance(node, exp.Column) and (self.scope.has(node.name) or self.scope.is_person(node)):
            typed_value = self.scope.resolve(node).typed
            for place, key in enumerate(self.keys):
                if key.typed == typed_value:
                    return place
            raise self.row_level(node)
        if required:
            raise self.row_level(node)
        return None

    def row_level(self, node: exp.Expr) -> Refused:
        """The refusal of what would show rows, with a rewrite that passes."""
        keys = [key.node for key in self.keys]
        if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
            return self.source.refusal("SELECT * would show rows of people", at=node, hint=self.rewrite(keys))
        what = "would show rows of people" if not keys else "is not in GROUP BY"
        hint = self.rewrite(list(dict.fromkeys([*keys, node])))
        return self.source.refusal(f"{self.name(node)!r} {what}", at=node, hint=hint)

    def rewrite(self, keys: list[exp.Expr]) -> str:
        """The question as a count by these keys, where that can be answered; else as a plain count."""
        start = self.tree.args["from_"]
        end = self.tree.args.get("where") or (self.tree.args.get("joins") or [start])[-1]
        ends = [place[1] for node in (start, end) if (place := span(node)) is not None]
        begins = self.source.clause("FROM")[0]
        rest = self.source.text[begins : max(ends)] if ends else ""
        rest += ")" * (rest.count("(") - rest.count(")"))
        listed = ", ".join(self.source.text_of(key) for key in keys)
        tries = [f"SELECT {listed}, count(*) {rest} GROUP BY {listed}"] if keys else []
        tries += [f"SELECT count(*) {rest}"]
        return next((Message(Statement(text)) for text in tries if self.passes(text)), "")

    def number(self, node: exp.Expr) -> Formula:
        """A number computed from aggregates."""
        node = self._alias(node.unnest())
        if is_aggregate(node):
            return self._aggregate(node)
        if isinstance(node, exp.Window):
            return self._window(node)
        if type(node) in ARGUMENTS:
            self._check(node)
        match node:
            case exp.Literal() | exp.Neg(this=exp.Literal()):
                value = self._reader().constant(node)
                if isinstance(value, Fraction) and value and not 1 / _MOST_LITERAL <= abs(value) <= _MOST_LITERAL:
                    raise self.source.refusal("this number is out of range", at=node)
                if isinstance(value, Fraction):
                    return formula.FormulaConstant(value)
            case exp.Null():
                return formula.FormulaConstant(None)
            case exp.Neg():
                return Arithmetic("-", formula.FormulaConstant(Fraction(0)), self.number(node.this))
            case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
                return Arithmetic(
                    operator=_OPERATORS[type(node)],
                    left=self.number(node.left),
                    right=self.number(node.right),
                )
            case exp.Log():
                return Call(name=self._logarithm(node), arguments=(self.number(node.expression),))
            case exp.Round():
                return Call(name="round", arguments=(self.number(node.this), self._decimals(node)))
            case exp.Cast() | exp.TryCast():
                whole = node.to.is_type(*exp.DataType.INTEGER_TYPES)
                if not whole and not node.to.is_type(*exp.DataType.NUMERIC_TYPES):
                    raise self.source.refusal("an aggregate can be cast only to a number", at=node, hint=_HINT)
                inner = self.number(node.this)
                zero = formula.FormulaConstant(Fraction(0))
                return Call(name="round", arguments=(inner, zero)) if whole else inner
        if type(node) in _CALLS:
            parts = [node.this, *([node.expression] if node.args.get("expression") else []), *node.expressions]
            return Call(name=_CALLS[type(node)], arguments=tuple(self.number(part) for part in parts))
        if isinstance(node, exp.Star):
            raise self.row_level(node)
        if self.key(node) is not None:
            raise self.source.refusal(
                "a key cannot be mixed with aggregates", at=node, hint="use it in WHERE, or select it by itself"
            )
        if isinstance(node, exp.Column):
            self.scope.resolve(node)
        if isinstance(node, exp.Anonymous) and str(node.this).lower() not in FUNCTIONS:
            problem = refusal_of(node)
            raise self.source.refusal(problem.reason, at=_word(node), hint=problem.hint or _HINT)
        raise self.source.refusal("this cannot be computed from aggregates", at=node, hint=_HINT)

    def _window(self, node: exp.Window) -> Formula:
        """A sum over groups, or the number of a group before or after: computed from noisy numbers, so it is free."""
        reader = WindowReader(refusal=self.source.refusal, key=self._window_key, keys=len(self.keys))
        window = reader.read(node)
        if not any(is_aggregate(part) for part in node.this.this.walk()):
            raise self.source.refusal(
                "window functions are supported only over aggregates, not over rows",
                at=node,
                hint="sum(count(*)) OVER (…), or sum(sum(x)) OVER (…)",
            )
        inner = self.number(node.this.this)
        if any(reference.over is not None for reference in formula.references(inner)):
            raise self.source.refusal("a window function cannot be within another one", at=node)
        other = formula.replace_references(inner, lambda reference: replace(reference, over=window))
        if not isinstance(node.this, exp.Sum):
            return other
        linear_form = linear(inner)
        if linear_form is None or linear_form.constant:
            raise self.source.refusal(
                "only counts and sums can be added up over groups",
                at=node,
                hint="sum(count(*)) OVER (…), or sum(sum(x)) OVER (…) / sum(count(*)) OVER (…)",
            )
        return Arithmetic("+", inner, other) if window.holds_own_group else other

    def _window_key(self, node: exp.Expr) -> int:
        key = self.key(self._alias(node.unnest()), required=True)
        assert key is not None
        return key

    def condition(self, node: exp.Expr) -> Formula:
        """HAVING: a condition over aggregates, judged by noisy values."""
        node = node.unnest()
        match node:
            case exp.And():
                return And(parts=tuple(self.condition(part) for part in node.flatten()))
            case exp.Or():
                return Or(parts=tuple(self.condition(part) for part in node.flatten()))
            case exp.Not():
                return Not(of=self.condition(node.this))
            case exp.Is(expression=exp.Null()):
                return IsNull(of=self.number(node.this))
            case exp.Between():
                value = self.number(node.this)
                low, high = self.number(node.args["low"]), self.number(node.args["high"])
                return And(
                    parts=(
                        Compare(operator=">=", left=value, right=low),
                        Compare(operator="<=", left=value, right=high),
                    )
                )
            case exp.EQ() | exp.NEQ() | exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
                return Compare(
                    operator=_COMPARISONS[type(node)],
                    left=self.number(node.left),
                    right=self.number(node.right),
                )
            case _:
                raise self.source.refusal(
                    "HAVING can only compare aggregates with numbers",
                    at=node,
                    hint="put conditions on rows and keys in WHERE",
                )

    def _alias(self, node: exp.Expr) -> exp.Expr:
        """An alias of the select list stands for what it names."""
        if isinstance(node, exp.Column) and not node.table and not self.scope.has(node.name):
            for item in self.tree.expressions:
                if isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower():
                    target: exp.Expr = item.this.unnest()
                    return target
        return node

    def _aggregate(self, node: exp.Expr) -> Formula:
        aggregate = self.aggregates.read(node)
        if isinstance(aggregate, TypedQuantile):
            raise self.source.refusal(
                "a quantile cannot be part of an expression",
                at=node,
                hint="select it by itself, and compute with the answer",
            )
        return aggregate

    def _check(self, node: exp.Expr) -> None:
        try:
            check_arguments(node, ARGUMENTS[type(node)])
        except Refused as problem:
            raise self.source.refusal(problem.reason, at=node, hint=_HINT) from None

    def _decimals(self, node: exp.Round) -> Formula:
        decimals = node.args.get("decimals")
        value = Fraction(0) if decimals is None else self._reader().constant(decimals)
        if not isinstance(value, Fraction) or value.denominator != 1 or abs(value) > 15:
            raise self.source.refusal("round takes a whole number of digits", at=node)
        return formula.FormulaConstant(value)

    def _logarithm(self, node: exp.Log) -> str:
        base = node.this if node.args.get("expression") is not None else None
        name = f"log{base.this}" if isinstance(base, exp.Literal) else ""
        if name not in ("log2", "log10"):
            raise self.source.refusal(
                "only logarithms to the base 2, 10 or e are supported", at=node, hint="write ln(x), log10(x) or log2(x)"
            )
        return name

    def _reader(self) -> ExpressionReader:
        return self.aggregates.reader


def _word(node: exp.Anonymous) -> exp.Expr | tuple[int, int]:
    """Where the name of a function stands, without its arguments, where the parser remembers."""
    return (node.meta["start"], node.meta["end"] + 1) if "start" in node.meta else node
