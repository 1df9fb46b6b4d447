"""The Gram matrix of regions: how much each two share, under an even measure on the cells of every column.

Guarantee: a combination of regions is identically zero exactly if the matrix maps its coefficients to zero.
Because: c' G c is the measure's integral of (sum of c_i 1_i)^2, and every atom has a positive measure.

The measure is a product, so the matrix is a product of one small matrix of overlaps for each column; no atom is
enumerated. In floats: what is read off it (rank, coefficients, containments) is proved apart, exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from discreet.inference.reconcile.column_axes import ColumnAxis, Flags, Floats, Integers, uncut_axis
from discreet.inference.reconcile.measured_number import ColumnDomains
from discreet.inference.reconcile.region_pieces import Piece


def gram(axes: Sequence[ColumnAxis], places: Integers, first: Integers) -> Floats:
    """Of each two regions, the measure of what they share. `places`: of each piece its sides, pieces in the order of
    their regions; `first`: of each region its first piece. Every region has a piece."""
    shared = np.ones((len(places), len(places)))
    for column, axis in enumerate(axes):
        place = places[:, column]
        narrow = np.flatnonzero(place)
        # The measure of a column is 1, so two pieces that are free here share all of it.
        overlaps = axis.overlaps()
        block = overlaps[place[narrow]][:, place]
        shared[narrow] *= block
        free = np.flatnonzero(place == 0)
        shared[np.ix_(free, narrow)] *= block[:, free].T
    if len(first) == len(places):
        return shared
    return np.add.reduceat(np.add.reduceat(shared, first, axis=0), first, axis=1)


def shared_with(
    axes: Sequence[ColumnAxis], places: Integers, first: Integers, pieces: Sequence[Piece], domain: ColumnDomains
) -> Floats:
    """What each region shares with one more, given as its disjoint pieces."""
    names = {axis.name for axis in axes}
    total = np.zeros(len(places))
    for piece in pieces:
        part = np.ones(len(places))
        for column, axis in enumerate(axes):
            cell_shares = axis.shares_of_cells(piece[axis.name]) if axis.name in piece else 1.0
            part *= (axis.inside @ (axis.measure * cell_shares))[places[:, column]]
        for name in piece.keys() - names:
            free = uncut_axis(name, domain)
            part *= free.measure @ free.shares_of_cells(piece[name])
        total += part
    return np.add.reduceat(total, first)


def containments(axes: Sequence[ColumnAxis], places: Integers, first: Integers) -> Flags:
    """[a, b]: does every piece of region a lie within one piece of region b? Exact: whole cells are compared."""
    within = np.ones((len(places), len(places)), dtype=np.bool_)
    for column, axis in enumerate(axes):
        place = places[:, column]
        narrow = np.flatnonzero(place)  # everything lies within a free side
        within[:, narrow] &= axis.within()[place][:, place[narrow]]
    if len(first) < len(places):
        within = np.logical_and.reduceat(np.logical_or.reduceat(within, first, axis=1), first, axis=0)
    np.fill_diagonal(within, False)
    return within
