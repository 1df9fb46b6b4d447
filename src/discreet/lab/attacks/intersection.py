"""Intersection: two releases, each safe by its own measure, tell together what neither tells alone.

A patient of two hospitals is in a class of each. The diagnosis is among the values of both classes, and often only one
value is (Ganta, Kasiviswanathan and Smith). Guarantees of k, l and t do not compose; differential privacy's add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time

import numpy as np
import pyarrow as pa

from discreet.errors import UsageError
from discreet.lab.anonymize import anonymize
from discreet.lab.anonymize.column_codes import Flags
from discreet.lab.attacks.disclosure import possible_values
from discreet.lab.evidence import Evidence, clopper_pearson, percent
from discreet.lab.phrases import count_phrase
from discreet.lab.pictures import bars
from discreet.lab.table_reader import select_columns
from discreet.lab.worlds import wards

#: The k and l of both generated releases.
K, L = 6, 4


def intersection(
    first: pa.Table, second: pa.Table, people: pa.Table, *, quasi: Sequence[str], sensitive: str
) -> Evidence:
    """Find the people, known to be in both releases, for whom only one value is possible.

    `people` has the original quasi-identifiers. If it also has the sensitive column, that column is the truth: a value
    counts only if it is right. Chance is what the better of the two releases reveals alone.
    """
    start = process_time()
    quasi_columns = select_columns(people, quasi, of="the file of people")
    first_possible, texts = possible_values(first, quasi_columns, quasi=quasi, sensitive=sensitive)
    second_possible, other = possible_values(second, quasi_columns, quasi=quasi, sensitive=sensitive)
    every = sorted({*texts, *other})
    one, two = _widen(every, texts, first_possible), _widen(every, other, second_possible)
    fit = one.any(axis=1) & two.any(axis=1)
    if not fit.any():
        raise UsageError(
            "no person fits a class in both releases",
            hint="give a file of people with the original values of the quasi-identifiers, before generalisation",
        )
    truth = _truth(people, sensitive, every)
    alone = [_is_certain(each[fit], None if truth is None else truth[fit]) for each in (one, two)]
    together = _is_certain((one & two)[fit], None if truth is None else truth[fit])
    n, certain_count = int(fit.sum()), int(together.sum())
    shares = [float(each.mean()) for each in alone]
    left = (one & two)[fit].sum(axis=1)
    return Evidence(
        attack="intersection",
        success=certain_count / n,
        chance=max(shares),
        n=n,
        seconds=process_time() - start,
        interval=clopper_pearson(certain_count, n),
        story=(
            f"Of {count_phrase(n, 'person who is', 'people who are')} in both, the releases reveal the {sensitive} of "
            f"{percent(shares[0])} and {percent(shares[1])} each on its own. "
            + (
                f"Together they reveal it for {percent(certain_count / n)}: only one value is in both classes."
                if certain_count
                else "Together they reveal it for nobody."
            ),
            f"The median number of possible values is {np.median(one[fit].sum(axis=1)):g} and "
            f"{np.median(two[fit].sum(axis=1)):g} with one release, and {np.median(left):g} with both.",
        ),
        details={
            "first_alone": shares[0],
            "second_alone": shares[1],
            "checked": truth is not None,
            "without_class": int((~fit).sum()),
            "contradictory": int((left == 0).sum()),
        },
        picture=lambda: bars(
            "People whose value is certain",
            {"first release": shares[0], "second release": shares[1], "both": certain_count / n},
        ),
    )


def _widen(every: Sequence[str], texts: Sequence[str], possible: Flags) -> Flags:
    """The same over a longer list of values."""
    place = {text: number for number, text in enumerate(every)}
    widened = np.zeros((len(possible), len(every)), dtype=bool)
    widened[:, [place[text] for text in texts]] = possible
    return widened


def _truth(people: pa.Table, sensitive: str, every: Sequence[str]) -> Flags | None:
    """The true value of each person, where the file has it."""
    if sensitive not in people.column_names:
        return None
    texts = [str(value) if value is not None else "NULL" for value in people[sensitive].to_pylist()]
    place = {text: number for number, text in enumerate(every)}
    true_values = np.zeros((len(texts), len(every)), dtype=bool)
    for row, text in enumerate(texts):
        if text in place:
            true_values[row, place[text]] = True
    return true_values


def _is_certain(possible: Flags, truth: Flags | None) -> Flags:
    """Of whom one value is left, and it is right where that is known."""
    single: Flags = possible.sum(axis=1) == 1
    return single if truth is None else single & (possible & truth).any(axis=1)


def demo() -> Evidence:
    """Two generated hospitals, each released by Mondrian with four diagnoses at least in each class."""
    first, second, both = wards.hospitals()
    one, two = (
        anonymize(table, quasi=wards.QUASI, sensitive=[wards.SENSITIVE], k=K, l=L).table for table in (first, second)
    )
    return intersection(one, two, both, quasi=wards.QUASI, sensitive=wards.SENSITIVE)
