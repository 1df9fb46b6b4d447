"""`discreet bounds` as an owner uses it: what it says, writes, charges and refuses."""

import json
import tomllib
from fractions import Fraction

import pytest

import discreet
from answers.visits import fixed, make, rows_of, sizes
from clinic import run, say
from discreet.accounting import events
from discreet.errors import BudgetExceeded, QueryFailed, SchemaError, UsageError


@pytest.fixture(scope="module")
def rows():
    return rows_of(sizes(600))


def threshold(project, found):
    """The one that was used, of the only question that was charged."""
    (id_,) = found.releases
    (part,) = project.curator.stored_measurement(id_).parts
    assert part.threshold > 5  # at delta 1e-7, whatever the epsilon here
    return part.threshold


def test_values_are_found_by_a_threshold(tmp_path, rows):
    """Large cities show, small ones and NULL do not; the file says category, sorted, not closed, and what it cost."""
    project = make(tmp_path, rows, bits=2)
    found = project.bounds("visits", ["city"], epsilon=2, delta="1e-7")
    assert found.columns == {"city": {"type": "category", "values": ["Oslo", "Paris", "Rome"]}}
    (event,) = [project.curator.stored_measurement(id_).event for id_ in found.releases]
    assert isinstance(event, events.ThresholdEvent) and event.l1 == 1 and event.scale == Fraction(1, 2)
    assert 0 < event.delta <= Fraction(1, 10**7) and found.cost.delta == event.delta
    told = f"values of 'city' shared by fewer than about {threshold(project, found)} people are not shown"
    assert found.warnings == (told,)
    told = tomllib.loads((tmp_path / "discreet.toml").read_text())["tables"]["visits"]["columns"]["city"]
    assert told == {"type": "category", "values": ["Oslo", "Paris", "Rome"], "measured": 2}
    project.refresh("visits")
    release = project.sql("select city, count(*) from visits group by city").ask(epsilon=1)
    assert [row[0] for row in release.rows] == ["Oslo", "Paris", "Rome", None]


@pytest.mark.deep
def test_a_value_that_nobody_shares_leaves_the_column_as_it_is(tmp_path):
    project = make(tmp_path, [["p1", "1", "", "", "Atlantis", "5", "true"]], bits=2)
    found = project.bounds("visits", ["city"], epsilon=1, delta="1e-7")
    assert not found.columns
    needed = f"for this epsilon and delta (about {threshold(project, found)} are needed)"
    assert found.warnings[-1] == f"no value of 'city' is shared by enough people {needed}; it stays text"
    assert project.file.raw["visits"]["columns"]["city"] == {"type": "text"}
    assert "Atlantis" not in project.ledger.answer(found.releases[0])


def test_json_and_words(tmp_path, rows, capsys):
    make(tmp_path, rows)
    code, data, _ = run(capsys, tmp_path, "bounds", "visits", "rows_per_person", "cost", "day", "--epsilon", "3")
    assert code == 0
    assert set(data) == {"table", "version", "found", "cost", "spent", "remaining", "releases", "warnings"}
    assert [each["name"] for each in data["found"]] == ["rows_per_person", "cost", "day"]
    assert all(each["epsilon"] == 1 for each in data["found"])
    limit, cost, day = data["found"]
    assert limit["rows_per_person"] >= 1 and cost["low"] < cost["high"] and day["low"] < day["high"]
    assert 2.5 <= data["cost"]["epsilon"] <= 3 and data["cost"]["delta"] == 0  # what is settled is not chosen again
    # The exponential mechanism costs a quarter of its epsilon in rho, so that the zCDP filter may say less.
    assert data["spent"]["epsilon"] <= 3 and data["remaining"]["epsilon"] >= 97
    code, out, _ = say(capsys, tmp_path, "bounds", "visits", "at", "--epsilon", "1")
    assert code == 0 and "run discreet refresh visits to apply it" in out and "cost epsilon " in out and " to " in out
    code, out, _ = say(capsys, tmp_path, "bounds", "visits", "city", "--epsilon", "1", "--delta", "1e-7")
    assert code == 0 and "Oslo, Paris, Rome" in out and "delta" in out
    project = discreet.open(tmp_path)
    assert all(column.low is not None for column in project.table("visits").schema.columns if hasattr(column, "low"))
    code, out, err = say(capsys, tmp_path, "bounds", "visits", "--epsilon", "1")
    assert code == 2 and "declared" in err and "--report" in err


