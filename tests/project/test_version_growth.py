"""A refresh builds on the newest version where files were only added, and makes the same; else it reads everything."""

import json
from collections import Counter

import pytest

import discreet
from clinic import run, say
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.table_file import PERSON, persons_file
from discreet.lab.neighbours.engine_site import read_parquet
from discreet.project import version_growth

VISITS = """
[populations.people]
budget = { epsilon = 5 }
[tables.visits]
source = "visits/*.csv"
population = "people"
person = "who"
rows_per_person = 2
[tables.visits.columns]
age = { type = "integer", low = 0, high = 99 }
sex = { type = "category", values = ["F", "M"], constant = true }
"""
ROWS = """
[populations.people]
budget = { epsilon = 5 }
[tables.visits]
source = "visits/*.csv"
population = "people"
columns = { age = { type = "integer", low = 0, high = 99 } }
"""
THROUGH = """
[populations.people]
budget = { epsilon = 5 }
[tables.orders]
source = "orders.csv"
population = "people"
person = "who"
rows_per_person = 2
columns = { number = { type = "integer" } }
[tables.visits]
source = "visits/*.csv"
population = "people"
person = { through = "orders", on = "number" }
rows_per_person = 2
columns = { age = { type = "integer", low = 0, high = 99 } }
"""
FIRST = "who,age,sex,number\n" + "".join(
    f"p{number % 20},{number},{'FM'[number % 3 > 1]},{number % 10}\n" for number in range(100)
)
SECOND = "who,age,sex,number\n" + "".join(f"p{number},{number},F,{number % 10}\n" for number in range(10, 30))


@pytest.fixture
def extended(monkeypatch):
    """What each making that was to build on an earlier version brought."""
    outcomes = []
    extend = DuckDBEngine.extend

    def listen(self, *arguments, **named):
        outcome = extend(self, *arguments, **named)
        outcomes.append(outcome)
        return outcome

    monkeypatch.setattr(DuckDBEngine, "extend", listen)
    return outcomes


def write(folder, name, text=SECOND):
    (folder / "visits").mkdir(exist_ok=True)
    (folder / "visits" / name).write_text(text)


def make(folder, text=VISITS):
    (folder / "discreet.toml").write_text(text)
    (folder / "orders.csv").write_text(
        "who,number\n" + "".join(f"q{number % 4},{number % 10}\n" for number in range(15))
    )
    write(folder, "2026-01.csv", FIRST)
    project = discreet.init(folder)
    assert project.refresh("visits")[0] == 1
    return project


def rows_of(project, version):
    """What a version holds, without the numbers of persons."""
    file = project.folder / ".discreet" / "tables" / project.ledger.refresh().versions["visits"][version].file
    stored = read_parquet(file)
    if not stored or PERSON not in stored[0]:
        return Counter(tuple(row.items()) for row in stored)
    side = {row["number"]: (row["tag"], row["rows"]) for row in read_parquet(persons_file(file))}
    return Counter((side[row.pop(PERSON)], tuple(row.items())) for row in stored)


@pytest.mark.parametrize("text", [VISITS, ROWS, THROUGH], ids=["persons", "rows", "through"])
def test_files_that_were_added_cost_no_full_reading(tmp_path, extended, text):
    project = make(tmp_path, text)
    for month in ("02", "03"):
        write(tmp_path, f"2026-{month}.csv")
        version, outcome = project.refresh("visits")
        assert extended.pop() is outcome and outcome.exact_added is not None
    whole, full = project.refresh("visits", force=True)
    assert (version, whole) == (3, 4) and full.exact_added is None and not extended
    assert rows_of(project, version) == rows_of(project, whole)
    assert (outcome.exact_rows, outcome.exact_truncated) == (full.exact_rows, full.exact_truncated)


def test_a_file_may_come_before_the_others_and_old_ones_may_be_renamed(tmp_path, extended):
    project = make(tmp_path)
    (tmp_path / "visits" / "2026-01.csv").rename(tmp_path / "visits" / "first.csv")
    write(tmp_path, "2025-12.csv")
    version, outcome = project.refresh("visits")
    assert outcome is extended[0] and outcome.exact_added == 20
    assert rows_of(project, version) == rows_of(project, project.refresh("visits", force=True)[0])


def test_whoever_was_forgotten_stays_away(tmp_path, extended):
    project = make(tmp_path)
    project.forget("visits", ["p3"])
    project.forget("visits", ["p12"])
    write(tmp_path, "2026-02.csv")
    version, outcome = project.refresh("visits")
    assert outcome is extended[0] and outcome.exact_persons == 28
    assert rows_of(project, version) == rows_of(project, project.refresh("visits", force=True)[0])


def edit(folder):
    file = folder / "discreet.toml"
    file.write_text(file.read_text().replace("high = 99", "high = 98"))


def change(folder):
    write(folder, "2026-01.csv", FIRST.replace("p3,3,", "p3,4,"))


def shorten(folder):
    write(folder, "2026-01.csv", FIRST[: FIRST.rindex("p")])


def remove(folder):
    (folder / "visits" / "2026-01.csv").unlink()


def other_way(folder):
    (folder / "orders.csv").write_text("who,number\nq1,1\n")


@pytest.mark.parametrize("act", [edit, change, shorten, remove])
def test_anything_else_reads_the_source(tmp_path, extended, act):
    project = make(tmp_path)
    act(tmp_path)
    write(tmp_path, "2026-02.csv")
    project = discreet.open(tmp_path)
    version, outcome = project.refresh("visits")
    assert outcome.exact_added is None and not extended
    assert rows_of(project, version) == rows_of(project, project.refresh("visits", force=True)[0])


def test_another_way_to_the_persons_reads_the_source(tmp_path, extended):
    project = make(tmp_path, THROUGH)
    other_way(tmp_path)
    write(tmp_path, "2026-02.csv")
    assert project.refresh("visits")[1].exact_added is None and not extended


def test_another_program_reads_the_source(tmp_path, extended, monkeypatch):
    project = make(tmp_path)
    write(tmp_path, "2026-02.csv")
    monkeypatch.setattr(version_growth, "VERSION", "99")
    assert project.refresh("visits")[1].exact_added is None and not extended


def test_the_owner_reads_how_it_was_made(tmp_path, capsys):
    make(tmp_path)
    write(tmp_path, "2026-02.csv", SECOND + "p1,200,X,1\n")
    code, out, _ = say(capsys, tmp_path, "refresh", "visits")
    assert code == 0
    assert out.startswith(
        "made version 2 of 'visits' from the version before and 21 rows of added files; 50 rows in all;"
    )
    assert "sex: 1 value did not fit and is NULL" in out and "71 rows beyond rows_per_person were left out" in out
    write(tmp_path, "2026-03.csv")
    data = run(capsys, tmp_path, "refresh", "visits")[1]
    assert (data["added"], data["read"]) == (20, 20)
    data = run(capsys, tmp_path, "refresh", "visits", "--force")[1]
    assert (data["added"], data["read"]) == (None, 141)
    assert json.dumps(data)
