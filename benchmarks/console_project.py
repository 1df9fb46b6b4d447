"""A project for the benchmark of the console: three tables, people who log in, and a history of releases."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import discreet

ROWS = 10_000
#: Analysts whose names stand in the history, and the days over which it is spread.
NAMES, DAYS = 10, 60
TOML = """
[project]
ledger = "sqlite:///.discreet/ledger.db"

[populations.people]
budget = {{ epsilon = {epsilon}, delta = 1e-6 }}

[tables.patients]
source = "patients.csv"
population = "people"
person = "id"
rows_per_person = 1
[tables.patients.columns.age]
type = "integer"
low = 0
high = 100
bins = 20
[tables.patients.columns.disease]
type = "category"
values = ["flu", "mumps", "gout"]
[tables.patients.columns.ward]
type = "category"
values = ["w0", "w1", "w2", "w3"]

[tables.visits]
source = "visits.csv"
population = "people"
person = "id"
rows_per_person = 3
[tables.visits.columns.cost]
type = "integer"
low = 0
high = 40
[tables.visits.columns.day]
type = "date"
low = 2026-01-01
high = 2026-12-31

[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns.ward]
type = "category"
values = ["w0", "w1", "w2", "w3"]
[tables.wards.columns.house]
type = "category"
values = ["east", "west"]
"""
PLAN = 'table = "patients"\nattributes = ["disease"]\n\n[hierarchy]\ncolumns = ["ward"]\nroot = "all"\n'


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A browser that is logged in, and a program's token of the same person."""

    cookie: str = field(repr=False)
    csrf: str = field(repr=False)
    token: str = field(repr=False)


@dataclass(slots=True, kw_only=True)
class History:
    """Releases of a project, by what they are. queries: those of counts by disease."""

    queries: list[str] = field(default_factory=list)
    batch: str = ""
    ranges: str = ""
    marginals: str = ""
    publication: str = ""
    models: list[str] = field(default_factory=list)


def make_project(folder: Path, *, epsilon: float) -> None:
    """The files and declarations, with the first versions made."""
    folder.mkdir(parents=True)
    _write_tables(folder)
    discreet.init(folder)
    (folder / "discreet.toml").write_text(TOML.format(epsilon=epsilon))
    with _clock(_first_day(), timedelta(seconds=1)):
        project = discreet.open(folder)
        for table in ("patients", "visits"):
            project.version(table)
        project.ledger.close()


def _write_tables(folder: Path) -> None:
    people = [f"{n},{20 + n % 60},{('flu', 'mumps', 'gout')[n % 3]},w{n % 4}" for n in range(ROWS)]
    (folder / "patients.csv").write_text("\n".join(["id,age,disease,ward", *people]) + "\n")
    visits = [f"{n % ROWS},{n % 40},2026-0{1 + n % 9}-1{n % 10}" for n in range(2 * ROWS)]
    (folder / "visits.csv").write_text("\n".join(["id,cost,day", *visits]) + "\n")
    (folder / "wards.csv").write_text("ward,house\nw0,east\nw1,east\nw2,west\nw3,west\n")


def make_sessions(folder: Path, *, analysts: int) -> list[Session]:
    """An owner and so many analysts. Their passwords cost nothing to check: logins are not measured here."""
    from discreet.console.people.passwords import Passwords
    from discreet.console.people.people import People

    people, password = People.of(folder, passwords=Passwords(memory_kib=64, passes=1)), "correct horse battery"
    sessions = []
    for number in range(analysts + 1):
        name = f"analyst {number}" if number else "owner"
        person = people.add(name, role="analyst" if number else "owner", password=password)
        cookie = people.log_in(name, password, address="127.0.0.1")
        assert cookie is not None
        session = people.sessions.find(cookie)
        assert session is not None
        token = people.tokens.make(person, label="load")[0]
        sessions.append(Session(cookie=cookie, csrf=session.csrf, token=token))
    people.close()
    return sessions


def make_history(folder: Path, *, releases: int) -> History:
    """So many releases of all kinds, the last one a day ago and the first one `DAYS` before it."""
    from discreet.console.jobs import census_tables, marginal_tables, model_fit, range_tables
    from discreet.synth.model_folder import save_in_project

    project, history, chance = discreet.open(folder), History(), random.Random(1)
    begin, step = _first_day() + timedelta(hours=1), timedelta(days=DAYS) / (2 * releases + 50)
    with _clock(begin, step):
        for number in range(1 + releases // 50):  # the same again would be free
            epsilon = (f"0.01{number + 1:04}",)
            ranges = range_tables.wish_of({"table": ("patients",), "column": ("age",), "epsilon": epsilon})
            history.ranges = _release_of(range_tables.measure_ranges(project, ranges, analyst="analyst 1"))
            two = {"table": ("patients",), "columns": ("disease", "ward"), "epsilon": epsilon}
            marginals = marginal_tables.wish_of(two)
            history.marginals = _release_of(marginal_tables.measure_marginals(project, marginals, analyst="analyst 2"))
        plan = census_tables.wish_of({"plan": (PLAN,), "epsilon": ("0.1",)})
        publication = census_tables.publish_tables(project, plan, analyst="analyst 3", progress=lambda *_: None)
        history.publication = _release_of(publication)
        for epsilon in ("0.5", "1"):
            fit = model_fit.fit_wish({"table": ("patients",), "epsilon": (epsilon,)})
            model = model_fit.fit_model(project, fit, analyst="analyst 4", progress=None)
            history.models.append(save_in_project(project.folder, model).name.removesuffix(".npz"))
        for _ in range(1 + releases // 50):
            batch = "select count(*) n from patients; select ward, count(*) n from patients group by ward"
            history.batch = project.batch(batch, epsilon="0.05", analyst="analyst 5")[0].id
        while len(project.ledger.state.charges) < releases:
            query, analyst = _query(chance), f"analyst {chance.randrange(NAMES) + 1}"
            answered = project.sql(query).ask(epsilon="0.01", fresh=True, analyst=analyst)
            if query.startswith("select disease"):
                history.queries.append(answered.id)
    project.ledger.close()
    return history


def _query(chance: random.Random) -> str:
    """One of a few hundred queries, so that some were asked often and most a few times."""
    low = chance.randrange(60)
    return chance.choice(
        (
            f"select disease, count(*) n from patients where age >= {low} group by disease",
            f"select ward, disease, count(*) n, avg(age) mean from patients where age >= {low} group by ward, disease",
            f"select count(*) n from patients where age < {low + 20}",
            f"select sum(cost) total from visits where cost >= {low % 30}",
        )
    )


def _release_of(address: str) -> str:
    return address.partition("?")[0].rpartition("/")[2]


def _first_day() -> datetime:
    return datetime.now(UTC) - timedelta(days=DAYS + 1)


@contextmanager
def _clock(begin: datetime, step: timedelta) -> Iterator[None]:
    """Meanwhile the ledger's clock begins there, and goes on by a step each time that it is looked at."""
    from discreet.ledger import chain

    moments = (begin + number * step for number in itertools.count())

    class Shifted(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> datetime:
            return next(moments)

    with mock.patch.object(chain, "datetime", Shifted):
        yield
