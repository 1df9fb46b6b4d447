"""Whole questions on every engine: each statistic, each kind of key, each join and subquery; the reference's cells.

A question has many columns, since it is the question that costs time on Spark, not its columns.
"""

import pytest

from discreet.engines.memory import MemoryEngine
from discreet.engines.public_table_loader import load_public_table
from discreet.engines.table_file import PERSON
from discreet.schema.schema import Table
from discreet.sql.catalog import CatalogTable
from discreet.sql.dialect import DuckDBDialect
from discreet.sql.postgres_dialect import PostgreSQLDialect
from discreet.sql.spark_dialect import SparkDialect
from discreet.sql.sql_writer import SqlWriter
from engines.conformance.agreeing import agree, same_answers
from engines.conformance.hospital import REGIONS, REGIONS_SCHEMA, hospital

#: Asked of every state of the hospital.
FEW = (
    "SELECT count(*), count(age), count(DISTINCT pid), count(DISTINCT note), sum(cost), avg(age), sum(wide) FROM visits",
    "SELECT sort, flag, count(*), sum(years), max(age) FROM visits GROUP BY sort, flag",
    "SELECT note, open, count(*), sum(age) FROM visits GROUP BY note, open",
    "SELECT state, ward, count(*), sum(load), avg(load) FROM beds GROUP BY CUBE (state, ward)",
    "SELECT kind, count(*), sum(b.amount), count(DISTINCT v.pid) FROM visits v LEFT JOIN bills b ON v.pid = b.pid GROUP BY kind",
    "SELECT n, count(*), sum(s), avg(m) FROM (SELECT pid, count(*) n, sum(age) s, avg(cost) m, max(wide) w FROM visits GROUP BY pid) q GROUP BY n",
)  # fmt: skip
#: Asked of a full one on every engine, in every suite.
CORE = (
    "SELECT var_pop(age), stddev(cost), corr(age, years), covar_pop(cost, age), regr_slope(cost, age), avg(flag), count_if(flag) FROM visits",
    "SELECT avg(ln(cost)), sum(sqrt(age)), sum(exp(cost / 9)), avg(log10(abs(wide) // 100000)), sum(sqrt(abs(wide))), weighted_avg(cost, age), geomean(age), regr_r2(cost, age) FROM visits",
    "SELECT median(age), quantile(cost, 0.25), min(years), max(day), percentile_cont(0.9) WITHIN GROUP (ORDER BY age) FROM visits",
    "SELECT sum(wide), avg(wide), sum(wide * 1000), sum(wide * age), sum(-wide), sum(wide // 7), sum(wide % 1000), sum(wide * (years - 3) * 7 // 3) FROM visits",
    "SELECT count(*) FILTER (WHERE sex = 'F'), sum(age) FILTER (WHERE flag), avg(cost) FILTER (WHERE note IS NOT NULL), count(DISTINCT sort) FILTER (WHERE age > 3) FROM visits",
    "SELECT date_trunc('week', seen) AS w, extract(hour FROM seen) AS h, count(*), sum(age) FROM visits GROUP BY GROUPING SETS ((w), (h), ())",
    "SELECT lower(sort) AS s, coalesce(sex, 'none') AS x, count(*) FROM visits GROUP BY ROLLUP (s, x)",
    "SELECT lower(note) AS k, count(*), avg(age) FROM visits GROUP BY k",
    "SELECT count(*) FROM visits WHERE sex IN ('F') AND NOT (age > 3 AND flag) AND note <> 'a'",
    "SELECT count(*) FROM visits WHERE note LIKE 'a%' OR note LIKE '%\\_%' OR note ILIKE '%S%' OR upper(note) = 'SS' OR trim(note) = ''",
    "SELECT r.region, v.sex, count(*), count(r.people) FROM visits v LEFT JOIN regions r ON v.age = r.age AND v.sex = r.sex GROUP BY r.region, v.sex",
    "SELECT count(*), sum(i.price), count(DISTINCT v.pid) FROM visits v JOIN items i ON v.pid = i.person",
    "-- groups per person: 2\n-- rows per person per group: 1\nSELECT note, sex, count(*), sum(age), count(DISTINCT pid) FROM visits GROUP BY note, sex",
    "SELECT count(*), sum(s), sum(l), sum(h), sum(w) FROM (SELECT pid, sum(wide) s, min(cost) l, max(day) - min(day) h, avg(wide) w FROM visits WHERE age IS NOT NULL GROUP BY pid) q",
)  # fmt: skip
#: On Spark at length only.
MANY = (
    # statistics
    "SELECT sex, median(cost), max(age) FROM visits GROUP BY sex",
    "SELECT count(DISTINCT age), count(DISTINCT lower(note)), count(DISTINCT open), count(DISTINCT day), count(DISTINCT cost) FROM visits",
    "SELECT sum(age + years), sum(cost * 4), sum(age * cost), sum(abs(years)), sum(CASE WHEN flag THEN age ELSE -years END), sum(coalesce(age, 3)) FROM visits",
    # known keys
    "SELECT years, count(*), sum(cost) FROM visits GROUP BY years",
    "SELECT floor(years / 5) * 5 AS f, age > 3 AS g, count(*) FROM visits GROUP BY f, g",
    "SELECT date_trunc('month', day) AS m, extract(dow FROM seen) AS w, count(*) FROM visits GROUP BY m, w",
    "SELECT least(greatest(floor(cost), 0), 4) AS k, sex, flag, count(*), avg(years) FROM visits GROUP BY CUBE (k, sex, flag)",
    # discovered keys
    "SELECT length(note) AS k, sex, count(*) FROM visits GROUP BY k, sex",
    "SELECT note, count(*) FROM visits GROUP BY note ORDER BY count(*) DESC LIMIT 3",
    "SELECT note, state, count(*) FROM beds GROUP BY note, state",
    "SELECT DISTINCT substr(note, 1, 1), open FROM visits",
    # regions and conditions
    "SELECT count(*), sum(age) FROM visits WHERE sex = 'F' AND age BETWEEN 2 AND 9",
    "SELECT count(*) FROM visits WHERE sex IS NULL OR sex = 'M'",
    "SELECT count(*), sum(load) FROM beds WHERE ward IN (1, 3) AND load > 1.5 AND note >= 'A' AND note < 'é'",
    "SELECT count(*) FROM beds WHERE ward > 2 OR (load IS NULL AND state = 'free')",
    "SELECT count(*) FROM visits WHERE day BETWEEN '2020-01-05' AND '2020-03-01' AND seen > '2019-12-31 12:00:00' AND open > -3",
    "SELECT count(*) FROM visits WHERE wide * 20 > 9223372036854775807 OR wide < -9223372036854775808 OR open > 9223372036854775808",
    # joins, subqueries
    "SELECT r.region, count(*), sum(r.people), sum(v.age) FROM visits v JOIN regions r ON v.age = r.age GROUP BY r.region",
    "SELECT sum(b.amount), count(*), sum(v.age * b.amount), count(DISTINCT b.word) FROM visits v JOIN bills b ON v.pid = b.pid WHERE b.paid",
    "SELECT label, count(*), sum(price) FROM items GROUP BY label",
    "SELECT k, count(*), sum(n), sum(d) FROM (SELECT pid, age AS k, count(*) n, count(DISTINCT note) d FROM visits GROUP BY pid, age HAVING count(*) < 3) q GROUP BY k",
    "WITH w AS (SELECT age * 2 AS a, sex, pid FROM visits WHERE flag IS NOT TRUE) SELECT sex, sum(a), count(DISTINCT pid) FROM w GROUP BY sex",
    "SELECT v.sex, count(*), avg(q.n) FROM visits v JOIN (SELECT pid, count(*) n FROM bills GROUP BY pid) q ON v.pid = q.pid GROUP BY v.sex",
    "SELECT count(*) FROM (SELECT DISTINCT pid, sort, note FROM visits) q",
    # limits on the groups of a person
    "-- groups per person: 1\nSELECT years, count(*), sum(cost), count(DISTINCT pid) FROM visits GROUP BY years",
    "-- groups per person: 3\n-- rows per person per group: 1\nSELECT sort, flag, count(*), sum(age), median(cost) FROM visits GROUP BY ROLLUP (sort, flag)",
    "-- rows per person per group: 2\nSELECT count(*), sum(wide), count(DISTINCT note) FROM visits",
    "-- groups per person: 2\nSELECT note, open, count(*), sum(age) FROM visits GROUP BY note, open",
    "-- groups per person: 2\n-- rows per person per group: 1\nSELECT r.region, v.age, count(*), sum(r.people) FROM visits v LEFT JOIN regions r ON v.age = r.age GROUP BY r.region, v.age",
    "-- groups per person: 1\n-- rows per person per group: 1\nSELECT b.word, count(*), sum(v.age) FROM visits v JOIN bills b ON v.pid = b.pid GROUP BY b.word",
    "-- groups per person: 1\nSELECT k, count(*), sum(n) FROM (SELECT pid, age AS k, count(*) n FROM visits GROUP BY pid, age) q GROUP BY k",
    "-- groups per person: 2\n-- rows per person per group: 1\nSELECT label, count(*), sum(price) FROM items GROUP BY label",
)  # fmt: skip


