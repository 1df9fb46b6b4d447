"""Constraints that the numbers of any table satisfy: parts of a region that exclude each other add up to at most it.

No parts: the number is not negative. One part: a region within another has at most its number. There are far too many
to list, so those that some numbers violate most are found as they are needed (several parts: greedily, so not all).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.inference.reconcile.axes import Flags, Floats, Integers
from discreet.inference.reconcile.geometry import Geometry


@dataclass(frozen=True, slots=True, order=True)
class Constraint:
    """y[whole] - sum of y[parts] >= 0."""

    whole: int
    parts: tuple[int, ...] = ()

    def slack(self, values: Floats) -> float:
        return float(values[self.whole] - values[list(self.parts)].sum())


class Constraints:
    """The constraints between the different regions of a geometry."""

    __slots__ = ("_apart", "_containers", "_inside", "_size")

    def __init__(self, geometry: Geometry) -> None:
        within = geometry.containments()
        self._size = len(within)
        #: Two regions share nothing exactly if some column's overlap is 0, which floats keep.
        self._apart: Flags = geometry.shared == 0.0
        order = np.argsort(np.diagonal(geometry.shared), kind="stable")
        #: Of each region those within it, the smallest first, and those it lies in.
        self._inside = [order[within[order, whole]] for whole in range(self._size)]
        self._containers = [np.flatnonzero(within[part]) for part in range(self._size)]

    def worst(self, values: Floats) -> list[Constraint]:
        """Some that do not hold: negative numbers; of each region its smallest whole; parts that are too much."""
        found = [Constraint(int(place)) for place in np.flatnonzero(values < 0.0)]
        for part, containers in enumerate(self._containers):
            if len(containers):
                whole = int(containers[values[containers].argmin()])
                if values[part] > values[whole]:
                    found.append(Constraint(whole, (part,)))
        for whole, inside in enumerate(self._inside):
            parts = inside[values[inside] > 0.0]
            if len(parts) > 1 and values[parts].sum() > values[whole]:
                found += self._too_much(whole, parts, values)
        return list(dict.fromkeys(found))

    def _too_much(self, whole: int, parts: Integers, values: Floats) -> list[Constraint]:
        """Parts that exclude each other, taken the smallest region first, then the largest number first."""
        found = []
        for order in (parts, parts[np.argsort(-values[parts], kind="stable")]):
            taken = self._exclusive(order)
            if len(taken) > 1 and values[taken].sum() > values[whole]:
                found.append(Constraint(whole, tuple(sorted(taken))))
        return found

    def _exclusive(self, order: Integers) -> list[int]:
        free, taken = np.ones(len(order), dtype=np.bool_), []
        apart = self._apart[np.ix_(order, order)]
        while free.any():
            place = int(free.argmax())
            taken.append(int(order[place]))
            free &= apart[place]
            free[place] = False
        return taken
