"""A private trait of a network's nodes, as it is declared.

Under node privacy it is a column of the private table whose persons they are. Under edge privacy the rows of edges
themselves say it, in a column for either end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.errors import Flag, Message, Refused, UsageError
from discreet.kernel.version import Version
from discreet.schema.column import BooleanColumn, CategoryColumn, Column, Label
from discreet.schema.schema import Schema, closest_name_hint

#: Noise grows with the number of values, so that more of them would show nothing.
MOST_TRAITS = 32

#: No more edges of a node are counted where labels are protected together.
MOST_LIMIT = 1_000_000


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RowLabels:
    """The two columns of a table of edges that say what either end is, and the values that they are declared to have.

    limit: how many edges of a node count at most, so that what all its rows say of it is protected together.
    """

    columns: tuple[str, str]
    labels: tuple[Label, ...]
    limit: int | None = None

    @property
    def column(self) -> str:
        """What people call the attribute."""
        return ",".join(self.columns)

    @staticmethod
    def of(version: Version, names: str, limit: int | None) -> RowLabels:
        """The labels of a declared table of edges; refuses what are none."""
        named = [version.schema.column(name.strip()) for name in names.split(",")]
        declared = [column for column in named if column is not None]
        if len(named) != 2 or len(declared) != 2:
            raise UsageError(
                f"name two declared columns of {version.table!r} that say what the ends of an edge are",
                hint=Message(Flag("by", ("from_group", "to_group"))),
            )
        labels = [_labels(column) for column in declared]
        if labels[0] != labels[1] or declared[0].name == declared[1].name:
            raise UsageError(
                f"{declared[0].name!r} and {declared[1].name!r} do not say the same of both ends",
                hint="declare both with the same values, in the same order",
            )
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_LIMIT
        ):
            raise UsageError(
                f"the number of edges to count per node must be a whole number from 1 to {MOST_LIMIT:,}",
                hint=Message(Flag("edges-per-node", 10)),
            )
        return RowLabels(columns=(declared[0].name, declared[1].name), labels=labels[0], limit=limit)

    def check(self, version: Version) -> None:
        """Refuse a version that declares the labels otherwise."""
        if RowLabels.of(version, self.column, self.limit) != self:
            raise UsageError(
                f"{version.table!r} was refreshed with a different declaration of {self.column!r}",
                hint="open the network again",
            )


def declared_labels(schema: Schema, by: str, *, labelled: bool) -> tuple[Any, ...] | None:
    """The groups that a declaration gives to `by`: two columns of a table of edges, or one of a table of persons.

    None where it gives none. For releases that are read again: they must have been sorted by these.
    """
    columns = [schema.column(name) for name in (by.split(",") if labelled else [by])]
    if len(columns) != 1 + labelled or not (labelled or schema.unit.rows == 1):
        return None
    try:
        groups = [_labels(column) for column in columns if column is not None]
    except (Refused, UsageError):
        return None
    return groups[0] if len(groups) == len(columns) and groups[0] == groups[-1] else None


def _labels(column: Column) -> tuple[Any, ...]:
    if isinstance(column, BooleanColumn):
        return (False, True)
    if not isinstance(column, CategoryColumn):
        raise Refused(
            f"edges can be grouped by a private column only if its values are declared, and those of {column.name!r} "
            "are not",
            hint=Message(f'declare type = "category" and values for {column.name!r}; or leave ', Flag("by"), " out"),
        )
    if not 2 <= len(column.values) <= MOST_TRAITS:
        raise UsageError(
            f"{column.name!r} has {len(column.values):,} values; groups need 2 to {MOST_TRAITS}",
            hint="declare fewer values, with one for all others",
        )
    return column.values
