"""Relations, and what names mean in them: columns, and the person."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import Refused
from discreet.plan.relation import Plan, Scan, scans
from discreet.schema.column import Column
from discreet.schema.schema import closest_name_hint
from discreet.sql.catalog import CatalogTable, CodedPublicTable
from discreet.sql.query_text import QueryText
from discreet.sql.typed_expression import TypedExpression

if TYPE_CHECKING:
    from collections.abc import Callable


#: The person can always be called by this name, where no column has it.
PERSON = "person"


class CommonTableExpression(exp.Expression):
    """A subquery of a WITH clause, the names that it may use, and who reads it."""

    def __init__(
        self, tree: exp.Expr, named: Mapping[str, exp.Expr], read: Callable[[exp.Expr], NamedRelation]
    ) -> None:
        super().__init__()
        self.tree = tree
        self.named = named
        self.read = read


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedColumn:
    """A column that a question can name: what it is, and its declaration where it is a plain one."""

    name: str
    typed: TypedExpression
    column: Column | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRelation:
    """Rows, and the names by which a question sees them: alias to columns, in lower case.

    `person`: the names of the person's columns under each alias. `merged`: names that USING made one.
    """

    plan: Plan
    names: Mapping[str, Mapping[str, NamedColumn]]
    person: Mapping[str, tuple[str, ...]]
    catalog_table: CatalogTable
    publics: Mapping[int, CodedPublicTable] = field(default_factory=dict)
    merged: frozenset[str] = frozenset()

    @property
    def has_person(self) -> bool:
        return not self.catalog_table.schema.unit.is_row

    def columns(self) -> list[NamedColumn]:
        """Every column, in order."""
        return [named for names in self.names.values() for named in names.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What names mean in one relation."""

    source: QueryText
    relation: NamedRelation

    def column(self, node: exp.Column) -> TypedExpression:
        """What a name means."""
        return self.resolve(node).typed

    def resolve(self, node: exp.Column) -> NamedColumn:
        """The column that a name means; refuses names that are unknown, ambiguous, or a person's."""
        named_column = self._find(node)
        if named_column is not None:
            return named_column
        if self.is_person(node):
            raise self.source.refusal(
                f"{node.name!r} identifies people, so a query cannot use its values",
                at=node,
                hint=f"count(DISTINCT {node.sql()}), or GROUP BY {node.sql()} in a subquery",
            )
        column_names = [named.name for named in self.relation.columns()]
        table = next(iter(self.relation.names)) if len(self.relation.names) == 1 else "this query"
        raise self.source.refusal(
            f"{table!r} has no declared column {node.name[:60]!r}",
            at=node,
            hint="write text in single quotes: '…'"
            if node.this.args.get("quoted")
            else closest_name_hint(node.name, column_names),
        )

    def _find(self, node: exp.Column) -> NamedColumn | None:
        if node.args.get("db") or (node.table and node.table.lower() not in self.relation.names):
            raise self.source.refusal(f"there is no table {node.table!r} in this query", at=node)
        places = [node.table.lower()] if node.table else list(self.relation.names)
        matches = [self.relation.names[place][node.name.lower()] for place in places
                 if node.name.lower() in self.relation.names[place]]  # fmt: skip
        if len(matches) > 1 and node.name.lower() not in self.relation.merged:
            raise self._ambiguous(node, places[0])
        if matches and not node.table and self.names_person(node.name):
            raise self._ambiguous(
                node, next(place for place in places if node.name.lower() in self.relation.names[place])
            )
        return matches[0] if matches else None

    def _ambiguous(self, node: exp.Column, place: str) -> Refused:
        return self.source.refusal(
            f"{node.name!r} is a column of several tables", at=node, hint=f"write {place}.{node.name}"
        )

    def has(self, name: str) -> bool:
        """Whether a plain name is a column here."""
        return any(name.lower() in names for names in self.relation.names.values())

    def is_person(self, node: exp.Expr) -> bool:
        """Whether an expression is the person, or one part of a composite one."""
        return self._person_part(node) is not None

    def _person_part(self, node: exp.Expr) -> tuple[str, str] | None:
        if not isinstance(node, exp.Column) or not self.relation.has_person:
            return None
        for alias, parts in self.relation.person.items():
            if node.table and node.table.lower() != alias:
                continue
            if node.name.lower() in parts:
                if not node.table and self.has(node.name):
                    raise self._ambiguous(node, alias)
                return alias, node.name.lower()
            if node.name.lower() == PERSON and not self.has(PERSON):
                return alias, PERSON
        return None

    def names_person(self, name: str) -> bool:
        """Whether a name is the person's, or of a part of it."""
        return self.relation.has_person and any(name.lower() in parts for parts in self.relation.person.values())

    def person_position(self, node: exp.Expr) -> tuple[int, int] | None:
        """Which part of the person an expression is, of how many; the 0th of 1 for the whole, None where it is none."""
        person_part = self._person_part(node)
        if person_part is None:
            return None
        alias, name = person_part
        parts = self.relation.person[alias]
        return (parts.index(name), len(parts)) if name in parts else (0, 1)

    def are_person(self, nodes: list[exp.Expr]) -> bool:
        """Whether expressions together are the whole person, once or more."""
        person_parts = [self._person_part(node) for node in nodes]
        if not person_parts or None in person_parts:
            return False
        named = {part for part in person_parts if part is not None}
        return any(
            (alias, PERSON) in named or (bool(parts) and {(alias, part) for part in parts} <= named)
            for alias, parts in self.relation.person.items()
        )


def declared_scans(relation: NamedRelation) -> list[Scan]:
    """Every declared table of a relation, the one asked about first, each once."""
    return list(dict.fromkeys(scans(relation.plan)))
