"""Erasing persons from a declared table that exists. No version changes: stored answers and their losses stay.

Guarantee: after `erase` neither file holds a row or the tag of these persons; whenever it breaks off, each
    file is whole, old or new, and a second run finishes the work.
Because: the table is replaced first. Broken off before, nothing happened. Broken off between the two, the
    persons have no row left and still a tag and a count of rows, by which a second run finds their numbers.
    Numbers stay as they are, so both files agree at every moment.

From a table of `ends` all edges go that touch these persons; the others' are as they were, in their order, and the side
file counts them anew: who has none left is not in it any more, as if the erased had never been there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from discreet.engines.parquet_writer import write_parquet
from discreet.engines.table_file import FROM, PERSON, TO, new_file, persons_file
from discreet.errors import UsageError

_ROWS_AT_ONCE = 122_880


def erase(file: Path, tags: Collection[bytes]) -> int:
    """Rewrite a declared table and its side file without the persons of these tags; how many they were."""
    beside = persons_file(file)
    numbers = _numbers(beside, tags)
    if numbers:
        _rewrite(file, numbers)
        _rewrite_persons(file, beside, numbers)
    return len(numbers)


def _numbers(beside: Path, tags: Collection[bytes]) -> list[int]:
    """The numbers that a side file gives to tags."""
    erased_tags = pa.array(list(tags), pa.binary())
    numbers: list[int] = []
    try:
        with pq.ParquetFile(beside) as persons:
            for batch in persons.iter_batches(columns=["number", "tag"]):
                mask = pc.is_in(batch.column("tag").cast(pa.binary()), value_set=erased_tags)
                numbers += batch.column("number").filter(mask).to_pylist()
    except FileNotFoundError:
        raise UsageError(f"{beside.name} is no longer on disk", hint="restore the folder") from None
    return numbers


def _rewrite(file: Path, numbers: list[int]) -> None:
    """Replace a declared table by itself without the rows of these numbers, group by group."""
    with pq.ParquetFile(file) as old, new_file(file) as stream:
        whose = (FROM, TO) if FROM in old.schema_arrow.names else (PERSON,)
        kept = (_without(batch, whose, numbers) for batch in old.iter_batches(_ROWS_AT_ONCE))
        write_parquet(kept, old.schema_arrow, stream)  # as it was made


def _rewrite_persons(file: Path, beside: Path, numbers: list[int]) -> None:
    """Replace the side file of a declared table, which is rewritten already, by itself without these numbers."""
    recount = _degrees(file)
    with (
        pq.ParquetFile(beside) as old,
        new_file(beside) as stream,
        pq.ParquetWriter(stream, old.schema_arrow, use_dictionary=["rows"]) as writer,
    ):
        for batch in old.iter_batches(_ROWS_AT_ONCE):
            kept = _without(batch, ("number",), numbers)
            writer.write_batch(kept if recount is None else recount(kept))


def _without(batch: Any, whose: tuple[str, ...], numbers: list[int]) -> Any:
    """A batch without the rows that have one of these numbers in one of these columns."""
    erased = pa.array(numbers, pa.int32())
    for column in whose:
        batch = batch.filter(pc.invert(pc.is_in(batch.column(column), value_set=erased)))
    return batch


def _degrees(file: Path) -> Callable[[Any], Any] | None:
    """What makes of a batch of the side file one with the edges that a table has now, without those who have none.

    None where it is no table of ends.
    """
    with pq.ParquetFile(file) as table:
        if FROM not in table.schema_arrow.names:
            return None
        edge_table = table.read(columns=[FROM, TO])
    exact_rows = np.bincount(np.concatenate([edge_table.column(name).to_numpy() for name in (FROM, TO)]), minlength=1)

    def recounted(batch: Any) -> Any:
        numbers = batch.column("number").to_numpy()
        rows = np.where(numbers < len(exact_rows), exact_rows[np.minimum(numbers, len(exact_rows) - 1)], 0)
        changed = batch.set_column(batch.schema.get_field_index("rows"), "rows", pa.array(rows, pa.int64()))
        return changed.filter(pc.greater(changed.column("rows"), 0))

    return recounted
