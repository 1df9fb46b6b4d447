"""Strategies as JSON data, whole: what is stored beside a release, so that it can be read for ever."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import LedgerFault
from discreet.mechanisms.strategy.levels import Levels
from discreet.mechanisms.strategy.merged import Merged
from discreet.mechanisms.strategy.strategy import Diagonal, Groups, Identity, Matrix, Product, Stack, Strategy
from discreet.packing import packed, unpacked


def kept(strategy: Strategy) -> Any:
    """A strategy as data.

    >>> read(kept(Levels(4, ((1, 1), (4, 2)))))
    Levels(size=4, levels=((1, 1), (4, 2)))
    """
    match strategy:
        case Identity(size):
            return {"kind": "identity", "size": size}
        case Levels(size, levels):
            return {"kind": "levels", "size": size, "levels": [list(level) for level in levels]}
        case Groups():
            return {"kind": "groups", "groups": packed(strategy.groups), "count": strategy.count}
        case Diagonal():
            return {"kind": "diagonal", "weights": packed(strategy.weights)}
        case Matrix():
            return {"kind": "matrix", "cells": strategy.cells, "entries": packed(strategy.entries.ravel())}
        case Merged():
            return {"kind": "merged", "groups": packed(strategy.groups), "inner": kept(strategy.inner)}
        case Stack():
            return {"kind": "stack", "parts": [kept(part) for part in strategy.parts]}
        case Product():
            return {"kind": "product", "factors": [kept(factor) for factor in strategy.factors]}
        case _:
            raise TypeError(f"{type(strategy).__name__} is not kept by itself")


def read(data: Any) -> Strategy:
    """The strategy that `kept` wrote."""
    match data:
        case {"kind": "identity", "size": size}:
            return Identity(size)
        case {"kind": "levels", "size": size, "levels": levels}:
            return Levels(size, tuple((block, weight) for block, weight in levels))
        case {"kind": "groups", "groups": groups, "count": count}:
            return Groups(_small(groups), count)
        case {"kind": "diagonal", "weights": weights}:
            return Diagonal(_small(weights))
        case {"kind": "matrix", "cells": cells, "entries": entries}:
            return Matrix(_small(entries).reshape(-1, cells))
        case {"kind": "merged", "groups": groups, "inner": inner}:
            return Merged(_small(groups), read(inner))
        case {"kind": "stack", "parts": parts}:
            return Stack(tuple(read(part) for part in parts))
        case {"kind": "product", "factors": factors}:
            return Product(tuple(read(factor) for factor in factors))
        case _:
            raise LedgerFault("a release by an unknown strategy", hint="a newer Discreet made it; upgrade")


def _small(data: Any) -> NDArray[np.int64]:
    return unpacked(data).astype(np.int64)
