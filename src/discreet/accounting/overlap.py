"""Overlap: what a population has lost is what its fullest possible record has lost.

Every charged event has a region and whole-number losses; a record has lost the sum over the events whose
region holds it. `Overlap` keeps the history of one version of one table and answers two questions about
all *possible* records of a region, never about data: how much has the fullest lost, and is every one within
its limits. Finding out is NP-hard; the search is limited in nodes and safe wherever it stops.

Guarantee: `Bound.upper` is at least what any record of the region has lost; `Verdict.within` is true
    only if every record of the region is within one of its limits.
Because: see `relaxation` for the bound and `search` for the cover: the parts that a search has closed or
    still holds are all of the region. Widening a region (`cells.disjoint`) only adds to loads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from discreet.accounting.cells import Cells, Integers, disjoint, possible
from discreet.accounting.region import Box, Region, Value
from discreet.accounting.relaxation import whole
from discreet.accounting.search import Found, search
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

    >>> from discreet.accounting.region import Allowed
    >>> history = Overlap()
    >>> for sex in (0, 1):
    ...     history.add(Region.of([Box({"sex": Allowed.of([sex])})]), pure=200, rho=20)
    >>> history.largest(Region.whole(), arm="pure")
    Bound(lower=200, upper=200, nodes=1)
    """

    __slots__ = ("_arrays", "_cells", "_events", "_losses")

    def __init__(self) -> None:
        self._cells = Cells()
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
        boxes = [box for box in region.boxes if possible(box)]
        if not boxes or not any(self._losses[arm]):
            return Bound(lower=0, upper=0, nodes=0)
        finite = sum(loss for loss in self._losses[arm] if loss < UNBOUNDED)
        # No record reaches `cap` by finite losses, so one that does has lost UNBOUNDED.
        cap = min(finite + self._unit(arm, UNBOUNDED - 1), UNBOUNDED)
        found, shift = self._search(boxes, {arm: cap}, limits=[-1], best=True, nodes=nodes)
        upper = found.upper << shift
        lower = 0 if found.point is None else self._load(found.point, arm)
        return Bound(
            lower=UNBOUNDED if lower >= cap else lower, upper=UNBOUNDED if upper >= cap else upper, nodes=found.nodes
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
        boxes = [box for box in region.boxes if possible(box)]
        if not boxes or any(sum(self._losses[arm]) <= limit for arm, limit in limits.items()):
            return Verdict(within=True, witness=None, nodes=0)  # by plain addition
        caps = {}
        for arm, limit in limits.items():
            u = self._unit(arm, limit)
            caps[arm] = (limit // u + 1) * u
        found, _ = self._search(boxes, caps, limits=list(limits.values()), best=False, nodes=nodes)
        if found.point is None:
            return Verdict(within=found.solved, witness=None, nodes=found.nodes)
        over = all(self._load(found.point, arm) > limit for arm, limit in limits.items())
        witness = self._cells.record(boxes[found.part], found.point.tolist()) if over else None
        return Verdict(within=False, witness=witness, nodes=found.nodes)

    def _search(
        self, boxes: list[Box], caps: Mapping[Arm, int], *, limits: list[int], best: bool, nodes: int
    ) -> tuple[Found, int]:
        """Search with every loss cut down to its cap. Where the losses of an arm add up to too much for 64 bits they
        are counted in units of 2^shift, rounded up, and limits down: safe, and no less than exact elsewhere."""
        shape = self._cells.shape()
        weights = [np.minimum(self._array(arm), cap) for arm, cap in caps.items()]
        largest_sum = max(float(weight[shape.event].sum(dtype=np.float64)) for weight in weights)
        shift = max(0, int(np.frexp(largest_sum)[1]) + 1 - MOST_BITS)
        weights = [-(-weight >> shift) for weight in weights]
        found = search(
            whole(shape, weights),
            [self._cells.inside(box) for box in boxes],
            limits=[limit >> shift for limit in limits],
            enough=max(caps.values()) >> shift if best else None,
            nodes=nodes,
        )
        return found, shift

    def _unit(self, arm: Arm, limit: int) -> int:
        """What all losses within the limit are multiples of."""
        losses = self._array(arm)
        return max(1, int(np.gcd.reduce(losses[losses <= limit])))

    def _array(self, arm: Arm) -> Integers:
        if arm not in self._arrays:
            self._arrays[arm] = np.array(self._losses[arm], dtype=np.int64)
        return self._arrays[arm]

    def _load(self, point: Integers, arm: Arm) -> int:
        """Exactly what the record with these cells has lost."""
        return sum(self._losses[arm][event] for event in self._cells.holding(point).tolist())
