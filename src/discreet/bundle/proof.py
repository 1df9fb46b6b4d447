"""The proof that a bundle carries: `proof.json`, which `verify/` derives again without us.

    unit        whose presence is hidden, how many rows they have at most, and the columns that identify persons
    question    what was measured, as the ledger's digest of the question has it
    relation    node by node, how many rows one unit can own; publics: what public tables are said to be
    measured    every noisy vector: sensitivities, law, event, and where its numbers stand
    shown       which numbers of the tables are one noisy number
    steps       of a program: the event of every step, as the ledger has it
    losses      of every release whose numbers are here, and their total; limit, spent, the ledger's row

It is a function of the plan, the claims and the ledger's position, which the manifest holds: nothing is told here that
is not signed there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from discreet import exact
from discreet.accounting import events
from discreet.accounting.events import Loss
from discreet.answers.refine import Reading
from discreet.bundle.claims import event_of, loss_of, read_with
from discreet.bundle.derivation import derivation_of
from discreet.bundle.reread import schema_of
from discreet.measurement import Measurement

NAME = "proof.json"
FORMAT = 1

#: More rows than this are not said number by number.
MOST_SHOWN = 100_000


def proof_of(
    plan: Mapping[str, Any], *, ledger: Mapping[str, Any], derivation: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The proof of what a plan tells, as JSON data. `derivation`: of an answer to SQL, see `answered`."""
    release, payloads, schema = plan["release"], plan["payloads"], schema_of(plan["table"], plan["schemas"])
    own = events.from_data(plan["event"])
    earlier = {id_: events.from_data(json.loads(payloads[id_])["event"]) for id_ in read_with(release, payloads)}
    found = {
        "format": FORMAT,
        "release": release,
        "kind": plan["kind"],
        "unit": {
            "is": plan["privacy_unit"],
            "rows": schema.unit.rows,
            "persons": plan["schemas"][plan["table"]].get("persons", []),
        },
        "losses": {id_: _data(events.loss(event)) for id_, event in {release: own, **earlier}.items()},
        "total": _data(loss_of(event_of(own, release, payloads), doubled=plan["doubled"])),
        "doubled": plan["doubled"],
        "limit": plan["guarantee"],
        "spent": plan["spent"],
        "ledger": dict(ledger),
    }
    return found | ({"steps": plan["steps"]} if derivation is None else dict(derivation))


def written(proof: Mapping[str, Any]) -> bytes:
    """The proof's file."""
    return (json.dumps(proof, ensure_ascii=True, sort_keys=True, allow_nan=False, indent=1) + "\n").encode()


def answered(readings: Sequence[Reading], payloads: Mapping[str, str], schemas: Mapping[str, Any]) -> dict[str, Any]:
    """The derivation of an answer to SQL, and which of the numbers shown are one noisy number."""
    measurement = readings[0].measurement
    measured = [measurement, *(Measurement.from_text(payloads[id_]) for id_ in measurement.also)]
    inquiry = readings[0].within or readings[0].asked.inquiry
    known = {table: schema_of(table, schemas) for table in schemas}
    return derivation_of(inquiry, measured, known) | {"shown": [_shown(each) for each in readings]}


def _shown(reading: Reading) -> dict[str, Any] | None:
    """For each column that is a multiple of one statistic, which and of what; for each row, the cell. None: none is.

    `cells` None: the rows are the groups of one set, in their order.
    """
    asked, order = reading.asked, reading.order_of
    rows = reading.order if reading.simple is None else [(0, int(number)) for number in reading.simple]
    plain = {place: output.plain for place, output in enumerate(asked.outputs) if output.plain is not None}
    columns = [[place, order.statistics[told[0]], exact.write(told[1])] for place, told in plain.items()]
    if reading.measurement.also or not columns or len(rows) > MOST_SHOWN:
        return None
    straight = rows == [(0, number) for number in range(len(rows))] and order.sets[0] == 0
    return {"columns": columns, "cells": None if straight else [[order.sets[place], group] for place, group in rows]}


def _data(loss: Loss) -> dict[str, Any]:
    return {
        "epsilon": None if loss.epsilon is None else exact.write(loss.epsilon),
        "rho": exact.write(loss.rho),
        "delta": exact.write(loss.delta),
    }
