"""Samples: the same bytes every time, about nobody, and every table can be declared as its code book says."""

import csv
import hashlib
import random
from collections import Counter
from datetime import date

import pytest

import discreet
from discreet.errors import UsageError
from discreet.lab.samples.sample_data import MOST_ROWS, SAMPLES, write_sample

#: What 200 rows of each sample are, all files together. Another digest is another table for everybody who learns.
DIGESTS = {
    "clinic": "8bdf49fcdc111601",
    "visits": "eb894091bbca5fc6",
    "offenders": "e8e1e1b318b2f7da",
    "census": "778673833649d73b",
    "network": "0b195381af16f8ed",
}
TABLES = [(sample, table) for sample in SAMPLES.values() for table in sample.tables]


def digest(folder):
    files = sorted(folder.iterdir())
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()[:16]


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.mark.parametrize("name", SAMPLES)
def test_the_same_bytes_every_time(tmp_path, name):
    random.seed(3)  # nobody else's chance moves it
    write_sample(name, tmp_path, rows=200)
    assert digest(tmp_path) == DIGESTS[name]


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("rows", [1, 2, 37])
def test_as_many_rows_as_were_asked_for(tmp_path, name, rows):
    files = discreet.sample_data(name.upper(), tmp_path / "new" / "folder", rows=rows)
    assert sorted(files) == sorted((tmp_path / "new" / "folder").iterdir())
    assert len(rows_of(files[0])) == rows


@pytest.mark.parametrize("name", SAMPLES)
def test_a_code_book_describes_every_column_and_every_value_fits(tmp_path, name):
    """Of everything but who comes more often than is declared: that is for the owner to see at a refresh."""
    write_sample(name, tmp_path, rows=600)
    for table in SAMPLES[name].tables:
        rows, book = rows_of(tmp_path / table.file), rows_of(tmp_path / table.code_book)
        assert [line["column"] for line in book] == list(rows[0]), table.name
        for line in book:
            assert line["label"] and line["type"] in ("integer", "decimal", "date", "category", "boolean", "text")
            values = {row[line["column"]] for row in rows} - {line.get("null", "")}
            assert values, line
            if line["type"] == "category":
                assert values <= {word.partition("=")[0] for word in line["values"].split(";")}
            elif line["type"] in ("integer", "decimal"):
                assert float(line["low"]) <= min(map(float, values)) <= max(map(float, values)) <= float(line["high"])
            elif line["type"] == "date" and not line.get("format"):
                assert line["low"] <= min(values) <= max(values) <= line["high"]
                assert all(date.fromisoformat(value) for value in values)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_table_is_declared_by_its_code_book_and_answers(tmp_path, name):
    discreet.sample_data(name, tmp_path, rows=400)
    project = discreet.init(tmp_path, epsilon=1000)
    for table in SAMPLES[name].tables:
        flags = {flag.replace("-", "_"): value for flag, value in table.add_flags}
        flags |= {"epsilon": 1000} if "epsilon" in flags else {}
        if isinstance(flags.get("ends"), str):
            flags["ends"] = tuple(flags["ends"].split(","))
        declared = project.add(str(tmp_path / table.file), codebook=tmp_path / table.code_book, **flags)
        persons = [column.name for column in table.columns if column.rows_per_person]
        assert list(declared.schema.unit.person) == persons
        if declared.public:
            continue
        _, outcome = project.refresh(table.name)
        expected = len(rows_of(tmp_path / table.file))
        assert expected * 0.9 < outcome.exact_rows <= expected
        if declared.schema.unit.ends:
            continue
        assert not any(outcome.exact_nulled.values()), (table.name, outcome.exact_nulled)
        ((count,),) = project.sql(f"SELECT count(*) FROM {table.name}").ask(epsilon=500).rows
        assert count == outcome.exact_rows


def test_offenders_are_as_a_court_has_them(tmp_path):
    write_sample("offenders", tmp_path)
    rows = rows_of(tmp_path / "offenders.csv")
    assert len(rows) == 7000
    assert {row["race"] for row in rows} == {"1", "2", "3", "4", "NA"}
    parts = [row["date_of_birth"].split("/") for row in rows if row["date_of_birth"] != "NA"]
    assert all(1 <= int(month) <= 12 and 1 <= int(day) <= 31 and len(year) == 2 for month, day, year in parts)
    assert any(len(month) == 1 for month, _, _ in parts) and any(len(day) == 1 for _, day, _ in parts)
    missing = Counter(column for row in rows for column, value in row.items() if value == "NA")
    assert set(missing) == set(rows[0]) - {"name", "sex"}
    persons = Counter(row["person"] for row in rows if row["person"] != "NA")
    assert max(persons.values()) == 3


def test_offenders_are_counted_as_they_are_written(tmp_path):
    """The codes, and dates of people who were born before 1960, which m/d/yy writes as 59 and before."""
    discreet.sample_data("offenders", tmp_path)
    project = discreet.init(tmp_path, epsilon=10_000)
    project.add(str(tmp_path / "offenders.csv"), codebook=tmp_path / "codebook-offenders.csv")
    rows = [row for row in rows_of(tmp_path / "offenders.csv") if row["person"] != "NA"]
    races = Counter(row["race"] for row in rows)
    counted = dict(project.sql("SELECT race, count(*) FROM offenders GROUP BY race").ask(epsilon=1000).rows)
    assert counted == {None if race == "NA" else race: count for race, count in races.items()}
    born = sum("26" < row["date_of_birth"][-2:] < "60" for row in rows)
    early = "SELECT count(*) FROM offenders WHERE date_of_birth < '1960-01-01'"
    assert project.sql(early).ask(epsilon=1000).rows == ((born,),)


def test_visits_are_of_patients_who_are_listed_and_some_come_too_often(tmp_path):
    write_sample("visits", tmp_path)
    visits = Counter(row["patient"] for row in rows_of(tmp_path / "visits.csv"))
    patients = [row["patient"] for row in rows_of(tmp_path / "patients.csv")]
    assert len(set(patients)) == len(patients) and set(visits) < set(patients)
    assert 12 < max(visits.values()) <= 24 and sum(1 for count in visits.values() if count > 12) < len(patients) / 20


def test_a_network_has_every_edge_once_and_nobody_has_too_many(tmp_path):
    write_sample("network", tmp_path)
    edges = [frozenset(row.values()) for row in rows_of(tmp_path / "friends.csv")]
    members = {row["person"] for row in rows_of(tmp_path / "members.csv")}
    assert len(set(edges)) == 2000 and all(len(edge) == 2 for edge in edges)
    degrees = Counter(end for edge in edges for end in edge)
    assert set(degrees) <= members and max(degrees.values()) <= 20


def test_nothing_is_overwritten_and_nothing_half_written(tmp_path):
    (tmp_path / "codebook-patients.csv").write_text("mine")
    with pytest.raises(UsageError, match=r"codebook-patients\.csv is there already, and nothing is overwritten"):
        write_sample("visits", tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["codebook-patients.csv"]


def test_wrong_wishes_are_told_what_there_is(tmp_path):
    with pytest.raises(UsageError, match="there is no sample 'clinics'") as caught:
        discreet.sample_data("clinics", tmp_path)
    assert caught.value.hint == "one of: clinic, visits, offenders, census, network"
    for rows in (0, -1, MOST_ROWS + 1):
        with pytest.raises(UsageError, match="from 1 to 1,000,000 rows"):
            write_sample("clinic", tmp_path / "new", rows=rows)
    assert not (tmp_path / "new").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written to"):
        write_sample("clinic", tmp_path / "file")
