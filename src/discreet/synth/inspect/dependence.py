"""How far columns tell of each other in the model: the share of the one's uncertainty that the other takes away."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.inference.axes import Axes, Table, cells_of
from discreet.inference.projections import projections
from discreet.synth.inspect.model_evidence import ModelEvidence, names_of

#: Pairs of more cells are not looked at.
MOST_CELLS = 2**22

#: A column varies if the rows outside its most common cell are more than so many standard deviations of their noise.
CLEAR = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """Two columns: 0 where they are independent in the model, 1 where one decides the other.

    `measured`: the two were measured together. Else the model's dependence comes through other columns, and the true
    one may be larger. `strength` is None where the pair is too large to be looked at, or where a column may well have
    one value alone: its entropy is below the noise, and any share of it would be a share of noise. `constant`: those.
    """

    columns: tuple[str, ...]
    strength: float | None
    measured: bool
    constant: tuple[str, ...] = ()


def dependences(evidence: ModelEvidence) -> tuple[Dependence, ...]:
    """All pairs of columns, in the table's order."""
    pairs = list(combinations(range(len(evidence.sizes)), 2))
    constant = {place for place in range(len(evidence.sizes)) if not varies(evidence, place)}
    small = [pair for pair in pairs if cells_of(evidence.sizes, pair) <= MOST_CELLS and not constant & set(pair)]
    strengths = {own: strength(table) for own, table in projections(evidence.model.calibrated, small)}
    return tuple(
        Dependence(
            columns=names_of(evidence.model, pair),
            strength=strengths.get(pair),
            measured=evidence.measured(pair),
            constant=names_of(evidence.model, [place for place in pair if place in constant]),
        )
        for pair in pairs
    )


def varies(evidence: ModelEvidence, place: int) -> bool:
    """Whether a column has more than one value beyond doubt: rows outside its most common cell, against their noise.

    What was never measured is the model's own guess, which has no noise.
    """
    noisy_marginal = evidence.noisy_marginal((place,))
    if noisy_marginal is None or evidence.public((place,)):
        return int((evidence.bounds((place,)).model > 0.5).sum()) > 1
    common = int(noisy_marginal.values.argmax())
    noise = math.sqrt(float(noisy_marginal.variances[common])) + evidence.total_sd
    return evidence.total - float(noisy_marginal.values[common]) > CLEAR * noise


def strength(table: Table) -> float:
    """Mutual information over the smaller of the two entropies, in [0, 1].

    >>> strength(np.array([[5.0, 5.0], [5.0, 5.0]])), strength(np.array([[9.0, 0.0], [0.0, 2.0]]))
    (0.0, 1.0)
    """
    shares = table / max(float(table.sum()), 1e-300)
    rows, columns, both = _entropy(shares.sum(axis=1)), _entropy(shares.sum(axis=0)), _entropy(shares.ravel())
    least = min(rows, columns)
    return round(min(1.0, max(0.0, (rows + columns - both) / least)), 6) if least > 1e-9 else 0.0


def _entropy(shares: Table) -> float:
    positive_shares = shares[shares > 0]
    return float(-(positive_shares * np.log(positive_shares)).sum())


def measured_sets(evidence: ModelEvidence) -> tuple[Axes, ...]:
    """The sets of two or more columns that were measured, none inside another, in order."""
    sets = {tuple(sorted(each.attributes)) for each in evidence.model.measured if len(each.attributes) > 1}
    largest = [own for own in sets if not any(set(own) < set(other) for other in sets)]
    return tuple(sorted(largest, key=lambda own: (len(own), own)))
