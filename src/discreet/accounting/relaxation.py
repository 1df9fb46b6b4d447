"""The bound: split every loss over the columns that it narrows, add up each column's fullest cell.

A piece is a box with a weight in each arm (`filter`). A record takes one cell in each column and
holds the pieces in all of whose sides its cells lie; its load is the sum of their weights.

Guarantee: a record's load is at most `RelaxedBound.total`, and if in one column it takes a cell that carries less
    than that column's fullest, at most `total` less the difference.
Because: write a piece's weight as w = q_1 + ... + q_k over its k sides, all q >= 0, and let each cell carry the
    parts of the sides that it lies in. A record that holds the piece meets all k parts in its cells, which
    give w; one that does not meets some of them, which give at least 0. So its load is at most what its
    cells carry together, and that is at most the sum of the fullest.

This holds for every split. A good one makes it tight (the best is the dual of a linear program, and exact
where every piece has one side), so it is sought with floats, which are free to be wrong, and then rounded
to whole parts that add up to w. Everything certified is whole-number arithmetic in 64 bits, and no sum leaves
them: the weights of an arm add up to less than 2^62 (`overlap`), and each cell carries at most all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.region_grid import Flags, GridArrays, Integers

Floats = NDArray[np.float64]

#: How sharply a step looks at the fullest cells (their load, over the bound, times this, is the exponent), and how
#: far it goes. Found by trial; twice or half of either changes the nodes of a search by a few percent.
SHARPNESS = 160.0
STRIDE = 1.0

#: No share falls below this, so that one is left to go on with when the other sides of a piece vanish.
LEAST_SHARE = 1e-12

#: Parts are rounded down from a hair less than their share, so that float rounding cannot make them exceed the weight.
HAIR = 1.0 - 2.0**-30


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmWeights:
    """One kind of loss: what every record here has lost, the weight of each piece, and the shares of its sides.

    Loads are `constant` and a multiple of `unit`: epsilons tend to be round, and then so are their sums.
    """

    constant: int
    weights: Integers
    shares: Floats
    unit: int

    @property
    def sum(self) -> int:
        """What a record would lose that held every piece."""
        return self.constant + int(self.weights.sum())

    def floor(self, bound: int) -> int:
        """The largest load that is possible up to a bound."""
        return bound - (bound - self.constant) % self.unit

    def reach(self, limit: int) -> int:
        """The largest bound that proves every load within the limit."""
        return self.floor(limit) + self.unit - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaxationProblem:
    """What is undecided in a part of the space: the pieces that some of its records hold and some do not.

    `piece`, `column`: of each side; `side`, `start`, `stop`: of each run; `cell`: of each cell here, one of those it
    stands for on the whole axis; `first`: of each column its first cell, and at the end the number of cells;
    `owner`: of each cell its column.
    """

    arms: tuple[ArmWeights, ...]
    piece: Integers
    column: Integers
    side: Integers
    start: Integers
    stop: Integers
    cell: Integers
    first: Integers
    owner: Integers


@dataclass(frozen=True, slots=True, kw_only=True)
class RelaxedBound:
    """A certified bound of one arm: what each cell carries, each column's fullest, and the total."""

    load: Integers
    top: Integers
    total: int


def whole_problem(shape: GridArrays, weights: Sequence[Integers]) -> RelaxationProblem:
    """The problem of the whole space. `weights`: of each event, for each arm."""
    sides = np.bincount(shape.piece, minlength=len(shape.event))
    even = (1.0 / np.maximum(sides, 1))[shape.piece]
    return RelaxationProblem(
        arms=tuple(ArmWeights(constant=0, weights=weight[shape.event], shares=even, unit=1) for weight in weights),
        piece=shape.piece,
        column=shape.column,
        side=shape.side,
        start=shape.start,
        stop=shape.stop,
        cell=np.arange(int(shape.first[-1])),
        first=shape.first,
        owner=_owner(shape.first),
    )


def restrict(problem: RelaxationProblem, keep: Flags) -> RelaxationProblem | None:
    """The part of the space that has only these cells; None if a column has none.

    Pieces that miss it go, sides that cover it go, pieces that cover it become constant, and neighbouring cells
    that no side tells apart become one.
    """
    before = np.zeros(len(keep) + 1, dtype=np.int64)
    keep.cumsum(out=before[1:])
    first = before[problem.first]
    size = first[1:] - first[:-1]
    if not size.all():
        return None
    start, stop = before[problem.start], before[problem.stop]
    width = stop - start
    met = np.bincount(problem.side, width, len(problem.piece))
    missed = np.zeros(len(problem.arms[0].weights), dtype=np.bool_)
    missed[problem.piece[met == 0]] = True
    narrow = (met < size[problem.column]) & ~missed[problem.piece]
    live = np.zeros(len(missed), dtype=np.bool_)
    live[problem.piece[narrow]] = True
    piece = (live.cumsum() - 1)[problem.piece[narrow]]
    runs = narrow[problem.side] & (width > 0)
    start, stop = start[runs], stop[runs]
    edge = np.zeros(int(before[-1]) + 1, dtype=np.bool_)
    edge[start] = edge[stop] = edge[first] = True
    joined = edge.cumsum() - 1
    first = joined[first]
    return RelaxationProblem(
        arms=tuple(_narrowed(arm, live, ~(live | missed), narrow, piece) for arm in problem.arms),
        piece=piece,
        column=problem.column[narrow],
        side=(narrow.cumsum() - 1)[problem.side[runs]],
        start=joined[start],
        stop=joined[stop],
        cell=problem.cell[keep][edge[:-1]],
        first=first,
        owner=_owner(first),
    )