def asking(reference, ground, state):
    """A function that asks both about a hospital."""
    tables = hospital(state)
    places = {name: agree(reference, ground, declaration) for name, declaration in tables.items()}
    source = reference.lay(REGIONS, "regions")
    public = Table(schema=REGIONS_SCHEMA, source=source, population="people", budget=None, public=True)
    loaded = load_public_table(public, folder=reference.folder, engine=MemoryEngine())
    catalog = {name: CatalogTable(schema=each.schema, population="people") for name, each in tables.items()}
    catalog["regions"] = CatalogTable(schema=REGIONS_SCHEMA, public=lambda: loaded)
    return lambda text: same_answers(reference, ground, text, catalog, places)


@pytest.mark.parametrize("state", ["empty", "bare"])
def test_few(reference, light_ground, state):
    """Of nothing, and of one row that is nothing."""
    asked = asking(reference, light_ground, state)
    for text in FEW:
        asked(text)


@pytest.fixture(scope="module")
def asked(reference, ground):
    return asking(reference, ground, "full")


@pytest.fixture(scope="module")
def light(reference, light_ground):
    return asking(reference, light_ground, "full")


def answered(asked, texts):
    for text in texts:
        found = asked(text)
        assert any(any(vector) for step in found for vector in step), text


@pytest.mark.parametrize("part", [pytest.param(0, marks=pytest.mark.fast), 1, 2])
def test_core(asked, part):
    answered(asked, (*FEW, *CORE)[part::3])


