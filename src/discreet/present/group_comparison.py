"""Two groups of an answer compared: by how much, or how many times, one is larger than the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.errors import UsageError
from discreet.present.cell_text import DASH, format_with_noise

Cell = int | float | str | bool | None
Ends = tuple[float, float] | None
Operation = Literal["difference", "ratio"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupComparison:
    """For each number of an answer, the first group's minus, or over, the second's, with its confidence interval.

    left, right: the keys of the two groups. A number is None if the noise hides it, and so is an interval without ends.
    """

    operation: Operation
    left: tuple[Cell, ...]
    right: tuple[Cell, ...]
    columns: tuple[str, ...]
    values: tuple[float | int | None, ...]
    intervals: tuple[Ends, ...]
    confidence: Fraction

    def __str__(self) -> str:
        sign = " - " if self.operation == "difference" else " / "
        names = sign.join(", ".join(map(str, keys)) for keys in (self.left, self.right))
        lines = [
            f"{column}: {DASH if value is None else str(value) if ends is None else format_with_noise(value, *ends)}"
            for column, value, ends in zip(self.columns, self.values, self.intervals, strict=True)
        ]
        return "\n".join([names, *lines])


def find_row(names: Sequence[str], rows: Sequence[tuple[Cell, ...]], wished: object) -> int:
    """The one row whose keys are these: the value of the only key, values of all keys, or a mapping from some of them.

    >>> find_row(["sex", "city"], [("F", "bonn"), ("M", "bonn")], {"sex": "M"})
    1
    """
    if isinstance(wished, Mapping):
        pairs = dict(wished)
    else:
        values = wished if isinstance(wished, tuple) else (wished,)
        if len(values) != len(names):
            raise UsageError(f"a group of this answer has {len(names)} keys: {', '.join(names)}")
        pairs = dict(zip(names, values, strict=True))
    unknown = [str(name) for name in pairs if name not in names]
    if unknown:
        raise UsageError(f"the answer has no key {unknown[0]!r}", hint=f"its keys are {', '.join(names)}")
    places = [
        place for place, row in enumerate(rows) if all(row[names.index(name)] == value for name, value in pairs.items())
    ]
    if len(places) != 1:
        raise UsageError(
            f"{'no' if not places else 'more than one'} row of the answer has these keys",
            hint=f"name a value of each of {', '.join(names)}" if names else "the answer has no groups",
        )
    return places[0]
