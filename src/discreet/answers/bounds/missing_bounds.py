"""What is to be found out about a table: what is asked for by name, or all that is missing and can be found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.answers.bounds.bounds_terms import BoundsTerms
from discreet.answers.bounds.end_search import End
from discreet.errors import Command, Flag, Message, UsageError
from discreet.kernel.curator import Version
from discreet.schema.column import (
    BooleanColumn,
    CategoryColumn,
    Column,
    MomentColumn,
    NumberColumn,
    TextColumn,
    type_name,
)
from discreet.schema.schema import Table, closest_name_hint

#: How the limit of rows is asked for by name.
ROWS_PER_PERSON = "rows_per_person"


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingBounds:
    """The limit of rows, ends of ordered columns, values of text columns: each gets the same share of epsilon."""

    limit: bool
    ends: Mapping[str, tuple[End, ...]]
    values: tuple[str, ...]

    @property
    def size(self) -> int:
        return self.limit + len(self.ends) + len(self.values)


def find_missing_bounds(
    table: Table, raw: Mapping[str, Any], version: Version, names: Sequence[str], terms: BoundsTerms
) -> MissingBounds:
    """What is missing in discreet.toml: of the columns named, else of all that can be found without a name."""
    refuse_other_persons(table, version)
    chosen = named_columns(table, names)
    limit = ROWS_PER_PERSON in chosen
    if limit:
        _refuse_limit(table, raw)
    columns = [column for column in chosen if not isinstance(column, str)]
    if not names:
        limit = not table.schema.unit.is_row and ROWS_PER_PERSON not in raw
        columns = [column for column in table.schema.columns if _missing_ends(column)]
    for column in columns:
        _refuse_declared(table, column)
        _refuse_other(table, version, column)
    missing = MissingBounds(
        limit=limit,
        ends={column.name: _missing_ends(column) for column in columns if not isinstance(column, TextColumn)},
        values=tuple(column.name for column in columns if isinstance(column, TextColumn)),
    )
    if not missing.size:
        raise UsageError(
            f"everything that can be measured in {table.name!r} without naming a column is already declared",
            hint=Message(
                "name a text column to find its values, or see how well the bounds fit with ",
                Flag("report", True, python="project.bias"),
            ),
        )
    _check_delta(missing, terms)
    return missing


def _check_delta(missing: MissingBounds, terms: BoundsTerms) -> None:
    if missing.values and not terms.delta:
        raise UsageError(
            f"finding the values of {missing.values[0]!r} uses a threshold, which needs a delta",
            hint=Message(Flag("delta", "1e-7"), ", taken from the delta that the table's budget has for keys"),
        )
    if terms.delta is not None and not missing.values:
        raise UsageError(
            Message(Flag("delta"), " is for the values of text columns, and no text column is named"),
            hint="leave it out",
        )


def named_columns(table: Table, names: Iterable[str]) -> list[Column | str]:
    """The columns of these names, and the limit of rows, each once."""
    chosen: list[Column | str] = []
    for name in names:
        column = table.schema.column(name)
        if column is None and name.lower() != ROWS_PER_PERSON:
            column_names = [column.name for column in table.schema.columns]
            column_names += [] if table.schema.unit.is_row else [ROWS_PER_PERSON]
            raise UsageError(
                f"there is no column {name[:60]!r} in {table.name!r}", hint=closest_name_hint(name, column_names)
            )
        choice = ROWS_PER_PERSON if column is None else column
        chosen += [] if choice in chosen else [choice]
    return chosen


def refuse_other_persons(table: Table, version: Version) -> None:
    """Whose rows they are must be what discreet.toml says now."""
    mine, theirs = table.schema.unit, version.schema.unit
    if (mine.person, mine.through, mine.on) != (theirs.person, theirs.through, theirs.on):
        raise UsageError(
            f"version {version.number} of {table.name!r} protects {theirs}, but discreet.toml says {mine}",
            hint=Message("run ", Command("refresh", table.name), " first"),
        )


def _missing_ends(column: Column) -> tuple[End, ...]:
    """The ends that are not declared."""
    if not isinstance(column, NumberColumn | MomentColumn):
        return ()
    ends: tuple[tuple[End, int | None], ...] = (("low", column.low), ("high", column.high))
    return tuple(end for end, declared in ends if declared is None)


def _refuse_limit(table: Table, raw: Mapping[str, Any]) -> None:
    if table.schema.unit.is_row:
        raise UsageError(
            f"each row of {table.name!r} is one person", hint='declare the person column: person = "patient_id"'
        )
    if ROWS_PER_PERSON in raw:
        raise _declared(table, ROWS_PER_PERSON, f"{ROWS_PER_PERSON} of {table.name!r} is already declared")


def _refuse_declared(table: Table, column: Column) -> None:
    match column:
        case NumberColumn() | MomentColumn() if not _missing_ends(column):
            raise _declared(table, column.name, f"column {column.name!r} already has bounds")
        case CategoryColumn():
            raise UsageError(f"column {column.name!r} already has values", hint='set type = "text" to measure them')
        case BooleanColumn():
            raise UsageError(f"column {column.name!r} is boolean and needs no bounds")
        case _:
            return


def _declared(table: Table, name: str, reason: str) -> UsageError:
    return UsageError(
        reason,
        hint=Message(
            Command("bounds", table.name, name, Flag("report", True), Flag("epsilon", 0.1)),
            " shows how well it fits; remove it to measure it again",
        ),
    )


def _refuse_other(table: Table, version: Version, column: Column) -> None:
    """What is looked at is the newest version, and it must be what discreet.toml says of the column now."""
    if version.schema.column(column.name) != column:
        raise UsageError(
            f"version {version.number} of {table.name!r} was made with another declaration of {column.name!r}; "
            f"discreet.toml now declares it as {type_name(column)} without bounds",
            hint=Message("run ", Command("refresh", table.name), " first"),
        )
