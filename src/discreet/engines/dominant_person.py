"""One person with far more rows than the others: seldom a person. For the owner's note, and for nothing else.

'unknown', '0' or a default of some form stands where nobody was named. All its rows count as one person's: most of them
are left out, and those who are behind them are not protected each for themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

#: Fewer rows than this are no cause for a note, however many times those of others they are.
_LEAST_ROWS = 1000
_TIMES_OTHERS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class DominantPerson:
    """Who that is, by the parts of the key, and how many rows they have. Exact: for the owner only."""

    exact_person: tuple[str, ...] = field(repr=False)
    exact_rows: int


def find_dominant_person(first: tuple[Sequence[str], int] | None, *, persons: int, rows: int) -> DominantPerson | None:
    """The person with the most rows, where they are at least 1,000 and 100 times those that others have on average.

    `first`: that person; of several with as many rows the one whose key comes first, bytewise. `persons`, `rows`: all.

    >>> find_dominant_person((["unknown"], 2512), persons=1001, rows=7512).exact_rows
    2512
    >>> find_dominant_person((["a driver"], 5100), persons=300, rows=1_500_000)
    """
    if first is None or first[1] < _LEAST_ROWS or first[1] * (persons - 1) < _TIMES_OTHERS * (rows - first[1]):
        return None
    return DominantPerson(exact_person=tuple(first[0]), exact_rows=first[1])
