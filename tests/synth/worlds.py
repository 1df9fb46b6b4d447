"""Small projects with one table, and models of it."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np

import discreet
from discreet.kernel.project_session import open_session
from discreet.synth.constraints import PublicConstraints
from discreet.synth.constraints_file import read_constraints
from discreet.synth.fit_request import FitRequest
from discreet.synth.synthesis import synthesize

SEX = 'type = "category"\nvalues = ["F", "M"]\nclosed = true'
AGE = 'type = "integer"\nlow = 0\nhigh = 99'
#: Ages in three bins, and a sex: enough for counts that are checked by hand.
PEOPLE = {"age": AGE + "\nedges = [0, 20, 40, 99]", "sex": SEX}
CITIES = [f"city {number}" for number in range(60)]
COUNTRY = {name: f"land {number % 7}" for number, name in enumerate(CITIES)}


def open_project(folder, columns, lines, *, budget="{ epsilon = 90, delta = 1e-6 }", table=""):
    """A project whose table `people` has these columns (name to TOML, or None: not declared) and lines of CSV; refreshed."""
    header = ",".join('"' + name.replace('"', '""') + '"' for name in columns)
    (folder / "people.csv").write_text("\n".join([header, *lines]) + "\n")
    told = "".join(f"[tables.people.columns.{_quoted(name)}]\n{text}\n" for name, text in columns.items() if text)
    (folder / "discreet.toml").write_text(f'[tables.people]\nsource = "people.csv"\nbudget = {budget}\n{table}\n{told}')
    discreet.init(folder)
    project = discreet.open(folder)
    project.refresh("people")
    return project


def _quoted(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def fit(project, *, epsilon="1", kind="independent", progress=None, constraints=None, **more):
    """A model of `people`; constraints as people write them."""
    session = open_session(project, "people", project.asker(None))
    known = (
        PublicConstraints() if constraints is None else read_constraints(constraints, session.version.schema.columns)
    )
    return synthesize(
        FitRequest(epsilon=Fraction(epsilon), kind=kind, constraints=known, **more),
        session,
        **({"progress": progress} if progress else {}),
    )


@contextmanager
def elsewhere():
    """A folder, and a state folder beside it, that go away: for models that outlive one test."""
    with tempfile.TemporaryDirectory() as name:
        state, folder = Path(name) / "state", Path(name) / "project"
        folder.mkdir()
        with mock.patch.dict(os.environ, {"DISCREET_STATE": str(state)}):
            yield folder


CLINIC = {
    "age": AGE,
    "marital": 'type = "category"\nvalues = ["single", "married", "divorced"]',
    "city": f'type = "category"\nvalues = {CITIES}',
    "country": f'type = "category"\nvalues = {sorted(set(COUNTRY.values()))}',
    "admission": 'type = "date"\nlow = 2015-01-01\nhigh = 2025-01-01',
    "discharge": 'type = "date"\nlow = 2015-01-01\nhigh = 2025-01-01',
    "sex": SEX,
}


def clinic_lines(count=3000):
    """Rows that keep every rule of `CLINIC_RULES`: children are single, cities have a country, discharge is later."""
    random = np.random.default_rng(0)
    chances = 1 / np.arange(1, 61) ** 1.5
    start = np.datetime64("2015-01-01")
    lines = []
    for number in range(count):
        age = random.integers(0, 100)
        marital = "single" if age < 16 else ["single", "married", "divorced"][random.integers(3)]
        city = CITIES[random.choice(60, p=chances / chances.sum())]
        in_, stay = random.integers(0, 3500), random.integers(0, 100)
        admission = "" if random.random() < 0.02 else str(start + in_)
        discharge = "" if random.random() < 0.1 else str(start + in_ + stay)
        lines.append(f"{age},{marital},{city},{COUNTRY[city]},{admission},{discharge},{'FM'[number % 2]}")
    return lines


CLINIC_RULES = {
    "zeros": [{"age": "0 to 15", "marital": ["married", "divorced"]}],
    "dependencies": [{"from": "city", "to": "country", "map": COUNTRY}],
    "orders": [["admission", "discharge"]],
    "totals": [{"column": "sex", "counts": {"F": 1500, "M": 1500}}],
}


def keeps_clinic_rules(table):
    """Whether every row keeps them, looked at from outside."""
    rows = table.to_pandas()
    young = rows["age"] <= 15
    assert not (young & rows["marital"].isin(["married", "divorced"])).any()
    both = rows["admission"].notna() & rows["discharge"].notna()
    assert (rows["admission"][both] <= rows["discharge"][both]).all()
    there = rows[rows["city"].notna()]
    assert (there["city"].map(COUNTRY) == there["country"]).all()
    return True
