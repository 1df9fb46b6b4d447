"""The sum of the variances of all prefixes of a tree's cells, from two kinds of block a level.

Within a block, a prefix has a share a of its total and, given the total, a variance R (see `ends`). Over all places in
a block the sums of a, of a^2 and of R follow from those of its children: place by place, m whole children come before.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.inference.linear.tree_level import Floats, TreeLevel


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cuts:
    """Sums over the places where a prefix may end in a block: how many, of the shares, their squares, and of R."""

    places: int
    shares: float
    squares: float
    rest: float


def prefix_total(levels: list[TreeLevel]) -> float:
    """The sum of the variances of all prefixes, where every row has noise of variance 1."""
    whole = last = _Cuts(places=1, shares=1.0, squares=1.0, rest=0.0)
    for depth in range(1, len(levels)):
        below, level = levels[depth - 1], levels[depth]
        ratio = level.size // below.size
        in_last = below.blocks - ratio * (level.blocks - 1)
        if level.blocks > 1:
            bigger = _block(below, ratio - 1, whole, whole, below.own[0])
        last = _block(below, in_last - 1, whole, last, below.own[1])
        whole = bigger if level.blocks > 1 else last
    top = levels[-1]
    before = np.arange(top.blocks - 1) * top.own[0]
    alike = before * whole.places + top.own[0] * whole.squares + whole.rest
    end = (top.blocks - 1) * top.own[0] * last.places + top.own[1] * last.squares + last.rest
    return float(alike.sum()) + end


def _block(below: TreeLevel, count: int, whole: _Cuts, end: _Cuts, end_variance: float) -> _Cuts:
    """The cuts of a block of so many whole children and one more."""
    variance = below.own[0]
    total = count * variance + end_variance
    parts = [
        _child(np.asarray(np.arange(count) * variance, dtype=np.float64), variance, whole, total),
        _child(np.array([count * variance]), end_variance, end, total),
    ]
    places = whole.places * count + end.places
    shares, squares, rest = (sum(values) for values in zip(*parts, strict=True))
    return _Cuts(places=places, shares=shares, squares=squares, rest=rest)


def _child(before: Floats, own: float, cuts: _Cuts, total: float) -> tuple[float, float, float]:
    """The sums over cuts in some children alike, each with so much variance before it in the block."""
    shares = (cuts.places * before + own * cuts.shares) / total
    squares = (cuts.places * before**2 + 2 * before * own * cuts.shares + own**2 * cuts.squares) / total**2
    rest = cuts.rest + cuts.places * before + own * cuts.squares - total * squares
    return float(shares.sum()), float(squares.sum()), float(rest.sum())
