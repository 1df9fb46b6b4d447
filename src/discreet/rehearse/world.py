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
from numpy.typing import NDArray

from discreet.curator import Curator
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import Tables
from discreet.ledger.ledger import Ledger
from discreet.ledger.state import State
from discreet.measurement import ChosenBins, FoundKeys, Measurement, NoisyCells, Part
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.quantile import QuantileChoice
from discreet.plan.cells import Found
from discreet.plan.price import Choose, Discover, Measure, Price, Step
from discreet.plan.relation import scans
from discreet.schema.address import DEFAULT
from discreet.schema.path import path_of
from discreet.schema.schema import Table
from discreet.sql.asked import Asked

if TYPE_CHECKING:
    import pyarrow as pa

#: A ledger in which nothing was ever entered, and to which nothing can be: questions are priced as on a first day.
UNTOUCHED = cast(Ledger, State())

#: A rehearsal counts no longer than this.
DEADLINE_S = 5.0

#: More rows than anybody has here.
_ALL = 10**9

#: Made-up persons need no secret: with these keys the same rows count on every visit.
_KEY, _TAG_KEY = (hashlib.sha256(word).digest() for word in (b"rows of a rehearsal", b"persons of a rehearsal"))

#: Noise so small that an exact number, read as if it were noisy, keeps all its digits.
_NONE = DiscreteLaplace(scale=Fraction(1, 1000))


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Made-up rows by table, and where their declared tables lie. `whole`: those in which nobody's rows are cut."""

    rows: Mapping[str, pa.Table]
    curator: Curator
    files: Mapping[str, Path]
    whole: Mapping[str, Path]

    def tables(self, asked: Asked, *, whole: bool = False) -> Tables:
        """Where the tables of a question lie."""
        known = self.whole if whole else self.files
        files = {scan: known[scan.table] for scan in scans(asked.inquiry.plan)}
        return Tables(files=files, publics=asked.publics)

    def noisy(self, asked: Asked, price: Price) -> Measurement:
        """One draw, by the curator's own hand."""
        parts, event = self.curator.draw(price, self.tables(asked))
        return Measurement(id="rehearsal", text=asked.text, parts=parts, event=event)

    def exact(self, asked: Asked, price: Price, *, whole: bool) -> Measurement:
        """The same cells without noise. They may be shown: the rows are nobody's."""
        tables = self.tables(asked, whole=whole)
        parts: list[Part] = []
        found: Found | None = None
        for step in price.steps:
            part = self._counted(step, price, tables, found)
            if isinstance(part, FoundKeys) and isinstance(step, Discover):
                found = Found(of=step.keys, keys=part.keys)
            parts.append(part)
        return Measurement(id="exact", text=asked.text, parts=tuple(parts), event=price.event)

    def _counted(self, step: Step, price: Price, tables: Tables, found: Found | None) -> Part:
        engine = self.curator.engine
        if isinstance(step, Discover):
            known = engine.keys(step.plan, step.keys, price.region, persons=step.persons, tables=tables)
            most = np.argsort(-known.exact_persons, kind="stable")[: price.most_keys]
            places = sorted(most.tolist())
            persons = tuple(int(known.exact_persons[place]) for place in places)
            keys = tuple(known.exact_keys[place] for place in places)
            answers = step.answers
            return FoundKeys(keys=keys, answers=answers, noisy_values=persons, law=_NONE, threshold=0)
        exact_values = engine.count(replace(step.cells, found=found), price.region, tables=tables).exact_values
        if isinstance(step, Measure):
            values = tuple(tuple(each.tolist()) for each in exact_values)
            laws = tuple(_NONE for _ in values)
            return NoisyCells(place=step.place, statistics=step.statistics, noisy_values=values, laws=laws)
        return _quantiles(step, exact_values[0])


def _quantiles(step: Choose, counts: NDArray[Any]) -> ChosenBins:
    """The bin in which each group's quantile lies; the first where a group is empty."""
    assert isinstance(step.mechanism, QuantileChoice)
    sums = np.cumsum(counts.reshape(-1, step.mechanism.bins).astype(np.float64), axis=1)
    wanted = np.maximum(float(step.mechanism.fraction) * sums[:, -1:], 0.5)
    places = np.argmax(sums >= wanted, axis=1)
    bins = tuple((int(place), int(place), int(place)) for place in places)
    return ChosenBins(place=step.place, quantile=step.quantile, noisy_bins=bins, confidence=step.mechanism.confidence)


@contextmanager
def world_of(tables: Mapping[str, Table], rows: Mapping[str, pa.Table]) -> Iterator[World]:
    """The declared tables of made-up rows, by the declarations of `tables`; gone when it is left.

    `rows`: of all tables that a question names, and of those through which they reach their persons.
    """
    import pyarrow.parquet as pq

    with tempfile.TemporaryDirectory(prefix="discreet-rehearsal-") as name:
        folder, engine = Path(name), DuckDBEngine(threads=1, memory_mb=512, deadline_s=DEADLINE_S)
        here = {}
        for number, (known, made) in enumerate(rows.items()):
            pq.write_table(made, folder / f"{number}.parquet")
            here[known] = replace(tables[known], source=f"{number}.parquet", engine=DEFAULT)
        files, whole = {}, {}
        for number, table in enumerate(here.values()):
            files[table.name] = _declare(engine, table, here, folder, folder / f"declared-{number}.parquet")
            whole[table.name] = files[table.name]
            if not table.schema.unit.is_row:
                all_ = replace(table, schema=replace(table.schema, unit=replace(table.schema.unit, rows=_ALL)))
                whole[table.name] = _declare(engine, all_, here, folder, folder / f"whole-{number}.parquet")
        curator = Curator(ledger=UNTOUCHED, engine=engine, folder=folder)
        yield World(rows=rows, curator=curator, files=files, whole=whole)


def _declare(engine: DuckDBEngine, table: Table, tables: Mapping[str, Table], folder: Path, target: Path) -> Path:
    engine.declare(table, folder=folder, target=target, key=_KEY, tag_key=_TAG_KEY, path=path_of(table, tables))
    return target
