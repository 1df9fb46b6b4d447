"""Who a stream counts, and who may take its steps: by what a version was made by, whatever the file says by now."""

from __future__ import annotations

import pytest

import discreet
from discreet.engines.person_keys import NAME as KEYS
from discreet.engines.person_keys import PersonKeys
from discreet.errors import UsageError
from discreet.schema.person_identity import REACHED
from discreet.tables.stream import project_streams
from tables.stream.visits import as_an_older_program, grow, make, state

PATIENTS = """
[populations.people]
budget = { epsilon = 10, delta = 1e-6 }
[tables.patients]
source = "patients.csv"
population = "people"
person = "PERSON"
rows_per_person = 1
columns.sex = { type = "category", values = ["F", "M"] }
[tables.visits]
source = "visits.csv"
population = "people"
person = { through = "patients", on = "pid" }
rows_per_person = 5
columns.ward = { type = "category", values = ["north", "south"] }
"""


@pytest.fixture
def declared(tmp_path):
    """Six patients of three visits each; the file names a patient by the column given."""
    discreet.init(tmp_path)
    base = (tmp_path / "discreet.toml").read_text()
    lines = [f"p{number},s{number},F" for number in range(6)]
    (tmp_path / "patients.csv").write_text("\n".join(["pid,ssn,sex", *lines]) + "\n")
    lines = [f"p{number},north" for number in range(6) for _ in range(3)]
    (tmp_path / "visits.csv").write_text("\n".join(["pid,ward", *lines]) + "\n")

    def declare(person):
        (tmp_path / "discreet.toml").write_text(base + PATIENTS.replace("PERSON", person))
        return discreet.open(tmp_path)

    return declare


def test_a_file_that_was_put_back_does_not_count_anybody_anew(declared, monkeypatch):
    """The version between was made by other names of the same persons, as an older program let it: they look new."""
    as_an_older_program(monkeypatch)
    project = declared("pid")
    stream = project_streams.stream(project, "visits", "daily", epsilon=1, horizon=6, contributions=3)[0]
    stream.next()
    project = declared("ssn")
    project.refresh("visits")
    for person in ("ssn", "pid"):  # as the version was made; and the file put back, with nothing refreshed
        project = declared(person)
        found = project_streams.stream(project, "visits", "daily")[0]
        with pytest.raises(UsageError, match="identifies persons differently"):
            found.next()
    assert state(project, stream).exact_steps == (18,)
    project.refresh("visits")
    project_streams.stream(project, "visits", "daily")[0].next()
    assert state(project, stream).exact_steps == (18, 0)


def test_a_version_by_which_a_stream_began_and_not_the_file(declared, monkeypatch):
    as_an_older_program(monkeypatch)
    project = declared("ssn")
    project.refresh("visits")
    project = declared("pid")  # not refreshed
    stream = project_streams.stream(project, "visits", "daily", epsilon=1, horizon=6, contributions=3)[0]
    whose = project.ledger.refresh().streams[stream.id].of["whose"]
    assert [part["person"] for part in whose] == [[], ["ssn"]]
    stream.next()
    project.refresh("visits")
    with pytest.raises(UsageError, match="identifies persons differently"):
        stream.next()
    assert not declared("ssn").source_changed("visits")


def test_a_version_that_does_not_say_it_is_refused(declared, monkeypatch):
    """As an older program made them."""
    project = declared("pid")
    monkeypatch.setattr("discreet.project.version_records.reached", lambda path: {})
    project.refresh("visits")
    assert REACHED not in project.ledger.refresh().version("visits", 1).source
    with pytest.raises(UsageError, match="does not record how") as caught:
        project_streams.stream(project, "visits", "daily", epsilon=1, horizon=6)
    assert "discreet refresh visits" in caught.value.hint
    assert not project.ledger.refresh().charges
    monkeypatch.undo()
    project.refresh("visits")
    project_streams.stream(project, "visits", "daily", epsilon=1, horizon=6)[0].next()


def test_other_keys_would_tell_nobody_again(tmp_path, monkeypatch):
    """The curator refuses another persons.key; and where it did not, the stream does."""
    project = make(tmp_path, {"a": 3, "b": 2})
    stream = project_streams.stream(project, "visits", "daily", epsilon=1, horizon=6)[0]
    stream.next()
    (project.curator.folder / KEYS).unlink()
    monkeypatch.setattr("discreet.kernel.curator.person_keys", lambda ledger, folder: PersonKeys.at(folder))
    monkeypatch.setattr("discreet.project.source_changes.person_keys", lambda ledger, folder: PersonKeys.at(folder))
    grow(project, {"a": 3, "b": 2})
    with pytest.raises(UsageError, match="identifies persons differently"):
        stream.next()
    assert state(project, stream).exact_steps == (5,)


def test_where_analysts_have_quotas_a_nameless_caller_takes_no_step(tmp_path):
    project = make(tmp_path, {"a": 3, "b": 2})
    file = tmp_path / "discreet.toml"
    file.write_text(file.read_text() + "\n[analysts.ana]\nepsilon = 5\n")
    project = discreet.open(tmp_path)
    begun = project.stream("visits", "daily", epsilon=1, horizon=6, analyst="ana")
    begun.next("mon")  # ana began it
    nameless = project.stream("visits", "daily")
    for take in (nameless.next, lambda: nameless.next(analyst="bob"), lambda: begun.next(analyst="bob")):
        with pytest.raises(UsageError, match="sets quotas for analysts"):
            take()
    assert nameless.steps == 1 and len(nameless.rows) == 1  # reading is free
    assert nameless.next(analyst="Ana").step == 2
    assert project.stream("visits", "daily", analyst="ana").next().step == 3
    again = project.stream("visits", "daily", epsilon=1, horizon=6, analyst="ana")
    assert again.next().step == 4


@pytest.mark.thin(2)
@pytest.mark.parametrize("step", [None, float("nan"), 1.5, True, [1], "1.5", object()])
def test_what_is_no_step_is_said(tmp_path, step):
    project = make(tmp_path, {"a": 3, "b": 2})
    stream = project.stream("visits", "daily", epsilon=1, horizon=6)
    stream.next("mon")
    with pytest.raises(UsageError):
        stream.interval(step, 1)
    assert stream.interval(1.0, "1") == stream.interval("mon")


def test_the_reader_is_told_of_limits(tmp_path):
    project = make(tmp_path, {"a": 3, "b": 2})
    pure = project.stream("visits", "pure", epsilon="0.2", horizon=4, contributions=1)
    assert pure.notes == ["each person is counted at most once in total; further rows are left out"]
    paired = project.stream("visits", "pair", epsilon="0.2", delta="1e-7", horizon=4)
    assert len(paired.notes) == 1
    other = project.stream("visits", "other", epsilon="0.2", horizon=4, contributions=2)
    (limit,) = other.to_data()["warnings"]  # Laplace noise as asked for: it costs less, though a Gaussian came before
    assert "at most 2 times in total" in limit
