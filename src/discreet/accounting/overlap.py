"""Overlap: what a population has lost is what its fullest possible record has lost.

Every charged event has a region and whole-number losses; a record has lost the sum over the events whose
region holds it. `Overlap` keeps the history of one version of one table and answers two questions about
all *possible* records of a region, never about data: how much has the fullest lost, and is every one within
its limits. Finding out is NP-hard; the search is limited in nodes and safe wherever it stops.

Guarantee: `Bound.upper` is at least what any record of the region has lost; `Verdict.within` is true
    only if every record of the region is within one of its limits.
Because: see `relaxation` for the bound and `search` for the cover: the parts that a search has closed or
    still holds are all of the region. Widening a region (`grid.disjoint`) only adds to loads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.accounting.region import Box, Region, Value
from discreet.accounting.region_grid import Integers, RegionGrid, disjoint, is_possible
from discreet.accounting.relaxation import relax, restrict, share_split, tighten, whole_problem
from discreet.accounting.worst_record_search import FIRST_STEPS, search
from discreet.exact import UNBOUNDED

#: All weights of a search add up to less than 2^62, so that no sum of them leaves 64 bits.
MOST_BITS = 62

#: A search looks at so many arms, the most promising: more cost time and accept hardly anything else.
MOST_ARMS = 3


#: So many boxes of records that are in every event are kept, and met with a region only where it is little work.
MOST_SHARED = 4
MOST_RUNS = 256


def shared_boxes(shared: Sequence[Box], boxes: Sequence[Box]) -> tuple[Box, ...]:
    """Some of the boxes of records that are in one of `shared` and in one of `boxes`."""
    pairs = ((one, other) for one in shared for other in boxes[:MOST_SHARED] if is_small(one, other))
    return tuple(box for one, other in pairs if is_possible(box := (one & other).tidy()))[:MOST_SHARED]


def is_small(one: Box, other: Box) -> bool:
    """Whether what two boxes share is found quickly."""
    runs = (len(of.runs) * len(other.sides[name].runs) for name, of in one.sides.items() if name in other.sides)
    return max(runs, default=0) <= MOST_RUNS


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """lower <= the most that a record has lost <= upper; some record has lost `lower`. Equal: solved."""

    lower: int
    upper: int
    nodes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """`within`: proved that no record is over. `witness`: a record that is over. Neither: the search was
    stopped, which a caller treats as over."""

    within: bool
    witness: Mapping[str, Value | None] | None
    nodes: int


class Overlap:
    """The charges on one version of one table, append-only. Each has a loss in every arm; arms go by their number.

    >>> from discreet.accounting.region import Box, ValueSet
    >>> history = Overlap()
    >>> for sex in (0, 1):
    ...     history.add(Region.of([Box({"sex": ValueSet.of([sex])})]), [200, 20])
    >>> history.largest(Region.whole(), arm=0)
    Bound(lower=200, upper=200, nodes=1)
    """

    __slots__ = ("_arrays", "_cells", "_events", "_losses", "_shared")

    def __init__(self) -> None:
        #: The losses of each event, by arm.
        self._losses: list[list[int]] = []
        self._cells = RegionGrid()
        #: Each different region once; the losses of a repeat add to the first.
        self._events: dict[Region, int] = {}
        self._arrays: dict[int, Integers] = {}
        #: Boxes that lie in every event: of the records in all of them some, or none.
        self._shared: tuple[Box, ...] = (Box(),)

    @property
    def is_empty(self) -> bool:
        """Whether nothing was charged."""
        return not self._losses

    def copy(self) -> Overlap:
        """The same history, to go on from apart."""
        twin = Overlap()
        twin._cells = self._cells.copy()
        twin._events = dict(self._events)
        twin._losses = [list(losses) for losses in self._losses]
        twin._arrays = dict(self._arrays)
        twin._shared = self._shared
        return twin

    def add(self, region: Region, loss: Sequence[int]) -> None:
        """Append a charge: its loss in each arm. A loss of UNBOUNDED or more counts as UNBOUNDED."""
        if min(loss) < 0:
            raise ValueError(f"a loss cannot be negative: {loss}")
        self._losses = self._losses or [[] for _ in loss]
        tidy = Region.of(region.boxes)
        event = self._events.setdefault(tidy, len(self._events))
        if event == len(self._losses[0]):
            self._cells.add(disjoint(tidy), event=event)
            self._shared = shared_boxes(self._shared, tidy.boxes)
            for losses in self._losses:
                losses.append(0)
        for losses, each in zip(self._losses, loss, strict=True):
            losses[event] = min(UNBOUNDED, losses[event] + each)
        self._arrays = {}

    def largest(self, region: Region, *, arm: int, nodes: int = 64) -> Bound:
        """The most that a record of the region has lost; UNBOUNDED if that has no bound."""
        boxes = [box for box in region.boxes if is_possible(box)]
        if not boxes or not self._losses or not any(self._losses[arm]):
            return Bound(lower=0, upper=0, nodes=0)
        together = sum(self._losses[arm])
        if together < UNBOUNDED and self._is_shared(boxes):
            return Bound(lower=together, upper=together, nodes=0)
        # No record gets above all finite losses without one that has no bound.
        cap = self._cap(arm, sum(loss for loss in self._losses[arm] if loss < UNBOUNDED))
        weights, shift = self._weights(arm, cap)
        outcome = search(
            whole_problem(self._cells.shape(), [weights]),
            [self._cells.inside(box) for box in boxes],
            limits=[-1],
            enough=cap >> shift,
            nodes=nodes,
        )
        lower = 0 if outcome.point is None else self._load(outcome.point, arm)
        upper = max(lower, min(outcome.upper << shift, sum(self._losses[arm])))
        return Bound(
            lower=UNBOUNDED if lower >= cap else lower, upper=UNBOUNDED if upper >= cap else upper, nodes=outcome.nodes
        )

    def upper_bounds(self, region: Region, arms: Sequence[int]) -> list[int]:
        """Certified bounds on what a record of the region has lost in several arms: quicker than `largest`, less tight.

        Because: the bound of `relaxation` holds for every split; all arms take the one that is good for the middle arm.
        """
        if not self._losses:
            return [0] * len(arms)
        if self._is_shared([box for box in region.boxes if is_possible(box)]):
            return [min(UNBOUNDED, sum(self._losses[arm])) for arm in arms]
        cut = [self._weights(arm, UNBOUNDED) for arm in arms]
        whole = whole_problem(self._cells.shape(), [weights for weights, _ in cut])
        most = [0] * len(arms)
        for box in region.boxes:
            part = restrict(whole, self._cells.inside(box)) if is_possible(box) else None
            if part is None:
                continue
            part = tighten(part, len(arms) // 2, steps=FIRST_STEPS, enough=0)
            part = share_split(part, len(arms) // 2)
            most = [max(bound, relax(part, number).total) for number, bound in enumerate(most)]
        return [
            min(UNBOUNDED, bound << shift, sum(self._losses[arm]))
            for arm, bound, (_, shift) in zip(arms, most, cut, strict=True)
        ]

    def within(self, region: Region, limits: Sequence[int | None], *, nodes: int = 1024) -> Verdict:
        """Has every record of the region lost at most its limit in one of the arms? None switches an arm off.

        The arm that holds may differ from record to record.
        """
        # A record has lost at least 0 and less than UNBOUNDED, or it is over.
        given = {arm: max(-1, min(limit, UNBOUNDED - 1)) for arm, limit in enumerate(limits) if limit is not None}
        if not given:
            raise ValueError("a decision needs a limit")
        boxes = [box for box in region.boxes if is_possible(box)]
        if not boxes or (not self._losses and min(given.values()) >= 0):
            return Verdict(within=True, witness=None, nodes=0)
        if any(sum(self._losses[arm]) <= limit for arm, limit in given.items()):
            return Verdict(within=True, witness=None, nodes=0)  # by plain addition
        return self._search(boxes, self._undominated(given), given, nodes)

    def _is_shared(self, boxes: Sequence[Box]) -> bool:
        """Whether a record of one of these boxes is certainly in every event: its loss is then the sum of all losses.

        Because: a record in every event has lost that much, and none has lost more, so the bound is exact.
        """
        return any(is_possible(shared & box) for shared in self._shared for box in boxes if is_small(shared, box))

    def _search(self, boxes: Sequence[Box], limits: Mapping[int, int], given: Mapping[int, int], nodes: int) -> Verdict:
        cut = [self._weights(arm, self._cap(arm, limit)) for arm, limit in limits.items()]
        outcome = search(
            whole_problem(self._cells.shape(), [weights for weights, _ in cut]),
            [self._cells.inside(box) for box in boxes],
            limits=[limit >> shift for limit, (_, shift) in zip(limits.values(), cut, strict=True)],
            enough=None,
            nodes=nodes,
        )
        if outcome.point is None:
            return Verdict(within=outcome.solved, witness=None, nodes=outcome.nodes)
        over = all(self._load(outcome.point, arm) > limit for arm, limit in given.items())
        witness = self._cells.record(boxes[outcome.part], outcome.point.tolist()) if over else None
        return Verdict(within=False, witness=witness, nodes=outcome.nodes)

    def _undominated(self, limits: Mapping[int, int]) -> dict[int, int]:
        """The arms that another one does not make needless, the most promising first.

        Because: leaving an arm out only makes a search stricter. Nothing is lost by it if every event takes at least as
            large a share of that arm's limit as of another's: a record within the first is within the second.
        """
        shares = {arm: self._array(arm) / (limit + 1.0) for arm, limit in limits.items() if limit >= 0}
        kept: dict[int, int] = {}
        for arm in sorted(shares, key=lambda arm: float(np.minimum(shares[arm], 1.0).sum())):
            if not any((shares[other] <= shares[arm] * (1 + 1e-12)).all() for other in kept):
                kept[arm] = limits[arm]
            if len(kept) == MOST_ARMS:
                break
        return kept or dict(limits)

    def _cap(self, arm: int, limit: int) -> int:
        """What a loss over the limit may be cut down to: over it as well, and as round as the losses within it."""
        losses = self._array(arm)
        unit = max(1, int(np.gcd.reduce(losses[losses <= limit])))
        return min(UNBOUNDED, (limit // unit + 1) * unit)

    def _weights(self, arm: int, cap: int) -> tuple[Integers, int]:
        """Each event's loss, cut down to the cap, in units of 2^shift, rounded up.

        The shift is 0 unless all pieces together would leave 64 bits. Then a bound is still safe, limits being
        rounded down, and a record that is over is looked at again in exact numbers.
        """
        losses = np.minimum(self._array(arm), cap)
        together = losses[self._cells.shape().event].sum(dtype=np.float64)
        shift = max(0, math.frexp(together)[1] + 1 - MOST_BITS)
        return -(-losses >> shift), shift

    def _array(self, arm: int) -> Integers:
        if arm not in self._arrays:
            self._arrays[arm] = np.array(self._losses[arm], dtype=np.int64)
        return self._arrays[arm]

    def _load(self, point: Integers, arm: int) -> int:
        """Exactly what the record with these cells has lost."""
        return sum(self._losses[arm][event] for event in self._cells.events_holding(point).tolist())
