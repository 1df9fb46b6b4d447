"""An SQL answer computed anew: from the question's text, the declared schemas and what was measured; from no data.

A bundle is made by this, and checked by it: whoever has the bundle has all that its numbers follow from.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.answers.caveats import caveats
from discreet.answers.columns import columns_of
from discreet.answers.refine import Reading
from discreet.answers.repeats import whole_of
from discreet.bundle.sheet import Sheet
from discreet.errors import UsageError
from discreet.measurement import Measurement
from discreet.schema.file import read_table
from discreet.schema.schema import Schema
from discreet.sql.asked import Asked
from discreet.sql.catalog import Catalog, Known
from discreet.sql.read import read


def catalog_of(schemas: Mapping[str, Any], publics: Catalog | None = None) -> Catalog:
    """What the question may name: the versions that it was asked of, as a bundle keeps them, and public tables."""
    private = {
        table: Known(schema=schema_of(table, schemas), version=told["version"], population=told["population"])
        for table, told in schemas.items()
    }
    return {**(publics or {}), **private}


def schema_of(table: str, schemas: Mapping[str, Any]) -> Schema:
    """The schema of a table, as a bundle keeps it: where it lies is left out."""
    return read_table(table, {**schemas[table]["declared"], "source": "-"}).schema


def asked_of(measurement: Measurement, catalog: Catalog, *, question: str) -> list[Reading]:
    """Every statement of a release, with what was measured for it. Refuses one that would mean something else now.

    `question`: the one that was charged. `others` are left to the caller, who has them.
    """
    found = whole_of(measurement, reads=lambda text: read(text, catalog))
    if found is None or found[0].question() != question:
        raise UsageError(
            f"release {measurement.id} cannot be read any more: a table that it names has changed",
            hint="ask the question anew",
        )
    whole, asked = found
    within = None if len(asked) == 1 else whole
    return [Reading(asked=each, measurement=measurement, within=within) for each in asked]


def sheets_of(
    release: str, payloads: Mapping[str, str], catalog: Catalog, *, question: str, confidence: Fraction
) -> tuple[Sheet, ...]:
    """The rows of every statement, and their noise intervals."""
    measurement = Measurement.from_text(payloads[release])
    others = tuple(Measurement.from_text(payloads[id_]) for id_ in measurement.also)
    return tuple(
        _sheet(Reading(asked=one.asked, measurement=measurement, others=others, within=one.within), confidence)
        for one in asked_of(measurement, catalog, question=question)
    )


def warnings_of(asked: Asked) -> list[str]:
    """What a reader should know beside the noise: truncation, clamping, NULL. From the declaration alone."""
    return [*asked.warnings, *caveats(asked)]


def _sheet(reading: Reading, confidence: Fraction) -> Sheet:
    return Sheet.of(columns_of(reading.asked), reading.rows, reading.intervals(confidence))
