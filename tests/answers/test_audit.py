"""What auditors broke, kept: each was seen to fail before it was mended."""

import csv
import shutil
from fractions import Fraction

import pyarrow.parquet as pq
import pytest

import discreet
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import BudgetExceeded, DiscreetError, Refused, SchemaError, UsageError
from discreet.kernel.curator import Curator
from discreet.kernel.measurement import Measurement
from discreet.project.project import Project

VISITS = """
[tables.v]
source = "v.csv"
person = "pid"
rows_per_person = 3
budget = { epsilon = 100000.0, delta = 1e-6 }
[tables.v.columns.x]
type = "integer"
low = 0
high = 10
[tables.v.columns.note]
type = "text"
"""
TEN = [["pid", "x", "note"]] + [[number, 5, "a"] for number in range(10)]


def project(folder, toml=VISITS, **files):
    made = discreet.init(folder)
    for name, rows in {"v": TEN, **files}.items():
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows(rows)
    path = folder / "discreet.toml"
    path.write_text(path.read_text() + toml)
    return Project(made.folder)


def kept(found, table="v"):
    file = found.folder / ".discreet" / "tables" / found.version(table).file
    return pq.read_table(file).num_rows


def test_a_question_is_read_against_the_version_that_it_is_asked_of(tmp_path, monkeypatch):
    """Read before version 1 was there; the owner then widened the declaration and made version 1."""
    found = project(tmp_path)
    question = found.sql("select count(*), sum(x) from v")
    path = tmp_path / "discreet.toml"
    path.write_text(path.read_text().replace("rows_per_person = 3", "rows_per_person = 50").replace("10\n", "1000\n"))
    Project(found.folder).refresh("v", force=True)
    claimed = []
    real = Curator._count
    monkeypatch.setattr(
        Curator,
        "_count",
        lambda self, cells, price, tables: (
            claimed.extend(moves.l1 for step in price.steps for moves in step.moves),
            real(self, cells, price, tables),
        )[1],
    )
    question.ask(epsilon=1)
    assert claimed == [50, 50_000]


def test_joins_do_not_multiply_one_persons_rows_without_end(tmp_path):
    found = project(tmp_path, VISITS.replace("rows_per_person = 3", "rows_per_person = 200"))
    joined = "v a join v b on a.pid = b.pid"
    assert found.sql(f"select count(*) from {joined}").query.reach.rows == 40_000
    with pytest.raises(Refused, match="8,000,000 rows"):
        found.sql(f"select count(distinct a.pid) from {joined} join v c on a.pid = c.pid")


def test_what_is_computed_for_a_person_stays_within_an_engines_numbers(tmp_path):
    found = project(tmp_path, VISITS.replace("high = 10", "high = 1000000000000000"))
    inner = "v"
    for level in range(12):
        inner = f"(select pid, avg(x) as x from {inner} group by pid) as q{level}"
    with pytest.raises(Refused, match="30 digits"):
        found.sql(f"select count(*) from {inner} where x > 3")


def test_a_batch_is_charged_whole_or_not_at_all_by_delta_and_quota_too(tmp_path):
    found = project(tmp_path, VISITS + "\n[analysts.ann]\nepsilon = 0.5\n")
    text = "select note, count(*) from v group by note; select lower(note) as n, count(*) from v group by n"
    with pytest.raises(UsageError, match="delta"):
        found.batch(text, epsilon="0.5", delta="0.0000004", analyst="ann")
    with pytest.raises(BudgetExceeded, match="quota"):
        found.batch("select count(*) from v; select sum(x) from v where x > 3", epsilon=1, analyst="ann")
    assert found.budget("v").events == 0


def test_a_quantiles_interval_is_only_as_sure_as_it_was_bought(tmp_path):
    found = project(tmp_path)
    question = found.sql("select median(x) from v")
    first = question.ask(epsilon=100, confidence="0.5")
    again = question.ask(epsilon=100, confidence="0.999")
    assert again.cached and again.intervals == (((0, 10),),)
    assert first.interval("0.4") == first.intervals


def test_the_count_of_a_discovered_key_is_known_by_having_been_large(tmp_path):
    """Among keys a little below the threshold those show whose noise is large: their intervals must say so."""
    keys = 1000
    rows = [["pid", "x", "note"]] + [[f"{key}.{n}", 5, f"k{key}"] for key in range(keys) for n in range(14 + key % 20)]
    found = project(tmp_path, VISITS.replace("rows_per_person = 3", "rows_per_person = 1"), v=rows)
    release = found.sql("select note, count(*) from v group by note").ask(epsilon=1, delta="0.0000005")
    (part,) = Measurement.from_text(found.ledger.answer(release.id)).parts
    width = part.law.half_width(Fraction(975, 1000))
    for (_, value), (_, (low, high)) in zip(release.rows, release.intervals, strict=True):
        assert high == value + width
        assert low == (1 if value <= part.threshold + width else value - width)
    twice = found.sql("select note, 2 * count(*) from v group by note").ask(epsilon=1, delta="0.0000005")
    assert twice.cached and twice.intervals[0][1] == tuple(2 * end for end in release.intervals[0][1])
    loose = found.sql("select note, count(*) * count(*) from v group by note").ask(epsilon=1, delta="0.0000005")
    assert loose.cached and loose.intervals[0][1] is None


