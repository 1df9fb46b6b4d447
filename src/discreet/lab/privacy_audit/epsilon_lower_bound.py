"""A lower bound on epsilon from samples of two neighbouring worlds.

One half of the samples looks for a set of outputs that is likely in one world and rare in the other; the other half,
which had no say in the choice, counts how often the set is met. The two counts bound the two chances (Clopper and
Pearson), and under (epsilon, delta) the one chance is at most e^epsilon times the other plus delta.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.lab.evidence import Evidence, best_under, binomial_upper_tail, clopper_pearson
from discreet.lab.pictures import bars
from discreet.lab.privacy_audit import binomial

Samples = NDArray[Any]
#: Which of these outputs lie in the set.
SetMembership = Callable[[Samples], NDArray[np.bool_]]

#: No more thresholds, and no more different outputs one by one, than this are tried.
_THRESHOLDS, _CELLS = 500, 512
#: Where there are more, they are put into cells of about so many outputs or more.
_PER_CELL = 50
#: Sets are ranked by how they would do at this doubt.
_DOUBT = 1e-4

#: Beyond this float64 cannot tell a doubt from none once it is shared among a hundred tests.
LEAST_DOUBT = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputSetCounts:
    """A set of outputs, met `hits` of `n` times in one world and `false_hits` of `false_n` times in the other."""

    hits: int
    n: int
    false_hits: int
    false_n: int
    delta: float = 0.0

    def lower(self, confidence: float) -> float:
        """With this confidence no smaller epsilon than this holds at `delta`.

        Because: each of the two bounds on the chances fails with half of the doubt at most.
        """
        doubt = (1 - confidence) / 2
        least = binomial.lower_confidence_limit(self.hits, self.n, doubt) - self.delta
        most = binomial.upper_confidence_limit(self.false_hits, self.false_n, doubt)
        return max(0.0, math.log(least / most)) if least > 0 else 0.0

    def p_value(self, epsilon: float) -> float:
        """The chance, at most, of counts this far apart where (epsilon, delta) holds.

        Because: it is twice the larger of two tails, of this many hits (or more) where a hit has the chance
            e^epsilon c + delta, and of this few false hits where one has the chance c; at the c where they cross, for
            one rises with c and the other falls. Let C be the true chance of a false hit. If c >= C the first tail is
            no smaller than at C, where it is d or less with a chance of at most d; if c < C the second is.
            So the result is at most x with a chance of at most x. Another c than the crossing errs upwards.
        """
        grown = math.exp(epsilon)

        def hit(chance: float) -> float:
            likely = grown * chance + self.delta
            return binomial_upper_tail(self.hits, self.n, likely) if self.hits and likely < 1 else 1.0

        def missed(chance: float) -> float:
            return binomial.binomial_lower_tail(self.false_hits, self.false_n, chance)

        crossed = binomial.find_crossing(lambda chance: hit(chance) - missed(chance), 0.0, 1.0)
        return min(1.0, 2 * max(hit(crossed), missed(crossed)))

    @property
    def rates(self) -> tuple[float, float]:
        return self.hits / max(1, self.n), self.false_hits / max(1, self.false_n)


def count_output_set(left: Samples, right: Samples, *, delta: float = 0.0) -> OutputSetCounts:
    """The set of outputs that half of the samples recommend, counted on the other half."""
    left, right = _samples(left), _samples(right)
    cut, other = len(left) // 2, len(right) // 2
    holds, swapped = _learn_output_set(left[:cut], right[:other], delta)
    here, there = (right[other:], left[cut:]) if swapped else (left[cut:], right[other:])
    return OutputSetCounts(
        hits=int(holds(here).sum()), n=len(here), false_hits=int(holds(there).sum()), false_n=len(there), delta=delta
    )


def lower_bound(left: Samples, right: Samples, *, delta: float = 0.0, confidence: float = 0.99) -> float:
    """Return a lower bound on the epsilon of the mechanism that drew these outputs, at this confidence and `delta`.

    Guarantee: over both halves of the samples, the probability that it exceeds the true epsilon is at most
        1 - confidence.

    >>> lower_bound(np.zeros(2000), np.ones(2000), confidence=0.99) > 4
    True
    """
    return count_output_set(left, right, delta=delta).lower(1 - doubt_of(confidence))


def measure_epsilon(
    left: Samples, right: Samples, *, epsilon: float, delta: float = 0.0, confidence: float = 0.99, name: str = "audit"
) -> Evidence:
    """Test a claimed epsilon with outputs of two neighbouring worlds. Success: how often the world is guessed."""
    start, doubt = time.process_time(), doubt_of(confidence)
    if len(left) != len(right):
        raise UsageError("an audit needs the same number of outputs from both worlds")
    set_counts = count_output_set(left, right, delta=delta)
    bound, chance = set_counts.lower(confidence), set_counts.p_value(epsilon)
    right_guesses = set_counts.hits + set_counts.false_n - set_counts.false_hits
    n = set_counts.n + set_counts.false_n
    caught = chance <= doubt
    verdict = "is false" if caught else "may be true: nothing here contradicts it"
    return Evidence(
        attack=name,
        success=right_guesses / n,
        chance=0.5,
        bound=best_under(epsilon, delta),
        n=n,
        seconds=time.process_time() - start,
        interval=clopper_pearson(right_guesses, n, confidence),
        confidence=confidence,
        story=(
            f"Epsilon is at least {bound:.3g} (confidence {confidence:.4g}); the claimed epsilon is {epsilon:.4g}.",
            f"The claim {verdict}.",
        ),
        details={
            "claimed": {"epsilon": epsilon, "delta": delta},
            "lower_bound": bound,
            "p_value": chance,
            "caught": caught,
            "rates": list(set_counts.rates),
        },
        picture=lambda: bars(
            f"{name}: epsilon", {"claimed": epsilon, "at least": bound}, most=max(epsilon, bound, 0.1)
        ),
    )


def _samples(values: Samples) -> Samples:
    samples = np.asarray(values)
    if samples.ndim != 1 or len(samples) < 4:
        raise UsageError("an audit needs a vector of at least 4 outputs from each world")
    if samples.dtype.kind not in "biuf":
        raise UsageError("an audit needs numbers: map other outputs to numbers first")
    return samples


def _learn_output_set(left: Samples, right: Samples, delta: float) -> tuple[SetMembership, bool]:
    """The most telling set of outputs, and whether it is the right world's."""
    best = -math.inf
    best_set: tuple[SetMembership, bool] = partial(_above, threshold=left[0]), False
    for sets in (_thresholds(left, right), _likelier_cells(left, right)):
        for these in sets:
            for swapped in (False, True):
                worth = these.worth(delta, swapped=swapped)
                place = int(worth.argmax())
                if worth[place] > best:
                    best, best_set = float(worth[place]), (these.holds(place), swapped)
    return best_set


