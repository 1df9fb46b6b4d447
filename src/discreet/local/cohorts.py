"""From noisy Bloom filters to words: least squares over the bits of all cohorts.

A person is in one of the cohorts by chance; in each a word sets bits of its own. So the unbiased numbers of
people per bit are, on average, sums of the words' counts, and the counts are found by least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.local.estimate import norm_sub

Floats = NDArray[np.float64]

#: Bits times words: a gigabyte.
_MOST_CELLS = 1 << 27
#: A pivot of the normalised normal equations below this is zero but for rounding.
_LEAST_PIVOT = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fit:
    """Each word's count, its variance, and the most that one report moves any."""

    counts: Floats
    variances: Floats
    reach: float


def even(wide: int, functions: int) -> tuple[float, float]:
    """For a word whose bits fall anywhere: the chance of a bit to be set, and the covariance of two bits."""
    unset = (1 - 1 / wide) ** functions
    return 1 - unset, (1 - 2 / wide) ** functions - unset**2


def filters(places: NDArray[np.int64], wide: int) -> Floats:
    """Bloom filters of words whose bits are at `places` (word, cohort, function): cohort by bit by word."""
    words, cohorts, functions = places.shape
    if words * cohorts * wide > _MOST_CELLS:
        raise UsageError(
            f"{words:,} words in {cohorts} cohorts of {wide} bits are too many to count at once.",
            hint="Count fewer words at a time: those left out are allowed for.",
        )
    found = np.zeros((cohorts, wide, words))
    for function in range(functions):
        found[np.arange(cohorts), places[:, :, function], np.arange(words)[:, None]] = 1
    return found


def fit(
    sums: NDArray[np.int64], users: NDArray[np.int64], bloom: Floats, *, chances: tuple[float, float], functions: int
) -> Fit:
    """How many hold each word, from how many reports set each bit of each cohort (`sums`).

    `chances` are those of a report's bit to be 1 where the word sets it, and where it does not.

    Guarantee: given the hash functions, unbiased for the listed words where all words are listed; averaged over hash
        functions, whatever else people hold.
    Because: given how many are in each cohort, a person is in cohort c with probability share_c. So the unbiased number
        for a bit, less what an unlisted word adds on average, is share_c (filter - even) counts on average; dividing by
        the root of the share makes all rows equally noisy.
    """
    there = np.flatnonzero(users)
    n = int(users.sum())
    even_share, even_pair = even(bloom.shape[1], functions)
    noise = _Noise(n=n, one=chances[0], zero=chances[1], share=even_share, pair=even_pair)
    roots = np.sqrt(users[there] / max(n, 1))[:, None]
    centred = bloom[there] - even_share
    design = (centred * roots[:, :, None]).reshape(-1, bloom.shape[2])
    target = (noise.undone(sums[there], users[there]) / roots).ravel()
    solver = _inverse(design.T @ design) @ design.T
    counts = solver @ target
    held = norm_sub(counts, float(np.clip(counts.sum(), 0, n)))
    set_share = np.clip(centred @ held / n + even_share, 0, 1)
    left = float(np.sum((target - design @ counts) ** 2))
    each = noise.of_coins(set_share) + noise.excess(left, design.shape[0] - counts.size, set_share)
    hands = solver.reshape(-1, there.size, bloom.shape[1])
    variances = np.einsum("wcb,wcb,cb->w", hands, hands, each) + noise.of_cohorts(hands, centred, held)
    return Fit(counts=counts, variances=variances, reach=noise.reach(hands, roots))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Noise:
    """Where a count's variance comes from. `hands` (word, cohort, bit) are what a row's value is multiplied by."""

    n: int
    #: The chance of a report's bit where the word sets it, and where it does not.
    one: float
    zero: float
    #: What an unlisted word adds to a bit on average, and to a pair of bits beyond that.
    share: float
    pair: float

    @property
    def gap(self) -> float:
        return self.one - self.zero

    def undone(self, sums: NDArray[np.int64], users: NDArray[np.int64]) -> Floats:
        """How many people set each bit beyond those who would if all words' bits fell evenly: unbiased."""
        return np.asarray((sums - users[:, None] * self.zero) / self.gap - users[:, None] * self.share)

    def of_coins(self, set_share: Floats) -> Floats:
        """A row's variance by the coins of n people, of whom so many have the bit set."""
        each = set_share * self.one * (1 - self.one) + (1 - set_share) * self.zero * (1 - self.zero)
        return np.asarray(self.n * each / self.gap**2)

    def excess(self, left: float, spare: int, set_share: Floats) -> float:
        """What the residuals vary beyond coins and cohorts: words that are not listed and held by many.

        Never less than nothing, so that intervals are a few percent too wide where there are few rows to spare.
        """
        said = self.zero + self.gap * set_share
        expected = self.n * float(np.mean(said * (1 - said))) / self.gap**2
        return max(0.0, left / spare - expected) if spare > 0 else 0.0

    def of_cohorts(self, hands: Floats, centred: Floats, held: Floats) -> Floats:
        """Who is in which cohort, given how many are: the variance of a sum over a random partition.

        A person with word v in cohort c adds a(c, v) to the count of a word: 1 on average over c if v is that word,
        else 0. The variance of such a sum is that of a, less what is common to all people in a cohort.
        """
        squares, common, alone = np.zeros(held.size), np.zeros(held.size), np.zeros(held.size)
        # Single precision: a variance needs no more, and this is most of the work.
        weights, columns = held.astype(np.float32), centred.astype(np.float32)
        for cohort in range(hands.shape[1]):
            hand = hands[:, cohort].astype(np.float32)
            added = hand @ columns[cohort]
            common += (added @ weights).astype(np.float64) ** 2 / self.n
            squares += np.square(added, out=added) @ weights
            alone += (self.share * (1 - self.share) - self.pair) * np.einsum("wb,wb->w", hand, hand)
            alone += self.pair * hand.sum(axis=1) ** 2
        listed = np.maximum(squares - held - common + held**2 / self.n, 0)
        return np.asarray((listed + (self.n - held.sum()) * alone) * self.n / max(self.n - 1, 1))

    def reach(self, hands: Floats, roots: Floats) -> float:
        """Between the report that adds most to a count and the one that takes most off, in any cohorts."""
        most = np.abs(hands).sum(axis=2) / (2 * self.gap)
        middle = hands.sum(axis=2) * ((0.5 - self.zero) / self.gap - self.share)
        return float(np.max(((middle + most) / roots[:, 0]).max(axis=1) - ((middle - most) / roots[:, 0]).min(axis=1)))


def _inverse(normal: Floats) -> Floats:
    """The inverse of the normal equations; refused where the bits cannot tell the words apart."""
    scale = np.sqrt(np.diag(normal))
    try:
        pivots = np.diag(np.linalg.cholesky(normal / np.outer(scale, scale))) if scale.all() else np.zeros(1)
    except np.linalg.LinAlgError:
        pivots = np.zeros(1)
    if float(np.min(pivots)) ** 2 < _LEAST_PIVOT:
        raise UsageError(
            "These reports cannot tell so many words apart.",
            hint="Count fewer words at a time, or collect with more cohorts or wider filters.",
        )
    return np.asarray(np.linalg.inv(normal))
