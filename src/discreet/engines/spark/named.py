"""What the tables of a question are called in its SQL, and the data frames behind the names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from discreet.engines.engine import Tables
from discreet.engines.place import Place
from discreet.engines.spark.lake import Table
from discreet.engines.spark.session import Session
from discreet.engines.spark.small import small
from discreet.engines.stored import PERSON
from discreet.plan.cells import Found
from discreet.plan.expressions import Words
from discreet.plan.relation import JoinPublic, Scan
from discreet.sql.spark import Spark
from discreet.sql.write import PLACE, Names, key_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Names of one question: `prefix` is its own. Public tables and keys are small, and go to the rows."""

    session: Session
    prefix: str
    tables: Tables
    lake: Callable[[Place], Table]
    frames: dict[str, Any] = field(default_factory=dict)
    called: dict[tuple[str, str], str] = field(default_factory=dict)

    def names(self) -> Names:
        return Names(scan=self._scan, persons=self._persons, public=self._public, found=f"{self.prefix}_found")

    def find(self, found: Found | None) -> None:
        """The discovered keys as a table to join."""
        import pyarrow as pa

        if found is None:
            return
        columns: dict[str, Any] = {
            key_name(place): pa.array(
                [key[place] for key in found.keys], type=pa.string() if isinstance(of, Words) else pa.int64()
            )
            for place, of in enumerate(found.of)
        }
        self._small("found", pa.table({**columns, PLACE: pa.array(range(found.size), type=pa.int64())}))

    def _scan(self, scan: Scan) -> str:
        table = self.lake(self.tables.file(scan))
        if scan.roster:
            person = Spark().identifier(PERSON)
            return self._add(
                "roster",
                table.folder,
                lambda: table.persons(self.session, table.whole()).selectExpr(f"number AS {person}", "rows"),
            )
        return self._add("scan", table.folder, lambda: table.rows(self.session, table.whole()))

    def _persons(self, scan: Scan) -> str:
        table = self.lake(self.tables.file(scan))
        return self._add("persons", table.folder, lambda: table.persons(self.session, table.whole()))

    def _public(self, join: JoinPublic) -> str:
        return self._small(f"public_{join.place}", self.tables.publics[join.place])

    def _small(self, name: str, table: Any) -> str:
        return self._add(name, "", lambda: small(self.session, table))

    def _add(self, kind: str, of: str, frame: Callable[[], Any]) -> str:
        """A frame under a name, made once; it is a table as soon as it is named."""
        if (kind, of) not in self.called:
            called = f"{self.prefix}_{kind}_{len(self.called)}" if of else f"{self.prefix}_{kind}"
            self.frames[called] = frame()
            self.frames[called].createOrReplaceTempView(called)
            self.called[kind, of] = called
        return self.called[kind, of]
