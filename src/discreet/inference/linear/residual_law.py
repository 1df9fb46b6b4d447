"""The exact law of a cell's error: a weighted sum of independent draws, few weights of which differ.

All cells of a marginal have the same law. Against one cell, the numbers of a part differ only by the axes along which
they lie at that cell, so that they fall into 2^axes classes of equal weight, however many there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from discreet.inference.linear.residual import Precision
from discreet.inference.linear.residual_part import Axes, Part, subsets, telling
from discreet.mechanisms.combined import Noise

#: So many draws of a law, each with this weight.
Term = tuple[float, int, Noise]

#: Weights below this part of the largest are rounding of what is 0.
_NOTHING = 1e-12


def cell_error(precision: Precision, laws: Sequence[Noise], axes: Axes) -> tuple[Term, ...]:
    """The error of any one cell of the marginal over `axes`, as terms of positive weight, heaviest first."""
    counts: dict[tuple[float, Noise], int] = {}
    for place in precision.telling(axes):
        for weight, count in _classes(precision, place, precision.parts[place], axes):
            key = (abs(weight), laws[place])
            counts[key] = counts.get(key, 0) + count
    least = _NOTHING * max(weight for weight, _ in counts)
    terms = [(weight, count, law) for (weight, law), count in counts.items() if weight > least]
    return tuple(sorted(terms, key=lambda term: (-term[0], term[1])))


def _classes(precision: Precision, place: int, part: Part, axes: Axes) -> Iterator[tuple[float, int]]:
    """The weights of one part's draws in a cell of `axes`, and how many have each."""
    sizes = precision.sizes
    split = [axis for axis in part.axes if axis in axes and not (axis in part.centred and sizes[axis] == 2)]
    own = math.prod(_inverse(sizes[axis]) for axis in part.centred)
    shares = [
        (subset, own * precision.share(place, subset) / math.prod(sizes[axis] for axis in axes if axis not in subset))
        for subset in part.subsets()
        if set(subset) <= set(telling(axes, sizes))
    ]
    outside = math.prod(sizes[axis] for axis in part.axes if axis not in axes)
    for same in subsets(split):
        weight = math.fsum(share * _contrast(subset, split, same, sizes) for subset, share in shares)
        yield weight, outside * math.prod(sizes[axis] - 1 for axis in split if axis not in same)


def _inverse(size: int) -> float:
    """What a contrast's number counts: its pseudo-inverse is (1, -1) / 2, or the projection over n."""
    return 0.5 if size == 2 else 1 / size


def _contrast(subset: Axes, split: Sequence[int], same: Axes, sizes: Sequence[int]) -> float:
    """The entry of the projection: 1 - 1/n along an axis where both cells are the same, else -1/n."""
    return math.prod((axis in same) - 1 / sizes[axis] for axis in split if axis in subset)
