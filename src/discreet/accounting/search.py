"""The search: best-first branch and bound for a record that is over in every arm.

A part of the space dies when the bound of one arm is within its limit there. What lives has its cells
thinned out (a cell through which no arm can go over leaves), a record is sought by climbing from the
fullest cells, and then one column is decided: a child for each of its cells. The column is the one
with most undecided loss for each cell left, since every cell is a child to be killed.

The limit is on nodes, never on time, and ties go by number: the same history gets the same answer. A search
that is stopped still knows an upper bound, the largest of those that were not looked into.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from discreet.accounting.cells import Flags, Integers
from discreet.accounting.relaxation import Floats, Problem, Relaxed, lay, relax, restrict, tighten

#: Steps of the split at the start of a part's life, and after each thinning; how often it is thinned.
FIRST_STEPS = 20
NEXT_STEPS = 4
THINNINGS = 4

#: Moves of one climb. It ends at the first that does not gain; this only bounds it.
CLIMB_MOVES = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """`solved`: nothing is left that could be over, or more than `point`. `upper`: no record has more in the first
    arm. `point`: the cells of the best record found that is over, in part number `part`; None if there was none."""

    solved: bool
    upper: int
    point: Integers | None
    part: int
    nodes: int


def search(problem: Problem, parts: Sequence[Flags], *, limits: Sequence[int], enough: int | None, nodes: int) -> Found:
    """Look for a record of one of the parts that is over its limit in every arm, into at most `nodes` nodes.

    `enough` (with one arm only): go on to the record with most, unless it has this much. Without: the first will do.
    """
    run = _Search(limits, enough)
    bounds = tuple(arm.sum for arm in problem.arms)
    for root, keep in enumerate(parts):
        run.push(_Part(-math.inf, root, bounds, root, problem, keep))
    return run.run(nodes)


@dataclass(order=True, slots=True)
class _Part:
    """A part of the space that waits: cells `keep` of `problem`. `bounds` are certified, one for each arm."""

    priority: float
    number: int
    bounds: tuple[int, ...] = field(compare=False)
    root: int = field(compare=False)
    problem: Problem = field(compare=False)
    keep: Flags = field(compare=False)


class _Search:
    """The state of one search: the parts that wait, and the best record found."""

    def __init__(self, limits: Sequence[int], enough: int | None) -> None:
        self.limits = list(limits)
        self.enough = enough
        self.scale = [max(1, limit + 1) for limit in limits]
        self.heap: list[_Part] = []
        self.pushed = 0
        self.nodes = 0
        self.point: Integers | None = None
        self.part = 0

    def run(self, nodes: int) -> Found:
        while self.heap and not self._done():
            if self._open(self.heap[0].bounds) and self.nodes >= nodes:
                break
            part = heapq.heappop(self.heap)
            if self._open(part.bounds):
                self.nodes += 1
                self._look(part)
        waiting = [part.bounds[0] for part in self.heap if self._open(part.bounds)]
        return Found(
            solved=not waiting,
            upper=max([self.limits[0], *waiting]),
            point=self.point,
            part=self.part,
            nodes=self.nodes,
        )

    def _done(self) -> bool:
        return self.point is not None and (self.enough is None or self.limits[0] >= self.enough)

    def _open(self, bounds: Sequence[int]) -> bool:
        """Could a record with these bounds be over in every arm?"""
        return all(bound > limit for bound, limit in zip(bounds, self.limits, strict=True))

    def push(self, part: _Part) -> None:
        self.pushed += 1
        heapq.heappush(self.heap, part)

    def _look(self, part: _Part) -> None:
        """Bound, climb, thin out; kill the part or push its children."""
        problem = restrict(part.problem, part.keep)
        steps = FIRST_STEPS if part.priority == -math.inf else NEXT_STEPS
        for thinning in range(THINNINGS):
            if problem is None or not self._open([arm.sum for arm in problem.arms]):
                return
            found = self._relax(problem, steps)
            if found is None:
                return
            problem, bounds = found
            self._climb(problem, bounds, part.root)
            keep = self._worth(problem, bounds)
            if self._done() or not keep.any():
                return
            if thinning == THINNINGS - 1 or keep.all():
                break
            problem, steps = restrict(problem, keep), NEXT_STEPS
        assert problem is not None
        self._branch(problem, bounds, keep, part.root)

    def _relax(self, problem: Problem, steps: int) -> tuple[Problem, list[Relaxed]] | None:
        """The bounds of all arms, or None as soon as one is within its limit."""
        bounds = []
        for number, limit in enumerate(self.limits):
            reach = problem.arms[number].reach(limit)
            problem = tighten(problem, number, steps=steps, enough=reach)
            bounds.append(relax(problem, number))
            if bounds[-1].total <= reach:
                return None
        return problem, bounds

    def _worth(self, problem: Problem, bounds: Sequence[Relaxed]) -> Flags:
        """The cells through which every arm could still go over."""
        keep = np.ones(len(problem.cell), dtype=np.bool_)
        for arm, bound, limit in zip(problem.arms, bounds, self.limits, strict=True):
            keep &= bound.load - bound.top[problem.owner] > arm.reach(limit) - bound.total
        return keep

    def _climb(self, problem: Problem, bounds: Sequence[Relaxed], root: int) -> None:
        """Seek a record that is over, from the fullest cell of each column."""
        weights = _mixed(problem, self.scale)
        load = sum(bound.load / scale for bound, scale in zip(bounds, self.scale, strict=True))
        point = climb(problem, weights, _fullest(problem, load))
        loads = loads_at(problem, point)
        if self._open(loads):
            self.point, self.part = problem.cell[point], root
            if self.enough is not None:
                self.limits = list(loads)

    def _branch(self, problem: Problem, bounds: Sequence[Relaxed], keep: Flags, root: int) -> None:
        column = _column(problem, _mixed(problem, self.scale), keep)
        low, high = int(problem.first[column]), int(problem.first[column + 1])
        for cell in (low + np.flatnonzero(keep[low:high])).tolist():
            through = tuple(
                arm.floor(bound.total - int(bound.top[column]) + int(bound.load[cell]))
                for arm, bound in zip(problem.arms, bounds, strict=True)
            )
            priority = -min(bound / scale for bound, scale in zip(through, self.scale, strict=True))
            only = keep.copy()
            only[low:high] = False
            only[cell] = True
            self.push(_Part(priority, self.pushed, through, root, problem, only))


def _mixed(problem: Problem, scale: Sequence[int]) -> Floats:
    """One weight for each piece out of all arms, each measured by its limit. For choices, never for bounds."""
    mixed: Floats = sum(arm.weights / one for arm, one in zip(problem.arms, scale, strict=True))  # type: ignore[assignment]
    return mixed


def _column(problem: Problem, weights: Floats, keep: Flags) -> int:
    """The column to decide: most loss in pieces with more than one open side, for each cell left."""
    columns = len(problem.first) - 1
    sides = np.bincount(problem.piece, minlength=len(weights))
    loss = np.bincount(problem.column, np.where(sides > 1, weights, 0.0)[problem.piece], columns)
    score = loss / np.maximum(1, np.bincount(problem.owner, keep, columns))
    score[np.diff(problem.first) < 2] = -1.0
    return int(np.argmax(score))


def _fullest(problem: Problem, load: Floats) -> Integers:
    """The first fullest cell of each column."""
    top = np.maximum.reduceat(load, problem.first[:-1])
    full = np.flatnonzero(load == top[problem.owner])
    point = np.zeros(len(problem.first) - 1, dtype=np.int64)
    point[problem.owner[full[::-1]]] = full[::-1]
    return point


def climb(problem: Problem, weights: Floats, point: Integers) -> Integers:
    """Move one column at a time to the cell that gains most, until none gains."""
    heavy = weights[problem.piece]
    gain_at_least = 1e-9 * float(weights.sum())
    for _ in range(CLIMB_MOVES):
        outside = ~_inside(problem, point)
        missing = np.bincount(problem.piece, outside, len(weights))
        #: A side counts if its piece lacks nothing else.
        alone = missing[problem.piece] == outside
        load = lay(problem, heavy * alone)
        gain = load - load[point][problem.owner]
        cell = int(np.argmax(gain)) if len(gain) else 0
        if not len(gain) or gain[cell] <= gain_at_least:
            break
        point = point.copy()
        point[problem.owner[cell]] = cell
    return point


def loads_at(problem: Problem, point: Integers) -> tuple[int, ...]:
    """Exactly what the record with these cells has lost, in each arm."""
    outside = problem.piece[~_inside(problem, point)]
    held = np.ones(len(problem.arms[0].weights), dtype=np.bool_)
    held[outside] = False
    return tuple(arm.constant + int(arm.weights[held].sum()) for arm in problem.arms)


def _inside(problem: Problem, point: Integers) -> Flags:
    """Of each side: does the record lie in it?"""
    at = point[problem.column[problem.side]]
    hit = (problem.start <= at) & (at < problem.stop)
    found: Flags = np.bincount(problem.side, hit, len(problem.piece)) > 0
    return found