@pytest.mark.thin(2)
@pytest.mark.parametrize("part", range(4))
def test_many(light, part):
    answered(light, MANY[part::4])


# Bugs, planted in what an engine writes


def lost_null(dialect, patch):
    patch.setattr(dialect, "same", lambda self, left, right, *, texts: f"{left} = {right}")


def blind_to_case(dialect, patch):
    """As under a collation that is."""
    known = dialect.text_column
    patch.setattr(dialect, "text_column", lambda self, name: f"lower({known(self, name)})")


def another_quotient(dialect, patch):
    known = dialect.quotient
    patch.setattr(
        dialect, "quotient", lambda self, left, right, *, wide: known(self, f"({left} + 1)", right, wide=wide)
    )


def narrow_sum(dialect, patch):
    """64 bits, from which nothing is told when they are full."""
    huge = f"CAST(sum({{}}){{}} AS {dialect.huge}) % 9223372036854775807"
    patch.setattr(dialect, "total", lambda self, number, told, *, most: f"({huge.format(f'CAST({number} AS {self.huge})', told)})")  # fmt: skip


def rows_for_persons(dialect, patch):
    person = dialect().identifier(PERSON)
    known = SqlWriter.count
    patch.setattr(SqlWriter, "count", lambda *parts: known(*parts).replace(f"count(DISTINCT {person})", "count(*)"))


MUTANTS = {
    lost_null: "SELECT note, count(*) FROM visits GROUP BY note",
    blind_to_case: "SELECT count(*) FROM visits WHERE note >= 'a' AND note < 'b'",
    another_quotient: "SELECT floor(years / 5) * 5 AS f, count(*) FROM visits GROUP BY f",
    narrow_sum: "SELECT sum(wide * 1000), sum(wide * age) FROM visits",
    rows_for_persons: "SELECT sort, count(DISTINCT pid) FROM visits GROUP BY sort",
}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
def test_a_bug_is_seen(light, light_ground, mutant, monkeypatch):
    """The same question without it is answered alike: it is the bug that is seen."""
    light(MUTANTS[mutant])
    mutant(
        {"duckdb": DuckDBDialect, "postgres": PostgreSQLDialect, "spark": SparkDialect}[light_ground.name], monkeypatch
    )
    with pytest.raises(AssertionError):
        light(MUTANTS[mutant])
