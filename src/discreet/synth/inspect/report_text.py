"""Numbers and names as the report shows them, on its page and in a terminal."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import accumulate

from discreet.present.cell_text import NULL
from discreet.schema.column import Label
from discreet.synth.inspect.simple_questions import value_text


def shorten(text: str, letters: int) -> str:
    """Text cut to the width of so many Latin letters.

    >>> shorten("widowed or divorced", 8), shorten("single", 8), shorten("東京都新宿区", 8)
    ('widowed…', 'single', '東京都…')
    """
    ends = list(accumulate(_width(letter) for letter in text))
    if not ends or ends[-1] <= letters:
        return text
    return text[: sum(end < letters for end in ends)].rstrip() + "…"


def _width(letter: str) -> int:
    return 2 if unicodedata.east_asian_width(letter) in "WF" else 1


def label_text(label: Label) -> str:
    """A value of a column."""
    return NULL if label is None else value_text(label) or "(empty)"


def rounded(count: float) -> str:
    """A number of rows with no more digits than anybody needs.

    >>> rounded(48842.4), rounded(3.26), rounded(0.02), rounded(0)
    ('48,842', '3.3', '0.02', '0')
    """
    if abs(count) >= 10:
        return f"{count:,.0f}"
    return f"{count:.1f}".removesuffix(".0") if abs(count) >= 1 else f"{count:.2g}"


def model_count_text(count: float) -> str:
    """A model's number of rows: what is less than half a row is none.

    >>> model_count_text(2e-19), model_count_text(0.49), model_count_text(0.5), model_count_text(48842.4)
    ('0', '0', '0.5', '48,842')
    """
    return "0" if abs(count) < 0.5 else rounded(count)


def percent(share: float) -> str:
    """A share in percent.

    >>> percent(0.5), percent(0.012), percent(0.00001), percent(1)
    ('50%', '1.2%', '<0.1%', '100%')
    """
    if 0 < share < 0.001:
        return "<0.1%"
    return f"{100 * share:.1f}".removesuffix(".0") + "%" if share < 0.1 else f"{100 * share:.0f}%"


def tenths(share: float) -> str:
    """A share in percent, to a tenth: for numbers that stand below each other.

    >>> tenths(0.13), tenths(0.0402)
    ('13.0%', '4.0%')
    """
    return f"{100 * share:.1f}%"


def crossed_names(names: Sequence[str]) -> str:
    """The columns of one table.

    >>> crossed_names(["age", "sex"])
    'age × sex'
    """
    return " × ".join(names)


def parents_words(most: int, degree: int | None) -> str:
    """How many parents columns of a network have, and how many were asked for.

    >>> parents_words(1, 2), parents_words(2, 2), parents_words(1, None)
    ('K = 2, at most 1 parent used', 'K = 2', 'at most 1 parent')
    """
    words = f"at most {count_noun(most, 'parent')}"
    if degree is None:
        return words
    return f"K = {degree}" if most == degree else f"K = {degree}, {words} used"


def count_noun(count: int, one: str, many: str = "") -> str:
    """A number and its noun.

    >>> count_noun(1, "pair"), count_noun(2, "pair")
    ('1 pair', '2 pairs')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
