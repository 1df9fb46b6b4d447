"""Rehearsals: the whole error and its parts, on rows that are made up; nothing private is read, nothing is charged."""

import hashlib
import sys

import pytest

import clinic
import discreet
from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.engine import EngineFailure
from discreet.errors import Refused, UsageError
from discreet.rehearse import rehearse
from discreet.rehearse import row_sources as learning
from discreet.rehearse.rehearsal import DRAWS
from discreet.rehearse.rehearsal_rows import declared_tables, narrow_tables
from discreet.sql.query_parser import parse_query
from discreet.synth import model_folder
from rehearse import shop as shops


@pytest.fixture
def shop(tmp_path):
    return shops.shop(tmp_path / "shop")


def parts_add_up(found):
    for row in found.numbers:
        for number in row:
            for draw in range(DRAWS):
                told = (number.clamping, number.truncation, number.noise(draw), number.error(draw))
                if None not in told:
                    assert sum(told[:3]) == pytest.approx(told[3], abs=1e-3 + 1e-5 * abs(number.plain))
    return found


def test_the_parts_of_a_count_of_rows(shop):
    """Of rows of persons only truncation and noise take or add any; plain SQL counts them all."""
    found = parts_add_up(rehearse(shop, "SELECT count(*) AS n, count(DISTINCT id) AS who FROM orders", epsilon="0.1"))
    rows, who = found.numbers[0]
    assert (rows.plain, rows.clamping) == (5000, 0) and rows.truncation < -100
    assert (who.clamping, who.truncation) == (0, 0) and 500 < who.plain < 5000
    assert any(rows.noise(draw) for draw in range(DRAWS)) and len(set(rows.draws)) > 1  # five equal draws: 1e-9
    assert found.sizes(0)["truncation"] == -rows.truncation and found.sizes(1)["truncation"] == 0


@pytest.mark.deep
def test_the_parts_of_a_sum(shop):
    """What the source holds beyond the bounds is taken away by clamping, on both sides."""
    (sums,) = parts_add_up(rehearse(shop, "SELECT sum(cost) AS s, avg(cost) AS a FROM orders", epsilon=1)).numbers
    assert sums[0].clamping != 0 and sums[0].truncation < 0
    assert abs(sums[1].clamping) < 1 and abs(sums[1].truncation) < 1


def test_exactly_what_is_declared_is_exact(tmp_path):
    """Where each row is a unit, nothing is truncated, and without values outside nothing clamped."""
    project = clinic.make(tmp_path / "clinic", budget="{ epsilon = 5 }")
    found = parts_add_up(rehearse(project, "SELECT smoker, count(*) AS n FROM patients GROUP BY smoker", epsilon=1))
    assert found.keys == ((False,), (True,), (None,)) or set(found.keys) == {(False,), (True,), (None,)}
    for (number,) in found.numbers:
        assert (number.clamping, number.truncation) == (0, 0)
        assert number.plain == number.whole == number.kept
    assert sum(number.plain for (number,) in found.numbers) == 5000


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    "text",
    [
        "SELECT sex, sum(cost) AS s FROM orders JOIN people ON orders.id = people.id GROUP BY sex",
        "SELECT sum(price) AS s FROM lines",
        "SELECT name, count(*) AS n FROM people JOIN regions ON people.region = regions.region GROUP BY name",
        "SELECT date_trunc('month', day) AS m, count(*) AS n FROM orders GROUP BY 1 ORDER BY n DESC LIMIT 3",
        "SELECT region, count(*) AS n FROM people GROUP BY region",
        "SELECT median(cost) AS m FROM orders",
        "SELECT sex, member, count(*) AS n FROM people GROUP BY ROLLUP (sex, member)",
        "SELECT count(*) AS n FROM people WHERE member AND sex = 'F'",
    ],
)
def test_every_kind_of_question(shop, text):
    found = parts_add_up(rehearse(shop, text, epsilon=1))
    assert found.numbers and all(len(row) == len(found.columns) for row in found.numbers)
    data = found.to_data()
    assert data["draws"] == DRAWS and data["groups"] == len(found.keys) and data["notes"]
    assert any(number.noise(0) is not None for row in found.numbers for number in row)


