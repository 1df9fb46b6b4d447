"""Local hashing: the choice is hashed to few buckets, and the bucket is told by randomized response.

A report has a few bytes however many choices there are, and supports every choice that its hash
function puts into the bucket that was told.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.mechanisms import uniform
from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.choice_randomizer import (
    ChoiceRandomizer,
    bytes_needed,
    bytes_to_numbers,
    numbers_to_bytes,
)
from discreet.surveys.protocols.coins import PLANES, Coin
from discreet.surveys.protocols.option_checks import check_label as text
from discreet.surveys.protocols.option_checks import check_whole, non_default
from discreet.surveys.protocols.randomizer import Reports

#: Bits of a multiplier and of an addend; fewer in tests that list all functions.
WORD = 32
_WORDS = (8, 16, WORD)
#: More buckets than this gain next to nothing, and a bucket then fits two bytes.
MOST_BUCKETS = 1 << 16
#: Reports, or listed functions, at a time: what is known of them stays in the cache while the choices go by.
_PIECE = 1 << 13

#: The listed functions are polynomials over this field, and there are at most so many of them.
PRIME = (1 << 31) - 1
MOST_FUNCTIONS = 1 << 20
#: Functions times buckets: the server's table of counts.
_TABLE = 1 << 23
#: Functions times choices, which is what a server computes for an estimate: about a minute.
MOST_WORK = 1 << 31


class _HashRandomizer(ChoiceRandomizer):
    """What both have in common: k-ary response over the buckets, and the chances that follow."""

    __slots__ = ("buckets", "collision", "lie")

    buckets: int
    lie: Coin
    #: How likely two different choices are to share a bucket, over the drawing of the function.
    collision: Fraction

    def _choose(self, span: int, most: int, planes: int) -> None:
        """Buckets of a hash that is uniform on 0 .. span - 1, and the coin that lies about one."""
        growth = coins.likelihood_bound(self.requested_epsilon)
        self.buckets = best_buckets(growth, span=span, most=most)
        self.collision = collision(span, self.buckets)
        others = self.buckets - 1
        self.lie = Coin(heads=coins.heads_for(others / (growth + others), planes=planes), planes=planes)
        self.epsilon = coins.cost((1 - self.lie.chance) * others / self.lie.chance, self.requested_epsilon)

    def _noisy_buckets(self, buckets: NDArray[np.int64], *, bits: Bits) -> NDArray[np.int64]:
        """The buckets, or now and then one of the others."""
        lies = np.flatnonzero(self.lie.flips(buckets.size, bits=bits))
        noisy_buckets = buckets.copy()
        noisy_buckets[lies] += 1 + uniform.whole_below(self.buckets - 1, lies.size, bits=bits)
        noisy_buckets[lies] %= self.buckets
        return noisy_buckets

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        """A true bucket supports the own choice, and another with the probability of a collision.

        Because: bucket y is told with probability 1 - lie where it is the own one, else lie / (buckets - 1).
            The other choice's bucket is independent of the own one (which is all that y depends on), so it
            is the own one with probability `collision`, and only else can it be any given other.
        """
        truth, wrong = 1 - self.lie.chance, self.lie.chance / (self.buckets - 1)
        return truth, self.collision * truth + (1 - self.collision) * wrong


class LocalHashing(_HashRandomizer):
    """Each device draws its own hash function, and reports it with the randomized bucket of its choice.

    The function is h(v) = floor(top(multiplier v + addend mod 2^word) buckets / 2^kept), where `top` takes
    the `kept` highest bits.

    Draws: first the multiplier and the addend, two whole numbers below 2^word; then the coin `lie`; then, if
    it fell on heads, a whole number below buckets - 1: how far beyond the next bucket the told one is.
    Report: multiplier, addend (four bytes each) and bucket, the most significant byte first.

    Guarantee: epsilon-differentially private for each report.
    Because: the function is drawn without a look at the answer, and given the function a bucket is told with
        probability 1 - lie by those whose choice it holds and lie / (buckets - 1) by all others.
    Unbiased: `top` of two different codes x, y below 2^w are uniform and independent (Dietzfelbinger 1996)
        as kept <= word - w + 1. For x - y = odd 2^s with s < w, multiplier (x - y) is a uniform multiple of
        2^s, whatever multiplier y + addend is (the addend alone makes that uniform). Adding it to the latter
        leaves the bits from s on uniform, and the kept ones are among those, as word - kept >= w - 1 >= s.
    """

    __slots__ = ("kept", "word")

    protocol = "hashing"

    def __init__(self, choices: Sequence[str], *, epsilon: object, planes: int = PLANES, word: int = WORD) -> None:
        self._declare(choices)
        self.requested_epsilon = coins.check_epsilon(epsilon)
        if word not in _WORDS or len(self.choices) > 1 << word:
            raise UsageError("A hash function's word must have 32 bits (in tests 8 or 16, if the choices fit).")
        self.word = word
        self.kept = word + 1 - (len(self.choices) - 1).bit_length()
        self._choose(1 << self.kept, min(MOST_BUCKETS, 1 << self.kept), planes)
        self.width = 2 * (word // 8) + bytes_needed(self.buckets - 1)

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        functions = self.draw_functions(codes.size, bits=bits)
        noisy_buckets = self._noisy_buckets(self.buckets_of(functions, codes), bits=bits)
        function_bytes = functions.astype(self._type.newbyteorder(">")).view(np.uint8)
        return np.hstack([function_bytes, numbers_to_bytes(noisy_buckets, bytes_needed(self.buckets - 1))])

    def draw_functions(self, size: int, *, bits: Bits) -> NDArray[Any]:
        """Multipliers and addends, which know nothing of the answers."""
        return uniform.whole_below(1 << self.word, 2 * size, bits=bits).astype(self._type).reshape(-1, 2)

    @property
    def _type(self) -> np.dtype[Any]:
        """Unsigned numbers of one word, which wrap around as the function wants."""
        return np.dtype(f"u{self.word // 8}")

    def buckets_of(self, functions: NDArray[Any], codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """The bucket of each code under the function beside it."""
        sums = functions[:, 0] * codes.astype(self._type) + functions[:, 1]
        top: NDArray[np.int64] = (sums >> (self.word - self.kept)).astype(np.int64)
        return (top * self.buckets) >> self.kept

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        return np.asarray(self._split(reports)[1] < self.buckets)

    def _split(self, reports: Reports) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """The functions and the buckets that were told."""
        seed = 2 * (self.word // 8)
        function_bytes = np.ascontiguousarray(reports[:, :seed]).view(self._type.newbyteorder(">"))
        return function_bytes.astype(self._type), bytes_to_numbers(reports[:, seed:])

    def supports(self, reports: Reports) -> NDArray[np.int64]:
        """For each choice, the reports whose function puts it into the told bucket.

        A bucket's sums are an interval, so "h(v) is the told one" is sum - start < width in unsigned numbers,
        and from one choice to the next the sum grows by the multiplier: an addition and a comparison each.
        """
        support_counts = np.zeros(len(self.choices), dtype=np.int64)
        edges = self._edges()
        for begin in range(0, len(reports), _PIECE):
            functions, noisy_buckets = self._split(reports[begin : begin + _PIECE])
            steps = functions[:, 0].copy()
            sums = functions[:, 1] - edges[noisy_buckets].astype(self._type)
            widths = (edges[noisy_buckets + 1] - edges[noisy_buckets]).astype(self._type)
            inside = np.empty(noisy_buckets.size, dtype=np.bool_)
            for code in range(len(self.choices)):
                np.less(sums, widths, out=inside)
                support_counts[code] += np.count_nonzero(inside)
                np.add(sums, steps, out=sums)
        return support_counts

    def _edges(self) -> NDArray[np.int64]:
        """The least sum of each bucket, and 2^word at the end."""
        return -((-np.arange(self.buckets + 1) << self.kept) // self.buckets) << (self.word - self.kept)

    def options(self) -> dict[str, Any]:
        return {**super().options(), **non_default(word=(self.word, WORD))}

    def numbers(self) -> dict[str, Any]:
        return {
            "buckets": self.buckets,
            "kept": self.kept,
            "lie": self.lie.heads,
            "planes": self.lie.planes,
            "choices": len(self.choices),
        }


class FastHashing(_HashRandomizer):
    """Local hashing with functions from a public list: faster to count, but less precise.

    Function i of the list is the polynomial a v^2 + b v + c modulo 2^31 - 1, put into buckets by
    floor(value buckets / (2^31 - 1)). Its coefficients are the first three 8-byte numbers of the SHA-256 of
    "label/i", modulo 2^31 - 1.

    Draws: first the function, a whole number below `functions`; then the coin `lie`; then, if it fell on
    heads, a whole number below buckets - 1: how far beyond the next bucket the told one is.
    Report: function, then bucket, the most significant byte first.

    Guarantee: epsilon-differentially private for each report. Because: as for `LocalHashing`.
    Variance: people who share a function share its collisions, which more people do not average out. Over
        the drawing of the list a count has the variance of local hashing, and for every other choice v with
        n_v holders n_v (n_v - 1) C / ((1 - C) functions) more, C being `collision`. Unbiased likewise: over
        the drawing of the list, not for one given list.
    Because: given the list, the holders of v support another choice with a probability that is off by
        (c - C)(truth - wrong), where c is the share of functions in which the two collide: a mean of
        `functions` independent events of probability C. Values of a random polynomial of degree 2 are
        independent in threes, so those c of different v are uncorrelated (but for the inequality of the
        buckets, of the order 2^-60). For local hashing's multiply-shift they would not be.
    """

    __slots__ = ("_coefficients", "functions", "label")

    protocol = "fast-hashing"

    def __init__(
        self,
        choices: Sequence[str],
        *,
        epsilon: object,
        functions: int = 1 << 16,
        label: str = "discreet",
        planes: int = PLANES,
    ) -> None:
        self._declare(choices)
        self.requested_epsilon = coins.check_epsilon(epsilon)
        self.functions = check_whole(functions, name="functions", low=1, high=MOST_FUNCTIONS)
        if functions * len(self.choices) > MOST_WORK:
            raise UsageError(
                f"{functions:,} functions with {len(self.choices):,} choices would take hours to count.",
                hint=f"use at most {max(MOST_WORK // len(self.choices), 1):,} functions, or hashing or hadamard",
            )
        self.label = text(label, name="label")
        self._choose(PRIME, min(_TABLE // functions, PRIME), planes)
        self._coefficients = public_coefficients(label, functions)
        self.width = bytes_needed(functions - 1) + bytes_needed(self.buckets - 1)

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        drawn = uniform.whole_below(self.functions, codes.size, bits=bits)
        noisy_buckets = self._noisy_buckets(self.buckets_of(drawn, codes), bits=bits)
        wide = bytes_needed(self.functions - 1)
        return np.hstack([numbers_to_bytes(drawn, wide), numbers_to_bytes(noisy_buckets, self.width - wide)])

    def buckets_of(self, functions: NDArray[np.int64], codes: NDArray[np.int64] | int) -> NDArray[np.int64]:
        """The bucket of each code under the listed function beside it."""
        return self._bucket(self._coefficients[:, functions], codes)

    def _bucket(self, coefficients: NDArray[np.int64], codes: NDArray[np.int64] | int) -> NDArray[np.int64]:
        square, slope, constant = coefficients
        value = _modulo_prime(_modulo_prime(square * codes + slope) * codes + constant)
        return np.asarray(value * self.buckets // PRIME)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        drawn, noisy_buckets = self._split(reports)
        return np.asarray((drawn < self.functions) & (noisy_buckets < self.buckets))

    def _split(self, reports: Reports) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        wide = bytes_needed(self.functions - 1)
        return bytes_to_numbers(reports[:, :wide]), bytes_to_numbers(reports[:, wide:])

    def supports(self, reports: Reports) -> NDArray[np.int64]:
        """For each choice, over all functions, how often its bucket was told."""
        drawn, noisy_buckets = self._split(reports)
        table = np.bincount(drawn * self.buckets + noisy_buckets, minlength=self.functions * self.buckets)
        support_counts = np.zeros(len(self.choices), dtype=np.int64)
        for begin in range(0, self.functions, _PIECE):
            coefficients = np.ascontiguousarray(self._coefficients[:, begin : begin + _PIECE])
            rows = np.arange(begin, begin + coefficients.shape[1]) * self.buckets
            for code in range(len(self.choices)):
                support_counts[code] += table[rows + self._bucket(coefficients, code)].sum()
        return support_counts

    def shared_variances(self, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """What shared functions add; an estimate's own noise makes that a little too large."""
        pairs = np.maximum(counts * (counts - 1), 0)
        share = float(self.collision / (1 - self.collision)) / self.functions
        return np.asarray(share * (pairs.sum() - pairs))

    def options(self) -> dict[str, Any]:
        return {**super().options(), "functions": self.functions, "label": self.label}

    def numbers(self) -> dict[str, Any]:
        return {
            "buckets": self.buckets,
            "functions": self.functions,
            "lie": self.lie.heads,
            "planes": self.lie.planes,
            "choices": len(self.choices),
        }