@pytest.mark.deep
def test_report_as_json_and_words(tmp_path, rows, capsys):
    make(tmp_path, rows, extra="rows_per_person = 4")
    code, data, _ = run(capsys, tmp_path, "bounds", "visits", "--report", "--epsilon", "2")
    assert code == 0
    assert set(data) == {"table", "version", "persons", "columns", "cost", "spent", "remaining", "releases"}
    assert set(data["persons"]) == {"buckets", "plus_minus", "up_to", "more", "cells", "for_epsilon", "limits", "best"}
    assert {"above", "up_to", "persons", "seen"} == set(data["persons"]["buckets"][0])
    assert [each["rows_per_person"] for each in data["persons"]["limits"] if each["declared"]] == [4]
    assert data["persons"]["best"] in [None, *(each["rows_per_person"] for each in data["persons"]["limits"])]
    assert set(data["columns"][0]) == {"column", "low", "high", "at_low", "at_high"}
    code, out, _ = say(capsys, tmp_path, "bounds", "visits", "--report", "--epsilon", "2")
    assert (
        code == 0
        and "95% confidence intervals of the added noise" in out
        and "declared" in out
        and "stored answers: free" in out
    )
    assert "%" in out and "age" in out


WRONG = [
    (["visits"], "say how much to spend"),
    (["visits", "--epsilon", "0"], "epsilon must be above 0"),
    (["visits", "nowhere", "--epsilon", "1"], "there is no column 'nowhere'"),
    (["visits", "id", "--epsilon", "1"], "there is no column 'id'"),
    (["visits", "age", "--epsilon", "1"], "already has bounds"),
    (["visits", "seen", "--epsilon", "1"], "boolean"),
    (["visits", "city", "--epsilon", "1"], "needs a delta"),
    (["visits", "city", "--epsilon", "1", "--delta", "0"], "needs a delta"),
    (["visits", "cost", "--epsilon", "1", "--delta", "1e-7"], "--delta is for"),
    (["visits", "--epsilon", "1", "--cells", "0"], "cells must be"),
    (["visits", "--epsilon", "1", "--cells", "2.5"], "cells must be"),
    (["visits", "--epsilon", "1", "--for-epsilon", "-1"], "for-epsilon must be from 0.001"),
    (["visits", "--report", "--epsilon", "1", "--for-epsilon", "1e-9"], "for-epsilon must be from 0.001"),
    (["visits", "--report", "--epsilon", "1", "--delta", "1e-7"], "does not use --delta"),
    (["others", "--epsilon", "1"], "no declared table"),
]


