"""A release as its bundle tells it, without the project: so that cards and chart can be made anew, and compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from discreet import exact
from discreet.accounting import events
from discreet.accounting.guarantee import Guarantee
from discreet.answers.workload.stored_batch import StoredBatch
from discreet.bundle import answer_replay, networks
from discreet.bundle.about import About
from discreet.bundle.batch_replay import KIND as BATCH
from discreet.bundle.batch_replay import batch_queries, batch_text
from discreet.bundle.content import BundleContent, title_of
from discreet.bundle.sheet import Sheet
from discreet.kernel.measurement import Measurement


def content_from_plan(plan: Mapping[str, Any], sheets: tuple[Sheet, ...], ledger: Mapping[str, Any]) -> BundleContent:
    """What a plan tells, as `content_of` reads it from a ledger. Of SQL without public tables, and of all other kinds.

    Title, warnings and what is public are not taken from the plan: they follow from what is stored and declared.
    """
    stored = json.loads(plan["payloads"][plan["release"]])
    unit = answer_replay.schema_of(plan["table"], plan["schemas"]).unit
    return BundleContent(
        release=plan["release"],
        kind=plan["kind"],
        question=plan["question"],
        text=_text(plan, stored),
        table=plan["table"],
        version=plan["version"],
        unit="row" if unit.is_row else "person",
        unit_words=str(unit),
        day=plan["day"],
        event=events.from_data(plan["event"]),
        guarantee=Guarantee.from_data(plan["guarantee"]),
        spent=exact.read(plan["spent"]),
        doubled=plan["doubled"],
        invariants=tuple(plan["invariants"]),
        as_of=plan["as_of"],
        confidence=exact.read(plan["confidence"]),
        schemas=plan["schemas"],
        payloads=plan["payloads"],
        warnings=_warnings(plan),
        sheets=sheets,
        publics=networks.publics_of(stored) if plan["kind"] in networks.KINDS else (),
        ledger=ledger,
        about=About.from_data(plan["about"]),
        unit_changes=tuple(plan.get("unit_changes", ())),
    )


def _text(plan: Mapping[str, Any], stored: Mapping[str, Any]) -> str:
    if plan["kind"] == BATCH:
        return batch_text(plan["payloads"], plan["release"])
    return str(stored["text"]) if "text" in stored else title_of(plan["kind"], plan["table"], stored)


def _warnings(plan: Mapping[str, Any]) -> tuple[str, ...]:
    if plan["kind"] == BATCH:
        stored = StoredBatch.from_text(plan["payloads"][plan["release"]])
        queries = batch_queries(plan["payloads"], plan["release"], answer_replay.catalog_of(plan["schemas"]))
        measured = [query for number, query in enumerate(queries) if stored.group_of(number) is not None]
        return tuple(dict.fromkeys(line for query in measured for line in answer_replay.warnings_of(query)))
    if plan["kind"] != "answer":
        return ()
    measurement = Measurement.from_text(plan["payloads"][plan["release"]])
    readings = answer_replay.readings_of(
        measurement, answer_replay.catalog_of(plan["schemas"]), question=plan["question"]
    )
    return tuple(dict.fromkeys(line for reading in readings for line in answer_replay.warnings_of(reading.query)))
