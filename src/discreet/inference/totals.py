"""Totals that are known publicly, kept exactly: iterative proportional fitting on a calibrated tree."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.errors import UsageError
from discreet.inference.axes import Axes, Table, ratio, spread, summed
from discreet.inference.tree import Calibrated, leading, propagate

#: Kept means within 1e-9 of the total; the sweeps go on to a tenth of that, for each sweep moves the others a little.
KEPT = 1e-10

#: Totals that agree with each other and with what is ruled out are met long before.
MOST_SWEEPS = 1_000


def keep_totals(calibrated: Calibrated, known: Mapping[Axes, Table]) -> Calibrated:
    """The model nearest to this one, in relative entropy, whose marginals are the known ones.

    Each known set of attributes must lie within a clique. Cells that are 0 stay 0.
    """
    cliques = calibrated.cliques
    holders = {axes: _holder(calibrated, axes) for axes in known}
    tables = [clique.table.copy() for clique in cliques]
    for _ in range(MOST_SWEEPS):
        worst = 0.0
        for axes, counts in known.items():
            held = cliques[holders[axes]].attributes
            now = summed(tables[holders[axes]], held, axes)
            if ((now == 0) & (counts > 0)).any():
                raise _contradiction()
            worst = max(worst, float(np.abs(now - counts).max()))
            separators = [leading(table, clique.separator) for table, clique in zip(tables, cliques, strict=True)]
            tables[holders[axes]] *= spread(ratio(counts, now), axes, held)
            propagate(cliques, tables, separators)
        if worst <= KEPT * calibrated.total:
            return calibrated.with_tables(tables)
    raise _contradiction()


def _holder(calibrated: Calibrated, axes: Axes) -> int:
    found = [place for place, clique in enumerate(calibrated.cliques) if set(axes) <= set(clique.attributes)]
    return min(found, key=lambda place: calibrated.cliques[place].table.size)


def _contradiction() -> UsageError:
    return UsageError(
        "the totals said to be public cannot all be true",
        hint="look for two that differ on what they share, or one that counts a combination that is ruled out",
    )
