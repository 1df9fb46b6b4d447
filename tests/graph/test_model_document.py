"""A model's file: what was saved is loaded, and whatever else is there is one sentence."""

import copy
import json

import pytest

from discreet.errors import UsageError
from discreet.graph.model.graph_model import GraphModel
from graph.networks import model

JUNK = [None, True, -1, 2**70, 1.5, "", "x" * 20_000, [], [None], {}, [1, 2], {"kind": "discrete-laplace"}, "1/0"]


def test_what_is_saved_is_loaded(tmp_path):
    for number, each in enumerate([model(), model(scale="9"), model(blocks=False)]):
        path = tmp_path / f"{number}.json"
        each.save(path)
        found = GraphModel.load(path)
        assert found.measured == each.measured and found.card.cost() == each.card.cost() and found.card.repeat
        assert found.sample(seed=1).equals(each.sample(seed=1))
        found.save(path)  # a model may be written over by a model
    assert json.loads(path.read_text())["format"] == "discreet graph model"


def test_nothing_in_it_but_noisy_numbers_and_public_facts():
    data = model().to_data()
    assert set(data) == {
        "format", "version", "card", "unit", "limit", "thresholds", "coarse", "by", "labels", "sizes", "noisy",
    }  # fmt: skip
    assert all(part is None or set(part) == {"values", "law"} for part in data["noisy"].values())


def leaves(data, path=()):
    """Every place in a document."""
    yield path
    children = data.items() if isinstance(data, dict) else enumerate(data[:2]) if isinstance(data, list) else ()
    for name, child in children:
        yield from leaves(child, (*path, name))


def put(data, path, value):
    if not path:
        return value
    found = copy.deepcopy(data)
    inner = found
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return found


def test_a_hostile_file_gets_a_sentence(tmp_path):
    whole, path = model().to_data(), tmp_path / "model.json"
    tried = refused = 0
    for place in leaves(whole):
        for junk in JUNK:
            path.write_text(json.dumps(put(whole, place, junk)))
            tried += 1
            try:
                GraphModel.load(path)
            except UsageError as problem:
                refused += 1
                assert path.name in problem.reason and len(problem.reason) < 400
    assert refused > 0.8 * tried > 300


@pytest.mark.parametrize("junk", [True, 1.0, "1", None])
@pytest.mark.parametrize(
    "place", [("thresholds", 0), ("sizes", 2), ("noisy", "edges", "values", 0), ("card", "version"), ("coarse", 0)]
)
def test_a_number_is_a_whole_number(tmp_path, place, junk):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(put(model().to_data(), place, junk)))
    with pytest.raises(UsageError, match=r"model\.json is not a model of a network"):
        GraphModel.load(path)


def test_every_field_is_asked_for(tmp_path):
    whole, path = model().to_data(), tmp_path / "model.json"
    for name in whole:
        path.write_text(json.dumps({key: value for key, value in whole.items() if key != name}))
        with pytest.raises(UsageError, match=r"model\.json is not a model of a network"):
            GraphModel.load(path)


def test_what_is_no_model_is_neither_read_nor_written_over(tmp_path):
    path = tmp_path / "notes.json"
    for text in ("", "{", "[]", "null", '{"format": "discreet model"}', "\x00\x01", "NaN"):
        path.write_text(text)
        with pytest.raises(UsageError, match=r"notes\.json"):
            GraphModel.load(path)
        with pytest.raises(UsageError, match="already exists and is not a model"):
            model().save(path)
        assert path.read_text() == text
    newer = model().to_data() | {"version": 2}
    path.write_text(json.dumps(newer))
    with pytest.raises(UsageError, match="format 2; this version of Discreet reads formats up to 1"):
        GraphModel.load(path)
    with pytest.raises(UsageError):
        GraphModel.load(tmp_path / "missing.json")


def test_much_noise_is_told():
    assert not model().warnings
    assert any("noise is about as large" in each for each in model(scale="500").warnings)


@pytest.mark.parametrize(
    "junk", ["a\x1b[2J", "a\x07", "a\nb", "\x7f", "\x9b1m", "\u2028", "\u202eab", "\ud800", "x" * 1001]
)
@pytest.mark.parametrize("place", [("card", "table"), ("card", "release"), ("card", "warnings"), ("by",)])
def test_a_text_that_is_shown_is_short_and_plain(tmp_path, place, junk):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(put(model().to_data(), place, [junk] if place[-1] == "warnings" else junk)))
    with pytest.raises(UsageError, match="a text") as caught:
        GraphModel.load(path)
    assert caught.value.reason.isprintable()


def test_a_refusal_is_plain_whatever_is_refused(tmp_path):
    whole, path = model().to_data(), tmp_path / "model.json"
    for place in leaves(whole):
        path.write_text(json.dumps(put(whole, place, "\x1b[2J\x07")))
        try:
            GraphModel.load(path)
        except UsageError as problem:
            assert problem.reason.isprintable(), problem.reason


def test_many_warnings_are_none_of_ours(tmp_path):
    path = tmp_path / "model.json"
    path.write_text(json.dumps(put(model().to_data(), ("card", "warnings"), ["note"] * 33)))
    with pytest.raises(UsageError, match="too long"):
        GraphModel.load(path)


def test_values_of_data_are_loaded_as_they_are(tmp_path):
    """Labels are values of a public column, and not shown: whatever was saved is loaded."""
    path, words = tmp_path / "model.json", ["two\nlines", "\u0645\u06cc\u200c\u062e", "z" * 5000]
    path.write_text(json.dumps(put(put(model().to_data(), ("labels",), words), ("by",), "\u0645\u06cc\u200c\u062e")))
    assert GraphModel.load(path).measured.labels == tuple(words)
