"""Each table of one, two or three columns: how far off it is expected to be, and how much of it can be relied on."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np

from discreet.inference.axes import Axes, Table, cells_of
from discreet.inference.projections import projections
from discreet.schema.column import CategoryColumn
from discreet.synth.inspect.model_evidence import ModelEvidence, NoisyMarginal, is_laplace, names_of

#: Larger tables are not judged, nor more of them than this of three columns.
MOST_CELLS = 50_000
MOST_TRIPLES = 1000

#: A table is good if cells that are within 5% hold this share of its rows, and partly good from that share on.
GOOD = 0.9
PARTLY = 0.5

#: A table is not good where more than this share of a column's rows is in wide cells outside bounds that were measured,
#: or in cells that each hold as much, and so many times as many as their neighbours: values that many have are lost.
MOST_SPREAD, PEAK = 0.03, 3.0

Verdict = Literal["good", "partly", "poor", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedMarginal:
    """A table of some columns.

    `near_share`: of the model's rows those in cells whose counts are expected within 5% of the truth.
    `expected_distance`: of the model's table from the real one, in total variation (the share of rows that would have
    to move); None where the columns were never measured together, or bought bounds may be too narrow.
    """

    columns: tuple[str, ...]
    cells: int
    measured: bool
    near_share: float
    expected_distance: float | None
    verdict: Verdict
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedMarginals:
    """Those that were judged, and how many others there are: too large, or of three columns where these are many."""

    judged: tuple[JudgedMarginal, ...]
    passed_over: int


def judge_marginals(evidence: ModelEvidence) -> JudgedMarginals:
    """Judge all tables of one and two columns, and of three as far as they are not too many."""
    sets = [own for own in _sets(evidence) if cells_of(evidence.sizes, own) <= MOST_CELLS]
    judged = {own: _judge(evidence, own, table) for own, table in projections(evidence.model.calibrated, sets)}
    there_are = sum(math.comb(len(evidence.sizes), order) for order in (1, 2, 3))
    return JudgedMarginals(judged=tuple(judged[own] for own in sets), passed_over=there_are - len(sets))


def _sets(evidence: ModelEvidence) -> Iterator[Axes]:
    places = range(len(evidence.sizes))
    many = math.comb(len(places), 3) > MOST_TRIPLES
    yield from ((place,) for place in places)
    yield from combinations(places, 2)
    yield from (own for own in combinations(places, 3) if not many or evidence.measured(own))


def _judge(evidence: ModelEvidence, own: Axes, table: Table) -> JudgedMarginal:
    bounds = evidence.bounds(own, np.ascontiguousarray(table))
    vague = [(axis, place) for axis, place in enumerate(own) if len(_unresolved(evidence, place))]
    near = bounds.near.copy()
    for axis, place in vague:
        near[(slice(None),) * axis + (_unresolved(evidence, place),)] = False
    noisy_marginal = evidence.noisy_marginal(own)
    doubtful = [name for name in names_of(evidence.model, own) if name in evidence.model.card.doubtful]
    share = float(table[near].sum()) / max(evidence.total, 1e-9)
    distance = (
        None
        if noisy_marginal is None or doubtful
        else expected_distance(table, noisy_marginal, laplace=is_laplace(evidence.model))
    )
    verdict, why = _verdict(own, share, measured=bounds.measured, doubtful=doubtful)
    if verdict in ("partly", "poor") and vague and bool(bounds.near.sum() > near.sum()):
        names = ", ".join(names_of(evidence.model, [place for _, place in vague]))
        why = f"the other values of {names}, each of which too few rows share, are not known"
    if verdict == "good" and (alone := [place for place in own if _is_one_value(evidence, place)]):
        names = ", ".join(names_of(evidence.model, alone))
        verdict, why = "partly", f"only one value of {names} was seen: others may be below the noise"
    if verdict == "good" and (spread := [place for place in own if share_spread(evidence, place) > MOST_SPREAD]):
        names = ", ".join(names_of(evidence.model, spread))
        why = f"values of {names} that many rows have may lie in wide cells, and come out as those around them"
        verdict = "partly"
    return JudgedMarginal(
        columns=names_of(evidence.model, own),
        cells=table.size,
        measured=bounds.measured,
        near_share=min(1.0, share),
        expected_distance=distance,
        verdict=verdict,
        why=why,
    )


def _unresolved(evidence: ModelEvidence, place: int) -> list[int]:
    """The cells of a column that stand for values which were not found: all other words."""
    attribute = evidence.model.attributes[place]
    if attribute.of is None or not isinstance(attribute.column, CategoryColumn):
        return []
    other = len(attribute.column.values) - 1
    return [int(attribute.groups[other])] if attribute.weights[other] > 0 else []


def _is_one_value(evidence: ModelEvidence, place: int) -> bool:
    """Whether all rows of a column that is not declared come out alike, but for NULL."""
    attribute = evidence.model.attributes[place]
    values = attribute.weights[: len(attribute.edges) - 1]
    return attribute.of is not None and int((values > 0).sum()) <= 1


def share_spread(evidence: ModelEvidence, place: int) -> float:
    """The share of a column's rows in cells of several values of which some may have many rows; only of bought bounds.

    There is no finer count of them: a value that many rows have comes out as the values around it. That are cells
    outside the bounds that were measured, and those that stand far above their neighbours.
    """
    attribute = evidence.model.attributes[place]
    if not attribute.open:
        return 0.0
    below, above = attribute.outer
    widths = np.diff(np.array(attribute.edges, dtype=np.float64))
    weights = attribute.weights[: len(widths)]
    density = np.concatenate([[0.0], weights / widths, [0.0]])
    is_peak = density[1:-1] > PEAK * np.maximum(density[:-2], density[2:])
    is_peak &= weights > MOST_SPREAD * weights.sum()
    is_peak[:below] = is_peak[len(widths) - above :] = True
    return float(weights[is_peak & (widths > 1)].sum()) / max(float(weights.sum()), 1e-9)


def _verdict(own: Axes, share: float, *, measured: bool, doubtful: Sequence[str]) -> tuple[Verdict, str]:
    if doubtful:
        return "unknown", f"the bounds of {', '.join(doubtful)} were measured with noise and may be too narrow"
    if share >= GOOD:
        return "good", "" if measured else "never measured together, but the single columns determine it well enough"
    if not measured:
        return "unknown", "never measured" if len(own) == 1 else "never measured together"
    reason = "it has too few rows per cell compared with the noise"
    return ("partly", "its rarer cells are below the noise") if share >= PARTLY else ("poor", reason)


def expected_distance(table: Table, noisy_marginal: NoisyMarginal, *, laplace: bool) -> float:
    """About how far a measured marginal of the model is from the true one, in total variation.

    The mean size of the noise in each cell, but no more than twice the model's count there: where almost nobody is,
    the fit has pressed the noise out, and what is left is about what the model and the truth hold.
    """
    sizes = np.sqrt(noisy_marginal.variances) * (math.sqrt(1 / 2) if laplace else math.sqrt(2 / math.pi))
    return min(1.0, float(np.minimum(sizes, 2 * table).sum()) / (2 * max(float(table.sum()), 1e-9)))
