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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.accounting.region import Region, Value
from discreet.accounting.region_grid import Integers, RegionGrid, disjoint, is_possible
from discreet.accounting.relaxation import whole_problem
from discreet.accounting.worst_record_search import search
from discreet.exact import UNBOUNDED

Arm = Literal["pure", "rho"]

#: All weights of a search add up to less than 2^62, so that no sum of them leaves 64 bits.
MOST_BITS = 62


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
    """The charges on one version of one table, append-only.

    >>> from discreet.accounting.region import Box, ValueSet
    >>> history = Overlap()
    >>> for sex in (0, 1):
    ...     history.add(Region.of([Box({"sex": ValueSet.of([sex])})]), pure=200, rho=20)
    >>> history.largest(Region.whole(), arm="pure")
    Bound(lower=200, upper=200, nodes=1)
    """

    __slots__ = ("_arrays", "_cells", "_events", "_losses")

    def __init__(self) -> None:
        self._cells = RegionGrid()
        #: Each different region once; the losses of a repeat add to the first.
        self._events: dict[Region, int] = {}
        self._losses: dict[Arm, list[int]] = {"pure": [], "rho": []}
        self._arrays: dict[Arm, Integers] = {}

    def copy(self) -> Overlap:
        """The same history, to go on from apart."""
        twin = Overlap()
        twin._cells = self._cells.copy()
        twin._events = dict(self._events)
        twin._losses = {arm: list(losses) for arm, losses in self._losses.items()}
        twin._arrays = dict(self._arrays)
        return twin

    def add(self, region: Region, *, pure: int, rho: int) -> None:
        """Append a charge. A loss of UNBOUNDED or more counts as UNBOUNDED."""
        if pure < 0 or rho < 0:
            raise ValueError(f"a loss cannot be negative: {pure}, {rho}")
        tidy = Region.of(region.boxes)
        event = self._events.setdefault(tidy, len(self._events))
        if event == len(self._losses["pure"]):
            self._cells.add(disjoint(tidy), event=event)
            for losses in self._losses.values():
                losses.append(0)
        for losses, loss in ((self._losses["pure"], pure), (self._losses["rho"], rho)):
            losses[event] = min(UNBOUNDED, losses[event] + loss)
        self._arrays = {}

    def largest(self, region: Region, *, arm: Arm, nodes: int = 64) -> Bound:
        """The most that a record of the region has lost; UNBOUNDED if that has no bound."""
        boxes = [box for box in region.boxes if is_possible(box)]
        if not boxes or not any(self._losses[arm]):
            return Bound(lower=0, upper=0, nodes=0)
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

    def within(self, region: Region, *, pure: int | None, rho: int | None, nodes: int = 1024) -> Verdict:
        """Has every record of the region lost at most `pure`, or at most `rho`? None switches an arm off.

        With both arms the one that holds may differ from record to record.
        """
        given: dict[Arm, int | None] = {"pure": pure, "rho": rho}
        # A record has lost at least 0 and less than UNBOUNDED, or it is over.
        limits = {arm: max(-1, min(limit, UNBOUNDED - 1)) for arm, limit in given.items() if limit is not None}
        if not limits:
            raise ValueError("a decision needs a limit")
        boxes = [box for box in region.boxes if is_possible(box)]
        if not boxes or any(sum(self._losses[arm]) <= limit for arm, limit in limits.items()):
            return Verdict(within=True, witness=None, nodes=0)  # by plain addition
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
        over = all(self._load(outcome.point, arm) > limit for arm, limit in limits.items())
        witness = self._cells.record(boxes[outcome.part], outcome.point.tolist()) if over else None
        return Verdict(within=False, witness=witness, nodes=outcome.nodes)

    def _cap(self, arm: Arm, limit: int) -> int:
        """What a loss over the limit may be cut down to: over it as well, and as round as the losses within it."""
        losses = self._array(arm)
        unit = max(1, int(np.gcd.reduce(losses[losses <= limit])))
        return min(UNBOUNDED, (limit // unit + 1) * unit)

    def _weights(self, arm: Arm, cap: int) -> tuple[Integers, int]:
        """Each event's loss, cut down to the cap, in units of 2^shift, rounded up.

        The shift is 0 unless all pieces together would leave 64 bits. Then a bound is still safe, limits being
        rounded down, and a record that is over is looked at again in exact numbers.
        """
        losses = np.minimum(self._array(arm), cap)
        together = losses[self._cells.shape().event].sum(dtype=np.float64)
        shift = max(0, math.frexp(together)[1] + 1 - MOST_BITS)
        return -(-losses >> shift), shift

    def _array(self, arm: Arm) -> Integers:
        if arm not in self._arrays:
            self._arrays[arm] = np.array(self._losses[arm], dtype=np.int64)
        return self._arrays[arm]

    def _load(self, point: Integers, arm: Arm) -> int:
        """Exactly what the record with these cells has lost."""
        return sum(self._losses[arm][event] for event in self._cells.events_holding(point).tolist())
