"""A clinic's visits: several rows for each patient, and a second table about the same patients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta

from discreet.lab.samples.generated_chance import GeneratedChance
from discreet.lab.samples.sample_table import Sample, SampleColumn, SampleRow, SampleTable

#: What the clinic says of itself: so many visits a year are paid for. Few patients have more.
MOST_VISITS = 12

DEPARTMENTS = ("eyes", "heart", "lungs", "skin", "teeth")
TOWNS = ("Aldford", "Brookham", "Carrow", "Dunmere")

VISITS = SampleTable(
    name="visits",
    columns=(
        SampleColumn(name="patient", type="text", label="Number of the patient", rows_per_person=MOST_VISITS),
        SampleColumn(name="day", type="date", low="2025-01-01", high="2025-12-31", label="Day of the visit"),
        SampleColumn(name="department", type="category", values=DEPARTMENTS, label="Department"),
        SampleColumn(name="cost", type="decimal", low=0, high=500, label="Cost of the visit"),
        SampleColumn(name="emergency", type="boolean", label="Whether it was an emergency"),
    ),
    add_flags=(("population", "clinic"), ("epsilon", 1.5)),
)
PATIENTS = SampleTable(
    name="patients",
    columns=(
        SampleColumn(name="patient", type="text", label="Number of the patient", rows_per_person=1),
        SampleColumn(name="birth_year", type="integer", low=1920, high=2025, label="Year of birth"),
        SampleColumn(name="sex", type="category", values={"1": "female", "2": "male"}, label="Sex"),
        SampleColumn(name="town", type="category", values=TOWNS, label="Town where the patient lives"),
    ),
    add_flags=(("population", "clinic"),),
)


def _generate(rows: int) -> Mapping[str, Iterable[SampleRow]]:
    chance = GeneratedChance("visits")
    visits: list[tuple[object, ...]] = []
    patients: list[tuple[object, ...]] = []
    while len(visits) < rows:
        patient = f"P{len(patients) + 1:06d}"
        born = chance.near(1975, 22, low=1925, high=2025)
        patients.append((patient, born, chance.pick("12"), chance.weighted(TOWNS, (40, 30, 20, 10))))
        visits += [(patient, *_visit(chance, born)) for _ in range(_count_visits(chance))]
    visits = visits[:rows]
    visits.sort(key=lambda visit: (str(visit[1]), str(visit[0])))
    return {VISITS.name: visits, PATIENTS.name: patients}


def _count_visits(chance: GeneratedChance) -> int:
    """Most patients come a few times; some do not come in this year; a few come more often than is paid for."""
    count = 0
    while chance.is_true(0.77) and count < 2 * MOST_VISITS:
        count += 1
    return count


def _visit(chance: GeneratedChance, born: int) -> tuple[object, ...]:
    day = date(2025, 1, 1) + timedelta(days=chance.below(365))
    department = chance.weighted(DEPARTMENTS, (15, 30, 20, 10, 25) if born < 1965 else (20, 8, 17, 25, 30))
    cost = chance.near(9000, 3000, low=1000, high=49_900) + (12_000 if department == "heart" else 0)
    return day, department, f"{cost // 100}.{cost % 100:02d}", str(chance.is_true(0.08)).lower()


CLINIC_VISITS = Sample(
    name="visits",
    about="visits to a clinic, several rows for each patient, and a table of these patients; for persons and joins",
    tables=(VISITS, PATIENTS),
    rows=12_000,
    generate=_generate,
)
