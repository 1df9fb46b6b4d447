"""Constraints that the numbers of any table satisfy: parts of a region that exclude each other add up to at most it.

No parts: the number is not negative. One part: a region within another has at most its number. There are far too many
to list, so those that some numbers violate most are found as they are needed (several parts: greedily, so not all).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.inference.reconcile.column_axes import Flags, Floats, Integers
from discreet.inference.reconcile.geometry import Geometry

#: A region with more than this many within it is compared with those directly within it only.
MOST_INSIDE = 256


@dataclass(frozen=True, slots=True, order=True)
class PartConstraint:
    """y[whole] - sum of y[parts] >= 0."""

    whole: int
    parts: tuple[int, ...] = ()

    def slack(self, values: Floats) -> float:
        return float(values[self.whole] - values[list(self.parts)].sum())


class PartConstraints:
    """The constraints between the different regions of a geometry.

    Of containments only those with no region between: the others follow.
    """

    __slots__ = ("_apart", "_children", "_inside", "_part", "_whole")

    def __init__(self, geometry: Geometry) -> None:
        within = geometry.containments()
        #: Two regions share nothing exactly if some column's overlap is 0, which floats keep.
        self._apart: Flags = geometry.shared == 0.0
        hop = within.astype(np.float32)
        direct: Flags = within & ~((hop @ hop) > 0.0)
        self._part, self._whole = np.nonzero(direct)
        order = np.argsort(np.diagonal(geometry.shared), kind="stable")
        #: Of each region those directly within it, and, the smallest first, all of them if they are not too many.
        self._children = [np.flatnonzero(direct[:, whole]) for whole in range(len(within))]
        self._inside = [_few(order[within[order, whole]]) for whole in range(len(within))]

    def violated_by(self, values: Floats) -> list[PartConstraint]:
        """Some that do not hold, and none only if there is no number below 0 and no part above its whole."""
        violations = [PartConstraint(int(place)) for place in np.flatnonzero(values < 0.0)]
        above = values[self._part] > values[self._whole]
        pairs = zip(self._whole[above].tolist(), self._part[above].tolist(), strict=True)
        violations += [PartConstraint(whole, (part,)) for whole, part in pairs]
        for whole, (children, inside) in enumerate(zip(self._children, self._inside, strict=True)):
            largest_first = children[np.argsort(-values[children], kind="stable")]
            for parts in (largest_first, inside):
                positive = parts[values[parts] > 0.0]
                if len(positive) > 1 and values[positive].sum() > values[whole]:
                    taken = self._exclusive(positive)
                    if len(taken) > 1 and values[taken].sum() > values[whole]:
                        violations.append(PartConstraint(whole, tuple(sorted(taken))))
        return list(dict.fromkeys(violations))

    def _exclusive(self, order: Integers) -> list[int]:
        taken = []
        while len(order):
            taken.append(int(order[0]))
            order = order[self._apart[order[0], order]]
        return taken


def _few(parts: Integers) -> Integers:
    return parts if len(parts) <= MOST_INSIDE else parts[:0]
