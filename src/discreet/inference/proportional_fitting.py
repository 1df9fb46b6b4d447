"""Totals that are known publicly, kept exactly: iterative proportional fitting on a calibrated tree."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from discreet.errors import UsageError
from discreet.inference.axes import Axes, Table, broadcast_over, ratio, sum_to
from discreet.inference.calibrated_tree import CalibratedTree, propagate, sum_to_separator

#: Kept means within 1e-9 of the total; the sweeps go on to a tenth of that, for each sweep moves the others a little.
TOTAL_TOLERANCE = 1e-10

#: Totals that agree with each other and with what is ruled out are met long before.
MOST_SWEEPS = 1_000


def fit_public_totals(calibrated: CalibratedTree, public_counts: Mapping[Axes, Table]) -> CalibratedTree:
    """The model nearest to this one, in relative entropy, whose marginals are the known ones.

    Each known set of attributes must lie within a clique. Cells that are 0 stay 0.
    """
    cliques = calibrated.cliques
    holders = {axes: _holder(calibrated, axes) for axes in public_counts}
    tables = [clique.table.copy() for clique in cliques]
    for _ in range(MOST_SWEEPS):
        worst = 0.0
        for axes, counts in public_counts.items():
            clique_axes = cliques[holders[axes]].attributes
            now = sum_to(tables[holders[axes]], clique_axes, axes)
            if ((now == 0) & (counts > 0)).any():
                raise _contradiction()
            worst = max(worst, float(np.abs(now - counts).max()))
            separators = [
                sum_to_separator(table, clique.separator) for table, clique in zip(tables, cliques, strict=True)
            ]
            tables[holders[axes]] *= broadcast_over(ratio(counts, now), axes, clique_axes)
            propagate(cliques, tables, separators)
        if worst <= TOTAL_TOLERANCE * calibrated.total:
            return calibrated.with_tables(tables)
    raise _contradiction()


def _holder(calibrated: CalibratedTree, axes: Axes) -> int:
    candidates = [place for place, clique in enumerate(calibrated.cliques) if set(axes) <= set(clique.attributes)]
    return min(candidates, key=lambda place: calibrated.cliques[place].table.size)


def _contradiction() -> UsageError:
    return UsageError(
        "the public totals cannot all be true",
        hint="check for two that disagree on a shared column, or one that counts a combination that is ruled out",
    )
