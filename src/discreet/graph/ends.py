"""Which columns of a table are the ends of its edges. By the declaration alone: refusals here are free."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.errors import Refused, UsageError
from discreet.schema.column import Category, Column, Number, Text
from discreet.schema.network import PAIRS, refuse_elsewhere
from discreet.schema.schema import Schema, closest
from discreet.schema.unit import PrivacyUnit
from discreet.version import Version


def ends_of(version: Version, told: tuple[str, str] | None) -> tuple[str, str] | None:
    """The columns of the ends; None where the table is declared with `ends`. Refuses what is no table of edges."""
    schema = version.schema
    refuse_elsewhere(version.table, version.engine)
    if schema.unit.ends:
        if told is not None and tuple(name.lower() for name in told) != tuple(
            name.lower() for name in schema.unit.ends
        ):
            raise UsageError(
                f"table {schema.table!r} is declared with the ends {' and '.join(schema.unit.ends)}",
                hint="leave --ends out",
            )
        return None
    if not schema.unit.is_row:
        raise Refused(
            f"table {schema.table!r} protects {schema.unit}, which is neither an edge nor both of its ends",
            hint='a network needs ends = ["from", "to"] in place of person, or neither: then an edge is one row',
        )
    names = _named(schema, told) if told is not None else _guessed(schema)
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


def clamped(version: Version, ends: tuple[str, str] | None) -> list[str]:
    """What a reader should know of ends that are numbers with bounds."""
    found = [version.schema.column(name) for name in ends or ()]
    names = [
        each.name for each in found if isinstance(each, Number) and (each.low is not None or each.high is not None)
    ]
    if not names:
        return []
    return [
        f"ends beyond the declared bounds of {' and '.join(names)} count as the bound, so that several become one node"
    ]


def _named(schema: Schema, told: tuple[str, str]) -> tuple[str, str]:
    if len(told) != 2 or not all(isinstance(name, str) for name in told):
        raise UsageError("an edge has two ends", hint="--ends from,to")
    if told[0].lower() == told[1].lower():
        raise UsageError(f"both ends of an edge cannot be the column {told[0][:60]!r}", hint="--ends from,to")
    return told


def _guessed(schema: Schema) -> tuple[str, str]:
    found = [pair for pair in PAIRS if all(schema.column(name) is not None for name in pair)]
    if len(found) != 1:
        known = "no columns" if not found else f"{len(found)} pairs of columns"
        raise UsageError(
            f"which columns of {schema.table!r} are the ends of an edge? It has {known} called "
            + ", ".join(" and ".join(pair) for pair in found or PAIRS),
            hint="--ends A,B names them",
        )
    return found[0]


def _end(schema: Schema, name: str) -> Column:
    column = schema.column(name)
    if column is None:
        known = [each.name for each in schema.columns]
        raise UsageError(
            f"table {schema.table!r} has no declared column {name[:60]!r}", hint=closest(name, known) or "declare it"
        )
    if not isinstance(column, Text | Category) and not (isinstance(column, Number) and column.type == "integer"):
        raise UsageError(
            f"column {column.name!r} cannot be an end: ends are text, integers or a category",
            hint=f'type = "text" for {column.name!r} in discreet.toml',
        )
    return column


def _check_alike(columns: list[Column]) -> None:
    """Both ends must name nodes in the same way, or a node would be two."""
    first, second = columns
    alike = type(first) is type(second)
    if alike and isinstance(first, Category) and isinstance(second, Category):
        alike = first.values == second.values
    if alike and isinstance(first, Number) and isinstance(second, Number):
        alike = (first.low, first.high) == (second.low, second.high)
    if not alike:
        raise UsageError(
            f"the ends {first.name!r} and {second.name!r} are declared differently: a node would have two names",
            hint="declare both with the same type, and the same values or bounds where they have some",
        )
