"""Odd tables and odd wishes work or are one sentence: one value, all NULL, many categories, few rows, tiny epsilon."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.synth.synthesis import FitRequest
from synth.worlds import AGE, SEX, elsewhere, fit, open_project

KINDS = ("independent", "mst")


@pytest.mark.thin(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [0, 1, 2])
def test_hardly_any_rows(tmp_path, kind, rows):
    project = open_project(tmp_path, {"age": AGE, "sex": SEX}, ["5,F", "7,M"][:rows])
    model = fit(project, kind=kind)
    assert model.total >= 1
    assert model.sample(10, seed=1).num_rows == 10
    model.save(tmp_path / "model.json")


@pytest.mark.thin(1)
@pytest.mark.parametrize("kind", KINDS)
def test_columns_that_say_nothing(tmp_path, kind):
    columns = {
        "one": 'type = "category"\nvalues = ["only"]\nclosed = true',
        "same": 'type = "integer"\nlow = 4\nhigh = 4',
        "never": AGE,
        "words": 'type = "category"\nvalues = ["x", "y"]',
    }
    model = fit(open_project(tmp_path, columns, ["only,4,,"] * 500), kind=kind, epsilon="10")
    table = model.sample(1000, seed=1)
    assert set(table["one"].to_pylist()) == {"only"}
    assert Counter(table["same"].to_pylist())[4] > 800
    assert table["never"].null_count > 800 and table["words"].null_count > 800


def test_one_column_alone(tmp_path):
    model = fit(open_project(tmp_path, {"sex": SEX}, ["F"] * 300), kind="mst")
    assert model.sample(100, seed=1).column_names == ["sex"]


@pytest.mark.noisy
@pytest.mark.deep
def test_ten_thousand_categories(tmp_path):
    names = [f"value {number}" for number in range(10_000)]
    columns = {"many": f'type = "category"\nvalues = {names}', "sex": SEX}
    lines = [f"value {number % 3},F" for number in range(3000)]
    model = fit(open_project(tmp_path, columns, lines), kind="mst", epsilon="5")
    assert model.attributes[0].size < 100  # what noise alone shows is kept together
    found = Counter(model.sample(3000, seed=1)["many"].to_pylist())
    assert {name for name, _ in found.most_common(3)} == {"value 0", "value 1", "value 2"}


def test_no_column_can_be_modelled(tmp_path):
    project = open_project(tmp_path, {"note": 'type = "text"'}, ["x"], budget="{ epsilon = 1 }")
    with pytest.raises(UsageError, match="no column"):
        fit(project)


@pytest.mark.thin(2)
@pytest.mark.parametrize("budget", ["{ epsilon = 90, delta = 1e-6 }", "{ epsilon = 90 }"])
@pytest.mark.parametrize("epsilon", ["0.000000001", "0.0001", "1000"])
def test_epsilon_tiny_and_large(tmp_path, budget, epsilon):
    project = open_project(
        tmp_path, {"age": AGE, "sex": SEX}, [f"{n % 60},F" for n in range(200)], budget=budget.replace("90", "5000")
    )
    try:
        model = fit(project, kind="mst", epsilon=epsilon)
    except UsageError as problem:
        assert "too small" in str(problem)
        assert project.budget("people").spent.epsilon == 0
        return
    assert model.sample(50, seed=1).num_rows == 50


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(-1), Fraction(10) ** 400, Fraction(1, 10**12), None])
def test_an_epsilon_that_is_none_is_refused_before_anything(epsilon):
    with pytest.raises(UsageError, match="epsilon"):
        FitRequest(epsilon=epsilon, kind="mst")


@pytest.fixture(scope="module")
def model():
    random = np.random.default_rng(0)
    with elsewhere() as folder:
        lines = [
            f"{age},{'FM'[int(age > 50) ^ int(random.random() < 0.1)]}" for age in random.integers(0, 100, size=2000)
        ]
        yield fit(open_project(folder, {"age": AGE, "sex": SEX}, lines), kind="mst", epsilon="5")


@pytest.mark.parametrize("n", [0, 1, 2, 999])
def test_any_number_of_rows(model, n):
    table = model.sample(n, seed=1)
    assert table.num_rows == n and table.column_names == ["age", "sex"]
    assert table.schema == model.sample(10, seed=1).schema


@pytest.mark.deep
def test_a_million_rows_in_parts(model):
    sizes, women = [], 0
    for batch in model.batches(1_000_000, seed=1):
        sizes.append(batch.num_rows)
        women += Counter(batch["sex"].to_pylist())["F"]
    assert sum(sizes) == 1_000_000 and len(sizes) == 2
    expected = model.project(["sex"]).counts[0] / model.total
    assert women / 1_000_000 == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("n", [-1, 1.5, True, 10**10, "10"])
def test_what_is_no_number_of_rows(model, n):
    with pytest.raises(UsageError, match="a sample can have 0"):
        model.sample(n)


def test_seeds_reproduce_and_only_seeds(model):
    one, again, other = model.sample(500, seed=1), model.sample(500, seed=1), model.sample(500, seed=2)
    assert one.equals(again) and not one.equals(other)
    assert not model.sample(500).equals(model.sample(500))


def test_about_as_many_rows_as_the_table_has(model):
    assert model.sample(seed=1).num_rows == round(model.total) == pytest.approx(2000, abs=200)


def test_rows_stand_in_random_order(model):
    ages = np.array(model.sample(4000, seed=1).to_pandas()["age"].fillna(-1))
    correlation = np.corrcoef(ages, np.arange(4000))[0, 1]
    neighbours = np.corrcoef(ages[1:], ages[:-1])[0, 1]
    assert abs(correlation) < 0.1 and abs(neighbours) < 0.1  # 6 sd


def test_conditional_generation_is_exact(model):
    """Given a sex, ages come out as the model's own conditional says, up to rounding; and so given an age."""
    joint = model.project(["sex", "age"])
    for place, sex in enumerate(joint.labels[0]):
        table = model.sample(5000, given={"SEX": sex}, seed=1)
        assert set(table["sex"].to_pylist()) == {sex}
        cells = joint.counts[place] / joint.counts[place].sum()
        edges = [int(str(label).split(" to ")[0]) for label in joint.labels[1] if label is not None]
        ages = [age for age in table["age"].to_pylist() if age is not None]
        found = np.histogram(ages, bins=[*edges, 100])[0] / 5000
        assert found == pytest.approx(cells[: len(found)], abs=2 / 5000 + 1e-9)
    old = model.sample(3000, given={"age": 80}, seed=1)
    assert set(old["age"].to_pylist()) == {80}
    row = next(place for place, label in enumerate(joint.labels[1]) if label is not None and spans(label, 80))
    share = joint.counts[1, row] / joint.counts[:, row].sum()
    assert Counter(old["sex"].to_pylist())["M"] / 3000 == pytest.approx(share, abs=1e-3) and share > 0.7


def spans(label, age):
    ends = str(label).split(" to ")
    return int(ends[0]) <= age <= int(ends[-1])


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"sex": "X"}, "'X' is not a value of column 'sex'"),
        ({"sex": None}, "never NULL"),
        ({"age": 100}, "'100' is not a value"),
        ({"age": "old"}, "'old' is not a value"),
        ({"agee": 1}, "no column 'agee'"),
    ],
)  # fmt: skip
def test_what_cannot_be_given(model, given, why):
    with pytest.raises(UsageError, match=why):
        model.sample(3, given=given)


def test_project_names_columns_once(model):
    with pytest.raises(UsageError, match="named twice"):
        model.project(["age", "AGE"])
    found = model.project(["Sex"])
    assert found.names == ("sex",) and [row[0] for row in found.rows()] == ["F", "M"]
    assert sum(row[-1] for row in found.rows()) == pytest.approx(model.total)
