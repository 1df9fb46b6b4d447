"""After the charge nothing fails, or looks different, for a reason that lies in the data: in PostgreSQL and in Spark.

The constructs, the rows and what is compared are those of `test_errors_tell_nothing`. Spark gets many in one question.
"""

import logging

import pyarrow as pa
import pytest

import discreet
from discreet.errors import DiscreetError
from discreet.sql.sql_writer import SqlWriter
from engines.persons_tables import File
from engines.spark import server as spark
from laws.constructs import EXPRESSIONS, POSITIONS
from laws.test_errors_tell_nothing import BAD, DECLARED, GOOD, MARKS, NAMES, outcome
from tiers import size

ROWS = {"bad": [*GOOD[:6], *BAD, *GOOD[6:]], "empty": []}
ADDRESSES = {"postgres": lambda ground: ground.address, "spark": lambda ground: spark.ADDRESS}
elsewhere = pytest.mark.parametrize(
    "ground", ["postgres", pytest.param("spark", marks=spark.spark_tests)], indirect=True
)


def make(ground, folder, rows):
    """The clinic of `test_errors_tell_nothing` on another engine: its source is a table of texts."""
    texts = tuple(tuple(None if cell == "" else str(cell) for cell in row) for row in rows)
    file = File(names=tuple(NAMES), rows=texts, types=(pa.string(),) * len(NAMES))
    source = ground.lay(file, f"visits_{folder.name}")
    source = source if ground.name == "postgres" else str(ground.folder / source)
    discreet.init(folder)
    told = f"source = '{source}'\nengine = \"{ADDRESSES[ground.name](ground)}\""
    with (folder / "discreet.toml").open("a") as stream:
        stream.write(DECLARED.replace('source = "visits.csv"', told))
    project = discreet.open(folder)
    project.refresh("visits")
    return project


@pytest.fixture(scope="module")
def kept(tmp_path_factory, ground):
    state = str(tmp_path_factory.mktemp("kept"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", state)
        made = {name: make(ground, tmp_path_factory.mktemp(name), rows) for name, rows in ROWS.items()}
    return made, state


@pytest.fixture
def clinics(kept, monkeypatch):
    made, state = kept
    monkeypatch.setenv("DISCREET_STATE", state)
    return made


def accepted(project, form):
    """The constructs that are asked: a refusal is the reader's, and no engine hears of it."""
    found = []
    for expression in EXPRESSIONS[:: size(5, 1)]:  # in PostgreSQL all are asked once: see engines/postgres/test_hostile
        try:
            project.sql(form.format(expression, expression))
            found.append(expression)
        except DiscreetError:
            continue
    return found


def texts(ground, project):
    """Questions in which every accepted construct is summed, counted, met in a condition and a key."""
    if ground.name == "postgres":
        for form in ("aggregate", "count", "key"):
            yield from (POSITIONS[form].format(each, each) for each in accepted(project, POSITIONS[form]))
        return
    for form, told in (
        ("aggregate", "sum({0})"),
        ("count", "count({0}) FILTER (WHERE ({0}) IS NOT NULL)"),
        ("where", "count(*) FILTER (WHERE ({0}) IS NOT NULL)"),
    ):
        found = accepted(project, POSITIONS[form])
        for start in range(0, len(found), 30):
            listed = ", ".join(
                f"{told.format(each)} AS c{place}" for place, each in enumerate(found[start : start + 30])
            )
            yield f"SELECT {listed} FROM visits"
    yield POSITIONS["key"].format("upper(note)")


@elsewhere
def test_no_construct_tells_of_a_row(ground, clinics, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    asked = 0
    for text in texts(ground, clinics["empty"]):
        bad, empty = (outcome(clinics[name], text) for name in ROWS)
        assert bad == empty, text
        assert bad[0] == "answer" and not any(mark in str(bad).lower() for mark in MARKS)
        asked += 1
    assert asked >= 5
    seen = capfd.readouterr()
    said = seen.out + seen.err + caplog.text + (spark.log().read_text() if ground.name == "spark" else "")
    assert not any(mark in said.lower() for mark in MARKS)


@elsewhere
def test_the_ledger_holds_no_cell(clinics):
    for project in clinics.values():
        kept = b"".join(file.read_bytes() for file in project.ledger_path.parent.glob("ledger*")).lower()
        assert kept and not any(mark.encode() in kept for mark in MARKS)
        assert project.verify().sound


@elsewhere
def test_a_row_that_fails_would_be_seen(ground, clinics, monkeypatch, capfd):
    """The check above is not blind; and even then nothing is told."""
    known = SqlWriter.count

    def fragile(*parts, **more):
        told = "1 / (CASE WHEN note LIKE '%stripe%' THEN 0 ELSE 1 END) = 1"
        return known(*parts, **more).replace("WHERE ", f"WHERE {told} AND ", 1)

    monkeypatch.setattr(SqlWriter, "count", fragile)
    text = "SELECT count(*) AS n FROM visits WHERE age > 3"
    assert outcome(clinics["empty"], text)[0] == "answer"
    with pytest.raises(AssertionError, match="failed after its charge"):
        outcome(clinics["bad"], text)
    seen = capfd.readouterr()
    said = seen.out + seen.err + (spark.log().read_text() if ground.name == "spark" else "")
    assert not any(mark in said.lower() for mark in MARKS)
