"""Numbers and lists as sentences have them: one person, two people; and never cut without saying so."""

from __future__ import annotations

from collections.abc import Sequence


def count_phrase(number: int, one: str, several: str) -> str:
    """A count and its noun.

    >>> [count_phrase(count, "person", "people") for count in (1, 2_000, 0)]
    ['1 person', '2,000 people', 'no people']
    """
    return f"{number:,} {one if number == 1 else several}" if number else f"no {several}"


def shorten_list(names: Sequence[str], most: int = 20) -> str:
    """The first of these names, and how many more there are.

    >>> shorten_list(["a", "b"]), shorten_list(["a", "b", "c", "d"], 2)
    ('a, b', 'a, b and 2 more')
    """
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")
