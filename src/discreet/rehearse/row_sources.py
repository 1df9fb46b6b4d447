"""What releases tell about a table: a model that was fitted, or counts of single columns that were asked for.

Post-processing: it reads what was paid for and released, and nothing else. Where the ledger cannot be opened there is
nothing to learn from, and a rehearsal goes on without.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.engines.source_values import code_of
from discreet.errors import DiscreetError
from discreet.plan.cell_statistics import RowCount
from discreet.plan.column_reads import columns_read
from discreet.plan.relation import Scan
from discreet.rehearse.source_values import NULL
from discreet.schema.column import Column, NumberColumn, TextColumn
from discreet.schema.schema import Schema
from discreet.sql.parsed_query import ParsedQuery

if TYPE_CHECKING:
    from discreet.project.project import Project
    from discreet.synth.model import Model

Codes = NDArray[np.int64]

#: So many models and answers are looked at, the newest.
_MODELS, _ANSWERS = 5, 40


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRows:
    """Rows of a fitted model."""

    model: Model = field(repr=False)

    @property
    def words(self) -> str:
        return f"rows sampled from the {self.model.card.kind} model of release {self.model.card.release}"

    @property
    def releases(self) -> tuple[str, ...]:
        return () if self.model.card.release is None else (self.model.card.release,)

    @property
    def total(self) -> float:
        return self.model.total

    def codes(self, schema: Schema, rows: int) -> dict[str, Codes]:
        """Codes of the columns that the model knows; the same on every visit, for a sample protects nobody."""
        sampled = self.model.sample(rows, seed=2026)
        modelled = _modelled_columns(self.model)
        codes_by_column = {}
        for column in schema.columns:
            if column.name.lower() in modelled and not isinstance(column, TextColumn):
                codes_by_column[column.name] = _code_values(column, sampled.column(column.name).to_pylist())
        return codes_by_column


@dataclass(frozen=True, slots=True, kw_only=True)
class CountRows:
    """Columns by their released counts, each for itself: how they depend on each other nobody has asked."""

    shares: Mapping[str, tuple[Codes, NDArray[np.float64]]] = field(repr=False)
    releases: tuple[str, ...]
    total: float

    @property
    def words(self) -> str:
        return f"rows with the shares of {', '.join(self.shares)} from {', '.join(self.releases)}"

    def codes(self, schema: Schema, rows: int) -> dict[str, Codes]:
        """Codes of the columns that were counted, drawn by a fixed generator."""
        generator = np.random.default_rng(2026)
        return {
            name: codes[np.searchsorted(sums, generator.random(rows) * sums[-1])]
            for name, (codes, sums) in self.shares.items()
        }


RowSource = ModelRows | CountRows


def find_row_sources(project: Project, query: ParsedQuery) -> dict[str, RowSource]:
    """For each private table of a question what its releases tell, where they tell of every column that it reads."""
    sources: dict[str, RowSource] = {}
    for scan in query.tables:
        needed = {name.lower() for table, name in columns_read(query.inquiry, query.schemas) if table == scan.table}
        best = _model(project, scan.table, needed) or _counts(project, scan, query.schemas[scan.table], needed)
        if best is not None:
            sources[scan.table] = best
    return sources


def _model(project: Project, table: str, needed: set[str]) -> ModelRows | None:
    """The newest kept model of a table that knows these columns."""
    folder = project.folder / ".discreet" / "models"
    files = sorted(folder.glob("*.npz"), key=lambda file: -file.stat().st_mtime_ns)
    for file in files[:_MODELS]:
        model = _load_model(file, file.stat().st_mtime_ns)
        if model is None or model.card.release is None or model.card.table.lower() != table.lower():
            continue
        if needed <= _modelled_columns(model):
            return ModelRows(model=model)
    return None


@lru_cache(maxsize=4)
def _load_model(file: Path, time: int) -> Model | None:
    """A model that was kept; None where the file is none. `time`: another one when it was written anew."""
    from discreet.synth.model import Model

    try:
        return Model.load(file)
    except DiscreetError:
        return None


def _modelled_columns(model: Model) -> set[str]:
    from discreet.synth.attribute_discovery import has_no_words

    return {attribute.name.lower() for attribute in model.attributes if not has_no_words(attribute)}


def _code_values(column: Column, values: Sequence[Any]) -> Codes:
    """Sampled values as codes of their column."""
    if isinstance(column, NumberColumn):  # floats of a grid: the nearest step
        step = float(column.step)
        return np.array([NULL if value is None else round(float(value) / step) for value in values], dtype=np.int64)
    words = [None if value is None else str(value) for value in values]
    code_by_word = {word: code_of(column, word) for word in set(words)}
    return np.array([NULL if (code := code_by_word[word]) is None else int(code) for word in words], dtype=np.int64)


def _counts(project: Project, scan: Scan, schema: Schema, needed: set[str]) -> CountRows | None:
    """Counts of single columns that were released of this version, where they are all that a question reads."""
    shares: dict[str, tuple[Codes, NDArray[np.float64]]] = {}
    releases: list[str] = []
    total = 0.0
    try:
        for id_, column, codes, counts in _released_counts(project, scan, schema):
            if column.name in shares or counts.sum() <= 0:
                continue
            shares[column.name] = codes, np.cumsum(counts)
            releases.append(id_)
            total = total or float(counts.sum())
    except DiscreetError:  # without a ledger nothing was released
        return None
    if not needed or not needed <= {name.lower() for name in shares}:
        return None
    needed_shares = {name: share for name, share in shares.items() if name.lower() in needed}
    named = tuple(id_ for id_, name in zip(releases, shares, strict=True) if name in needed_shares)
    return CountRows(shares=needed_shares, releases=named, total=total)


def _released_counts(
    project: Project, scan: Scan, schema: Schema
) -> Iterator[tuple[str, Column, Codes, NDArray[np.float64]]]:
    """The newest releases that count all rows by one column: its codes, and how many of each, none below 0."""
    state = project.ledger.refresh()
    charges = [each for each in state.charges.values() if (each.table, each.version) == (scan.table, scan.version)]
    for charge in sorted(charges, key=lambda each: -each.seq)[:_ANSWERS]:
        recalled_release = project.recall(charge.id)
        if not recalled_release.is_readable or len(recalled_release.texts) != 1:
            continue
        try:
            query = project.sql(recalled_release.texts[0]).query
            places = _by_one_column(query)
            release = project.release(charge.id) if places is not None else None
        except DiscreetError:  # something that it names has changed
            continue
        column = None if places is None else schema.column(query.keys[0].node.name)
        if places is None or release is None or column is None or isinstance(column, TextColumn):
            continue
        key, number = places
        labels = [row[key] for row in release.rows]
        codes = _code_labels(column, labels)
        if codes is not None:
            counts = np.array([max(0.0, float(row[number] or 0)) for row in release.rows])
            yield charge.id, column, codes, counts


def _by_one_column(query: ParsedQuery) -> tuple[int, int] | None:
    """Where key and count stand in an answer that counts all rows by one column as it is; None for any other."""
    whole = query.inquiry.plan == query.tables[0] and len(query.sets) == 1 and len(query.keys) == 1
    if (
        not whole
        or query.having is not None
        or query.limit is not None
        or not isinstance(query.keys[0].node, exp.Column)
    ):
        return None
    keys = [place for place, output in enumerate(query.outputs) if output.key is not None]
    counts = [
        place
        for place, output in enumerate(query.outputs)
        if output.plain is not None and output.plain[1] == 1 and query.inquiry.statistics[output.plain[0]] == RowCount()
    ]
    return (keys[0], counts[0]) if keys and counts else None


def _code_labels(column: Column, labels: Sequence[Any]) -> Codes | None:
    """Keys of an answer as codes; None where they are no single values, but bins."""
    codes = []
    for label in labels:
        code = None if label is None else code_of(column, label if isinstance(label, bool | int) else str(label))
        if label is not None and not isinstance(code, int):
            return None
        codes.append(NULL if code is None else int(code))
    return np.array(codes, dtype=np.int64)
