"""A table of people, and releases of its marginals without the facade."""

from __future__ import annotations

import numpy as np

from discreet.kernel.project_session import open_session, quote_session
from discreet.tables.marginals.marginals_request import MarginalsRequest, quote_marginals, release_requested
from discreet.tables.table_reservation import ReservationTerms
from synth.worlds import open_project

COLUMNS = {
    "ward": 'type = "category"\nvalues = ["cardio", "maternity", "surgery"]\nclosed = true',
    "sex": 'type = "category"\nvalues = ["F", "M"]\nclosed = true',
    "age": 'type = "integer"\nlow = 0\nhigh = 99\nedges = [0, 20, 40, 60, 99]',
    "note": 'type = "text"',
}
CODES = np.stack([np.arange(600) % 3, np.arange(600) % 2, np.arange(600) // 7 % 4], axis=1)
LINES = [f"{('cardio', 'maternity', 'surgery')[w]},{'FM'[s]},{a * 20 + 3},x" for w, s, a in CODES.tolist()]
ZCDP = {"epsilon": "3", "delta": "1e-6"}
PURE = {"epsilon": "1"}


def people(folder, *, budget="{ epsilon = 90, delta = 1e-6 }", lines=LINES, **more):
    folder.mkdir(exist_ok=True)
    return open_project(folder, more.pop("columns", COLUMNS), lines, budget=budget, **more)


def release(project, columns=("ward", "sex", "age"), *, epsilon, delta=None, fresh=False, confidence="0.95", **wish):
    return release_requested(
        MarginalsRequest.of(columns, **wish),
        ReservationTerms.of(epsilon, delta),
        open_session(project, "people", project.asker(None)),
        declared=[column.name for column in project.table("people").schema.columns],
        confidence=confidence,
        fresh=fresh,
    )


def price(project, columns=("ward", "sex", "age"), *, epsilon, delta=None, **wish):
    return quote_marginals(
        MarginalsRequest.of(columns, **wish),
        ReservationTerms.of(epsilon, delta),
        quote_session(project, "people"),
        declared=[column.name for column in project.table("people").schema.columns],
    )
