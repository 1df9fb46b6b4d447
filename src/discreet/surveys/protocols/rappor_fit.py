"""From noisy Bloom filters to words: least squares over the bits of all cohorts.

A person is in one of the cohorts by chance; in each a word sets bits of its own. So the unbiased numbers of
people per bit are, on average, sums of the words' counts, and the counts are found by least squares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.inference.nearest_counts import norm_sub

Floats = NDArray[np.float64]

#: Bits times words: a gigabyte.
_MOST_CELLS = 1 << 27
#: A pivot of the normalised normal equations below this is zero but for rounding.
_LEAST_PIVOT = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RapporFit:
    """Each word's count, its variance, and the most that one report moves any."""

    counts: Floats
    variances: Floats
    reach: float


def unlisted_word_moments(wide: int, functions: int) -> tuple[float, float]:
    """For a word whose bits fall anywhere: the chance of a bit to be set, and the covariance of two bits."""
    unset = (1 - 1 / wide) ** functions
    return 1 - unset, (1 - 2 / wide) ** functions - unset**2


def bloom_filters(places: NDArray[np.int64], wide: int) -> Floats:
    """Bloom filters of words whose bits are at `places` (word, cohort, function): cohort by bit by word."""
    words, cohorts, functions = places.shape
    if words * cohorts * wide > _MOST_CELLS:
        raise UsageError(
            f"{words:,} words in {cohorts} cohorts of {wide} bits are too many to count at once.",
            hint="count fewer words at a time: the estimate allows for the others",
        )
    bloom = np.zeros((cohorts, wide, words))
    for function in range(functions):
        bloom[np.arange(cohorts), places[:, :, function], np.arange(words)[:, None]] = 1
    return bloom


def fit_word_counts(
    sums: NDArray[np.int64], users: NDArray[np.int64], bloom: Floats, *, chances: tuple[float, float], functions: int
) -> RapporFit:
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
    even_share, even_pair = unlisted_word_moments(bloom.shape[1], functions)
    noise = _Noise(n=n, one=chances[0], zero=chances[1], share=even_share, pair=even_pair)
    roots = np.sqrt(users[there] / max(n, 1))[:, None]
    centred = bloom[there] - even_share
    design = (centred * roots[:, :, None]).reshape(-1, bloom.shape[2])
    target = (noise.debias(sums[there], users[there]) / roots).ravel()
    inverse = _inverse(design.T @ design)
    solver = inverse @ design.T
    counts = solver @ target
    reach = _Reach(bloom - even_share, inverse, counts, n=n, noise=noise).most(users > 0)
    holder_counts = norm_sub(counts, float(np.clip(counts.sum(), 0, n)))
    set_share = np.clip(centred @ holder_counts / n + even_share, 0, 1)
    left = float(np.sum((target - design @ counts) ** 2))
    each = noise.of_coins(set_share) + noise.excess(left, design.shape[0] - counts.size, set_share)
    hands = solver.reshape(-1, there.size, bloom.shape[1])
    variances = np.einsum("wcb,wcb,cb->w", hands, hands, each) + noise.of_cohorts(hands, centred, holder_counts)
    return RapporFit(counts=counts, variances=variances, reach=reach)


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

    def debias(self, sums: NDArray[np.int64], users: NDArray[np.int64]) -> Floats:
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
        sent_share = self.zero + self.gap * set_share
        expected = self.n * float(np.mean(sent_share * (1 - sent_share))) / self.gap**2
        return max(0.0, left / spare - expected) if spare > 0 else 0.0

    def of_cohorts(self, hands: Floats, centred: Floats, holder_counts: Floats) -> Floats:
        """Who is in which cohort, given how many are: the variance of a sum over a random partition.

        A person with word v in cohort c adds a(c, v) to the count of a word: 1 on average over c if v is that word,
        else 0. The variance of such a sum is that of a, less what is common to all people in a cohort.
        """
        squares, common, alone = (
            np.zeros(holder_counts.size),
            np.zeros(holder_counts.size),
            np.zeros(holder_counts.size),
        )
        # Single precision: a variance needs no more, and this is most of the work.
        weights, columns = holder_counts.astype(np.float32), centred.astype(np.float32)
        for cohort in range(hands.shape[1]):
            hand = hands[:, cohort].astype(np.float32)
            added = hand @ columns[cohort]
            common += (added @ weights).astype(np.float64) ** 2 / self.n
            squares += np.square(added, out=added) @ weights
            alone += (self.share * (1 - self.share) - self.pair) * np.einsum("wb,wb->w", hand, hand)
            alone += self.pair * hand.sum(axis=1) ** 2
        listed = np.maximum(squares - holder_counts - common + holder_counts**2 / self.n, 0)
        return np.asarray((listed + (self.n - holder_counts.sum()) * alone) * self.n / max(self.n - 1, 1))


