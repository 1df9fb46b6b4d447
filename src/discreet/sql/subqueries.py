"""Subqueries: rows picked and computed one by one, or one row for each person.

An inner GROUP BY must hold the person: then what it computes is of one person's rows, exact, and one
person still moves few rows of the result. Anything else would mix persons before the noise.

One file, long as it is: every form of an inner query passes the same rule, which is read as a whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from discreet.accounting.region import NOT_NULL
from discreet.errors import Refused
from discreet.plan.cell_statistics import DistinctCount, Inner, PersonMaximum, PersonMean, PersonMinimum, RowCount, Sum
from discreet.plan.expressions import Code, Expression, TextCode
from discreet.plan.predicate import FALSE, TRUE, Predicate, every, within
from discreet.plan.query_sensitivity import MOST_DISTINCT, UnitReach, reach
from discreet.plan.relation import Filter, PerPerson, Plan, computed_column_name
from discreet.schema.schema import Schema
from discreet.sql.aggregates import is_aggregate, refuse_extra_arguments, sum_refusal_hint
from discreet.sql.catalog import Catalog
from discreet.sql.expression_reader import ExpressionReader
from discreet.sql.joins import FromReader, add_filter
from discreet.sql.query_text import QueryText
from discreet.sql.scope import PERSON, CommonTableExpression, NamedColumn, NamedRelation, Scope
from discreet.sql.typed_expression import BooleanKind, CategoryKind, NumericKind, TextKind, TypedExpression

#: A person's mean is kept on a grid so much finer than that of what is averaged.
FINER = 100

#: The most subqueries of a question, each counted as often as it is named.
MOST_READS = 32

#: What is computed of one person's rows stays within this, mean and all: engines have 128 bits.
_MOST_INNER = 2**100

_HINT = "use count, sum, avg, min or max of one person's rows"

_ALLOWED = {"expressions", "from_", "joins", "where", "group", "having", "distinct", "with_"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subqueries:
    """Reads SELECTs inside a question, with the names that WITH has given."""

    source: QueryText
    catalog: Catalog
    named: Mapping[str, exp.Expr]
    reads: list[None] = field(default_factory=list)
    joins: list[None] = field(default_factory=list)

    def schemas(self) -> dict[str, Schema]:
        return {catalog_table.schema.table: catalog_table.schema for catalog_table in self.catalog.values()}

    def rows(self, tree: exp.Select) -> tuple[NamedRelation, ExpressionReader, Scope]:
        """FROM and WHERE of a SELECT."""
        inside = self.with_clause_names(tree)
        relation = FromReader(
            source=self.source, catalog=self.catalog, subquery=inside.read, named=inside.named, joins=self.joins
        ).read(tree)
        scope = Scope(source=self.source, relation=relation)
        reader = ExpressionReader(source=self.source, scope=scope)
        where = tree.args.get("where")
        predicate = reader.predicate(where.this) if where is not None else TRUE
        if predicate == FALSE:
            raise self.source.refusal(
                "no row can satisfy this condition, according to the declaration",
                at=where,
                hint="check the declared bounds",
            )
        if predicate != TRUE:
            relation = replace(relation, plan=add_filter(relation.plan, predicate))
        return relation, reader, Scope(source=self.source, relation=relation)

    def with_clause_names(self, tree: exp.Select) -> Subqueries:
        """The names that a WITH clause adds; each may use those before it."""
        clause = tree.args.get("with_")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            raise self.source.refusal("WITH RECURSIVE is not supported", at=self.source.clause("WITH"))
        extended = self
        for part in clause.expressions:
            name = part.alias.lower()
            if name in extended.named or any(name == table.lower() for table in self.catalog):
                raise self.source.refusal(f"{part.alias!r} is already the name of a table", at=part.args.get("alias"))
            alias = part.args.get("alias")
            if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
                raise self.source.refusal("name the columns inside the subquery", at=alias, hint="SELECT x AS name")
            extended = replace(
                extended,
                named={**extended.named, name: CommonTableExpression(part.this, extended.named, extended.read)},
            )
        return extended

    def read(self, node: exp.Expr) -> NamedRelation:
        """A subquery as a relation."""
        self.reads.append(None)
        if len(self.reads) > MOST_READS:  # one behind WITH is read, and run, wherever it is named
            raise self.source.refusal(
                f"at most {MOST_READS} subqueries are supported", at=self.source.clause("WITH", "SELECT")
            )
        if isinstance(node, CommonTableExpression):
            return node.read(node.tree)
        while isinstance(node, exp.Subquery) and not node.args.get("alias"):
            node = node.this
        if not isinstance(node, exp.Select):
            raise self.source.refusal("only SELECT statements can be answered", at=node)
        for name, value in node.args.items():
            if value and name not in _ALLOWED:
                raise self.source.refusal(
                    f"{name.strip('_').upper()} is not supported inside a subquery", at=node.args[name]
                    if isinstance(node.args[name], exp.Expr) else node.expressions[0],
                )  # fmt: skip
        relation, reader, scope = self.rows(node)
        grouped = node.args.get("group") is not None or node.args.get("distinct") or _has_aggregate(node)
        if node.args.get("having") and not grouped:
            raise self.source.refusal("HAVING needs GROUP BY", at=node.args["having"], hint="use WHERE")
        if grouped:
            return self._per_person(node, relation, reader, scope)
        return self._projected(node, relation, reader, scope)

    def _projected(
        self, tree: exp.Select, relation: NamedRelation, reader: ExpressionReader, scope: Scope
    ) -> NamedRelation:
        """Columns computed row by row; the rows stay whose they are."""
        names: dict[str, NamedColumn] = {}
        person: dict[str, str] = {}
        for node in tree.expressions:
            if isinstance(node, exp.Star):
                for named in relation.columns():
                    self._add(names, named, node)
                for parts in relation.person.values():
                    person.update({part: part for part in parts})
                continue
            inner = node.this if isinstance(node, exp.Alias) else node
            if isinstance(inner, exp.Column) and scope.is_person(inner):
                person[inner.name.lower()] = node.alias_or_name.lower()
                continue
            self._refuse_as_person(node, scope)
            typed_value = reader.typed(inner)
            column = scope.resolve(inner).column if isinstance(inner, exp.Column) else None
            self._add(names, NamedColumn(name=self._name(node), typed=typed_value, column=column), node)
        self._refuse_person_alias(names, person, tree)
        whole = {"": _whole_person(relation, person)}
        return replace(relation, names={"": names}, person=whole, merged=frozenset())

    def _per_person(
        self, tree: exp.Select, relation: NamedRelation, reader: ExpressionReader, scope: Scope
    ) -> NamedRelation:
        keys = self._keys(tree, scope)
        if not relation.has_person:
            raise self.source.refusal(
                "GROUP BY in a subquery must include the person, and in this table each row is one person",
                at=tree.args.get("group") or tree.expressions[0],
                hint="GROUP BY in the outer query instead",
            )
        if not scope.are_person([key for key in keys if scope.is_person(key)]):
            person = next(iter(next(iter(relation.person.values()), ())), PERSON)
            raise self.source.refusal(
                "GROUP BY in a subquery must include the person: otherwise it mixes people before noise is added",
                at=tree.args.get("group") or tree.expressions[0],
                hint=f"GROUP BY {person}",
            )
        grouping = _PersonGrouping(reader=reader, scope=scope, reach=reach(relation.plan, self.schemas()))
        for key in keys:
            if not scope.is_person(key):
                grouping.key(key)
        names: dict[str, NamedColumn] = {}
        person_names: dict[str, str] = {}
        for node in tree.expressions:
            inner = node.this if isinstance(node, exp.Alias) else node
            if isinstance(inner, exp.Column) and scope.is_person(inner):
                person_names[inner.name.lower()] = node.alias_or_name.lower()
                continue
            self._refuse_as_person(node, scope)
            # A key is still the column, with the bins declared for it.
            column = scope.resolve(inner).column if isinstance(inner, exp.Column) and inner in keys else None
            self._add(names, NamedColumn(name=self._name(node), typed=grouping.typed(inner), column=column), node)
        self._refuse_person_alias(names, person_names, tree)
        having = tree.args.get("having")
        condition = grouping.predicate(having.this) if having is not None else TRUE
        plan: Plan = PerPerson(source=relation.plan, keys=tuple(grouping.keys), values=tuple(grouping.values))
        if condition != TRUE:
            plan = Filter(source=plan, where=condition)
        whole = {"": _whole_person(relation, person_names)}
        return replace(relation, plan=plan, names={"": names}, person=whole, merged=frozenset())

    def _keys(self, tree: exp.Select, scope: Scope) -> list[exp.Expr]:
        if tree.args.get("distinct"):
            if tree.args.get("group") is not None or tree.args["distinct"].args.get("on"):
                raise self.source.refusal("DISTINCT and GROUP BY cannot be combined here", at=tree.expressions[0])
            return [node.this if isinstance(node, exp.Alias) else node for node in tree.expressions]
        clause = tree.args.get("group")
        if clause is None:
            return []
        if [name for name, value in clause.args.items() if value and name != "expressions"]:
            raise self.source.refusal("this form of GROUP BY is not supported inside a subquery", at=clause)
        return [resolve_item(node, tree, scope, self.source) for node in clause.expressions]

    def _refuse_as_person(self, node: exp.Expr, scope: Scope) -> None:
        """Refuse another column under the person's name: what counts that name would count something else."""
        if isinstance(node, exp.Alias) and scope.names_person(node.alias):
            raise self.source.refusal(
                f"{node.alias!r} identifies people; another column cannot have that name",
                at=node,
                hint="give it another alias",
            )

    def _refuse_person_alias(
        self, names: Mapping[str, NamedColumn], person: Mapping[str, str], tree: exp.Select
    ) -> None:
        """Refuse the person under the name of another column."""
        for name in person.values():
            if name in names:
                raise self.source.refusal(
                    f"two columns are named {name!r}", at=tree.expressions[0], hint="give one of them another alias"
                )

    def _name(self, node: exp.Expr) -> str:
        if not node.alias_or_name:
            raise self.source.refusal("a computed column of a subquery needs a name", at=node, hint="… AS name")
        return str(node.alias_or_name)

    def _add(self, names: dict[str, NamedColumn], named: NamedColumn, node: exp.Expr) -> None:
        if named.name.lower() in names:
            raise self.source.refusal(f"two columns are named {named.name!r}", at=node, hint="give one an alias")
        names[named.name.lower()] = named


