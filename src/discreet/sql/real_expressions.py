"""sqrt, ln, log10, log2 and exp of one row: on a grid, and NULL where they have no value."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sqlglot import exp

from discreet.accounting.region import ValueSet
from discreet.errors import Refused
from discreet.plan import algebra
from discreet.plan.expressions import Null, Number
from discreet.plan.predicate import within
from discreet.plan.real_functions import LOGARITHM_STEP, exponential, logarithm, square_root
from discreet.sql.scalar_expressions import Handler, ScalarReader, numeric, on_grid
from discreet.sql.typed_expression import NumericKind, TypedExpression, codes_of, literal

_LOGARITHMS = "write ln(x), log10(x) or log2(x)"
_BASES = ("2", "10")


def _operand(reader: ScalarReader, node: exp.Expr) -> tuple[Number, Fraction]:
    operand = numeric(reader, node)
    assert isinstance(operand.kind, NumericKind)
    return codes_of(operand), operand.kind.step


def _where(reader: ScalarReader, code: Number, least: int | None, number: Number, step: Fraction) -> TypedExpression:
    """A number where its operand is not NULL and at least `least`, else NULL."""
    has_value = within(code, ValueSet.interval(least, None), reader.domains)
    typed = on_grid(algebra.choose([(has_value, number)], Null()), step)
    return TypedExpression(typed.expression, typed.kind, defined=has_value)


def _square_root(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    code, step = _operand(reader, node.this)
    if isinstance(code, Null):
        return literal(None)
    return _where(reader, code, 0, *square_root(code, step))


def _natural_logarithm(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    return _logarithm(reader, node.this, None)


def _logarithm_to_base(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    base = node.this
    if node.args.get("expression") is None:
        raise Refused("log(x) is another function in other databases", hint=_LOGARITHMS)
    if not isinstance(base, exp.Literal) or base.this not in _BASES:
        raise Refused("only logarithms to the base 2, 10 or e are supported", hint=_LOGARITHMS)
    return _logarithm(reader, node.expression, int(base.this))


def _logarithm(reader: ScalarReader, node: exp.Expr, base: int | None) -> TypedExpression:
    code, step = _operand(reader, node)
    if isinstance(code, Null):
        return literal(None)
    return _where(reader, code, 1, logarithm(code, step, base), LOGARITHM_STEP)


def _exponential(reader: ScalarReader, node: exp.Expr) -> TypedExpression:
    code, step = _operand(reader, node.this)
    if isinstance(code, Null):
        return literal(None)
    return _where(reader, code, None, *exponential(code, step))


#: What is known, with the arguments that are.
REALS: Mapping[type[exp.Expr], tuple[Handler, frozenset[str]]] = {
    exp.Sqrt: (_square_root, frozenset({"this"})),
    exp.Ln: (_natural_logarithm, frozenset({"this"})),
    exp.Log: (_logarithm_to_base, frozenset({"this", "expression"})),
    exp.Exp: (_exponential, frozenset({"this"})),
}
