"""A world to rehearse in: rows that were made up, and the declared tables of them, in a folder that is thrown away.

It has no ledger, no keys of a project and no state folder, and can charge nothing. Its exact numbers are of nobody.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import TableLocations
from discreet.kernel.curator import Curator
from discreet.kernel.measurement import ChosenBins, DiscoveredKeys, Measurement, NoisyCells, Part
from discreet.ledger.ledger import Ledger
from discreet.ledger.state import LedgerState
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.quantile import QuantileChoice
from discreet.plan.cells import DiscoveredAxis
from discreet.plan.price import ChooseBin, Discover, Measure, Price, Step
from discreet.plan.relation import scans
from discreet.schema.address import DEFAULT
from discreet.schema.person_path import path_of
from discreet.schema.schema import Table
from discreet.sql.parsed_query import ParsedQuery

if TYPE_CHECKING:
    import pyarrow as pa

#: A ledger in which nothing was ever entered, and to which nothing can be: questions are priced as on a first day.
EMPTY_LEDGER = cast(Ledger, LedgerState())

#: A rehearsal counts no longer than this.
DEADLINE_S = 5.0

#: More rows than anybody has here.
_ALL = 10**9

#: Made-up persons need no secret: with these keys the same rows count on every visit.
_KEY, _TAG_KEY = (hashlib.sha256(word).digest() for word in (b"rows of a rehearsal", b"persons of a rehearsal"))

#: Noise so small that an exact number, read as if it were noisy, keeps all its digits.
_NO_NOISE = DiscreteLaplace(scale=Fraction(1, 1000))


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalWorld:
    """Made-up rows by table, and where their declared tables lie. `whole`: those in which nobody's rows are cut."""

    rows: Mapping[str, pa.Table]
    curator: Curator
    files: Mapping[str, Path]
    whole: Mapping[str, Path]

    def tables(self, query: ParsedQuery, *, whole: bool = False) -> TableLocations:
        """Where the tables of a question lie."""
        paths = self.whole if whole else self.files
        files = {scan: paths[scan.table] for scan in scans(query.inquiry.plan)}
        return TableLocations(files=files, publics=query.publics)

    def noisy(self, query: ParsedQuery, price: Price) -> Measurement:
        """One draw, by the curator's own hand."""
        parts, event = self.curator.draw(price, self.tables(query))
        return Measurement(id="rehearsal", text=query.text, parts=parts, event=event)

    def exact(self, query: ParsedQuery, price: Price, *, whole: bool) -> Measurement:
        """The same cells without noise. They may be shown: the rows are nobody's."""
        tables = self.tables(query, whole=whole)
        parts: list[Part] = []
        discovered_axis: DiscoveredAxis | None = None
        for step in price.steps:
            part = self._count_exactly(step, price, tables, discovered_axis)
            if isinstance(part, DiscoveredKeys) and isinstance(step, Discover):
                discovered_axis = DiscoveredAxis(of=step.keys, keys=part.keys)
            parts.append(part)
        return Measurement(id="exact", text=query.text, parts=tuple(parts), event=price.event)

    def _count_exactly(
        self, step: Step, price: Price, tables: TableLocations, discovered_axis: DiscoveredAxis | None
    ) -> Part:
        engine = self.curator.engine
        if isinstance(step, Discover):
            exact_groups = engine.keys(step.plan, step.keys, price.region, persons=step.persons, tables=tables)
            most = np.argsort(-exact_groups.exact_persons, kind="stable")[: price.most_keys]
            places = sorted(most.tolist())
            persons = tuple(int(exact_groups.exact_persons[place]) for place in places)
            keys = tuple(exact_groups.exact_keys[place] for place in places)
            answers = step.answers
            return DiscoveredKeys(keys=keys, answers=answers, noisy_values=persons, law=_NO_NOISE, threshold=0)
        exact_values = engine.count(
            replace(step.cells, discovered_axis=discovered_axis), price.region, tables=tables
        ).exact_values
        if isinstance(step, Measure):
            values = tuple(tuple(each.tolist()) for each in exact_values)
            laws = tuple(_NO_NOISE for _ in values)
            return NoisyCells(place=step.place, statistics=step.statistics, noisy_values=values, laws=laws)
        return _quantiles(step, exact_values[0])


def _quantiles(step: ChooseBin, counts: NDArray[Any]) -> ChosenBins:
    """The bin in which each group's quantile lies; the first where a group is empty."""
    assert isinstance(step.mechanism, QuantileChoice)
    sums = np.cumsum(counts.reshape(-1, step.mechanism.bins).astype(np.float64), axis=1)
    target_counts = np.maximum(float(step.mechanism.fraction) * sums[:, -1:], 0.5)
    places = np.argmax(sums >= target_counts, axis=1)
    bins = tuple((int(place), int(place), int(place)) for place in places)
    return ChosenBins(place=step.place, quantile=step.quantile, noisy_bins=bins, confidence=step.mechanism.confidence)


@contextmanager
def world_of(tables: Mapping[str, Table], rows: Mapping[str, pa.Table]) -> Iterator[RehearsalWorld]:
    """The declared tables of made-up rows, by the declarations of `tables`; gone when it is left.

    `rows`: of all tables that a question names, and of those through which they reach their persons.
    """
    with tempfile.TemporaryDirectory(prefix="discreet-rehearsal-") as name:
        folder, engine = Path(name), DuckDBEngine(threads=1, memory_mb=512, deadline_s=DEADLINE_S)
        here = {}
        for number, (table_name, made) in enumerate(rows.items()):
            pq.write_table(made, folder / f"{number}.parquet")
            here[table_name] = replace(tables[table_name], source=f"{number}.parquet", engine=DEFAULT)
        files, whole = {}, {}
        for number, table in enumerate(here.values()):
            files[table.name] = _declare(engine, table, here, folder, folder / f"declared-{number}.parquet")
            whole[table.name] = files[table.name]
            if not table.schema.unit.is_row:
                all_ = replace(table, schema=replace(table.schema, unit=replace(table.schema.unit, rows=_ALL)))
                whole[table.name] = _declare(engine, all_, here, folder, folder / f"whole-{number}.parquet")
        curator = Curator(ledger=EMPTY_LEDGER, engine=engine, folder=folder)
        yield RehearsalWorld(rows=rows, curator=curator, files=files, whole=whole)


def _declare(engine: DuckDBEngine, table: Table, tables: Mapping[str, Table], folder: Path, target: Path) -> Path:
    engine.declare(table, folder=folder, target=target, key=_KEY, tag_key=_TAG_KEY, path=path_of(table, tables))
    return target
