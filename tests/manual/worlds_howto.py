"""Worlds of the how-to pages: what lies in a reader's folder, or on a reader's server, before the first step.

All of it is generated and seeded: nobody real is in it, and noise is drawn elsewhere.
"""

from __future__ import annotations

import csv
import os
import random
import re
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from discreet.engines.engine_registry import EngineRegistry
from surveys.midnight import stay_within_a_day

PAGES = Path(__file__).resolve().parents[2] / "docs" / "how-to"

PATIENTS = 10_000
WARDS = ["cardiology", "maternity", "oncology", "surgery"]
REGIONS = ["north", "south", "west"]


def one_day(folder: Path) -> None:
    """Nothing lies there. The page takes seconds of one day of UTC: near midnight it waits for the next."""
    stay_within_a_day()


def hospital(folder: Path) -> None:
    """A PostgreSQL server with the hospital's tables; what the page's administrator types has been typed there.

    The page names its two databases by services of PostgreSQL's library, so that it works on any server. The file
    of services lies in the folder, and PGSERVICEFILE says so while the page runs.
    """
    from psycopg.conninfo import conninfo_to_dict, make_conninfo

    from engines.postgres.server import execute, started

    mark = secrets.token_hex(4)  # roles and databases belong to a whole server, which others may share
    admin = started()
    clinic, books = (urlsplit(admin)._replace(path=f"/{name}_{mark}").geturl() for name in ("clinic", "books"))
    for name in ("clinic", "books"):
        execute(admin, f"CREATE DATABASE {name}_{mark} ENCODING 'UTF8' TEMPLATE template0")
    _load_hospital(clinic)
    typed = _blocks(PAGES / "hospital-postgresql.md", "sql")
    for address, statements in zip((clinic, books), typed, strict=True):
        renamed = re.sub(r"\b(discreet_reader|discreet_books)\b", rf"\1_{mark}", statements)
        renamed = re.sub(r"\bDATABASE (clinic|books)\b", rf"DATABASE \1_{mark}", renamed)
        execute(address, *filter(None, map(str.strip, renamed.split(";"))))
    lines: list[str] = []
    for service, address, role in (("clinic", clinic, "discreet_reader"), ("books", books, "discreet_books")):
        told = conninfo_to_dict(make_conninfo(address, user=f"{role}_{mark}"))
        lines += [f"[{service}]", *(f"{key}={value}" for key, value in told.items()), ""]
    services = folder / ".pg_service.conf"
    services.write_text("\n".join(lines), encoding="utf-8")
    os.environ["PGSERVICEFILE"] = str(services)


def _load_hospital(address: str) -> None:
    import psycopg

    chance = random.Random(11)
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            "CREATE SCHEMA clinic;"
            "CREATE TABLE clinic.patients (patient_id bigint PRIMARY KEY, sex text, birth_year integer, region text);"
            "CREATE TABLE clinic.visits (patient_id bigint, day date, ward text, cost numeric(10, 2))"
        )
        with connection.cursor() as cursor:
            with cursor.copy("COPY clinic.patients FROM STDIN") as copy:
                for patient in _patients(chance):
                    copy.write_row(patient)
            with cursor.copy("COPY clinic.visits FROM STDIN") as copy:
                for visit in _visits(chance):
                    copy.write_row(visit)


def _patients(chance: random.Random) -> Iterable[Sequence[object]]:
    for patient in range(1, PATIENTS + 1):
        yield patient, chance.choice("FM"), chance.randrange(1930, 2020), chance.choice(REGIONS)


def _visits(chance: random.Random) -> Iterable[Sequence[object]]:
    """Most people come a few times, and a few come again and again."""
    for patient in range(1, PATIENTS + 1):
        for _ in range(min(60, int(chance.paretovariate(1.6)))):
            day = date(2025, 1, 1) + timedelta(days=chance.randrange(365))
            ward = chance.randrange(len(WARDS))
            yield patient, day, WARDS[ward], round(chance.lognormvariate(5.6 + 0.3 * ward, 0.6), 2)


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def lake(folder: Path) -> Callable[[], None]:
    """A lake in which `trips` is a folder of Parquet files, and `zones` another; read by the Spark of all tests."""
    from engines.spark.server import engine, start

    chance = random.Random(12)
    rows = [
        {
            "rider": f"r{rider:04}",
            "zone": chance.choice("ABCDE"),
            "minutes": min(180, 1 + int(chance.expovariate(1 / 17))),
            "fare": round(2 + chance.expovariate(1 / 9), 2),
        }
        for rider in range(1500)
        for _ in range(min(40, 1 + int(chance.paretovariate(1.4))))
    ]
    _write_parquet(folder / "lake" / "trips", rows, files=3)
    cities = {"A": "Lund", "B": "Lund", "C": "Ystad", "D": "Ystad", "E": "Ystad"}
    _write_parquet(folder / "lake" / "zones", [{"zone": zone, "city": city} for zone, city in cities.items()], files=1)
    start(engine())
    at, patched = EngineRegistry.at, pytest.MonkeyPatch()
    patched.setattr(EngineRegistry, "at", lambda self, name: engine() if name == "spark://local" else at(self, name))
    return patched.undo


