"""The exact law of a cell's error: a weighted sum of independent draws, few weights of which differ.

All cells of a marginal have the same law. Against one cell, the numbers of a part differ only by the axes along which
they lie at that cell, so that they fall into 2^axes classes of equal weight, however many there are. A part that
shares no axis with the marginal matters through the total alone, by the same weight in every cell.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from discreet.inference.linear.residual_fit import ResidualPrecision
from discreet.inference.linear.residual_part import Axes, ResidualPart, informative_axes, subsets
from discreet.mechanisms.noise_combination import NoiseLaw
from discreet.mechanisms.weighted_sum import WeightedPart as Term

#: Weights below this part of the largest are rounding of what is 0.
_NOTHING = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalErrors:
    """The errors of all marginals that parts with these laws tell.

    `laws`: different ones; `law_of`: the number of each part's. `totals`: a part's weight in the total and its law's
    number, and how many draws have them; `touching`: the parts by axis.
    """

    precision: ResidualPrecision
    laws: tuple[NoiseLaw, ...]
    law_of: tuple[int, ...]
    totals: Counter[tuple[float, int]]
    parts_by_axis: dict[int, list[int]]

    @staticmethod
    def of(precision: ResidualPrecision, laws: Sequence[NoiseLaw]) -> MarginalErrors:
        numbers: dict[NoiseLaw, int] = {}
        law_of = tuple(numbers.setdefault(law, len(numbers)) for law in laws)
        totals: Counter[tuple[float, int]] = Counter()
        parts_by_axis: dict[int, list[int]] = defaultdict(list)
        for place, part in enumerate(precision.parts):
            if not part.centred:
                weight, count = _total(precision, place)
                totals[weight, law_of[place]] += count
            for axis in part.axes:
                parts_by_axis[axis].append(place)
        return MarginalErrors(
            precision=precision, laws=tuple(numbers), law_of=law_of, totals=totals, parts_by_axis=dict(parts_by_axis)
        )

    def cell(self, axes: Axes) -> tuple[Term, ...]:
        """The error of any one cell of the marginal over `axes`, as parts of positive weight, heaviest first."""
        precision, cells = self.precision, math.prod(self.precision.sizes[axis] for axis in axes)
        far, counts = Counter(self.totals), Counter[tuple[float, int]]()
        for place in sorted({place for axis in axes for place in self.parts_by_axis.get(axis, ())}):
            part, law = precision.parts[place], self.law_of[place]
            if not part.centred:
                weight, count = _total(precision, place)
                far[weight, law] -= count
            if set(part.centred) <= set(axes):
                for weight, count in _classes(precision, place, part, axes):
                    counts[abs(weight), law] += count
        for (weight, law), count in far.items():
            counts[weight / cells, law] += count
        least = _NOTHING * max(weight for weight, _ in counts)
        kept = sorted(
            ((weight, law) for (weight, law), count in counts.items() if weight > least and count), reverse=True
        )
        return tuple((weight, self.laws[law], counts[weight, law]) for weight, law in kept)


def _total(precision: ResidualPrecision, place: int) -> tuple[float, int]:
    """A part's weight in the total, and how many draws it has."""
    return precision.share(place, ()), math.prod(precision.sizes[axis] for axis in precision.parts[place].axes)


def _classes(precision: ResidualPrecision, place: int, part: ResidualPart, axes: Axes) -> Iterator[tuple[float, int]]:
    """The weights of one part's draws in a cell of `axes`, and how many have each."""
    sizes = precision.sizes
    split = [axis for axis in part.axes if axis in axes and not (axis in part.centred and sizes[axis] == 2)]
    own = math.prod(_inverse(sizes[axis]) for axis in part.centred)
    inside = set(informative_axes(axes, sizes))
    shares = [
        (subset, own * precision.share(place, subset) / math.prod(sizes[axis] for axis in axes if axis not in subset))
        for subset in part.subsets()
        if inside.issuperset(subset)
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
