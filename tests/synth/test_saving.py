"""Saved models: the same after loading, nothing exact in them, and one sentence for a file that is none."""

from __future__ import annotations

import io
import json
import os
import pickle
import re
import tracemalloc
import zipfile
from copy import deepcopy
from dataclasses import fields

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.synth.model import Model, ModelCard
from discreet.synth.model_file import save
from synth.worlds import AGE, CLINIC, CLINIC_RULES, SEX, clinic_lines, elsewhere, fit, open_project
from tiers import size


@pytest.fixture(scope="module")
def clinic():
    with elsewhere() as folder:
        yield fit(open_project(folder, CLINIC, clinic_lines()), kind="mst", constraints=CLINIC_RULES)


@pytest.fixture(scope="module")
def small():
    with elsewhere() as folder:
        columns = {"age": AGE + "\nbins = 4", "sex": SEX, "note": 'type = "text"', "cost": 'type = "decimal"'}
        lines = [f"{n % 90},{'FM'[n % 2]},{'yes' if n % 3 else 'no'},{n / 7:.2f}" for n in range(900)]
        yield fit(open_project(folder, columns, lines), kind="mst", epsilon="20")


@pytest.fixture
def data(small, tmp_path):
    """A model's document, to be spoilt."""
    save(small, tmp_path / "whole.json")
    return json.loads((tmp_path / "whole.json").read_text())


@pytest.mark.thin(1)
@pytest.mark.parametrize("name", ["model.json", "model.npz", "model"])
@pytest.mark.parametrize("which", ["clinic", "small"])
def test_a_loaded_model_is_the_saved_one(request, tmp_path, name, which):
    model = request.getfixturevalue(which)
    model.save(tmp_path / name)
    found = Model.load(tmp_path / name)
    assert found.card == model.card
    assert found.columns == model.columns
    assert found.constraints == model.constraints
    assert found.total == model.total and found.total_sd == model.total_sd
    assert (found.fitted.residual, found.fitted.misfit, found.fitted.iterations) == (
        model.fitted.residual, model.fitted.misfit, model.fitted.iterations
    )  # fmt: skip
    for one, other in zip(found.attributes, model.attributes, strict=True):
        assert (one.column, one.edges, one.null, one.binned, one.open) == (
            other.column, other.edges, other.null, other.binned, other.open
        )  # fmt: skip
        assert one.axis() == other.axis()  # so that a charged comparison counts the same cells
        assert one.groups.tolist() == other.groups.tolist() and one.weights.tolist() == other.weights.tolist()
    for one, other in zip(found.measured, model.measured, strict=True):
        assert one.attributes == other.attributes and one.variance == other.variance
        assert one.values.tolist() == other.values.tolist()
    for axes, table in model.fitted.potentials.items():
        assert np.array_equal(found.fitted.potentials[axes], table)
    assert found.sample(2000, seed=7).equals(model.sample(2000, seed=7))
    assert found.sample(3000, seed=8).equals(model.sample(3000, seed=8))  # the known totals are kept, too
    names = [model.attributes[0].name, model.attributes[1].name]
    assert np.allclose(found.project(names).counts, model.project(names).counts, rtol=1e-12)


def test_all_that_a_model_and_its_card_hold_is_saved(data):
    """A field that somebody adds to a model must be thought of here."""
    assert {field.name for field in fields(ModelCard)} - {"repeat"} == set(data["card"])  # of one run, not of the model
    saved = {"columns", "attributes", "measured", "total_sd", "constraints", "card"}
    assert {field.name for field in fields(Model)} == saved | {"fitted"}
    assert saved | {"format", "version", "total", "potentials", "fit"} == set(data)


def test_nothing_in_a_saved_model_is_exact(tmp_path):
    """At noise of scale 10^9, an exact count would be there once in 10^7 runs; no code or size is so large."""
    columns = {"age": AGE + "\nbins = 3", "sex": SEX}
    counts = {(5, "F"): 1117, (50, "F"): 1193, (90, "F"): 1201, (5, "M"): 1301, (50, "M"): 1409, (90, "M"): 1511}
    lines = [f"{age},{sex}" for (age, sex), count in counts.items() for _ in range(count)]
    project = open_project(tmp_path, columns, lines, budget="{ epsilon = 1 }")
    exact = set(counts.values()) | {sum(counts.values())}
    exact |= {
        sum(count for key, count in counts.items() if key[axis] == value)
        for axis in (0, 1)
        for value in (5, 50, 90, "F", "M")
    } - {0}
    model = fit(project, epsilon="0.000000002", kind="mst")
    model.save(tmp_path / "model.json")
    numbers = {
        float(found) for found in re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", (tmp_path / "model.json").read_text())
    }
    assert len(numbers) > 10  # as many as cells that noise leaves apart, and a few
    assert not numbers & exact
    assert str(tmp_path) not in (tmp_path / "model.json").read_text()


