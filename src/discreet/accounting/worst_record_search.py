"""The search: best-first branch and bound for a record that is over its limit in every arm.

A part of the space dies when in one arm no record there can be over. In what lives, cells through which no record
can be over are dropped, and so are cells that a neighbour outdoes; then a record is sought by climbing from the
fullest cells; then one column is decided, with a child for each of its cells. That column has the most
undecided loss for each cell left: every cell is a child that must be killed.

Guarantee: when the search ends, every record that is over (or has more than the best one found) lies in a part
    that still waits, and `bounds` of that part hold for it. None waits: there is none.
Because: children cover their parent's cells but for those dropped. A cell is dropped if the bound through it is
    within a limit, or if a neighbour that is kept lies in every side in which it lies: then the record moved
    there has lost as much in every arm, and more is what is sought.

The limit is on nodes (a very large one counts as several), never on time, and ties go by number, so the same history
gets the same answer. On another machine exp() may differ in its last bit and with it the split: a search that comes to
its end finds the same there, one that is stopped may not, so a ledger keeps the decision and does not repeat it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.accounting.region_grid import Flags, Integers
from discreet.accounting.relaxation import (
    Floats,
    RelaxationProblem,
    RelaxedBound,
    lay_amounts,
    relax,
    restrict,
    tighten,
)

#: Steps towards a better split, at the start of a search and later, and how often the cells of a part are thinned.
#: Found by trial; half or twice of each costs about the same time, in more or fewer nodes.
FIRST_STEPS = 20
NEXT_STEPS = 4
THINNINGS = 3

#: A node counts once more for each of so many sides, so that the limit on nodes bounds time and memory as well.
LARGE = 4096

#: A climb ends when no move gains; this bounds it.
MOST_MOVES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOutcome:
    """`solved`: there is no record that is over, or none with more than `point`. `upper`: none has more in the first
    arm. `point`: the cells of the best record found that is over, in part number `part`."""

    solved: bool
    upper: int
    point: Integers | None
    part: int
    nodes: int


def search(
    problem: RelaxationProblem, parts: Sequence[Flags], *, limits: Sequence[int], enough: int | None, nodes: int
) -> SearchOutcome:
    """Look for a record of one of the parts that is over in every arm, into at most `nodes` nodes.

    `enough` is for one arm: go on to the record that has most, or this much. Without it the first one over will do.
    """
    run = _Search(limits, enough)
    bounds = tuple(arm.sum for arm in problem.arms)
    for root, keep in enumerate(parts):
        run.push(_Part(-math.inf, root, bounds, root, problem, keep, None))
    return run.run(nodes)


@dataclass(order=True, slots=True)
class _Part:
    """A part of the space that waits: these cells of `problem`, and of one column this `cell` alone, if given.

    `bounds` are certified, one for each arm.
    """

    priority: float
    number: int
    bounds: tuple[int, ...] = field(compare=False)
    root: int = field(compare=False)
    problem: RelaxationProblem = field(compare=False)
    keep: Flags = field(compare=False)
    cell: int | None = field(compare=False)

    def narrowed(self) -> RelaxationProblem | None:
        """The problem of this part alone."""
        keep = self.keep
        if self.cell is not None:
            keep = keep & (self.problem.owner != self.problem.owner[self.cell])
            keep[self.cell] = True
        return restrict(self.problem, keep)


class _Search:
    """The state of one search: limits, which rise with the best record found if `enough` is given, and what waits."""

    def __init__(self, limits: Sequence[int], enough: int | None) -> None:
        self.limits = list(limits)
        self.enough = enough
        self.scales = [max(1, limit + 1) for limit in limits]
        self.waiting: list[_Part] = []
        self.pushed = 0
        self.nodes = 0
        self.point: Integers | None = None
        self.root = 0

    def run(self, nodes: int) -> SearchOutcome:
        while self.waiting and not self._done() and self.nodes < nodes:
            part = heapq.heappop(self.waiting)
            if self._over(part.bounds):
                self._look(part)
        left = [part.bounds[0] for part in self.waiting if self._over(part.bounds)]
        return SearchOutcome(
            solved=not left,
            upper=max([self.limits[0], *left]),
            point=self.point,
            part=self.root,
            nodes=self.nodes,
        )

    def push(self, part: _Part) -> None:
        self.pushed += 1
        heapq.heappush(self.waiting, part)

    def _done(self) -> bool:
        return self.point is not None and (self.enough is None or self.limits[0] >= self.enough)

    def _over(self, loads: Sequence[int]) -> bool:
        """Over in every arm?"""
        return all(load > limit for load, limit in zip(loads, self.limits, strict=True))

    def _look(self, part: _Part) -> None:
        """Bound, climb, thin out, again; then kill the part or push its children."""
        problem = part.narrowed()
        steps = FIRST_STEPS if part.cell is None else NEXT_STEPS
        self.nodes += 1 if problem is None else 1 + len(problem.piece) // LARGE
        for thinning in range(1, THINNINGS + 1):
            if problem is None or not self._over([arm.sum for arm in problem.arms]):
                return
            problem, bounds = self._relaxed(problem, steps)
            if bounds is None:
                return
            self._climb(problem, bounds, part.root)
            keep = self._worth(problem, bounds)
            if self._done() or not keep.any():
                return
            keep &= peaks(problem)
            if thinning == THINNINGS or keep.all():
                self._branch(problem, bounds, keep, part.root)
                return
            problem, steps = restrict(problem, keep), NEXT_STEPS

    def _relaxed(self, problem: RelaxationProblem, steps: int) -> tuple[RelaxationProblem, list[RelaxedBound] | None]:
        """The bounds of all arms, or None as soon as one shows that its limit holds."""
        bounds = []
        for number, limit in enumerate(self.limits):
            reach = problem.arms[number].reach(limit)
            problem = tighten(problem, number, steps=steps, enough=reach)
            bounds.append(relax(problem, number))
            if bounds[-1].total <= reach:
                return problem, None
        return problem, bounds

    def _worth(self, problem: RelaxationProblem, bounds: Sequence[RelaxedBound]) -> Flags:
        """The cells through which a record could be over in every arm."""
        keep = np.ones(len(problem.cell), dtype=np.bool_)
        for arm, bound, limit in zip(problem.arms, bounds, self.limits, strict=True):
            keep &= bound.load - bound.top[problem.owner] > arm.reach(limit) - bound.total
        return keep

    def _climb(self, problem: RelaxationProblem, bounds: Sequence[RelaxedBound], root: int) -> None:
        """Seek a record that is over, from the fullest cell of each column."""
        load = np.zeros(len(problem.cell))
        for bound, scale in zip(bounds, self.scales, strict=True):
            load += bound.load / scale
        point = climb(problem, self._mixed(problem), _fullest(problem, load))
        loads = loads_at(problem, point)
        if self._over(loads):
            self.point, self.root = problem.cell[point], root
            if self.enough is not None:
                self.limits = list(loads)

    def _branch(self, problem: RelaxationProblem, bounds: Sequence[RelaxedBound], keep: Flags, root: int) -> None:
        """A child for each cell of one column."""
        column = _column(problem, self._mixed(problem), keep)
        low, high = int(problem.first[column]), int(problem.first[column + 1])
        for cell in (low + np.flatnonzero(keep[low:high])).tolist():
            through = tuple(
                arm.floor(bound.total - int(bound.top[column]) + int(bound.load[cell]))
                for arm, bound in zip(problem.arms, bounds, strict=True)
            )
            priority = -min(bound / scale for bound, scale in zip(through, self.scales, strict=True))
            self.push(_Part(priority, self.pushed, through, root, problem, keep, cell))

    def _mixed(self, problem: RelaxationProblem) -> Floats:
        """One weight for each piece out of all arms, each measured by its limit. For choices, never for bounds."""
        mixed = np.zeros(len(problem.arms[0].weights))
        for arm, scale in zip(problem.arms, self.scales, strict=True):
            mixed += arm.weights / scale
        return mixed


def _column(problem: RelaxationProblem, weights: Floats, keep: Flags) -> int:
    """The column to decide: most undecided loss for each cell left."""
    columns = len(problem.first) - 1
    loss = np.bincount(problem.column, weights[problem.piece], columns)
    score = loss / np.maximum(1, np.bincount(problem.owner, keep, columns))
    score[np.bincount(problem.owner, minlength=columns) < 2] = -1.0
    return int(np.argmax(score))


def peaks(problem: RelaxationProblem) -> Flags:
    """The cells that no neighbour outdoes: some run begins at their left edge and some run ends at their right.

    Where no run ends between two cells, whatever holds the left one holds the right one; where none begins, the
    other way round. Following that from cell to cell ends at a peak.
    """
    begins = np.zeros(len(problem.cell) + 1, dtype=np.bool_)
    ends = begins.copy()
    begins[problem.start] = begins[problem.first] = True
    ends[problem.stop] = ends[problem.first] = True
    is_peak: Flags = begins[:-1] & ends[1:]
    return is_peak


def _fullest(problem: RelaxationProblem, load: Floats) -> Integers:
    """The first fullest cell of each column."""
    top = np.maximum.reduceat(load, problem.first[:-1])
    full = np.flatnonzero(load == top[problem.owner])[::-1]
    point = np.zeros(len(top), dtype=np.int64)
    point[problem.owner[full]] = full
    return point


def climb(problem: RelaxationProblem, weights: Floats, point: Integers) -> Integers:
    """Move one column at a time to the cell that gains most, until none gains."""
    heavy = weights[problem.piece]
    least = 1e-9 * float(weights.sum())
    for _ in range(MOST_MOVES if len(heavy) else 0):
        outside = ~_inside(problem, point)
        lacks = np.bincount(problem.piece, outside, len(weights))
        # A side counts if its piece lacks nothing else.
        load = lay_amounts(problem, heavy * (lacks[problem.piece] == outside))
        gain = load - load[point][problem.owner]
        cell = int(np.argmax(gain))
        if gain[cell] <= least:
            break
        point = point.copy()
        point[problem.owner[cell]] = cell
    return point


def loads_at(problem: RelaxationProblem, point: Integers) -> tuple[int, ...]:
    """Exactly what the record with these cells has lost, in each arm."""
    is_held = np.ones(len(problem.arms[0].weights), dtype=np.bool_)
    is_held[problem.piece[~_inside(problem, point)]] = False
    return tuple(arm.constant + int(arm.weights[is_held].sum()) for arm in problem.arms)


def _inside(problem: RelaxationProblem, point: Integers) -> Flags:
    """Of each side: does the record lie in it?"""
    at = point[problem.column[problem.side]]
    hit = (problem.start <= at) & (at < problem.stop)
    lies_inside: Flags = np.bincount(problem.side, hit, len(problem.piece)) > 0
    return lies_inside
