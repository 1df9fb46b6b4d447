"""Pieces: an exact region as boxes of which no possible record lies in two.

`accounting.region_grid.disjoint` may widen a region to its hull, which is safe for a price and wrong for an identity;
this one never does. Sides are cut down to the values that the column can take, and a side that allows all of them is
left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.accounting.region import Region, ValueSet
from discreet.errors import Refused
from discreet.inference.reconcile.measured_number import ColumnDomains

#: A region that takes more pieces than this is refused.
MOST_PIECES = 256

#: A box: of each column that it narrows, the values that it allows.
Piece = Mapping[str, ValueSet]


def disjoint_pieces(region: Region, domain: ColumnDomains) -> list[Piece]:
    """The possible records of the region, as disjoint boxes. None: nobody can be in it.

    >>> from discreet.accounting.region import Box
    >>> sex = ColumnDomains(columns={"sex": ValueSet.interval(0, 2)})
    >>> [disjoint_pieces(Region((Box({"sex": ValueSet.of(codes)}),)), sex) for codes in ([0, 1, 7], [7])]
    [[{}], []]
    """
    boxes = [box for box in (_clipped(box.sides, domain) for box in region.boxes) if box is not None]
    boxes.sort(key=len)
    disjoint: list[Piece] = []
    for number, box in enumerate(boxes):
        fresh = [box]
        for earlier in boxes[:number]:
            fresh = [part for piece in fresh for part in minus(piece, earlier, domain)]
            if len(disjoint) + len(fresh) > MOST_PIECES:
                raise Refused(
                    f"a region of {len(boxes):,} boxes has more than {MOST_PIECES:,} disjoint parts",
                    hint="reconcile without this answer",
                )
        disjoint += fresh
    return disjoint


def is_reconcilable(region: Region, domain: ColumnDomains) -> bool:
    """Can this region be cut into few enough pieces?"""
    try:
        disjoint_pieces(region, domain)
    except Refused:
        return False
    return True


def minus(piece: Piece, other: Piece, domain: ColumnDomains) -> list[Piece]:
    """What of a piece lies outside another: a part for each side of the other, in which it is the first to be left."""
    if _clipped({name: piece.get(name, domain.possible(name)) & other[name] for name in other}, domain) is None:
        return [piece]
    parts: list[Piece] = []
    kept = dict(piece)
    for name, allowed in other.items():
        mine = kept.get(name, domain.possible(name))
        outside = mine & allowed.complement()
        if not outside.empty:
            parts.append(kept | {name: outside})
        kept[name] = mine & allowed
    return parts


def _clipped(sides: Mapping[str, ValueSet], domain: ColumnDomains) -> Piece | None:
    """A box cut down to the domain; None if nobody is left."""
    kept = {}
    for name in sorted(sides):
        possible = domain.possible(name)
        allowed = sides[name] & possible
        if allowed.empty:
            return None
        if allowed != possible:
            kept[name] = allowed
    return kept
