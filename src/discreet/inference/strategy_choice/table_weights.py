"""Which tables of a grid to measure, cell by cell, and how much: for sums over boxes, or any product of sets.

The space of grids splits into residuals, one for each set S of axes (docs/proofs/tables-marginals.md): the part that
sums to 0 along the axes of S and does not vary along others. A table over the axes T tells the residual of every S
within T, all of its directions alike. So with shares s the weighted sum of variances is the sum over S of
cost_S / (sum over T of amount_TS s_T^2), where cost_S is how much of the questions lies in S.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Axes = tuple[int, ...]

#: More axes than this are not planned for: their sets are too many.
MOST_AXES = 7
#: What a table that a start does not name begins with; parts below the least share are left out.
_FAINT, _LEAST = 1e-3, 2e-3
#: Steps of the search for all starts and for the best ones, how many those are, and larger tables to start from.
_FIRST_STEPS, _STEPS, _BEST, _MOST_COVERS = 25, 250, 6, 800


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedTable:
    """A table over `axes`; of `signed` ones, which have two cells, the difference alone; its share of a column."""

    axes: Axes
    signed: Axes
    share: float


def residual_costs(sizes: Sequence[int], sides: Sequence[Floats], weights: Floats) -> dict[Axes, float]:
    """For each set of axes how much of the questions lies in its residual.

    `sides[axis]`: for each question its cells on that axis, as 0 and 1.
    """
    inside = [own.sum(axis=1) for own in sides]
    flat = [own**2 / size for own, size in zip(inside, sizes, strict=True)]
    bent = [np.maximum(own - even, 0.0) for own, even in zip(inside, flat, strict=True)]
    axes = range(len(sizes))
    costs = {}
    for subset in _subsets(axes):
        parts = [bent[axis] if axis in subset else flat[axis] for axis in axes]
        costs[subset] = float((weights * math.prod(parts[1:], start=parts[0])).sum())
    return costs


def weigh_tables(
    sizes: Sequence[int], costs: dict[Axes, float], wished: Sequence[Axes], *, gaussian: bool
) -> tuple[WeighedTable, ...]:
    """Tables and their shares, which add up to 1 (in squares where `gaussian`), for a small weighted sum of variances.

    `wished`: the tables that questions are read off, to start from.
    """
    needed = {subset: cost for subset, cost in costs.items() if cost > 1e-12 * max(costs.values())}
    parts = [
        (axes, signed)
        for axes in _subsets(range(len(sizes)))
        for signed in _subsets([axis for axis in axes if sizes[axis] == 2 and not gaussian])
        if len(signed) <= 2
    ]
    subsets = list(needed)
    amounts = np.array([[table_information(part, subset, sizes) for part in parts] for subset in subsets])
    cost = np.array([needed[subset] for subset in subsets])
    starts = np.array([*_plain_starts(parts, set(wished), set(subsets)), *_covers(parts, set(wished), len(sizes))])
    # All starts a few steps, and then the best ones to the end.
    ends, values = _descend(starts, amounts, cost, gaussian=gaussian, steps=_FIRST_STEPS)
    ends, values = _descend(ends[np.argsort(values)[:_BEST]], amounts, cost, gaussian=gaussian, steps=_STEPS)
    best = ends[int(np.argmin(values))]
    kept = best >= _LEAST * best.max()
    # What is dropped must not be needed: every residual keeps a table.
    while not (amounts[:, kept] > 0).any(axis=1).all():
        missing = int(np.flatnonzero(~(amounts[:, kept] > 0).any(axis=1))[0])
        kept[int(np.argmax(np.where(amounts[missing] > 0, best, 0.0)))] = True
    shares = np.where(kept, best, 0.0)
    shares /= np.linalg.norm(shares) if gaussian else shares.sum()
    return tuple(
        WeighedTable(axes=axes, signed=signed, share=float(share))
        for (axes, signed), share in zip(parts, shares, strict=True)
        if share > 0
    )


def _plain_starts(parts: Sequence[tuple[Axes, Axes]], wished: set[Axes], needed: set[Axes]) -> Iterator[list[float]]:
    """The wishes, the largest of them, the whole grid, all that is needed, without differences and with them."""
    whole = max((axes for axes, _ in parts), key=len)
    for named in (wished, _largest(wished), {whole}, needed):
        yield [1.0 if not signed and axes in named else _FAINT for axes, signed in parts]
    yield [1.0 if axes in needed else _FAINT for axes, _ in parts]


def _covers(parts: Sequence[tuple[Axes, Axes]], wished: set[Axes], axes: int) -> Iterator[list[float]]:
    """One, two or three larger tables, and the wishes that are in none of them.

    One table of four axes often tells six pairs better than six tables do.
    """
    larger = [own for own, signed in parts if not signed and 2 < len(own) < axes]
    covers = list(
        itertools.islice(
            itertools.chain.from_iterable(itertools.combinations(larger, count) for count in (1, 2, 3)), _MOST_COVERS
        )
    )
    for cover in covers:
        left = {own for own in _largest(wished) if not any(set(own) <= set(table) for table in cover)}
        named = left | set(cover)
        yield [1.0 if not signed and own in named else _FAINT for own, signed in parts]


def _largest(tables: set[Axes]) -> set[Axes]:
    return {axes for axes in tables if not any(set(axes) < set(other) for other in tables)}


def table_information(part: tuple[Axes, Axes], subset: Axes, sizes: Sequence[int]) -> float:
    """One over the variance with which a table alone tells a residual, at share 1."""
    axes, signed = part
    if not set(signed) <= set(subset) <= set(axes):
        return 0.0
    outside = [float(size) for axis, size in enumerate(sizes) if axis not in axes]
    # A table's cell is a sum over the axes outside: its row is that much longer.
    return math.prod(outside) * 2.0 ** len(signed)


def _descend(shares: Floats, amounts: Floats, costs: Floats, *, gaussian: bool, steps: int) -> tuple[Floats, Floats]:
    """Shares, one start a line, that no step makes worse: see `tables.marginals.pure_split`, whose steps these are."""
    power = 2 if gaussian else 1
    for _ in range(steps):
        shares = shares / (shares**power).sum(axis=1, keepdims=True) ** (1 / power)
        information = shares**2 @ amounts.T
        gains = (costs / information**2) @ amounts
        # Majorised by gains t^4 / s^2, which is least for s^(2 + power) in proportion to gains t^4.
        shares = (gains * shares**4) ** (1 / (2 + power))
    shares = shares / (shares**power).sum(axis=1, keepdims=True) ** (1 / power)
    return shares, np.asarray((costs / (shares**2 @ amounts.T)).sum(axis=1))


def _subsets(axes: Sequence[int]) -> list[Axes]:
    return [some for size in range(len(axes) + 1) for some in itertools.combinations(axes, size)]
