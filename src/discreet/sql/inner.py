"""Subqueries: rows picked and computed one by one, or one row for each person.

An inner GROUP BY must hold the person: then what it computes is of one person's rows, exact, and one
person still moves few rows of the result. Anything else would mix persons before the noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from discreet.accounting.region import NOT_NULL
from discreet.errors import Refused
from discreet.plan.expressions import Code, Expression, TextCode
from discreet.plan.predicate import FALSE, TRUE, Predicate, every, within
from discreet.plan.relation import Filter, PerPerson, Plan, computed
from discreet.plan.stability import MOST_DISTINCT, Reach, reach
from discreet.plan.statistics import Distinct, Highest, Inner, Lowest, Mean, Rows, Sum
from discreet.schema.schema import Schema
from discreet.sql.aggregates import instead_of_sum, is_aggregate, only_known_arguments
from discreet.sql.catalog import Catalog
from discreet.sql.joins import FromReader, filtered
from discreet.sql.scope import PERSON, Named, Placed, Relation, Scope
from discreet.sql.text import Source
from discreet.sql.typed import Choice, Numeric, Truth, Typed, Words
from discreet.sql.where import Reader

#: A person's mean is kept on a grid so much finer than that of what is averaged.
FINER = 100

#: The most subqueries of a question, each counted as often as it is named.
MOST_READS = 32

#: What is computed of one person's rows stays within this, mean and all: engines have 128 bits.
_MOST_INNER = 2**100

_HINT = "count, sum, avg, min and max of one person's rows are known here"

_ALLOWED = {"expressions", "from_", "joins", "where", "group", "having", "distinct", "with_"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Subqueries:
    """Reads SELECTs inside a question, with the names that WITH has given."""

    source: Source
    catalog: Catalog
    named: Mapping[str, exp.Expr]
    reads: list[None] = field(default_factory=list)
    joins: list[None] = field(default_factory=list)

    def schemas(self) -> dict[str, Schema]:
        return {known.schema.table: known.schema for known in self.catalog.values()}

    def rows(self, tree: exp.Select) -> tuple[Relation, Reader, Scope]:
        """FROM and WHERE of a SELECT."""
        inside = self.within(tree)
        relation = FromReader(
            source=self.source, catalog=self.catalog, subquery=inside.read, named=inside.named, joins=self.joins
        ).read(tree)
        scope = Scope(source=self.source, relation=relation)
        reader = Reader(source=self.source, scope=scope)
        where = tree.args.get("where")
        predicate = reader.predicate(where.this) if where is not None else TRUE
        if predicate == FALSE:
            raise self.source.refusal(
                "no row can satisfy this condition, by what is declared", at=where, hint="look at the declared bounds"
            )
        if predicate != TRUE:
            relation = replace(relation, plan=filtered(relation.plan, predicate))
        return relation, reader, Scope(source=self.source, relation=relation)

    def within(self, tree: exp.Select) -> Subqueries:
        """The names that a WITH clause adds; each may use those before it."""
        clause = tree.args.get("with_")
        if clause is None:
            return self
        if clause.args.get("recursive"):
            raise self.source.refusal("WITH RECURSIVE is not known", at=self.source.clause("WITH"))
        found = self
        for part in clause.expressions:
            name = part.alias.lower()
            if name in found.named or any(name == table.lower() for table in self.catalog):
                raise self.source.refusal(f"{part.alias!r} is a table already", at=part.args.get("alias"))
            alias = part.args.get("alias")
            if isinstance(alias, exp.TableAlias) and alias.args.get("columns"):
                raise self.source.refusal("name the columns inside the subquery", at=alias, hint="SELECT x AS name")
            found = replace(found, named={**found.named, name: Placed(part.this, found.named, found.read)})
        return found

    def read(self, node: exp.Expr) -> Relation:
        """A subquery as a relation."""
        self.reads.append(None)
        if len(self.reads) > MOST_READS:  # one behind WITH is read, and run, wherever it is named
            raise self.source.refusal(f"more than {MOST_READS} subqueries", at=self.source.clause("WITH", "SELECT"))
        if isinstance(node, Placed):
            return node.read(node.tree)
        while isinstance(node, exp.Subquery) and not node.args.get("alias"):
            node = node.this
        if not isinstance(node, exp.Select):
            raise self.source.refusal("only SELECT can be answered", at=node)
        for name, value in node.args.items():
            if value and name not in _ALLOWED:
                raise self.source.refusal(
                    f"{name.strip('_').upper()} is not known inside a subquery", at=node.args[name]
                    if isinstance(node.args[name], exp.Expr) else node.expressions[0],
                )  # fmt: skip
        relation, reader, scope = self.rows(node)
        grouped = node.args.get("group") is not None or node.args.get("distinct") or _has_aggregate(node)
        if node.args.get("having") and not grouped:
            raise self.source.refusal("HAVING needs GROUP BY", at=node.args["having"], hint="use WHERE")
        if grouped:
            return self._per_person(node, relation, reader, scope)
        return self._projected(node, relation, reader, scope)

    def _projected(self, tree: exp.Select, relation: Relation, reader: Reader, scope: Scope) -> Relation:
        """Columns computed row by row; the rows stay whose they are."""
        names: dict[str, Named] = {}
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
            found = reader.typed(inner)
            column = scope.named(inner).column if isinstance(inner, exp.Column) else None
            self._add(names, Named(name=self._name(node), typed=found, column=column), node)
        self._apart(names, person, tree)
        whole = {"": _whole_person(relation, person)}
        return replace(relation, names={"": names}, person=whole, merged=frozenset())

    def _per_person(self, tree: exp.Select, relation: Relation, reader: Reader, scope: Scope) -> Relation:
        keys = self._keys(tree, scope)
        if not relation.has_person:
            raise self.source.refusal(
                "an inner GROUP BY must hold the person, and here each row is a person of its own",
                at=tree.args.get("group") or tree.expressions[0],
                hint="GROUP BY in the outer query instead",
            )
        if not scope.are_person([key for key in keys if scope.is_person(key)]):
            person = next(iter(next(iter(relation.person.values()), ())), PERSON)
            raise self.source.refusal(
                "an inner GROUP BY must hold the person: else it mixes people before there is any noise",
                at=tree.args.get("group") or tree.expressions[0],
                hint=f"GROUP BY {person}",
            )
        grouping = _Grouping(reader=reader, scope=scope, reach=reach(relation.plan, self.schemas()))
        for key in keys:
            if not scope.is_person(key):
                grouping.key(key)
        names: dict[str, Named] = {}
        person_names: dict[str, str] = {}
        for node in tree.expressions:
            inner = node.this if isinstance(node, exp.Alias) else node
            if isinstance(inner, exp.Column) and scope.is_person(inner):
                person_names[inner.name.lower()] = node.alias_or_name.lower()
                continue
            self._refuse_as_person(node, scope)
            # A key is still the column, with the bins declared for it.
            column = scope.named(inner).column if isinstance(inner, exp.Column) and inner in keys else None
            self._add(names, Named(name=self._name(node), typed=grouping.typed(inner), column=column), node)
        self._apart(names, person_names, tree)
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
                raise self.source.refusal("DISTINCT and GROUP BY do not go together here", at=tree.expressions[0])
            return [node.this if isinstance(node, exp.Alias) else node for node in tree.expressions]
        clause = tree.args.get("group")
        if clause is None:
            return []
        if [name for name, value in clause.args.items() if value and name != "expressions"]:
            raise self.source.refusal("this form of GROUP BY is not known inside a subquery", at=clause)
        return [resolved(node, tree, scope, self.source) for node in clause.expressions]

    def _refuse_as_person(self, node: exp.Expr, scope: Scope) -> None:
        """Refuse another column under the person's name: what counts that name would count something else."""
        if isinstance(node, exp.Alias) and scope.names_person(node.alias):
            raise self.source.refusal(
                f"{node.alias!r} identifies people; another column cannot have that name",
                at=node,
                hint="give it another alias",
            )

    def _apart(self, names: Mapping[str, Named], person: Mapping[str, str], tree: exp.Select) -> None:
        """Refuse the person under the name of another column."""
        for name in person.values():
            if name in names:
                raise self.source.refusal(
                    f"two columns are called {name!r}", at=tree.expressions[0], hint="give one another alias"
                )

    def _name(self, node: exp.Expr) -> str:
        if not node.alias_or_name:
            raise self.source.refusal("a computed column of a subquery needs a name", at=node, hint="… AS name")
        return str(node.alias_or_name)

    def _add(self, names: dict[str, Named], named: Named, node: exp.Expr) -> None:
        if named.name.lower() in names:
            raise self.source.refusal(f"two columns are called {named.name!r}", at=node, hint="give one an alias")
        names[named.name.lower()] = named


