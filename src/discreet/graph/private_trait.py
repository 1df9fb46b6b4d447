"""A private trait of a network's nodes: a column of the private table whose persons they are, as it is declared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.errors import Flag, Message, Refused, UsageError
from discreet.graph.public_nodes import MOST_GROUPS
from discreet.kernel.version import Version
from discreet.schema.column import BooleanColumn, CategoryColumn, Column, Label
from discreet.schema.schema import closest_name_hint


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivateTrait:
    """Which column sorts the nodes, and the values that it is declared to have. Who has which is never public."""

    column: str
    labels: tuple[Label, ...]

    @staticmethod
    def of(version: Version, name: str) -> PrivateTrait:
        """The trait of a declared table of persons; refuses what is none."""
        column = version.schema.column(name)
        if column is None:
            names = [each.name for each in version.schema.columns]
            raise UsageError(
                f"table {version.table!r} has no declared column {name[:60]!r}",
                hint=closest_name_hint(name, names) or "declare it",
            )
        if version.schema.unit.rows != 1 or len(version.schema.unit.person) != 1:
            raise UsageError(
                f"{version.table!r} may have several rows for a person, so a person could have several values of "
                f"{column.name!r}",
                hint="declare a table with one row for each person, and rows_per_person = 1",
            )
        return PrivateTrait(column=column.name, labels=_labels(column))

    def check(self, version: Version) -> None:
        """Refuse a version that declares the trait otherwise: its values would have another meaning."""
        if PrivateTrait.of(version, self.column) != self:
            raise UsageError(
                f"{version.table!r} was refreshed with a different declaration of {self.column!r}",
                hint="open the network again",
            )


def _labels(column: Column) -> tuple[Any, ...]:
    if isinstance(column, BooleanColumn):
        return (False, True)
    if not isinstance(column, CategoryColumn):
        raise Refused(
            f"edges can be grouped by a private column only if its values are declared, and those of {column.name!r} "
            "are not",
            hint=Message(f'declare type = "category" and values for {column.name!r}; or leave ', Flag("by"), " out"),
        )
    if not 2 <= len(column.values) <= MOST_GROUPS:
        raise UsageError(
            f"{column.name!r} has {len(column.values):,} values; groups need 2 to {MOST_GROUPS}",
            hint="declare fewer values, with one for all others",
        )
    return column.values
