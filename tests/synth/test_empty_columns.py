"""A column of text that is NULL in all rows comes out as NULL, and that is said; other text keeps its share of NULL."""

from __future__ import annotations

import pytest

import discreet
from discreet.synth import attribute_discovery
from discreet.synth.inspect import inspect_model
from synth.worlds import open_project

TEXTS = {"sex": 'type = "category"\nvalues = ["F", "M"]', "empty": 'type = "text"', "remark": 'type = "text"'}
BUDGET = "{ epsilon = 1000, delta = 1e-4 }"


def lines(rows=1200):
    """Half of the remarks are missing, the others are each their own."""
    return [f"{'FM'[n % 2]},,{f'r{n}' if n % 2 else ''}" for n in range(rows)]


def test_a_column_without_values_comes_out_as_null(tmp_path):
    """At epsilon 20 counts are off by a few of 1,200 rows: a wrong sample has no chance worth a number."""
    model = open_project(tmp_path, TEXTS, lines(), budget=BUDGET).synthesize("people", epsilon=20, model="independent")
    model.save(tmp_path / "m.json")
    for each in (model, discreet.load(tmp_path / "m.json")):
        rows = each.sample(600, seed=1)
        assert rows["empty"].null_count == 600 and rows["empty"].type == "string"
        assert 200 < rows["remark"].null_count < 400
        assert all(text.startswith("remark ") for text in rows["remark"].to_pylist() if text is not None)
    assert "no value of empty was seen, so that all of them come out as NULL" in model.card.warnings
    assert not any("empty" in note and "placeholders" in note for note in model.card.warnings)
    assert any("remark contains only placeholders" in note for note in model.card.warnings)
    assert inspect_model(model).placeholders == ("remark",)


def test_the_same_fit_is_read_back(tmp_path):
    project = open_project(tmp_path, TEXTS, lines(), budget=BUDGET)
    first = project.synthesize("people", epsilon=20, model="independent")
    again = project.synthesize("people", epsilon=20, model="independent")
    assert again.card.repeat and again.sample(50, seed=3).equals(first.sample(50, seed=3))


def test_persons_have_no_values_either(tmp_path):
    columns = {"id": None, **TEXTS}
    rows = [f"p{n // 2},{line}" for n, line in enumerate(lines(1600))]
    project = open_project(tmp_path, columns, rows, table='person = "id"\nrows_per_person = 2', budget=BUDGET)
    model = project.synthesize("people", epsilon=20)
    model.save(tmp_path / "m.json")
    for each in (model, discreet.load(tmp_path / "m.json")):
        sampled = each.sample(300, seed=2)
        assert sampled["empty"].null_count == sampled.num_rows
        kept = [text for text in sampled["remark"].to_pylist() if text is not None]
        assert kept and len(kept) < sampled.num_rows and all(text.startswith("remark ") for text in kept)
    assert "no value of empty was seen, so that all of them come out as NULL" in model.card.warnings


def test_the_planted_fault_is_seen(tmp_path, monkeypatch):
    """As it was before: text of which no word is shared is not looked at."""
    right = attribute_discovery._find_words
    monkeypatch.setattr(
        attribute_discovery,
        "_find_words",
        lambda *all_: {name: each for name, each in right(*all_).items() if not attribute_discovery.has_no_words(each)},
    )
    with pytest.raises(AssertionError):
        test_a_column_without_values_comes_out_as_null(tmp_path)


def test_notes_name_columns_in_the_order_of_the_table(tmp_path):
    """c10 comes after c2, numbers and words among each other."""
    names = [f"c{n}" for n in range(12)]
    columns = {name: f'type = "{"text" if n % 3 == 1 else "integer"}"' for n, name in enumerate(names)}
    rows = [",".join("w" if n % 3 == 1 else str(row % 7) for n in range(12)) for row in range(800)]
    model = open_project(tmp_path, columns, rows, budget=BUDGET).synthesize("people", epsilon=50, model="independent")
    assert any(f"the bounds or values of {', '.join(names)} were not declared" in note for note in model.card.warnings)
