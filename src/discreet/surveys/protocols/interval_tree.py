"""Intervals by a local tree: each device tells, at one level of a tree over the grid, in which node its number lies.

A range is then a few nodes instead of a thousand points, and the levels are made to agree by least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.inference.nearest_counts import isotonic, norm_sub
from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.choice_randomizer import MOST_CHOICES, ChoiceRandomizer, check_report_width
from discreet.surveys.protocols.estimate import Estimate, VarianceCurve
from discreet.surveys.protocols.grid_numbers import GridRandomizer
from discreet.surveys.protocols.randomized_response import RandomizedResponse
from discreet.surveys.protocols.randomizer import Reports
from discreet.surveys.protocols.several_questions import RandomizerMixture
from discreet.surveys.protocols.unary import OptimisedUnary

#: One array for each level, the highest first, the points of the grid last.
LevelCounts = list[NDArray[np.float64]]
#: About the best number of children with consistent levels (Cormode, Kulkarni and Srivastava 2019).
_FANOUT = 8
#: With more points than this, hashing: as exact as unary, and its reports stay short.
_UNARY_UP_TO = 4096


class Tree(GridRandomizer):
    """Draw a level of the tree, and report the number's node on that level by a frequency protocol.

    Guarantee: epsilon-differentially private for each report.
    Because: a device speaks about one level only, drawn without a look at the answer (see `RandomizerMixture`); its
        node there is a choice among that level's.
    Draws: first a whole number below the number of levels, 0 for the highest; then those of that level's protocol.
    """

    __slots__ = ("_one_of", "fanout", "oracle", "oracles")

    protocol = "tree"

    #: The protocol of each level, the highest first.
    oracles: tuple[ChoiceRandomizer, ...]

    def __init__(
        self,
        *,
        low: object,
        high: object,
        step: object,
        epsilon: object,
        fanout: int | None = None,
        oracle: str | None = None,
    ) -> None:
        self._declare(low, high, step)
        self.requested_epsilon = coins.check_epsilon(epsilon)
        points = self.steps + 1
        if points > MOST_CHOICES:
            raise UsageError(
                f"A tree can have at most {MOST_CHOICES:,} points, not {points:,}.", hint="choose a coarser step"
            )
        self.fanout = even_fanout(points) if fanout is None else fanout
        self.oracle = oracle or ("unary" if points <= _UNARY_UP_TO else "hashing")
        whole = isinstance(self.fanout, int) and not isinstance(self.fanout, bool)
        if not whole or not 2 <= self.fanout <= 1024 or self.oracle not in ("unary", "hashing"):
            raise UsageError('A tree needs a fanout of 2 to 1024, and the oracle "unary" or "hashing".')
        self.oracles = tuple(self._level_oracle(size) for size in level_sizes(points, self.fanout))
        self._one_of = RandomizerMixture(self.oracles)
        self.epsilon = max(part.epsilon for part in self.oracles)
        self.width = check_report_width(self._one_of.width, self.protocol)

    def _level_oracle(self, size: int) -> ChoiceRandomizer:
        """Randomized response where nodes are so few that it has the smaller variance."""
        nodes = [str(node) for node in range(size)]
        growth = coins.likelihood_bound(self.requested_epsilon)
        if size < 3 * growth + 2:  # (growth + size - 2) / (growth - 1)^2 < 4 growth / (growth - 1)^2
            return RandomizedResponse(nodes, epsilon=self.requested_epsilon)
        if self.oracle == "unary":
            return OptimisedUnary(nodes, epsilon=self.requested_epsilon)
        from discreet.surveys.protocols.local_hash import LocalHashing

        return LocalHashing(nodes, epsilon=self.requested_epsilon)

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        return self._one_of.draw_reports(lambda level, lanes: self.nodes(codes[lanes], level), codes.size, bits=bits)

    def nodes(self, codes: NDArray[np.int64], level: int) -> NDArray[np.int64]:
        """In which node of a level each code lies."""
        return np.asarray(codes // self.fanout ** (len(self.oracles) - 1 - level))

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        return self._one_of.valid(reports)

    def estimate(self, reports: Reports | Sequence[bytes]) -> IntervalEstimates:
        """What the reports say about any interval."""
        report_matrix = self.matrix(reports)
        parts = self._one_of.split(report_matrix)
        if not all(len(part) for part in parts):
            raise UsageError(
                f"There are {len(report_matrix):,} reports, but one level of the tree has none of them yet."
            )
        drawn = np.array([len(part) for part in parts])
        level_counts = [
            oracle.estimate(part).counts * (len(report_matrix) / len(part))
            for oracle, part in zip(self.oracles, parts, strict=True)
        ]
        weights = np.array(
            [
                self._weight(oracle, len(report_matrix), len(part))
                for oracle, part in zip(self.oracles, parts, strict=True)
            ]
        )
        consistent_counts = make_consistent(level_counts, weights, float(len(report_matrix)), self.fanout)
        return IntervalEstimates(
            tree=self, n=len(report_matrix), drawn=drawn, weights=weights, levels=consistent_counts
        )

    def _weight(self, oracle: ChoiceRandomizer, n: int, drawn: int) -> float:
        """One over the variance of a count there, were people spread evenly: no look at the answers."""
        share = 1 / len(oracle.choices)
        coin = float(oracle.variances(np.array([share]), 1)[0])
        return drawn / (n**2 * (coin + share * (1 - share)))

    def options(self) -> dict[str, Any]:
        return {**super().options(), "fanout": self.fanout, "oracle": self.oracle}

    def numbers(self) -> dict[str, Any]:
        return {
            "steps": self.steps,
            "fanout": self.fanout,
            "levels": [
                {"protocol": oracle.protocol, "width": oracle.width, "numbers": oracle.numbers()}
                for oracle in self.oracles
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IntervalEstimates:
    """How many of n respondents lie in any interval: one set of counts, so that all answers agree."""

    tree: Tree
    n: int
    #: How many reports are about each level, and the weight that it had.
    drawn: NDArray[np.int64]
    weights: NDArray[np.float64]
    #: The counts of all nodes: those of children add up to their parent's, those of the highest level to n.
    levels: LevelCounts

    @property
    def counts(self) -> NDArray[np.float64]:
        """The count of each point of the grid."""
        return self.levels[-1]

    def ranges(self, ranges: Sequence[tuple[object, object]]) -> Estimate:
        """How many lie from low to high, both included, for each pair: unbiased.

        The variances are of the coins and of the draw of levels, with the estimated counts in the place of true ones.
        """
        ends = [self._ends(low, high) for low, high in ranges]
        people = norm_sub(self.counts, float(self.n))
        shapes = [self._influence(first, end) for first, end in ends]
        scores = [self._score(shape, people, *end) for shape, end in zip(shapes, ends, strict=True)]
        constant, linear, square, grain = np.array(scores).reshape(-1, 4).T
        inside = np.array([people[first:end].sum() for first, end in ends])
        variances = np.maximum(constant + inside * (linear + inside * square), 0.0)
        return Estimate(
            labels=tuple(f"{low}..{high}" for low, high in ranges),
            n=self.n,
            counts=np.array([self._count(first, end) for first, end in ends]),
            variances=variances,
            reach=max((self._reach(shape) for shape in shapes), default=0.0),
            # People who leave the range stay near it, as a rule, and then the variance stays what it was.
            law=VarianceCurve(constant=constant, linear=linear, square=square, grain=grain, least=variances),
        )

    def _count(self, first: int, end: int) -> float:
        """All respondents lie on the grid, and rounding shall not say otherwise."""
        return float(self.n) if end - first == self.counts.size else float(self.counts[first:end].sum())

    def _score(self, shape: LevelCounts, people: NDArray[np.float64], first: int, end: int) -> tuple[float, ...]:
        """The variance as a quadratic in how many lie in the range, and its grain.

        Because: with c people in the range, spread there as they are estimated to be, and n - c outside likewise, all
            counts are linear in c and the variance is quadratic in them: three values give it.
        """
        if end - first == people.size:
            return 0.0, 0.0, 0.0, 0.0
        inside, outside = people.copy(), people.copy()
        inside[:first], inside[end:], outside[first:end] = 0.0, 0.0, 0.0
        if not inside.sum():
            inside[first:end] = 1.0
        if not outside.sum():
            outside[:first], outside[end:] = 1.0, 1.0
        inside, outside = self.n * inside / inside.sum(), self.n * outside / outside.sum()
        none, half, all_ = (
            self._variance(shape, share * inside + (1 - share) * outside, first, end) for share in (0, 0.5, 1)
        )
        square = min(2 * (none - 2 * half + all_), 0.0)
        return none, (all_ - none - square) / self.n, square / self.n**2, self._grain(shape)

    def _grain(self, shape: LevelCounts) -> float:
        """How far one report more in support moves the range's count, at the level where it is least."""
        each = zip(self.tree.oracles, shape, self.drawn.tolist(), strict=True)
        moved: list[float] = [
            float(np.ptp(influence)) / float(oracle.chances[0] - oracle.chances[1]) * self.n / drawn
            for oracle, influence, drawn in each
        ]
        return min(moved)

    def prefixes(self) -> NDArray[np.float64]:
        """How many lie at or below each point: never falling and within 0 to n. Repaired, so not unbiased."""
        return np.asarray(np.clip(isotonic(np.cumsum(self.counts)), 0, self.n))

    def quantile(self, share: float) -> float:
        """The first point of the grid at or below which at least `share` of the respondents lie."""
        if not 0 <= share <= 1:
            raise UsageError(f"The share of a quantile must be from 0 to 1, not {share}.")
        # Rounding in the sums must not push the last point's n below n.
        place = int(np.searchsorted(self.prefixes(), share * self.n * (1 - 1e-12)))
        return float(self.tree.low + min(place, self.tree.steps) * self.tree.step)

    def _ends(self, low: object, high: object) -> tuple[int, int]:
        first, last = self.tree.code(low), self.tree.code(high)
        if last < first:
            raise UsageError("The lower end of a range must not be above its upper end.")
        return first, last + 1

    def _influence(self, first: int, end: int) -> LevelCounts:
        """By how much each level's (scaled up) counts, as told, enter the range's.

        Because: the agreed counts are K A'W told + a constant, where A sums points to nodes and K is symmetric, so
            a sum r of points weighs what was told by W A K r; and K r is what `make_consistent` makes of r / W told at
            the points, 0 elsewhere and a total of 0.
        """
        range_counts = [np.zeros(level.size) for level in self.levels]
        range_counts[-1][first:end] = 1 / self.weights[-1]
        shape = make_consistent(range_counts, self.weights, 0.0, self.tree.fanout)
        return [weight * level for weight, level in zip(self.weights.tolist(), shape, strict=True)]

    def _variance(self, shape: LevelCounts, people: NDArray[np.float64], first: int, end: int) -> float:
        """Of the coins; and of the draw of levels, which parts the n at random into groups of these sizes.

        Given the sizes m_l, the sum over l of n / m_l times what group l gives has the variance
        sum n^2 / m_l S(g_l) - n S(sum g_l), where S is the people's variance and g_l what one of them gives at level l;
        and sum g_l is 1 in the range and 0 outside, up to a constant, since the estimate is unbiased.
        """
        inside = float(people[first:end].sum()) / self.n
        spread = self.n / max(self.n - 1, 1)
        variance = -self.n * spread * inside * (1 - inside)
        places = np.arange(people.size)
        for level, (oracle, influence, drawn) in enumerate(
            zip(self.tree.oracles, shape, self.drawn.tolist(), strict=True)
        ):
            counts = np.bincount(self.tree.nodes(places, level), weights=people, minlength=influence.size)
            shares = counts / self.n
            variance += (self.n / drawn) ** 2 * coin_variance(oracle, influence, shares * drawn, drawn)
            variance += self.n**2 / drawn * spread * float(shares @ influence**2 - (shares @ influence) ** 2)
        return variance

    def _reach(self, shape: LevelCounts) -> float:
        """A liar leaves one level and joins another, and may support there what pushes most."""
        most = 0.0
        for oracle, influence, drawn in zip(self.tree.oracles, shape, self.drawn.tolist(), strict=True):
            own, other = (float(chance) for chance in oracle.chances)
            one = isinstance(oracle, RandomizedResponse)
            span = float(np.ptp(influence)) if one else float(np.abs(influence).sum())
            most = max(most, span / (own - other) * self.n / max(drawn - 1, 1))
        return 2 * most