def lying_npz(claimed):
    """An npz whose array claims more numbers than it has."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": claimed})
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("document.npy", header.getvalue() + b"\0" * 16)
    return out.getvalue()


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def bomb():
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("document.npy", "w") as member,
    ):
        for _ in range(260):
            member.write(b"\0" * 2**20)
    return out.getvalue()


@pytest.mark.thin(14)
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not valid JSON"),
        (b"age,sex\n1,F\n", "not valid JSON"),
        (b"{}", "something else"),
        (b"[1, 2]", "something else"),
        (b'"discreet model"', "something else"),
        (b'{"format": "discreet model"}', "format version"),
        (b'{"format": "discreet model", "version": 1}', "the key 'columns' is missing"),
        (b'{"format": "discreet model", "version": 3}', "format 3"),
        (b'{"format": "discreet model", "version": true}', "format version"),
        (b"[" * 100_000, "not valid JSON"),
        (b"1" * 10_000, "not valid JSON"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (pickle.dumps({"format": "discreet model", "version": 1}), "pickle"),
        (npz(document=np.array([{}], dtype=object)), "one-dimensional"),
        (npz(document=np.zeros((2, 2))), "one-dimensional"),
        (npz(other=np.zeros(2)), "not valid JSON"),
        (lying_npz((10**12,)), "one-dimensional"),
        (lying_npz((10**6, 10**6)), "one-dimensional"),
        (bomb, "too large"),
        (b"PK\x03\x04 and nothing more", "truncated"),
    ],
)  # fmt: skip
def test_what_is_not_a_model_is_one_sentence(tmp_path, content, why):
    path = tmp_path / "some.file"
    path.write_bytes(content() if callable(content) else content)
    tracemalloc.start()
    with pytest.raises(UsageError, match=re.escape(why)) as caught:
        Model.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50 * 2**20
    assert "some.file" in str(caught.value) and len(caught.value.reason) < 300


@pytest.mark.parametrize("name", ["model.json", "model.npz"])
def test_a_model_cut_short_is_none(small, tmp_path, name):
    save(small, tmp_path / name)
    whole = (tmp_path / name).read_bytes()
    for part in range(20):
        (tmp_path / name).write_bytes(whole[: part * len(whole) // 20])
        with pytest.raises(UsageError, match="is not a model"):
            Model.load(tmp_path / name)


def test_an_npz_with_a_flipped_bit_is_none_or_the_same(small, tmp_path):
    save(small, tmp_path / "model.npz")
    whole = (tmp_path / "model.npz").read_bytes()
    for place in range(0, len(whole), 97):
        (tmp_path / "model.npz").write_bytes(whole[:place] + bytes([whole[place] ^ 16]) + whole[place + 1 :])
        try:
            Model.load(tmp_path / "model.npz")
        except UsageError as problem:
            assert "model.npz" in str(problem)


SPOILT = {
    "a number that is not finite": lambda data: data["potentials"][0]["values"].__setitem__(0, float("nan")),
    "an infinite one": lambda data: data["measured"][0]["values"].__setitem__(0, 1e999),
    "a potential with a cell too many": lambda data: data["potentials"][0]["values"].append(0.0),
    "a marginal with a cell too few": lambda data: data["measured"][-1]["values"].pop(),
    "an attribute that is not there": lambda data: data["potentials"][0].__setitem__("attributes", [99]),
    "an attribute twice": lambda data: data["potentials"][-1].__setitem__("attributes", [0, 0]),
    "groups not from 0": lambda data: data["attributes"][0]["groups"].__setitem__(0, 17),
    "a negative group": lambda data: data["attributes"][0]["groups"].__setitem__(0, -1),
    "a negative weight": lambda data: data["attributes"][0]["weights"].__setitem__(0, -1.0),
    "edges that fall": lambda data: data["attributes"][0]["edges"].reverse(),
    "an edge beyond 64 bits": lambda data: data["attributes"][0]["edges"].append(2**70),
    "a fractional edge": lambda data: data["attributes"][0]["edges"].__setitem__(0, 0.5),
    "no variance": lambda data: data["measured"][0].__setitem__("variance", [0.0]),
    "a negative total": lambda data: data.__setitem__("total", -5),
    "a total that is none": lambda data: data.__setitem__("total", "many"),
    "an epsilon that is none": lambda data: data["card"].__setitem__("epsilon", "one"),
    "a column without a name": lambda data: data["columns"][0].pop("name"),
    "a type that is not known": lambda data: data["columns"][0].__setitem__("type", "image"),
    "the same column twice": lambda data: data["columns"].append(data["columns"][0]),
    "a constraint on nothing": lambda data: data["constraints"].__setitem__("zeros", [[]]),
    "a span of one end": lambda data: data["constraints"].__setitem__("zeros", [[["age", [[1]], False]]]),
}


@pytest.mark.parametrize("how", SPOILT)
def test_a_spoilt_model_is_one_sentence(data, tmp_path, how):
    SPOILT[how](data)
    (tmp_path / "model.json").write_text(json.dumps(data))
    with pytest.raises(UsageError, match="is not a model"):
        Model.load(tmp_path / "model.json")


def test_cells_without_number_are_not_made(data, tmp_path):
    """Three marginals of pairs make a clique of 330^3 cells; a file that claims 10^12 in one table has them not."""
    attribute = data["attributes"][0]
    attribute |= {"edges": list(range(331)), "null": False, "groups": list(range(330)), "weights": [1.0] * 330}
    attribute["column"] |= {"type": "integer", "step": "1/1", "low": 0, "high": 329, "edges": None}
    for name in ("a", "b", "c", "d"):
        column = attribute["column"] | {"name": name}
        data["columns"].append(column)
        data["attributes"].append(attribute | {"column": column})
    last = len(data["attributes"])
    values = [0.0] * 330**2
    pairs = [(last - 1, last - 2), (last - 1, last - 3), (last - 2, last - 3)]
    for told, why in (
        ([{"attributes": sorted(pair), "values": values} for pair in pairs], "more than"),
        ([{"attributes": [last - 4, last - 3, last - 2, last - 1], "values": values}], "got 108,900"),
    ):
        data["potentials"] = told
        (tmp_path / "model.json").write_text(json.dumps(data))
        tracemalloc.start()
        with pytest.raises(UsageError, match=why):
            Model.load(tmp_path / "model.json")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 100 * 2**20


def places(data, path=()):
    """Every place of a document, lists by their first and last."""
    yield path
    if isinstance(data, dict):
        for key, value in data.items():
            yield from places(value, (*path, key))
    elif isinstance(data, list) and data:
        for place in {0, len(data) - 1}:
            yield from places(data[place], (*path, place))


def test_whatever_is_put_anywhere_is_a_model_or_one_sentence(data, tmp_path):
    seen = refused = 0
    for path in list(places(data))[1 :: size(3, 1)]:
        for value in (None, -1, "x", [], {}, 1e308, True)[len(path) % 2 :: 2]:
            spoilt = deepcopy(data)
            inner = spoilt
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
            (tmp_path / "model.json").write_text(json.dumps(spoilt))
            try:
                Model.load(tmp_path / "model.json").sample(3, seed=1)
            except UsageError:
                refused += 1
            seen += 1
    assert seen > size(100, 300) and refused > seen / 2


def test_only_a_model_is_overwritten(small, tmp_path):
    path = tmp_path / "model.json"
    save(small, path)
    save(small, path)
    for other in (b"", b"my thesis", b"{}", npz(a=np.zeros(2))):
        path.write_bytes(other)
        with pytest.raises(UsageError, match="already exists and is not a model"):
            save(small, path)
        assert path.read_bytes() == other
    with pytest.raises(UsageError, match="already exists and is not a model"):
        save(small, tmp_path)
    with pytest.raises(UsageError, match="cannot write"):
        save(small, tmp_path / "nowhere" / "model.json")
    with pytest.raises(UsageError, match="cannot read"):
        Model.load(tmp_path / "nowhere.json")


def test_a_write_that_fails_leaves_the_old_model(small, tmp_path, monkeypatch):
    path = tmp_path / "model.npz"
    save(small, path)
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        save(small, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model.npz"]
