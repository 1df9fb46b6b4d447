"""A table cut by axes: the marginals, choices and distances that a program takes steps of. Part of `program`.

Exact rows are read when a draw needs them, and leave it only with noise, as one step of a reservation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.events import Event, compose
from discreet.accounting.sensitivity import Sensitivity
from discreet.engines.engine import CodedRows
from discreet.kernel.curator import Curator
from discreet.kernel.measurement import Law
from discreet.kernel.program import Measurable, Program
from discreet.mechanisms.exponential import ExponentialMechanism
from discreet.mechanisms.integer_arrays import Integers
from discreet.mechanisms.packed_integers import pack_integers, unpack_integers
from discreet.plan.cells import Axis
from discreet.plan.price import event_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What a marginal is scored by, all of it public: score = weight * |exact - estimate|_1 - penalty."""

    estimate: NDArray[np.int64]
    weight: int
    penalty: int


@dataclass(frozen=True, slots=True)
class CoarseSet:
    """Some axes over groups of their cells: cell c of axis `axes[i]` is counted in cell `groups[i][c]`."""

    axes: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]


#: What a marginal is over: some axes, or some axes over coarser cells.
MarginalSet = tuple[int, ...] | CoarseSet


def moves_of_distances(rows: int, sizes: Sequence[int], parts: int) -> Sensitivity:
    """How far sums of distances move, one for each group of so many sets, when a unit of `rows` rows comes or goes.

    Guarantee: |q(D) - q(D')|_1 <= result.l1 for neighbours under a unit of at most `rows` rows.
    Because: such a unit moves the counts of a set by at most `rows` in total, and so, by the triangle inequality, their
        distance from fixed numbers; counts are taken `parts` times. Attained by equal rows in a cell that the
        estimate nowhere overrates.
    >>> moves_of_distances(3, [2, 1], parts=10).l1
    90
    """
    sums = [parts * rows * size for size in sizes if size]
    return Sensitivity(
        l0=len(sums),
        l1=sum(sums),
        l2_squared=sum(each**2 for each in sums),
        linf=max(sums),
        because=(f"a row moves the distance of each of {sum(sizes)} sets of columns by at most 1",),
    )


