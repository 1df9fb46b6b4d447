"""Worlds of the guides: a project that is declared already, with patients, their visits, and who knows whom."""

from __future__ import annotations

import os
import random
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

DECLARED = """\
[project]
budget = { epsilon = 100, delta = 1e-6 }

[tables.patients]
source = "patients.csv"

[tables.patients.columns.age]
type = "integer"
low = 0
high = 110

[tables.patients.columns.sex]
type = "category"
values = ["F", "M"]
closed = true

[tables.patients.columns.disease]
type = "category"
values = ["allergy", "flu", "measles", "mumps"]

[tables.patients.columns.smoker]
type = "boolean"

[tables.visits]
source = "visits.csv"
person = "patient_id"
rows_per_person = 5

[tables.visits.columns.sex]
type = "category"
values = ["F", "M"]
constant = true

[tables.visits.columns.ward]
type = "category"
values = ["north", "south", "west"]

[tables.visits.columns.age]
type = "integer"
low = 0
high = 99
bins = 5

[tables.visits.columns.cost]
type = "integer"

[tables.friends]
source = "friends.csv"

[tables.friends.columns.from]
type = "text"

[tables.friends.columns.to]
type = "text"

[tables.people]
source = "people.csv"
public = true

[tables.people.columns.name]
type = "text"

[tables.people.columns.city]
type = "text"
"""


def project(folder: Path) -> None:
    """A project in the folder itself: patients, visits, friends and the public people; declared, and asked nothing yet."""
    from discreet.cli.main import call

    chance = random.Random(7)
    rows = [_patient(chance) for _ in range(2000)]
    (folder / "patients.csv").write_text("age,sex,disease,smoker\n" + "".join(rows))
    (folder / "visits.csv").write_text("patient_id,sex,ward,age,cost\n" + "".join(_visits(chance, 800)))
    people = [f"p{number}" for number in range(300)]
    (folder / "people.csv").write_text("name,city\n" + "".join(f"{p},{chance.choice('NSW')}\n" for p in people))
    friends = {tuple(sorted(chance.sample(people, 2))) for _ in range(900)}
    (folder / "friends.csv").write_text("from,to\n" + "".join(f"{a},{b}\n" for a, b in sorted(friends)))
    (folder / "discreet.toml").write_text(DECLARED)
    assert call(["init", "--project", str(folder)]) == 0


def small_clinic(folder: Path) -> None:
    """The same, with a budget like a small clinic's."""
    project(folder)
    path = folder / "discreet.toml"
    path.write_text(path.read_text().replace("epsilon = 100", "epsilon = 3"))


def _patient(chance: random.Random) -> str:
    disease = chance.choices(["flu", "allergy", "mumps", "measles"], [50, 30, 8, 2])[0]
    smokes = str(chance.random() < 0.22).lower()
    return f"{min(99, int(abs(chance.gauss(38, 22))))},{chance.choice('FM')},{disease},{smokes}\n"


def _visits(chance: random.Random, people: int) -> list[str]:
    lines = []
    for number in range(people):
        sex, age = chance.choice("FM"), chance.randrange(100)
        for _ in range(chance.choice([1, 1, 1, 2, 3, 8])):
            lines.append(f"{number},{sex},{chance.choice(['north', 'south', 'west'])},{age},{chance.randrange(900)}\n")
    return lines


