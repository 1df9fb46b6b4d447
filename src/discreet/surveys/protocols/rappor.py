"""RAPPOR: an answer noised once for good, and noised again each time it is sent.

The permanent bits are drawn once for an answer and kept on the device: however often the person is asked,
all reports together say no more about the answer than those bits do. The second noise makes a single
report say less still, and keeps the bits from naming the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.mechanisms import uniform
from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols.choice_randomizer import (
    ChoiceRandomizer,
    bytes_needed,
    bytes_to_numbers,
    check_report_width,
    numbers_to_bytes,
)
from discreet.surveys.protocols.coins import PLANES
from discreet.surveys.protocols.estimate import Estimate
from discreet.surveys.protocols.group_tally import GroupTally, bit_counts, tally_bits
from discreet.surveys.protocols.hash_functions import (
    CodedWords,
    HashFunctions,
    code_words,
    encode_candidates,
    encode_word,
)
from discreet.surveys.protocols.noise_layers import NoiseLayers, check_both_epsilons
from discreet.surveys.protocols.option_checks import check_whole, non_default
from discreet.surveys.protocols.randomizer import Randomizer, Reports, Values
from discreet.surveys.protocols.rappor_fit import bloom_filters, fit_word_counts
from discreet.surveys.protocols.sketch import SALT

#: Bits at a time: a batch of reports is made in pieces that stay in the cache.
_PIECE = 1 << 22


class Rappor(Randomizer):
    """Report a Bloom filter of the word in a random cohort, with two layers of noise.

    `epsilon` is what all reports of one word cost together, however many; `once` what a single one costs. A device
    keeps `permanent(word)` and sends `instant(kept)` each time; `randomize` does both and keeps nothing, so that a
    second call costs a second epsilon. One function is best for a given epsilon; Google used two.

    Guarantee: epsilon-differentially private for all reports of one permanent answer, `once` for a single report.
    Because: see `NoiseLayers`; the cohort is drawn whatever the word is, and `functions` hash functions set at most so
        many bits. (The cohort and the bits stay the same, so that many reports of a device can be linked to each
    other.)
    Draws: first the cohort, then the permanent bits, then (in `instant`) the sent bits: see `NoiseLayers`. In cohort c
        the word's bits are at its places by functions c h to c h + h - 1 of the family. What is kept and what is sent
        have one form: the cohort's number as a sketch's function, then the bits.
    """

    __slots__ = ("_hashes", "cohorts", "functions", "layers", "once", "requested_once")

    protocol = "rappor"

    def __init__(
        self,
        *,
        epsilon: object,
        once: object = None,
        functions: int = 1,
        wide: int = 128,
        cohorts: int = 32,
        salt: str = SALT,
        planes: int = PLANES,
    ) -> None:
        self.requested_epsilon, self.requested_once = check_both_epsilons(epsilon, once)
        self.functions = check_whole(functions, name="functions", low=1, high=16)
        self.cohorts = check_whole(cohorts, name="cohorts", low=1, high=1024)
        self._hashes = HashFunctions(salt=salt, many=functions * cohorts, wide=wide)
        self.layers = NoiseLayers.of(self.requested_epsilon, self.requested_once, functions=functions, planes=planes)
        self.epsilon = self.layers.epsilon(self.requested_epsilon, functions=functions)
        self.once = self.layers.once(self.requested_once, functions=functions)
        self.width = check_report_width(self._head + -(-wide // 8), self.protocol)

    @property
    def wide(self) -> int:
        return self._hashes.wide

    @property
    def _head(self) -> int:
        """How many bytes the cohort takes."""
        return bytes_needed(self.cohorts - 1)

    def permanent(self, value: str, *, bits: Bits) -> bytes:
        """On the device, once for an answer: to be kept there, and never sent as it is."""
        return bytes(self._permanents(code_words([value]), bits)[0])

    def instant(self, kept: bytes, *, bits: Bits) -> bytes:
        """On the device, each time: what may be sent of a permanent answer."""
        return bytes(self._instants(self.matrix([kept]), bits)[0])

    def canonical(self, value: Any) -> str:
        return f"word {encode_word(value).hex()}"

    def draw_reports(self, values: Values, *, bits: Bits) -> Reports:
        return self._instants(self._permanents(code_words(values), bits), bits)

    def _permanents(self, words: CodedWords, bits: Bits) -> Reports:
        drawn = uniform.whole_below(self.cohorts, words.codes.size, bits=bits)
        places = [self._hashes.places(words, drawn * self.functions + each) for each in range(self.functions)]
        made = np.empty((drawn.size, self.width), dtype=np.uint8)
        made[:, : self._head] = numbers_to_bytes(drawn, self._head)
        for rows in _pieces(drawn.size, self.wide):
            true = np.zeros((drawn[rows].size, self.wide), dtype=np.bool_)
            for place in places:
                true[np.arange(len(true)), place[rows]] = True
            made[rows, self._head :] = np.packbits(self.layers.draw_permanent_bits(true, bits=bits), axis=1)
        return made

    def _instants(self, kept: Reports, bits: Bits) -> Reports:
        made = kept.copy()
        for rows in _pieces(len(kept), self.wide):
            stored = np.unpackbits(kept[rows, self._head :], axis=1, count=self.wide).view(np.bool_)
            made[rows, self._head :] = np.packbits(self.layers.draw_sent_bits(stored, bits=bits), axis=1)
        return made

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """Any cohort there is, and any bits but those that fill up the last byte."""
        spare = (1 << (-self.wide % 8)) - 1
        return np.asarray((bytes_to_numbers(reports[:, : self._head]) < self.cohorts) & (reports[:, -1] & spare == 0))

    def tally(self, reports: Reports) -> GroupTally:
        """How many reports of each cohort there are, and how many of them set each bit."""
        return tally_bits(bytes_to_numbers(reports[:, : self._head]), reports[:, self._head :], self.cohorts, self.wide)

    def estimate(self, reports: Reports | Sequence[bytes], words: Sequence[str]) -> Estimate:
        """Estimate how many people have each of these words, by least squares over all of them: unbiased.

        Refused where the bits cannot tell the words apart. People with other words are allowed for as if their bits
        fell evenly; a word held by many that is not listed widens all intervals: list it.
        """
        return self.from_tally(self.tally(self.matrix(reports)), words)

    def from_tally(self, tally: GroupTally, words: Sequence[str]) -> Estimate:
        """The same from sums that were kept as reports came in."""
        table = self._hashes.table(encode_candidates(words)).astype(np.int64)
        bloom = bloom_filters(table.reshape(len(words), self.cohorts, self.functions), self.wide)
        one, zero = self.layers.chances
        rappor_fit = fit_word_counts(
            tally.sums, tally.users, bloom, chances=(float(one), float(zero)), functions=self.functions
        )
        return Estimate(
            labels=tuple(words),
            n=tally.n,
            counts=rappor_fit.counts,
            variances=rappor_fit.variances,
            reach=rappor_fit.reach,
        )

    def options(self) -> dict[str, Any]:
        return {
            "once": exact.write(self.requested_once),
            "functions": self.functions,
            "wide": self.wide,
            "cohorts": self.cohorts,
            "salt": self._hashes.salt,
            **non_default(planes=(self.layers.lie.planes, PLANES)),
        }

    def numbers(self) -> dict[str, Any]:
        return {
            **self.layers.numbers(),
            "functions": self.functions,
            "wide": self.wide,
            "cohorts": self.cohorts,
        }


class BasicRappor(ChoiceRandomizer):
    """RAPPOR over declared choices: one bit for each, with two layers of noise; no hashing and no cohorts.

    `epsilon` is what all reports of one choice cost together, `once` what a single one costs: see `Rappor`.

    Guarantee: epsilon-differentially private for all reports of one permanent answer, `once` for a single report.
    Because: see `NoiseLayers`; a choice sets one bit.
    Draws: first the permanent bits, then (in `instant`) the sent bits: see `NoiseLayers`.
    """

    __slots__ = ("layers", "once", "requested_once")

    protocol = "basic-rappor"

    def __init__(self, choices: Sequence[str], *, epsilon: object, once: object = None, planes: int = PLANES) -> None:
        self._declare(choices)
        self.requested_epsilon, self.requested_once = check_both_epsilons(epsilon, once)
        self.layers = NoiseLayers.of(self.requested_epsilon, self.requested_once, functions=1, planes=planes)
        self.epsilon = self.layers.epsilon(self.requested_epsilon, functions=1)
        self.once = self.layers.once(self.requested_once, functions=1)
        self.width = check_report_width(-(-len(self.choices) // 8), self.protocol)

    def permanent(self, value: str, *, bits: Bits) -> bytes:
        """On the device, once for an answer: to be kept there, and never sent as it is."""
        return bytes(self._permanents(self.codes([value]), bits)[0])

    def instant(self, kept: bytes, *, bits: Bits) -> bytes:
        """On the device, each time: what may be sent of a permanent answer."""
        return bytes(self._instants(self.matrix([kept]), bits)[0])

    def reports(self, codes: NDArray[np.int64], *, bits: Bits) -> Reports:
        return self._instants(self._permanents(codes, bits), bits)

    def _permanents(self, codes: NDArray[np.int64], bits: Bits) -> Reports:
        made = np.empty((codes.size, self.width), dtype=np.uint8)
        for rows in _pieces(codes.size, len(self.choices)):
            true = codes[rows, None] == np.arange(len(self.choices))
            made[rows] = np.packbits(self.layers.draw_permanent_bits(true, bits=bits), axis=1)
        return made

    def _instants(self, kept: Reports, bits: Bits) -> Reports:
        made = np.empty_like(kept)
        for rows in _pieces(len(kept), len(self.choices)):
            stored = np.unpackbits(kept[rows], axis=1, count=len(self.choices)).view(np.bool_)
            made[rows] = np.packbits(self.layers.draw_sent_bits(stored, bits=bits), axis=1)
        return made

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        """Any bits may be set but those that fill up the last byte."""
        return np.asarray(reports[:, -1] & ((1 << (-len(self.choices) % 8)) - 1) == 0)

    def supports(self, reports: Reports) -> NDArray[np.int64]:
        return bit_counts(reports)[: len(self.choices)]

    @property
    def chances(self) -> tuple[Fraction, Fraction]:
        return self.layers.chances

    def options(self) -> dict[str, Any]:
        return {**super().options(), "once": exact.write(self.requested_once)}

    def numbers(self) -> dict[str, Any]:
        return {**self.layers.numbers(), "choices": len(self.choices)}


def _pieces(many: int, wide: int) -> list[slice]:
    """Rows at a time."""
    rows = max(1, _PIECE // wide)
    return [slice(start, start + rows) for start in range(0, many, rows)]