class _Reach:
    """How far one report, replaced by any other, can move a count, with all that it changes.

    Guarantee: no report in place of another moves any count further.
    Because: write A_c for a cohort's filters (less `unlisted_word_moments`), z_i for what report i says of its bits,
        undone, and G = sum over people of A'A in their cohorts. The counts are n G^-1 sum A'z, plain least squares over
        people (as share_c is n_c / n). So with i in cohort c replaced by j in cohort d, G by H = G - A_c'A_c + A_d'A_d,

            counts after - counts before = n H^-1 (e_j - e_i),    e_i = A_c'(z_i - A_c counts / n),

        and H^-1 = G^-1 + G^-1 (G - H) H^-1. The first term is linear in the bits: its largest value is known (`span`).
        The second, for word w and in the norm of G, is at most
        (||A_c'A_c G^-1 w|| + ||A_d'A_d G^-1 w||) ||e_j - e_i|| / (1 - leverage_c),
        as H >= (1 - leverage_c) G, leverage_c being the largest eigenvalue of A_c'A_c against G (`margin`).
    """

    def __init__(self, centred: Floats, inverse: Floats, counts: Floats, *, n: int, noise: _Noise) -> None:
        self._centred, self._inverse, self._counts = centred, inverse, counts
        self._n, self._noise = n, noise

    def most(self, there: NDArray[np.bool_]) -> float:
        """Somebody who is `there` leaves, for any cohort. Refused where then the words could not be told apart."""
        each = [self._cohort(columns) for columns in self._centred]
        high, low, pulls = (np.array([getattr(one, name) for one in each]) for name in ("high", "low", "pull"))
        sizes, leverages = (np.array([getattr(one, name) for one in each]) for name in ("size", "leverage"))
        leverage = float(leverages[there].max())
        if leverage > 1 - _LEAST_PIVOT:
            raise _indistinct_words()
        spans = np.maximum(high.max(axis=0) - low[there].min(axis=0), high[there].max(axis=0) - low.min(axis=0))
        pull = pulls.max(axis=0) + pulls[there].max(axis=0)
        margin = pull * (sizes.max() + sizes[there].max()) / (1 - leverage)
        return float(np.max(spans + margin)) * (1 + 1e-9)

    def _cohort(self, columns: Floats) -> _Cohort:
        """`hand` is what a bit's value is multiplied by for each word, n A G^-1."""
        hand = columns @ self._inverse
        wide, gap = len(columns), self._noise.gap
        middle = (0.5 - self._noise.zero) / gap - self._noise.share - columns @ self._counts / self._n
        centre, span = middle @ hand, np.abs(hand).sum(axis=0) / (2 * gap)
        few = wide <= hand.shape[1]
        # The matrix A'A G^-1, or A G^-1 A', whichever is smaller: the same eigenvalues but for zeros.
        matrix = (hand @ columns.T if few else columns.T @ hand) / self._n
        square = matrix @ matrix
        leverage = float(np.sum(square * square.T)) ** 0.25  # the fourth root of the sum of fourth powers: not below
        norms = np.sqrt(np.einsum("bw,bw->b", hand, columns) / self._n)  # of a single bit, in the norm of G
        apart = min(float(norms.sum()), (leverage * wide) ** 0.5) / (2 * gap)
        inner = columns.T @ middle
        about = float(inner @ self._inverse @ inner / self._n)
        return _Cohort(
            high=centre + span,
            low=centre - span,
            pull=leverage**0.5 * np.linalg.norm(hand, axis=0),
            size=max(about, 0.0) ** 0.5 + apart,
            leverage=leverage,
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Cohort:
    """What a report of one cohort can do: the most and the least it adds to each word's count, to first order; how far
    its being there moves the weights of each word; how large it is in the norm of G; and its leverage."""

    high: Floats
    low: Floats
    pull: Floats
    size: float
    leverage: float


def _inverse(normal: Floats) -> Floats:
    """The inverse of the normal equations; refused where the bits cannot tell the words apart."""
    scale = np.sqrt(np.diag(normal))
    try:
        pivots = np.diag(np.linalg.cholesky(normal / np.outer(scale, scale))) if scale.all() else np.zeros(1)
    except np.linalg.LinAlgError:
        pivots = np.zeros(1)
    if float(np.min(pivots)) ** 2 < _LEAST_PIVOT:
        raise _indistinct_words()
    return np.asarray(np.linalg.inv(normal))


def _indistinct_words() -> UsageError:
    return UsageError(
        "These reports cannot distinguish that many words.",
        hint="count fewer words at a time, or collect more reports, with more cohorts or wider filters",
    )
