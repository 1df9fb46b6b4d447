"""Schema: the public facts of one table. Table: a schema with where its data lies and whose budget it is."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from discreet.errors import SchemaError
from discreet.schema.column import Column
from discreet.schema.unit import PrivacyUnit


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """Columns by name and the unit of privacy.

    `invariants`: exact totals that the owner lets be published, as `totals_named` writes them; nothing else may be.
    """

    table: str
    columns: tuple[Column, ...]
    unit: PrivacyUnit
    invariants: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        if len({name.lower() for name in names}) != len(names):
            raise SchemaError(f"table {self.table!r}: two columns have the same name")

    def column(self, name: str) -> Column | None:
        """The column of this name; SQL names do not tell capital letters apart."""
        return next((column for column in self.columns if column.name.lower() == name.lower()), None)


#: The name of the total of all rows.
EVERYBODY = "*"


def totals_named(column: str, within: str = "") -> str:
    """One spelling for exact totals: of the values of a column, or of what those lie in.

    `within`: TABLE.COLUMN of a public table that says where a value lies, or how many of its first letters say so.

    >>> totals_named("Block"), totals_named("block", "Places.state"), totals_named("block", "2")
    ('block', 'block > places.state', 'block > 2')
    """
    return (f"{column} > {within}" if within else column).lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """A budget as declared, in exact numbers; accounting turns it into a Guarantee."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    delta_keys: Fraction | None = None
    accounting: str = "either"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A declared table: private unless said to be public."""

    schema: Schema
    source: str
    engine: str = "duckdb"
    public: bool = False
    population: str
    budget: Budget | None

    @property
    def name(self) -> str:
        return self.schema.table


def closest(name: str, known: Iterable[str]) -> str:
    """A hint naming the nearest known name, or all of them when few."""
    names = sorted(known)
    near = difflib.get_close_matches(name.lower(), [known.lower() for known in names], n=1)
    if near:
        return f"did you mean {next(known for known in names if known.lower() == near[0])!r}?"
    return f"there are: {', '.join(names)}" if 0 < len(names) <= 12 else ""
