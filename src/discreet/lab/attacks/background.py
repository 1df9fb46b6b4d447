"""Background knowledge: somebody who can rule out a few values learns the one that is left.

l-diversity asks for l values in each class. Who knows l - 1 facts of the kind "she does not have this" (a relative, a
colleague, a base rate) needs no more, and l - 1 is the l-diverse publisher's own number.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from time import process_time

import numpy as np
import pyarrow as pa

from discreet.errors import Flag, Message, UsageError
from discreet.lab.anonymize import anonymize
from discreet.lab.anonymize.anonymity_report import code_roles
from discreet.lab.anonymize.column_codes import Floats, Integers
from discreet.lab.anonymize.criteria import measure_spreads
from discreet.lab.anonymize.equivalence_classes import group
from discreet.lab.evidence import Evidence, clopper_pearson, percent
from discreet.lab.phrases import count_phrase
from discreet.lab.pictures import curves
from discreet.lab.worlds import wards

#: The k and l of the generated release.
K, L = 5, 3
#: The picture goes up to so many facts.
_DRAWN = 12


def background(release: pa.Table, *, quasi: Sequence[str], sensitive: str, facts: int = 2) -> Evidence:
    """Find the people whose value becomes certain for an attacker who can rule out `facts` values for each person.

    Success uses the facts that help most: it is the share of people in a class with at most facts + 1 values. Chance
    is the same knowledge without the release. `details` also has the result for facts drawn at random from the values
    that the person does not have.
    """
    if facts < 0:
        raise UsageError(f"the number of facts cannot be {facts}", hint=Message(Flag("facts", 2)))
    start = process_time()
    hidden, (column,) = code_roles(release, quasi, [sensitive])
    classes = group(hidden)
    distinct = measure_spreads(classes, [column])[0].distinct
    rows, least = len(classes.ids), int(distinct.min())
    exposed = int(classes.sizes[distinct <= facts + 1].sum())
    drawn = float((_chance_of_certainty(distinct, column.size, facts) * classes.sizes).sum() / rows)
    most = min(_DRAWN, column.size - 1)
    chosen = [float(classes.sizes[distinct <= ruled_out + 1].sum() / rows) for ruled_out in range(most + 1)]
    by_chance = [
        float((_chance_of_certainty(distinct, column.size, ruled_out) * classes.sizes).sum() / rows)
        for ruled_out in range(most + 1)
    ]
    return Evidence(
        attack="background",
        success=exposed / rows,
        chance=float(facts + 1 >= column.size),
        n=rows,
        seconds=process_time() - start,
        interval=clopper_pearson(exposed, rows),
        story=(
            f"Every class contains at least {count_phrase(least, 'value', 'different values')} of {sensitive}; the "
            f"table has {column.size:,}. An attacker who can rule out {count_phrase(facts, 'value', 'values')} for "
            f"each person, the ones that help most, knows the value of {percent(exposed / rows)} of people for "
            f"certain; with values ruled out at random, of {percent(drawn)}.",
            f"Without the release, {count_phrase(column.size - 1, 'fact', 'facts')} would be needed for each person.",
        ),
        details={"facts": facts, "l": least, "values": column.size, "random_facts": drawn, "by_facts": chosen},
        picture=lambda: curves(
            "People whose value is certain",
            list(range(most + 1)),
            {"the right facts": chosen, "facts at random": by_chance},
            across="values ruled out",
        ),
    )


def _chance_of_certainty(distinct: Integers, values: int, facts: int) -> Floats:
    """For a class of so many values, the chance that facts drawn from the values - 1 a person lacks rule out the rest.

    Because: of the C(values - 1, facts) draws, those that hold the class's other d - 1 values are C(values - d,
    facts - d + 1).
    """
    facts = min(facts, values - 1)
    draws = comb(values - 1, facts)
    chance = {
        others: comb(values - others, facts - others + 1) / draws if others <= facts + 1 else 0.0
        for others in set(distinct.tolist())
    }
    return np.array([chance[others] for others in distinct.tolist()], dtype=np.float64)


def demo() -> Evidence:
    """Generated patients, released by Mondrian with at least three conditions in each class."""
    made = anonymize(wards.patients(), quasi=wards.QUASI, sensitive=[wards.SENSITIVE], k=K, l=L)
    return background(made.table, quasi=wards.QUASI, sensitive=wards.SENSITIVE, facts=2)
