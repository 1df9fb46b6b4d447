"""The noise of answers: what is shown, less what the audit knows to be there, follows the law that was paid for."""

from __future__ import annotations

import numpy as np

from discreet.lab.audit import exactly
from discreet.lab.audit.projects import project
from discreet.lab.audit.sql.world import AMOUNT, KIND, LIMIT, PERSONS, ROWS, cell, rows, values
from discreet.lab.audit.targets import Target, law
from discreet.measurement import ChosenBins

#: A group of eight rows of persons with two each: three of them low, one high.
GROUP = (6, 0, 0, 2)


def targets() -> list[Target]:
    """Laplace and Gaussian noise on counts, and a median."""
    return [
        law("sql count: law of laplace", KIND, lambda samples: _count(samples, gaussian=False)),
        law("sql count: law of gaussian", KIND, lambda samples: _count(samples, gaussian=True)),
        law("sql median: law of persons with two rows", KIND, _median),
    ]


def _count(samples: int, *, gaussian: bool) -> tuple[float, int]:
    """Two counts of epsilon 1/2 each, asked apart: half of the cells have a person with too many rows.

    A Gaussian of epsilon costs rho = epsilon^2 / 2, and moves by LIMIT in one cell at most.
    """
    many, epsilon = min(4_000, samples), 0.5
    included = np.arange(many) % 2 == 0
    columns = {"cell": cell(many), "amount": AMOUNT}
    with project(columns, rows(included, each=ROWS), accounting="zcdp" if gaussian else "pure", **PERSONS) as opened:
        question = opened.sql("select cell, count(*) from people group by cell")
        shown = [values(question.ask(epsilon=epsilon, fresh=True))[:, 0] for _ in range(2)]
    noise = np.concatenate([each - np.where(included, LIMIT, 0) for each in shown]).astype(np.int64)
    scale = LIMIT / epsilon
    beyond = exactly.gaussian_beyond(scale) if gaussian else exactly.laplace_beyond(scale)
    return exactly.noise_p_value(noise, beyond, scale), len(noise)


def _median(samples: int) -> tuple[float, int]:
    """The median of many groups that are all alike, as it was drawn: what says nothing is not shown.

    Half of its epsilon of 4 is for the estimate.
    """
    many, epsilon = min(600, samples), 4
    columns = {"cell": cell(many), "amount": f'type = "integer"\nlow = 0\nhigh = {len(GROUP) - 1}'}
    amounts = np.repeat(np.arange(len(GROUP)), GROUP).tolist()
    lines = [f"p{group}-{row // 2},{group},{amount}" for group in range(many) for row, amount in enumerate(amounts)]
    with project(columns, lines, **PERSONS) as opened:
        release = opened.sql("select cell, median(amount) from people group by cell").ask(epsilon=epsilon)
        parts = opened.curator.stored(release.id).parts
        bins = next(part.noisy_bins for part in parts if isinstance(part, ChosenBins))
    chosen = np.array([middle for _, middle, _ in bins[:many]], dtype=np.int64)
    masses = exactly.quantile_masses(GROUP, fraction=0.5, epsilon=epsilon / 2, most=LIMIT)
    return exactly.masses_p_value(chosen, masses), many
