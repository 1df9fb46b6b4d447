"""The bound: split every loss over the columns that it narrows, add up each column's fullest cell.

A piece is a box with a weight for each arm (pure, rho, or one of them). A record picks one cell in
each column; it holds a piece if its cell lies in every side of the piece.

Guarantee: for every record, its load is at most `Relaxed.total`, and at most `total` less what the
    cell it picks in one column lacks against that column's fullest cell.
Because: let a piece's weight be w = q_1 + ... + q_k over its k sides, all q >= 0. A record that holds
    the piece meets all k parts in its own cells, so they give w; one that does not meets some of them,
    which give at least 0. So a record's load is at most the sum over columns of what its cells carry,
    and that is at most the sum of the fullest. This holds for every split; a good one only
    makes it tight, so the split is sought with floats, then rounded to whole units that add up to w,
    and everything certified is whole-number arithmetic in 64 bits, whose sums cannot overflow
    because all weights of an arm add up to less than 2^62 (`search.scaled`).

The best split is the dual of a linear program (weights times y, y at most the share x of the cells in
each side); it is exact when every piece has one side.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.cells import Flags, Integers, Shape

Floats = NDArray[np.float64]

#: How sharply a step looks at the fullest cells, as a multiple of the bound, and how far it goes.
SHARPNESS = 160.0
STRIDE = 1.0

#: Parts are rounded down from a hair less than their share, so that float rounding cannot make them add up to more.
HAIR = 1.0 - 2.0**-30


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One kind of loss: what every record here has lost, each piece's weight, and how it is split over its sides."""

    constant: int
    weights: Integers
    shares: Floats
    #: Loads are `constant` and a multiple of this. Epsilons tend to be round, and then so is every sum of them.
    unit: int = 1

    @property
    def sum(self) -> int:
        """What a record would lose that holds everything."""
        return self.constant + int(self.weights.sum())

    def floor(self, bound: int) -> int:
        """The largest load that is possible up to a bound."""
        return bound - (bound - self.constant) % self.unit

    def reach(self, limit: int) -> int:
        """The largest bound that proves every load within the limit."""
        return self.floor(limit) + self.unit - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What is undecided in a part of the space: pieces that some of its records hold and some do not.

    Sides belong to pieces and runs to sides, numbers ascending. `piece`, `column`: of each side; `side`, `start`,
    `stop`: of each run; `cell`: of each cell here, one that it stands for on the whole axis; `first`: each column's
    first cell, and at the end the number of cells; `owner`: of each cell, its column.
    """

    arms: tuple[Arm, ...]
    piece: Integers
    column: Integers
    side: Integers
    start: Integers
    stop: Integers
    cell: Integers
    first: Integers
    owner: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class Relaxed:
    """A certified bound of one arm: `total`, each cell's `load`, and each column's `top`."""

    total: int
    load: Integers
    top: Integers


def whole(shape: Shape, weights: Sequence[Integers]) -> Problem:
    """The problem of the whole space, losses split evenly."""
    sides = np.bincount(shape.piece, minlength=len(shape.event))
    even = (1.0 / np.maximum(sides, 1))[shape.piece]
    return Problem(
        arms=tuple(Arm(constant=0, weights=weight[shape.event], shares=even) for weight in weights),
        piece=shape.piece,
        column=shape.column,
        side=shape.side,
        start=shape.start,
        stop=shape.stop,
        cell=np.arange(int(shape.first[-1])),
        first=shape.first,
        owner=_owner(shape.first),
    )


def restrict(problem: Problem, keep: Flags) -> Problem | None:
    """The part of the space with only these cells; None if some column has none left.

    Pieces that miss it are gone, sides that cover it vanish, pieces that cover it turn into a constant, and
    neighbouring cells that no side tells apart become one.
    """
    before = np.zeros(len(keep) + 1, dtype=np.int64)
    np.cumsum(keep, out=before[1:])
    first = before[problem.first]
    size = np.diff(first)
    if not size.all():
        return None
    start, stop = before[problem.start], before[problem.stop]
    width = stop - start
    met = np.bincount(problem.side, weights=width, minlength=len(problem.piece))
    gone = np.zeros(len(problem.arms[0].weights), dtype=np.bool_)
    gone[problem.piece[met == 0]] = True
    narrow = (met < size[problem.column]) & ~gone[problem.piece]
    piece = problem.piece[narrow]
    live = np.zeros(len(gone), dtype=np.bool_)
    live[piece] = True
    piece = (np.cumsum(live) - 1)[piece]
    runs = narrow[problem.side] & (width > 0)
    start, stop = start[runs], stop[runs]
    edge = np.zeros(int(before[-1]) + 1, dtype=np.bool_)
    edge[start] = edge[stop] = edge[first] = True
    joined = np.cumsum(edge) - 1
    first = joined[first]
    return Problem(
        arms=tuple(_narrowed(arm, live, ~(live | gone), narrow, piece) for arm in problem.arms),
        piece=piece,
        column=problem.column[narrow],
        side=(np.cumsum(narrow) - 1)[problem.side[runs]],
        start=joined[start],
        stop=joined[stop],
        cell=problem.cell[keep][edge[:-1]],
        first=first,
        owner=_owner(first),
    )


def _narrowed(arm: Arm, live: Flags, covering: Flags, narrow: Flags, piece: Integers) -> Arm:
    weights, shares = arm.weights[live], arm.shares[narrow]
    return Arm(
        constant=arm.constant + int(arm.weights[covering].sum()),
        weights=weights,
        shares=shares / np.bincount(piece, shares, len(weights))[piece],
        unit=max(1, int(np.gcd.reduce(weights))),
    )


def _owner(first: Integers) -> Integers:
    return np.repeat(np.arange(len(first) - 1), np.diff(first))


def tighten(problem: Problem, number: int, *, steps: int, enough: int) -> Problem:
    """The same problem with a better split of one arm, or the same one. Floats, and free to be wrong.

    Each step looks where the records that matter are (a softmax of the loads in each column) and moves a
    piece's weight away from the sides that most of them lie in. Stops when the bound is down to `enough`.
    """
    arm = problem.arms[number]
    weights = arm.weights.astype(np.float64)[problem.piece]
    best, shares = np.inf, arm.shares
    chosen = shares
    for step in range(steps + 1):
        load = lay(problem, weights * shares)
        top = np.maximum.reduceat(load, problem.first[:-1])
        total = float(top.sum())
        if total < best:
            best, chosen = total, shares
        if step == steps or best <= enough - arm.constant or total <= 0:
            break
        shares = _step(problem, shares, (load - top[problem.owner]) * (SHARPNESS / total), len(arm.weights))
    arms = list(problem.arms)
    arms[number] = replace(arm, shares=chosen)
    return replace(problem, arms=tuple(arms))


def _step(problem: Problem, shares: Floats, energy: Floats, pieces: int) -> Floats:
    crowd = np.exp(energy)
    crowd /= np.bincount(problem.owner, crowd)[problem.owner]
    before = np.zeros(len(crowd) + 1)
    np.cumsum(crowd, out=before[1:])
    inside = np.bincount(problem.side, before[problem.stop] - before[problem.start], len(problem.piece))
    shares = shares * np.exp(-STRIDE * inside)
    shares /= np.bincount(problem.piece, shares, pieces)[problem.piece]
    return shares


def lay(problem: Problem, amounts: Floats) -> Floats:
    """What each cell carries when every side lays its amount on its cells."""
    parts = amounts[problem.side]
    change = np.bincount(problem.start, parts, len(problem.cell) + 1)
    change -= np.bincount(problem.stop, parts, len(problem.cell) + 1)
    return np.cumsum(change[:-1])


def relax(problem: Problem, number: int) -> Relaxed:
    """The certified bound of one arm under its present split."""
    arm = problem.arms[number]
    load = spread(problem, split(problem, arm))
    top = np.maximum.reduceat(load, problem.first[:-1])
    return Relaxed(total=arm.constant + int(top.sum()), load=load, top=top)


def split(problem: Problem, arm: Arm) -> Integers:
    """Whole parts, none negative, that add up to each piece's weight: rounded down, the rest on its last side."""
    parts = np.floor(arm.weights[problem.piece] * (arm.shares * HAIR)).astype(np.int64)
    rest = arm.weights.copy()
    np.subtract.at(rest, problem.piece, parts)
    if len(parts) and (parts.min() < 0 or rest.min() < 0):
        raise ArithmeticError("a loss was split into parts that do not add up to it")
    last = np.zeros(len(rest), dtype=np.int64)
    last[problem.piece] = np.arange(len(parts))
    parts[last] += rest
    return parts


def spread(problem: Problem, amounts: Integers) -> Integers:
    """What each cell carries, in whole units."""
    parts = amounts[problem.side]
    change = np.zeros(len(problem.cell) + 1, dtype=np.int64)
    np.add.at(change, problem.start, parts)
    np.subtract.at(change, problem.stop, parts)
    return np.cumsum(change[:-1])
