"""Joins and groups by person: a person's rows meet others, or are put together, before they are counted."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from discreet.lab.privacy_audit.sql.canary_tables import (
    HIGH,
    LIMIT,
    PERSONS,
    ROWS,
    CanaryWorld,
    Included,
    canary_rows,
    sql_canary_target,
)
from discreet.lab.privacy_audit.targets import AuditTarget
from discreet.lab.privacy_audit.temporary_project import AuditTable

#: How many rows of the public table a row of a canary meets.
FAN = 3


def targets() -> list[AuditTarget]:
    """A join on the person, joins of a public table, inner and outer, and persons who are summed up first."""
    persons = partial(canary_rows, each=ROWS)
    to_public = "people join rates on people.amount = rates.rate"
    outer = "people left join rates on people.amount = rates.rate"
    to_person = "people join visits on people.who = visits.who"
    summed = "(select who, cell, sum(amount) as total from people group by who, cell)"
    return [
        sql_canary_target(
            "sql join: a public table", {"count(*)": LIMIT * FAN}, persons, CanaryWorld(source=to_public, beside=_rates)
        ),
        sql_canary_target(
            "sql join: a public table, outer",
            {"count(*)": LIMIT * FAN},
            persons,
            CanaryWorld(source=outer, beside=_rates),
        ),
        sql_canary_target(
            "sql join: a person's other table",
            {"count(*)": LIMIT**2},
            persons,
            CanaryWorld(source=to_person, beside=_visits),
        ),
        sql_canary_target(
            "sql groups: persons summed up first",
            {"sum(total)": LIMIT * HIGH},
            persons,
            CanaryWorld(source=summed, constant=True),
        ),
    ]


def _rates(included: Included) -> Sequence[AuditTable]:
    lines = [f"{HIGH},w{number}" for number in range(FAN)]
    columns = {"rate": 'type = "integer"', "word": 'type = "text"'}
    return [AuditTable(name="rates", columns=columns, rows=lines, is_public=True)]


def _visits(included: Included) -> Sequence[AuditTable]:
    """Every canary that is there has too many rows here as well: all of a person comes or goes."""
    lines = [f"p{number},a" for number in np.flatnonzero(included).tolist() for _ in range(ROWS)]
    return [
        AuditTable(name="visits", columns={"kind": 'type = "category"\nvalues = ["a", "b"]'}, rows=lines, **PERSONS)
    ]