def resolve_item(
    node: exp.Expr, tree: exp.Select, scope: Scope, source: QueryText, *, alias_first: bool = False
) -> exp.Expr:
    """A GROUP BY or ORDER BY item as an expression: by number, by alias, or itself.

    Where a column has the name of an alias GROUP BY means the column, ORDER BY the alias.
    """
    node = node.unnest()
    if isinstance(node, exp.Literal) and not node.is_string:
        place = int(node.this) if str(node.this).isdigit() and len(node.this) < 6 else 0
        if not 1 <= place <= len(tree.expressions):
            raise source.refusal(f"the select list has no column {str(node.this)[:20]}", at=node)
        return _without_alias(tree.expressions[place - 1])
    if isinstance(node, exp.Column) and not node.table and (alias_first or not scope.has(node.name)):
        for item in tree.expressions:
            if isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower():
                if not alias_first and scope.names_person(node.name) and not scope.is_person(_without_alias(item)):
                    raise source.refusal(
                        f"{node.name!r} identifies people, but here it is also the alias of another column",
                        at=node,
                        hint="give that column another alias",
                    )
                return _without_alias(item)
    return node


def _without_alias(item: exp.Expr) -> exp.Expr:
    """An item of a select list without its alias."""
    expression: exp.Expr = item.this if isinstance(item, exp.Alias) else item
    return expression


