"""Hierarchies: what a value of a column becomes at each level, from itself (level 0) to `*`.

One can be given as a CSV file named after its column: in each row a value and what it becomes at level 1, 2, and so
on, without a heading. NULL is an empty first cell; where it has no row it stays itself until `*`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from discreet.errors import UsageError
from discreet.lab.anonymize.column_codes import NULL, CodedColumn, Floats, Integers
from discreet.lab.anonymize.labels import ANY


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HierarchyLevel:
    """`groups[code]` is the number of the group of a value; `labels[group]` is what a release writes for it."""

    groups: Integers
    labels: tuple[str, ...]

    def loss(self) -> Floats:
        """For each value, the share of the column's other values that the release could mean instead."""
        counts = np.bincount(self.groups, minlength=len(self.labels))
        shares: Floats = (counts[self.groups] - 1) / max(1, len(self.groups) - 1)
        return shares


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValueHierarchy:
    """The levels of one column. Each joins whole groups of the one before; the last has one group."""

    column: str
    levels: tuple[HierarchyLevel, ...]

    def __post_init__(self) -> None:
        for place, (finer, coarser) in enumerate(zip(self.levels, self.levels[1:], strict=False)):
            first = np.full(len(finer.labels), -1)
            first[finer.groups] = coarser.groups
            if (first[finer.groups] != coarser.groups).any():
                raise UsageError(
                    f"the hierarchy of {self.column!r} splits a group of level {place} again at level {place + 1}",
                    hint="each level must merge groups of the level before",
                )


def build_hierarchy(column: CodedColumn, steps: Iterable[Sequence[str]]) -> ValueHierarchy:
    """A hierarchy from the labels of every value at each level between itself and `*`, in the order of the codes."""
    levels = [_level(column.texts())]
    for step in steps:
        made = _level(step)
        if 1 < len(made.labels) < len(levels[-1].labels):
            levels.append(made)
    if len(levels[-1].labels) > 1:
        levels.append(_level([ANY] * column.size))
    return ValueHierarchy(column=column.name, levels=tuple(levels))


def _level(labels: Sequence[str]) -> HierarchyLevel:
    numbers: dict[str, int] = {}
    groups = np.array([numbers.setdefault(label, len(numbers)) for label in labels], dtype=np.int64)
    return HierarchyLevel(groups=groups, labels=tuple(numbers))


def read_hierarchies(paths: Iterable[Path]) -> dict[str, Path]:
    """The files of hierarchies by the name of their column: files given, and all .csv files of folders given."""
    files_by_column: dict[str, Path] = {}
    for path in paths:
        files = sorted(path.glob("*.csv")) if path.is_dir() else [path]
        if not files or not all(file.is_file() for file in files):
            raise UsageError(
                f"{str(path)!r} contains no hierarchy", hint="a CSV file named after its column, such as age.csv"
            )
        files_by_column |= {file.stem: file for file in files}
    return files_by_column


def read_hierarchy(column: CodedColumn, path: Path) -> ValueHierarchy:
    """The hierarchy that a file gives for a column."""
    rows = _rows(path)
    width = len(rows[0])
    if width < 2 or any(len(row) != width for row in rows):
        raise UsageError(f"{path.name}: every row needs a value and the same number of levels", hint="18,10-19,0-39,*")
    texts = {row[0]: row for row in rows}
    if len(texts) < len(rows):
        raise UsageError(f"{path.name} contains the same value twice")
    named = [("" if code == len(column.values) else text) for code, text in enumerate(column.texts())]
    missing = [text for text in named if text and text not in texts]
    if missing:
        raise UsageError(
            f"{path.name} does not list {len(missing):,} of the {column.size:,} values of {column.name!r}",
            hint="each value of the column needs a row",
        )
    return build_hierarchy(
        column, [[texts[text][level] if text in texts else NULL for text in named] for level in range(1, width)]
    )


def _rows(path: Path) -> list[list[str]]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            text = stream.read()
    except (OSError, UnicodeDecodeError):
        raise UsageError(f"{path.name} cannot be read as UTF-8 text") from None
    first = text.partition("\n")[0]
    separator = ";" if ";" in first and "," not in first else ","
    rows = [row for row in csv.reader(text.splitlines(), delimiter=separator) if row]
    if not rows:
        raise UsageError(f"{path.name} has no rows")
    return rows