def even_fanout(points: int) -> int:
    """The smallest fanout that needs no more levels than eight would: so the highest level is not cut short."""
    levels = len(level_sizes(points, _FANOUT))
    return next(fanout for fanout in range(2, _FANOUT + 1) if fanout**levels >= points)


def level_sizes(points: int, fanout: int) -> list[int]:
    """How many nodes each level has, from the highest with more than one down to the points."""
    node_counts = [points]
    while node_counts[0] > fanout:
        node_counts.insert(0, -(-node_counts[0] // fanout))
    return node_counts


def make_consistent(level_counts: LevelCounts, weights: NDArray[np.float64], total: float, fanout: int) -> LevelCounts:
    """The counts nearest to those told, by weighted least squares, whose children add up to their parents.

    Because: upwards, a node's own count and the sum of its children's best counts are two independent measurements
        of it, weighed by one over their variance; downwards, what a node's children are short of its final count
        is shared among them by their variance. These are the normal equations, solved from the points up.
    """
    best, variances = [level_counts[-1]], [np.full(level_counts[-1].size, 1 / weights[-1])]
    for level in range(len(level_counts) - 2, -1, -1):
        below, noise = _sum_children(best[0], fanout), _sum_children(variances[0], fanout)
        precision = weights[level] + 1 / noise
        best.insert(0, (weights[level] * level_counts[level] + below / noise) / precision)
        variances.insert(0, 1 / precision)
    final = [best[0] + variances[0] / variances[0].sum() * (total - best[0].sum())]
    for level in range(1, len(level_counts)):
        short = (final[-1] - _sum_children(best[level], fanout)) / _sum_children(variances[level], fanout)
        final.append(best[level] + variances[level] * np.repeat(short, fanout)[: best[level].size])
    return final


def coin_variance(
    oracle: ChoiceRandomizer, weights: NDArray[np.float64], counts: NDArray[np.float64], drawn: int
) -> float:
    """The variance that the coins give a weighted sum of a level's estimated counts, if `counts`, of `drawn`, are true.

    Bits of unary are independent; hashing's supports are taken as uncorrelated. A randomized response supports one
    node: a sum of independent draws of a weight.
    """
    if not isinstance(oracle, RandomizedResponse):
        return float(weights**2 @ oracle.variances(counts, drawn))
    own, other = (float(chance) for chance in oracle.chances)
    expected_reports = other * drawn + (own - other) * counts
    means = other * weights.sum() + (own - other) * weights
    return float(weights**2 @ expected_reports - counts @ means**2) / (own - other) ** 2


def _sum_children(children: NDArray[np.float64], fanout: int) -> NDArray[np.float64]:
    return np.add.reduceat(children, np.arange(0, children.size, fanout))