def resolved(node: exp.Expr, tree: exp.Select, scope: Scope, source: Source, *, alias_first: bool = False) -> exp.Expr:
    """A GROUP BY or ORDER BY item as an expression: by number, by alias, or itself.

    Where a column has the name of an alias GROUP BY means the column, ORDER BY the alias.
    """
    node = node.unnest()
    if isinstance(node, exp.Literal) and not node.is_string:
        place = int(node.this) if str(node.this).isdigit() and len(node.this) < 6 else 0
        if not 1 <= place <= len(tree.expressions):
            raise source.refusal(f"{str(node.this)[:20]}: there is no such column", at=node)
        return _bare(tree.expressions[place - 1])
    if isinstance(node, exp.Column) and not node.table and (alias_first or not scope.has(node.name)):
        for item in tree.expressions:
            if isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower():
                if not alias_first and scope.names_person(node.name) and not scope.is_person(_bare(item)):
                    raise source.refusal(
                        f"{node.name!r} identifies people, but here it is also the alias of another column",
                        at=node,
                        hint="give that column another alias",
                    )
                return _bare(item)
    return node


def _bare(item: exp.Expr) -> exp.Expr:
    """An item of a select list without its alias."""
    found: exp.Expr = item.this if isinstance(item, exp.Alias) else item
    return found


