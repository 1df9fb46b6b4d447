"""The proof that a bundle carries: `proof.json`, which `verify/` derives again without us.

    unit        whose presence is hidden, how many rows they have at most, and the columns that identify persons
    question    what was measured, as the ledger's digest of the question has it
    relation    node by node, how many rows one unit can own; publics: what public tables are said to be
    measured    every noisy vector: sensitivities, law, event, and where its numbers stand
    shown       which numbers of the tables are one noisy number, a formula of several, or a chosen bin; combined: of
                which measurements each noisy number is the mean by inverse variance
    steps       of a program: the event of every step, as the ledger has it; axes: of the tables that it measured;
                contents: of ranges and batches what each step measured, as JSON text; rows: of ranges under a
                condition the relation whose digest their steps have
    answers     of a batch: of each table its statement, what that asks for, and which numbers are shown, as above
    losses      of every release whose numbers are here, and their total; limit, spent, the ledger's row

It is a function of the plan, the claims and the ledger's position, which the manifest holds: nothing is told here that
is not signed there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import Loss
from discreet.answers.refine import AnswerReading
from discreet.answers.row_condition import condition_statement, row_condition
from discreet.answers.workload.stored_batch import StoredBatch
from discreet.bundle.answer_replay import catalog_of, schema_of
from discreet.bundle.batch_replay import KIND as BATCH
from discreet.bundle.batch_replay import batch_queries, batch_readings
from discreet.bundle.claims import combined_event, loss_of, releases_combined_with
from discreet.bundle.derivation import derivation_of
from discreet.bundle.formula_data import FormulaTelling, has_fallback, quantile_data
from discreet.bundle.noise_check import step_contents
from discreet.kernel.measurement import Measurement
from discreet.plan import relation
from discreet.sql.group_keys import declared_axis
from discreet.sql.query_parser import parse_query

NAME = "proof.json"
FORMAT = 1

#: More rows than this are not said number by number.
MOST_SHOWN = 100_000


def proof_of(
    plan: Mapping[str, Any], *, ledger: Mapping[str, Any], derivation: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The proof of what a plan tells, as JSON data. `derivation`: of an answer to SQL, see `answer_derivation`."""
    release, payloads, schema = plan["release"], plan["payloads"], schema_of(plan["table"], plan["schemas"])
    own = events.from_data(plan["event"])
    earlier = {
        id_: events.from_data(json.loads(payloads[id_])["event"]) for id_ in releases_combined_with(release, payloads)
    }
    fields = {
        "format": FORMAT,
        "release": release,
        "kind": plan["kind"],
        "unit": {
            "is": plan["privacy_unit"],
            "rows": schema.unit.rows,
            "persons": plan["schemas"][plan["table"]].get("persons", []),
        },
        "losses": {
            id_: _data(events.loss(events.by_itself(event))) for id_, event in {release: own, **earlier}.items()
        },
        "total": _data(loss_of(combined_event(own, release, payloads), doubled=plan["doubled"])),
        "doubled": plan["doubled"],
        "limit": plan["guarantee"],
        "spent": plan["spent"],
        "ledger": dict(ledger),
    }
    return fields | (_program(plan) if derivation is None else dict(derivation))


def _program(plan: Mapping[str, Any]) -> dict[str, Any]:
    """The steps of a program; of tables of declared columns also their axes, of others all that their steps measured.

    A step's digest follows from either.
    """
    steps, schema = {"steps": plan["steps"]}, schema_of(plan["table"], plan["schemas"])
    stored = json.loads(plan["payloads"][plan["release"]])
    if (contents := step_contents(plan)) is not None:
        answers = {"answers": _statements(plan)} if plan["kind"] == BATCH else {}
        return steps | {"contents": contents} | _rows_under_condition(plan, stored) | answers
    cells = (stored.get("cells") or {}) if plan["kind"] == "publish" else {}
    names = [*cells.get("places", ()), *cells.get("attributes", ())]
    if plan["kind"] == "marginals":
        names = stored.get("columns", [])
    columns = [column for name in names if (column := schema.column(name)) is not None]
    axes = [axis for column in columns if (axis := declared_axis(column)) is not None]
    return steps if len(axes) < max(1, len(names)) else steps | {"axes": [axis.to_data() for axis in axes]}