@dataclass(frozen=True, slots=True, kw_only=True)
class _CandidateSets:
    """Candidates: how to make each, and how many outputs of either world lie in it, of how many."""

    holds: Callable[[int], SetMembership]
    counts: tuple[NDArray[np.int64], NDArray[np.int64]]
    sizes: tuple[int, int]

    def worth(self, delta: float, *, swapped: bool) -> NDArray[np.float64]:
        """About the bound that each set would give: Wilson's intervals, which take no root-finding."""
        least, most = (_wilson(count / size, size) for count, size in zip(self.counts, self.sizes, strict=True))
        if swapped:
            least, most = most, least
        return np.log(np.maximum(least[0] - delta, 1e-12) / most[1])


def _thresholds(left: Samples, right: Samples) -> Iterator[_CandidateSets]:
    """At or above, and below, each of many thresholds."""
    values = np.unique(np.concatenate([left, right]))
    values = values[np.unique(np.linspace(0, len(values) - 1, min(len(values), _THRESHOLDS)).astype(np.int64))]
    sizes = len(left), len(right)
    below = tuple(np.searchsorted(np.sort(side), values) for side in (left, right))
    above = sizes[0] - below[0], sizes[1] - below[1]
    yield _CandidateSets(holds=lambda place: partial(_above, threshold=values[place]), counts=above, sizes=sizes)
    yield _CandidateSets(
        holds=lambda place: partial(_below, threshold=values[place]), counts=(below[0], below[1]), sizes=sizes
    )


def _likelier_cells(left: Samples, right: Samples) -> Iterator[_CandidateSets]:
    """Unions of cells, in the order of how much likelier they are in one world: for outputs without an order.

    The order is learned on one part and judged on another: cells that were likelier by luck would promise too much.
    """
    parts = [np.split(side, [len(side) // 2]) for side in (left, right)]
    pooled = np.unique(np.concatenate([left, right]))
    if len(pooled) > _CELLS:
        ends = np.linspace(0, 1, max(2, min(_CELLS, len(left) // _PER_CELL)) + 1)[:-1]
        pooled = np.unique(np.quantile(np.concatenate([left, right]), ends, method="lower"))
    (seen, judged), (other_seen, other_judged) = (
        tuple(np.bincount(_cell(part, pooled), minlength=len(pooled)) for part in side) for side in parts
    )
    for first, second in ((seen, other_seen), (other_seen, seen)):
        order = np.argsort(-(first + 0.5) / (second + 0.5), kind="stable")
        yield _CandidateSets(
            holds=partial(_union, pooled, np.argsort(order)),
            counts=(np.cumsum(judged[order]), np.cumsum(other_judged[order])),
            sizes=(int(judged.sum()), int(other_judged.sum())),
        )


def _union(edges: Samples, rank: NDArray[np.int64], place: int) -> SetMembership:
    return partial(_within, edges=edges, rank=rank, place=place)


def _cell(values: Samples, edges: Samples) -> NDArray[np.int64]:
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 1)


def _above(values: Samples, *, threshold: Any) -> NDArray[np.bool_]:
    return np.asarray(values >= threshold)


def _below(values: Samples, *, threshold: Any) -> NDArray[np.bool_]:
    return np.asarray(values < threshold)


def _within(values: Samples, *, edges: Samples, rank: NDArray[np.int64], place: int) -> NDArray[np.bool_]:
    return np.asarray(rank[_cell(values, edges)] <= place)


def _wilson(share: NDArray[np.float64], n: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    z2 = NormalDist().inv_cdf(1 - _DOUBT) ** 2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    spread = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return middle - spread, middle + spread


def doubt_of(confidence: float) -> float:
    """One minus a confidence; refuses one that is no confidence, or more than can be computed with.

    >>> round(doubt_of(0.99), 6)
    0.01
    """
    doubt = 1 - confidence
    if not LEAST_DOUBT <= round(doubt, 15) < 1:  # 1 - 1e-12 is itself not quite that
        raise UsageError(
            f"the confidence must be above 0 and at most {1 - LEAST_DOUBT:.12f}, not {confidence!r}",
            hint="such as 0.99",
        )
    return doubt
