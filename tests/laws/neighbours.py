"""The law of neighbours, exactly: no noise, no sampling, the real engine and the real plan.

D' is D without one row. The vectors that noise would be added to must differ by no more than
`plan.stability` claims, and not at all where the row lies outside the region that is charged.
"""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.memory import MemoryEngine
from discreet.plan.cells import Cells
from discreet.plan.predicate import TRUE
from discreet.plan.stability import sensitivity
from engines.tables import Rows


@dataclass
class Law:
    """Checks pairs of neighbours and remembers what it has seen."""

    folder: Path
    engine: DuckDBEngine
    seen: Counter = field(default_factory=Counter)

    def check(self, table: Rows, removed: list[int], asked: list[Cells]) -> None:
        """Every pair (table, table without a row) under every question."""
        whole = self._vectors(table, asked)
        records = self._records(table)
        for cells, vector in zip(asked, whole, strict=True):
            if cells.plan.where == TRUE:
                assert vector.sum() == len(records), "a row is in exactly one cell"
        for place in removed:
            self.seen["pairs"] += 1
            for cells, left, right in zip(asked, whole, self._vectors(table.without(place), asked), strict=True):
                self._bounded(cells, table, records[place], left - right)

    def _bounded(self, cells, table, record, change) -> None:
        claim = sensitivity(cells, table.schema.unit)
        moved = {
            "l0": int((change != 0).sum()),
            "l1": int(abs(change).sum()),
            "l2_squared": int((change**2).sum()),
            "linf": int(abs(change).max()),
        }
        for norm, found in moved.items():
            assert found <= getattr(claim, norm), f"{norm} is {found}"
            self.seen[norm] += found == getattr(claim, norm)
        if record not in cells.region:
            self.seen["outside"] += 1
            assert not change.any(), "a row outside the region changed a cell"

    def _vectors(self, table: Rows, asked: list[Cells]) -> list:
        file = self.folder / "declared.parquet"
        self.engine.declare(table.write(self.folder), folder=self.folder, target=file)
        return [self.engine.count(cells, table.schema, file=file).exact_values for cells in asked]

    def _records(self, table: Rows) -> list[dict]:
        file = self.folder / "reference.parquet"
        MemoryEngine().declare(table.write(self.folder), folder=self.folder, target=file)
        return pq.read_table(file).to_pylist()
