"""Words that nobody thought of beforehand: frequent ones are found letter by letter.

Each device is in one group by chance, and reports the beginning of its word, as long as its group's. At home
the beginnings that are frequent in one group are made longer in all ways, and looked for in the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.mechanisms import uniform
from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols.coins import PLANES
from discreet.surveys.protocols.estimate import Estimate
from discreet.surveys.protocols.group_tally import GroupTally
from discreet.surveys.protocols.hash_functions import CodedWords, code_words
from discreet.surveys.protocols.option_checks import check_whole, non_default
from discreet.surveys.protocols.randomizer import Randomizer, Reports, Values
from discreet.surveys.protocols.several_questions import scale_estimate_to_all
from discreet.surveys.protocols.sketch import SALT, HadamardSketch
from discreet.surveys.protocols.word_bytes import WordSpelling

FUNCTIONS = 64
WIDE = 4096
#: In so many ways may a beginning be made longer in one step.
_MOST_GROWN = 1 << 12
#: The chance that noise alone makes any beginning look frequent.
_FALSE_POSITIVE_CHANCE = 0.05


class PrefixWords(Randomizer):
    """Find frequent words of at most `length` bytes: report a prefix by a Hadamard sketch, with the whole epsilon.

    There are `groups` lengths of beginnings, and one group more that reports whole words through functions of its own:
    nobody in it had a part in finding the words, so that their counts and intervals are as good as if the words had
    been listed beforehand. Some words may be missed: those held by fewer than the noise of a group lets stand out.

    Guarantee: epsilon-differentially private for each report.
    Because: the group is drawn whatever the word is; given it, the report is a HadamardSketch's of a function of the
        word.
    Draws: first the group, then as HadamardSketch: the function, the row, one flip.

    >>> found = PrefixWords(epsilon=4, length=8, alphabet="abcdefghijklmnopqrstuvwxyz")
    >>> len(found.randomize("holiday"))
    4
    """

    __slots__ = ("counting", "cuts", "finding", "spelling")

    protocol = "prefix-words"

    def __init__(
        self,
        *,
        epsilon: object,
        length: int = 16,
        alphabet: str | None = None,
        groups: int | None = None,
        functions: int = FUNCTIONS,
        wide: int = WIDE,
        salt: str = SALT,
        planes: int = PLANES,
    ) -> None:
        self.spelling = WordSpelling(length=length, alphabet=alphabet)
        self.cuts = self._cuts(groups)
        self.finding = HadamardSketch(
            epsilon=epsilon, functions=functions, wide=wide, salt=f"{salt}/find", planes=planes
        )
        self.counting = HadamardSketch(
            epsilon=epsilon, functions=functions, wide=wide, salt=f"{salt}/count", planes=planes
        )
        self.requested_epsilon, self.epsilon = self.finding.requested_epsilon, self.finding.epsilon
        self.width = 1 + self.finding.width

    def _cuts(self, groups: int | None) -> tuple[int, ...]:
        """How long each group's beginnings are: in as few steps as the letters allow, or as were asked for."""
        length, letters = self.spelling.length, len(self.spelling.letters)
        step = max(by for by in range(1, length + 1) if by == 1 or letters**by <= _MOST_GROWN)
        many = -(-length // step) if groups is None else check_whole(groups, name="groups", low=1, high=length)
        if letters ** -(-length // many) > _MOST_GROWN:
            raise UsageError(f"Words of {length} bytes need {-(-length // step)} to {length} groups, not {many}.")
        return tuple(-(-length * (group + 1) // many) for group in range(many))

    def canonical(self, value: Any) -> str:
        return f"word {self.spelling.padded(value).hex()}"

    def draw_reports(self, values: Values, *, bits: Bits) -> Reports:
        words = code_words(values, self.spelling.padded)
        groups = uniform.whole_below(len(self.cuts) + 1, words.codes.size, bits=bits)
        ends = (*self.cuts, self.spelling.length)
        keys = [word[:end] for word in words.keys for end in ends]
        made = np.empty((groups.size, self.width), dtype=np.uint8)
        made[:, 0] = groups
        for sketch, rows in self._sketches(groups):
            part = CodedWords(keys, words.codes[rows] * len(ends) + groups[rows])
            made[rows, 1:] = sketch.draw_sketch_reports(part, bits=bits)
        return made

    def _sketches(self, groups: NDArray[np.int64]) -> list[tuple[HadamardSketch, NDArray[np.int64]]]:
        """Which rows go through which sketch; a sketch without rows draws nothing."""
        counted = groups == len(self.cuts)
        both = [(self.finding, np.flatnonzero(~counted)), (self.counting, np.flatnonzero(counted))]
        return [(sketch, rows) for sketch, rows in both if rows.size]

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        return np.asarray((reports[:, 0] <= len(self.cuts)) & self.finding.valid(reports[:, 1:]))

    def tallies(self, reports: Reports) -> list[GroupTally]:
        """The sums of each group, the one that counts last."""
        inner = [reports[reports[:, 0] == group, 1:] for group in range(len(self.cuts) + 1)]
        return [self.finding.tally(part) for part in inner]

    def estimate(self, reports: Reports | Sequence[bytes], *, most: int = 32) -> Estimate:
        """Return the most frequent words, and an unbiased count of each by people who did not help to find it."""
        tallies = self.tallies(self.matrix(reports))
        words = [word for word in map(self.spelling.read, self._find_words(tallies, most)) if word is not None]
        n = sum(tally.n for tally in tallies)
        return self._estimate_words(words, tallies[-1], n)

    def _find_words(self, tallies: list[GroupTally], most: int) -> list[bytes]:
        """Padded words, made longer group by group from the beginnings that stand out."""
        prefixes = [b""]
        for end, tally in zip(self.cuts, tallies, strict=False):
            grown = self.spelling.extend_prefixes(prefixes, end - len(prefixes[0]) if prefixes else 0)
            prefixes = frequent_keys(
                self.finding, tally, grown, most=most, false=_FALSE_POSITIVE_CHANCE / len(self.cuts)
            )
        return prefixes

    def _estimate_words(self, words: list[str], tally: GroupTally, n: int) -> Estimate:
        """Counts in one group of the n, whose members were drawn from all: scaled up, with the drawing's variance."""
        keys = [self.spelling.padded(word) for word in words]
        estimate = self.counting.estimate_keys(words, keys, tally)
        return scale_estimate_to_all(estimate, n) if tally.n else replace(estimate, n=n)

    def options(self) -> dict[str, Any]:
        return {
            "length": self.spelling.length,
            "alphabet": self.spelling.alphabet,
            "groups": len(self.cuts),
            "functions": self.finding.functions,
            "wide": self.finding.wide,
            "salt": self.finding.options()["salt"].removesuffix("/find"),
            **non_default(planes=(self.finding.lie.planes, PLANES)),
        }

    def numbers(self) -> dict[str, Any]:
        return {**self.finding.numbers(), "cuts": list(self.cuts)}


def frequent_keys(
    sketch: HadamardSketch, tally: GroupTally, keys: Sequence[bytes], *, most: int, false: float
) -> list[bytes]:
    """The most frequent keys, of those that noise makes look so frequent with a chance of at most `false` in all."""
    if not keys or not tally.n:
        return []
    counts = sketch.counts(sketch.levels(tally), keys, tally.n)
    spread = np.sqrt(sketch.variances(np.zeros(1), tally.n, sketch.second_moment(tally)))
    ordered = np.argsort(-counts, kind="stable")[:most]
    least = threshold(false, len(keys)) * float(spread[0])
    return [keys[place] for place in ordered.tolist() if counts[place] > least]


def threshold(false: float, many: int) -> float:
    """How many standard deviations all of so many noises stay below, but for a chance of `false`."""
    return -NormalDist().inv_cdf(float(Fraction(false) / many))
