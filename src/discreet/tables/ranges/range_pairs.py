"""Which ranges are asked for: from a file with low and high, from pairs, or a picture of the whole column."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from discreet.errors import UsageError
from discreet.tables.ranges.ruler import Ruler

#: So many ranges cut a column for people who asked for none by name.
_SHOWN = 10

#: More ranges than this are a workload of all ranges.
MOST_RANGES = 100_000

Pair = tuple[object, object]


def read_pairs(given: Iterable[Pair] | str | PathLike[str] | None) -> list[Pair] | None:
    """Ranges as given: pairs, or the name of a CSV file with the columns low and high."""
    if given is None:
        return None
    if isinstance(given, str | PathLike):
        pairs = _read(Path(given))
    elif isinstance(given, Iterable):
        pairs = [_pair(each) for each in given]
    else:
        raise UsageError("ranges must be pairs of low and high, or the name of a CSV file")
    if not pairs:
        raise UsageError("no ranges are given", hint="a line such as 30,45 below the header low,high")
    if len(pairs) > MOST_RANGES:
        raise UsageError(f"{len(pairs):,} ranges are too many: at most {MOST_RANGES:,} are answered at once")
    return pairs


def _pair(each: Pair) -> Pair:
    try:
        low, high = each
    except (TypeError, ValueError):
        raise UsageError(f"a range must be a pair of low and high, got {str(each)[:60]!r}") from None
    return low, high


def _read(path: Path) -> list[Pair]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = list(csv.DictReader(lines))
    except OSError as problem:
        raise UsageError(f"cannot read {str(path)!r}: {problem.strerror}") from None
    except (UnicodeDecodeError, csv.Error):
        raise UsageError(f"{str(path)!r} is not a CSV file in UTF-8") from None
    names = {str(name).strip().lower(): name for name in (rows[0] if rows else {})}
    if rows and not {"low", "high"} <= set(names):
        raise UsageError(f"{str(path)!r} needs the columns low and high", hint="its first line: low,high")
    return [(row[names["low"]], row[names["high"]]) for row in rows]


def cells_of_pairs(pairs: list[Pair] | None, ruler: Ruler) -> tuple[tuple[int, int], ...]:
    """The cells of each range; without ranges, of about ten equal parts of the column."""
    if pairs is not None:
        return tuple(ruler.cells_of(low, high) for low, high in pairs)
    parts = min(ruler.cells, _SHOWN)
    edges = [part * ruler.cells // parts for part in range(parts + 1)]
    return tuple((low, high - 1) for low, high in itertools.pairwise(edges))