def test_nobody_is_brought_back_by_a_refresh_that_was_under_way(tmp_path, monkeypatch):
    found = project(tmp_path)
    found.refresh("v", force=True)
    real = DuckDBEngine.declare

    def slow(self, *args, **more):
        making = real(self, *args, **more)
        monkeypatch.setattr(DuckDBEngine, "declare", real)
        assert Project(found.folder).forget("v", ["7"]).exact_versions == 1
        return making

    monkeypatch.setattr(DuckDBEngine, "declare", slow)
    with pytest.raises(UsageError, match="forgotten"):
        found.refresh("v", force=True)
    found.refresh("v", force=True)
    assert kept(found) == 9


def test_a_tombstone_survives_a_rollback(tmp_path):
    found = project(tmp_path)
    found.refresh("v", force=True)
    found.ledger.close()
    backup = tmp_path / "backup"
    backup.mkdir()
    for file in (tmp_path / ".discreet").glob("ledger*"):
        shutil.copy(file, backup)
    later = Project(found.folder)
    later.forget("v", ["7"])
    later.ledger.close()
    for file in (tmp_path / ".discreet").glob("ledger*"):
        file.unlink()
    for file in backup.glob("*"):
        shutil.copy(file, tmp_path / ".discreet")
    restored = Project(found.folder)
    with pytest.raises(DiscreetError):
        restored.sql("select count(*) from v").ask(epsilon=1)
    restored.acknowledge()
    after = Project(found.folder)
    after.refresh("v", force=True)
    assert kept(after) == 9


def test_a_tombstone_holds_for_tables_that_are_made_later(tmp_path):
    lines = """
[populations.p]
budget = { epsilon = 10.0 }
[tables.l]
source = "l.csv"
population = "p"
person = { through = "v", on = "order" }
rows_per_person = 3
[tables.l.columns.y]
type = "integer"
"""
    toml = VISITS.replace("budget = { epsilon = 100000.0, delta = 1e-6 }", 'population = "p"') + lines
    orders = [["pid", "x", "note", "order"]] + [[number, 5, "a", f"o{number}"] for number in range(10)]
    found = project(tmp_path, toml, v=orders, l=[["order", "y"]] + [[f"o{number}", 1] for number in range(10)])
    found.refresh("v", force=True)
    assert found.forget("v", ["7"]).tables == ("v", "l")
    found.refresh("l", force=True)
    assert kept(found, "l") == 9


def test_one_population_has_one_unit(tmp_path):
    rows = """
[populations.p]
budget = { epsilon = 10.0 }
[tables.r]
source = "v.csv"
population = "p"
[tables.r.columns.x]
type = "integer"
"""
    toml = VISITS.replace("budget = { epsilon = 100000.0, delta = 1e-6 }", 'population = "p"')
    with pytest.raises(SchemaError, match="persons in 'v' but rows in 'r'"):
        project(tmp_path, toml + rows)


@pytest.mark.parametrize(
    "text",
    [
        "select count(*) from (select x from v having x > 3)",
        "select count(x, note) from v",
        "select min(x, 3) from v",
        "select avg(m) from (select pid, max(x, 2) as m from v group by pid)",
    ],
)
def test_no_part_of_a_question_is_dropped(tmp_path, text):
    with pytest.raises(Refused):
        project(tmp_path).sql(text)


def test_renamed_public_columns_are_another_question(tmp_path):
    columns = '[tables.pub]\nsource = "pub.csv"\npublic = true\n[tables.pub.columns]\nx = {{ type = "integer" }}\n'
    columns += '{} = {{ type = "integer" }}\n{} = {{ type = "integer" }}\n'
    found = project(tmp_path, VISITS + columns.format("lo", "hi"), pub=[["x", "lo", "hi"], [5, 100, 1]])
    text = "select sum(hi) from v join pub on v.x = pub.x"
    first = found.sql(text).query.inquiry.question()
    (tmp_path / "pub.csv").write_text("x,hi,lo\n5,100,1\n")
    path = tmp_path / "discreet.toml"
    path.write_text(path.read_text().replace(columns.format("lo", "hi"), columns.format("hi", "lo")))
    assert Project(found.folder).sql(text).query.inquiry.question() != first


def test_part_of_a_composite_person_is_not_the_person(tmp_path):
    toml = VISITS.replace('person = "pid"', 'person = ["pid", "site"]')
    rows = [["pid", "site", "x", "note"]] + [[number, "s", 5, "a"] for number in range(10)]
    found = project(tmp_path, toml, v=rows)
    joined = "(select x from v) a join v b on a.person = b.person"
    for text in (f"select count(distinct b.site) from {joined}", "select count(distinct site) from v"):
        with pytest.raises(Refused, match="identifies people"):
            found.sql(text)
    assert found.sql("select count(distinct (pid, site)), count(distinct person) from v")