@dataclass(slots=True, kw_only=True)
class _Grouping:
    """One GROUP BY person: its keys and values, and what expressions over them mean."""

    reader: Reader
    scope: Scope
    reach: Reach
    keys: list[tuple[str, Expression]] = field(default_factory=list)
    values: list[tuple[str, Inner]] = field(default_factory=list)
    _nodes: list[tuple[exp.Expr, str]] = field(default_factory=list)
    _named: dict[str, Named] = field(default_factory=dict)

    def key(self, node: exp.Expr) -> None:
        found = self.reader.typed(node)
        name = self._new(found, node)
        self.keys.append((name, found.expression))

    def _new(self, found: Typed, node: exp.Expr) -> str:
        """A new column of the result."""
        name = computed(len(self._named))
        expression = found.expression
        ends = [abs(end) for end in (expression.low, expression.high) if end is not None]
        if max(ends, default=0) * self.reach.rows * FINER > _MOST_INNER:
            raise self._refusal("by the declared bounds this could become larger than 30 digits", node)
        code = (
            TextCode(column=name, null=expression.null)
            if isinstance(found.kind, Words)
            else Code(column=name, low=expression.low, high=expression.high, null=expression.null)
        )
        self._named[name] = Named(name=name, typed=Typed(expression=code, kind=found.kind))
        self._nodes.append((node, name))
        return name

    def typed(self, node: exp.Expr) -> Typed:
        return self._outer().typed(self._over(node))

    def predicate(self, node: exp.Expr) -> Predicate:
        return self._outer().predicate(self._over(node))

    def _over(self, node: exp.Expr) -> exp.Expr:
        """An expression with its keys and aggregates replaced by columns of the result."""

        def replaced(part: exp.Expr) -> exp.Expr:
            known = next((name for known, name in self._nodes if known == part), None)
            if known is None and is_aggregate(part):
                known = self._aggregate(part)
            if known is None:
                return part
            column = exp.column(known, quoted=True)
            column.this.meta.update(next((found.meta for found in part.walk() if "start" in found.meta), {}))
            return column

        return node.transform(replaced)

    def _outer(self) -> Reader:
        relation = replace(self.scope.relation, names={"": self._named}, person={})
        return Reader(source=self.reader.source, scope=Scope(source=self.reader.source, relation=relation))

    def _aggregate(self, node: exp.Expr) -> str:
        asked = node
        where: Predicate = TRUE
        if isinstance(node, exp.Filter):
            where, node = self.reader.predicate(node.expression.this), node.this
        try:
            only_known_arguments(node)
            if node.this is None:
                raise self._refusal("of what?", asked)
            inner, found = self._inner(node, where)
        except Refused as problem:
            raise (problem if problem.sql else self._refusal(problem.reason, asked)) from None
        known = next(
            (name for name, value in self.values if value == inner and self._named[name].typed.kind == found.kind), None
        )
        if known is not None:
            self._nodes.append((asked, known))
            return known
        counted = 1 + sum(isinstance(value, Distinct) for _, value in self.values)
        if isinstance(inner, Distinct) and counted > 1 and counted * self.reach.rows > MOST_DISTINCT:
            raise self._refusal("too many counts of different values at once", asked)
        name = self._new(found, asked)
        self.values.append((name, inner))
        return name

    def _inner(self, node: exp.Expr, where: Predicate) -> tuple[Inner, Typed]:
        most = self.reach.rows
        match node:
            case exp.Count(this=exp.Star()):
                return Rows(where=where), _whole(1 if where == TRUE else 0, most)
            case exp.Count(this=exp.Distinct(expressions=[part])):
                return Distinct(of=self.reader.typed(part).expression, where=where), _whole(0, most)
            case exp.Count() if not isinstance(node.this, exp.Distinct):
                found = self.reader.typed(node.this).expression
                given = [within(found, NOT_NULL)] if found.null else []
                return Rows(where=every([where, *given])), _whole(0, most)
            case exp.CountIf():
                return Rows(where=every([where, self.reader.predicate(node.this)])), _whole(0, most)
            case exp.Sum() | exp.Avg() | exp.Min() | exp.Max() | exp.LogicalOr() | exp.LogicalAnd():
                return self._number(node, where)
            case _:
                raise self._refusal("this aggregate is not known inside a subquery", node)

    def _number(self, node: exp.Expr, where: Predicate) -> tuple[Inner, Typed]:
        found = self.reader.typed(node.this)
        of, kind = found.expression, found.kind
        low, high = of.low, of.high
        if isinstance(kind, Words | Choice) and isinstance(node, exp.Sum | exp.Avg):
            raise self._refusal("only numbers can be summed", node.this, hint=instead_of_sum(found, node.this))
        if isinstance(kind, Words | Choice) or low is None or high is None or isinstance(node.this, exp.Distinct):
            raise self._refusal("this needs a number or a moment with bounds", node.this)
        null = of.null or where != TRUE
        match node:
            case exp.LogicalOr() | exp.LogicalAnd() if not isinstance(kind, Truth):
                raise self._refusal("true or false belongs here", node.this)
            case exp.Sum() | exp.Avg() if not isinstance(kind, Numeric | Truth):
                raise self._refusal("only numbers can be summed", node.this)
            case exp.Sum():
                step = kind.step if isinstance(kind, Numeric) else Fraction(1)
                most = self.reach.rows
                bounds = min(low, most * low), max(high, most * high)
                return Sum(of=of, where=where), _number(*bounds, null=null, step=step)
            case exp.Avg():
                step = (kind.step if isinstance(kind, Numeric) else Fraction(1)) / FINER
                return Mean(of=of, finer=FINER, where=where), _number(low * FINER, high * FINER, null=null, step=step)
            case _:
                code = Code(column="", low=low, high=high, null=null)
                make = Lowest if isinstance(node, exp.Min | exp.LogicalAnd) else Highest
                return make(of=of, where=where), Typed(expression=code, kind=kind)

    def _refusal(self, reason: str, node: exp.Expr, *, hint: str = _HINT) -> Refused:
        return self.reader.source.refusal(reason, at=node, hint=hint)


def _whole(low: int, high: int) -> Typed:
    return _number(low, high, null=False, step=Fraction(1))


def _number(low: int, high: int, *, null: bool, step: Fraction) -> Typed:
    return Typed(expression=Code(column="", low=low, high=high, null=null), kind=Numeric(step=step))


def _has_aggregate(tree: exp.Select) -> bool:
    return any(is_aggregate(part) for node in tree.expressions for part in node.walk())


def _whole_person(relation: Relation, selected: Mapping[str, str]) -> tuple[str, ...]:
    """The person's names in a subquery's result: those it selected, if they are a whole person."""
    for parts in relation.person.values():
        if parts and all(part in selected for part in parts):
            return tuple(selected[part] for part in parts)
    return (selected[PERSON],) if PERSON in selected else ()
