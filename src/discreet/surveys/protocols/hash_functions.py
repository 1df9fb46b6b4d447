"""Public hash functions of words: which place of a sketch or a Bloom filter a word falls on.

Nothing here is secret or random: whoever knows the salt knows every function. They are made of SHA-256,
so that words do not fall together by design, and so that JavaScript finds the same places.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.errors import UsageError
from discreet.surveys.protocols.option_checks import check_label, check_whole, is_encodable
from discreet.surveys.protocols.randomizer import Values

#: A longer answer is not a word.
MOST_BYTES = 1024
#: A digest has eight words of 32 bits, one for each of eight functions.
_EACH = 8
MOST_FUNCTIONS = 1 << 16
MOST_WIDE = 1 << 20
#: Functions times places: Apple's 65,536 of 1,024. A server's table is half a gigabyte then.
MOST_CELLS = 1 << 26


class CodedWords(NamedTuple):
    """Answers as places in a list of the different ones among them."""

    keys: list[bytes]
    codes: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class HashFunctions:
    """`many` functions from words to places 0 .. wide - 1, chosen by a public `salt`.

    Function j of a word is the low bits of the 32-bit word (most significant byte first) number j mod 8 of
    SHA-256(length of the salt | salt | j div 8 | word), both numbers as 4 bytes, most significant first. The
    lengths make the framing unambiguous: no two of (salt, block, word) are hashed alike.
    """

    salt: str
    many: int
    wide: int

    def __post_init__(self) -> None:
        check_label(self.salt, name="salt")
        check_whole(self.many, name="functions", low=1, high=MOST_FUNCTIONS)
        if not is_power_of_two(self.wide) or not 2 <= self.wide <= MOST_WIDE:
            raise UsageError(f"The width of a sketch must be a power of two from 2 to {MOST_WIDE:,}, not {self.wide}.")
        if self.many * self.wide > MOST_CELLS:
            raise UsageError(f"Functions times width must be at most {MOST_CELLS:,}, not {self.many * self.wide:,}.")

    def table(self, keys: Sequence[bytes]) -> NDArray[np.uint32]:
        """The place of each key by each function."""
        prefixes = [self._prefix(block) for block in range(-(-self.many // _EACH))]
        digest_words = _words(prefix + key for key in keys for prefix in prefixes)
        return digest_words.reshape(len(keys), len(prefixes) * _EACH)[:, : self.many] & np.uint32(self.wide - 1)

    def places(self, coded: CodedWords, functions: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place of each answer by the function that was drawn for it."""
        blocks = -(-self.many // _EACH)
        if len(coded.keys) * blocks <= coded.codes.size:
            return self.table(coded.keys)[coded.codes, functions].astype(np.int64)
        lanes = zip(coded.codes.tolist(), (functions // _EACH).tolist(), strict=True)
        digest_words = _words(self._prefix(block) + coded.keys[code] for code, block in lanes)
        chosen = digest_words.reshape(-1, _EACH)[np.arange(functions.size), functions % _EACH]
        return (chosen & np.uint32(self.wide - 1)).astype(np.int64)

    def _prefix(self, block: int) -> bytes:
        salt = self.salt.encode()
        return len(salt).to_bytes(4, "big") + salt + block.to_bytes(4, "big")


def encode_word(word: object) -> bytes:
    """A word as the bytes that are hashed: UTF-8 of its composed form (NFC), so that an é is an é."""
    if not isinstance(word, str) or not is_encodable(word):
        raise UsageError("An answer must be a word: text in valid Unicode.")
    utf8_bytes = unicodedata.normalize("NFC", word).encode()
    if not 1 <= len(utf8_bytes) <= MOST_BYTES:
        raise UsageError(f"A word must have 1 to {MOST_BYTES:,} bytes, not {len(utf8_bytes):,}.")
    return utf8_bytes


def code_words(values: Values, encode: Callable[[object], bytes] | None = None) -> CodedWords:
    """Answers as places in a list of the different ones. Refuses what is no word."""
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    try:
        seen = {value: code for code, value in enumerate(dict.fromkeys(listed))}
    except TypeError:
        raise UsageError("An answer must be a word, as text.") from None
    keys = [(encode or encode_word)(value) for value in seen]
    return CodedWords(keys, np.fromiter(map(seen.__getitem__, listed), dtype=np.int64, count=len(listed)))


def encode_candidates(words: Sequence[str]) -> list[bytes]:
    """Words to be counted: some, and each once."""
    if isinstance(words, str) or not len(words):
        raise UsageError("The words to be counted must be a list.")
    keys = [encode_word(word) for word in words]
    if len(set(keys)) != len(keys):
        twice = words[keys.index(Counter(keys).most_common(1)[0][0])]
        raise UsageError(f"The word {twice!r} occurs twice.")
    return keys


def is_power_of_two(number: object) -> bool:
    return type(number) is int and number > 0 and number & (number - 1) == 0


def _words(messages: Iterable[bytes]) -> NDArray[np.uint32]:
    """The digests of all messages, as words of 32 bits."""
    sha256 = hashlib.sha256
    joined = b"".join([sha256(message).digest() for message in messages])
    return np.frombuffer(joined, dtype=">u4").astype(np.uint32)
