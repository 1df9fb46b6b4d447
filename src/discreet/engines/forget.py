"""Erasing persons from a declared table that exists. No version changes: stored answers and their losses stay.

Guarantee: after `erase` neither file holds a row or the tag of these persons; whenever it breaks off, each
    file is whole, old or new, and a second run finishes the work.
Because: the table is replaced first. Broken off before, nothing happened. Broken off between the two, the
    persons have no row left and still a tag and a count of rows, by which a second run finds their numbers.
    Numbers stay as they are, so both files agree at every moment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from discreet.engines import counted
from discreet.engines.stored import PERSON, new_file, persons_file
from discreet.engines.writing import write
from discreet.errors import LedgerFault, UsageError

_ROWS_AT_ONCE = 122_880


def erase(file: Path, tags: Collection[bytes]) -> int:
    """Rewrite a declared table and its side file without the persons of these tags; how many they were."""
    beside = persons_file(file)
    numbers = _numbers(beside, tags)
    if numbers:
        _rewrite(file, PERSON, numbers)
        _rewrite(beside, "number", numbers)
    return len(numbers)


def erase_counted(folder: Path, tables: Collection[str], tags: Collection[bytes], *, seal: counted.Seal) -> None:
    """Rewrite what streams over these tables have counted without the persons of these tags.

    A state that cannot be read serves no stream any more, and goes.
    """
    for own in sorted((folder / counted.FOLDER).glob("*/")):
        with counted.alone(own, wait=True):
            for file in counted.states(own):
                try:
                    known = counted.load(own, file.name, seal)
                except LedgerFault:
                    counted.discard(file)
                    continue
                if known.table in tables:
                    counted.save(own, known.without(tags), seal, name=file.name)


def _numbers(beside: Path, tags: Collection[bytes]) -> list[int]:
    """The numbers that a side file gives to tags."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    wanted = pa.array(list(tags), pa.binary())
    found: list[int] = []
    try:
        with pq.ParquetFile(beside) as persons:
            for batch in persons.iter_batches(columns=["number", "tag"]):
                mask = pc.is_in(batch.column("tag").cast(pa.binary()), value_set=wanted)
                found += batch.column("number").filter(mask).to_pylist()
    except FileNotFoundError:
        raise UsageError(f"{beside.name} is not on the disk any more", hint="bring the folder back") from None
    return found


def _rewrite(file: Path, column: str, numbers: list[int]) -> None:
    """Replace a file by itself without the rows of these numbers, group by group."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    erased = pa.array(numbers, pa.int32())
    with pq.ParquetFile(file) as old, new_file(file) as stream:

        def kept() -> Iterator[Any]:
            for batch in old.iter_batches(_ROWS_AT_ONCE):
                yield batch.filter(pc.invert(pc.is_in(batch.column(column), value_set=erased)))

        if column == PERSON:  # as it was made
            write(kept(), old.schema_arrow, stream)
            return
        with pq.ParquetWriter(stream, old.schema_arrow, use_dictionary=["rows"]) as writer:
            for batch in kept():
                writer.write_batch(batch)
