"""Apple's sketches: frequencies of words that nobody listed beforehand.

A public family of hash functions sends every word to one of m places. A device draws one function, and
reports its word's place with noise; at home the place of any word can be looked up afterwards. Other words
fall on the same place by chance, one in m, and that much is taken off.

What is random. The function and the coins of each report are drawn afresh; the hash functions are fixed by
the salt and shared by all. Given the functions, the words that happen to share places with a word push its
count by an amount that no number of reports averages away. It is zero on average over salts, and the
variance holds its expected square, estimated from the reports. So an interval is right for 95% of the
words and salts, not for one salt repeated. A survey takes a salt of its own.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms import uniform
from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.choice_randomizer import (
    bytes_needed,
    bytes_to_numbers,
    check_report_width,
    numbers_to_bytes,
)
from discreet.surveys.protocols.coins import PLANES, Coin
from discreet.surveys.protocols.estimate import Estimate, VarianceCurve
from discreet.surveys.protocols.group_tally import GroupTally, tally_bits
from discreet.surveys.protocols.hash_functions import (
    CodedWords,
    HashFunctions,
    code_words,
    encode_candidates,
    encode_word,
)
from discreet.surveys.protocols.noise_layers import lie_coin
from discreet.surveys.protocols.option_checks import non_default
from discreet.surveys.protocols.randomizer import Randomizer, Reports, Values
from discreet.surveys.protocols.walsh import signs, transform

FUNCTIONS = 256
WIDE = 1024
SALT = "discreet"
#: Bits at a time: a batch of reports is made in pieces that stay in the cache.
_PIECE = 1 << 22


class Sketch(Randomizer):
    """A randomizer of words, whichever they are: `functions` hash functions onto `wide` places."""

    __slots__ = ("_hashes", "lie")

    #: A bit is told wrongly.
    lie: Coin

    def _declare(self, functions: int, wide: int, salt: str) -> None:
        self._hashes = HashFunctions(salt=salt, many=functions, wide=wide)

    @property
    def functions(self) -> int:
        return self._hashes.many

    @property
    def wide(self) -> int:
        return self._hashes.wide

    def canonical(self, value: Any) -> str:
        return f"word {encode_word(value).hex()}"

    def draw_reports(self, values: Values, *, bits: Bits) -> Reports:
        return self.draw_sketch_reports(code_words(values), bits=bits)

    @abstractmethod
    def draw_sketch_reports(self, words: CodedWords, *, bits: Bits) -> Reports:
        """A report for each answer, whose bytes are any."""

    @abstractmethod
    def tally(self, reports: Reports) -> GroupTally:
        """The sums of (valid) reports. Tallies of batches add up to that of all."""

    @abstractmethod
    def levels(self, tally: GroupTally) -> NDArray[np.float64]:
        """How many people are at each place of each function: unbiased over rows and coins."""

    @property
    @abstractmethod
    def noise(self) -> tuple[float, float, float]:
        """Of what a report says about one place, three moments: its variance where it is the person's own;
        its mean square where it is one of the m by chance; the sum of mean squares over all m places."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """The most that one report, replaced by a liar's, changes a count."""

    @property
    def sharpness(self) -> float:
        """1 / (1 - 2 lie): what undoes the lies on average."""
        return 1 / (1 - 2 * float(self.lie.chance))

    def estimate(self, reports: Reports | Sequence[bytes], words: Sequence[str]) -> Estimate:
        """Estimate how many people have each of these words: unbiased over coins and hash functions."""
        return self.from_tally(self.tally(self.matrix(reports)), words)

    def from_tally(self, tally: GroupTally, words: Sequence[str]) -> Estimate:
        """The same from sums that were kept as reports came in."""
        return self.estimate_keys(words, encode_candidates(words), tally)

    def estimate_keys(self, words: Sequence[str], keys: Sequence[bytes], tally: GroupTally) -> Estimate:
        """The same of words that are hashed as these keys."""
        counts = self.counts(self.levels(tally), keys, tally.n)
        variances = self.variances(counts, tally.n, self.second_moment(tally))
        return Estimate(
            labels=tuple(words),
            n=tally.n,
            counts=counts,
            variances=variances,
            reach=self.reach,
            law=self._score(counts, variances, tally.n),
        )

    def _score(self, counts: NDArray[np.float64], variances: NDArray[np.float64], n: int) -> VarianceCurve:
        """A holder's report varies less than another's; what the others share a place with is left as estimated."""
        slope = self._slope * (self.wide / (self.wide - 1)) ** 2
        return VarianceCurve(constant=variances - slope * np.clip(counts, 0, n), linear=slope, grain=self.reach)

    @property
    def _slope(self) -> float:
        """How much more a report varies that is a holder's."""
        own, chance, _ = self.noise
        return own - chance + 1 / self.wide**2 + (1 - 1 / self.wide) / self.wide / self.functions

    def counts(self, levels: NDArray[np.float64], keys: Sequence[bytes], n: int) -> NDArray[np.float64]:
        """How many hold each key: unbiased over coins and hash functions.

        Because: each of the n adds 1 to the sum if the word is hers, and with probability 1/m otherwise; so the
            sum is f + (n - f)/m on average.
        """
        places = self._hashes.table(keys)
        sums = levels[np.arange(self.functions), places].sum(axis=1)
        return np.asarray((sums - n / self.wide) * self.wide / (self.wide - 1))

    def second_moment(self, tally: GroupTally) -> float:
        """The sum of the squares of all words' counts, listed or not: unbiased, kept within n and n^2.

        Because: in the sum of squared levels a pair of people with one word adds 1/k on average (they use the same
            function), a pair with two words 1/(k m), and each person alone her own mean square.
        """
        n, wide = tally.n, self.wide
        alone = n * self.noise[2]
        pairs = self.functions * (float(np.sum(self.levels(tally) ** 2)) - alone)
        return float(np.clip((pairs + n - n * n / wide) * wide / (wide - 1), n, n * n))

    def variances(self, counts: NDArray[np.float64], n: int, second: float) -> NDArray[np.float64]:
        """The variance of each estimated count over functions drawn, coins and hash functions.

        Because: a person with another word shares the place with probability c, which is 1/m on average and
            varies by (1/m)(1 - 1/m)/k over families of k functions. What she says has mean square `chance` and mean
            c, so c^2 comes off; and the c of all people with one word is the same, hence the sum of squares.
        """
        wide = self.wide
        shared = (1 - 1 / wide) / wide / self.functions
        clipped_counts = np.clip(counts, 0, n)
        others = np.clip(second - clipped_counts**2, n - clipped_counts, (n - clipped_counts) ** 2)
        spread = n * self.noise[0] - (n - clipped_counts) * self._slope + others * shared
        return np.asarray(spread * (wide / (wide - 1)) ** 2)

    def options(self) -> dict[str, Any]:
        return {
            "functions": self.functions,
            "wide": self.wide,
            "salt": self._hashes.salt,
            **non_default(planes=(self.lie.planes, PLANES)),
        }

    def numbers(self) -> dict[str, Any]:
        return {
            "lie": self.lie.heads,
            "planes": self.lie.planes,
            "functions": self.functions,
            "wide": self.wide,
        }