def _narrowed(arm: ArmWeights, live: Flags, covering: Flags, narrow: Flags, piece: Integers) -> ArmWeights:
    weights, shares = arm.weights[live], arm.shares[narrow]
    return ArmWeights(
        constant=arm.constant + int(arm.weights[covering].sum()),
        weights=weights,
        shares=shares / np.bincount(piece, shares, len(weights))[piece],
        unit=max(1, int(np.gcd.reduce(weights))),
    )


def _owner(first: Integers) -> Integers:
    return np.repeat(np.arange(len(first) - 1), first[1:] - first[:-1])


def tighten(problem: RelaxationProblem, number: int, *, steps: int, enough: int) -> RelaxationProblem:
    """The same problem with a better split of one arm, as far as some steps find one. Floats, never certified.

    Each step looks where the fullest records are (a softmax of each column's loads) and moves a piece's weight away
    from the sides in which most of them lie. Stops once the bound is down to `enough`.
    """
    arm = problem.arms[number]
    weights = arm.weights.astype(np.float64)[problem.piece]
    best, chosen, shares = np.inf, arm.shares, arm.shares
    if len(problem.piece) == len(arm.weights):
        steps = 0  # every piece has one side: nothing to choose
    for step in range(steps + 1):
        load = lay_amounts(problem, weights * shares)
        top = np.maximum.reduceat(load, problem.first[:-1])
        total = float(top.sum())
        if total < best:
            best, chosen = total, shares
        if step == steps or total <= max(0, enough - arm.constant):
            break
        shares = _step(problem, shares, (load - top[problem.owner]) * (SHARPNESS / total), len(arm.weights))
    arms = list(problem.arms)
    arms[number] = replace(arm, shares=chosen)
    return replace(problem, arms=tuple(arms))


def share_split(problem: RelaxationProblem, number: int) -> RelaxationProblem:
    """The same problem where all arms are split as one of them is."""
    shares = problem.arms[number].shares
    return replace(problem, arms=tuple(replace(arm, shares=shares) for arm in problem.arms))


def _step(problem: RelaxationProblem, shares: Floats, energy: Floats, pieces: int) -> Floats:
    crowd = np.exp(energy)
    crowd /= np.bincount(problem.owner, crowd)[problem.owner]
    before = np.zeros(len(crowd) + 1)
    crowd.cumsum(out=before[1:])
    inside = np.bincount(problem.side, before[problem.stop] - before[problem.start], len(problem.piece))
    shares = np.maximum(shares * np.exp(-STRIDE * inside), LEAST_SHARE)
    shares /= np.bincount(problem.piece, shares, pieces)[problem.piece]
    return shares


def lay_amounts(problem: RelaxationProblem, amounts: Floats) -> Floats:
    """What each cell carries when every side lays its amount on its cells. Floats: for choices, never for bounds."""
    parts = amounts[problem.side]
    change = np.bincount(problem.start, parts, len(problem.cell) + 1)
    change -= np.bincount(problem.stop, parts, len(problem.cell) + 1)
    return change[:-1].cumsum()


def lay_exactly(problem: RelaxationProblem, amounts: Integers) -> Integers:
    """What each cell carries, in whole units."""
    parts = amounts[problem.side]
    change = np.zeros(len(problem.cell) + 1, dtype=np.int64)
    np.add.at(change, problem.start, parts)
    np.subtract.at(change, problem.stop, parts)
    return change[:-1].cumsum()


def relax(problem: RelaxationProblem, number: int) -> RelaxedBound:
    """The certified bound of one arm under its present split."""
    arm = problem.arms[number]
    load = lay_exactly(problem, split(problem, arm))
    top = np.maximum.reduceat(load, problem.first[:-1])
    return RelaxedBound(load=load, top=top, total=arm.constant + int(top.sum()))


def split(problem: RelaxationProblem, arm: ArmWeights) -> Integers:
    """Whole parts, none negative, that add up to each piece's weight: rounded down, and the rest on its last side."""
    parts = np.floor(arm.weights[problem.piece] * (arm.shares * HAIR)).astype(np.int64)
    rest = arm.weights.copy()
    np.subtract.at(rest, problem.piece, parts)
    if len(parts) and (parts.min() < 0 or rest.min() < 0):
        raise ArithmeticError("a loss was split into parts that do not add up to it")
    last = np.zeros(len(rest), dtype=np.int64)
    last[problem.piece] = np.arange(len(parts))
    parts[last] += rest
    return parts
