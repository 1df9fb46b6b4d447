"""The noise of answers: what is shown, less what the audit knows to be there, follows the law that was paid for."""

from __future__ import annotations

import numpy as np

from discreet.kernel.measurement import ChosenBins
from discreet.lab.privacy_audit import noise_laws
from discreet.lab.privacy_audit.sql.canary_tables import (
    AMOUNT,
    KIND,
    LIMIT,
    PERSONS,
    ROWS,
    canary_rows,
    cell_column,
    release_values,
)
from discreet.lab.privacy_audit.targets import AuditTarget, law_target
from discreet.lab.privacy_audit.temporary_project import temporary_project

#: A group of eight rows of persons with two each: three of them low, one high.
GROUP = (6, 0, 0, 2)


def targets() -> list[AuditTarget]:
    """Laplace and Gaussian noise on counts, and a median."""
    return [
        law_target("sql count: law of laplace", KIND, lambda samples: _count(samples, gaussian=False)),
        law_target("sql count: law of gaussian", KIND, lambda samples: _count(samples, gaussian=True)),
        law_target("sql median: law of persons with two rows", KIND, _median),
    ]


def _count(samples: int, *, gaussian: bool) -> tuple[float, int]:
    """Two counts of epsilon 1/2 each, asked apart: half of the cells have a person with too many rows.

    A Gaussian of epsilon costs rho = epsilon^2 / 2, and moves by LIMIT in one cell at most.
    """
    many, epsilon = min(4_000, samples), 0.5
    included = np.arange(many) % 2 == 0
    columns = {"cell": cell_column(many), "amount": AMOUNT}
    with temporary_project(
        columns, canary_rows(included, each=ROWS), accounting="zcdp" if gaussian else "pure", **PERSONS
    ) as opened:
        question = opened.sql("select cell, count(*) from people group by cell")
        shown = [release_values(question.ask(epsilon=epsilon, fresh=True))[:, 0] for _ in range(2)]
    noise = np.concatenate([each - np.where(included, LIMIT, 0) for each in shown]).astype(np.int64)
    scale = LIMIT / epsilon
    beyond = noise_laws.gaussian_upper_tail(scale) if gaussian else noise_laws.laplace_upper_tail(scale)
    return noise_laws.noise_p_value(noise, beyond, scale), len(noise)


def _median(samples: int) -> tuple[float, int]:
    """The median of many groups that are all alike, as it was drawn: what says nothing is not shown.

    Four fifths of its epsilon of 4 are for the estimate.
    """
    many, epsilon = min(600, samples), 4
    columns = {"cell": cell_column(many), "amount": f'type = "integer"\nlow = 0\nhigh = {len(GROUP) - 1}'}
    amounts = np.repeat(np.arange(len(GROUP)), GROUP).tolist()
    lines = [f"p{group}-{row // 2},{group},{amount}" for group in range(many) for row, amount in enumerate(amounts)]
    with temporary_project(columns, lines, **PERSONS) as opened:
        release = opened.sql("select cell, median(amount) from people group by cell").ask(epsilon=epsilon)
        parts = opened.curator.stored_measurement(release.id).parts
        bins = next(part.noisy_bins for part in parts if isinstance(part, ChosenBins))
    chosen = np.array([middle for _, middle, _ in bins[:many]], dtype=np.int64)
    masses = noise_laws.quantile_masses(GROUP, fraction=0.5, epsilon=0.8 * epsilon, most=LIMIT, flips=True)
    return noise_laws.masses_p_value(chosen, masses), many
