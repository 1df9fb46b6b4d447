"""Projects and questions whose bundles are rechecked: rows, persons with many rows, public tables, every mechanism."""

import csv
import subprocess
import sys
from pathlib import Path

import clinic
import discreet
from discreet.bundle import bundle_files

ROOT = Path(__file__).resolve().parents[2]
CHECKER = ROOT / "verify" / "check_bundle.py"

HOSPITAL = """
[populations.people]
budget = { epsilon = 900.0, delta = 1e-4 }
[tables.visits]
source = "visits.csv"
person = "id"
rows_per_person = 4
population = "people"
[tables.visits.columns.cost]
type = "decimal"
low = 0
high = 50
step = 0.01
[tables.visits.columns.ward]
type = "category"
values = ["a", "b", "c"]
[tables.visits.columns.sex]
type = "category"
values = ["F", "M"]
closed = true
constant = true
[tables.visits.columns.day]
type = "date"
low = 2024-01-01
high = 2025-12-31
[tables.visits.columns.town]
type = "text"
[tables.visits.columns.weight]
type = "integer"
low = 0
high = 200
bins = 4
[tables.visits.columns.called]
type = "text"
[tables.visits.columns.seen]
type = "timestamp"
low = 2024-01-01
high = 2025-12-31
[tables.stays]
source = "stays.csv"
person = "id"
rows_per_person = 3
population = "people"
[tables.stays.columns.nights]
type = "integer"
low = 0
high = 30
[tables.wards]
source = "wards.csv"
public = true
[tables.wards.columns.ward]
type = "text"
[tables.wards.columns.floor]
type = "integer"
"""

#: Questions of the clinic, where a person is a row.
ROWS = {
    "count": "SELECT count(*) AS n FROM patients",
    "histogram": "SELECT disease, sex, count(*) AS n FROM patients WHERE age < 60 GROUP BY disease, sex ORDER BY n DESC",
    "sum": "SELECT sum(age * age - 3 * age) AS s, sum(CASE WHEN smoker THEN age ELSE 2 END) AS t FROM patients",
    "functions": (
        "SELECT sum(least(age, 40) + greatest(age, 20) % 7 + abs(age - 50) / 3 + coalesce(age, 7) + length(sex)) AS s "
        "FROM patients"
    ),
    "key twice": "SELECT disease, disease AS again, count(*) AS n FROM patients GROUP BY disease, smoker",
    "key left out": "SELECT disease, count(*) AS n FROM patients WHERE age > 9 GROUP BY disease, smoker",
    "average": "SELECT sex, avg(age) AS a, count(*) AS n FROM patients GROUP BY sex",
    "deviation": "SELECT stddev(age) AS d FROM patients",
    "variance": "SELECT var_pop(age) AS v FROM patients WHERE age > 24",
    "ratio": "SELECT sex, sum(age) / count(*) AS r, count(*) AS n FROM patients WHERE age > 21 GROUP BY sex",
    "share": "SELECT sex, 100.0 * count_if(smoker) / count(*) AS s FROM patients WHERE age > 22 GROUP BY sex",
    "other units": "SELECT avg(age / 10) AS a FROM patients WHERE age > 28",
    "no division by 0": "SELECT sum(age) / nullif(count(*), 0) AS a FROM patients WHERE age > 29",
    "multiples": "SELECT count(*) * 3 AS n, sum(age) / 10 AS s FROM patients WHERE age > 27 AND age < 7 * 13",
    "sets": "SELECT sex, smoker, count(*) AS n FROM patients GROUP BY CUBE (sex, smoker)",
    "sets apart": "SELECT sex, smoker, count(*) AS n FROM patients WHERE age > 11 GROUP BY GROUPING SETS ((sex), (smoker))",
    "sets of some rows": "SELECT sex, smoker, count(*) AS n FROM patients WHERE age > 12 GROUP BY CUBE (sex, smoker) ORDER BY n DESC LIMIT 1",
    "sets of two labels": (
        "SELECT lower(sex) AS a, upper(sex) AS b, count(*) AS n FROM patients WHERE age > 13 GROUP BY GROUPING SETS ((a), (b))"
    ),
    "grouping": "SELECT sex, smoker, grouping(sex) AS g, count(*) AS n FROM patients WHERE age > 14 GROUP BY CUBE (sex, smoker)",
    "grouping of one set": "SELECT disease, grouping(disease) AS g, count(*) AS n FROM patients WHERE age > 15 GROUP BY disease",
    "grouping alone": "SELECT grouping(disease) AS g, count(*) AS n FROM patients WHERE age > 16 GROUP BY disease",
    "grouping and average": "SELECT sex, grouping(sex) AS g, avg(age) AS a FROM patients WHERE age > 17 GROUP BY CUBE (sex, smoker)",
    "key again": "SELECT disease, disease AS again, count(*) AS n FROM patients WHERE age > 18 GROUP BY disease",
    "keys again": (
        "SELECT sex AS a, sex AS b, smoker AS c, smoker AS d, count(*) AS n FROM patients WHERE age > 19 GROUP BY sex, smoker"
    ),
    "distinct": "SELECT DISTINCT note FROM patients WHERE age > 10",
    "quantile": "SELECT sex, median(age) AS m FROM patients GROUP BY sex",
    "quantiles": "SELECT quantile_cont(age, 0.25) AS a, quantile_cont(age, 0.9) AS b, count(*) AS n FROM patients",
    "discovered": "SELECT note, count(*) AS n FROM patients GROUP BY note",
    "discovered sums": "SELECT note, sex, sum(age) AS s FROM patients GROUP BY note, sex",
}

