"""Words spelled out as bytes, for those who must be guessed letter by letter.

A word is the UTF-8 of its composed form (NFC), filled up with zero bytes. Bytes and not characters are
the letters: there are few of them, and an emoji is only a longer word.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from discreet.errors import UsageError
from discreet.surveys.protocols.hash_functions import encode_word
from discreet.surveys.protocols.option_checks import check_whole

MOST_LENGTH = 64
#: Every byte that UTF-8 uses, but zero, which ends a word.
_BYTES = tuple(byte for byte in range(1, 0xF5) if byte not in (0xC0, 0xC1))


@dataclass(frozen=True, slots=True, kw_only=True)
class WordSpelling:
    """Words of at most `length` bytes; of these characters only, where an `alphabet` is declared."""

    length: int
    alphabet: str | None = None

    def __post_init__(self) -> None:
        check_whole(self.length, name="length", low=1, high=MOST_LENGTH)
        if self.alphabet is not None and b"\0" in encode_word(self.alphabet):
            raise UsageError("An alphabet must list the characters that words can have, without the zero byte.")

    @property
    def letters(self) -> tuple[int, ...]:
        """The bytes that words are made of, and first of all the zero that ends them."""
        return (0, *(_BYTES if self.alphabet is None else sorted(set(self.alphabet.encode()))))

    def padded(self, word: object) -> bytes:
        """The word as `length` bytes; refuses what is none, or too long."""
        word_bytes = encode_word(word)
        if len(word_bytes) > self.length or b"\0" in word_bytes or self.read(word_bytes) is None:
            letters = "" if self.alphabet is None else " and use only the declared alphabet"
            raise UsageError(f"A word must have at most {self.length} bytes{letters}.")
        return word_bytes.ljust(self.length, b"\0")

    def is_prefix(self, prefix: bytes) -> bool:
        """Whether some padded word begins so.

        A word is composed (NFC), and so is every piece of it. Else liars could bring in one word in two spellings.
        """
        spelled = prefix.rstrip(b"\0")
        ended = len(spelled) < len(prefix)
        if b"\0" in spelled or (ended and not spelled):
            return False
        try:
            letters = codecs.getincrementaldecoder("utf-8")().decode(spelled, ended)
        except UnicodeDecodeError:
            return False
        if not unicodedata.is_normalized("NFC", letters):
            return False
        return self.alphabet is None or all(letter in self.alphabet for letter in letters)

    def read(self, padded: bytes) -> str | None:
        """The word that was padded so, if any was."""
        spelled = padded.rstrip(b"\0")
        return spelled.decode() if len(spelled) <= self.length and self.is_prefix(spelled + b"\0") else None

    def extend_prefixes(self, prefixes: Iterable[bytes], by: int) -> list[bytes]:
        """All beginnings that are longer by so many bytes."""
        extended = list(prefixes)
        letters = [bytes([letter]) for letter in self.letters]
        for _ in range(by):
            longer = (
                prefix + letter for prefix in extended for letter in (letters[:1] if prefix[-1:] == b"\0" else letters)
            )
            extended = [prefix for prefix in longer if self.is_prefix(prefix)]
        return extended