class CountMeanSketch(Sketch):
    """The function's number and m bits: a 1 at the word's place, then each bit flipped by a coin of its own.

    Guarantee: epsilon-differentially private for each report.
    Because: the function is drawn whatever the word is, and given it two words' bits differ in two places or
        none. The bits are flipped independently with probability `lie`, so that the ratio of likelihoods is at
        most ((1 - lie) / lie)^2: a lie of 1 / (1 + e^(epsilon/2)).
    Draws: first the function, then one flip for each place in order. The report is the function's number, most
        significant byte first, in as many bytes as the largest needs; then the bits, the first place's the highest of
        its byte.

    >>> sketch = CountMeanSketch(epsilon=4, salt="favourite emoji")
    >>> reports = [sketch.randomize("🎉") for _ in range(3)]               # on the devices
    >>> sketch.estimate(reports, ["🎉", "🙂"]).labels                      # at home
    ('🎉', '🙂')
    """

    __slots__ = ()

    protocol = "sketch"

    def __init__(
        self,
        *,
        epsilon: object,
        functions: int = FUNCTIONS,
        wide: int = WIDE,
        salt: str = SALT,
        planes: int = PLANES,
    ) -> None:
        self._declare(functions, wide, salt)
        self.requested_epsilon = coins.check_epsilon(epsilon)
        self.lie = lie_coin(coins.likelihood_bound(self.requested_epsilon / 2), planes=planes)
        self.epsilon = coins.cost(1 / self.lie.chance - 1, self.requested_epsilon, times=2)
        self.width = check_report_width(self._head + -(-wide // 8), self.protocol)

    @property
    def _head(self) -> int:
        """How many bytes the function's number takes."""
        return bytes_needed(self.functions - 1)

    def draw_sketch_reports(self, words: CodedWords, *, bits: Bits) -> Reports:
        made = np.empty((words.codes.size, self.width), dtype=np.uint8)
        rows = max(1, _PIECE // self.wide)
        functions = uniform.whole_below(self.functions, words.codes.size, bits=bits)
        places = self._hashes.places(words, functions)
        made[:, : self._head] = numbers_to_bytes(functions, self._head)
        for start in range(0, places.size, rows):
            own = places[start : start + rows]
            noisy_bits = self.lie.flips(own.size * self.wide, bits=bits).reshape(own.size, self.wide)
            noisy_bits[np.arange(own.size), own] ^= True
            made[start : start + rows, self._head :] = np.packbits(noisy_bits, axis=1)
        return made

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """Any function there is, and any bits but those that fill up the last byte."""
        spare = (1 << (-self.wide % 8)) - 1
        return np.asarray((bytes_to_numbers(reports[:, : self._head]) < self.functions) & (reports[:, -1] & spare == 0))

    def tally(self, reports: Reports) -> GroupTally:
        return tally_bits(
            bytes_to_numbers(reports[:, : self._head]), reports[:, self._head :], self.functions, self.wide
        )

    def levels(self, tally: GroupTally) -> NDArray[np.float64]:
        return np.asarray((tally.sums - tally.users[:, None] * float(self.lie.chance)) * self.sharpness)

    @property
    def noise(self) -> tuple[float, float, float]:
        # A flipped bit has the variance lie (1 - lie), whichever it is: (sharpness^2 - 1)/4 once undone.
        own = (self.sharpness**2 - 1) / 4
        return own, own + 1 / self.wide, self.wide * own + 1

    @property
    def reach(self) -> float:
        return self.sharpness * self.wide / (self.wide - 1)


class HadamardSketch(Sketch):
    """The function's number, a row of the matrix of signs, and that row's sign at the word's place: one noisy bit.

    Guarantee: epsilon-differentially private for each report.
    Because: function and row are drawn whatever the word is; the one bit that depends on the word is told wrongly
        with probability `lie`, so that the ratio of likelihoods is at most (1 - lie) / lie: a lie of
        1 / (1 + e^epsilon).
    Draws: first the function, then the row, then one flip. The report is the whole number
        2 (m function + row) + bit, where the bit is 1 for a sign of -1, flipped if the coin says so.
    """

    __slots__ = ()

    protocol = "hadamard-sketch"

    def __init__(
        self,
        *,
        epsilon: object,
        functions: int = FUNCTIONS,
        wide: int = WIDE,
        salt: str = SALT,
        planes: int = PLANES,
    ) -> None:
        self._declare(functions, wide, salt)
        self.requested_epsilon = coins.check_epsilon(epsilon)
        self.lie = lie_coin(coins.likelihood_bound(self.requested_epsilon), planes=planes)
        self.epsilon = coins.cost(1 / self.lie.chance - 1, self.requested_epsilon)
        self.width = bytes_needed(2 * functions * wide - 1)

    def draw_sketch_reports(self, words: CodedWords, *, bits: Bits) -> Reports:
        functions = uniform.whole_below(self.functions, words.codes.size, bits=bits)
        rows = uniform.whole_below(self.wide, words.codes.size, bits=bits)
        lies = self.lie.flips(words.codes.size, bits=bits)
        noisy_signs = signs(rows, self._hashes.places(words, functions)) ^ lies
        return numbers_to_bytes(2 * (self.wide * functions + rows) + noisy_signs, self.width)

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        return np.asarray(bytes_to_numbers(reports) < 2 * self.functions * self.wide)

    def tally(self, reports: Reports) -> GroupTally:
        shape = (self.functions, self.wide, 2)
        sign_counts = np.bincount(bytes_to_numbers(reports), minlength=2 * self.functions * self.wide).reshape(shape)
        return GroupTally(users=sign_counts.sum(axis=(1, 2)), sums=sign_counts[:, :, 0] - sign_counts[:, :, 1])

    def levels(self, tally: GroupTally) -> NDArray[np.float64]:
        """Because: rows of signs are orthogonal, so a drawn row's sign here times that at the word's place is 1 on
        average where the two places are one, and 0 otherwise."""
        return np.asarray(transform(tally.sums) * self.sharpness)

    @property
    def noise(self) -> tuple[float, float, float]:
        square = self.sharpness**2
        return square - 1, square, square * self.wide

    @property
    def reach(self) -> float:
        return 2 * self.sharpness * self.wide / (self.wide - 1)
