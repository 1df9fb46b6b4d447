"""FROM: tables, joins and subqueries as one relation.

One file, long as it is: each form of a join is refused or read beside the others, by the same rule about persons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import Command, Message, Statement
from discreet.plan.expressions import Code, Expression, TextCode
from discreet.plan.predicate import FALSE, TRUE, Predicate, every
from discreet.plan.relation import Filter, JoinPerson, JoinPublic, Plan, Scan, joined_column_name, match_column_name
from discreet.schema.column import Column
from discreet.schema.schema import closest_name_hint
from discreet.sql.catalog import Catalog, CatalogTable, can_equal, code_for_join
from discreet.sql.expression_reader import ExpressionReader
from discreet.sql.public_tables import PublicTableFinder, filter_public_rows, scope_of
from discreet.sql.query_text import QueryText
from discreet.sql.scope import NamedColumn, NamedRelation, Scope
from discreet.sql.typed_expression import TextKind, TypedExpression, column_expression

if TYPE_CHECKING:
    from collections.abc import Callable


#: More joins than this and a person's rows multiply beyond use.
MOST_JOINS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FromReader:
    """Reads FROM and its joins. `subquery` reads what stands in parentheses, or behind WITH.

    `joins`: one for each join of the question so far, so that every join has a number of its own.
    """

    source: QueryText
    catalog: Catalog
    subquery: Callable[[exp.Expr], NamedRelation]
    named: Mapping[str, exp.Expr]
    joins: list[None]

    @property
    def _publics(self) -> PublicTableFinder:
        return PublicTableFinder(source=self.source, catalog=self.catalog, named=self.named)

    def read(self, tree: exp.Select) -> NamedRelation:
        """The relation of a SELECT."""
        clause = tree.args.get("from_")
        joins = list(tree.args.get("joins") or [])
        if clause is None:
            raise self.source.refusal("a query needs a table in FROM", hint=example_query(self.catalog))
        if len(joins) > MOST_JOINS:
            raise self.source.refusal(f"at most {MOST_JOINS} joins are supported", at=joins[MOST_JOINS])
        first = clause.this
        if self._publics.find_public(first) is not None and joins:
            first, joins = self._private_first(first, joins)
        relation = self._one(first)
        for join in joins:
            relation = self._join(relation, join)
        return relation

    def _private_first(self, first: exp.Expr, joins: list[exp.Join]) -> tuple[exp.Expr, list[exp.Join]]:
        """`public JOIN private` is `private JOIN public`."""
        join = joins[0]
        plain = not [
            name for name in ("side", "kind", "method") if str(join.args.get(name) or "INNER").upper() != "INNER"
        ]
        if self._publics.find_public(join.this) is not None or not plain:
            raise self.source.refusal(
                "FROM must start with the private table", at=first, hint="FROM private_table JOIN public_table ON …"
            )
        swapped = exp.Join(this=first, on=join.args.get("on"), using=join.args.get("using"))
        return join.this, [swapped, *joins[1:]]

    def _one(self, node: exp.Expr) -> NamedRelation:
        alias = _alias(node)
        if isinstance(node, exp.Subquery):
            _refuse_other_arguments(self.source, node, {"this", "alias"})
            return _renamed(self.subquery(node.this), alias or "subquery")
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            _refuse_other_arguments(self.source, node, {"this", "alias"})
            if node.name.lower() in self.named:
                return _renamed(self.subquery(self.named[node.name.lower()]), alias or node.name)
            catalog_table = self._declared_table(node)
            if catalog_table.public is not None:
                raise self.source.refusal(
                    f"{catalog_table.schema.table!r} is public: read it directly, it needs no budget", at=node
                )
            return _scan(catalog_table, (alias or node.name).lower())
        raise self.source.refusal(
            "FROM takes only declared tables and subqueries", at=node, hint=example_query(self.catalog)
        )

    def _declared_table(self, node: exp.Table) -> CatalogTable:
        catalog_table = next(
            (candidate for name, candidate in self.catalog.items() if name.lower() == node.name.lower()), None
        )
        if catalog_table is None:
            hint = closest_name_hint(node.name, self.catalog) or (
                "" if self.catalog else Message("run ", Command("add", "FILE"), " to declare one")
            )
            raise self.source.refusal(f"there is no declared table {node.name[:60]!r}", at=node, hint=hint)
        return catalog_table

    def _join(self, left: NamedRelation, join: exp.Join) -> NamedRelation:
        side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
        on, using = join.args.get("on"), join.args.get("using") or []
        if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER") or join.args.get("method"):
            raise self.source.refusal("only JOIN and LEFT JOIN are supported", at=join, hint="a JOIN b ON a.x = b.x")
        if on is None and not using:
            raise self.source.refusal(
                "a join needs ON or USING",
                at=join.this,
                hint="add a condition: without one, every row would be joined with every other row",
            )
        _refuse_other_arguments(self.source, join, {"this", "on", "using", "side", "kind"})
        left = replace(left, merged=left.merged | {name.name.lower() for name in using})
        public_table = self._publics.find_public(join.this)
        outer = side == "LEFT"
        if public_table is not None:
            return self._join_public(left, join, public_table, outer=outer)
        return self._join_person(left, join, self._one(join.this), outer=outer)

    def _place(self) -> int:
        """The number of a new join."""
        self.joins.append(None)
        return len(self.joins)

    def _parts(self, join: exp.Join) -> list[exp.Expr]:
        """The conditions of a join, all of which must hold."""
        using = join.args.get("using") or []
        columns = [exp.column(name.name) for name in using]
        for column, name in zip(columns, using, strict=True):
            column.this.meta.update(name.meta)
        on = join.args.get("on")
        listed = [] if on is None else on.flatten() if isinstance(on, exp.And) else [on]
        return [*(exp.EQ(this=column, expression=column) for column in columns), *(part.unnest() for part in listed)]

    def _split(
        self, parts: list[exp.Expr], right: Callable[[exp.Column], bool], *, outer: bool, hint: str
    ) -> tuple[list[exp.Expr], list[exp.Expr]]:
        """Conditions about the joined table alone, which pick its rows, and others, which pick rows of the join."""
        own, others = [], []
        for part in parts:
            columns = list(part.find_all(exp.Column))
            if columns and all(right(column) for column in columns):
                own.append(part)
            elif outer:
                raise self.source.refusal(
                    "apart from its equalities, the ON of a LEFT JOIN can use only columns of the joined table",
                    at=part,
                    hint=hint,
                )
            else:
                others.append(part)
        return own, others

    def _narrowed(self, relation: NamedRelation, conditions: list[exp.Expr]) -> NamedRelation:
        """The rows of a relation that satisfy conditions of ON."""
        reader = ExpressionReader(source=self.source, scope=Scope(source=self.source, relation=relation))
        predicate = every([reader.predicate(condition) for condition in conditions])
        if predicate == FALSE:
            raise self.source.refusal(
                "no row can satisfy this condition, according to the declaration", at=conditions[0]
            )
        return relation if predicate == TRUE else replace(relation, plan=add_filter(relation.plan, predicate))

    def _refuse_ambiguous(
        self, parts: list[exp.Expr], left: NamedRelation, by_name: Mapping[str, Column], alias: str
    ) -> None:
        """A bare name in ON that both sides have means neither."""
        lefts = {name: table_alias for table_alias, names in left.names.items() for name in names}
        for part in parts:
            if isinstance(part, exp.EQ) and part.args["this"] is part.args["expression"]:  # USING
                continue
            for column in part.find_all(exp.Column):
                name = column.name.lower()
                if not column.table and name in by_name and name in lefts:
                    raise self.source.refusal(
                        f"{column.name!r} is in both tables",
                        at=column,
                        hint=f"write {lefts[name]}.{name} or {alias}.{name}",
                    )

    def _join_public(
        self, left: NamedRelation, join: exp.Join, catalog_table: CatalogTable, *, outer: bool
    ) -> NamedRelation:
        assert catalog_table.public is not None
        _refuse_other_arguments(self.source, join.this, {"this", "alias"})
        public = catalog_table.public()
        alias = (_alias(join.this) or join.this.name or "subquery").lower()
        self._refuse_same_alias(left, alias, join.this)
        by_name = {column.name.lower(): column for column in public.columns}
        parts = self._parts(join)
        self._refuse_ambiguous(parts, left, by_name, alias)
        equal = [part for part in parts if _equality(part, alias, by_name)]
        rest = [part for part in parts if part not in equal]
        if not equal:
            raise self.source.refusal(
                "a join needs an equality",
                at=rest[0],
                hint=f"add with AND an equality on a column of {catalog_table.schema.table}",
            )
        hint = f"put it into the equality: CASE WHEN {self.source.text_of(rest[0])} THEN … END = …" if rest else ""
        own, others = self._split(
            rest, lambda column: _is_public_column(column, alias, by_name), outer=outer, hint=hint
        )
        if own:
            scope = scope_of(self.source, catalog_table, public, alias)
            reader = ExpressionReader(source=self.source, scope=scope)
            public = filter_public_rows(public, every([reader.predicate(part) for part in own]))
        place = self._place()
        reader = ExpressionReader(source=self.source, scope=Scope(source=self.source, relation=left))
        matches: list[tuple[TypedExpression, Column]] = []
        for part in equal:
            one, two = part.args["this"], part.args["expression"]
            mine, theirs = (one, two) if _is_public_column(two, alias, by_name) else (two, one)
            if not isinstance(theirs, exp.Column) or theirs.name.lower() not in by_name:
                raise self.source.refusal(
                    f"one side of each equality must be a column of {catalog_table.schema.table!r}",
                    at=theirs,
                    hint=closest_name_hint(getattr(theirs, "name", ""), [column.name for column in public.columns]),
                )
            typed_match = reader.typed(mine)
            if not can_equal(typed_match.kind, by_name[theirs.name.lower()]):
                raise self.source.refusal(
                    f"{theirs.name!r} does not have the same type as what it is joined with",
                    at=theirs,
                    hint=f"declare {theirs.name!r} of {catalog_table.schema.table!r} with the same type (for words and "
                    'codes: type = "text"), and its other columns that queries use',
                )
            matches.append((typed_match, by_name[theirs.name.lower()]))
        made = code_for_join(public, [(match.kind, column) for match, column in matches], place=place)
        names = {
            column.name.lower(): NamedColumn(
                name=column.name,
                typed=_brought_column(
                    column_expression(column), place, null=outer or None in public.codes[column.name]
                ),
            )
            for column in public.columns
        }
        plan = JoinPublic(
            source=left.plan,
            place=place,
            table=catalog_table.schema.table,
            content=made.content,
            columns=tuple(joined_column_name(place, column.name) for column in public.columns),
            on=tuple((match.expression, match_column_name(place, number)) for number, (match, _) in enumerate(matches)),
            fan_out=made.fan_out,
            size=made.rows.num_rows,
            outer=outer,
        )
        joined = replace(left, plan=plan, names={**left.names, alias: names}, publics={**left.publics, place: made})
        return self._narrowed(joined, others) if others else joined

    def _join_person(self, left: NamedRelation, join: exp.Join, right: NamedRelation, *, outer: bool) -> NamedRelation:
        alias = next(iter(right.names))
        self._refuse_same_alias(left, alias, join.this)
        if (
            not left.has_person
            or not right.has_person
            or left.catalog_table.population != right.catalog_table.population
        ):
            raise self.source.refusal(
                "private tables can be joined only on the person, within one population",
                at=join.this,
                hint='declare both with person = "…" and the same population',
            )
        lefts, rights = Scope(source=self.source, relation=left), Scope(source=self.source, relation=right)
        conditions = self._parts(join)
        places = [_shared_person_part(part, lefts, rights) for part in conditions]
        parts = [place for place in places if place is not None]
        if not parts or len(set(parts)) != parts[0][1]:
            raise self.source.refusal(
                "private tables can be joined only on the person column",
                at=join.args.get("on") or join.this,
                hint="a JOIN b ON a.person = b.person; add other conditions after AND, or in WHERE",
            )
        rest = [part for part, place in zip(conditions, places, strict=True) if place is None]

        def theirs(column: exp.Column) -> bool:
            return column.table.lower() == alias if column.table else not lefts.has(column.name)

        hint = "JOIN without LEFT can use both tables; otherwise use CASE WHEN … THEN … END on its columns"
        own, others = self._split(rest, theirs, outer=outer, hint=hint)
        if own:
            right = self._narrowed(right, own)
        place = self._place()
        columns = {named.name.lower(): named for named in right.columns()}
        names = {
            lower: NamedColumn(
                name=named.name,
                typed=_as_join_column(
                    named.typed, joined_column_name(place, named.name), null=named.typed.expression.null or outer
                ),
                column=named.column,
            )
            for lower, named in columns.items()
        }
        plan = JoinPerson(
            source=left.plan,
            place=place,
            other=right.plan,
            columns=tuple(
                (joined_column_name(place, named.name), named.typed.expression) for named in columns.values()
            ),
            outer=outer,
        )
        joined = replace(
            left,
            plan=plan,
            names={**left.names, alias: names},
            publics={**left.publics, **right.publics},
            # Where an outer join found nobody, that side's person is NULL: it is not a name for the person.
            person=dict(left.person) if outer else {**left.person, alias: right.person[alias]},
        )
        return self._narrowed(joined, others) if others else joined

    def _refuse_same_alias(self, left: NamedRelation, alias: str, node: exp.Expr) -> None:
        if alias in left.names:
            raise self.source.refusal("two tables have the same name here", at=node, hint="give one an alias")


def example_query(catalog: Catalog) -> str:
    """The simplest question that passes."""
    private = [name for name, catalog_table in catalog.items() if catalog_table.public is None]
    return Message(Statement(f"SELECT count(*) FROM {next(iter(private), 'patients')}"))


def _scan(catalog_table: CatalogTable, alias: str) -> NamedRelation:
    schema = catalog_table.schema
    names = {
        column.name.lower(): NamedColumn(name=column.name, typed=column_expression(column), column=column)
        for column in schema.columns
    }
    person = tuple(name.lower() for name in schema.unit.person)
    return NamedRelation(
        plan=Scan(table=schema.table, version=catalog_table.version),
        names={alias: names},
        person={alias: person},
        catalog_table=catalog_table,
    )


def _renamed(relation: NamedRelation, alias: str) -> NamedRelation:
    """A subquery under its alias."""
    (old,) = relation.names
    alias = alias.lower()
    return replace(
        relation,
        names={alias: relation.names[old]},
        person={alias: relation.person[old]} if old in relation.person else {},
    )


def _alias(node: exp.Expr) -> str | None:
    alias = node.args.get("alias")
    return None if alias is None else str(alias.name)


def _refuse_other_arguments(source: QueryText, node: exp.Expr, allowed: set[str]) -> None:
    alias = node.args.get("alias")
    extra = [name for name, value in node.args.items() if value and name not in allowed]
    if extra or (isinstance(alias, exp.TableAlias) and alias.args.get("columns")):
        raise source.refusal("this form of FROM is not supported", at=node)


def _is_public_column(node: exp.Expr, alias: str, by_name: Mapping[str, Column]) -> bool:
    """Whether a side of an equality is the public table's."""
    if not isinstance(node, exp.Column):
        return False
    return bool(node.table.lower() == alias) if node.table else node.name.lower() in by_name


