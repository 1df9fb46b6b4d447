"""Weak passwords: what everybody tries first. Refused where one is chosen, by rules and a list that is kept here.

Argon2id makes each guess expensive and the throttle makes guesses few, so it is the first thousands of guesses that
matter: common words with digits around them, walks over the keyboard, one's own name, a few letters again and again.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path

#: Fewer different characters than this are no password, however long.
LEAST_DIFFERENT = 5
#: Digits nearly alone: dates, telephone numbers, sequences.
LEAST_DIGITS = 16
#: So many letters beside what everybody tries are a password's own.
LEAST_OWN = 4
#: Common words that are one after another; three are a phrase.
MOST_WORDS = 2

_SEQUENCES = (
    "abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "zxcvbnm",
    "yxcvbnm", "1q2w3e4r5t6y7u8i9o0p", "1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik9ol0p", "qazwsxedcrfvtgbyhnujmikolp",
)  # fmt: skip
_SHORTEST_RUN = 3
_SIGNS = str.maketrans({"0": "o", "1": "l", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i"})


def weakness(password: str, names: Sequence[str] = ()) -> str:
    """Why a password is one of the first that are tried; empty where it is not. `names`: its person's own.

    >>> weakness("Password2026!"), weakness("correct horse battery")
    ('it is a common word with a few characters added', '')
    """
    small = unicodedata.normalize("NFKC", password).casefold()
    if len(set(small)) < LEAST_DIFFERENT:
        return "it repeats a few characters"
    if len(small) < LEAST_DIGITS and sum(map(str.isalpha, small)) < LEAST_OWN:
        return "it has almost no letters"
    if len(_without_runs(small)) < LEAST_OWN:
        return "it follows the keyboard or the alphabet"
    own = {part for name in names for part in _name_parts(name)}
    inner = small.strip("".join(letter for letter in small if not letter.isalpha()))
    for form in (small, small.translate(_SIGNS), inner.translate(_SIGNS)):
        letters = "".join(letter for letter in form if letter.isalpha())
        if own and _is_made_of(letters, own | common_words()) and not _is_made_of(letters, common_words()):
            return "it is made of the person's own name"
        if _is_made_of(letters, common_words()):
            return "it is a common word with a few characters added"
    return ""


@cache
def common_words() -> frozenset[str]:
    """The kept list."""
    lines = (Path(__file__).with_name("common_words.txt")).read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def _is_made_of(letters: str, words: Collection[str]) -> bool:
    """Whether letters are at most so many words, one after another, or one again and again."""
    if len(letters) < LEAST_OWN:
        return False
    fewest: dict[int, int] = {0: 0}
    for end in range(1, len(letters) + 1):
        counts = [
            fewest[start] + (0 if _again(letters, start, end) else 1) for start in fewest if letters[start:end] in words
        ]
        if counts:
            fewest[end] = min(counts)
    return fewest.get(len(letters), MOST_WORDS + 1) <= MOST_WORDS


def _again(letters: str, start: int, end: int) -> bool:
    """Whether a word is the one before it."""
    return letters[:start].endswith(letters[start:end])


def _without_runs(text: str) -> str:
    """What stays of a text when runs along the keyboard and the alphabet are taken out of it, in either direction."""
    rest, start = [], 0
    while start < len(text):
        longest = max((_run(text, start, way) for each in _SEQUENCES for way in (each, each[::-1])), default=0)
        if longest >= _SHORTEST_RUN:
            start += longest
        else:
            rest.append(text[start])
            start += 1
    return "".join(rest)


def _run(text: str, start: int, sequence: str) -> int:
    """How many characters from a place on follow a sequence."""
    at = sequence.find(text[start : start + _SHORTEST_RUN])
    if at < 0 or len(text) - start < _SHORTEST_RUN:
        return 0
    length = _SHORTEST_RUN
    while start + length < len(text) and sequence[at + length : at + length + 1] == text[start + length]:
        length += 1
    return length


def _name_parts(name: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", name).casefold()
    parts = "".join(letter if letter.isalpha() else " " for letter in folded).split()
    return [part for part in [*parts, "".join(parts)] if len(part) > 2]
