"""SQL to plan: the analyst's text ends here. What is not on the list is refused, with the clause at fault.

WITH … SELECT keys, aggregates FROM tables, joins, subqueries WHERE … GROUP BY … HAVING … ORDER BY … LIMIT
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from discreet.errors import Refused
from discreet.plan import formula
from discreet.plan.cell_statistics import PersonCount, RowCount, Statistic
from discreet.plan.cells import Axis
from discreet.plan.formula import Formula
from discreet.plan.inquiry import Inquiry
from discreet.plan.query_sensitivity import UnitReach, check_distinct, reach
from discreet.plan.relation import Plan
from discreet.plan.work_bound import check_work
from discreet.schema.schema import Schema
from discreet.sql.aggregates import Aggregates, TypedQuantile, is_aggregate
from discreet.sql.catalog import Catalog
from discreet.sql.formula_reader import FormulaReader
from discreet.sql.group_keys import GroupKey, axis_order
from discreet.sql.group_limits import limited_plan, read_limits, with_columns
from discreet.sql.grouping import Grouping
from discreet.sql.joins import example_query
from discreet.sql.parsed_query import OrderTerm, OutputColumn, ParsedQuery
from discreet.sql.query_text import QueryText, parse_statement, split_statements
from discreet.sql.scope import NamedRelation, declared_scans
from discreet.sql.subqueries import Subqueries, resolve_item
from discreet.sql.unread_syntax import refuse_unread

_CLAUSES = {
    "laterals": ("LATERAL is not supported", "LATERAL"),
    "windows": ("window functions are not supported", "WINDOW"),
    "qualify": ("QUALIFY is not supported", "QUALIFY"),
    "sample": ("sampling would add randomness that is not accounted for", "USING SAMPLE"),
}
_SUPPORTED_CLAUSES = {
    "expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "distinct", "with_",
}  # fmt: skip


def parse_query(text: str, catalog: Catalog, *, was_accepted: bool = False) -> ParsedQuery:
    """Read one question over declared tables. Refusals are free and the same on an empty table.

    `was_accepted`: the text was read before, when it was asked, and DuckDB's grammar knows it.
    """
    return _parse_query(text, catalog, {}, was_accepted=was_accepted)


def parse_batch(text: str, catalog: Catalog) -> list[ParsedQuery]:
    """Read several statements as one plan: those that group the same rows alike share what they measure.

    Such questions have one and the same inquiry.
    """
    shared: dict[object, _SharedStatistics] = {}
    queries = [_parse_query(each, catalog, shared) for each in split_statements(text)]
    return [_with_shared_statistics(query, shared) for query in queries]


def _parse_query(
    text: str, catalog: Catalog, shared: dict[object, _SharedStatistics], *, was_accepted: bool = False
) -> ParsedQuery:
    source, tree = parse_statement(text, was_accepted=was_accepted)
    try:
        query = _Select(source=source, catalog=catalog, shared=shared).read(tree)
        refuse_unread(source, tree)
        return query
    except RecursionError:
        raise source.refusal("this query is nested too deeply", hint="reduce the nesting") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _SharedStatistics:
    """What questions over the same groups measure together."""

    statistics: list[Statistic] = field(default_factory=list)
    quantiles: list[TypedQuantile] = field(default_factory=list)


def _group_identity(plan: Plan, keys: tuple[GroupKey, ...], sets: tuple[tuple[int, ...], ...]) -> object:
    return plan, tuple(frozenset(_axes(keys, chosen)) for chosen in sets)


def _with_shared_statistics(query: ParsedQuery, shared: Mapping[object, _SharedStatistics]) -> ParsedQuery:
    """A question of a batch, over all that its group measures."""
    inquiry = query.inquiry
    if inquiry.keys:
        return query
    parts = shared[_group_identity(with_columns(inquiry.plan, (), ()), query.keys, query.sets)]
    quantiles = tuple(part.quantile for part in parts.quantiles)
    inquiry = replace(
        inquiry,
        plan=with_columns(inquiry.plan, parts.statistics, quantiles),
        statistics=tuple(parts.statistics),
        quantiles=quantiles,
    )
    check_work(inquiry, query.schemas)
    return replace(query, inquiry=inquiry, quantiles=tuple(parts.quantiles))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Clauses:
    """What a SELECT groups by, gives and orders by."""

    keys: tuple[GroupKey, ...]
    sets: tuple[tuple[int, ...], ...]
    outputs: tuple[OutputColumn, ...]
    having: Formula | None
    order: tuple[OrderTerm, ...]
    limit: int | None
    offset: int
    distinct: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Select:
    source: QueryText
    catalog: Catalog
    shared: dict[object, _SharedStatistics]

    def read(self, tree: exp.Expr) -> ParsedQuery:
        if not isinstance(tree, exp.Select):
            raise self.source.refusal(
                "only SELECT statements can be answered",
                at=self.source.clause("UNION", "INTERSECT", "EXCEPT"),
                hint=example_query(self.catalog),
            )
        self._only_known_clauses(tree)
        subqueries = Subqueries(source=self.source, catalog=self.catalog, named={})
        relation, reader, scope = subqueries.rows(tree)
        grouping = Grouping(source=self.source, tree=tree, reader=reader, scope=scope)
        keys, sets = grouping.read()
        relation = self._with_limits(relation, keys)
        row_reach = self._reach(relation, subqueries)
        parts = _SharedStatistics()
        if not any(key.axis is None for key in keys):
            parts = self.shared.setdefault(_group_identity(relation.plan, keys, sets), parts)
        aggregates = Aggregates(
            reader=reader, scope=scope, reach=row_reach, statistics=parts.statistics, quantiles=parts.quantiles
        )
        formulas = FormulaReader(
            source=self.source, tree=tree, scope=scope, aggregates=aggregates, keys=keys, passes=self._passes
        )
        outputs = self._outputs(tree, formulas, keys, aggregates)
        having = formulas.condition(tree.args["having"].this) if tree.args.get("having") else None
        order = self._order(tree, formulas, outputs)
        limit, offset = self._limit(tree, order)
        if not aggregates.statistics and not aggregates.quantiles and all(key.axis is not None for key in keys):
            raise self._no_aggregate(formulas, keys, distinct=bool(tree.args.get("distinct")))
        clauses = _Clauses(
            keys=keys,
            sets=sets,
            outputs=outputs,
            having=having,
            order=order,
            limit=limit,
            offset=offset,
            distinct=bool(tree.args.get("distinct")),
        )
        return self._build_query(relation, row_reach, aggregates, clauses)

    def _build_query(
        self, relation: NamedRelation, row_reach: UnitReach, aggregates: Aggregates, clauses: _Clauses
    ) -> ParsedQuery:
        keys, sets = clauses.keys, clauses.sets
        unknown = [key for key in keys if key.axis is None]
        if clauses.distinct and (aggregates.statistics or aggregates.quantiles or len(unknown) < len(keys)):
            raise self.source.refusal(
                "DISTINCT can only select discovered keys, and nothing else",
                at=self.source.clause("DISTINCT"),
                hint="GROUP BY the keys, and count them",
            )
        self._check_windows(clauses)
        statistics: tuple[Statistic, ...] = tuple(aggregates.statistics)
        if not statistics and not aggregates.quantiles:
            # The discovered keys alone; where a unit is a row, rows are the persons.
            statistics = (RowCount(),) if relation.catalog_table.schema.unit.is_row else (PersonCount(),)
        if unknown and len(sets) > 1:
            raise self.source.refusal(
                "grouping sets need declared keys", at=unknown[0].node, hint="declare the column as a category"
            )
        if unknown and relation.catalog_table.schema.unit.is_row and row_reach.rows > 1:
            raise self.source.refusal(
                "keys cannot be discovered when a join with a public table repeats rows",
                at=unknown[0].node,
                hint="declare the column as a category with its values",
            )
        try:
            check_distinct(statistics, row_reach)
            schemas = {scan.table: _schema(self.catalog, scan.table) for scan in declared_scans(relation)}
            inquiry = Inquiry(
                plan=with_columns(relation.plan, statistics, (each.quantile for each in aggregates.quantiles)),
                sets=tuple(_axes(keys, chosen) for chosen in sets),
                statistics=statistics,
                quantiles=tuple(typed_quantile.quantile for typed_quantile in aggregates.quantiles),
                keys=tuple(key.typed.expression for key in unknown),
                top=clauses.limit if _is_top(clauses, statistics, row_reach) else None,
            )
            check_work(inquiry, schemas)
        except Refused as problem:
            raise self.source.refusal(
                problem.reason, at=self.source.clause("GROUP BY", "SELECT"), hint=problem.hint
            ) from None
        return ParsedQuery(
            text=self.source.text,
            inquiry=inquiry,
            reach=row_reach,
            keys=keys,
            sets=sets,
            outputs=clauses.outputs,
            quantiles=tuple(aggregates.quantiles),
            having=clauses.having,
            order=clauses.order,
            limit=clauses.limit,
            offset=clauses.offset,
            tables=tuple(declared_scans(relation)),
            schemas=schemas,
            publics={place: coded.rows for place, coded in relation.publics.items()},
            warnings=tuple(aggregates.warnings),
        )

    def _with_limits(self, relation: NamedRelation, keys: tuple[GroupKey, ...]) -> NamedRelation:
        """The rows under the limits that the statement's comments set."""
        limits = read_limits(self.source)
        schema = relation.catalog_table.schema
        if keys:
            limits = limits.or_else(groups=schema.groups, rows=schema.group_rows)
        if not limits:
            return relation
        if not relation.has_person:
            raise self.source.refusal(
                "limits for each person need a table whose privacy unit is a person", hint="leave the limits out"
            )
        if limits.groups is not None and not keys:
            raise self.source.refusal("groups per person needs groups", hint="add a GROUP BY, or leave the limit out")
        axes = dict.fromkeys(key.axis for key in keys if key.axis is not None)
        discovered = [key.typed.expression for key in keys if key.axis is None]
        plan = limited_plan(relation.plan, limits, sorted(axes, key=axis_order), sorted(discovered, key=repr))
        return replace(relation, plan=plan)

    def _check_windows(self, clauses: _Clauses) -> None:
        """Refuse windows over groups that depend on the data, or that are not all of one kind."""
        formulas = [output.formula for output in clauses.outputs] + [part.formula for part in clauses.order]
        formulas.append(clauses.having)
        references = [each for of in formulas if of is not None for each in formula.references(of)]
        if all(each.over is None for each in references):
            return
        at = self.source.clause("OVER")
        if clauses.having is not None:
            raise self.source.refusal(
                "HAVING cannot be combined with window functions", at=at, hint="put conditions on keys in WHERE"
            )
        if len(clauses.sets) > 1:
            raise self.source.refusal(
                "window functions cannot be combined with grouping sets", at=at, hint="ask one query for each"
            )
        if any(key.axis is None for key in clauses.keys):
            raise self.source.refusal(
                "window functions need declared keys", at=at, hint="declare the column as a category with its values"
            )

    def _reach(self, relation: NamedRelation, subqueries: Subqueries) -> UnitReach:
        try:
            return reach(relation.plan, subqueries.schemas())
        except Refused as problem:
            raise self.source.refusal(problem.reason, at=self.source.clause("FROM"), hint=problem.hint) from None

    def _only_known_clauses(self, tree: exp.Select) -> None:
        for name, value in tree.args.items():
            if not value or name in _SUPPORTED_CLAUSES:
                continue
            reason, keyword = _CLAUSES.get(name, ("this clause is not supported", "SELECT"))
            raise self.source.refusal(reason, at=self.source.clause(keyword), hint=example_query(self.catalog))
        distinct = tree.args.get("distinct")
        if distinct and distinct.args.get("on"):
            raise self.source.refusal("DISTINCT ON is not supported", at=distinct)

    def _outputs(
        self, tree: exp.Select, formulas: FormulaReader, keys: tuple[GroupKey, ...], aggregates: Aggregates
    ) -> tuple[OutputColumn, ...]:
        columns: list[OutputColumn] = []
        for node, name in zip(tree.expressions, _names(tree.expressions, formulas), strict=True):
            inner = node.this if isinstance(node, exp.Alias) else node
            columns.append(self._output(name, inner, formulas, aggregates))
        if len({output.name for output in columns}) != len(columns):
            raise self.source.refusal("two columns of the answer have the same name", hint="give them aliases with AS")
        return tuple(columns)

    def _output(self, name: str, node: exp.Expr, formulas: FormulaReader, aggregates: Aggregates) -> OutputColumn:
        if isinstance(node, exp.Grouping):
            if len(node.expressions) != 1:
                raise self.source.refusal("grouping() takes one key", at=node, hint="grouping(a), grouping(b)")
            return OutputColumn(name=name, grouping=formulas.key(node.expressions[0], required=True))
        key = formulas.key(node)
        if key is not None:
            return OutputColumn(name=name, key=key)
        if is_aggregate(node):
            read = aggregates.read(node)
            if isinstance(read, TypedQuantile):
                return OutputColumn(name=name, quantile=aggregates.quantiles.index(read))
            return OutputColumn(name=name, formula=read)
        read_formula = formulas.number(node)
        return OutputColumn(name=name, formula=read_formula)

    def _order(
        self, tree: exp.Select, formulas: FormulaReader, outputs: tuple[OutputColumn, ...]
    ) -> tuple[OrderTerm, ...]:
        clause = tree.args.get("order")
        if clause is None:
            return ()
        terms = []
        for part in clause.expressions:
            node = resolve_item(part.this, tree, formulas.scope, self.source, alias_first=True)
            place = next(
                (
                    place
                    for place, item in enumerate(tree.expressions)
                    if (item.this if isinstance(item, exp.Alias) else item) == node
                ),
                None,
            )
            hidden = None if place is not None else self._hidden(node, formulas)
            terms.append(
                OrderTerm(
                    output=place,
                    formula=None if place is not None or hidden is not None else formulas.number(node),
                    hidden=hidden,
                    descending=bool(part.args.get("desc")),
                    nulls_first=bool(part.args.get("nulls_first")),
                )
            )
        return tuple(terms)

    def _hidden(self, node: exp.Expr, formulas: FormulaReader) -> OutputColumn | None:
        """A key or a quantile to order by that is not selected; None for a formula."""
        if is_aggregate(node):
            read = formulas.aggregates.read(node)
            return (
                OutputColumn(name="", quantile=formulas.aggregates.quantiles.index(read))
                if isinstance(read, TypedQuantile)
                else None
            )
        key = None if isinstance(node, exp.Literal) else formulas.key(node)
        return None if key is None else OutputColumn(name="", key=key)

    def _limit(self, tree: exp.Select, order: tuple[OrderTerm, ...]) -> tuple[int | None, int]:
        numbers: list[int | None] = []
        for name in ("limit", "offset"):
            clause = tree.args.get(name)
            if clause is None:
                numbers.append(None)
                continue
            node = clause.args.get("expression") if isinstance(clause, exp.Limit | exp.Offset) else None
            if [key for key, value in clause.args.items() if value and key != "expression"]:
                node = None
            is_number = isinstance(node, exp.Literal) and not node.is_string
            if node is None or not is_number or not str(node.this).isdigit() or len(str(node.this)) > 9:
                raise self.source.refusal(f"{name.upper()} needs a whole number", at=self.source.clause(name.upper()))
            if not order:
                raise self.source.refusal(
                    f"{name.upper()} without ORDER BY picks arbitrary rows",
                    at=self.source.clause(name.upper()),
                    hint="ORDER BY count(*) DESC LIMIT 10",
                )
            numbers.append(int(node.this))
        return numbers[0], numbers[1] or 0

    def _passes(self, text: str) -> bool:
        """Whether a rewrite can be answered."""
        try:
            _parse_query(text, self.catalog, {})
        except Refused:
            return False
        return True

    def _no_aggregate(self, formulas: FormulaReader, keys: tuple[GroupKey, ...], *, distinct: bool) -> Refused:
        reason = "a query needs a count or a sum in addition to its keys"
        if distinct:
            reason = "these values are declared, so the list of them is public; how many rows have each value is not"
        return self.source.refusal(
            reason,
            at=self.source.clause("DISTINCT" if distinct else "SELECT"),
            hint=formulas.rewrite([key.node for key in keys]),
        )


