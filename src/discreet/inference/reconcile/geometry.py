"""The geometry of one family: its different regions, and every relation between them.

The Gram matrix of regions says how much each two share, under an even measure on the cells of every column.

Guarantee: a combination of regions is identically zero exactly if the matrix maps its coefficients to zero.
Because: c' G c is the measure's integral of (sum of c_i 1_i)^2, and every atom has a positive measure.

The measure is a product, so the matrix is a product of one small matrix of overlaps for each column; no atom is
enumerated. In floats: what is read off it (rank, coefficients, containments) is proved apart, exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from discreet.accounting.region import Region
from discreet.errors import Refused
from discreet.inference.reconcile.column_axes import ColumnAxis, Flags, Floats, Integers, column_axes, uncut_axis
from discreet.inference.reconcile.identity_proof import RegionFingerprints, digest_of_regions
from discreet.inference.reconcile.measured_number import ColumnDomains
from discreet.inference.reconcile.region_factor import (
    RegionFactor,
    RegionRelation,
    factor_gram,
    find_relation,
    non_pivots,
)
from discreet.inference.reconcile.region_pieces import Piece, disjoint_pieces

#: More different regions than this and nothing is reconciled: time grows with the cube.
MOST_REGIONS = 4096

#: Where floats say that so much of a region lies in another, but in no one piece of it, their pieces are compared.
NEARLY_WITHIN = 1.0 - 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """`number`: of each given region its place among the different ones, -1 if nobody can be in it. Of the different
    ones: `disjoint_pieces`, `prints`, `first` piece, what each two share. `places`: of each piece its sides on the
    axes. `relations`: one for each region that others determine, in terms of regions that have none."""

    domain: ColumnDomains
    key: bytes
    number: Integers
    pieces: tuple[tuple[Piece, ...], ...]
    prints: tuple[int, ...]
    first: Integers
    places: Integers
    axes: tuple[ColumnAxis, ...]
    shared: Floats
    factor: RegionFactor
    relations: tuple[RegionRelation, ...]

    def combination(self, region: Region) -> RegionRelation | None:
        """A further region as a combination of known ones (its place is one more than the last); None if it is none."""
        parts = disjoint_pieces(region, self.domain)
        if not parts:
            return RegionRelation(dependent=len(self.pieces), denominator=1, numerators=())
        if not self.pieces:
            return None
        # Hashed anew, with the question: nobody can fit one to the weights of the history.
        prints = RegionFingerprints(digest_of_regions([parts]) + self.key, self.domain)
        own = prints.of(parts)
        for place in self.unproved:
            if prints.of(self.pieces[place]) == own:
                return RegionRelation(dependent=len(self.pieces), denominator=1, numerators=((place, 1),))
        near = self.factor.coefficients(shared_with(self.axes, self.places, self.first, parts, self.domain))
        return find_relation(
            len(self.pieces), own, self.factor.pivots, near, lambda place: prints.of(self.pieces[place])
        )

    @property
    def unproved(self) -> list[int]:
        """Regions that floats take for dependent and no proof does: none, but for very thin differences."""
        proved = {proved_relation.dependent for proved_relation in self.relations}
        return [place for place in non_pivots(self.factor).tolist() if place not in proved]

    @property
    def whole(self) -> int | None:
        """The place of the region of everybody, if it is there."""
        return next((place for place, parts in enumerate(self.pieces) if parts == ({},)), None)

    def containments(self) -> Flags:
        """[a, b]: region a lies within region b, and is another one. Exact."""
        within = containments(self.axes, self.places, self.first)
        nearly = self.shared >= NEARLY_WITHIN * np.diagonal(self.shared)[:, None]
        np.fill_diagonal(nearly, False)
        prints = RegionFingerprints(self.key, self.domain)
        for a, b in np.argwhere(nearly & ~within):
            within[a, b] = prints.of(_intersect(self.pieces[a], self.pieces[b])) == self.prints[a]
        return within


def region_geometry(regions: Sequence[Region], domain: ColumnDomains) -> Geometry:
    """Cut, compare, factor, prove."""
    cut = [disjoint_pieces(region, domain) for region in regions]
    secret = digest_of_regions(cut)
    prints = RegionFingerprints(secret, domain)
    places: dict[int, int] = {}
    number = np.full(len(cut), -1, dtype=np.int64)
    for given, parts in enumerate(cut):
        if parts:
            number[given] = places.setdefault(prints.of(parts), len(places))
    if len(places) > MOST_REGIONS:
        raise Refused(
            f"{len(places):,} different regions are too many to reconcile; the maximum is {MOST_REGIONS:,}",
            hint="name fewer answers",
        )
    different = [tuple(cut[given]) for given in _firsts(number)]
    return _factored(domain, secret, number, different, tuple(places))


def _factored(
    domain: ColumnDomains, secret: bytes, number: Integers, different: list[tuple[Piece, ...]], prints: tuple[int, ...]
) -> Geometry:
    axis_list, sides = column_axes([piece for parts in different for piece in parts], domain)
    counts = [len(parts) for parts in different]
    first = np.array([0, *itertools.accumulate(counts)][:-1] if counts else [], dtype=np.int64)
    shared = gram(axis_list, sides, first) if counts else np.zeros((0, 0))
    factored, rows = factor_gram(shared)
    relations = (
        find_relation(place, prints[place], factored.pivots, row, prints.__getitem__)
        for place, row in zip(non_pivots(factored).tolist(), rows, strict=True)
    )
    return Geometry(
        domain=domain,
        key=secret,
        number=number,
        pieces=tuple(different),
        prints=prints,
        first=first,
        places=sides,
        axes=tuple(axis_list),
        shared=shared,
        factor=factored,
        relations=tuple(axis_list for axis_list in relations if axis_list is not None),
    )


def _firsts(number: Integers) -> list[int]:
    """Of each different region the first that it was given as."""
    seen: dict[int, int] = {}
    for given, place in enumerate(number.tolist()):
        if place >= 0:
            seen.setdefault(place, given)
    return [seen[place] for place in range(len(seen))]


def _intersect(one: Iterable[Piece], other: Iterable[Piece]) -> list[Piece]:
    """The records of both, as disjoint pieces; a side without values weighs nothing."""
    other = list(other)
    return [
        {name: (a[name] & b[name] if name in a and name in b else a.get(name) or b[name]) for name in {**a, **b}}
        for a in one
        for b in other
    ]


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
