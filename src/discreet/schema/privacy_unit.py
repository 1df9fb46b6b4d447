"""Whose presence is hidden."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.errors import SchemaError

#: Names that begin like this are ours in every declared table.
OURS = "discreet:"

#: A network whose persons are protected with all their edges has fewer edges than this: its owner is told at a refresh.
MOST_EDGES = 50_000_000


def display_name(name: str) -> str:
    """What people call a column: one that a join brought along by its own name.

    >>> display_name("age"), display_name("discreet:1.sort"), display_name("discreet:own 0")
    ('age', 'sort', 'this number')
    """
    if not name.startswith(OURS):
        return name
    return name.partition(".")[2] or "this number"


@dataclass(frozen=True, slots=True, kw_only=True)
class PrivacyUnit:
    """One row, or all rows of one person.

    A person is one tuple of values in the columns `person`. A table that goes `through` another reaches
    its persons by the columns `on`, which both have; there `person` is empty, for that other table says
    who its persons are. In a table of `ends` a row is an edge between two persons, and belongs to both: a person is
    a node with all edges that touch it. Neighbours differ by one unit added or removed.

    `rows`: no person has more in the declared table; of a table of `ends`, see `limit`.

    >>> print(PrivacyUnit(person=("clinic", "patient"), rows=20))
    all rows of one clinic + patient
    >>> print(PrivacyUnit(ends=("from", "to"), rows=20))
    all edges of one person
    """

    person: tuple[str, ...] = ()
    through: str | None = None
    on: tuple[str, ...] = ()
    ends: tuple[str, str] | tuple[()] = ()
    rows: int = 1

    def __post_init__(self) -> None:
        if self.rows < 1:
            raise SchemaError(
                f"rows_per_person must be at least 1, got {self.rows}",
                hint="it bounds how many rows one person may contribute",
            )
        if self.is_row and self.rows != 1:
            raise SchemaError("rows_per_person needs a person", hint='person = "patient_id"')
        if bool(self.through) != bool(self.on) or (self.through and self.person):
            raise SchemaError("a person is identified by columns here, or through another table by columns of both")
        if self.ends:
            self._check_ends()
        for name in (*self.person, *self.on):
            if (self.person + self.on).count(name) > 1:
                raise SchemaError(f"person names the column {name!r} twice")

    def _check_ends(self) -> None:
        if self.person or self.through:
            raise SchemaError(
                "a table has either a person or two ends that are persons, not both",
                hint="keep ends if a row is an edge between two persons",
            )
        if len(self.ends) != 2 or self.ends[0].lower() == self.ends[1].lower():
            raise SchemaError("ends must be two different columns", hint='ends = ["from", "to"]')
        if self.rows > MOST_EDGES:
            raise SchemaError(
                f"rows_per_person must be below {MOST_EDGES:,}", hint="it bounds how many edges one person may have"
            )

    @property
    def is_row(self) -> bool:
        return not self.person and self.through is None and not self.ends

    @property
    def limit(self) -> int | None:
        """The declared limit on a person's edges, to which a graph is projected when it is counted.

        None where none is declared: then `rows` is `MOST_EDGES`, more than all edges there are, so that it is true of
        everybody. (The declared table keeps all edges of a person, whatever the limit is.)
        """
        return self.rows if self.ends and self.rows < MOST_EDGES else None

    def check_columns(self, names: Iterable[str]) -> None:
        """Refuse to declare a column that identifies people, or one whose name is ours."""
        persons = {name.lower() for name in self.person}
        for name in names:
            if name.lower() in persons:
                raise SchemaError(
                    f"{name!r} is the person column and cannot be declared as another column too",
                    hint=f"remove the declaration of {name!r}; count(distinct {name}) needs none",
                )
            if name.lower().startswith(OURS):
                raise SchemaError(f"a column cannot be called {name!r}", hint=f"names with {OURS!r} are reserved")

    def __str__(self) -> str:
        if self.is_row:
            return "one row"
        if self.ends:
            return "all edges of one person"
        return (
            f"all rows of one {' + '.join(self.person)}" if self.person else f"all rows of one person of {self.through}"
        )
