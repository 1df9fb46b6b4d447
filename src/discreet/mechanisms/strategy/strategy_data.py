"""Strategies as JSON data, whole: what is stored beside a release, so that it can be read for ever."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import LedgerFault
from discreet.mechanisms.packed_integers import pack_integers, unpack_integers
from discreet.mechanisms.strategy.cell_merge import MergeStrategy
from discreet.mechanisms.strategy.strategy import (
    DiagonalStrategy,
    GroupStrategy,
    IdentityStrategy,
    MatrixStrategy,
    ProductStrategy,
    StackStrategy,
    Strategy,
)
from discreet.mechanisms.strategy.tree_levels import LevelStrategy


def strategy_to_data(strategy: Strategy) -> Any:
    """A strategy as data.

    >>> strategy_from_data(strategy_to_data(LevelStrategy(4, ((1, 1), (4, 2)))))
    LevelStrategy(size=4, levels=((1, 1), (4, 2)))
    """
    match strategy:
        case IdentityStrategy(size):
            return {"kind": "identity", "size": size}
        case LevelStrategy(size, levels):
            return {"kind": "levels", "size": size, "levels": [list(level) for level in levels]}
        case GroupStrategy():
            return {"kind": "groups", "groups": pack_integers(strategy.groups), "count": strategy.count}
        case DiagonalStrategy():
            return {"kind": "diagonal", "weights": pack_integers(strategy.weights)}
        case MatrixStrategy():
            return {"kind": "matrix", "cells": strategy.cells, "entries": pack_integers(strategy.entries.ravel())}
        case MergeStrategy():
            return {
                "kind": "merged",
                "groups": pack_integers(strategy.groups),
                "inner": strategy_to_data(strategy.inner),
            }
        case StackStrategy():
            return {"kind": "stack", "parts": [strategy_to_data(part) for part in strategy.parts]}
        case ProductStrategy():
            return {"kind": "product", "factors": [strategy_to_data(factor) for factor in strategy.factors]}
        case _:
            raise TypeError(f"{type(strategy).__name__} cannot be stored by itself")


def strategy_from_data(data: Any) -> Strategy:
    """The strategy that `strategy_to_data` wrote."""
    match data:
        case {"kind": "identity", "size": size}:
            return IdentityStrategy(size)
        case {"kind": "levels", "size": size, "levels": levels}:
            return LevelStrategy(size, tuple((block, weight) for block, weight in levels))
        case {"kind": "groups", "groups": groups, "count": count}:
            return GroupStrategy(_small(groups), count)
        case {"kind": "diagonal", "weights": weights}:
            return DiagonalStrategy(_small(weights))
        case {"kind": "matrix", "cells": cells, "entries": entries}:
            return MatrixStrategy(_small(entries).reshape(-1, cells))
        case {"kind": "merged", "groups": groups, "inner": inner}:
            return MergeStrategy(_small(groups), strategy_from_data(inner))
        case {"kind": "stack", "parts": parts}:
            return StackStrategy(tuple(strategy_from_data(part) for part in parts))
        case {"kind": "product", "factors": factors}:
            return ProductStrategy(tuple(strategy_from_data(factor) for factor in factors))
        case _:
            raise LedgerFault("the release uses an unknown strategy", hint="a newer version made it; upgrade Discreet")


def _small(data: Any) -> NDArray[np.int64]:
    return unpack_integers(data).astype(np.int64)
