"""Small generated tables with a planted dependency, and what a fit of one cost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from synth import worlds

KINDS = ("independent", "privbayes", "mst", "aim")
ROW, PERSON = "", 'person = "who"\nrows_per_person = 3'
RHO, PURE = "{ epsilon = 90, delta = 1e-6 }", "{ epsilon = 90 }"


def letters(size):
    return f'type = "category"\nvalues = {[f"v{number}" for number in range(size)]}\nclosed = true'


def planted(folder, *, sizes=(4, 3, 5, 2), rows=4000, table=ROW, budget=RHO):
    """A project: the second column follows the first and the last follows both; the others are independent."""
    random = np.random.default_rng(7)
    columns = [random.integers(0, size, rows) for size in sizes]
    if len(sizes) > 1:
        columns[1] = np.where(random.random(rows) < 0.9, columns[0] % sizes[1], columns[1])
    if len(sizes) > 2:
        columns[-1] = np.where(random.random(rows) < 0.9, (columns[0] + columns[1]) % sizes[-1], columns[-1])
    told = {f"c{place}": letters(size) for place, size in enumerate(sizes)}
    lines = [",".join(f"v{code}" for code in row) for row in zip(*columns, strict=True)]
    if table == PERSON:
        told["who"] = None
        lines = [f"{line},p{number // 3}" for number, line in enumerate(lines)]
    return worlds.open_project(folder, told, lines, budget=budget, table=table)


def spent(project, model):
    """The part of its reservation that a fit spent, exactly: of its rho, or of its epsilon where it is pure."""
    held = project.ledger.reservation(model.card.release)
    losses = [step.loss for step in held.steps]
    if held.event.epsilon is not None:
        return sum((loss.epsilon for loss in losses), Fraction(0)) / held.event.epsilon
    return sum((loss.rho for loss in losses), Fraction(0)) / held.event.rho


def apart(model, left, right):
    """How far the model's table of two columns is from the product of its margins, as a share of the rows."""
    table = model.project([left, right]).counts
    product = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / table.sum()
    return float(np.abs(table - product).sum() / table.sum())
