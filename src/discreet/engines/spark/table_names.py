"""What the tables of a question are called in its SQL, and the data frames behind the names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from discreet.engines.engine import TableLocations
from discreet.engines.spark.broadcast_table import broadcast_frame
from discreet.engines.spark.lake import LakeTable
from discreet.engines.spark.session import SparkSession
from discreet.engines.table_file import PERSON
from discreet.engines.table_location import TableLocation
from discreet.plan.cells import DiscoveredAxis
from discreet.plan.expressions import Words
from discreet.plan.relation import JoinPublic, Scan
from discreet.sql.spark_dialect import SparkDialect
from discreet.sql.sql_writer import PLACE, SqlTableNames, key_name


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkTableNames:
    """Names of one question: `prefix` is its own. Public tables and keys are small, and go to the rows."""

    session: SparkSession
    prefix: str
    tables: TableLocations
    lake: Callable[[TableLocation], LakeTable]
    frames: dict[str, Any] = field(default_factory=dict)
    view_names: dict[tuple[str, str], str] = field(default_factory=dict)

    def names(self) -> SqlTableNames:
        return SqlTableNames(
            scan=self._scan, persons=self._persons, public=self._public, discovered_keys=f"{self.prefix}_found"
        )

    def add_discovered_keys(self, discovered_keys: DiscoveredAxis | None) -> None:
        """The discovered keys as a table to join."""
        import pyarrow as pa

        if discovered_keys is None:
            return
        columns: dict[str, Any] = {
            key_name(place): pa.array(
                [key[place] for key in discovered_keys.keys], type=pa.string() if isinstance(of, Words) else pa.int64()
            )
            for place, of in enumerate(discovered_keys.of)
        }
        self._add_broadcast(
            "found", pa.table({**columns, PLACE: pa.array(range(discovered_keys.size), type=pa.int64())})
        )

    def _scan(self, scan: Scan) -> str:
        table = self.lake(self.tables.file(scan))
        if scan.roster:
            person = SparkDialect().identifier(PERSON)
            return self._add(
                "roster",
                table.folder,
                lambda: table.persons(self.session, table.whole_manifest()).selectExpr(f"number AS {person}", "rows"),
            )
        return self._add("scan", table.folder, lambda: table.rows(self.session, table.whole_manifest()))

    def _persons(self, scan: Scan) -> str:
        table = self.lake(self.tables.file(scan))
        return self._add("persons", table.folder, lambda: table.persons(self.session, table.whole_manifest()))

    def _public(self, join: JoinPublic) -> str:
        return self._add_broadcast(f"public_{join.place}", self.tables.publics[join.place])

    def _add_broadcast(self, name: str, table: Any) -> str:
        return self._add(name, "", lambda: broadcast_frame(self.session, table))

    def _add(self, kind: str, of: str, frame: Callable[[], Any]) -> str:
        """A frame under a name, made once; it is a table as soon as it is named."""
        if (kind, of) not in self.view_names:
            called = f"{self.prefix}_{kind}_{len(self.view_names)}" if of else f"{self.prefix}_{kind}"
            self.frames[called] = frame()
            self.frames[called].createOrReplaceTempView(called)
            self.view_names[kind, of] = called
        return self.view_names[kind, of]