def test_the_most_exact_quantile_is_the_stored_one(tmp_path):
    question = project(tmp_path).sql("select median(x) from v")
    good = question.ask(epsilon=50)
    question.ask(epsilon="0.001", fresh=True)
    assert question.ask(epsilon=1).id == good.id


def test_dates_and_timestamps_meet_as_moments(tmp_path):
    toml = VISITS + '[tables.v.columns.day]\ntype = "date"\nlow = 2020-01-01\nhigh = 2030-01-01\n'
    toml += '[tables.pub]\nsource = "pub.csv"\npublic = true\n[tables.pub.columns]\nat = { type = "timestamp" }\n'
    rows = [["pid", "x", "note", "day"]] + [[number, 5, "a", "2024-05-01"] for number in range(100)]
    days = [["at"], ["2024-05-01 00:00:00"], ["1970-01-01 00:00:00.019844"], ["2024-05-01 12:00:00"]]
    found = project(tmp_path, toml, v=rows, pub=days)
    counted = found.sql("select count(*) from v join pub on v.day = pub.at").ask(epsilon=100).rows[0][0]
    assert abs(counted - 100) <= 2


def test_all_grouping_sets_together_fit(tmp_path):
    found = project(tmp_path, VISITS + '[tables.v.columns.y]\ntype = "integer"\nlow = 0\nhigh = 9998\n')
    found.sql("select count(*) from v group by cube (y, x)")
    with pytest.raises(Refused, match="cells"):
        found.sql("select count(*), sum(x), sum(y), avg(x), avg(y) from v group by cube (y, x, floor(x / 2))")


def test_found_keys_and_known_cells_fit_together(tmp_path):
    from discreet.plan.price import price

    found = project(tmp_path, VISITS + '[tables.v.columns.y]\ntype = "integer"\nlow = 0\nhigh = 9998\n')
    asked = found.sql("select note, y, count(*) from v group by note, y").query
    told = price(asked.inquiry, asked.reach, needs=asked.needs, epsilon=Fraction(1), delta=Fraction(1, 10**6))
    assert told.most_keys == 200


def test_how_much_is_remembered_does_not_depend_on_who_is_there(tmp_path):
    found = project(tmp_path, VISITS.replace("rows_per_person = 3", "rows_per_person = 1000"))
    joined = "v a join v b on a.pid = b.pid"
    counts = ", ".join(f"count(distinct a.x + {number} * b.x)" for number in range(5))
    with pytest.raises(Refused, match="too many"):
        found.sql(f"select {counts} from {joined}")
    named = ", ".join(f"count(distinct a.x + {number} * b.x) as c{number}" for number in range(5))
    with pytest.raises(Refused, match="too many"):
        found.sql(f"select sum(c1) from (select a.pid, {named} from {joined} group by a.pid)")


def test_a_subquery_counts_as_often_as_it_is_named(tmp_path):
    parts = ["c0 as (select pid, x from v)"]
    parts += [f"c{n} as (select a.pid, a.x from c{n - 1} a join c{n - 1} b on a.pid = b.pid)" for n in range(1, 9)]
    found = project(tmp_path, VISITS.replace("rows_per_person = 3", "rows_per_person = 1"))
    with pytest.raises(Refused, match="subqueries"):
        found.sql(f"with {', '.join(parts)} select count(*) from c8")


def test_a_population_keeps_its_unit(tmp_path):
    found = project(tmp_path)
    found.sql("select count(*) from v").ask(epsilon=1)
    path = tmp_path / "discreet.toml"
    path.write_text(path.read_text().replace('person = "pid"\nrows_per_person = 3\n', ""))
    with pytest.raises(UsageError, match=r"protects each person\. Answers about"):
        Project(found.folder).refresh("v", force=True)


def test_texts_are_cut(tmp_path):
    rows = [*TEN, ["long", 5, "b" * 5000]]
    found = project(tmp_path, v=rows)
    assert found.sql("select count(*) from v where length(note) > 1000").ask(epsilon=100).rows[0][0] < 3
    file = found.folder / ".discreet" / "tables" / found.version("v").file
    assert max(len(note) for note in pq.read_table(file).column("note").to_pylist()) == 1000


def test_many_rows_a_person_are_no_join(tmp_path):
    found = project(tmp_path, VISITS.replace("rows_per_person = 3", "rows_per_person = 200000"))
    assert found.sql("select count(*) from v").query.reach.rows == 200_000


def test_so_many_rows_a_person_that_counting_them_takes_time(tmp_path):
    found = project(tmp_path, VISITS.replace("rows_per_person = 3", "rows_per_person = 2000000"))
    with pytest.raises(Refused, match="of computing to this query") as told:
        found.sql("select count(*) from v")
    assert "lower rows_per_person" in told.value.hint


def test_using_makes_two_names_one(tmp_path):
    columns = '[tables.pub]\nsource = "pub.csv"\npublic = true\n[tables.pub.columns]\nx = { type = "integer" }\n'
    found = project(tmp_path, VISITS + columns, pub=[["x"], [5]])
    release = found.sql("select x, count(*) from v join pub using (x) group by x").ask(epsilon=100)
    assert abs(dict(release.rows)[5] - 10) < 3
