"""Whole paths where the table lies in PostgreSQL or in a lake: every verb once, and everything that can be wrong.

Noise is tiny here, by a large epsilon, so that answers can be held against exact counts.
"""

import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import discreet
from cli.lying import DECLARED, LARGE, PLAN, REGIONS, SEXES, TYPES, WARDS, Postgres, Spark, visits
from clinic import run, say
from discreet.engines.engine_registry import EngineRegistry
from discreet.sql.sql_writer import SqlWriter
from engines.postgres import server as postgres
from engines.spark import server as spark
from engines.spark.server import spark_tests

#: Another Spark takes long to start: engines/spark/test_failures stops one in the suite, this test at length.
STOPPED = pytest.param("spark", marks=[*spark_tests, pytest.mark.fuzz])


@pytest.fixture(scope="module", params=["postgres", pytest.param("spark", marks=spark_tests)])
def lying(request, tmp_path_factory):
    """A project whose tables lie elsewhere, and where."""
    folder = tmp_path_factory.mktemp(request.param)
    state = str(tmp_path_factory.mktemp("state"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", state)
        discreet.init(folder)
        engine = (Postgres if request.param == "postgres" else Spark)(folder)
        sources = {
            "source": engine.lay(visits(), "visits"),
            "regions": engine.lay(REGIONS, "regions", {"ward": pa.string(), "floor": pa.string()}),
        }
        told = {name: "'" + source + "'" for name, source in sources.items()}
        with (folder / "discreet.toml").open("a") as stream:
            stream.write(DECLARED.format(engine=engine.address, **told))
    return engine, state


@pytest.fixture
def there(lying, monkeypatch):
    engine, state = lying
    monkeypatch.setenv("DISCREET_STATE", state)
    return engine


@pytest.fixture
def ask(there, capsys):
    """A verb of the command line that succeeds."""

    def asked(*words):
        code, data, told = run(capsys, there.folder, *words)
        assert code == 0, (words, data, told)
        return data

    return asked


def exact(*columns):
    """Rows by some columns, counted in plain Python."""
    return Counter(tuple(row[column] for column in columns) for row in visits())


def counts(data, keys=1):
    """The noisy rows, rounded."""
    return {tuple(row[:keys]): round(row[keys]) for row in data["rows"]}


# In this order: later verbs read what earlier ones have made.


def test_add_proposes_and_refuses_what_is_declared(there, capsys, tmp_path_factory):
    source = there.lay(visits(5), "more")
    words = ("add", source if there.name == "postgres" else str(there.folder / source), "--engine", there.address)
    code, told, problem = run(capsys, there.folder, *words, "--name", "more", "--person", "pid", "--epsilon", "1")
    assert code == 0, problem
    types = {"sex": "text", "ward": "text", "age": "integer", "stay": "integer", "day": "date", "note": "text"}
    assert {name: type_ for name, type_ in told["columns"].items() if name != "pid"} == types
    text = (there.folder / "discreet.toml").read_text()
    assert text.count(f'engine = "{there.address}"') == 3
    assert run(capsys, there.folder, *words, "--name", "again", "--epsilon", "1")[0] == 2
    (there.folder / "discreet.toml").write_text(text[: text.index("[tables.more]")])


def test_refresh_tells_the_owner(ask):
    told = ask("refresh", "visits")
    assert (told["version"], told["rows"], told["persons"], told["truncated"]) == (1, len(visits()), 150, 0)
    assert told["nulled"] == {} or not any(told["nulled"].values())


def test_queries_are_answered(ask):
    told = ask("query", "SELECT ward, sex, count(*) AS n FROM visits GROUP BY ward, sex", *LARGE)
    assert {key: value for key, value in counts(told, 2).items() if value} == exact("ward", "sex")
    told = ask("query", "SELECT count(DISTINCT pid), sum(age), median(age) FROM visits", *LARGE)
    assert round(told["rows"][0][0]) == 150
    assert abs(told["rows"][0][1] - sum(row["age"] for row in visits())) < 100  # scale 5
    told = ask("query", "SELECT note, count(*) AS n FROM visits GROUP BY note", *LARGE)
    assert counts(told) == exact("note")
    told = ask(
        "query",
        "SELECT r.floor, count(*) AS n FROM visits v JOIN regions r ON v.ward = r.ward GROUP BY r.floor",
        *LARGE,
    )
    assert counts(told) == {
        ("high",): exact("ward")["maternity",] + exact("ward")["surgery",],
        ("low",): exact("ward")["cardio",],
    }
    again = ask("query", "SELECT note, count(*) AS n FROM visits GROUP BY note", *LARGE)
    assert again["cached"] and again["cost"]["epsilon"] == 0


def test_explain_shows_sql_of_its_engine_and_no_secret(there, ask):
    told = ask("explain", "SELECT ward, count(*) AS n FROM visits GROUP BY ward", *LARGE)
    assert told["accepted"] and "count" in told["engine_sql"]
    assert there.address not in str(told) and "cli_visits" not in str(told) and str(there.folder) not in str(told)


@pytest.mark.deep
def test_histogram_marginals_and_ranges(ask):
    assert counts(ask("histogram", "visits", "ward", *LARGE)) == {
        (ward,): exact("ward")[ward,] for ward in (*WARDS, None)
    }
    told = ask("marginals", "visits", "sex", "ward", *LARGE)
    (pair,) = [each for each in told["marginals"] if each["columns"] == ["sex", "ward"]]
    assert {tuple(row[:2]): round(row[2]) for row in pair["rows"]} == {(sex, ward): exact("sex", "ward")[sex, ward] for sex in SEXES for ward in (*WARDS, None)}  # fmt: skip
    told = ask("ranges", "visits", "age", *LARGE, "--between", "0..49")
    assert round(told["rows"][0][2]) == sum(row["age"] <= 49 for row in visits())


def test_publish(there, ask, tmp_path):
    (there.folder / "plan.toml").write_text(PLAN)
    told = ask("publish", str(there.folder / "plan.toml"), *LARGE, "--delta", "0", "--to", str(tmp_path / "out"))
    assert (tmp_path / "out" / "card.json").exists() and told["table"] == "visits"


def test_a_batch_again_and_reconcile(there, ask):
    file = there.folder / "several.sql"
    file.write_text("SELECT count(*) AS n FROM visits; SELECT sex, count(*) AS n FROM visits GROUP BY sex;")
    told = ask("query", "-f", str(file), *LARGE)["answers"]
    assert round(told[0]["rows"][0][0]) == len(visits()) and counts(told[1]) == exact("sex")
    alone = ask("query", "SELECT ward, count(*) AS n FROM visits GROUP BY ward", *LARGE, "--fresh")
    assert counts(ask("again", alone["release"], *LARGE)) == counts(alone) == exact("ward")
    assert ask("reconcile", "visits")["numbers"]


def test_bounds(there, ask):
    text = (there.folder / "discreet.toml").read_text()
    (found,) = ask("bounds", "visits", "stay", *LARGE)["found"]
    assert found["name"] == "stay" and -50 <= found["low"] <= 1 and 9 <= found["high"] <= 50
    (there.folder / "discreet.toml").write_text(text)


@pytest.mark.parametrize("model", ["independent", "mst"])
def test_synthetic_data(ask, model, tmp_path):
    told = ask("synth", "fit", "visits", *LARGE, "--delta", "1e-7", "--model", model, "--columns", "sex,ward", "-o", str(tmp_path / "m.json"))  # fmt: skip
    assert abs(told["rows"] - len(visits())) < 5
    assert ask("synth", "sample", str(tmp_path / "m.json"), "-n", "50", "-o", str(tmp_path / "rows.csv"))["rows"] == 50


@pytest.mark.deep
def test_a_stream_follows_the_versions_and_somebody_is_forgotten(there, ask):
    words = ("ranges", "visits", "--stream", "daily")
    ask(*words, *LARGE, "--delta", "1e-7", "--horizon", "4", "--contributions", "3")
    first = ask(*words, "--next", "monday")
    assert abs(first["rows"][0]["count"] - len(visits())) < 10
    told = ask("forget", "visits", "p5", "--yes")
    assert told["tables"] == ["visits"]
    there.lay([*visits(), *visits(152)[-2:]], "visits")
    grown = ask("refresh", "visits")
    # p5, who had three rows, stays away; p151 has two.
    assert (grown["persons"], grown["rows"]) == (150, len(visits()) - 3 + 2)
    second = ask(*words, "--next", "tuesday")
    assert abs(second["rows"][1]["count"] - 2) < 10
    told = ask("query", "SELECT count(DISTINCT pid) AS n FROM visits", *LARGE)
    assert round(told["rows"][0][0]) == 150


def test_the_ledger_is_sound_and_tells_no_cell(there, ask, capsys):
    ask("ledger", "export", str(there.folder / "rows.jsonl"))
    kept = (there.folder / "rows.jsonl").read_text()
    assert "visits" in kept and "p149" not in kept and not re.search(r"\bmumps\b", kept.replace('"mumps", ', ""))
    assert ask("ledger", "verify")["sound"]
    code, told, _ = say(capsys, there.folder, "budget")
    assert code == 0 and "visits" in told


@pytest.mark.parametrize("lying", ["postgres"], indirect=True)
def test_the_ledger_tells_no_address(there, ask):
    ask("ledger", "export", str(there.folder / "rows.jsonl"))
    kept = (there.folder / "rows.jsonl").read_text()
    assert there.address not in kept and "host=" not in kept


# What is wrong


def refused(capsys, there, *words):
    """The exit code and the sentence of a verb that fails; how many charges it left."""
    before = _events(there)
    code, data, told = run(capsys, there.folder, *words)
    assert code, data
    return code, f"{told} {data}", _events(there) - before


def _events(there):
    return len(discreet.open(there.folder).ledger.refresh().charges)


COUNT = "SELECT count(*) AS n FROM visits WHERE age > {}"


def test_a_column_that_is_gone_or_of_another_type_is_told_at_refresh(there, ask, capsys):
    there.lay([{name: cell for name, cell in row.items() if name != "ward"} for row in visits()], "visits")
    code, told, charged = refused(capsys, there, "refresh", "visits")
    assert (code, charged) == (2, 0) and "no column" in told and "ward" in told
    there.lay([row | {"age": row["day"]} for row in visits()], "visits", TYPES | {"age": pa.date32()})
    code, told, charged = refused(capsys, there, "refresh", "visits")
    assert (code, charged) == (2, 0) and "age" in told and "date" in told
    assert round(ask("query", COUNT.format(11), *LARGE)["rows"][0][0]) > 0, "the old version answers on"
    there.remove("visits")
    code, told, charged = refused(capsys, there, "refresh", "visits")
    assert (code, charged) == (2, 0) and "there is no" in told
    assert round(ask("query", COUNT.format(12), *LARGE)["rows"][0][0]) > 0
    there.lay(visits(), "visits")


def test_a_table_that_is_not_there_is_told_at_add(there, capsys):
    source = "nowhere" if there.name == "postgres" else str(there.folder / "nowhere" / "*.parquet")
    code, told, _ = refused(capsys, there, "add", source, "--engine", there.address, "--epsilon", "1", "--name", "none")
    assert code == 2 and "there is no" in told and "Traceback" not in told


@pytest.mark.parametrize("lying", ["postgres", STOPPED], indirect=True)
def test_what_dies_in_the_middle_is_charged_and_the_next_question_works(there, ask, capsys, monkeypatch):
    known = SqlWriter.count

    def dying(*parts):
        if there.name == "postgres":
            return Postgres.lost
        spark.engine().session().stop()
        return known(*parts)

    with monkeypatch.context() as patch:
        patch.setattr(SqlWriter, "count", dying)
        code, told, charged = refused(capsys, there, "query", COUNT.format(13), *LARGE)
    assert (code, charged) == (6, 1), told
    assert "terminat" not in told and "SparkContext" not in told and "Traceback" not in told
    assert round(ask("query", COUNT.format(14), *LARGE)["rows"][0][0]) > 0


def test_a_version_that_is_gone_is_no_charge(there, ask, capsys):
    if there.name == "postgres":
        there.drop_declared()
    else:
        for file in (there.folder / ".discreet" / "tables").rglob("*.parquet"):
            file.unlink()
    code, told, charged = refused(capsys, there, "query", COUNT.format(15), *LARGE)
    assert (code, charged) == (5, 0) and "no longer" in told
    ask("refresh", "visits")
    assert round(ask("query", COUNT.format(15), *LARGE)["rows"][0][0]) > 0


@pytest.fixture
def elsewhere(there, monkeypatch):
    """The same project at another address."""
    path = there.folder / "discreet.toml"
    text = path.read_text()

    def moved(address):
        path.write_text(text.replace(f'engine = "{there.address}"', f'engine = "{address}"'))

    yield moved
    path.write_text(text)


NOBODY = {"postgres": "postgresql://ann@127.0.0.1:1/clinic", "spark": "spark://127.0.0.1:1"}


def test_nobody_listens(there, elsewhere, capsys):
    elsewhere(NOBODY[there.name])
    code, told, charged = refused(capsys, there, "query", COUNT.format(16), *LARGE)
    assert (code, charged) == (2, 0), told
    assert "ann" not in told.replace("cannot", "") and "Traceback" not in told


@pytest.mark.parametrize("lying", ["postgres"], indirect=True)
def test_a_wrong_password(there, ask, elsewhere, capsys, monkeypatch):
    """Where the server is ours to set up: a role that needs a password, which the environment brings."""
    ((hba,),) = postgres.execute(there.address, "SELECT setting FROM pg_settings WHERE name = 'hba_file'")
    before = Path(hba).read_text()
    role = "DO $$ BEGIN CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'right-secret'; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
    postgres.execute(there.address, role)
    try:
        Path(hba).write_text(f"local all guarded scram-sha-256\nhost all guarded all scram-sha-256\n{before}")
        postgres.execute(there.address, "SELECT pg_reload_conf()")
        elsewhere(there.address.replace("postgres:@", "guarded@"))
        monkeypatch.setenv("PGPASSWORD", "wrong-secret")
        code, told, charged = refused(capsys, there, "query", COUNT.format(17), *LARGE)
        assert (code, charged) == (2, 0) and "password is wrong" in told
        assert "secret" not in told and "guarded" not in told
        monkeypatch.setenv("PGPASSWORD", "right-secret")
        assert round(ask("query", COUNT.format(17), *LARGE)["rows"][0][0]) > 0
        ask("ledger", "export", str(there.folder / "rows.jsonl"))
        kept = (there.folder / "rows.jsonl").read_text()
        assert "secret" not in kept and "guarded" not in kept
    finally:
        Path(hba).write_text(before)
        postgres.execute(there.address, "SELECT pg_reload_conf()")


def test_a_password_in_the_file_is_refused(there, elsewhere, capsys):
    elsewhere("postgresql://ann:hunter2@host/clinic")
    code, told, _ = run(capsys, there.folder, "query", COUNT.format(18), *LARGE)
    assert code == 2 and "password" in str(told) and "hunter2" not in str(told)


def test_engines_are_kept(there):
    """One for each address, whoever asks."""
    engines = EngineRegistry()
    assert engines.at(there.address) is engines.at(there.address) is not engines
