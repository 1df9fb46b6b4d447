"""Joins and groups by person: a person's rows meet others, or are put together, before they are counted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from discreet.lab.audit.projects import Beside
from discreet.lab.audit.sql.world import HIGH, LIMIT, PERSONS, ROWS, Included, asked, rows
from discreet.lab.audit.targets import Target

#: How many rows of the public table a row of a canary meets.
FAN = 3


def targets() -> list[Target]:
    """A join on the person, joins of a public table, inner and outer, and persons who are summed up first."""
    persons = partial(rows, each=ROWS)
    to_public = "people join rates on people.amount = rates.rate"
    outer = "people left join rates on people.amount = rates.rate"
    to_person = "people join visits on people.who = visits.who"
    summed = "(select who, cell, sum(amount) as total from people group by who, cell)"
    return [
        asked("sql join: a public table", {"count(*)": LIMIT * FAN}, persons, source=to_public, beside=_rates),
        asked("sql join: a public table, outer", {"count(*)": LIMIT * FAN}, persons, source=outer, beside=_rates),
        asked("sql join: a person's other table", {"count(*)": LIMIT**2}, persons, source=to_person, beside=_visits),
        asked(
            "sql groups: persons summed up first", {"sum(total)": LIMIT * HIGH}, persons, source=summed, constant=True
        ),
    ]


def _rates(included: Included) -> Sequence[Beside]:
    lines = [f"{HIGH},w{number}" for number in range(FAN)]
    columns = {"rate": 'type = "integer"', "word": 'type = "text"'}
    return [Beside(name="rates", columns=columns, rows=lines, is_public=True)]


def _visits(included: Included) -> Sequence[Beside]:
    """Every canary that is there has too many rows here as well: all of a person comes or goes."""
    lines = [f"p{number},a" for number in np.flatnonzero(included).tolist() for _ in range(ROWS)]
    return [Beside(name="visits", columns={"kind": 'type = "category"\nvalues = ["a", "b"]'}, rows=lines, **PERSONS)]
