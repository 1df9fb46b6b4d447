"""How far columns tell of each other: the share of the one's uncertainty that the other takes away.

In the model, and in the noisy tables that it was fitted to. Noise makes independent columns look dependent: how much is
found by drawing noise of the same size on public numbers, and what is not above it is not shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from discreet.inference.axes import Axes, Table, cells_of
from discreet.inference.fit_inputs import sum_groups
from discreet.inference.projections import projections
from discreet.synth.inspect.model_evidence import CellGroups, ModelEvidence, NoisyMarginal, is_laplace, names_of

#: Pairs of more cells are not looked at.
MOST_CELLS = 2**22

#: Noisy tables of more cells are not looked at by themselves. Noise is drawn so often: noise alone exceeds the largest
#: of 19 once in twenty times.
MOST_NOISY_CELLS = 20_000
DRAWS = 19

#: A column varies if the rows outside its most common cell are more than so many standard deviations of their noise.
CLEAR = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """Two columns: 0 where they are independent in the model, 1 where one decides the other.

    `measured`: the two were measured together. Else the model's dependence comes through other columns, and the true
    one may be larger. `strength` is None where the pair is too large to be looked at, or where a column may well have
    one value alone: its entropy is below the noise, and any share of it would be a share of noise. `constant`: those.
    `noisy_strength`: of the noisy table of the two, or of groups of their values, less what noise adds on average; None
    where there is no such table, or where `below_noise`: it is no more dependent than noise makes a table of
    independent columns look.
    """

    columns: tuple[str, ...]
    strength: float | None
    measured: bool
    constant: tuple[str, ...] = ()
    noisy_strength: float | None = None
    below_noise: bool = False


def dependences(evidence: ModelEvidence) -> tuple[Dependence, ...]:
    """All pairs of columns, in the table's order."""
    pairs = list(combinations(range(len(evidence.sizes)), 2))
    constant = {place for place in range(len(evidence.sizes)) if not varies(evidence, place)}
    small = [pair for pair in pairs if cells_of(evidence.sizes, pair) <= MOST_CELLS and not constant & set(pair)]
    strengths = {own: strength(table) for own, table in projections(evidence.model.calibrated, small)}
    pair_dependences = []
    for pair in pairs:
        measured = evidence.measured(pair)
        noisy = noisy_strength(evidence, pair) if measured and pair in strengths else None
        pair_dependences.append(
            Dependence(
                columns=names_of(evidence.model, pair),
                strength=strengths.get(pair),
                measured=measured,
                constant=names_of(evidence.model, [place for place in pair if place in constant]),
                noisy_strength=noisy,
                below_noise=measured and pair in strengths and noisy is None and _is_small(evidence, pair),
            )
        )
    return tuple(pair_dependences)


def _is_small(evidence: ModelEvidence, pair: Axes) -> bool:
    noisy_pair = _noisy_pair(evidence, pair)
    return noisy_pair is not None and noisy_pair[0].values.size <= MOST_NOISY_CELLS


def noisy_strength(evidence: ModelEvidence, pair: Axes) -> float | None:
    """The strength in the noisy table of two columns, less what noise alone adds; None where it is not above noise.

    The noise that is drawn here protects nobody: it is the same in every report, on the product of the model's margins.
    Where groups of values were measured it is the dependence of the groups, as a share of the columns' own entropy: as
    a rule less than that of the values.
    """
    noisy_pair = _noisy_pair(evidence, pair)
    if noisy_pair is None or not _is_small(evidence, pair):
        return None
    noisy_marginal, groups = noisy_pair
    rows, columns = (evidence.bounds((place,)).model for place in pair)
    independent, least = np.outer(rows, columns) / max(evidence.total, 1e-9), None
    if groups is not None:
        independent, least = sum_groups(independent, groups), min(_entropy_of(rows), _entropy_of(columns))
    # A seed, so that one model has one report: no data are read here, only noisy tables that are released.
    generator, sd = np.random.default_rng(0), np.sqrt(noisy_marginal.variances)
    draw = generator.laplace if is_laplace(evidence.model) else generator.normal
    scale = sd / math.sqrt(2) if is_laplace(evidence.model) else sd
    by_noise = [strength(np.maximum(independent + draw(0, scale), 0), least) for _ in range(DRAWS)]
    noisy = strength(np.maximum(noisy_marginal.values, 0), least)
    return None if noisy <= max(by_noise) else max(0.0, noisy - sum(by_noise) / DRAWS)


def _noisy_pair(evidence: ModelEvidence, pair: Axes) -> tuple[NoisyMarginal, CellGroups | None] | None:
    """The noisy table of two columns; where none has their own cells, the least noisy one of groups of them."""
    noisy_marginal = evidence.noisy_marginal(pair)
    return evidence.noisy_groups(pair) if noisy_marginal is None else (noisy_marginal, None)


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


def strength(table: Table, least: float | None = None) -> float:
    """Mutual information over the smaller of the two entropies, or over `least`, in [0, 1].

    >>> strength(np.array([[5.0, 5.0], [5.0, 5.0]])), strength(np.array([[9.0, 0.0], [0.0, 2.0]]))
    (0.0, 1.0)
    """
    shares = table / max(float(table.sum()), 1e-300)
    rows, columns, both = _entropy(shares.sum(axis=1)), _entropy(shares.sum(axis=0)), _entropy(shares.ravel())
    least = min(rows, columns) if least is None else least
    return round(min(1.0, max(0.0, (rows + columns - both) / least)), 6) if least > 1e-9 else 0.0


def _entropy_of(counts: Table) -> float:
    return _entropy(counts / max(float(counts.sum()), 1e-300))


def _entropy(shares: Table) -> float:
    positive_shares = shares[shares > 0]
    return float(-(positive_shares * np.log(positive_shares)).sum())


def measured_sets(evidence: ModelEvidence) -> tuple[Axes, ...]:
    """The sets of two or more columns that were measured, none inside another, in order."""
    sets = {tuple(sorted(each.attributes)) for each in evidence.model.measured if len(each.attributes) > 1}
    largest = [own for own in sets if not any(set(own) < set(other) for other in sets)]
    return tuple(sorted(largest, key=lambda own: (len(own), own)))
