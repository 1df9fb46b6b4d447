"""Public tables behind a join: the table itself, or columns and rows picked from it. Free: there is no secret in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.plan.expressions import Code, TextCode
from discreet.plan.predicate import Predicate, holds
from discreet.plan.relation import Scan
from discreet.sql.catalog import Catalog, Known, PublicTable
from discreet.sql.scope import Named, Placed, Relation, Scope
from discreet.sql.text import Source
from discreet.sql.typed import Typed, typed
from discreet.sql.where import Reader

_PICKS = {"expressions", "from_", "where"}


def names_of(public: PublicTable) -> dict[str, Named]:
    """The columns of a public table, which are NULL only where it says so."""
    found = {}
    for column in public.columns:
        code = typed(column).expression
        assert isinstance(code, Code | TextCode)
        known = Typed(replace(code, null=None in public.codes[column.name]), typed(column).kind)
        found[column.name.lower()] = Named(name=column.name, typed=known)
    return found


def scope_of(source: Source, known: Known, public: PublicTable, alias: str) -> Scope:
    """What names mean in a public table alone."""
    scan = Scan(table=known.schema.table, version=known.version)
    relation = Relation(plan=scan, names={alias: names_of(public)}, person={}, known=known)
    return Scope(source=source, relation=relation)


def kept(public: PublicTable, where: Predicate) -> PublicTable:
    """The rows of a public table for which a condition is TRUE."""
    names = list(public.codes)
    rows = [
        codes
        for codes in zip(*public.codes.values(), strict=True)
        if holds(where, dict(zip(names, codes, strict=True)))
    ]
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return replace(public, codes=dict(zip(names, columns, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Publics:
    """Finds out what in FROM is public. `named`: what WITH has named."""

    source: Source
    catalog: Catalog
    named: Mapping[str, exp.Expr]

    def known(self, node: exp.Expr) -> Known | None:
        """A public table, or what a subquery picks from one; None for anything that holds people's rows."""
        if isinstance(node, exp.Subquery):
            return self._picked(node.this)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            return None
        placed = self.named.get(node.name.lower())
        if isinstance(placed, Placed):
            return replace(self, named=placed.named)._picked(placed.tree)
        found = next((known for name, known in self.catalog.items() if name.lower() == node.name.lower()), None)
        return found if found is not None and found.public is not None else None

    def _picked(self, node: exp.Expr) -> Known | None:
        while isinstance(node, exp.Subquery):
            node = node.this
        start = node.args.get("from_") if isinstance(node, exp.Select) else None
        known = None if start is None else self.known(start.this)
        if start is None or known is None or known.public is None:
            return None
        strange = [name for name, value in node.args.items() if value and name not in _PICKS]
        if strange:
            raise self._too_much(node, known)
        alias = (start.this.alias or start.this.name).lower()
        made = self._pick(node, known, known.public(), alias)
        return replace(known, public=lambda: made)

    def _pick(self, node: exp.Expr, known: Known, public: PublicTable, alias: str) -> PublicTable:
        scope = scope_of(self.source, known, public, alias)
        where = node.args.get("where")
        if where is not None:
            public = kept(public, Reader(source=self.source, scope=scope).predicate(where.this))
        by_name = {column.name: column for column in public.columns}
        picked: dict[str, str] = {}
        for item in node.expressions:
            inner = item.this if isinstance(item, exp.Alias) else item
            if isinstance(inner, exp.Star):
                picked.update({name: name for name in by_name})
            elif isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star):
                picked[str(item.alias_or_name)] = scope.named(inner).name
            else:
                raise self._too_much(item, known)
        return PublicTable(
            name=public.name,
            columns=tuple(replace(by_name[name], name=new) for new, name in picked.items()),
            codes={new: public.codes[name] for new, name in picked.items()},
        )

    def _too_much(self, node: exp.Expr, known: Known) -> Exception:
        return self.source.refusal(
            "a subquery picks columns and rows of a public table, and nothing else",
            at=node,
            hint=f"JOIN {known.schema.table} ON …, and compute with its columns outside",
        )
