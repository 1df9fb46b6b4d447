"""Which columns of a table are the ends of its edges. By the declaration alone: refusals here are free."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import Flag, Message, Refused, UsageError
from discreet.kernel.version import Version
from discreet.schema.column import CategoryColumn, Column, NumberColumn, TextColumn
from discreet.schema.edge_table import PAIRS
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, closest_name_hint


def ends_of(version: Version, named_ends: tuple[str, str] | None) -> tuple[str, str] | None:
    """The columns of the ends; None where the table is declared with `ends`. Refuses what is no table of edges."""
    schema = version.schema
    if schema.unit.ends:
        if named_ends is not None and tuple(name.lower() for name in named_ends) != tuple(
            name.lower() for name in schema.unit.ends
        ):
            raise UsageError(
                f"table {schema.table!r} already declares its ends: {' and '.join(schema.unit.ends)}",
                hint=Message("leave ", Flag("ends"), " out"),
            )
        return None
    if not schema.unit.is_row:
        raise Refused(
            f"table {schema.table!r} protects {schema.unit}, but a network must protect edges or both of their ends",
            hint='declare ends = ["from", "to"] instead of person; or neither, then each row is one edge',
        )
    names = _named(schema, named_ends) if named_ends is not None else _guess_ends(schema)
    columns = [_end(schema, name) for name in names]
    _check_alike(columns)
    return columns[0].name, columns[1].name


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """What a network was asked for by: another one gives its edges, or its nodes, another meaning."""

    unit: PrivacyUnit
    directed: bool
    ends: tuple[Column | None, ...]

    @staticmethod
    def of(version: Version, ends: tuple[str, str] | None) -> Declaration:
        schema = version.schema
        return Declaration(
            unit=schema.unit, directed=schema.directed, ends=tuple(schema.column(name) for name in ends or ())
        )


def clamping_warnings(version: Version, ends: tuple[str, str] | None) -> list[str]:
    """What a reader should know of ends that are numbers with bounds."""
    end_columns = [version.schema.column(name) for name in ends or ()]
    names = [
        each.name
        for each in end_columns
        if isinstance(each, NumberColumn) and (each.low is not None or each.high is not None)
    ]
    if not names:
        return []
    return [
        f"ends outside the declared bounds of {' and '.join(names)} are moved to the bound, so several nodes can "
        "become one"
    ]


def _named(schema: Schema, named_ends: tuple[str, str]) -> tuple[str, str]:
    if len(named_ends) != 2 or not all(isinstance(name, str) for name in named_ends):
        raise UsageError("an edge has two ends", hint=Message(Flag("ends", ("from", "to"))))
    if named_ends[0].lower() == named_ends[1].lower():
        raise UsageError(
            f"column {named_ends[0][:60]!r} cannot be both ends of an edge", hint=Message(Flag("ends", ("from", "to")))
        )
    return named_ends


def _guess_ends(schema: Schema) -> tuple[str, str]:
    matching_pairs = [pair for pair in PAIRS if all(schema.column(name) is not None for name in pair)]
    if len(matching_pairs) != 1:
        pairs_text = "no columns" if not matching_pairs else f"{len(matching_pairs)} pairs of columns"
        raise UsageError(
            f"name the two columns of {schema.table!r} that are the ends of an edge: it has {pairs_text} named "
            + ", ".join(" and ".join(pair) for pair in matching_pairs or PAIRS),
            hint=Message(Flag("ends", ("A", "B"))),
        )
    return matching_pairs[0]


def _end(schema: Schema, name: str) -> Column:
    column = schema.column(name)
    if column is None:
        column_names = [each.name for each in schema.columns]
        raise UsageError(
            f"table {schema.table!r} has no declared column {name[:60]!r}",
            hint=closest_name_hint(name, column_names) or "declare it",
        )
    if not isinstance(column, TextColumn | CategoryColumn) and not (
        isinstance(column, NumberColumn) and column.type == "integer"
    ):
        raise UsageError(
            f"column {column.name!r} cannot be an end: ends must be text, integers or a category",
            hint=f'declare type = "text" for {column.name!r} in discreet.toml',
        )
    return column


def _check_alike(columns: list[Column]) -> None:
    """Both ends must name nodes in the same way, or a node would be two."""
    first, second = columns
    alike = type(first) is type(second)
    if alike and isinstance(first, CategoryColumn) and isinstance(second, CategoryColumn):
        alike = first.values == second.values
    if alike and isinstance(first, NumberColumn) and isinstance(second, NumberColumn):
        alike = (first.low, first.high) == (second.low, second.high)
    if not alike:
        raise UsageError(
            f"the ends {first.name!r} and {second.name!r} are declared differently, so one node would have two names",
            hint="declare both with the same type, and with the same values or bounds if they have any",
        )