@dataclass(slots=True, kw_only=True)
class _PersonGrouping:
    """One GROUP BY person: its keys and values, and what expressions over them mean."""

    reader: ExpressionReader
    scope: Scope
    reach: UnitReach
    keys: list[tuple[str, Expression]] = field(default_factory=list)
    values: list[tuple[str, Inner]] = field(default_factory=list)
    _nodes: list[tuple[exp.Expr, str]] = field(default_factory=list)
    _named: dict[str, NamedColumn] = field(default_factory=dict)

    def key(self, node: exp.Expr) -> None:
        typed_key = self.reader.typed(node)
        name = self._new(typed_key, node)
        self.keys.append((name, typed_key.expression))

    def _new(self, typed_value: TypedExpression, node: exp.Expr) -> str:
        """A new column of the result."""
        name = computed_column_name(len(self._named))
        expression = typed_value.expression
        ends = [abs(end) for end in (expression.low, expression.high) if end is not None]
        if max(ends, default=0) * self.reach.rows * FINER > _MOST_INNER:
            raise self._refusal("with the declared bounds, this could exceed 30 digits", node)
        code = (
            TextCode(column=name, null=expression.null)
            if isinstance(typed_value.kind, TextKind)
            else Code(column=name, low=expression.low, high=expression.high, null=expression.null)
        )
        self._named[name] = NamedColumn(name=name, typed=TypedExpression(expression=code, kind=typed_value.kind))
        self._nodes.append((node, name))
        return name

    def typed(self, node: exp.Expr) -> TypedExpression:
        return self._outer().typed(self._over(node))

    def predicate(self, node: exp.Expr) -> Predicate:
        return self._outer().predicate(self._over(node))

    def _over(self, node: exp.Expr) -> exp.Expr:
        """An expression with its keys and aggregates replaced by columns of the result."""

        def replaced(part: exp.Expr) -> exp.Expr:
            replacement = next((name for replacement, name in self._nodes if replacement == part), None)
            if replacement is None and is_aggregate(part):
                replacement = self._aggregate(part)
            if replacement is None:
                return part
            column = exp.column(replacement, quoted=True)
            column.this.meta.update(next((child.meta for child in part.walk() if "start" in child.meta), {}))
            return column

        return node.transform(replaced)

    def _outer(self) -> ExpressionReader:
        relation = replace(self.scope.relation, names={"": self._named}, person={})
        return ExpressionReader(source=self.reader.source, scope=Scope(source=self.reader.source, relation=relation))

    def _aggregate(self, node: exp.Expr) -> str:
        original_node = node
        where: Predicate = TRUE
        if isinstance(node, exp.Filter):
            where, node = self.reader.predicate(node.expression.this), node.this
        try:
            refuse_extra_arguments(node)
            if node.this is None:
                raise self._refusal("this aggregate is missing an argument", original_node)
            inner, typed_value = self._inner(node, where)
        except Refused as problem:
            raise (problem if problem.sql else self._refusal(problem.reason, original_node)) from None
        column_name = next(
            (
                name
                for name, value in self.values
                if value == inner and self._named[name].typed.kind == typed_value.kind
            ),
            None,
        )
        if column_name is not None:
            self._nodes.append((original_node, column_name))
            return column_name
        counted = 1 + sum(isinstance(value, DistinctCount) for _, value in self.values)
        if isinstance(inner, DistinctCount) and counted > 1 and counted * self.reach.rows > MOST_DISTINCT:
            raise self._refusal("too many counts of distinct values in one subquery", original_node)
        name = self._new(typed_value, original_node)
        self.values.append((name, inner))
        return name

    def _inner(self, node: exp.Expr, where: Predicate) -> tuple[Inner, TypedExpression]:
        most = self.reach.rows
        match node:
            case exp.Count(this=exp.Star()):
                return RowCount(where=where), _whole(1 if where == TRUE else 0, most)
            case exp.Count(this=exp.Distinct(expressions=[part])):
                return DistinctCount(of=self.reader.typed(part).expression, where=where), _whole(0, most)
            case exp.Count() if not isinstance(node.this, exp.Distinct):
                argument = self.reader.typed(node.this).expression
                given = [within(argument, NOT_NULL)] if argument.null else []
                return RowCount(where=every([where, *given])), _whole(0, most)
            case exp.CountIf():
                return RowCount(where=every([where, self.reader.predicate(node.this)])), _whole(0, most)
            case exp.Sum() | exp.Avg() | exp.Min() | exp.Max() | exp.LogicalOr() | exp.LogicalAnd():
                return self._number(node, where)
            case _:
                raise self._refusal("this aggregate is not supported inside a subquery", node)

    def _number(self, node: exp.Expr, where: Predicate) -> tuple[Inner, TypedExpression]:
        operand = self.reader.typed(node.this)
        of, kind = operand.expression, operand.kind
        low, high = of.low, of.high
        if isinstance(kind, TextKind | CategoryKind) and isinstance(node, exp.Sum | exp.Avg):
            raise self._refusal("only numbers can be summed", node.this, hint=sum_refusal_hint(operand, node.this))
        if (
            isinstance(kind, TextKind | CategoryKind)
            or low is None
            or high is None
            or isinstance(node.this, exp.Distinct)
        ):
            raise self._refusal("this needs a number, date or timestamp with bounds", node.this)
        null = of.null or where != TRUE
        match node:
            case exp.LogicalOr() | exp.LogicalAnd() if not isinstance(kind, BooleanKind):
                raise self._refusal("expected a boolean", node.this)
            case exp.Sum() | exp.Avg() if not isinstance(kind, NumericKind | BooleanKind):
                raise self._refusal("only numbers can be summed", node.this)
            case exp.Sum():
                step = kind.step if isinstance(kind, NumericKind) else Fraction(1)
                most = self.reach.rows
                bounds = min(low, most * low), max(high, most * high)
                return Sum(of=of, where=where), _number(*bounds, null=null, step=step)
            case exp.Avg():
                step = (kind.step if isinstance(kind, NumericKind) else Fraction(1)) / FINER
                return PersonMean(of=of, finer=FINER, where=where), _number(
                    low * FINER, high * FINER, null=null, step=step
                )
            case _:
                code = Code(column="", low=low, high=high, null=null)
                make = PersonMinimum if isinstance(node, exp.Min | exp.LogicalAnd) else PersonMaximum
                return make(of=of, where=where), TypedExpression(expression=code, kind=kind)

    def _refusal(self, reason: str, node: exp.Expr, *, hint: str = _HINT) -> Refused:
        return self.reader.source.refusal(reason, at=node, hint=hint)


def _whole(low: int, high: int) -> TypedExpression:
    return _number(low, high, null=False, step=Fraction(1))


def _number(low: int, high: int, *, null: bool, step: Fraction) -> TypedExpression:
    return TypedExpression(expression=Code(column="", low=low, high=high, null=null), kind=NumericKind(step=step))


def _has_aggregate(tree: exp.Select) -> bool:
    return any(is_aggregate(part) for node in tree.expressions for part in node.walk())


def _whole_person(relation: NamedRelation, selected: Mapping[str, str]) -> tuple[str, ...]:
    """The person's names in a subquery's result: those it selected, if they are a whole person."""
    for parts in relation.person.values():
        if parts and all(part in selected for part in parts):
            return tuple(selected[part] for part in parts)
    return (selected[PERSON],) if PERSON in selected else ()
