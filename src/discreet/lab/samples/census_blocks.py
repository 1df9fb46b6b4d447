"""A census: everybody in a household, households in blocks, blocks in tracts; where the blocks lie is public."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from discreet.lab.samples.generated_chance import GeneratedChance
from discreet.lab.samples.sample_table import Sample, SampleColumn, SampleRow, SampleTable

#: Four districts of three tracts of four blocks.
BLOCKS = tuple(
    (f"{district}{tract}0{block}", f"{district}{tract}", district)
    for district in ("N", "E", "S", "W")
    for tract in (1, 2, 3)
    for block in (1, 2, 3, 4)
)
_NAMES = tuple(block for block, _, _ in BLOCKS)

#: The form has lines for so many people.
MOST_PEOPLE = 8

RESIDENTS = SampleTable(
    name="residents",
    columns=(
        SampleColumn(name="household", type="text", label="Number of the household", rows_per_person=MOST_PEOPLE),
        SampleColumn(name="block", type="category", values=_NAMES, label="Block where the household lives"),
        SampleColumn(name="age", type="integer", low=0, high=110, label="Age in years"),
        SampleColumn(name="sex", type="category", values={"1": "male", "2": "female"}, label="Sex"),
        SampleColumn(
            name="tenure",
            type="category",
            values={"1": "owned", "2": "rented", "3": "other"},
            label="Tenure of the home",
        ),
    ),
)
BLOCK_LIST = SampleTable(
    name="blocks",
    add_flags=(("public", True),),
    columns=(
        SampleColumn(name="block", type="text", label="Block"),
        SampleColumn(name="tract", type="text", label="Tract of the block"),
        SampleColumn(name="district", type="text", label="District of the tract"),
    ),
)


def _generate(rows: int) -> Mapping[str, Iterable[SampleRow]]:
    return {RESIDENTS.name: _residents(rows), BLOCK_LIST.name: BLOCKS}


def _residents(rows: int) -> Iterable[SampleRow]:
    chance = GeneratedChance("census")
    sizes = tuple(1 + chance.below(9) for _ in _NAMES)  # some blocks have many households, some few
    written = number = 0
    while written < rows:
        number += 1
        block, tenure = chance.weighted(_NAMES, sizes), chance.weighted("123", (55, 40, 5))
        adult = chance.near(48, 17, low=18, high=99)
        for place in range(min(rows - written, chance.weighted(range(1, 9), (30, 32, 15, 13, 6, 2, 1, 1)))):
            age = adult if place == 0 else chance.near(adult if place == 1 else adult - 30, 4, low=0, high=104)
            yield [f"H{number:06d}", block, age, chance.pick("12"), tenure]
            written += 1


CENSUS_BLOCKS = Sample(
    name="census",
    about="residents of 48 census blocks by household, and a public table of the blocks; for tables that add up",
    tables=(RESIDENTS, BLOCK_LIST),
    rows=8_000,
    generate=_generate,
)