def _equality(part: exp.Expr, alias: str, by_name: Mapping[str, Column]) -> bool:
    """Whether a condition sets a column of the public table equal to something that is not of it."""
    if not isinstance(part, exp.EQ):
        return False
    one, two = part.args["this"], part.args["expression"]
    if one is two:  # USING
        return True
    inside = [
        any(_is_public_column(column, alias, by_name) for column in side.find_all(exp.Column)) for side in (one, two)
    ]
    return inside[0] != inside[1] and isinstance(one if inside[0] else two, exp.Column)


def _shared_person_part(part: exp.Expr, lefts: Scope, rights: Scope) -> tuple[int, int] | None:
    """Which part of the person both sides of an equality are, of how many; None where they are not the same."""
    if not isinstance(part, exp.EQ):
        return None
    one, two = part.args["this"], part.args["expression"]
    for mine, theirs in ((one, two), (two, one)):
        left, right = lefts.person_position(mine), rights.person_position(theirs)
        if left is not None and left == right:
            return left
    return None


def add_filter(plan: Plan, predicate: Predicate) -> Plan:
    """A filter over a plan; filters in a row become one."""
    if isinstance(plan, Filter):
        return Filter(source=plan.source, where=every([plan.where, predicate]))
    return Filter(source=plan, where=predicate)


def _brought_column(operand: TypedExpression, place: int, *, null: bool) -> TypedExpression:
    """A public column under the name that the join gives it."""
    code = operand.expression
    assert isinstance(code, Code | TextCode)
    return _as_join_column(operand, joined_column_name(place, code.column), null=null)


def _as_join_column(operand: TypedExpression, name: str, *, null: bool) -> TypedExpression:
    """An expression of a joined relation as a column of the join."""
    expression = operand.expression
    moved: Expression
    if isinstance(operand.kind, TextKind):
        moved = TextCode(column=name)
    else:
        moved = Code(column=name, low=expression.low, high=expression.high, null=null)
    return TypedExpression(expression=moved, kind=operand.kind)