def _rows_under_condition(plan: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """The relation of the rows that ranges counted under a condition; nothing where its digest is another one."""
    if plan["kind"] != "ranges" or "where" not in stored:
        return {}
    statement = condition_statement(plan["table"], stored["where"])
    condition = row_condition(parse_query(statement, catalog_of(plan["schemas"])), stored["where"])
    return {"rows": relation.to_data(condition.plan)} if condition.meaning == stored["meaning"] else {}


def _statements(plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Of each statement of a batch that it measured: its place, its question, and which numbers its table shows."""
    payloads, release = plan["payloads"], plan["release"]
    event, stored = events.from_data(plan["event"]), StoredBatch.from_text(payloads[release])
    assert isinstance(event, events.ReservationEvent)
    queries = batch_queries(payloads, release, catalog_of(plan["schemas"]))
    numbers = [number for number in range(len(queries)) if stored.group_of(number) is not None]
    readings = batch_readings(payloads, release, event, queries)
    return [
        {
            "statement": number,
            "question": (reading.within or reading.query.inquiry).to_data(),
            "shown": _shown_numbers(reading),
        }
        for number, reading in zip(numbers, readings, strict=True)
    ]


def proof_bytes(proof: Mapping[str, Any]) -> bytes:
    """The proof's file."""
    return (json.dumps(proof, ensure_ascii=True, sort_keys=True, allow_nan=False, indent=1) + "\n").encode()


def answer_derivation(
    readings: Sequence[AnswerReading], payloads: Mapping[str, str], schemas: Mapping[str, Any]
) -> dict[str, Any]:
    """The derivation of an answer to SQL, and which of the numbers shown are one noisy number."""
    measurement = readings[0].measurement
    others = tuple(Measurement.from_text(payloads[id_]) for id_ in measurement.also)
    inquiry = readings[0].within or readings[0].query.inquiry
    table_schemas = {table: schema_of(table, schemas) for table in schemas}
    shown = [_shown_numbers(replace(each, others=others)) for each in readings]
    return derivation_of(inquiry, [measurement, *others], table_schemas) | {"shown": shown}


def _shown_numbers(reading: AnswerReading) -> dict[str, Any] | None:
    """How each column of numbers follows from what was drawn; for each row, the cell. None: nothing is told.

    columns: multiples of one statistic, as place, statistic and factor. formulas: place and formula tree. quantiles:
    place, quantile and the values that its codes stand for. `cells` None: the rows are the groups of one set, in order.
    combined: the measurements whose noisy numbers are combined, where there are several.
    """
    query, order = reading.query, reading.stored_order
    rows = (
        reading.shown_groups
        if reading.unsorted_groups is None
        else [(0, int(number)) for number in reading.unsorted_groups]
    )
    telling = FormulaTelling(statistics=query.inquiry.statistics, stored=order.statistics)
    columns, formulas, quantiles = [], [], []
    for place, output in enumerate(query.outputs):
        if output.plain is not None:
            columns.append([place, order.statistics[output.plain[0]], exact.write(output.plain[1])])
        elif output.quantile is not None:
            grid = quantile_data(query.quantiles[output.quantile].typed)
            quantiles += [] if grid is None else [[place, order.quantiles[output.quantile], grid]]
        elif output.formula is not None:
            tree = telling.data(output.formula)
            formulas += [] if tree is None else [[place, tree]]
    if not (columns or formulas or quantiles) or len(rows) > MOST_SHOWN:
        return None
    straight = rows == [(0, number) for number in range(len(rows))] and order.sets[0] == 0
    cells = None if straight else [[order.sets[place], group] for place, group in rows]
    combined = [reading.measurement.id, *reading.measurement.also] if reading.measurement.also else []
    parts = (("formulas", formulas), ("quantiles", quantiles), ("combined", combined))
    computed = {name: each for name, each in parts if each}
    return {"columns": columns, "cells": cells} | computed


def is_accepted(written: bytes | None, proof: Mapping[str, Any]) -> bool:
    """Whether a proof's bytes are those of `proof`, as it is written now or as earlier versions wrote it."""
    return any(written == proof_bytes(form) for form in _forms(proof))


def _forms(proof: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield proof
    earlier = _without_combined_numbers(proof)
    yield earlier
    yield _without_formulas(earlier)


def _without_combined_numbers(proof: Mapping[str, Any]) -> dict[str, Any]:
    """The proof without numbers that are combined from several measurements, and without `coalesce`."""
    earlier = {**proof}
    if "shown" in proof:
        earlier["shown"] = [_table_before(table) for table in proof["shown"]]
    if "answers" in proof:
        earlier["answers"] = [{**answer, "shown": _table_before(answer["shown"])} for answer in proof["answers"]]
    return earlier


def _table_before(table: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if table is None or "combined" in table:
        return None
    formulas = [each for each in table.get("formulas", ()) if not has_fallback(each[1])]
    others = {name: each for name, each in table.items() if name != "formulas"}
    if not (others["columns"] or formulas or "quantiles" in others):
        return None
    return others | ({"formulas": formulas} if formulas else {})


def _without_formulas(proof: Mapping[str, Any]) -> dict[str, Any]:
    """The proof that, of numbers, says only which are multiples of one noisy number."""
    if "shown" not in proof:
        return {name: each for name, each in proof.items() if name not in ("axes", "contents", "rows", "answers")}
    names = ("columns", "cells")
    shown = [
        None if table is None or not table["columns"] else {name: table[name] for name in names}
        for table in proof["shown"]
    ]
    return {**proof, "shown": shown}


def _data(loss: Loss) -> dict[str, Any]:
    return {
        "epsilon": None if loss.epsilon is None else exact.write(loss.epsilon),
        "rho": exact.write(loss.rho),
        "delta": exact.write(loss.delta),
    }
