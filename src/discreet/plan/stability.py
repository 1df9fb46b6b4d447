"""Plan to sensitivity: how far the exact cells move when one privacy unit comes or goes."""

from __future__ import annotations

from discreet.accounting.sensitivity import Sensitivity
from discreet.errors import Refused
from discreet.plan.cells import Cells
from discreet.schema.unit import PrivacyUnit


def sensitivity(cells: Cells, unit: PrivacyUnit) -> Sensitivity:
    """How far `cells` can move under `unit`.

    Guarantee: for neighbours D, D' under `unit`, the exact cells differ by at most l0 entries,
        l1 in total, l2_squared in squared length and linf in any one.
    Because: the declared table is made row by row, so it gains or loses one row; a predicate looks at
        one row; and the cells of an axis are disjoint, so a row adds 1 to at most one cell. Attained by
        any row that satisfies the predicate.
    """
    if not unit.is_row:
        raise Refused(
            f"{cells.table!r} protects persons with many rows, which this version does not answer yet",
            hint="declare a table with one row a person, without `person`",
        )
    groups = "each row falls into at most one group" if cells.axes else "each row counts once"
    return Sensitivity(
        l0=1,
        l1=1,
        l2_squared=1,
        linf=1,
        because=(
            "the unit of privacy is one row: neighbours differ by one row added or removed",
            "a row enters the declared table by itself, whatever the other rows are",
            f"count(*): {groups}, so one cell moves by at most 1",
        ),
    )
