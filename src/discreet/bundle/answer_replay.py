"""An SQL answer computed anew: from the question's text, the declared schemas and what was measured; from no data.

A bundle is made by this, and checked by it: whoever has the bundle has all that its numbers follow from.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.answers.answer_columns import columns_of
from discreet.answers.caveats import caveats
from discreet.answers.refine import AnswerReading
from discreet.answers.repeats import read_stored_queries
from discreet.bundle.sheet import Sheet
from discreet.errors import UsageError
from discreet.kernel.measurement import Measurement
from discreet.schema.project_file import read_table
from discreet.schema.schema import Schema
from discreet.sql.catalog import Catalog, CatalogTable
from discreet.sql.parsed_query import ParsedQuery
from discreet.sql.query_parser import parse_query


def catalog_of(schemas: Mapping[str, Any], publics: Catalog | None = None) -> Catalog:
    """What the question may name: the versions that it was asked of, as a bundle keeps them, and public tables."""
    private = {
        table: CatalogTable(
            schema=schema_of(table, schemas), version=version["version"], population=version["population"]
        )
        for table, version in schemas.items()
    }
    return {**(publics or {}), **private}


def schema_of(table: str, schemas: Mapping[str, Any]) -> Schema:
    """The schema of a table, as a bundle keeps it: where it lies is left out."""
    return read_table(table, {**schemas[table]["declared"], "source": "-"}).schema


def readings_of(measurement: Measurement, catalog: Catalog, *, question: str) -> list[AnswerReading]:
    """Every statement of a release, with what was measured for it. Refuses one that would mean something else now.

    `question`: the one that was charged. `others` are left to the caller, who has them.
    """
    parsed = read_stored_queries(measurement, reads=lambda text: parse_query(text, catalog))
    if parsed is None or parsed[0].question() != question:
        raise UsageError(
            f"release {measurement.id} can no longer be read: a table that it uses has changed",
            hint="ask the query again",
        )
    whole, queries = parsed
    within = None if len(queries) == 1 else whole
    return [AnswerReading(query=each, measurement=measurement, within=within) for each in queries]


def sheets_of(
    release: str, payloads: Mapping[str, str], catalog: Catalog, *, question: str, confidence: Fraction
) -> tuple[Sheet, ...]:
    """The rows of every statement, and their noise intervals."""
    measurement = Measurement.from_text(payloads[release])
    others = tuple(Measurement.from_text(payloads[id_]) for id_ in measurement.also)
    return tuple(
        _sheet(AnswerReading(query=one.query, measurement=measurement, others=others, within=one.within), confidence)
        for one in readings_of(measurement, catalog, question=question)
    )


def warnings_of(query: ParsedQuery) -> list[str]:
    """What a reader should know beside the noise: truncation, clamping, NULL. From the declaration alone."""
    return [*query.warnings, *caveats(query)]


def _sheet(reading: AnswerReading, confidence: Fraction) -> Sheet:
    return Sheet.of(columns_of(reading.query), reading.rows, reading.intervals(confidence)).outward()
