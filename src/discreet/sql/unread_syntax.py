"""Modifiers: parts of a question that a parser accepts and no reader looks at. They are refused, not passed over.

Guarantee: every part of a question that is answered was read.
Because: each reader takes the arguments that are listed here for its kind of node, and no others; a node that has one
    more is refused after all readers are done, so what they refuse themselves they say in their own words.
"""

from __future__ import annotations

from sqlglot import exp

from discreet.errors import Refused
from discreet.sql.expression_reader import ARGUMENTS
from discreet.sql.query_text import QueryText

#: What a node of any other kind may have.
_PLAIN = frozenset({"this", "expression", "expressions"})

_SELECT = _PLAIN | {"from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_"}
_AGGREGATE = _PLAIN | {"quantile", "big_int"}

#: What readers look at, by the kind of node.
READ_ARGUMENTS: dict[type[exp.Expr], frozenset[str]] = {
    **ARGUMENTS,
    exp.Select: _SELECT,
    exp.Join: frozenset({"this", "on", "using", "side", "kind"}),
    exp.Table: frozenset({"this", "alias"}),
    exp.Subquery: frozenset({"this", "alias"}),
    exp.CTE: frozenset({"this", "alias", "materialized"}),  # which says how to compute, not what
    exp.Group: frozenset({"expressions", "all", "rollup", "cube", "grouping_sets"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Star: frozenset(),
    exp.Column: frozenset({"this", "table"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Literal: frozenset({"this", "is_string"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Between: frozenset({"this", "low", "high"}),
    exp.TableAlias: frozenset({"this"}),
    exp.Window: frozenset({"this", "partition_by", "order", "spec", "over"}),
    exp.WindowSpec: frozenset({"kind", "start", "start_side", "end", "end_side"}),
    exp.Lag: frozenset({"this", "offset"}),
    exp.Lead: frozenset({"this", "offset"}),
}

_KEYWORDS = {"except_": "EXCLUDE", "key_expressions": "USING KEY"}
_STAR = "write count(*) to count rows; in a subquery write the columns that you need"


def refuse_unread(source: QueryText, tree: exp.Expr) -> None:
    """Refuse a question with a part that nobody read."""
    for node in tree.walk():
        for name, value in node.args.items():
            if value and name not in _read_by(node):
                raise _refusal(source, node, name)


def _read_by(node: exp.Expr) -> frozenset[str]:
    return READ_ARGUMENTS.get(type(node), _AGGREGATE if isinstance(node, exp.AggFunc) else _PLAIN)


def _refusal(source: QueryText, node: exp.Expr, name: str) -> Refused:
    keyword = _KEYWORDS.get(name, name.strip("_").upper().replace("_", " "))
    if isinstance(node, exp.Star):
        return source.refusal(f"* with {keyword} is not supported", at=source.clause(keyword, "EXCEPT"), hint=_STAR)
    return source.refusal(f"{keyword} is not supported", at=source.clause(keyword), hint=f"remove {keyword}")