@pytest.mark.thin(8)
@pytest.mark.parametrize(("words", "told"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_wrong_usage_is_free_and_makes_no_version(tmp_path, capsys, words, told):
    make(tmp_path, [])
    code, data, _ = run(capsys, tmp_path, "bounds", *words)
    assert code == 2 and told in data["reason"]
    assert not discreet.open(tmp_path).ledger.refresh().versions


def test_what_is_declared_is_refused_and_told_of_the_report(tmp_path, capsys):
    make(tmp_path, [], extra="rows_per_person = 4")
    code, data, _ = run(capsys, tmp_path, "bounds", "visits", "rows_per_person", "--epsilon", "1")
    assert code == 2 and "already declared" in data["reason"] and "--report" in data["hint"]


def test_a_column_changed_since_the_version_waits_for_refresh(tmp_path):
    project = make(tmp_path, rows_of(sizes(5)))
    project.version("visits")
    text = (tmp_path / "discreet.toml").read_text()
    (tmp_path / "discreet.toml").write_text(text.replace("low = 0\nhigh = 120\n", ""))
    project = discreet.open(tmp_path)
    with pytest.raises(UsageError, match="another declaration of 'age'") as caught:
        project.bounds("visits", ["age"], epsilon=1)
    assert "discreet refresh visits" in caught.value.hint
    (tmp_path / "discreet.toml").write_text(text.replace('person = "id"\n', ""))
    with pytest.raises(UsageError, match="protects all rows of one id"):
        discreet.open(tmp_path).bounds("visits", ["cost"], epsilon=1)
    assert not project.ledger.refresh().charges


def test_a_public_table_needs_none(tmp_path):
    project = make(tmp_path, [], person=False)
    text = (tmp_path / "discreet.toml").read_text()
    (tmp_path / "discreet.toml").write_text(text.replace("budget = { epsilon = 100.0, delta = 1e-5 }", "public = true"))
    project = discreet.open(tmp_path)
    for act in (project.bounds, project.bias):
        with pytest.raises(UsageError, match="public"):
            act("visits", epsilon=1)


def test_a_budget_that_does_not_hold_all_of_it_pays_for_nothing(tmp_path, capsys):
    """Every choice by itself would fit: four of 0.3 at 1.0. The whole is refused before the first."""
    make(tmp_path, rows_of(sizes(5)), budget="{ epsilon = 1.0 }")
    code, data, _ = run(capsys, tmp_path, "bounds", "visits", "--epsilon", "1.2")
    assert code == 4 and data["needed"]["epsilon"] == pytest.approx(1.2) and data["remaining"]["epsilon"] == 1
    assert data["hint"].startswith("--epsilon 1, ")  # which the last line takes
    code, data, _ = run(capsys, tmp_path, "bounds", "visits", "age", "rows_per_person", "--report", "--epsilon", "1.2")
    assert code == 4
    project = discreet.open(tmp_path)
    assert not project.ledger.refresh().charges
    assert "measured" not in (tmp_path / "discreet.toml").read_text()
    assert 0 < project.bounds("visits", epsilon=1).cost.epsilon <= 1


def test_a_delta_that_the_budget_has_not_is_refused(tmp_path):
    project = make(tmp_path, rows_of(sizes(5)), budget="{ epsilon = 1.0, delta = 1e-9 }")
    with pytest.raises(BudgetExceeded, match="delta"):
        project.bounds("visits", ["city"], epsilon=1, delta="1e-6")
    assert not project.ledger.refresh().charges


def test_an_errand_cut_short_goes_on_free(tmp_path, rows, monkeypatch):
    """The file could not be written, or the machine stopped: what was bought is there, and nothing is paid twice."""
    project = make(tmp_path, rows)
    with monkeypatch.context() as broken:
        broken.setattr("discreet.project.project.set_keys", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            project.bounds("visits", epsilon=4)
    paid = set(project.ledger.refresh().charges)
    found = project.bounds("visits", epsilon=4)
    assert set(found.releases) == paid == set(project.ledger.refresh().charges)
    assert found.cost.epsilon == 0 and found.settings and set(found.columns) == {"cost", "day", "at"}


@pytest.mark.deep
def test_a_larger_epsilon_is_a_new_purchase(tmp_path, rows):
    project = make(tmp_path, rows)
    first = project.bounds("visits", ["rows_per_person"], epsilon=1, cells=1000)
    text = (tmp_path / "discreet.toml").read_text()
    (tmp_path / "discreet.toml").write_text("\n".join(line for line in text.split("\n") if "rows_per" not in line))
    project = discreet.open(tmp_path)
    second = project.bounds("visits", ["rows_per_person"], epsilon="1.5", cells=1000)
    assert second.releases != first.releases and second.cost.epsilon == Fraction(3, 2)


def test_a_failure_after_the_charge_says_one_constant_thing(tmp_path, monkeypatch):
    project = make(tmp_path, rows_of(sizes(5)))
    project.version("visits")
    monkeypatch.setattr(type(project.curator.engine), "count", lambda *_, **__: 1 / 0)
    with pytest.raises(QueryFailed):
        project.bounds("visits", epsilon=1)
    assert len(project.ledger.refresh().charges) == 1


def test_persons_reached_through_another_table(tmp_path):
    """Their roster counts the rows that reach them."""
    orders = [[f"o{number}", f"p{number % 40}"] for number in range(200)]
    items = [[f"o{number % 200}", str(number % 7)] for number in range(4000)]
    for name, head, found in (("orders", "order_id,id", orders), ("items", "order_id,price", items)):
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *(",".join(row) for row in found)]) + "\n")
    discreet.init(tmp_path)
    with (tmp_path / "discreet.toml").open("a") as stream:
        stream.write(
            "[populations.people]\nbudget = { epsilon = 50.0 }\n"
            '[tables.orders]\nsource = "orders.csv"\npopulation = "people"\nperson = "id"\n'
            '[tables.orders.columns.order_id]\ntype = "text"\n'
            '[tables.items]\nsource = "items.csv"\npopulation = "people"\n'
            'person = { through = "orders", on = "order_id" }\n[tables.items.columns.price]\ntype = "integer"\n'
        )
    project = fixed(discreet.open(tmp_path), 1)
    found = project.bounds("items", ["rows_per_person"], epsilon=20, cells=20)
    assert 100 <= found.settings["rows_per_person"] <= 160  # each of 40 persons has 100


@pytest.mark.parametrize("line", ["measured = 0", "measured = true", 'measured = "x"', "measured = -1"])
def test_a_mark_that_is_no_number_is_refused(tmp_path, line):
    make(tmp_path, [])
    path = tmp_path / "discreet.toml"
    path.write_text(path.read_text().replace("high = 120\n", f"high = 120\n{line}\n"))
    with pytest.raises(SchemaError, match="measured"):
        discreet.open(tmp_path)


@pytest.mark.deep
def test_marks_travel_with_a_version(tmp_path, rows):
    project = make(tmp_path, rows)
    project.bounds("visits", epsilon=4)
    project.refresh("visits")
    held = project.ledger.refresh().versions["visits"][2]
    assert json.dumps(held.schema) and held.schema["columns"]["cost"]["measured"] == 1
    assert set(project.version("visits").schema.columns) == set(project.table("visits").schema.columns)
    assert not project.warnings("visits")
