"""How many edges everybody has who stands in the side file of a table of ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from discreet.engines.table_file import FROM, TO


def degrees(file: Path) -> Callable[[Any], Any] | None:
    """What makes of a batch of the side file one with the edges that a table has now, without those who have none.

    None where it is no table of ends.
    """
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

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
