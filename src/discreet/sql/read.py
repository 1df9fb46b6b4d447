"""SQL to plan: the analyst's text ends here. What is not on the list is refused, with the clause at fault.

WITH … SELECT keys, aggregates FROM tables, joins, subqueries WHERE … GROUP BY … HAVING … ORDER BY … LIMIT
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import Refused
from discreet.plan import formula
from discreet.plan.cells import Axis
from discreet.plan.formula import Formula
from discreet.plan.inquiry import Inquiry
from discreet.plan.relation import Plan
from discreet.plan.stability import Reach, check_distinct, reach
from discreet.plan.statistics import Persons, Rows, Statistic
from discreet.plan.work import check_work
from discreet.schema.schema import Schema
from discreet.sql.aggregates import Aggregates, QuantileAsked, is_aggregate
from discreet.sql.asked import Asked, Order, Output
from discreet.sql.catalog import Catalog
from discreet.sql.grouping import Grouping
from discreet.sql.inner import Subqueries, resolved
from discreet.sql.joins import example
from discreet.sql.keys import Key, order_of
from discreet.sql.modifiers import refuse_unread
from discreet.sql.outputs import Formulas
from discreet.sql.scope import Relation, versions
from discreet.sql.text import Source, parse, statements

if TYPE_CHECKING:
    pass

_CLAUSES = {
    "laterals": ("LATERAL is not known", "LATERAL"),
    "windows": ("window functions are not known", "WINDOW"),
    "qualify": ("QUALIFY is not known", "QUALIFY"),
    "sample": ("sampling would add chance that nobody accounts for", "USING SAMPLE"),
}
_KNOWN = {
    "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_",
}  # fmt: skip


def read(text: str, catalog: Catalog) -> Asked:
    """Read one question over declared tables. Refusals are free and the same on an empty table."""
    return _read(text, catalog, {})


def read_batch(text: str, catalog: Catalog) -> list[Asked]:
    """Read several statements as one plan: those that group the same rows alike share what they measure.

    Such questions have one and the same inquiry.
    """
    shared: dict[object, _Shared] = {}
    found = [_read(each, catalog, shared) for each in statements(text)]
    return [_together(asked, shared) for asked in found]


def _read(text: str, catalog: Catalog, shared: dict[object, _Shared]) -> Asked:
    source, tree = parse(text)
    try:
        asked = _Select(source=source, catalog=catalog, shared=shared).read(tree)
        refuse_unread(source, tree)
        return asked
    except RecursionError:
        raise source.refusal("this is nested too deeply", hint="write it flatter") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shared:
    """What questions over the same groups measure together."""

    statistics: list[Statistic] = field(default_factory=list)
    quantiles: list[QuantileAsked] = field(default_factory=list)


def _group(plan: Plan, keys: tuple[Key, ...], sets: tuple[tuple[int, ...], ...]) -> object:
    return plan, tuple(frozenset(_axes(keys, chosen)) for chosen in sets)


def _together(asked: Asked, shared: Mapping[object, _Shared]) -> Asked:
    """A question of a batch, over all that its group measures."""
    inquiry = asked.inquiry
    if inquiry.keys:
        return asked
    parts = shared[_group(inquiry.plan, asked.keys, asked.sets)]
    inquiry = replace(
        inquiry,
        statistics=tuple(parts.statistics),
        quantiles=tuple(part.quantile for part in parts.quantiles),
    )
    check_work(inquiry, asked.schemas)
    return replace(asked, inquiry=inquiry, quantiles=tuple(parts.quantiles))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Select:
    source: Source
    catalog: Catalog
    shared: dict[object, _Shared]

    def read(self, tree: exp.Expr) -> Asked:
        if not isinstance(tree, exp.Select):
            raise self.source.refusal(
                "only SELECT can be answered",
                at=self.source.clause("UNION", "INTERSECT", "EXCEPT"),
                hint=example(self.catalog),
            )
        self._only_known_clauses(tree)
        subqueries = Subqueries(source=self.source, catalog=self.catalog, named={})
        relation, reader, scope = subqueries.rows(tree)
        found = self._reach(relation, subqueries)
        grouping = Grouping(source=self.source, tree=tree, reader=reader, scope=scope)
        keys, sets = grouping.read()
        parts = _Shared()
        if not any(key.axis is None for key in keys):
            parts = self.shared.setdefault(_group(relation.plan, keys, sets), parts)
        aggregates = Aggregates(
            reader=reader, scope=scope, reach=found, statistics=parts.statistics, quantiles=parts.quantiles
        )
        formulas = Formulas(
            source=self.source, tree=tree, scope=scope, aggregates=aggregates, keys=keys, passes=self._passes
        )
        outputs = self._outputs(tree, formulas, keys, aggregates)
        having = formulas.condition(tree.args["having"].this) if tree.args.get("having") else None
        order = self._order(tree, formulas, outputs)
        limit, offset = self._limit(tree, order)
        if not aggregates.statistics and not aggregates.quantiles and all(key.axis is not None for key in keys):
            raise self._no_aggregate(formulas, keys, distinct=bool(tree.args.get("distinct")))
        return self._asked(
            relation,
            found,
            keys,
            sets,
            aggregates,
            outputs,
            having,
            order,
            limit,
            offset,
            distinct=bool(tree.args.get("distinct")),
        )

    def _asked(
        self,
        relation: Relation,
        found: Reach,
        keys: tuple[Key, ...],
        sets: tuple[tuple[int, ...], ...],
        aggregates: Aggregates,
        outputs: tuple[Output, ...],
        having: Formula | None,
        order: tuple[Order, ...],
        limit: int | None,
        offset: int,
        *,
        distinct: bool,
    ) -> Asked:
        unknown = [key for key in keys if key.axis is None]
        if distinct and (aggregates.statistics or aggregates.quantiles or len(unknown) < len(keys)):
            raise self.source.refusal(
                "DISTINCT is for keys that are to be discovered, alone",
                at=self.source.clause("DISTINCT"),
                hint="GROUP BY the keys, and count them",
            )
        statistics: tuple[Statistic, ...] = tuple(aggregates.statistics)
        if not statistics and not aggregates.quantiles:
            # The discovered keys alone; where a unit is a row, rows are the persons.
            statistics = (Rows(),) if relation.known.schema.unit.is_row else (Persons(),)
        if unknown and len(sets) > 1:
            raise self.source.refusal(
                "grouping sets need declared keys", at=unknown[0].node, hint="declare the column as a category"
            )
        if unknown and relation.known.schema.unit.is_row and found.rows > 1:
            raise self.source.refusal(
                "keys cannot be discovered where a public table repeats rows",
                at=unknown[0].node,
                hint="declare the column as a category with its values",
            )
        try:
            check_distinct(statistics, found)
            schemas = {scan.table: _schema(self.catalog, scan.table) for scan in versions(relation)}
            inquiry = Inquiry(
                plan=relation.plan,
                sets=tuple(_axes(keys, chosen) for chosen in sets),
                statistics=statistics,
                quantiles=tuple(asked.quantile for asked in aggregates.quantiles),
                keys=tuple(key.typed.expression for key in unknown),
                top=limit if _is_top(order, limit, offset, having, keys, outputs, statistics, found) else None,
            )
            check_work(inquiry, schemas)
        except Refused as problem:
            raise self.source.refusal(
                problem.reason, at=self.source.clause("GROUP BY", "SELECT"), hint=problem.hint
            ) from None
        return Asked(
            text=self.source.text,
            inquiry=inquiry,
            reach=found,
            keys=keys,
            sets=sets,
            outputs=outputs,
            quantiles=tuple(aggregates.quantiles),
            having=having,
            order=order,
            limit=limit,
            offset=offset,
            tables=tuple(versions(relation)),
            schemas=schemas,
            publics={place: coded.rows for place, coded in relation.publics.items()},
            warnings=tuple(aggregates.warnings),
        )

    def _reach(self, relation: Relation, subqueries: Subqueries) -> Reach:
        try:
            return reach(relation.plan, subqueries.schemas())
        except Refused as problem:
            raise self.source.refusal(problem.reason, at=self.source.clause("FROM"), hint=problem.hint) from None

    def _only_known_clauses(self, tree: exp.Select) -> None:
        for name, value in tree.args.items():
            if not value or name in _KNOWN:
                continue
            reason, keyword = _CLAUSES.get(name, ("this clause is not known", "SELECT"))
            raise self.source.refusal(reason, at=self.source.clause(keyword), hint=example(self.catalog))
        distinct = tree.args.get("distinct")
        if distinct and distinct.args.get("on"):
            raise self.source.refusal("DISTINCT ON is not known", at=distinct)

    def _outputs(
        self, tree: exp.Select, formulas: Formulas, keys: tuple[Key, ...], aggregates: Aggregates
    ) -> tuple[Output, ...]:
        found: list[Output] = []
        for node, name in zip(tree.expressions, _names(tree.expressions, formulas), strict=True):
            inner = node.this if isinstance(node, exp.Alias) else node
            found.append(self._output(name, inner, formulas, aggregates))
        if len({output.name for output in found}) != len(found):
            raise self.source.refusal("two columns of the answer have the same name", hint="give them aliases with AS")
        return tuple(found)

    def _output(self, name: str, node: exp.Expr, formulas: Formulas, aggregates: Aggregates) -> Output:
        if isinstance(node, exp.Grouping):
            if len(node.expressions) != 1:
                raise self.source.refusal("grouping() takes one key", at=node, hint="grouping(a), grouping(b)")
            return Output(name=name, grouping=formulas.key(node.expressions[0], wanted=True))
        key = formulas.key(node)
        if key is not None:
            return Output(name=name, key=key)
        if is_aggregate(node):
            read = aggregates.read(node)
            if isinstance(read, QuantileAsked):
                return Output(name=name, quantile=aggregates.quantiles.index(read))
            return Output(name=name, formula=read)
        read_formula = formulas.number(node)
        return Output(name=name, formula=read_formula)

    def _order(self, tree: exp.Select, formulas: Formulas, outputs: tuple[Output, ...]) -> tuple[Order, ...]:
        clause = tree.args.get("order")
        if clause is None:
            return ()
        found = []
        for part in clause.expressions:
            node = resolved(part.this, tree, formulas.scope, self.source, alias_first=True)
            place = next(
                (
                    place
                    for place, item in enumerate(tree.expressions)
                    if (item.this if isinstance(item, exp.Alias) else item) == node
                ),
                None,
            )
            hidden = None if place is not None else self._hidden(node, formulas)
            found.append(
                Order(
                    output=place,
                    formula=None if place is not None or hidden is not None else formulas.number(node),
                    hidden=hidden,
                    descending=bool(part.args.get("desc")),
                    nulls_first=bool(part.args.get("nulls_first")),
                )
            )
        return tuple(found)

    def _hidden(self, node: exp.Expr, formulas: Formulas) -> Output | None:
        """A key or a quantile to order by that is not selected; None for a formula."""
        if is_aggregate(node):
            read = formulas.aggregates.read(node)
            return (
                Output(name="", quantile=formulas.aggregates.quantiles.index(read))
                if isinstance(read, QuantileAsked)
                else None
            )
        key = None if isinstance(node, exp.Literal) else formulas.key(node)
        return None if key is None else Output(name="", key=key)

    def _limit(self, tree: exp.Select, order: tuple[Order, ...]) -> tuple[int | None, int]:
        found: list[int | None] = []
        for name in ("limit", "offset"):
            clause = tree.args.get(name)
            if clause is None:
                found.append(None)
                continue
            node = clause.args.get("expression") if isinstance(clause, exp.Limit | exp.Offset) else None
            if [key for key, value in clause.args.items() if value and key != "expression"]:
                node = None
            if not isinstance(node, exp.Literal) or not str(node.this).isdigit() or len(str(node.this)) > 9:
                raise self.source.refusal(f"{name.upper()} needs a whole number", at=self.source.clause(name.upper()))
            if not order:
                raise self.source.refusal(
                    f"{name.upper()} without ORDER BY picks rows by chance",
                    at=self.source.clause(name.upper()),
                    hint="ORDER BY count(*) DESC LIMIT 10",
                )
            found.append(int(node.this))
        return found[0], found[1] or 0

    def _passes(self, text: str) -> bool:
        """Whether a rewrite can be answered."""
        try:
            _read(text, self.catalog, {})
        except Refused:
            return False
        return True

    def _no_aggregate(self, formulas: Formulas, keys: tuple[Key, ...], *, distinct: bool) -> Refused:
        reason = "a question needs a count or a sum beside its keys"
        if distinct:
            reason = "these values are declared, so which there are is public; how many rows have them is not"
        return self.source.refusal(
            reason,
            at=self.source.clause("DISTINCT" if distinct else "SELECT"),
            hint=formulas.rewrite([key.node for key in keys]),
        )


def _schema(catalog: Catalog, table: str) -> Schema:
    """What a table was read as: a question means nothing against another declaration."""
    return next(known.schema for known in catalog.values() if known.schema.table == table)


def _names(items: list[exp.Expr], formulas: Formulas) -> list[str]:
    """What the columns of an answer are called: `a.city` and `b.city` by their tables too, for both are a city."""
    plain = [str(item.alias) if isinstance(item, exp.Alias) else formulas.name(item) for item in items]
    return [
        f"{item.table}.{name}" if isinstance(item, exp.Column) and item.table and plain.count(name) > 1 else name
        for item, name in zip(items, plain, strict=True)
    ]


def _axes(keys: tuple[Key, ...], chosen: tuple[int, ...]) -> tuple[Axis, ...]:
    """The axes of a grouping set, in an order that does not depend on spelling."""
    found = [axis for key in chosen if (axis := keys[key].axis) is not None]
    return tuple(sorted(dict.fromkeys(found), key=order_of))


def _is_top(
    order: tuple[Order, ...],
    limit: int | None,
    offset: int,
    having: Formula | None,
    keys: tuple[Key, ...],
    outputs: tuple[Output, ...],
    statistics: tuple[Statistic, ...],
    found: Reach,
) -> bool:
    """Whether a question asks for the most common of discovered keys, and for no others.

    They are chosen by their numbers of persons, which rows are only where nobody has several.
    """
    if not limit or offset or having is not None or not order or not order[0].descending:
        return False
    if not keys or any(key.axis is not None for key in keys):
        return False
    first = order[0]
    by = first.formula if first.output is None else outputs[first.output].formula
    wanted = (Rows(), Persons()) if found.rows == 1 else (Persons(),)
    counted = [formula.count(index) for index, known in enumerate(statistics) if known in wanted]
    return by in counted
