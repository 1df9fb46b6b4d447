"""Totals that a sample keeps exactly.

A kept total is a set of attributes within one clique and the whole counts that it must come out with. Rows are drawn
attribute by attribute; when the last attribute of a kept set is drawn, its other attributes have come out as they must
(every lead of a kept set is kept, too), and units are moved from values that have too many to values that have too few:
each along a path of rows that may change (`move_units`), so that a value the model excludes never appears.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.inference.axes import Axes
from discreet.inference.calibrated_tree import CalibratedTree
from discreet.inference.sampling_steps import SamplingStep
from discreet.inference.tree_rounding import Floats, Integers

#: A count is whole if it is nearer than this to a whole number, as a share of the rows: fits end at 1e-9.
_WHOLE = 1e-7


class TotalsNotKept(UsageError):
    """Totals that cannot be kept together in this order of drawing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleTotal:
    """The counts, one axis for each attribute, that a sample must have."""

    attributes: Axes
    counts: Integers


def whole_totals(calibrated: CalibratedTree, n: int, keep: Sequence[Sequence[int]]) -> tuple[SampleTotal, ...]:
    """The counts that the model expects of n rows for these sets of attributes, which must be whole numbers."""
    totals = []
    for attributes in keep:
        expected = calibrated.project(attributes) * (n / calibrated.total)
        counts = np.rint(expected)
        if np.abs(expected - counts).max(initial=0) > max(_WHOLE * n, _WHOLE) or counts.sum() != n:
            raise UsageError(
                f"the totals of attributes {tuple(attributes)} are not whole numbers for {n:,} rows",
                hint="sample as many rows as the public total has, or keep no totals",
            )
        totals.append(SampleTotal(attributes=tuple(int(each) for each in attributes), counts=counts.astype(np.int64)))
    return tuple(totals)


def root_for(calibrated: CalibratedTree, totals: Sequence[SampleTotal]) -> int:
    """A clique that holds the first kept set: from there it is kept whatever the model excludes."""
    clique_sets = [set(clique.attributes) for clique in calibrated.cliques]
    for total in totals:
        if not any(set(total.attributes) <= attributes for attributes in clique_sets):
            raise UsageError(
                f"no single clique of the model has attributes {total.attributes}, so their totals cannot be kept",
                hint="measure them together, or keep totals of fewer attributes",
            )
    return next((place for place, each in enumerate(clique_sets) if totals and set(totals[0].attributes) <= each), 0)


def drawing_priority(totals: Sequence[SampleTotal]) -> dict[int, int]:
    """Who is drawn first within a clique: attributes of the first kept set, and of those the ones in most sets.

    So the first set meets whole expectations only, and needs no settling.
    """
    eager: dict[int, int] = {}
    for place, total in enumerate(totals):
        for attribute in total.attributes:
            eager[attribute] = eager.get(attribute, 0) + (1 if place else len(totals))
    return eager


def schedule(steps: Sequence[SamplingStep], totals: Sequence[SampleTotal]) -> Mapping[int, SampleTotal]:
    """For each attribute the total that is settled when it is drawn: that attribute is its last axis."""
    drawn = {attribute: turn for turn, attribute in enumerate(each for step in steps for each in step.new)}
    by_attribute: dict[int, SampleTotal] = {}
    leads = (lead for total in totals for lead in _leads(total, drawn))
    for lead in sorted(leads, key=lambda lead: -len(lead.attributes)):
        last = lead.attributes[-1]
        longer = by_attribute.setdefault(last, lead)
        if not set(lead.attributes) <= set(longer.attributes):
            raise TotalsNotKept(
                f"the totals of {longer.attributes} and of {lead.attributes} cannot both be kept exactly",
                hint="keep one of them, or the total of all these attributes together",
            )
        gone = tuple(axis for axis, each in enumerate(longer.attributes) if each not in lead.attributes)
        if not np.array_equal(longer.counts.sum(axis=gone), lead.counts):
            raise UsageError(f"the totals of {longer.attributes} and of {lead.attributes} contradict each other")
    return by_attribute


def _leads(total: SampleTotal, drawn: Mapping[int, int]) -> list[SampleTotal]:
    """The total in the order in which its attributes are drawn, and summed down to each lead of that order."""
    order = sorted(range(len(total.attributes)), key=lambda axis: drawn[total.attributes[axis]])
    attributes = tuple(total.attributes[axis] for axis in order)
    counts = total.counts.transpose(order)
    return [
        SampleTotal(attributes=attributes[:length], counts=counts.sum(axis=tuple(range(length, len(attributes)))))
        for length in range(len(attributes), 0, -1)
    ]


def enforce_total(counts: Integers, weights: Floats, blocks: Integers, total: SampleTotal) -> None:
    """Change counts (groups x values), in place, until the groups of each block have the total of that block."""
    target = total.counts.reshape(-1, counts.shape[1])
    block_sums = np.zeros_like(target)
    np.add.at(block_sums, blocks, counts)
    for block in np.flatnonzero((block_sums != target).any(axis=1)):
        rows = np.flatnonzero(blocks == block)
        settled = move_units(counts[rows], weights[rows], target[block])
        if settled is None:
            raise TotalsNotKept(
                f"the totals of attributes {total.attributes} cannot be kept exactly together with the others",
                hint="keep them alone, or fewer of them",
            )
        counts[rows] = settled


def move_units(counts: Integers, weights: Floats, target_sums: Integers) -> Integers | None:
    """Counts with the same sum in each row, the wanted sum in each column, and nothing where the weight is 0.

    None if there are none. Because: one unit at a time goes from a column with too many to one with too few along a
        shortest path of columns; a step from j to k changes a row that has a j and may have a k. If no path is left,
        the columns that can be reached hold more than is wanted of them and can pass nothing on (max flow, min cut).
    """
    counts = counts.copy()
    allowed = weights > 0
    mass = weights.sum(axis=1, keepdims=True)
    expected = counts.sum(axis=1, keepdims=True) * np.divide(weights, mass, out=np.zeros_like(weights), where=mass > 0)
    while (over := counts.sum(axis=0) - target_sums).any():
        path = _path(counts > 0, allowed, over)
        if path is None:
            return None
        for origin, target in itertools.pairwise(path):
            # The row where the move does most for the counts or least against them.
            gain = (counts - expected)[:, origin] - (counts - expected)[:, target]
            gain[(counts[:, origin] <= 0) | ~allowed[:, target]] = -np.inf
            row = int(gain.argmax())
            counts[row, origin] -= 1
            counts[row, target] += 1
    return counts


def _path(has_units: NDArray[np.bool_], allowed: NDArray[np.bool_], over: Integers) -> list[int] | None:
    """A shortest path of columns from one that has too many to one that has too few."""
    passes = (has_units.T.astype(np.float64) @ allowed.astype(np.float64)) > 0
    before = np.where(over > 0, np.arange(len(over)), -1)
    front = before >= 0
    while front.any():
        reached = passes[front].any(axis=0) & (before < 0)
        for column in np.flatnonzero(reached):
            before[column] = np.flatnonzero(front & passes[:, column])[0]
        short = np.flatnonzero(reached & (over < 0))
        if len(short):
            return _trace_path(before, int(short[0]))
        front = reached
    return None


def _trace_path(before: Integers, end: int) -> list[int]:
    path = [end]
    while before[path[-1]] != path[-1]:
        path.append(int(before[path[-1]]))
    return path[::-1]
