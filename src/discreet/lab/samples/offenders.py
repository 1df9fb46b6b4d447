"""Risk scores of offenders, as a court's file has them: codes, dates as 4/18/47, and NA for what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta

from discreet.lab.samples.generated_chance import GeneratedChance
from discreet.lab.samples.invented_names import FAMILY, GIVEN
from discreet.lab.samples.sample_table import Sample, SampleColumn, SampleRow, SampleTable

#: What stands where something is missing.
MISSING = "NA"

TODAY = date(2026, 1, 1)
MARITAL = ("divorced", "married", "single", "widowed")
NOTES = ("first contact", "missed an appointment", "moved", "new address", "no remarks", "seen at home", "works nights")

#: A person is assessed at most so often.
MOST_ASSESSED = 3

OFFENDERS = SampleTable(
    name="offenders",
    columns=(
        SampleColumn(
            name="person", type="text", label="Number of the person", null=MISSING, rows_per_person=MOST_ASSESSED
        ),
        SampleColumn(name="name", type="text", label="Name"),
        SampleColumn(name="sex", type="category", values=("Female", "Male"), label="Sex"),
        SampleColumn(name="age", type="integer", low=18, high=99, null=MISSING, label="Age in years"),
        SampleColumn(
            name="race",
            type="category",
            values={"1": "group A", "2": "group B", "3": "group C", "4": "other"},
            null=MISSING,
            label="Race, as the person states it",
        ),
        SampleColumn(
            name="date_of_birth",
            type="date",
            low="1927-01-01",
            high="2008-12-31",
            format="m/d/yy",
            null=MISSING,
            label="Date of birth",
        ),
        SampleColumn(name="marital_status", type="category", values=MARITAL, null=MISSING, label="Marital status"),
        SampleColumn(
            name="decile_score",
            type="integer",
            low=1,
            high=10,
            null=MISSING,
            label="Risk score, from 1 (low) to 10 (high)",
        ),
        SampleColumn(name="text", type="text", null=MISSING, label="Remarks of the officer"),
    ),
)


def _generate(rows: int) -> Mapping[str, Iterable[SampleRow]]:
    return {OFFENDERS.name: _offenders(rows)}


def _offenders(rows: int) -> Iterable[SampleRow]:
    chance = GeneratedChance("offenders")
    written = number = 0
    while written < rows:
        number += 1
        who = _person(chance, number)
        for _ in range(min(rows - written, chance.weighted((1, 2, MOST_ASSESSED), (88, 9, 3)))):
            yield [*who, *_assessment(chance, born=who[-1])]
            written += 1


def _person(chance: GeneratedChance, number: int) -> tuple[str, ...]:
    age = chance.near(34, 13, low=18, high=98)
    born = TODAY - timedelta(days=365 * age + age // 4 + chance.below(365))
    return (
        _or_missing(chance, f"{number:05d}", 0.01),
        f"{chance.pick(FAMILY)}, {chance.pick(GIVEN)}",
        chance.weighted(("Male", "Female"), (80, 20)),
        _or_missing(chance, age, 0.02),
        _or_missing(chance, chance.weighted("1234", (38, 34, 18, 10)), 0.02),
        _or_missing(chance, f"{born.month}/{born.day}/{born.year % 100:02d}", 0.02),
    )


def _assessment(chance: GeneratedChance, *, born: str) -> tuple[str, ...]:
    is_young = born[-2:] < "09" or born[-2:] > "90"
    score = chance.near(6 if is_young else 3, 3, low=1, high=10)
    return (
        _or_missing(chance, chance.weighted(MARITAL, (10, 14, 74, 2)), 0.05),
        _or_missing(chance, score, 0.03),
        _or_missing(chance, chance.pick(NOTES), 0.4),
    )


def _or_missing(chance: GeneratedChance, value: object, share: float) -> str:
    return MISSING if chance.is_true(share) else str(value)


COURT_OFFENDERS = Sample(
    name="offenders",
    about="risk scores of offenders: codes 1 to 4, dates of birth as 4/18/47, NA for what is missing",
    tables=(OFFENDERS,),
    rows=7_000,
    generate=_generate,
)
