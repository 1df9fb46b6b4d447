"""What attacks on anonymized tables share: which classes a person may be in, and which values those hold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.lab.anonymize.anonymity_report import code_roles
from discreet.lab.anonymize.column_codes import CodedColumn, Flags, Integers, code_columns
from discreet.lab.anonymize.equivalence_classes import EquivalenceClasses, group
from discreet.lab.anonymize.labels import covers

#: People are matched with classes in slices of so many, which bounds the memory.
SLICE = 1_000


def guess_accuracies(classes: EquivalenceClasses, column: CodedColumn) -> tuple[float, float]:
    """How often the most frequent value is right: with the release, of each class; without it, of the whole table."""
    counts = np.zeros(len(classes.sizes), dtype=np.int64)
    pairs = class_value_counts(classes, column)
    np.maximum.at(counts, pairs[0], pairs[1])
    rows = len(classes.ids)
    return float(counts.sum() / rows), float(np.bincount(column.codes).max() / rows)


def class_value_counts(classes: EquivalenceClasses, column: CodedColumn) -> tuple[Integers, Integers]:
    """The class of each pair of class and value that occurs, and how many rows have it."""
    keys, counts = np.unique(classes.ids * column.size + column.codes, return_counts=True)
    return keys // column.size, counts


def possible_values(
    release: pa.Table, people: pa.Table, *, quasi: Sequence[str], sensitive: str
) -> tuple[Flags, list[str]]:
    """For each person, which sensitive values the rows hold that the person may be: everything the release says.

    A person may be a row if each of its labels covers what is known of the person.
    """
    hidden, (column,) = code_roles(release, quasi, [sensitive])
    classes = group(hidden)
    class_values = np.zeros((len(classes.sizes), column.size), dtype=np.float32)
    class_values[classes.ids, column.codes] = 1
    person_codes = code_columns(people, quasi)
    first = classes.first_rows()
    matches = [_label_covers(label, person) for label, person in zip(hidden, person_codes, strict=True)]
    labels = [label.codes[first] for label in hidden]
    possible = np.zeros((people.num_rows, column.size), dtype=bool)
    for start in range(0, people.num_rows, SLICE):
        rows = slice(start, start + SLICE)
        possible[rows] = (
            _class_fits(matches, labels, [person.codes[rows] for person in person_codes]) @ class_values > 0
        )
    return possible, column.texts()


def _label_covers(labels: CodedColumn, person_values: CodedColumn) -> Flags:
    """covered[label, value]: whether the label may stand for the value."""
    return np.stack([covers(label, person_values) for label in labels.texts()])


def _class_fits(
    matches: Sequence[Flags], labels: Sequence[Integers], person_codes: Sequence[Integers]
) -> npt.NDArray[np.float32]:
    """fitting[person, class]: 1 where every column fits."""
    fits = np.ones((len(person_codes[0]), len(labels[0])), dtype=bool)
    for match, label, person in zip(matches, labels, person_codes, strict=True):
        fits &= match[label][:, person].T
    return fits.astype(np.float32)