def collision(span: int, buckets: int) -> Fraction:
    """How likely two independent uniform numbers below `span` are to fall into one bucket.

    Because: floor(t buckets / span) gives each bucket span / buckets numbers, rounded down or up; as they
        are `span` together, span mod buckets of them have one more.
    """
    least, more = divmod(span, buckets)
    return Fraction((buckets - more) * least**2 + more * (least + 1) ** 2, span**2)


def best_buckets(growth: Fraction, *, span: int, most: int) -> int:
    """How many buckets give a rare choice the least variance: a neighbour of e^epsilon + 1."""

    def variance(buckets: int) -> Fraction:
        share = collision(span, buckets)
        truth = growth / (growth + buckets - 1)
        other = share * truth + (1 - share) * truth / growth
        return other * (1 - other) / (truth - other) ** 2

    near = math.floor(growth) + 1
    return min((max(2, min(most, buckets)) for buckets in (near, near + 1)), key=variance)


def _modulo_prime(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """Modulo PRIME; numpy divides by a constant far quicker than it takes remainders."""
    return values - values // PRIME * PRIME


@lru_cache(maxsize=4)
def public_coefficients(label: str, functions: int) -> NDArray[np.int64]:
    """The coefficients of the public list, of squares, of slopes and of constants."""
    coefficients = np.empty((3, functions), dtype=np.int64)
    for index in range(functions):
        digest = hashlib.sha256(f"{label}/{index}".encode()).digest()
        coefficients[:, index] = [int.from_bytes(digest[start : start + 8], "big") % PRIME for start in (0, 8, 16)]
    coefficients.flags.writeable = False
    return coefficients
