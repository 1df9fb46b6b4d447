"""Who is linked to whom: the edges between groups of nodes, and how much groups keep to themselves. Post-processing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.graph.graph_estimates import CONFIDENCE, Floats, GraphEstimate, rounded, within
from discreet.kernel.measurement import Law
from discreet.mechanisms.laplace import DiscreteLaplace

#: So many draws of the noise, at most; of large matrices fewer, so that all stay within so many numbers.
_DRAWS = 4000
_NUMBERS = 2**23
_FEWEST = 400

#: Where all edges together are not so many times their noise, assortativity could be anything. Measured with 2 to 40
#: groups: at 10 its interval holds as often as it says, at 6 not always.
_TELLING = 10.0

#: And so where what does not lie in one group is not so many times the noise upon it.
_APART = 6.0

#: The ends of its interval are found to within this.
_NEAR = 2.0**-40


@dataclass(frozen=True, slots=True, kw_only=True)
class MixingMatrix:
    """The number of edges between each two groups. Undirected: both ways are one entry, told twice.

    Without noise each entry lies within its interval with the confidence of the release, taken alone.
    """

    by: str
    labels: tuple[Any, ...]
    edges: tuple[tuple[GraphEstimate, ...], ...]

    def to_data(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "labels": list(self.labels),
            "edges": [[each.value for each in row] for row in self.edges],
            "intervals": [[list(each.interval) for each in row] for row in self.edges],
        }


def matrix(noisy: NDArray[Any], law: Law, *, by: str, labels: tuple[Any, ...], directed: bool) -> MixingMatrix:
    """The matrix of noisy entries, in the order of `Mixing.pairs`."""
    width = law.half_width(CONFIDENCE)
    square = as_square(noisy, len(labels), directed=directed)
    rows = tuple(tuple(within(int(number), width) for number in row) for row in square.tolist())
    return MixingMatrix(by=by, labels=labels, edges=rows)


def as_square(entries: NDArray[Any], groups: int, *, directed: bool) -> NDArray[Any]:
    """Entries as a square, the last axis of them unfolded; undirected, both halves are the same.

    >>> as_square(np.array([1, 2, 3]), 2, directed=False).tolist()
    [[1, 2], [2, 3]]
    """
    if directed:
        return entries.reshape(*entries.shape[:-1], groups, groups)
    square = np.zeros((*entries.shape[:-1], groups, groups), dtype=entries.dtype)
    rows, columns = np.triu_indices(groups)
    square[..., rows, columns] = entries
    square[..., columns, rows] = entries
    return square


def assortativity(noisy: NDArray[Any], law: Law, groups: int, *, directed: bool) -> GraphEstimate:
    """Newman's coefficient: 1 where every edge stays in its group, 0 where groups do not matter.

    Its interval has every r that the noise does not speak against. Of the exact matrix `top - r bottom` (see
    `coefficient_parts`) is 0 at its own coefficient; the known noise is drawn many times more, by ordinary randomness,
    and how far it moves that number from the noisy one is how far it may have moved it from 0. No ratio is simulated:
    where edges are few a ratio leans to one side, and its interval would hold too seldom. Where edges drown in noise it
    is -1 to 1.
    """
    entries = noisy.astype(np.float64)
    noise = float(np.sqrt(law.variance() * entries.size))
    if groups < 2 or not entries.sum() > _TELLING * noise:
        return _ANYTHING
    draws = max(_FEWEST, min(_DRAWS, _NUMBERS // entries.size))
    moved = entries + simulate_noise(law, (draws, entries.size))
    if moved.sum(axis=-1).min() <= 0:
        return _ANYTHING
    top, bottom = (float(part) for part in coefficient_parts(entries, groups, directed=directed))
    tops, bottoms = coefficient_parts(moved, groups, directed=directed)
    doubt = float(1 - CONFIDENCE) / 2

    def left(r: float, quantile: float) -> float:
        return 2 * (top - r * bottom) - float(np.quantile(tops - r * bottoms, quantile))

    # Nearly all edges are of one group: then nothing can be said of how groups mix.
    if bottom <= max(0.0, _APART * float(bottoms.std())):
        return _ANYTHING
    low, _ = _crossing(lambda r: left(r, 1 - doubt))
    _, high = _crossing(lambda r: left(r, doubt))
    value = top / bottom
    if high - low <= 4 * _NEAR:  # noise that is nearly always 0
        low = high = min(max(value, -1.0), 1.0)
    return rounded(min(max(value, low), high), low, high)


_ANYTHING = GraphEstimate(value=0.0, interval=(-1.0, 1.0))


def _crossing(falls: Callable[[float], float]) -> tuple[float, float]:
    """Where from -1 to 1 a number that falls comes to 0: between these two.

    >>> low, high = _crossing(lambda r: 0.25 - r)
    >>> low <= 0.25 <= high, high - low < 1e-11
    (True, True)
    """
    low, high = -1.0, 1.0
    while high - low > _NEAR:
        middle = (low + high) / 2
        low, high = (middle, high) if falls(middle) > 0 else (low, middle)
    return low, high


def coefficient(entries: Floats, groups: int, *, directed: bool) -> Floats:
    """(sum of e_ii - sum of a_i b_i) / (1 - sum of a_i b_i), e being shares of the ends of edges.

    Of 2 edges in one group, 3 in another and 1 between them, shares of ends are 4, 6 and twice 1 in 12.

    >>> round(70 * float(coefficient(np.array([2.0, 1.0, 3.0]), 2, directed=False)), 9)  # of 144 - 74
    46.0
    """
    top, bottom = coefficient_parts(entries, groups, directed=directed)
    ratio: Floats = top / np.maximum(bottom, 1e-9 * np.abs(entries.sum(axis=-1)))
    return ratio


def coefficient_parts(entries: Floats, groups: int, *, directed: bool) -> tuple[Floats, Floats]:
    """Both parts of the coefficient's ratio, as numbers of ends: of edges in groups, and of all, less those by chance.

    Two zeros where there are no edges.
    """
    square = as_square(entries, groups, directed=directed)
    rows, columns, same = square.sum(axis=-1), square.sum(axis=-2), np.trace(square, axis1=-2, axis2=-1)
    if not directed:  # an edge in a group has both ends there
        inside = np.diagonal(square, axis1=-2, axis2=-1)
        rows, columns, same = rows + inside, columns + inside, 2 * same
    whole = rows.sum(axis=-1)
    alike = (rows * columns).sum(axis=-1) / np.where(whole == 0, 1.0, whole)
    return np.asarray(same - alike), np.asarray(whole - alike)


def simulate_noise(law: Law, size: tuple[int, ...]) -> Floats:
    """Noise of a law for simulations, which protects nobody: the same every time, so that intervals are."""
    generator = np.random.default_rng(0)
    if isinstance(law, DiscreteLaplace):
        chance = -np.expm1(-1 / float(law.scale))
        one, other = (generator.geometric(chance, size=size) for _ in range(2))
        return (one - other).astype(np.float64)
    return np.rint(generator.normal(0.0, float(law.sigma2) ** 0.5, size=size))
