"""The table that `./do bench sql` asks about: made up, always the same, kept outside the repository.

A million people own ten million rows, and unevenly: the median person has six, the busiest about ninety
thousand. The smaller tables are the first rows of the large one. Seeded randomness belongs here and nowhere
near a private path: nobody is in this table.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa

#: Part of the files' names: another number where the table below changes.
EDITION = 1
ROWS = 10_000_000
PEOPLE = 1_000_000

REGIONS = [f"region_{number:02d}" for number in range(50)]
DISEASES = [f"d{number:03d}" for number in range(200)]
SEXES = ["F", "M"]
MOST_SALARY = 500_000

_AT_ONCE = 1_000_000


def table(rows: int) -> Path:
    """The Parquet file with so many rows; made when it is missing. All are beginnings of one table."""
    folder = Path(tempfile.gettempdir()) / f"discreet-bench-sql-{EDITION}"
    if not _file(folder, rows).exists():
        folder.mkdir(exist_ok=True)
        _make(folder, rows)
    return _file(folder, rows)


def _file(folder: Path, rows: int) -> Path:
    return folder / f"visits-{rows}.parquet"


def _make(folder: Path, rows: int) -> None:
    """Write the first rows; the file takes its name when it is whole.

    DuckDB writes them: it reads its own files up to twice as fast as others', and the raw query shall have its best.
    """
    batches = pa.RecordBatchReader.from_batches(SCHEMA, _batches(rows))  # noqa: F841 - DuckDB finds it by name
    draft = _file(folder, rows).with_suffix(f".{os.getpid()}")
    duckdb.execute(f"COPY (SELECT * FROM batches LIMIT {rows}) TO '{draft}' (FORMAT parquet)")
    draft.replace(_file(folder, rows))


def _batches(rows: int) -> Iterator[pa.RecordBatch]:
    """As many batches as hold so many rows: what comes later in the table does not change its beginning."""
    generator = np.random.default_rng(20261115)
    people = _people(generator)
    for start in range(0, rows, _AT_ONCE):
        yield _rows(people[start : start + _AT_ONCE], generator)


def _people(generator: np.random.Generator) -> np.ndarray:
    """Whose row each one is: everybody has one, and the rest go to few. The cube makes the skew."""
    more = (generator.random(ROWS - PEOPLE) ** 3 * PEOPLE).astype(np.int64)
    return generator.permutation(np.concatenate([np.arange(PEOPLE), more]))


def _rows(people: np.ndarray, generator: np.random.Generator) -> pa.RecordBatch:
    size = len(people)
    salary = np.exp(generator.normal(10.9, 0.6, size)).clip(0, MOST_SALARY).round(2)
    columns = [
        pa.array(people),
        pa.array(generator.integers(0, 100, size, dtype=np.int32)),
        _words(SEXES, generator.integers(0, 2, size)),
        _words(REGIONS, (generator.random(size) ** 1.5 * len(REGIONS)).astype(np.int32)),
        _words(DISEASES, (generator.random(size) ** 2 * len(DISEASES)).astype(np.int32)),
        pa.array(salary),
        pa.array(generator.integers(0, 365, size, dtype=np.int32)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _words(words: list[str], places: np.ndarray) -> pa.Array:
    return pa.array(words).take(pa.array(places))


SCHEMA = pa.schema(
    [
        ("user_id", pa.int64()),
        ("age", pa.int32()),
        ("sex", pa.string()),
        ("region", pa.string()),
        ("disease", pa.string()),
        ("salary", pa.float64()),
        ("day", pa.int32()),
    ]
)


if __name__ == "__main__":
    print(table(ROWS))