def _write_parquet(place: Path, rows: Sequence[Mapping[str, object]], *, files: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    place.mkdir(parents=True)
    for part in range(files):
        pq.write_table(pa.Table.from_pylist(list(rows[part::files])), place / f"part-{part}.parquet")


#: The seven of the last block: sex, age, work.
NEIGHBOURS = [
    ("F", 8, "none"),
    ("F", 34, "office"),
    ("F", 61, "farm"),
    ("M", 11, "none"),
    ("M", 36, "works"),
    ("M", 47, "farm"),
    ("M", 66, "none"),
]


def nation(folder: Path) -> None:
    """A nation of two states, six counties and thirty blocks: 6,000 people, seven of whom live in a block of their own."""
    chance = random.Random(13)
    places = [
        (state, f"{state}{county}", f"{state}{county}-{n}") for state in "NS" for county in "123" for n in "abcde"
    ]
    weights = [1 + chance.expovariate(1 / 3) for _ in places[:-1]]
    _write(folder / "places.csv", ["state", "county", "block"], places)
    people: list[Sequence[object]] = [("S3-e", *neighbour) for neighbour in NEIGHBOURS]
    while len(people) < 6000:
        block = chance.choices(places[:-1], weights)[0][2]
        age = min(99, int(abs(chance.gauss(36, 24))))
        work = "none" if age < 15 or chance.random() < 0.35 else chance.choice(["farm", "office", "works"])
        people.append((block, chance.choice("FM"), age, work))
    _write(folder / "people.csv", ["block", "sex", "age", "work"], people)


def admissions(folder: Path) -> None:
    """A hospital's admissions, and as many that chance held out, which no model will see."""
    chance = random.Random(14)
    heading = ["age", "sex", "weight", "ward", "admitted", "discharged", "smoker", "outcome"]
    rows = []
    for _ in range(24_000):
        *who, days, smoker, outcome = _admission(chance)
        admitted = date(2025, 1, 1) + timedelta(days=chance.randrange(365))
        rows.append((*who, admitted, admitted + timedelta(days=days - 1), smoker, outcome))
    _write(folder / "admissions.csv", heading, rows[:12_000])
    _write(folder / "heldout.csv", heading, rows[12_000:])


def lengths_of_stay(folder: Path) -> None:
    """The same admissions with the length of each stay, in place of its dates."""
    chance = random.Random(14)
    heading = ["age", "sex", "weight", "ward", "days", "smoker", "outcome"]
    rows = [_admission(chance) for _ in range(24_000)]
    _write(folder / "admissions.csv", heading, rows[:12_000])
    _write(folder / "heldout.csv", heading, rows[12_000:])


def _admission(chance: random.Random) -> tuple[int, str, int, str, int, str, str]:
    age = min(99, int(abs(chance.gauss(52, 24))))
    sex = chance.choice("FM")
    smoker = chance.random() < (0.3 if age > 15 else 0)
    wards = ["cardiology", "surgery", "oncology"] + ["maternity"] * (sex == "F" and 15 < age < 50)
    ward = chance.choices(wards, [3 if smoker else 1, 2, 2 if smoker else 1, 2][: len(wards)])[0]
    days = min(60, 1 + int(chance.expovariate(1 / (2 + age / 12))))
    outcome = chance.choices(["home", "care", "died"], [10, 1 + days / 6, age / 60])[0]
    weight = max(35, min(160, int(chance.gauss(72 + 9 * (sex == "M"), 15))))
    return age, sex, weight, ward, days, str(smoker).lower(), outcome


def _write(path: Path, heading: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(heading)
        writer.writerows(rows)
