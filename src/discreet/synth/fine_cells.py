"""Fine cells of numbers and moments that follow their usual shapes: points of their own, octaves, whole days and hours.

From public facts alone: the ends of a column, and what kind of column it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from discreet.plan.cells import even_edges
from discreet.schema.column import MomentColumn, NumberColumn
from discreet.synth.attribute import FINE_CELLS, Attribute
from discreet.synth.cell_weights import expected_rows, smooth_weights
from discreet.synth.noisy_histogram import NoisyHistogram

#: Cells of an octave, from the end inward: so many octaves, of so many cells each. Nearer to 0 the last ones go on.
OCTAVES = ((2, 32), (5, 16), (60, 8))

#: A column of no more fine cells than a model has bins keeps their noisy counts as weights.
FEW_CELLS = 32

#: A number whose ends are so many times apart is cut by octaves, too, though it has no 0.
FAR_APART = 64

#: The part of the rows that a cell outside bought bounds holds on the average, where it holds any.
USUAL_OUTSIDE = 0.005

#: Of a cell of one code outside bounds as many rows are taken as were counted, where these are so many standard
#: deviations: a code that many have is no tail, which would have a hundredth of the rows.
CLEAR_CODE = 3.5

#: Microseconds of what cells of timestamps are whole multiples of, the widest that fits.
UNITS = (86_400_000_000, 3_600_000_000, 60_000_000, 1_000_000, 1_000)


def shape_cells(attribute: Attribute) -> Attribute:
    """The attribute with finer or other fine cells, where they are ours to choose; else as it is."""
    inner = _inner(attribute)
    if not attribute.binned or inner[-1] - inner[0] <= FINE_CELLS or _is_by_units(inner):
        return attribute
    below, above = attribute.outer
    if not isinstance(attribute.column, MomentColumn):
        inner = number_edges(inner[0], inner[-1])
    elif attribute.column.type == "timestamp":
        inner = _whole_units(inner)
    edges = (*attribute.edges[:below], *inner, *attribute.edges[len(attribute.edges) - above :])
    none = np.zeros(0, dtype=np.int64)
    return replace(attribute, edges=edges, apart=none, groups=none, weights=np.zeros(0))


def _inner(attribute: Attribute) -> tuple[int, ...]:
    """The edges but for those of cells outside bounds that were bought."""
    below, above = attribute.outer
    return attribute.edges[below : len(attribute.edges) - above]


def number_edges(low: int, high: int) -> tuple[int, ...]:
    """Edges of [low, high): by octaves away from 0 where the ends are far apart; 0 and the ends are cells of their own.

    >>> number_edges(300, 850)[:4], number_edges(300, 850)[-3:]
    ((300, 301, 302, 304), (847, 849, 850))
    >>> [edge for edge in number_edges(0, 1_000_001) if edge < 4], number_edges(0, 1_000_001)[-3:]
    ([0, 1, 2, 3], (978573, 1000000, 1000001))
    """
    cuts = {low, low + 1, high - 1, high}
    if has_octaves(low, high):
        cuts |= {0, 1} | set(_octaves(high)) | {1 - edge for edge in _octaves(1 - low)}
    else:
        cuts |= set(even_edges(low, high, FINE_CELLS))
    return tuple(sorted(cut for cut in cuts if low <= cut <= high))


def _octaves(end: int) -> Iterator[int]:
    """Edges from an end down to 1."""
    edge = float(end)
    for octaves, cells in OCTAVES:
        for _ in range(octaves * cells):
            edge *= 2 ** (-1 / cells)
            if edge < 1:
                return
            yield round(edge)


def _whole_units(edges: tuple[int, ...]) -> tuple[int, ...]:
    """Edges of timestamps at whole days, hours, minutes or seconds, but for the ends."""
    width = (edges[-1] - edges[0]) // (len(edges) - 1)
    unit = next((unit for unit in UNITS if unit <= width), 1)
    inner = {(edge + unit // 2) // unit * unit for edge in edges[1:-1]}
    return tuple(sorted({edges[0], edges[-1], *(edge for edge in inner if edges[0] < edge < edges[-1])}))


def fine_weights(attribute: Attribute, noisy: NDArray[np.float64], of: NoisyHistogram) -> NDArray[np.float64]:
    """Noisy counts of fine cells, from such a histogram, evened out where there are many: see `cell_weights`."""
    edges = np.array(_inner(attribute), dtype=np.int64)
    (below, above), cells = attribute.outer, len(edges) - 1
    if not attribute.binned or cells <= FEW_CELLS:
        return noisy
    own = slice(below, below + cells)
    base = attribute.mass_between(edges[:-1], edges[1:])
    middles = (edges[:-1] + edges[1:] - 1) / 2
    points = np.isin(edges[:-1], [0, edges[0], edges[-1] - 1]) & (np.diff(edges) == 1)
    points |= np.bincount(attribute.apart)[attribute.apart[own]] == 1
    by_octaves = is_by_octaves(attribute)
    if by_octaves:  # what is even in such cells falls with its size
        base = base / np.maximum(np.abs(middles), 0.5)
    sizes = middles if by_octaves else None
    weights = smooth_weights(
        noisy[own], of.sd, base, points=points, sizes=sizes, has_tails=attribute.open, is_laplace=of.is_laplace
    )
    widths = np.diff(np.array(attribute.edges, dtype=np.float64))
    outside = slice(own.stop, own.stop + above)
    return np.concatenate(
        [
            _outside_weights(noisy[:below], widths[:below], noisy, of),
            weights,
            _outside_weights(noisy[outside], widths[outside], noisy, of),
            noisy[outside.stop :],
        ]
    )


def _outside_weights(
    counts: NDArray[np.float64], widths: NDArray[np.float64], noisy: NDArray[np.float64], of: NoisyHistogram
) -> NDArray[np.float64]:
    """Weights of cells outside bought bounds: what is expected there, given a tail; a code that stands out is none."""
    usual = USUAL_OUTSIDE * float(noisy.sum())
    is_code = (widths == 1) & (counts > CLEAR_CODE * of.sd)
    expected = [expected_rows(count, of.sd, usual) if count and usual > 0 else 0.0 for count in counts.tolist()]
    return np.where(is_code, counts, expected)  # what nobody seems to have is 0 to the last digit


def is_by_octaves(attribute: Attribute) -> bool:
    """Whether its cells widen away from 0."""
    inner = _inner(attribute)
    low, high = inner[0], inner[-1]
    is_wide = isinstance(attribute.column, NumberColumn) and high - low > FINE_CELLS
    return is_wide and not _is_by_units(inner) and has_octaves(low, high)


def _is_by_units(inner: tuple[int, ...]) -> bool:
    """Whether every code has a cell of its own."""
    return len(inner) - 1 == inner[-1] - inner[0]


def has_octaves(low: int, high: int) -> bool:
    """Whether cells between these ends widen away from 0."""
    return low <= 0 or high >= FAR_APART * low
