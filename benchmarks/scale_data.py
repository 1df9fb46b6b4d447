"""The tables that `./do bench scale` asks about: made up, always the same for a number of rows, outside the repository.

Visits of people who have 1 to 20 of them, about as many people with k visits as 1 in k: half of the rows belong to
people with more than ten. A row's person is computed from its number, and so is everything else from the number of its
chunk: nothing is held, and 100 million rows are written within a few hundred MB of memory. Seeded randomness belongs
here and nowhere near a private path: nobody is in these tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

KINDS = [f"kind_{number:02d}" for number in range(20)]
CODES = [f"c{number:04d}" for number in range(1000)]
CHAPTERS = [f"chapter_{number}" for number in range(10)]
SEXES = ["F", "M"]
REGIONS = [f"region_{number:02d}" for number in range(50)]
#: Nobody declares these: they have to be discovered.
WORDS = [f"word {number * number} of many" for number in range(2000)]
MOST_AGE = 99
MOST_COST = 2000
FIRST_DAY, DAYS = 18262, 1461  # 2020-01-01, four years

#: One file, and one chunk of it.
_FILE, _CHUNK = 10_000_000, 1_000_000
_SEED = 20261115

#: One block of people: how many visits each of them has.
_VISITS = np.repeat(np.arange(1, 21), [round(60 / k) for k in range(1, 21)])
_PERSON_OF_SLOT = np.repeat(np.arange(len(_VISITS)), _VISITS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """Folders of Parquet files: `visits`, the `people` who made them, and the public `codes`."""

    visits: Path
    people: Path
    codes: Path
    rows: int

    @property
    def bytes(self) -> int:
        """What lies on disk."""
        return sum(file.stat().st_size for file in self.visits.parent.rglob("*.parquet"))


def number_of_people(rows: int) -> int:
    """How many people have at least one of so many visits."""
    blocks, rest = divmod(rows, len(_PERSON_OF_SLOT))
    return blocks * len(_VISITS) + (int(_PERSON_OF_SLOT[rest - 1]) + 1 if rest else 0)


def make(folder: Path, rows: int) -> Data:
    """The tables in `folder`, written where they are missing."""
    data = Data(visits=folder / "visits", people=folder / "people", codes=folder / "codes", rows=rows)
    whole = folder / "whole"
    if not whole.exists():
        _write(data.visits, rows, lambda first, size: _visits(first, size, rows))
        _write(data.people, number_of_people(rows), _people)
        data.codes.mkdir(parents=True, exist_ok=True)
        chapters = pa.array([CHAPTERS[number % len(CHAPTERS)] for number in range(len(CODES))])
        pq.write_table(pa.table({"code": CODES, "chapter": chapters}), data.codes / "part-000.parquet")
        whole.touch()
    return data


def _write(folder: Path, rows: int, chunk: Callable[[int, int], pa.Table]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for turn, start in enumerate(range(0, rows, _FILE)):
        writer = None
        for first in range(start, min(start + _FILE, rows), _CHUNK):
            table = chunk(first, min(_CHUNK, rows - first))
            writer = writer or pq.ParquetWriter(folder / f"part-{turn:03d}.parquet", table.schema)
            writer.write_table(table)
        assert writer is not None
        writer.close()


def _person(first: int, size: int, rows: int) -> NDArray[np.int64]:
    """Whose visits these are. A step that shares no factor with the number of rows meets every slot once."""
    step = next(step for step in range(int(rows * 0.618), rows + 2) if math.gcd(step, rows) == 1)
    slot = (np.arange(first, first + size) * step) % rows
    block, place = np.divmod(slot, len(_PERSON_OF_SLOT))
    return block * len(_VISITS) + _PERSON_OF_SLOT[place]


def _visits(first: int, size: int, rows: int) -> pa.Table:
    generator = np.random.default_rng([_SEED, first])
    cost = (generator.gamma(2.0, 150.0, size).clip(0, MOST_COST) * 100).astype(np.int64)
    return pa.table(
        {
            "person": pa.array(_person(first, size, rows)),
            "kind": _words(KINDS, (generator.random(size) ** 1.5 * len(KINDS)).astype(np.int32)),
            "code": _words(CODES, (generator.random(size) ** 2 * len(CODES)).astype(np.int32)),
            "age": pa.array(generator.integers(0, MOST_AGE + 1, size, dtype=np.int32)),
            "cost": pa.array(cost).cast(pa.decimal128(19, 0)).cast(pa.decimal128(9, 0)).view(pa.decimal128(9, 2)),
            "day": pa.array(FIRST_DAY + generator.integers(0, DAYS, size, dtype=np.int32)).cast(pa.date32()),
            "word": _words(WORDS, (generator.random(size) ** 3 * len(WORDS)).astype(np.int32)),
        }
    )


def _people(first: int, size: int) -> pa.Table:
    generator = np.random.default_rng([_SEED, 1, first])
    return pa.table(
        {
            "person": pa.array(np.arange(first, first + size)),
            "sex": _words(SEXES, generator.integers(0, 2, size)),
            "region": _words(REGIONS, (generator.random(size) ** 1.5 * len(REGIONS)).astype(np.int32)),
        }
    )


def _words(words: list[str], places: NDArray[np.int32] | NDArray[np.int64]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(places, type=pa.int32()), pa.array(words))
