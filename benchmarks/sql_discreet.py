"""Discreet's part: a project over the table, and whole questions: read, priced, charged, counted, noised, stored.

Every question is a fresh draw, charged anew. "make" instead of a query makes the declared table.
"""

from __future__ import annotations

import json
from pathlib import Path

from sql_data import DISEASES, MOST_SALARY, PEOPLE, REGIONS, SEXES
from sql_queries import QUERIES, TABLE
from sql_worker import Ask, Order, serve

import discreet

MAKE = "make"

#: Large enough never to be in the way: what a charge costs in time does not depend on it.
BUDGET = "{ epsilon = 100000, delta = 1e-6 }"


def write_project(folder: Path, *, source: Path, unit: str, rows_per_person: int) -> None:
    """A project folder with one table, each row or each `user_id` a person."""
    person = unit == "person"
    lines = [f"[tables.{TABLE}]", f'source = "{source}"', f"budget = {BUDGET}"]
    lines += ['person = "user_id"', f"rows_per_person = {rows_per_person}"] if person else []
    columns = {
        "age": 'type = "integer"\nlow = 0\nhigh = 99',
        "sex": _category(SEXES),
        "region": _category(REGIONS),
        "disease": _category(DISEASES),
        "salary": f'type = "decimal"\nlow = 0\nhigh = {MOST_SALARY}\nstep = 0.01',
        "day": 'type = "integer"\nlow = 0\nhigh = 364',
    }
    if not person:
        columns["user_id"] = f'type = "integer"\nlow = 0\nhigh = {PEOPLE - 1}'
    lines += [f"\n[tables.{TABLE}.columns.{name}]\n{told}" for name, told in columns.items()]
    folder.mkdir(parents=True)
    (folder / "discreet.toml").write_text("\n".join(lines) + "\n")
    discreet.init(folder)


def _category(values: list[str]) -> str:
    """Closed, so that 50 x 200 x 2 groups are 20,000 and not 30,753 with NULL keys."""
    return f'type = "category"\nvalues = {json.dumps(values)}\nclosed = true'


def prepare(order: Order, query: str, place: str) -> Ask:
    project = discreet.open(place)
    if query == MAKE:
        return lambda: [[project.refresh(TABLE)[0]]]
    return lambda: project.sql(QUERIES[query]).ask(epsilon=1, fresh=True).rows


if __name__ == "__main__":
    serve(prepare)
