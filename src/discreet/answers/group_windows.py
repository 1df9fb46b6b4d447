"""Sums over the other groups of a window: running totals, totals, and what a group before or after had.

Post-processing: it sees noisy numbers alone. How many draws of noise each sum holds is known from the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.plan.formula import GroupWindow

#: Up to so many draws each number of them has its own interval; larger ones share that of a few more draws.
_EXACT_DRAWS = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSum:
    """For each group the sum over other groups, which are in just the windows of these numbers; NaN for NULL.

    draws: how many groups they are, and so how many independent draws of noise are in the sum.
    """

    windows: tuple[int, ...]
    sums: NDArray[np.float64]
    draws: NDArray[np.int64]


def alike_windows(windows: Sequence[GroupWindow]) -> list[tuple[GroupWindow, ...]]:
    """Windows that can be split together: over the same row of groups, the group itself in each."""
    classes: dict[tuple[object, ...], list[GroupWindow]] = {}
    for window in dict.fromkeys(windows):
        if not window.holds_own_group:
            classes[window,] = [window]
            continue
        orders = [key[1] for key in classes if len(key) == 2 and key[0] == window.partition]
        order = next((each for each in orders if not window.order or not each or each == window.order), window.order)
        together = classes.pop((window.partition, order), [])
        classes[window.partition, order or window.order] = [*together, window]
    return [tuple(together) for together in classes.values()]


def window_sums(
    values: NDArray[Any],
    groups: NDArray[np.int64],
    windows: Sequence[GroupWindow],
    *,
    places: Callable[[int], NDArray[np.int64]],
    ranks: Callable[[int], NDArray[np.int64]],
) -> list[WindowSum]:
    """The sums of `values` around each of `groups`, for windows that are alike; all other groups have NULL.

    No group is in two of the sums, so their noise is independent; a window's sum is that of the sums that it is in.
    places: which of a key's values each group has. ranks: by what groups stand in order, -1 for NULL, which is last.
    """
    parts = [places(key)[groups] for key in windows[0].partition]
    by = next((window.order for window in windows if window.order), ())
    turns = [turn for key, falling in by for turn in _turns(ranks(key)[groups], falling=falling)]
    order = np.lexsort([*reversed(turns), *reversed(parts)]) if parts or turns else np.arange(len(groups))
    starts = _starts([part[order] for part in parts], len(groups))
    stops = np.searchsorted(starts, starts, side="right")
    numbers = np.arange(len(groups))
    ends = [_ends(window, starts, stops) for window in windows]
    bounds = np.sort(np.stack([numbers, numbers + 1, *(end for pair in ends for end in pair)]), axis=0)
    ordered = values[groups][order].astype(object)  # whole numbers of any size
    totals = np.concatenate([np.array([0], dtype=object), np.cumsum(ordered)])
    sums: dict[int, NDArray[Any]] = {}
    draws: dict[int, NDArray[np.int64]] = {}
    for low, high in pairwise(bounds):
        inside = [(first <= low) & (high <= last) & (low != numbers) & (low < high) for first, last in ends]
        patterns = sum(within.astype(np.int64) << place for place, within in enumerate(inside))
        for pattern in np.unique(patterns[patterns > 0]).tolist():
            here = patterns == pattern
            sums[pattern] = sums.get(pattern, 0) + np.where(here, totals[high] - totals[low], 0)
            draws[pattern] = draws.get(pattern, 0) + np.where(here, high - low, 0)
    own = np.all([window.holds_own_group for window in windows])
    if not own:  # one window, in which there may be nobody
        sums, draws = {1: sums.get(1, 0 * numbers)}, {1: draws.get(1, 0 * numbers)}
        sums[1] = np.where(draws[1] > 0, sums[1], np.nan)
    return [
        WindowSum(
            windows=tuple(place for place in range(len(windows)) if pattern >> place & 1),
            sums=_spread(sums[pattern].astype(np.float64), groups[order], len(values), np.nan),
            draws=_spread(draws[pattern], groups[order], len(values), 0),
        )
        for pattern in sorted(sums)
    ]


def _ends(
    window: GroupWindow, starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """From which of the sorted groups a window goes to before which, for each of them."""
    numbers = np.arange(len(starts))
    first = starts if window.first is None else np.clip(numbers + window.first, starts, stops)
    last = stops if window.last is None else np.clip(numbers + window.last + 1, starts, stops)
    return first, np.maximum(first, last)


def _spread(values: NDArray[Any], groups: NDArray[np.int64], size: int, other: float) -> NDArray[Any]:
    spread = np.full(size, other, dtype=values.dtype)
    spread[groups] = values
    return spread


def _turns(ranks: NDArray[np.int64], *, falling: bool) -> list[NDArray[Any]]:
    """What to sort by, the first first: NULL is last, whichever way the others go."""
    return [ranks < 0, -ranks if falling else ranks]


def _starts(parts: Sequence[NDArray[np.int64]], size: int) -> NDArray[np.int64]:
    """For each of the sorted groups, where its partition begins."""
    changes = np.zeros(size, dtype=np.bool_)
    for part in parts:
        changes[1:] |= np.diff(part) != 0
    return np.maximum.accumulate(np.where(changes, np.arange(size), 0))


def rounded_draws(draws: NDArray[np.int64]) -> NDArray[np.int64]:
    """At least as many draws, of which there are few different numbers: their noise is wider, by 3% at most.

    Because: noise that is even and log-concave only spreads where more independent noise is added to it.
    """
    lengths = np.floor(np.log2(np.maximum(draws, 1))).astype(np.int64) - (_EXACT_DRAWS.bit_length() - 2)
    units = np.left_shift(1, np.maximum(lengths, 0))
    return np.asarray(-(-draws // units) * units)
