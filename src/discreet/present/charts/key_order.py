"""Whether the keys of groups have an order that means something: numbers, days, times, and bins of these."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date, datetime
from itertools import pairwise

from discreet.present.charts import svg

_MOMENT = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?)?)?")
_NUMBER = re.compile(r"-?\d+(\.\d+)?(e[+-]?\d+)?")
_BIN = re.compile(r"\[([^,\[\]]+), ([^,\[\]]+)[\])]")
#: What a key is sorted by, beside keys of its own kind.
Place = tuple[str, float, str]


def ordered_places(keys: Sequence[svg.Key]) -> list[int] | None:
    """The places of the keys in their order, NULL last; None where they have none, or one of them comes twice.

    >>> [ordered_places(keys) for keys in ([30, None, 7], ["2026-02-01", "2026-01-01"], ["[5, 9)", "[0, 5)"])]
    [[2, 0, 1], [1, 0], [1, 0]]
    >>> ordered_places(["flu", "mumps"]), ordered_places([3, "x"]), ordered_places([None, True]), ordered_places([3, 3])
    (None, None, None, None)
    """
    marks = [None if key is None else _place(key) for key in keys]
    ordered = {place: mark for place, mark in enumerate(marks) if mark is not None}
    nulls = [place for place, key in enumerate(keys) if key is None]
    if len(ordered) + len(nulls) < len(keys) or len(nulls) > 1 or len({mark[0] for mark in ordered.values()}) != 1:
        return None
    if len(set(ordered.values())) < len(ordered):
        return None
    return [*sorted(ordered, key=lambda place: ordered[place]), *nulls]


def _place(key: svg.Key) -> Place | None:
    if isinstance(key, bool) or key is None:
        return None
    if isinstance(key, int | float):
        return "number", float(key), ""
    if isinstance(key, date):
        return "time" if isinstance(key, datetime) else "day", 0.0, key.isoformat()
    if inside := _BIN.fullmatch(key):
        key = inside[1]
        if _NUMBER.fullmatch(key):
            return "bin of numbers", float(key), ""
    return ("moment" if inside is None else "bin of moments", 0.0, key) if _MOMENT.fullmatch(key) else None


def number_sides(keys: Sequence[svg.Key]) -> list[tuple[float, float]] | None:
    """Where the keys lie on a line of numbers, from side to side, if all are numbers or all are bins of numbers, in
    their order; None otherwise. A number takes as much room as the nearest two are apart.

    >>> number_sides([1, 2, 5]), number_sides(["[0, 10)", "[10, 15]"])
    ([(0.5, 1.5), (1.5, 2.5), (4.5, 5.5)], [(0.0, 10.0), (10.0, 15.0)])
    >>> number_sides([1, 2, "x"]), number_sides(["[0, 10)", "[5, 15)"]), number_sides([3, 1]), number_sides([7])
    (None, None, None, None)
    """
    bins = [_BIN.fullmatch(key) if isinstance(key, str) else None for key in keys]
    ends = [(inside[1], inside[2]) for inside in bins if inside is not None]
    if len(ends) == len(keys) and all(_NUMBER.fullmatch(end) for pair in ends for end in pair):
        sides = [(float(low), float(high)) for low, high in ends]
    else:
        numbers = [float(key) for key in keys if isinstance(key, int | float) and not isinstance(key, bool)]
        gaps = [later - number for number, later in pairwise(numbers)]
        if len(numbers) < len(keys) or not gaps or min(gaps) <= 0:
            return None
        half = min(gaps) / 2
        sides = [(number - half, number + half) for number in numbers]
    edges = [side for pair in sides for side in pair]
    is_ascending = all(low < high for low, high in sides) and all(one <= other for one, other in pairwise(edges))
    return sides if is_ascending and all(map(math.isfinite, edges)) else None
