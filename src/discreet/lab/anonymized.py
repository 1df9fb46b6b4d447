"""What attacks on anonymized tables share: which classes a person may be in, and which values those hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.lab.anonymize.classes import Classes, group
from discreet.lab.anonymize.coding import Coded, Flags, Integers, code
from discreet.lab.anonymize.labels import covers
from discreet.lab.anonymize.report import coded

#: People are matched with classes in slices of so many, which bounds the memory.
SLICE = 1_000


def guesses(classes: Classes, column: Coded) -> tuple[float, float]:
    """How often the most frequent value is right: with the release, of each class; without it, of the whole table."""
    counts = np.zeros(len(classes.sizes), dtype=np.int64)
    pairs = group_pairs(classes, column)
    np.maximum.at(counts, pairs[0], pairs[1])
    rows = len(classes.ids)
    return float(counts.sum() / rows), float(np.bincount(column.codes).max() / rows)


def group_pairs(classes: Classes, column: Coded) -> tuple[Integers, Integers]:
    """The class of each pair of class and value that occurs, and how many rows have it."""
    keys, counts = np.unique(classes.ids * column.size + column.codes, return_counts=True)
    return keys // column.size, counts


def values_held(
    release: pa.Table, people: pa.Table, *, quasi: Sequence[str], sensitive: str
) -> tuple[Flags, list[str]]:
    """For each person, which sensitive values the rows hold that the person may be: everything the release says.

    A person may be a row if each of its labels covers what is known of the person.
    """
    hidden, (column,) = coded(release, quasi, [sensitive])
    classes = group(hidden)
    held = np.zeros((len(classes.sizes), column.size), dtype=np.float32)
    held[classes.ids, column.codes] = 1
    known = code(people, quasi)
    first = classes.first_rows()
    matches = [_covered(label, person) for label, person in zip(hidden, known, strict=True)]
    labels = [label.codes[first] for label in hidden]
    found = np.zeros((people.num_rows, column.size), dtype=bool)
    for start in range(0, people.num_rows, SLICE):
        rows = slice(start, start + SLICE)
        found[rows] = _fitting(matches, labels, [person.codes[rows] for person in known]) @ held > 0
    return found, column.texts()


def _covered(labels: Coded, known: Coded) -> Flags:
    """covered[label, value]: whether the label may stand for the value."""
    return np.stack([covers(label, known) for label in labels.texts()])


def _fitting(
    matches: Sequence[Flags], labels: Sequence[Integers], known: Sequence[Integers]
) -> npt.NDArray[np.float32]:
    """fitting[person, class]: 1 where every column fits."""
    fits = np.ones((len(known[0]), len(labels[0])), dtype=bool)
    for match, label, person in zip(matches, labels, known, strict=True):
        fits &= match[label][:, person].T
    return fits.astype(np.float32)
