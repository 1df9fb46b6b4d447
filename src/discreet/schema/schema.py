"""Schema: the public facts of one table. Table: a schema with where its data lies and whose budget it is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.errors import SchemaError
from discreet.schema.column import Column
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.source_layout import UNDECLARED, SourceLayout


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """Columns by name and the unit of privacy.

    `invariants`: exact totals that the owner lets be published, as `totals_named` spells them; no others may be.
    `directed`: where rows are edges, one from a to b is not one from b to a.
    `groups`, `group_rows`: in how many groups of a query a person's rows count, and how many in each; None: in all.
    `public_persons`: about how many persons there are, where that is no secret.
    """

    table: str
    columns: tuple[Column, ...]
    unit: PrivacyUnit
    invariants: tuple[str, ...] = ()
    directed: bool = False
    groups: int | None = None
    group_rows: int | None = None
    public_persons: int | None = None

    def __post_init__(self) -> None:
        if self.unit.is_row and (self.groups, self.group_rows, self.public_persons) != (None, None, None):
            raise SchemaError(
                f"table {self.table!r}: groups_per_person, rows_per_person_per_group and public_persons need a person",
                hint='person = "patient_id"',
            )
        names = [column.name for column in self.columns]
        if len({name.lower() for name in names}) != len(names):
            raise SchemaError(f"table {self.table!r}: two columns have the same name")
        if self.unit.ends and (self.columns or self.invariants):
            raise SchemaError(
                f"table {self.table!r} has ends, so it cannot have columns or invariants: one person can change which "
                "edges of everybody else a limit keeps",
                hint=f"remove [tables.{self.table}.columns] and invariants; or remove ends, to protect each row",
            )

    def column(self, name: str) -> Column | None:
        """The column of this name; SQL names do not tell capital letters apart."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A budget as declared, in exact numbers; accounting turns it into a Guarantee."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    delta_keys: Fraction | None = None
    accounting: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A declared table: private unless said to be public.

    `null`: the texts that stand for nobody where a row says whose it is, and for no value in columns that declare none.
    """

    schema: Schema
    source: str
    engine: str = "duckdb"
    public: bool = False
    population: str
    budget: Budget | None
    layout: SourceLayout = UNDECLARED
    null: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        return self.schema.table


#: How alike a name and the one that may be meant are.
_ALIKE = 0.65


def closest_name_hint(name: str, candidates: Iterable[str]) -> str:
    """A hint naming the nearest known name, or all of them when few."""
    names = sorted(candidates)
    near = difflib.get_close_matches(name.lower(), [each.lower() for each in names], n=1, cutoff=_ALIKE)
    if near:
        return f"did you mean {next(each for each in names if each.lower() == near[0])!r}?"
    return f"one of: {', '.join(names)}" if 0 < len(names) <= 12 else ""


#: The name of the total of all rows.
EVERYBODY = "*"


def totals_named(column: str, within: str = "") -> str:
    """One spelling for exact totals: of the values of a column, or of what those lie in.

    `within`: TABLE.COLUMN of a public table that says where a value lies, or how many of its first letters say so.

    >>> totals_named("Block"), totals_named("block", "Places.state"), totals_named("block", "2")
    ('block', 'block > places.state', 'block > 2')
    """
    return (f"{column} > {within}" if within else column).lower()


def read_invariants(raw_invariants: Any, columns: Mapping[str, Any], *, where: str) -> tuple[str, ...]:
    """What may be published: "*", "COLUMN", "COLUMN > TABLE.COLUMN" or "COLUMN > LETTERS", in one spelling each."""
    where = f"{where} invariants"
    if not isinstance(raw_invariants, list) or not all(isinstance(each, str) for each in raw_invariants):
        raise SchemaError(f"{where} must be a list of names", hint='["block"], or ["block > places.state"]')
    invariants = tuple(_read_invariant(each, columns, where=where) for each in raw_invariants)
    if len(set(invariants)) < len(invariants):
        raise SchemaError(f"{where} lists a name twice")
    return invariants


def _read_invariant(raw_invariant: str, columns: Mapping[str, Any], *, where: str) -> str:
    name, lies, within = (part.strip() for part in raw_invariant.partition(">"))
    if name == EVERYBODY and not lies:
        return EVERYBODY
    if name.lower() not in [column.lower() for column in columns]:
        raise SchemaError(
            f"{where} names {name[:60]!r}, which is not a declared column", hint=closest_name_hint(name, columns)
        )
    letters = within.isascii() and within.isdecimal() and int(within) > 0
    table, _, column = within.rpartition(".")
    if lies and not letters and not (table and column):
        raise SchemaError(
            f"{where} does not say what the values of {name!r} belong to",
            hint=f'["{name} > TABLE.COLUMN"] of a public table, or ["{name} > 2"] for their first two letters',
        )
    return totals_named(name, str(int(within)) if letters else within)


def check_invariants(tables: Mapping[str, Table]) -> None:
    """Totals of what a public table says are of one that is declared, and public."""
    public = [table for table in tables.values() if table.public]
    undeclared = {table.name.lower() for table in public if not table.schema.columns}
    public_columns = [f"{table.name}.{column.name}".lower() for table in public for column in table.schema.columns]
    for table in tables.values():
        for named in table.schema.invariants:
            within = named.partition(" > ")[2]
            if within.rpartition(".")[0] in undeclared:
                continue  # its columns are those of its source: whoever publishes by them reads it
            if within and not within.isdecimal() and within not in public_columns:
                raise SchemaError(
                    f"[tables.{table.name}] invariants names {within[:60]!r}, which is not a column of a public table",
                    hint=closest_name_hint(within, public_columns),
                )
