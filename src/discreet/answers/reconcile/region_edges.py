"""A quick no: most questions have a corner that no released answer has, and then nothing released determines them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import reduce
from operator import and_

from discreet.accounting.region import Box, Region, Value
from discreet.inference.reconcile import ColumnDomains

Edge = tuple[str, Value | None]
#: For each edge the boxes that have it, as bits.
Edges = dict[Edge, int]

#: So many corners of a question are looked at.
_MOST_CORNERS = 64


def edges_of(regions: Iterable[Region], domain: ColumnDomains) -> Edges:
    """Every place, inside its column's domain, at which boxes of these regions begin or end."""
    box_bits: Edges = {}
    for place, box in enumerate(box for region in regions for box in region.boxes):
        for edges in _edges(box, domain):
            for edge in edges:
                box_bits[edge] = box_bits.get(edge, 0) | 1 << place
    return box_bits


def may_determine(edges: Edges, region: Region, domain: ColumnDomains) -> bool:
    """Whether regions with these edges may determine a region. False is sure, true is not.

    Because: take the difference of a function of records across an edge of each of several columns at once. Of a single
    box it is 1 or -1 at its own corner there, and 0 of every box that lacks one of those edges. So a combination of
    boxes, none of which has them all, is not that box.
    """
    if len(region.boxes) != 1 or region.boxes[0].empty:
        return True
    sides = _edges(region.boxes[0], domain)
    corners = itertools.islice(itertools.product(*sides), _MOST_CORNERS)
    return all(reduce(and_, (edges.get(edge, 0) for edge in corner), -1) for corner in corners)


def _edges(box: Box, domain: ColumnDomains) -> list[list[Edge]]:
    """The edges of a box, for each column that has some."""
    inner_edges = []
    for column, allowed in box.sides.items():
        possible = domain.possible(column)
        ends = {end for run in possible.runs for end in run}
        inner_edges.append([(column, end) for run in (allowed & possible).runs for end in run if end not in ends])
    return [edges for edges in inner_edges if edges]
