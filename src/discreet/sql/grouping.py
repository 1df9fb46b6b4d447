"""GROUP BY: the keys of a question, and the sets of them that its rows are grouped by."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.sql.aggregates import is_aggregate
from discreet.sql.expression_reader import ExpressionReader
from discreet.sql.group_keys import GroupKey, key_of
from discreet.sql.query_text import QueryText
from discreet.sql.scope import Scope
from discreet.sql.subqueries import resolve_item

if TYPE_CHECKING:
    pass


#: Grouping sets beyond this share a budget into nothing.
MOST_SETS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """GROUP BY: the keys, and the sets of them that the rows are grouped by."""

    source: QueryText
    tree: exp.Select
    reader: ExpressionReader
    scope: Scope

    def read(self) -> tuple[tuple[GroupKey, ...], tuple[tuple[int, ...], ...]]:
        """Every key once, and the grouping sets as numbers of keys."""
        clause = self.tree.args.get("group")
        if clause is None:
            return self._distinct()
        nodes: list[exp.Expr] = []
        if clause.args.get("all"):
            plain = [node.this if isinstance(node, exp.Alias) else node for node in self.tree.expressions]
            listed = [node for node in plain if not any(is_aggregate(part) for part in node.walk())]
            choices = [[tuple(self._place(nodes, node) for node in listed)]]
        else:
            choices = [self._choices(part, nodes) for part in self._parts(clause)]
        sets = [tuple(dict.fromkeys(itertools.chain(*chosen))) for chosen in itertools.product(*choices)]
        if len(sets) > MOST_SETS:
            raise self.source.refusal(f"at most {MOST_SETS} grouping sets are supported", at=clause)
        keys = tuple(key_of(node, self.reader, self.scope) for node in nodes)
        unique = dict.fromkeys(tuple(sorted(chosen)) for chosen in sets)
        return keys, tuple(unique)

    def _distinct(self) -> tuple[tuple[GroupKey, ...], tuple[tuple[int, ...], ...]]:
        """SELECT DISTINCT x is SELECT x … GROUP BY x."""
        if not self.tree.args.get("distinct"):
            return (), ((),)
        plain = [node.this if isinstance(node, exp.Alias) else node for node in self.tree.expressions]
        if any(is_aggregate(part) for node in plain for part in node.walk()):
            return (), ((),)
        nodes: list[exp.Expr] = []
        chosen = tuple(self._place(nodes, node) for node in plain)
        return tuple(key_of(node, self.reader, self.scope) for node in nodes), (chosen,)

    def _parts(self, clause: exp.Group) -> list[exp.Expr]:
        strange = [
            name
            for name, value in clause.args.items()
            if value and name not in ("expressions", "rollup", "cube", "grouping_sets")
        ]
        if strange:
            raise self.source.refusal("this form of GROUP BY is not supported", at=clause)
        more = [part for name in ("rollup", "cube", "grouping_sets") for part in clause.args.get(name) or []]
        return [*clause.expressions, *more]

    def _choices(self, part: exp.Expr, nodes: list[exp.Expr]) -> list[tuple[int, ...]]:
        """What one part of GROUP BY may add to a grouping set."""
        match part:
            case exp.Rollup() | exp.Cube() if not part.expressions:
                raise self.source.refusal(
                    "this form of GROUP BY is not supported", at=part, hint="GROUP BY ROLLUP (a, b)"
                )
            case exp.Rollup():
                groups = [self._group(each, nodes) for each in part.expressions]
                return [tuple(itertools.chain(*groups[:size])) for size in range(len(groups), -1, -1)]
            case exp.Cube():
                groups = [self._group(each, nodes) for each in part.expressions]
                if len(groups) > 6:
                    raise self.source.refusal("CUBE supports at most 6 keys", at=part)
                sizes = range(len(groups), -1, -1)
                return [
                    tuple(itertools.chain(*chosen)) for size in sizes for chosen in itertools.combinations(groups, size)
                ]
            case exp.GroupingSets():
                return [choice for each in part.expressions for choice in self._nested(each, nodes)]
            case _:
                return [self._group(part, nodes)]

    def _nested(self, part: exp.Expr, nodes: list[exp.Expr]) -> list[tuple[int, ...]]:
        if isinstance(part, exp.Rollup | exp.Cube | exp.GroupingSets):
            return self._choices(part, nodes)
        return [self._group(part, nodes)]

    def _group(self, part: exp.Expr, nodes: list[exp.Expr]) -> tuple[int, ...]:
        """A key, or several in parentheses."""
        if isinstance(part, exp.Tuple):
            return tuple(self._place(nodes, each) for each in part.expressions)
        return (self._place(nodes, part),)

    def _place(self, nodes: list[exp.Expr], node: exp.Expr) -> int:
        node = resolve_item(node, self.tree, self.scope, self.source)
        if any(is_aggregate(part) for part in node.walk()):
            raise self.source.refusal("an aggregate cannot be a key", at=node)
        if node not in nodes:
            nodes.append(node)
        return nodes.index(node)