@pytest.mark.deep
def test_plain_numbers_of_months_and_joins_are_found(shop):
    by_month = rehearse(shop, "SELECT date_trunc('month', day) AS m, count(*) AS n FROM orders GROUP BY 1", epsilon=1)
    months = dict(zip(by_month.keys, by_month.numbers, strict=True))
    assert all(months[(f"2025-{month:02d}-01",)][0].plain > 0 for month in range(1, 13))
    # What lies before the year is clamped into its first month, and groups of those days plain SQL has alone.
    assert months[("2025-01-01",)][0].clamping > 0 and by_month.beyond > 0


@pytest.mark.deep
def test_where_plain_sql_means_something_else_it_is_not_compared(shop):
    """A column with declared bins is grouped by them, and by its single values in plain SQL."""
    found = rehearse(shop, "SELECT price, count(*) AS n FROM lines GROUP BY price", epsilon=1)
    assert all(number.plain is None and number.error(0) is None for row in found.numbers for number in row)
    assert any(number.noise(0) is not None for row in found.numbers for number in row)
    assert any("plain SQL" in note for note in found.notes)


def test_the_price_is_the_price_of_the_question(shop):
    for wish in ({"epsilon": "0.25"}, {"within": 40}):
        found = rehearse(shop, "SELECT count(*) AS n FROM orders", **wish)
        shop_cost = shop.sql("SELECT count(*) AS n FROM orders").explain(**wish)["cost"]
        assert found.cost.to_data(up=True) | {"budget": shop_cost["budget"]} == shop_cost
    assert rehearse(shop, "SELECT count(*) AS n FROM orders", epsilon=1, gaussian=True).cost.epsilon is None


def test_a_smaller_epsilon_has_a_larger_error(shop):
    text = "SELECT day, count(*) AS n FROM orders GROUP BY day"
    sizes = [rehearse(shop, text, epsilon=epsilon).sizes(0)["noise"] for epsilon in ("0.1", "10")]
    assert sizes[0] > 30 * sizes[1]  # a hundred times, up to chance that averages out over 366 cells and 5 draws


def test_refusals_are_those_of_the_question(shop):
    with pytest.raises(Refused):
        rehearse(shop, "SELECT * FROM orders", epsilon=1)
    with pytest.raises(UsageError):
        rehearse(shop, "SELECT count(*) FROM orders")
    with pytest.raises(UsageError, match="rows"):
        rehearse(shop, "SELECT count(*) FROM orders", epsilon=1, rows=10**9)


def test_as_many_rows_as_guessed(shop):
    found = rehearse(shop, "SELECT count(*) AS n FROM people", epsilon=1, rows=300)
    assert found.numbers[0][0].plain == 300 and found.rows == {"people": 300}


def test_of_a_wide_table_no_more_is_made_up_than_is_named(tmp_path):
    project = clinic.make(tmp_path / "clinic", budget="{ epsilon = 5 }")
    tables, catalog = declared_tables(project)
    asked = parse_query("SELECT sum(AGE) AS s FROM patients WHERE smoker", catalog)
    assert [column.name for column in narrow_tables(tables, asked)["patients"].schema.columns] == ["age", "smoker"]
    assert (
        len(narrow_tables(tables, parse_query("SELECT count(*) FROM patients", catalog))["patients"].schema.columns)
        == 1
    )


def test_what_takes_too_long_is_said(shop, monkeypatch):
    def slow(*told, **more):
        raise EngineFailure("interrupted")

    monkeypatch.setattr(DuckDBEngine, "count", slow)
    with pytest.raises(UsageError, match="takes too long"):
        rehearse(shop, "SELECT count(*) AS n FROM orders", epsilon=1)


# -- nothing private is read ------------------------------------------------------------------


def everything(folder):
    """The names and digests of all files of a folder."""
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.rglob("*")
        if file.is_file() and file.suffix not in (".db-wal", ".db-shm")  # SQLite's own, empty
    }


def test_the_real_table_ledger_and_keys_are_not_opened(tmp_path, state_folder):
    """With a real table, its versions, its ledger and the state folder gone, a rehearsal is the same."""
    project = clinic.make(tmp_path / "clinic", budget="{ epsilon = 5 }")
    project.sql("SELECT count(*) FROM patients").ask(epsilon=1)
    project.ledger.close()
    text = "SELECT sex, sum(age) AS s FROM patients GROUP BY sex"
    before = rehearse(discreet.open(project.folder), text, epsilon=1)
    (project.folder / "patients.csv").rename(tmp_path / "away.csv")
    (project.folder / ".discreet").rename(tmp_path / "away")
    state_folder.rename(tmp_path / "state-away")
    after = rehearse(discreet.open(project.folder), text, epsilon=1)
    assert after.keys == before.keys
    for one, other in zip(before.numbers, after.numbers, strict=True):
        assert (one[0].plain, one[0].whole, one[0].kept) == (other[0].plain, other[0].whole, other[0].kept)
    assert not (project.folder / ".discreet").exists() and not state_folder.exists()


