"""Keys that are found: those of one person hardly ever show, and those that show have noisy numbers of persons."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.lab.evidence import binomial_upper_tail
from discreet.lab.privacy_audit import noise_laws
from discreet.lab.privacy_audit.sql.canary_tables import KIND, LIMIT, PERSONS
from discreet.lab.privacy_audit.targets import AuditOutcome, AuditTarget, law_target
from discreet.lab.privacy_audit.temporary_project import temporary_project

DELTA = Fraction(1, 100)
WORD = {"word": 'type = "text"'}
#: The persons of a key that shows: far more than the threshold, which is about 12.
SHARED = 40


def targets() -> list[AuditTarget]:
    """Keys of one person with one row, or with two keys, and the noise on keys of many."""
    return [
        _lone_keys_target("sql keys: keys of one person", 1),
        _lone_keys_target("sql keys: two keys of one person", LIMIT),
        law_target("sql keys: law of persons with two rows", KIND, _shared_keys_law),
    ]


def _lone_keys_target(name: str, each: int) -> AuditTarget:
    """Keys of one person, `each` of them: that any of a person's keys shows has a chance of at most delta.

    Because: persons are independent of each other, and all alike.
    """

    def measure(samples: int) -> AuditOutcome:
        many = min(4_000, samples)
        lines = [f"p{number},w{number}x{key}" for number in range(many) for key in range(each)]
        with temporary_project(WORD, lines, person="who", more=f"rows_per_person = {each}") as opened:
            question = opened.sql("select word, count(distinct who) from people group by word")
            release = question.ask(epsilon=1, delta=str(float(DELTA)))
        shown = len({str(row[0]).split("x")[0] for row in release.rows})
        chance = binomial_upper_tail(shown, many, float(DELTA)) if shown else 1.0
        return AuditOutcome(
            p_value=chance, n=many, note=f"{shown:,} of {many:,} people are visible by a key that only they have"
        )

    return AuditTarget(name=name, kind=KIND, method="law", epsilon=1.0, delta=float(DELTA), quick=True, measure=measure)


def _shared_keys_law(samples: int) -> tuple[float, int]:
    """Half of a key's persons have both rows in it, half one row in the next key too. All of epsilon is for finding.

    A person is in two keys at most, so that the noise has the scale 2. A key that does not show counts as very low,
    which at this many persons is a chance of about one in a million for each.
    """
    many = max(2, min(1_500, samples))
    lines = []
    for key in range(many):
        for person in range(SHARED // 2):
            lines += [f"s{key}-{person},w{key}"] * 2
        for person in range(SHARED // 4):
            lines += [f"t{key}-{person},w{each % many}" for each in (key, key + 1)]
    with temporary_project(WORD, lines, **PERSONS) as opened:
        question = opened.sql("select word, count(distinct who) from people group by word")
        release = question.ask(epsilon=1, delta=str(float(DELTA)))
    shown = {str(row[0]): int(row[1]) for row in release.rows}  # type: ignore[arg-type]
    noise = np.array([shown.get(f"w{key}", -1000) - SHARED for key in range(many)], dtype=np.int64)
    return noise_laws.law_p_value(noise, noise_laws.laplace_upper_tail(float(LIMIT)), float(LIMIT)), many