def _schema(catalog: Catalog, table: str) -> Schema:
    """What a table was read as: a question means nothing against another declaration."""
    return next(catalog_table.schema for catalog_table in catalog.values() if catalog_table.schema.table == table)


def _names(items: list[exp.Expr], formulas: FormulaReader) -> list[str]:
    """What the columns of an answer are called: `a.city` and `b.city` by their tables too, for both are a city."""
    plain = [str(item.alias) if isinstance(item, exp.Alias) else formulas.name(item) for item in items]
    return [
        f"{item.table}.{name}" if isinstance(item, exp.Column) and item.table and plain.count(name) > 1 else name
        for item, name in zip(items, plain, strict=True)
    ]


def _axes(keys: tuple[GroupKey, ...], chosen: tuple[int, ...]) -> tuple[Axis, ...]:
    """The axes of a grouping set, in an order that does not depend on spelling."""
    axes = [axis for key in chosen if (axis := keys[key].axis) is not None]
    return tuple(sorted(dict.fromkeys(axes), key=axis_order))


def _is_top(clauses: _Clauses, statistics: tuple[Statistic, ...], row_reach: UnitReach) -> bool:
    """Whether a question asks for the most common of discovered keys, and for no others.

    They are chosen by their numbers of persons, which rows are only where nobody has several.
    """
    order, keys = clauses.order, clauses.keys
    if not clauses.limit or clauses.offset or clauses.having is not None or not order or not order[0].descending:
        return False
    if not keys or any(key.axis is not None for key in keys):
        return False
    first = order[0]
    by = first.formula if first.output is None else clauses.outputs[first.output].formula
    person_statistics = (RowCount(), PersonCount()) if row_reach.rows == 1 else (PersonCount(),)
    counted = [formula.count(index) for index, statistic in enumerate(statistics) if statistic in person_statistics]
    return by in counted
