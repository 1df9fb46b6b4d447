"""Pricing: the possible record that is worth most when every region has a worth, of either sign.

The overlap search of the accounting knows losses, which are not negative. A negative worth on a region is the same as
a positive one on its complement, less a constant, and the complement of a box is some disjoint boxes. So the search
is exact here, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.accounting.region import Box
from discreet.accounting.region_grid import RegionGrid
from discreet.accounting.relaxation import whole_problem
from discreet.accounting.worst_record_search import search
from discreet.errors import Refused
from discreet.inference.reconcile.column_axes import Floats, Integers
from discreet.inference.reconcile.geometry import Geometry
from discreet.inference.reconcile.measured_number import ColumnDomains
from discreet.inference.reconcile.record_atoms import Atoms
from discreet.inference.reconcile.region_pieces import MOST_PIECES, Piece, minus

#: Worths become whole numbers: the largest gets so many bits. A few thousand of them stay within 62.
BITS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class PricedAtom:
    """`atom`: the best that was found above the floor, if any; `upper`: no record is worth more than this."""

    atom: Integers | None
    upper: float


class AtomPricing:
    """The regions of a geometry and their complements, ready to be searched."""

    __slots__ = ("_atoms", "_box", "_grid")

    def __init__(self, geometry: Geometry, atoms: Atoms) -> None:
        self._atoms = atoms
        self._grid = RegionGrid()
        self._box = Box({axis.name: geometry.domain.possible(axis.name) for axis in geometry.axes})
        for number, parts in enumerate(geometry.pieces):
            self._grid.add([Box(part) for part in parts], event=2 * number)
            self._grid.add([Box(part) for part in _complement(parts, geometry.domain)], event=2 * number + 1)

    def best(self, worth: Floats, *, floor: float, nodes: int) -> PricedAtom:
        """The record worth most, if more than `floor`."""
        unit = float(np.abs(worth).max(initial=0.0)) / 2.0**BITS
        if unit == 0.0:
            return PricedAtom(atom=None, upper=0.0)
        # Rounded up on both sides, so that no record is worth more than its load says.
        rounded = np.ceil(np.maximum(worth, -worth) / unit).astype(np.int64)
        weights = np.zeros(2 * len(worth), dtype=np.int64)
        weights[0::2] = np.where(worth > 0.0, rounded, 0)
        weights[1::2] = np.where(worth < 0.0, rounded, 0)
        constant = float(np.minimum(worth, 0.0).sum())
        lowest = int((floor - constant) / unit)
        optimum = search(
            whole_problem(self._grid.shape(), [weights]),
            [self._grid.inside(self._box)],
            limits=[lowest],
            enough=int(weights.sum()),
            nodes=nodes,
        )
        atom = None
        if optimum.point is not None:
            atom = self._atoms.of(self._grid.record(self._box, optimum.point.tolist()))
        return PricedAtom(atom=atom, upper=max(floor, optimum.upper * unit + constant))


def _complement(parts: tuple[Piece, ...], domain: ColumnDomains) -> list[Piece]:
    """Every possible record outside these pieces, as disjoint pieces."""
    left: list[Piece] = [{}]
    for part in parts:
        left = [rest for piece in left for rest in minus(piece, part, domain)]
        if len(left) > MOST_PIECES:
            raise Refused("the complement of a region has too many parts", hint="reconcile without a table")
    return left
