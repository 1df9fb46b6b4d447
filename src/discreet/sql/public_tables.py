"""Public tables behind a join: the table itself, or columns and rows picked from it. Free: there is no secret in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from sqlglot import exp

from discreet.plan.expressions import Code, TextCode
from discreet.plan.predicate import Predicate, holds
from discreet.plan.relation import Scan
from discreet.sql.catalog import Catalog, CatalogTable, PublicTable
from discreet.sql.expression_reader import ExpressionReader
from discreet.sql.query_text import QueryText
from discreet.sql.scope import CommonTableExpression, NamedColumn, NamedRelation, Scope
from discreet.sql.typed_expression import TypedExpression, column_expression

_PICKS = {"expressions", "from_", "where"}


def names_of(public: PublicTable) -> dict[str, NamedColumn]:
    """The columns of a public table, which are NULL only where it says so."""
    named_columns = {}
    for column in public.columns:
        code = column_expression(column).expression
        assert isinstance(code, Code | TextCode)
        typed_value = TypedExpression(
            replace(code, null=None in public.codes[column.name]), column_expression(column).kind
        )
        named_columns[column.name.lower()] = NamedColumn(name=column.name, typed=typed_value)
    return named_columns


def scope_of(source: QueryText, catalog_table: CatalogTable, public: PublicTable, alias: str) -> Scope:
    """What names mean in a public table alone."""
    scan = Scan(table=catalog_table.schema.table, version=catalog_table.version)
    relation = NamedRelation(plan=scan, names={alias: names_of(public)}, person={}, catalog_table=catalog_table)
    return Scope(source=source, relation=relation)


def filter_public_rows(public: PublicTable, where: Predicate) -> PublicTable:
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
class PublicTableFinder:
    """Finds out what in FROM is public. `named`: what WITH has named."""

    source: QueryText
    catalog: Catalog
    named: Mapping[str, exp.Expr]

    def find_public(self, node: exp.Expr) -> CatalogTable | None:
        """A public table, or what a subquery picks from one; None for anything that holds people's rows."""
        if isinstance(node, exp.Subquery):
            return self._find_in_subquery(node.this)
        if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
            return None
        placed = self.named.get(node.name.lower())
        if isinstance(placed, CommonTableExpression):
            return replace(self, named=placed.named)._find_in_subquery(placed.tree)
        catalog_table = next(
            (candidate for name, candidate in self.catalog.items() if name.lower() == node.name.lower()), None
        )
        return catalog_table if catalog_table is not None and catalog_table.public is not None else None

    def _find_in_subquery(self, node: exp.Expr) -> CatalogTable | None:
        while isinstance(node, exp.Subquery):
            node = node.this
        start = node.args.get("from_") if isinstance(node, exp.Select) else None
        catalog_table = None if start is None else self.find_public(start.this)
        if start is None or catalog_table is None or catalog_table.public is None:
            return None
        strange = [name for name, value in node.args.items() if value and name not in _PICKS]
        if strange:
            raise self._too_much(node, catalog_table)
        alias = (start.this.alias or start.this.name).lower()
        made = self._pick(node, catalog_table, catalog_table.public(), alias)
        return replace(catalog_table, public=lambda: made)

    def _pick(self, node: exp.Expr, catalog_table: CatalogTable, public: PublicTable, alias: str) -> PublicTable:
        scope = scope_of(self.source, catalog_table, public, alias)
        where = node.args.get("where")
        if where is not None:
            public = filter_public_rows(public, ExpressionReader(source=self.source, scope=scope).predicate(where.this))
        by_name = {column.name: column for column in public.columns}
        picked: dict[str, str] = {}
        for item in node.expressions:
            inner = item.this if isinstance(item, exp.Alias) else item
            if isinstance(inner, exp.Star):
                picked.update({name: name for name in by_name})
            elif isinstance(inner, exp.Column) and not isinstance(inner.this, exp.Star):
                picked[str(item.alias_or_name)] = scope.resolve(inner).name
            else:
                raise self._too_much(item, catalog_table)
        return PublicTable(
            name=public.name,
            columns=tuple(replace(by_name[name], name=new) for new, name in picked.items()),
            codes={new: public.codes[name] for new, name in picked.items()},
        )

    def _too_much(self, node: exp.Expr, catalog_table: CatalogTable) -> Exception:
        return self.source.refusal(
            "a subquery over a public table can only select columns and filter rows",
            at=node,
            hint=f"JOIN {catalog_table.schema.table} ON …, and compute with its columns in the outer query",
        )