def test_nothing_is_written_and_nothing_charged(tmp_path, state_folder):
    project = clinic.make(tmp_path / "clinic", budget="{ epsilon = 5 }")
    project.sql("SELECT sex, count(*) AS n FROM patients GROUP BY sex").ask(epsilon=1)
    entries = project.ledger.state.seq
    project.ledger.close()
    before = everything(project.folder), everything(state_folder)
    rehearse(discreet.open(project.folder), "SELECT sex, count(*) AS n FROM patients GROUP BY sex", epsilon=1)
    assert (everything(project.folder), everything(state_folder)) == before
    assert discreet.open(project.folder).ledger.state.seq == entries


def test_no_file_of_the_source_is_opened(tmp_path):
    """The process opens neither source nor declared table, and not even their folder: the interpreter tells."""
    project = clinic.make(tmp_path / "clinic", budget="{ epsilon = 5 }")
    project.sql("SELECT count(*) FROM patients").ask(epsilon=1)
    opened, watching = [], [True]
    sys.addaudithook(
        lambda event, told: opened.append(str(told[0])) if watching and event in ("open", "os.listdir") else None
    )
    rehearse(project, "SELECT sum(age) AS s FROM patients", epsilon=1)
    watching.clear()
    assert opened  # it watched
    assert not [name for name in opened if "patients.csv" in name or ".discreet/tables" in name]


@pytest.mark.deep
def test_the_folder_of_a_rehearsal_is_gone(shop, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    seen = set(tmp_path.iterdir())
    rehearse(shop, "SELECT count(*) AS n FROM orders", epsilon=1)
    assert set(tmp_path.iterdir()) == seen


# -- learning from releases --------------------------------------------------------------------


def test_counts_that_were_released_are_what_it_runs_on(tmp_path):
    project = clinic.make(tmp_path / "clinic", budget="{ epsilon = 50 }", rows=[[5, "M", "flu", "true", "n"]] * 900)
    text = "SELECT sex, count(*) AS n FROM patients GROUP BY sex"
    assert rehearse(project, text, epsilon=1).learned == ()
    release = project.sql(text).ask(epsilon=20)
    found = rehearse(project, text, epsilon=1)
    assert found.learned == (release.id,) and release.id in found.on
    plain = {key: number.plain for key, (number,) in zip(found.keys, found.numbers, strict=True)}
    assert (
        plain[("M",)] > 850 and plain[("F",)] < 20 and found.rows["patients"] == sum(max(0, row[1]) for row in release)
    )
    # What nobody has asked about is not known: then all is made up.
    other = rehearse(project, "SELECT sex, disease, count(*) AS n FROM patients GROUP BY sex, disease", epsilon=1)
    assert other.learned == ()


def test_a_kept_model_is_what_it_runs_on(tmp_path):
    project = clinic.make(tmp_path / "clinic", budget="{ epsilon = 50, delta = 1e-6 }")
    columns = ["age", "sex", "disease"]
    model = project.synthesize("patients", epsilon=10, model="independent", columns=columns)
    model_folder.save_in_project(project.folder, model)
    found = rehearse(project, "SELECT sex, count(*) AS n, avg(age) AS a FROM patients GROUP BY sex", epsilon=1)
    assert found.learned == (model.card.release,) and "independent" in found.on
    assert found.rows["patients"] == round(model.total)
    for number, mean in found.numbers:
        assert abs(number.plain - 500) < 120 and abs(mean.plain - 49.5) < 8
        assert number.clamping == number.truncation == 0
    other = rehearse(project, "SELECT smoker, count(*) AS n FROM patients GROUP BY smoker", epsilon=1)
    assert other.learned == ()


def test_what_is_no_model_is_passed_over(tmp_path):
    project = clinic.make(tmp_path / "clinic", budget="{ epsilon = 5 }")
    folder = project.folder / ".discreet" / "models"
    folder.mkdir()
    (folder / "x.npz").write_bytes(b"PK\x03\x04 no model")
    assert rehearse(project, "SELECT sex, count(*) AS n FROM patients GROUP BY sex", epsilon=1).learned == ()
    assert learning._load_model.cache_info().maxsize == 4
