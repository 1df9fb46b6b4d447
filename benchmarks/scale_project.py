"""A project over the tables of `scale_data`, on any engine, and what is asked of it. Only discreet.toml names the engine.

row       each visit is a unit
person    each person is one, with at most 10 visits; `people` are the same population
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from scale_data import CODES, DAYS, KINDS, MOST_AGE, MOST_COST, REGIONS, SEXES, Data, number_of_people

import discreet
from discreet.project.project import Project

Unit = Literal["row", "person"]
Source = Callable[[str], str]
UNITS: tuple[Unit, ...] = ("row", "person")
ROWS_PER_PERSON = 10

#: Large enough never to be in the way, with room for fits of their own delta.
BUDGET = "{ epsilon = 100000, delta = 1e-6 }"

#: Four columns of a fit: 21 x 11 x 21 x 17 cells and no text.
FITTED = ["kind", "age", "cost", "day"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """Something asked of a project; `alone`: in a process of its own, so that its memory is its own."""

    meaning: str
    do: Callable[[Project], Any]
    units: tuple[Unit, ...] = UNITS
    alone: bool = False


def _sql(meaning: str, text: str, *units: Unit) -> Act:
    def ask(project: Project) -> int:
        return len(project.sql(text).ask(epsilon=1, fresh=True).rows)

    return Act(meaning=meaning, do=ask, units=units or UNITS)


def _refresh(table: str, *units: Unit) -> Act:
    def refresh(project: Project) -> int:
        return project.refresh(table)[1].exact_rows

    return Act(meaning=f"`refresh {table}`", do=refresh, units=units or UNITS, alone=True)


def _fit(model: str) -> Act:
    def fit(project: Project) -> int:
        project.synthesize("visits", epsilon=1, delta="1e-9", model=model, columns=FITTED, fresh=True)
        return 0

    return Act(meaning=f"`synth fit`, {model}, {len(FITTED)} columns", do=fit, alone=True)


def _marginals(project: Project) -> int:
    return len(list(project.marginals("visits", FITTED, epsilon=1, delta="1e-9", fresh=True)))


#: In this order: what is made first is asked later.
ACTS: Mapping[str, Act] = {
    "make": _refresh("visits"),
    "make people": _refresh("people", "person"),
    "count": _sql("filtered count", "SELECT count(*) AS n FROM visits WHERE age > 24 AND code = 'c0007'"),
    "kinds": _sql("count by 20 kinds", "SELECT kind, count(*) AS n FROM visits GROUP BY kind"),
    "distinct": _sql("count distinct persons", "SELECT count(DISTINCT person) AS n FROM visits"),
    "sum": _sql("sum by 1,000 codes", "SELECT code, sum(cost) AS total FROM visits GROUP BY code"),
    "cells": _sql(
        "count and sum, 20,000 cells",
        "SELECT kind, code, count(*) AS n, sum(cost) AS total FROM visits GROUP BY kind, code",
    ),
    "median": _sql("median", "SELECT median(cost) AS middle FROM visits"),
    "public": _sql(
        "join with a public table",
        "SELECT c.chapter, count(*) AS n FROM visits v JOIN codes c ON v.code = c.code GROUP BY c.chapter",
    ),
    "join": _sql(
        "join of two tables of the population",
        "SELECT p.region, count(*) AS n FROM visits v JOIN people p ON v.person = p.person GROUP BY p.region",
        "person",
    ),
    "inner": _sql(
        "average over persons of their visits",
        "SELECT avg(n) AS mean FROM (SELECT person, count(*) AS n FROM visits GROUP BY person) AS each_one",
        "person",
    ),
    "words": _sql("discovered keys, 2,000 texts", "SELECT word, count(*) AS n FROM visits GROUP BY word"),
    "independent": _fit("independent"),
    "mst": _fit("mst"),
    "marginals": Act(meaning=f"`marginals`, pairs of {len(FITTED)} columns", do=_marginals, alone=True),
}


def write(folder: Path, data: Data, *, unit: Unit, engine: str, source: Source) -> None:
    """A project folder; `source`: what a table is called on the engine."""
    person = [f'person = "person"\nrows_per_person = {ROWS_PER_PERSON}'] if unit == "person" else []
    lines = [f"[populations.patients]\nbudget = {BUDGET}"]
    lines += [_table("visits", source("visits"), engine, 'population = "patients"', *person)]
    if unit == "row":
        lines.append(
            _column("visits", "person", f'type = "integer"\nlow = 0\nhigh = {number_of_people(data.rows) - 1}')
        )
    lines += [_column("visits", name, told) for name, told in _VISITS.items()]
    if unit == "person":
        one = 'person = "person"\nrows_per_person = 1'
        lines.append(_table("people", source("people"), engine, 'population = "patients"', one))
        lines.append(_column("people", "sex", f"{_category(SEXES)}\nconstant = true"))
        lines.append(_column("people", "region", f"{_category(REGIONS)}\nconstant = true"))
    lines.append(f'[tables.codes]\nsource = "{data.codes}/*.parquet"\npublic = true')
    lines += [_column("codes", name, 'type = "text"') for name in ("code", "chapter")]
    folder.mkdir(parents=True)
    (folder / "discreet.toml").write_text("\n\n".join(lines) + "\n")
    discreet.init(folder)


def _category(values: list[str]) -> str:
    return f'type = "category"\nvalues = {json.dumps(values)}'


def _table(name: str, source: str, engine: str, *more: str) -> str:
    return "\n".join([f'[tables.{name}]\nsource = "{source}"\nengine = "{engine}"', *more])


def _column(table: str, name: str, told: str) -> str:
    return f"[tables.{table}.columns.{name}]\n{told}"


_VISITS = {
    "kind": _category(KINDS),
    "code": _category(CODES),
    "age": f'type = "integer"\nlow = 0\nhigh = {MOST_AGE}\nbins = 10',
    "cost": f'type = "decimal"\nlow = 0\nhigh = {MOST_COST}\nstep = 0.01\nbins = 20',
    "day": 'type = "date"\nlow = 2020-01-01\nhigh = 2023-12-31\nbins = 16',
    "word": 'type = "text"',
}
assert DAYS == 1461  # the four years of `day`
