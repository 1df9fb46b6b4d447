"""FROM: tables, joins and subqueries as one relation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.plan.expressions import Code, Expression, TextCode
from discreet.plan.relation import JoinPerson, JoinPublic, Plan, Scan, brought, matched
from discreet.schema.column import Column
from discreet.schema.schema import closest
from discreet.sql.catalog import Catalog, Known, coded, meets
from discreet.sql.scope import Named, Relation, Scope
from discreet.sql.text import Source
from discreet.sql.typed import Typed, Words, typed

if TYPE_CHECKING:
    from collections.abc import Callable


#: More joins than this and a person's rows multiply beyond use.
MOST_JOINS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class FromReader:
    """Reads FROM and its joins. `subquery` reads what stands in parentheses, or behind WITH."""

    source: Source
    catalog: Catalog
    subquery: Callable[[exp.Expr], Relation]
    named: Mapping[str, exp.Expr]

    def read(self, tree: exp.Select) -> Relation:
        """The relation of a SELECT."""
        clause = tree.args.get("from_")
        joins = list(tree.args.get("joins") or [])
        if clause is None:
            raise self.source.refusal("a question needs a table", hint=example(self.catalog))
        if len(joins) > MOST_JOINS:
            raise self.source.refusal(f"at most {MOST_JOINS} joins", at=joins[MOST_JOINS])
        first = clause.this
        if self._public(first) is not None and joins:
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
        if self._public(join.this) is not None or not plain:
            raise self.source.refusal(
                "begin with the private table", at=first, hint="FROM private_table JOIN public_table ON …"
            )
        swapped = exp.Join(this=first, on=join.args.get("on"), using=join.args.get("using"))
        return join.this, [swapped, *joins[1:]]

    def _one(self, node: exp.Expr) -> Relation:
        alias = _alias(node)
        if isinstance(node, exp.Subquery):
            _only(self.source, node, {"this", "alias"})
            return _renamed(self.subquery(node.this), alias or "subquery")
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            _only(self.source, node, {"this", "alias"})
            if node.name.lower() in self.named:
                return _renamed(self.subquery(self.named[node.name.lower()]), alias or node.name)
            known = self._known(node)
            if known.public is not None:
                raise self.source.refusal(
                    f"{known.schema.table!r} is public: read it directly, it needs no budget", at=node
                )
            return _scan(known, (alias or node.name).lower())
        raise self.source.refusal("FROM takes declared tables and subqueries", at=node, hint=example(self.catalog))

    def _known(self, node: exp.Table) -> Known:
        found = next((known for name, known in self.catalog.items() if name.lower() == node.name.lower()), None)
        if found is None:
            raise self.source.refusal(
                f"there is no declared table {node.name[:60]!r}", at=node, hint=closest(node.name, self.catalog)
            )
        return found

    def _public(self, node: exp.Expr) -> Known | None:
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            return None
        if node.name.lower() in self.named:
            return None
        known = next((known for name, known in self.catalog.items() if name.lower() == node.name.lower()), None)
        return known if known is not None and known.public is not None else None

    def _join(self, left: Relation, join: exp.Join) -> Relation:
        side, kind = str(join.args.get("side") or "").upper(), str(join.args.get("kind") or "").upper()
        on, using = join.args.get("on"), join.args.get("using") or []
        if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER") or join.args.get("method"):
            raise self.source.refusal("only JOIN and LEFT JOIN are known", at=join, hint="a JOIN b ON a.x = b.x")
        if on is None and not using:
            raise self.source.refusal(
                "a join needs ON or USING", at=join.this, hint="without it every row would meet every other"
            )
        _only(self.source, join, {"this", "on", "using", "side", "kind"})
        place = _joins(left.plan) + 1
        left = replace(left, merged=left.merged | {name.name.lower() for name in using})
        known = self._public(join.this)
        if known is not None:
            return self._join_public(left, join, known, place=place, outer=side == "LEFT")
        return self._join_person(left, join, self._one(join.this), place=place, outer=side == "LEFT")

    def _pairs(self, join: exp.Join) -> list[tuple[exp.Expr, exp.Expr]]:
        """The equalities of a join."""
        using = join.args.get("using") or []
        if using:
            columns = [exp.column(name.name) for name in using]
            for column, name in zip(columns, using, strict=True):
                column.this.meta.update(name.meta)
            return [(column, column) for column in columns]
        on = join.args["on"]
        parts = list(on.flatten()) if isinstance(on, exp.And) else [on]
        pairs = []
        for part in parts:
            part = part.unnest()
            if not isinstance(part, exp.EQ):
                raise self.source.refusal(
                    "a join is by equality, AND by equality", at=part, hint="other conditions go to WHERE"
                )
            pairs.append((part.left, part.right))
        return pairs

    def _join_public(self, left: Relation, join: exp.Join, known: Known, *, place: int, outer: bool) -> Relation:
        from discreet.sql.where import Reader

        assert known.public is not None
        public = known.public()
        alias = (_alias(join.this) or join.this.name).lower()
        self._fresh(left, alias, join.this)
        by_name = {column.name.lower(): column for column in public.columns}
        reader = Reader(source=self.source, scope=Scope(source=self.source, relation=left))
        matches: list[tuple[Typed, Column]] = []
        for one, two in self._pairs(join):
            mine, theirs = (one, two) if _belongs(two, alias, by_name) else (two, one)
            if not isinstance(theirs, exp.Column) or theirs.name.lower() not in by_name:
                raise self.source.refusal(
                    f"one side of each equality must be a column of {known.schema.table!r}",
                    at=theirs,
                    hint=closest(getattr(theirs, "name", ""), [column.name for column in public.columns]),
                )
            found = reader.typed(mine)
            if not meets(found.kind, by_name[theirs.name.lower()]):
                raise self.source.refusal(
                    f"{theirs.name!r} is of another type than what it is joined with",
                    at=theirs,
                    hint=f"declare {theirs.name!r} of {known.schema.table!r} alike",
                )
            matches.append((found, by_name[theirs.name.lower()]))
        made = coded(public, [(match.kind, column) for match, column in matches], place=place)
        names = {
            column.name.lower(): Named(
                name=column.name,
                typed=_moved(typed(column), place, null=outer or None in public.codes[column.name]),
            )
            for column in public.columns
        }
        plan = JoinPublic(
            source=left.plan,
            place=place,
            table=known.schema.table,
            content=made.content,
            columns=tuple(brought(place, column.name) for column in public.columns),
            on=tuple((match.expression, matched(place, number)) for number, (match, _) in enumerate(matches)),
            fan_out=made.fan_out,
            outer=outer,
        )
        return replace(left, plan=plan, names={**left.names, alias: names}, publics={**left.publics, place: made})

    def _join_person(self, left: Relation, join: exp.Join, right: Relation, *, place: int, outer: bool) -> Relation:
        alias = next(iter(right.names))
        self._fresh(left, alias, join.this)
        if not left.has_person or not right.has_person or left.known.population != right.known.population:
            raise self.source.refusal(
                "private tables join on their person, within one population",
                at=join.this,
                hint='declare both with person = "…" and the same population',
            )
        lefts, rights = Scope(source=self.source, relation=left), Scope(source=self.source, relation=right)
        parts = [_same_part(one, two, lefts, rights) for one, two in self._pairs(join)]
        if None in parts or len(set(parts)) != parts[0][1] or right.publics:  # type: ignore[index]
            raise self.source.refusal(
                "private tables join on the person's column, and on nothing else",
                at=join.args.get("on") or join.this,
                hint="a JOIN b ON a.person = b.person; other conditions go to WHERE",
            )
        columns = {named.name.lower(): named for named in right.columns()}
        names = {
            lower: Named(
                name=named.name,
                typed=_outside(named.typed, brought(place, named.name), null=named.typed.expression.null or outer),
            )
            for lower, named in columns.items()
        }
        plan = JoinPerson(
            source=left.plan,
            place=place,
            other=right.plan,
            columns=tuple((brought(place, named.name), named.typed.expression) for named in columns.values()),
            outer=outer,
        )
        return replace(
            left,
            plan=plan,
            names={**left.names, alias: names},
            # Where an outer join found nobody, that side's person is NULL: it is not a name for the person.
            person=dict(left.person) if outer else {**left.person, alias: right.person[alias]},
        )

    def _fresh(self, left: Relation, alias: str, node: exp.Expr) -> None:
        if alias in left.names:
            raise self.source.refusal("two tables have the same name here", at=node, hint="give one an alias")


def example(catalog: Catalog) -> str:
    """The simplest question that passes."""
    private = [name for name, known in catalog.items() if known.public is None]
    return f"SELECT count(*) FROM {next(iter(private), 'patients')}"


def _scan(known: Known, alias: str) -> Relation:
    schema = known.schema
    names = {
        column.name.lower(): Named(name=column.name, typed=typed(column), column=column) for column in schema.columns
    }
    person = tuple(name.lower() for name in schema.unit.person)
    return Relation(
        plan=Scan(table=schema.table, version=known.version),
        names={alias: names},
        person={alias: person},
        known=known,
    )


def _renamed(relation: Relation, alias: str) -> Relation:
    """A subquery under its alias."""
    (old,) = relation.names
    alias = alias.lower()
    return replace(
        relation,
        names={alias: relation.names[old]},
        person={alias: relation.person[old]} if old in relation.person else {},
    )


def _joins(plan: Plan) -> int:
    """How many joins lie below: the next one's place is new."""
    found = 0
    while not isinstance(plan, Scan):
        found += isinstance(plan, JoinPublic | JoinPerson)
        plan = plan.source
    return found


