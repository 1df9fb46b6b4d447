"""The samples by their names, and how one is written to a folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from discreet.errors import Command, Flag, Message, UsageError
from discreet.lab.samples.census_blocks import CENSUS_BLOCKS
from discreet.lab.samples.clinic import CLINIC
from discreet.lab.samples.clinic_visits import CLINIC_VISITS
from discreet.lab.samples.friendship_network import FRIENDSHIP_NETWORK
from discreet.lab.samples.offenders import COURT_OFFENDERS
from discreet.lab.samples.sample_table import Sample

SAMPLES: Mapping[str, Sample] = {
    sample.name: sample for sample in (CLINIC, CLINIC_VISITS, COURT_OFFENDERS, CENSUS_BLOCKS, FRIENDSHIP_NETWORK)
}

#: More rows than anybody learns with; all of them are in memory for a moment.
MOST_ROWS = 1_000_000


def named_sample(name: str) -> Sample:
    """A sample by its name; refused with the list of them."""
    sample = SAMPLES.get(name.lower())
    if sample is None:
        raise UsageError(f"there is no sample {name[:60]!r}", hint=f"one of: {', '.join(SAMPLES)}")
    return sample


def write_sample(name: str, folder: Path, *, rows: int | None = None) -> dict[str, int]:
    """Write the files of a sample to a folder, which is made where there is none; the rows of each table.

    Nothing is written where a file of that name is there already.
    """
    sample = named_sample(name)
    count = sample.rows if rows is None else rows
    if not 1 <= count <= MOST_ROWS:
        raise UsageError(f"a sample has from 1 to {MOST_ROWS:,} rows", hint=Message(Flag("rows", sample.rows)))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        there = [file for file in sample.files if (folder / file).exists()]
        if there:
            raise UsageError(
                f"{there[0]} is there already, and nothing is overwritten",
                hint=Message(Command("sample-data", sample.name, Flag("output", "FOLDER", short="o"))),
            )
        generated = sample.generate(count)
        return {table.name: table.write(folder, generated[table.name]) for table in sample.tables}
    except OSError as problem:
        raise UsageError(f"the sample cannot be written to {str(folder)[:200]!r}: {problem.strerror}") from None
