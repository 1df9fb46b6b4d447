"""The clinic of the tour and of the first page of the manual: one row for each patient."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from discreet.lab.samples.generated_chance import SEED
from discreet.lab.samples.sample_table import Sample, SampleColumn, SampleRow, SampleTable

PATIENTS = SampleTable(
    name="patients",
    columns=(
        SampleColumn(name="age", type="integer", low=0, high=110, label="Age in years"),
        SampleColumn(name="sex", type="category", values=("F", "M"), label="Sex"),
        SampleColumn(
            name="disease",
            type="category",
            values=("allergy", "flu", "measles", "mumps"),
            label="What the patient was treated for",
        ),
        SampleColumn(name="smoker", type="boolean", label="Whether the patient smokes"),
    ),
)


def _generate(rows: int) -> Mapping[str, Iterable[SampleRow]]:
    return {PATIENTS.name: _patients(rows)}


def _patients(rows: int) -> Iterable[SampleRow]:
    chance = random.Random(SEED)  # noqa: S311 - sample data, not noise
    for _ in range(rows):
        age = min(99, int(abs(chance.gauss(38, 22))))
        disease = chance.choices(["flu", "allergy", "mumps", "measles"], [50, 30, 3 if age > 20 else 15, 2])[0]
        yield [age, chance.choice("FM"), disease, str(chance.random() < 0.22).lower()]


CLINIC = Sample(
    name="clinic",
    about="patients of a clinic, one row each: age, sex, disease, smoker; the table of the first page of the manual",
    tables=(PATIENTS,),
    rows=10_000,
    generate=_generate,
)
