"""Homogeneity: a class in which everybody has the same sensitive value tells it about each of them.

k-anonymity counts rows, not values: that nobody can be told apart from k - 1 others protects nothing that all of them
share (Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam).
"""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time

import pyarrow as pa

from discreet.lab.anonymize import anonymize
from discreet.lab.anonymize.anonymity_report import code_roles
from discreet.lab.anonymize.criteria import measure_spreads
from discreet.lab.anonymize.equivalence_classes import group
from discreet.lab.attacks.disclosure import guess_accuracies
from discreet.lab.evidence import Evidence, clopper_pearson, percent
from discreet.lab.phrases import count_phrase
from discreet.lab.pictures import bars
from discreet.lab.worlds import wards

#: The k of the generated release.
K = 5


def homogeneity(release: pa.Table, *, quasi: Sequence[str], sensitive: str) -> Evidence:
    """Find the people whose value the release reveals for certain to anyone who knows their quasi-identifiers.

    Success is the share of people in a class with one value. Chance is what is certain without the release: 0, unless
    everybody has the same value.
    """
    start = process_time()
    hidden, (column,) = code_roles(release, quasi, [sensitive])
    classes = group(hidden)
    alone = measure_spreads(classes, [column])[0].distinct == 1
    rows, exposed = len(classes.ids), int(classes.sizes[alone].sum())
    guessed, without = guess_accuracies(classes, column)
    k = int(classes.sizes.min())
    success, chance = exposed / rows, float(column.size == 1)
    return Evidence(
        attack="homogeneity",
        success=success,
        chance=chance,
        n=rows,
        seconds=process_time() - start,
        interval=clopper_pearson(exposed, rows),
        story=(
            _story(k, exposed, rows, sensitive),
            f"Guessing the most frequent value of each class is right for {percent(guessed)} of people. Without the "
            f"release, guessing the most frequent value of the table is right for {percent(without)}.",
        ),
        details={
            "k": k,
            "classes": len(classes.sizes),
            "homogeneous_classes": int(alone.sum()),
            "exposed": exposed,
            "guessed_with": guessed,
            "guessed_without": without,
        },
        picture=lambda: bars(
            f"What a release with k = {k} reveals",
            {"known for certain": success, "guessed with the release": guessed, "guessed without it": without},
        ),
    )


def _story(k: int, exposed: int, rows: int, sensitive: str) -> str:
    hidden = (
        f"Everybody in this table is hidden among at least {count_phrase(k - 1, 'other', 'others')}"
        if k > 1
        else "Some people in this table are alone in their class"
    )
    if not exposed:
        return f"{hidden}, and no class has the same {sensitive} for everybody."
    verb, them = ("is", "that person") if exposed == 1 else ("are", "them")
    return (
        f"{hidden}, {'but' if k > 1 else 'and'} {exposed:,} of {count_phrase(rows, 'person', 'people')} {verb} in a "
        f"class where everybody has the same {sensitive}: anyone who recognises {them} knows it for certain."
    )


def demo() -> Evidence:
    """Generated patients, released by Mondrian."""
    made = anonymize(wards.patients(), quasi=wards.QUASI, sensitive=[wards.SENSITIVE], k=K)
    return homogeneity(made.table, quasi=wards.QUASI, sensitive=wards.SENSITIVE)