class BinnedTable:
    """A table cut by axes, and perhaps by coarser cells of them. Its exact rows are read when a draw needs them."""

    def __init__(self, program: Program, axes: tuple[Axis, ...], groups: tuple[NDArray[np.int64], ...] = ()) -> None:
        self.program = program
        self.axes = axes
        self.groups = groups or tuple(np.arange(axis.size) for axis in axes)
        self._finer: BinnedTable | None = None
        self._exact: CodedRows | None = None
        self._exact_groups: dict[CoarseSet, NDArray[np.int64]] = {}

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(int(group.max()) + 1 for group in self.groups)

    def merged(self, groups: tuple[NDArray[np.int64], ...]) -> BinnedTable:
        """The same table over coarser cells: cell c of axis i becomes `groups[i][c]`."""
        if self._finer is not None or [len(group) for group in groups] != [axis.size for axis in self.axes]:
            raise ValueError("the cells of each axis can be merged only once")
        coarser = BinnedTable(self.program, self.axes, groups)
        coarser._finer = self
        return coarser

    def regrouped(self, groups: tuple[NDArray[np.int64], ...]) -> BinnedTable:
        """The same table over other coarser cells than now: cell c of axis i, as counted, becomes `groups[i][c]`."""
        return (self if self._finer is None else self._finer).merged(groups)

    def measure(
        self, sets: Sequence[MarginalSet], laws: Sequence[Law], *, word: str = "measuring"
    ) -> list[NDArray[np.int64]]:
        """Noisy marginals over sets of axes, flat and row-major, each under its own law, as one step.

        `word`: what its share goes to, for people.

        Guarantee: the step's loss is the sum of the laws' losses, for neighbours under the version's unit.
        Because: a unit has at most `rows` rows, each of which lies in one cell of each marginal, whatever groups of
            cells it is over, so a marginal moves by at most `rows` in total, and by its square in squared length.
        """
        moves = self.program.moves
        event = compose([event_of(law, moves) for law in laws])

        def draw(curator: Curator) -> tuple[Any, Event]:
            drawn = [curator.add_noise(law, self._count(own), moves) for own, law in zip(sets, laws, strict=True)]
            return [values.tolist() for values, _ in drawn], compose([happened for _, happened in drawn])

        noisy = self.program.step({"measure": _set_data(sets), **self._data(sets)}, event, draw, word=word)
        return [np.array(values, dtype=np.int64) for values in noisy]

    def linear(self, sets: Sequence[tuple[int, ...]], parts: Sequence[tuple[Measurable, Law]]) -> list[Integers]:
        """What a strategy makes of each of several marginals, flat and row-major, under its own law, as one step.

        Guarantee and because: as `Program.linear`; a row lies in one cell of each marginal.
        """
        moves = [strategy.sensitivity(self.program.moves.l1) for strategy, _ in parts]

        def draw(curator: Curator) -> tuple[Any, Event]:
            drawn = [
                curator.add_noise(law, strategy.apply(self._count(own)), far)
                for own, (strategy, law), far in zip(sets, parts, moves, strict=True)
            ]
            return [pack_integers(noisy) for noisy, _ in drawn], compose([event for _, event in drawn])

        of = {"linear": [strategy.to_data() for strategy, _ in parts], "sets": [list(own) for own in sets]}
        event = compose([event_of(law, far) for (_, law), far in zip(parts, moves, strict=True)])
        return [unpack_integers(text) for text in self.program.step({**of, **self._data()}, event, draw)]

    def choose(
        self,
        sets: Sequence[MarginalSet],
        candidates: Callable[[], Iterable[tuple[MarginalSet, Candidate]]],
        *,
        epsilon: Fraction,
        most_weight: int,
        fits: Callable[[int], bool] = lambda place: True,
    ) -> int:
        """The place of one of `sets`, by the exponential mechanism on how far each is from its estimate.

        `candidates` yields one for each set, in any order; it is not asked where the step is stored. `fits` says,
        from public facts, which sets may be chosen; some set must.

        Guarantee: epsilon-DP, and (epsilon^2 / 8)-zCDP.
        Because: estimates, weights and penalties are public whole numbers, so adding a unit of `rows` rows moves
            a score by at most weight * rows, and scores are exact. What does not fit is put aside and the draw
            repeated among the rest, which is the exponential mechanism over the sets that fit: the first of them
            in a sequence drawn without replacement.
        """
        mechanism = ExponentialMechanism(epsilon=epsilon, sensitivity=most_weight * self.program.moves.l1)

        def draw(curator: Curator) -> tuple[Any, Event]:
            exact_scores = self._scores(sets, candidates(), most_weight)
            alive = np.arange(len(sets))
            while True:
                place, event = curator.choose(mechanism, exact_scores[alive])
                if fits(int(alive[place])):
                    return int(alive[place]), event
                alive = np.delete(alive, place)

        of = {"choose": _set_data(sets), "weight": most_weight, **self._data(sets)}
        return int(self.program.step(of, mechanism.event(), draw, word="selecting"))

    def distances(
        self,
        groups: Sequence[Sequence[tuple[int, ...]]],
        estimate: Callable[[tuple[int, ...]], NDArray[np.int64]],
        *,
        parts: int,
        law: Law,
    ) -> list[int]:
        """For each group of sets the noisy sum of |parts * exact - estimate|_1 over its sets, as one step.

        `estimate`: public whole numbers, in parts of a row.

        Guarantee: the loss of the law on numbers that move as `moves_of_distances` says.
        """
        moves = moves_of_distances(self.program.moves.l1, [len(group) for group in groups], parts)
        event = event_of(law, moves)

        def draw(curator: Curator) -> tuple[Any, Event]:
            exact_sums = [sum(self._distance(own, estimate(own), parts) for own in group) for group in groups]
            noisy, happened = curator.add_noise(law, np.array(exact_sums, dtype=np.int64), moves)
            return noisy.tolist(), happened

        of = {"distances": [[list(own) for own in group] for group in groups], "parts": parts, **self._data()}
        noisy_sums: list[int] = self.program.step(of, event, draw)
        return noisy_sums

    def _distance(self, own: MarginalSet, estimate: NDArray[np.int64], parts: int) -> int:
        counts = self._count(own)
        if estimate.dtype != np.int64 or counts.shape != estimate.shape:
            raise ValueError("the sensitivity of this distance is not bounded")
        return int(np.abs((counts if parts == 1 else parts * counts) - estimate).sum())

    def _scores(
        self,
        sets: Sequence[MarginalSet],
        candidates: Iterable[tuple[MarginalSet, Candidate]],
        most_weight: int,
    ) -> NDArray[np.int64]:
        exact_scores = {own: self._score(own, candidate, most_weight) for own, candidate in candidates}
        return np.array([exact_scores[own] for own in sets], dtype=np.int64)

    def _score(self, own: MarginalSet, candidate: Candidate, most_weight: int) -> int:
        if not 0 <= candidate.weight <= most_weight:
            raise ValueError("the sensitivity of this score is not bounded")
        return candidate.weight * self._distance(own, candidate.estimate.ravel(), 1) - candidate.penalty

    def _count(self, own: MarginalSet) -> NDArray[np.int64]:
        if isinstance(own, CoarseSet):
            if own not in self._exact_groups:  # few cells: kept, for the same are asked for in every round
                self._exact_groups[own] = self._sum_groups(own, self._rows().count(own.axes))
            return self._exact_groups[own]
        return self._rows().count(own)

    def _sum_groups(self, own: CoarseSet, exact_counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The counts over coarser cells. Whole numbers: a row of `exact_counts` goes to one cell and no other."""
        table = exact_counts.reshape([self.sizes[place] for place in own.axes])
        for axis, group in enumerate(own.groups):
            cells = np.array(group, dtype=np.int64)
            if len(cells) != table.shape[axis] or set(group) != set(range(int(cells.max()) + 1)):
                raise ValueError("the groups of a marginal do not match its cells")
            moved = np.moveaxis(table, axis, 0)
            order = np.argsort(cells, kind="stable")
            starts = np.searchsorted(cells[order], np.arange(int(cells.max()) + 1))
            table = np.moveaxis(np.add.reduceat(moved[order], starts, axis=0), 0, axis)
        return np.ascontiguousarray(table).ravel()

    def _rows(self) -> CodedRows:
        if self._exact is None:
            finer = self._finer
            self._exact = (
                self.program.read_coded_rows(self.axes) if finer is None else finer._rows().merged(self.groups)
            )
        return self._exact

    def _data(self, sets: Sequence[MarginalSet] = ()) -> dict[str, Any]:
        """What is cut, for the digest of a step."""
        coarser = _coarser(sets)
        return {
            "axes": [axis.to_data() for axis in self.axes],
            "groups": [group.tolist() for group in self.groups],
            **({"coarser": [list(group) for group in coarser]} if coarser else {}),
        }


def _coarser(sets: Sequence[MarginalSet]) -> dict[tuple[int, ...], int]:
    """The groups that sets are over, each once, numbered."""
    groups = dict.fromkeys(group for own in sets if isinstance(own, CoarseSet) for group in own.groups)
    return {group: number for number, group in enumerate(groups)}


def _set_data(sets: Sequence[MarginalSet]) -> list[Any]:
    """Sets of axes for the digest of a step; groups of cells by their numbers."""
    numbers = _coarser(sets)
    return [
        [list(own.axes), [numbers[group] for group in own.groups]] if isinstance(own, CoarseSet) else list(own)
        for own in sets
    ]
