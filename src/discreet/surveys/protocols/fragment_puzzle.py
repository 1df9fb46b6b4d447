"""Apple's sequence fragment puzzle: unknown words put together from fragments that bear a tag.

Each device reports one fragment of its word, together with a small hash of the whole word, its tag; and the whole
word through a sketch. At home the fragments that are frequent at each position and bear one tag are joined, and
what comes of it is looked for in the sketch.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet import exact
from discreet.errors import UsageError
from discreet.mechanisms import uniform
from discreet.mechanisms.bits import Bits
from discreet.surveys.protocols import coins
from discreet.surveys.protocols.choice_randomizer import bytes_needed, bytes_to_numbers, numbers_to_bytes
from discreet.surveys.protocols.coins import PLANES
from discreet.surveys.protocols.estimate import Estimate
from discreet.surveys.protocols.hash_functions import MOST_WIDE, HashFunctions, code_words
from discreet.surveys.protocols.noise_layers import lie_coin, parse_fraction
from discreet.surveys.protocols.option_checks import non_default
from discreet.surveys.protocols.prefix_words import frequent_keys, threshold
from discreet.surveys.protocols.randomizer import Randomizer, Reports, Values
from discreet.surveys.protocols.sketch import FUNCTIONS, SALT, WIDE, HadamardSketch
from discreet.surveys.protocols.walsh import signs, transform
from discreet.surveys.protocols.word_bytes import WordSpelling

TAGS = 256
#: Fragments of two bytes, where so many pairs of letters fit.
_MOST_PAIRS = MOST_WIDE // TAGS
#: Beginnings that are pursued for one tag.
_MOST_JOINED = 1 << 10
#: The chance that noise alone makes any fragment look frequent, and any word.
_FALSE_POSITIVE_CHANCE = 0.05


class FragmentPuzzle(Randomizer):
    """Find unknown frequent words: report a noisy bit about one tagged fragment, and a HadamardSketch of the word.

    Tag, letter and letter are numbered without two of them sharing a number: number = tag B^size + letters in base B.
    So the fragments need no hashing, and no two fall together.

    Guarantee: epsilon-differentially private for each report, both parts together.
    Because: position, rows and function are drawn whatever the word is. One bit is about the fragment and told wrongly
        with probability `lie`, one about the word; they are flipped independently, so that the ratios multiply:
        `share` of epsilon goes to the fragment, the rest to the word.
    Draws: first the position; then the fragment's row and its flip; then as HadamardSketch: the function, the row,
        one flip.
    """

    __slots__ = ("lie", "share", "size", "spelling", "tags", "whole")

    protocol = "puzzle"

    def __init__(
        self,
        *,
        epsilon: object,
        length: int = 12,
        alphabet: str | None = None,
        share: object = "1/2",
        functions: int = FUNCTIONS,
        wide: int = WIDE,
        salt: str = SALT,
        planes: int = PLANES,
    ) -> None:
        self.spelling = WordSpelling(length=length, alphabet=alphabet)
        self.size = 2 if len(self.spelling.letters) ** 2 <= _MOST_PAIRS else 1
        self.requested_epsilon = coins.check_epsilon(epsilon)
        self.share = _share(share)
        rest = self.requested_epsilon * (1 - self.share)
        self.whole = HadamardSketch(epsilon=rest, functions=functions, wide=wide, salt=f"{salt}/word", planes=planes)
        self.tags = HashFunctions(salt=f"{salt}/tag", many=1, wide=TAGS)
        self.lie = lie_coin(coins.likelihood_bound(self.requested_epsilon * self.share), planes=planes)
        fragment = 1 / self.lie.chance - 1
        both = coins.epsilon_of(fragment * (1 / self.whole.lie.chance - 1))
        # Each costs at most its share of what was asked for, so that both together cost at most all of it.
        self.epsilon = min(both, coins.cost(fragment, self.requested_epsilon * self.share) + self.whole.epsilon)
        self.width = 1 + self._middle + self.whole.width

    @property
    def positions(self) -> int:
        return -(-self.spelling.length // self.size)

    @property
    def fragments(self) -> int:
        """How many there are of one tag."""
        return int(len(self.spelling.letters) ** self.size)

    @property
    def rows(self) -> int:
        """A power of two that numbers all tagged fragments."""
        return 1 << (TAGS * self.fragments - 1).bit_length()

    @property
    def _middle(self) -> int:
        """How many bytes the fragment's part takes."""
        return bytes_needed(2 * self.rows - 1)

    def canonical(self, value: Any) -> str:
        return f"word {self._padded(value).hex()}"

    def draw_reports(self, values: Values, *, bits: Bits) -> Reports:
        words = code_words(values, self._padded)
        numbers = self.fragment_numbers(words.keys)
        positions = uniform.whole_below(self.positions, words.codes.size, bits=bits)
        rows = uniform.whole_below(self.rows, words.codes.size, bits=bits)
        noisy_signs = signs(rows, numbers[words.codes, positions]) ^ self.lie.flips(words.codes.size, bits=bits)
        whole = self.whole.draw_sketch_reports(words, bits=bits)
        return np.hstack(
            [numbers_to_bytes(positions, 1), numbers_to_bytes(2 * rows + noisy_signs, self._middle), whole]
        )

    def _padded(self, word: object) -> bytes:
        """A word filled up to whole fragments."""
        return self.spelling.padded(word).ljust(self.positions * self.size, b"\0")

    def fragment_numbers(self, keys: Sequence[bytes]) -> NDArray[np.int64]:
        """The number of each padded word's tagged fragment at each position: different for different ones."""
        digits = np.zeros(256, dtype=np.int64)
        digits[list(self.spelling.letters)] = np.arange(len(self.spelling.letters))
        spelled = digits[np.frombuffer(b"".join(keys), dtype=np.uint8)].reshape(len(keys), self.positions, self.size)
        powers = len(self.spelling.letters) ** np.arange(self.size)[::-1]
        tags = self.tags.table(keys)[:, 0].astype(np.int64)
        return np.asarray(tags[:, None] * self.fragments + spelled @ powers)

    def fragment(self, number: int) -> bytes:
        """The fragment that has this number among those of one tag."""
        letters, base = self.spelling.letters, len(self.spelling.letters)
        return bytes(letters[number // base**place % base] for place in range(self.size)[::-1])

    def valid(self, reports: Reports) -> NDArray[np.bool_]:
        middle = bytes_to_numbers(reports[:, 1 : 1 + self._middle])
        whole = self.whole.valid(reports[:, 1 + self._middle :])
        return np.asarray((reports[:, 0] < self.positions) & (middle < 2 * self.rows) & whole)

    def estimate(self, reports: Reports | Sequence[bytes], *, most: int = 32) -> Estimate:
        """The frequent words, at most so many, and how many hold each.

        A word is listed when it stands out in the sketch, and counted by the same sketch. So the counts of words that
        only just stand out are too high by as much as their luck; those far above are not. PrefixWords counts with
        people of their own.
        """
        report_matrix = self.matrix(reports)
        tally = self.whole.tally(report_matrix[:, 1 + self._middle :])
        keys = frequent_keys(
            self.whole, tally, self.join_fragments(report_matrix), most=most, false=_FALSE_POSITIVE_CHANCE
        )
        return self.whole.estimate_keys([self.spelling.read(key) or "" for key in keys], keys, tally)

    def join_fragments(self, reports: Reports) -> list[bytes]:
        """Padded words that can be put together from frequent fragments of one tag, and have that tag."""
        frequent = [self._frequent_fragments(reports[reports[:, 0] == position]) for position in range(self.positions)]
        words: list[bytes] = []
        for tag in set.intersection(*({number // self.fragments for number in some} for some in frequent)):
            words += self._join_for_tag(tag, [[n for n in some if n // self.fragments == tag] for some in frequent])
        return words

    def _join_for_tag(self, tag: int, frequent: list[list[int]]) -> list[bytes]:
        begun = [b""]
        for some in frequent:
            ends = [self.fragment(number % self.fragments) for number in some]
            longer = (begin + end for begin in begun for end in ends)
            begun = [begin for begin in longer if self.spelling.is_prefix(begin)][:_MOST_JOINED]
        words = [word for word in begun if self.spelling.read(word) is not None]
        return (
            [word for word, own in zip(words, self.tags.table(words)[:, 0], strict=True) if own == tag] if words else []
        )

    def _frequent_fragments(self, reports: Reports) -> list[int]:
        """The numbers of the tagged fragments that stand out at one position, the most frequent first."""
        sign_counts = np.bincount(bytes_to_numbers(reports[:, 1 : 1 + self._middle]), minlength=2 * self.rows).reshape(
            -1, 2
        )
        sharpness = 1 / (1 - 2 * float(self.lie.chance))
        levels = transform(sign_counts[:, 0] - sign_counts[:, 1])[: TAGS * self.fragments] * sharpness
        many = TAGS * self.fragments * self.positions
        least = threshold(_FALSE_POSITIVE_CHANCE, many) * sharpness * np.sqrt(len(reports))
        standing = np.flatnonzero(levels > max(least, 0))
        return [int(number) for number in standing[np.argsort(-levels[standing], kind="stable")]]

    def options(self) -> dict[str, Any]:
        return {
            "length": self.spelling.length,
            "alphabet": self.spelling.alphabet,
            "share": exact.write(self.share),
            "functions": self.whole.functions,
            "wide": self.whole.wide,
            "salt": self.tags.salt.removesuffix("/tag"),
            **non_default(planes=(self.lie.planes, PLANES)),
        }

    def numbers(self) -> dict[str, Any]:
        return {
            "lie": self.lie.heads,
            "positions": self.positions,
            "size": self.size,
            "rows": self.rows,
            "letters": list(self.spelling.letters),
            "whole": self.whole.numbers(),
        }


def _share(share: object) -> Fraction:
    """The fragment's part of epsilon."""
    fraction = parse_fraction(share, name="share")
    if not 0 < fraction < 1:
        raise UsageError(f"The share of the fragment must be between 0 and 1, not {exact.show(fraction)}.")
    return fraction