def stays(folder: Path) -> None:
    """A project with one table of hospital stays, of which some facts are public."""
    from discreet.cli.main import call

    chance = random.Random(8)
    lines = ["age,marital,sex,city,country,admission,discharge"]
    for number in range(600):
        age = chance.randrange(100)
        marital = "single" if age < 16 else chance.choice(["single", "married", "divorced"])
        city, country = chance.choice([("Paris", "France"), ("Rome", "Italy"), ("Lyon", "France")])
        day = chance.randrange(1, 20)
        sex = "F" if number < 320 else "M"
        lines.append(f"{age},{marital},{sex},{city},{country},2026-01-{day:02},2026-01-{day + chance.randrange(9):02}")
    (folder / "stays.csv").write_text("\n".join(lines) + "\n")
    days = 'type = "date"\nlow = 2026-01-01\nhigh = 2026-01-31\n'
    (folder / "discreet.toml").write_text(
        '[tables.stays]\nsource = "stays.csv"\nbudget = { epsilon = 50, delta = 1e-6 }\n'
        '[tables.stays.columns.age]\ntype = "integer"\nlow = 0\nhigh = 99\n'
        '[tables.stays.columns.marital]\ntype = "category"\nvalues = ["single", "married", "divorced"]\n'
        '[tables.stays.columns.sex]\ntype = "category"\nvalues = ["F", "M"]\n'
        '[tables.stays.columns.city]\ntype = "category"\nvalues = ["Lyon", "Paris", "Rome"]\n'
        '[tables.stays.columns.country]\ntype = "category"\nvalues = ["France", "Italy"]\n'
        f"[tables.stays.columns.admission]\n{days}[tables.stays.columns.discharge]\n{days}"
    )
    assert call(["init", "--project", str(folder)]) == 0


def console(folder: Path) -> Callable[[], None]:
    """A console that serves a clinic; its address and a token of an analyst's are in the environment."""
    from console.api.served import serving

    running = ExitStack()
    served = running.enter_context(serving(folder / "clinic", epsilon="100", grid_ms=1))
    os.environ["CONSOLE"], os.environ["TOKEN"] = served.url, served.token()
    return running.close


def books(folder: Path) -> None:
    """A project, and a PostgreSQL server for its ledger, which the service `books` names."""
    project(folder)
    _service(folder, "books")


def database(folder: Path) -> None:
    """A PostgreSQL server with the table clinic.visits, which the service `clinic` names."""
    from engines.postgres.server import execute

    address = _service(folder, "clinic")
    execute(
        address,
        "CREATE SCHEMA clinic",
        "CREATE TABLE clinic.visits (patient_id bigint, ward text, cost numeric(10, 2))",
        "INSERT INTO clinic.visits SELECT n % 500, CASE n % 2 WHEN 0 THEN 'north' ELSE 'south' END, n % 90"
        " FROM generate_series(1, 2000) AS n",
    )


def _service(folder: Path, name: str) -> str:
    """A new database on the tests' server, known to PostgreSQL's library by a name; its address."""
    from psycopg.conninfo import conninfo_to_dict

    from engines.postgres.server import execute, started

    admin = started()
    own = f"{name}_{secrets.token_hex(4)}"
    execute(admin, f"CREATE DATABASE {own} ENCODING 'UTF8' TEMPLATE template0")
    address = urlsplit(admin)._replace(path=f"/{own}").geturl()
    services = folder / ".pg_service.conf"
    told = [f"{key}={value}" for key, value in conninfo_to_dict(address).items()]
    services.write_text("\n".join([f"[{name}]", *told, ""]))
    os.environ["PGSERVICEFILE"] = str(services)
    return address


def shared_persons(folder: Path) -> None:
    """patients.csv, visits.csv and prescriptions.csv, which share their persons; an empty project."""
    import discreet

    chance = random.Random(3)
    patients, visits, prescriptions = ["id,sex"], ["id,visit,day,kind"], ["visit,drug"]
    for person in range(400):
        patients.append(f"p{person},{'FM'[person % 2]}")
        for _ in range(chance.randrange(4)):
            kind, day = chance.choice("ab"), f"2024-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
            visits.append(f"p{person},{len(visits)},{day},{kind}")
            prescriptions += [f"{len(visits) - 1},{drug}" for drug in ("xy" if kind == "a" else "z")]
    for name, lines in (("patients", patients), ("visits", visits), ("prescriptions", prescriptions)):
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    discreet.init(folder)