#: Questions of the hospital, whose persons have many rows.
PERSONS = {
    "count": "SELECT ward, count(*) AS n FROM visits GROUP BY ward",
    "constant": "SELECT sex, count(*) AS n, sum(cost) AS s FROM visits GROUP BY sex",
    "distinct": "SELECT ward, count(DISTINCT id) AS n, count(DISTINCT cost) AS c FROM visits GROUP BY ward",
    "days": "SELECT sum(extract(year FROM day)) AS y, sum(extract(month FROM day)) AS m FROM visits",
    "person join": (
        "SELECT v.ward, count(*) AS n, sum(s.nights) AS k FROM visits v JOIN stays s ON v.id = s.id GROUP BY v.ward"
    ),
    "per person": "SELECT avg(n) AS n, avg(m) AS m FROM (SELECT id, count(*) AS n, max(cost) AS m FROM visits GROUP BY id)",
    "per person and key": (
        "SELECT sum(n) AS n, sum(s) AS s FROM (SELECT id, ward, count(*) AS n, sum(cost) AS s FROM visits GROUP BY id, ward)"
    ),
    "brought": (
        "SELECT v.sex, sum(t.n * 2) AS n FROM visits v "
        "LEFT JOIN (SELECT id, count(nights) AS n FROM stays GROUP BY id) t ON v.id = t.id GROUP BY v.sex"
    ),
    "counted": "SELECT sum(n + 1) AS n, avg(n) AS m FROM (SELECT id, count(sex) AS n FROM visits GROUP BY id)",
    "called otherwise": "SELECT avg(x.price) AS a FROM (SELECT id, cost AS price FROM visits WHERE cost > 6) AS x",
    "towns": "SELECT town, count(*) AS n FROM visits GROUP BY town",
    "top": "SELECT town, count(DISTINCT id) AS n FROM visits GROUP BY town ORDER BY n DESC LIMIT 1",
    "bins": "SELECT weight, count(*) AS n FROM visits GROUP BY weight",
    "tens": "SELECT floor(cost / 10) * 10 AS tens, ward, count(*) AS n FROM visits GROUP BY tens, ward",
    "dates": "SELECT day, count(*) AS n FROM visits GROUP BY day",
    "months": "SELECT date_trunc('month', seen) AS m, count(*) AS n FROM visits GROUP BY m",
    "month and year": "SELECT extract(month FROM day) AS m, year(day) AS y, count(*) AS n FROM visits GROUP BY m, y",
    "truths": "SELECT weight > 100 AS heavy, count(*) AS n FROM visits GROUP BY heavy",
    "having": "SELECT ward, sex, count(*) AS n FROM visits GROUP BY ward, sex HAVING count(*) > 9 ORDER BY n DESC LIMIT 3",
    "rollup": "SELECT ward, sex, count(*) AS n, sum(cost) AS s FROM visits GROUP BY ROLLUP (ward, sex)",
    "texts": "SELECT called, town, sex, count(*) AS n FROM visits GROUP BY called, town, sex ORDER BY n",
    "two labels": "SELECT sex, count(*) AS n FROM visits WHERE cost > 2 GROUP BY lower(sex), sex",
    "two labels shown": "SELECT lower(ward) AS l, ward, count(*) AS n FROM visits WHERE weight > 3 GROUP BY CUBE (l, ward)",
    "limited": (
        "-- groups per person: 2\n-- rows per person per group: 1\n"
        "SELECT ward, sex, count(*) AS n, sum(cost) AS s FROM visits GROUP BY ROLLUP (ward, sex)"
    ),
    "people of towns": "SELECT town, count(DISTINCT id) AS n FROM visits GROUP BY town",
    "texts alone": "SELECT DISTINCT called, town FROM visits",
    "capitals": "SELECT upper(ward) AS w, count(*) AS n FROM visits WHERE cost > 1 GROUP BY w",
    "words": "SELECT CASE WHEN weight > 90 THEN 'heavy' ELSE 'light' END AS w, count(*) AS n FROM visits GROUP BY w",
}
PUBLIC = (
    "SELECT w.floor, count(*) AS n, sum(w.floor) AS s FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY w.floor"
)


JOINED = "visits v JOIN stays s ON v.id = s.id"


