"""Whom a population protects: by which columns each of its tables identifies a person. For good, once it counts.

The limit of a population is a promise to one unit: a row, or a person. "A person" means nothing without the columns
that tell persons apart: a patient of twenty visits, each of which was protected alone before, has lost twenty times as
much. So the ledger keeps these columns for every table of a population, and those on the way where persons are reached
through other tables. As soon as something was released about the population, or somebody was forgotten, they stay.

Guarantee: all charges of a population that were accepted under this rule protect one and the same kind of unit in each
    table: whoever has the same values in these columns, of the same types.
Because: a table's first version names them; a version that names others is refused once something was charged. Before
    that it may: then every version made earlier, of any table of the population, must be made anew before it is asked
    about, so no charge ever counts persons by what was corrected.

What the columns hold is the owner's word: nobody can know whether two numbers in a file are one patient. A raised
rows_per_person changes no unit: noise follows the rows of each version.

It knows what a declaration says of persons (`schema.person_identity`), and nothing of the rest of the ledger.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from discreet.schema.person_identity import Naming, describe, differ, intermediate_namings


@dataclass(slots=True)
class ProtectedUnit:
    """How the tables of one population name its persons.

    corrected: the row of the ledger that last changed it, while nothing was charged; versions made before are stale.
    changes: what programs before this rule let change after something was charged. No single limit then holds.
    """

    namings: dict[str, Naming] = field(default_factory=dict)
    corrected: int = 0
    changes: list[str] = field(default_factory=list)

    def conflict(self, table: str, naming: Naming) -> str | None:
        """The table that names its persons otherwise than it did: `table`, or one on its way to them."""
        named = [(table, naming), *intermediate_namings(naming)]
        return next((name for name, new in named if name in self.namings and differ(self.namings[name], new)), None)

    def record_naming(self, table: str, naming: Naming, *, row: int, fixed: bool, version: int | None = None) -> None:
        """A version, or a history that was restored, names the persons of a table. `fixed`: something was charged."""
        other = self.conflict(table, naming)
        if other is not None and fixed:
            of = "" if version is None else f" with version {version} of {table!r}"
            before = describe(self.namings[other])
            after = describe(
                next(new for name, new in [(table, naming), *intermediate_namings(naming)] if name == other)
            )
            self.changes.append(f"{other!r} identified people by {before}, and{of} by {after}")
        elif other is not None:
            self.namings, self.corrected = {}, row
        self.namings |= {table: naming, **dict(intermediate_namings(naming))}

    def is_stale(self, table: str, naming: Naming, *, row: int) -> bool:
        """Whether a version, made at a row of the ledger, names its persons by what was corrected since."""
        return row < self.corrected or (table in self.namings and differ(self.namings[table], naming))