def _alias(node: exp.Expr) -> str | None:
    alias = node.args.get("alias")
    return None if alias is None else str(alias.name)


def _only(source: Source, node: exp.Expr, known: set[str]) -> None:
    alias = node.args.get("alias")
    extra = [name for name, value in node.args.items() if value and name not in known]
    if extra or (isinstance(alias, exp.TableAlias) and alias.args.get("columns")):
        raise source.refusal("this form of FROM is not known", at=node)


def _belongs(node: exp.Expr, alias: str, by_name: Mapping[str, Column]) -> bool:
    """Whether a side of an equality is the public table's."""
    if not isinstance(node, exp.Column):
        return False
    return bool(node.table.lower() == alias) if node.table else node.name.lower() in by_name


def _same_part(one: exp.Expr, two: exp.Expr, lefts: Scope, rights: Scope) -> tuple[int, int] | None:
    """Which part of the person both sides of an equality are, of how many; None where they are not the same."""
    for mine, theirs in ((one, two), (two, one)):
        left, right = lefts.part(mine), rights.part(theirs)
        if left is not None and left == right:
            return left
    return None


def _moved(found: Typed, place: int, *, null: bool) -> Typed:
    """A public column under the name that the join gives it."""
    code = found.expression
    assert isinstance(code, Code | TextCode)
    return _outside(found, brought(place, code.column), null=null)


def _outside(found: Typed, name: str, *, null: bool) -> Typed:
    """An expression of a joined relation as a column of the join."""
    expression = found.expression
    moved: Expression
    if isinstance(found.kind, Words):
        moved = TextCode(column=name)
    else:
        moved = Code(column=name, low=expression.low, high=expression.high, null=null)
    return Typed(expression=moved, kind=found.kind)