def _publication(project):
    plan = project.folder / "plan.toml"
    plan.write_text('table = "visits"\nattributes = ["sex"]\n[hierarchy]\ncolumns = ["ward"]\n')
    return project.publish(plan, epsilon=1).release


def _comparison(project):
    model = project.synthesize("visits", epsilon=1, columns=["sex", "ward", "weight"], rows_only=True)
    return project.compare(model, epsilon=0.5).release


def _batch(project):
    texts = [f"SELECT sum(v.cost) AS n FROM {JOINED} WHERE s.nights < {nights}" for nights in (3, 7, 12, 20)]
    return project.batch(";".join([*texts, f"SELECT avg(s.nights) AS a FROM {JOINED}"]), epsilon=1)[0].id


#: Releases of the hospital that take steps from a reservation: each returns its id.
PROGRAMS = {
    "ranges of persons": lambda project: project.ranges("stays", "nights", epsilon=0.5).release,
    "adaptive of persons": lambda project: project.ranges("stays", "nights", epsilon=1, strategy="adaptive").release,
    "marginals of persons": lambda project: project.marginals("visits", ["ward", "weight"], epsilon=0.5).release,
    "publication of persons": _publication,
    "model of persons": lambda project: (
        project.synthesize("visits", epsilon=1, columns=["sex", "town"], rows_only=True).card.release
    ),
    "whole persons": lambda project: project.synthesize("visits", epsilon=1, columns=["sex", "town"]).card.release,
    "description of persons": lambda project: project.describe("visits", epsilon=1).release,
    "persons in time": lambda project: (
        project.synthesize("visits", epsilon=4, columns=["ward", "sex", "day", "seen"], time="day").card.release
    ),
    "all columns": lambda project: project.synthesize("visits", epsilon=4, rows_only=True).card.release,
    "comparison": _comparison,
    "ranges by groups": lambda project: (
        project.ranges("visits", "weight", epsilon=0.5, by=["ward"], where="sex = 'F'").release
    ),
    "batch of persons": _batch,
}


#: Statements that share what they measure; one that gains by it alone; and ranges.
CELLS = ";".join(f"SELECT sex, count(*) AS n FROM patients WHERE age < {age} GROUP BY sex" for age in range(20, 90, 10))
SETS = (
    "SELECT sex, smoker, count(*) AS n FROM patients GROUP BY CUBE (sex, smoker);"
    "SELECT disease, count(*) * 2 AS d, count(*) AS n FROM patients GROUP BY disease; SELECT sum(age) AS s FROM patients"
)
ALONE = "SELECT " + ", ".join(f"count_if(age < {age}) AS n{age}" for age in range(20, 90, 5)) + " FROM patients"
ESTIMATES = {
    "ranges": lambda project: project.ranges("patients", "age", epsilon=0.5).release,
    "batch of cells": lambda project: project.batch(CELLS, epsilon=1)[0].id,
    "batch of sets": lambda project: project.batch(SETS, epsilon=1)[0].id,
    "one statement": lambda project: project.sql(ALONE).ask(epsilon=1).id,
}


def undeclared_project(folder):
    """Visits whose numbers have no bounds: what is released of them finds them first."""
    project = persons_project(folder)
    path = project.folder / "discreet.toml"
    text = path.read_text().replace("low = 0\nhigh = 50\nstep", "step").replace("low = 0\nhigh = 200\nbins = 4\n", "")
    path.write_text(text)
    return discreet.open(project.folder)


def rows_project(folder, **more):
    """The clinic of other tests, with room for many questions."""
    return clinic.make(folder, budget="{ epsilon = 900.0, delta = 1e-4 }", **more)


def persons_project(folder):
    """Visits and stays of the same people, and a public table of wards."""
    discreet.init(folder)
    visits = [
        [
            *(f"p{person}", f"{person % 50}.25", "abc"[(person + turn) % 3], "FM"[person % 2], f"2024-0{1 + turn}-11"),
            *("t", person % 201, ('=1+1,"q"', "two\nlines ✓")[person % 2], f"2025-0{1 + turn}-11 10:00:00"),
        ]
        for person in range(300)
        for turn in range(1 + person % 5)
    ]
    _write(folder / "visits.csv", ["id", "cost", "ward", "sex", "day", "town", "weight", "called", "seen"], visits)
    _write(folder / "stays.csv", ["id", "nights"], [[f"p{person}", person % 31] for person in range(0, 300, 2)])
    _write(folder / "wards.csv", ["ward", "floor"], [["a", 1], ["a", 2], ["b", 3], ["c", 4]])
    path = folder / "discreet.toml"
    path.write_text(path.read_text() + HOSPITAL)
    return discreet.open(folder)


def _write(path, names, rows):
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([names, *rows])


def written(files, folder):
    """A bundle as a folder."""
    bundle_files.write(files, folder)
    return folder


def recheck(folder, *more, checker=CHECKER):
    """What the checker says, as it is meant to run: alone, with nothing installed beside it."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(checker), str(folder), *more], capture_output=True, text=True, cwd="/", env={}
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done
