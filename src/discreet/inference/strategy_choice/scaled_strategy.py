"""Strategies times whole numbers, and several of them as one: how much of a budget each gets is its number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import (
    MOST_ENTRY,
    DiagonalStrategy,
    GroupStrategy,
    IdentityStrategy,
    MatrixStrategy,
    ProductStrategy,
    StackStrategy,
    Strategy,
)
from discreet.mechanisms.strategy.tree_levels import LevelStrategy

Floats = NDArray[np.float64]

#: The least number that a strategy is multiplied by where several share a budget: shares are that exact.
_FINE = 128

#: The strategies that can be multiplied, and stored.
Scalable = (
    IdentityStrategy
    | DiagonalStrategy
    | GroupStrategy
    | MatrixStrategy
    | LevelStrategy
    | MergeStrategy
    | StackStrategy
    | ProductStrategy
)


def scaled_strategy(strategy: Strategy, times: int) -> Strategy:
    """Every row so many times.

    >>> scaled_strategy(LevelStrategy(4, ((1, 1), (4, 2))), 3)
    LevelStrategy(size=4, levels=((1, 3), (4, 6)))
    """
    if times == 1:
        return strategy
    if not isinstance(strategy, Scalable):
        raise TypeError(f"{type(strategy).__name__} cannot be multiplied")
    match strategy:
        case IdentityStrategy(size):
            return DiagonalStrategy(np.full(size, times, dtype=np.int64))
        case DiagonalStrategy(weights):
            return DiagonalStrategy(weights * times)
        case GroupStrategy(groups, count):
            return MergeStrategy(groups, DiagonalStrategy(np.full(count, times, dtype=np.int64)))
        case MatrixStrategy(entries):
            return MatrixStrategy(entries * times)
        case LevelStrategy(size, levels):
            return LevelStrategy(size, tuple((block, weight * times) for block, weight in levels))
        case MergeStrategy(groups, inner):
            return MergeStrategy(groups, scaled_strategy(inner, times))
        case StackStrategy(parts):
            return StackStrategy(tuple(scaled_strategy(part, times) for part in parts))
        case ProductStrategy(factors):
            return ProductStrategy((scaled_strategy(factors[0], times), *factors[1:]))
        case _:
            assert_never(strategy)


def shared_budget(errors: Sequence[float], *, gaussian: bool) -> Floats:
    """The sensitivities of strategies that are measured together, which add up to 1 (in squares where `gaussian`), for
    the least sum of errors, each given at sensitivity 1.

    >>> shared_budget([1.0, 8.0], gaussian=False).round(3).tolist()
    [0.333, 0.667]
    """
    roots = np.maximum(np.array(errors), 1e-300) ** (1 / 4 if gaussian else 1 / 3)
    return np.asarray(roots / (np.linalg.norm(roots) if gaussian else roots.sum()))


def stacked(parts: Sequence[tuple[Strategy, float]], *, gaussian: bool) -> Strategy | None:
    """Strategies over the same cells as one, each times a whole number, so that their sensitivities are in about these
    proportions. None where a matrix would get too large numbers."""
    if len(parts) == 1:
        return parts[0][0]
    wished = [share / _sensitivity(strategy, gaussian=gaussian) for strategy, share in parts]
    ratios = [own / min(wished) for own in wished]
    largest = [_largest_entry(strategy) for strategy, _ in parts]
    room = min(MOST_ENTRY / (entry * ratio) for entry, ratio in zip(largest, ratios, strict=True))
    if room < 2:  # a ratio is rounded up by half at most
        return None
    times = [max(1, round(ratio * min(_FINE, room // 2))) for ratio in ratios]
    common = math.gcd(*times)
    return StackStrategy(
        tuple(scaled_strategy(strategy, own // common) for (strategy, _), own in zip(parts, times, strict=True))
    )


def _largest_entry(strategy: Strategy) -> int:
    """The largest number of a matrix that is multiplied with a strategy; 1 where there is none."""
    match strategy:
        case MatrixStrategy():
            return strategy.largest
        case MergeStrategy(_, inner):
            return _largest_entry(inner)
        case StackStrategy(parts):
            return max(map(_largest_entry, parts))
        case ProductStrategy(factors):
            return _largest_entry(factors[0])
        case _:
            return 1


def _sensitivity(strategy: Strategy, *, gaussian: bool) -> float:
    moves = strategy.sensitivity(1)
    return math.sqrt(moves.l2_squared) if gaussian else float(moves.l1)
