"""Every type of column comes out as it went in: types, bounds, grids, NULL, placeholders, names."""

from __future__ import annotations

import datetime
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from discreet.errors import Refused, UsageError
from discreet.schema.column import CategoryColumn, MomentColumn, NumberColumn, TextColumn
from discreet.synth import cell_decoder
from discreet.synth.attribute import Attribute, attribute_of
from discreet.synth.attribute_discovery import attribute_of_words
from discreet.synth.cell_choice import choose_bins, merge_rare_cells
from discreet.synth.cell_decoder import NULL
from discreet.synth.inspect.model_histograms import draws_mixed, is_mixed, reading_order
from discreet.synth.inspect.value_groups import gather_values
from synth.worlds import AGE, SEX, elsewhere, fit, open_project

COLUMNS = {
    "kind": 'type = "category"\nvalues = ["a", "b", "c"]',
    "sex": SEX,
    "age": AGE,
    "binned": 'type = "integer"\nlow = 0\nhigh = 1000\nbins = 5',
    "cost": 'type = "decimal"\nlow = -10\nhigh = 10\nstep = 0.25',
    "cents": 'type = "decimal"\nlow = 0\nhigh = 5000',
    "born": 'type = "date"\nlow = 1950-01-01\nhigh = 2000-12-31',
    "seen": 'type = "timestamp"\nlow = 2020-01-01\nhigh = 2020-02-01',
    "smokes": 'type = "boolean"',
    "left": 'type = "boolean"\nclosed = true',
    "note": 'type = "text"',
    'a "quoted" name, with commas': AGE,
}


def line(number, random):
    values = [
        ["a", "b", ""][number % 3], "FM"[number % 2], number % 40, random.integers(0, 1001),
        random.integers(-40, 41) / 4, random.integers(0, 500_001) / 100,
        np.datetime64("1950-01-01") + random.integers(0, 18_000),
        str(np.datetime64("2020-01-01", "s") + random.integers(0, 31 * 86400)),
        ["true", "false", "false", ""][number % 4], ["true", ""][number % 2], f"secret {number}", "" if number % 5 else 7,
    ]  # fmt: skip
    return ",".join(map(str, values))


@pytest.fixture(scope="module")
def model():
    random = np.random.default_rng(0)
    with elsewhere() as folder:
        lines = [line(number, random) for number in range(1200)]
        yield fit(open_project(folder, COLUMNS, lines, budget="{ epsilon = 90 }"), epsilon="60")


def test_types_and_domains(model):
    table = model.sample(4000, seed=1)
    types = {field.name: field.type for field in table.schema}
    assert set(types) == set(COLUMNS)
    assert types["kind"] == types["sex"] == types["note"] == pa.string()
    assert types["age"] == types["binned"] == pa.int64()
    assert types["cost"] == types["cents"] == pa.float64()
    assert types["born"] == pa.date32() and types["seen"] == pa.timestamp("us")
    assert types["smokes"] == types["left"] == pa.bool_()
    values = {name: [each for each in table[name].to_pylist() if each is not None] for name in COLUMNS}
    assert {"a", "b"} <= set(values["kind"]) <= {"a", "b", "c"} and set(values["sex"]) == {"F", "M"}
    assert min(values["age"]) >= 0 and max(values["age"]) <= 99 and np.mean(np.array(values["age"]) < 40) > 0.9
    assert min(values["binned"]) >= 0 and max(values["binned"]) <= 1000 and len(set(values["binned"])) > 500
    assert min(values["cost"]) >= -10 and max(values["cost"]) <= 10
    assert all(each * 4 == int(each * 4) for each in values["cost"])
    assert all(each == float(f"{each:.2f}") for each in values["cents"])
    assert min(values["cents"]) >= 0 and max(values["cents"]) <= 5000
    assert datetime.date(1950, 1, 1) <= min(values["born"]) and max(values["born"]) <= datetime.date(2000, 12, 31)
    assert datetime.datetime(2020, 1, 1) <= min(values["seen"]) and max(values["seen"]) <= datetime.datetime(2020, 2, 1)


def test_null_is_a_value(model):
    table = model.sample(4000, seed=2)
    share = {name: table[name].null_count / 4000 for name in COLUMNS}
    assert share["sex"] == share["left"] == 0  # closed
    assert share["kind"] == pytest.approx(1 / 3, abs=0.1)
    assert share["smokes"] == pytest.approx(1 / 4, abs=0.1)
    assert share['a "quoted" name, with commas'] == pytest.approx(0.8, abs=0.1)
    assert share["age"] < 0.1
    assert Counter(table["left"].to_pylist())[True] == pytest.approx(2000, abs=300)


def test_text_comes_out_as_placeholders(model):
    notes = model.sample(1000, seed=3)["note"].to_pylist()
    assert notes == [f"note {number}" for number in range(1, 1001)]
    with pytest.raises(UsageError, match="column 'note' has only placeholders"):
        model.project(["note"])


@pytest.mark.noisy
def test_null_is_modelled_jointly(tmp_path):
    """Two columns that are NULL together come out so: apart, a quarter of the rows would have one of two."""
    columns = {"a": AGE + "\nbins = 4", "b": AGE + "\nbins = 4"}
    lines = [("," if number % 2 else f"{number % 99},{number % 99}") for number in range(2000)]
    model = fit(open_project(tmp_path, columns, lines), kind="mst", epsilon="20")
    rows = model.sample(4000, seed=1).to_pandas()
    assert (rows["a"].isna() != rows["b"].isna()).mean() < 0.05
    assert rows["a"].isna().mean() == pytest.approx(0.5, abs=0.05)


# ---- cells and codes


def test_a_cell_goes_back_by_its_noisy_weights():
    column = CategoryColumn(name="a", values=tuple("uvwxyz"))
    attribute = Attribute(
        column=column,
        edges=tuple(range(7)),
        null=True,
        groups=np.array([0, 1, 1, 1, 1, 2, 1]),
        weights=np.array([5.0, 1, 0, 3, 4, 0, 2]),
    )
    random = np.random.default_rng(0)
    found = Counter(cell_decoder.draw_codes(attribute, np.ones(20_000, dtype=np.uint8), random).tolist())
    assert set(found) == {1, 3, 4, NULL}
    for code, share in ((1, 0.1), (3, 0.3), (4, 0.4), (NULL, 0.2)):
        assert found[code] / 20_000 == pytest.approx(share, abs=0.02)  # 6 sd
    assert set(cell_decoder.draw_codes(attribute, np.full(100, 2), random).tolist()) == {
        5
    }  # weight 0 alone in its cell
    assert cell_decoder.draw_codes(attribute, np.zeros(0, dtype=np.uint8), random).tolist() == []


def test_codes_are_spread_over_a_bin():
    attribute = attribute_of(NumberColumn(name="a", type="integer", low=10, high=29, edges=(10, 20, 30)))
    found = cell_decoder.draw_codes(attribute, np.repeat([0, 1, 2], 5000), np.random.default_rng(0))
    assert set(found[:5000].tolist()) == set(range(10, 20)) and set(found[5000:10_000].tolist()) == set(range(20, 30))
    assert set(found[10_000:].tolist()) == {NULL}
    assert min(Counter(found[:10_000].tolist()).values()) > 350


def test_a_word_that_is_merged_with_values_nobody_has_is_named():
    """`Female` was called "2 rare values" wherever no other word was found, with a fifth of the rows."""
    words = attribute_of_words("sex", ["Female", "Male"])
    merged = words.with_groups(np.array([0, 1, 0, 0]), np.array([1357.0, 5630, 0, 0]))
    assert merged.labels() == ("Female", "Male") and reading_order(merged) == (0, 1)
    assert is_mixed(merged, 0) and not draws_mixed(merged, 0)
    assert gather_values(merged, np.array([1357.0, 5630]), 5).names == ("Female", "Male")
    rare = words.with_groups(np.array([0, 1, 0, 0]), np.array([1357.0, 5630, 3, 0]))
    assert rare.labels() == ("2 rare values", "Male")
    null = words.with_groups(np.array([0, 1, 2, 2]), np.array([1357.0, 5630, 0, 40]))
    assert null.labels() == ("Female", "Male", None)
    declared = attribute_of(CategoryColumn(name="sex", values=("F", "M", "X"), closed=True))
    kept = declared.with_groups(np.array([0, 1, 0]), np.array([20.0, 30, 0]))
    assert kept.labels() == ("2 rare values", "M")
    declared = attribute_of(CategoryColumn(name="sex", values=("F", "M")))
    kept = declared.with_groups(np.array([0, 1, 0]), np.array([20.0, 30, 0]))  # NULL, which nobody has, is with F
    assert kept.labels() == ("F", "M") and reading_order(kept) == (0, 1)


def test_labels_say_what_a_cell_holds():
    attribute = attribute_of(NumberColumn(name="a", type="integer", low=0, high=9)).with_groups(
        np.array([0, 0, 0, 1, 2, 3, 2, 3, 3, 3, 4]), np.ones(11)
    )
    assert attribute.labels() == ("0 to 2", 3, "2 rare values", "4 rare values", None)
    date = attribute_of(MomentColumn(name="d", type="date", low=0, high=1))
    assert date.labels() == ("1970-01-01", "1970-01-02", None)


def test_what_has_no_attribute():
    assert attribute_of(TextColumn(name="a")) is None
    assert attribute_of(NumberColumn(name="a", type="integer", low=0)) is None
    with pytest.raises(Refused, match="has 200,000 values"):
        attribute_of(CategoryColumn(name="a", values=tuple(map(str, range(200_000)))))
    with pytest.raises(ValueError, match="groups"):
        Attribute(
            column=NumberColumn(name="a", type="integer"),
            edges=(0, 1, 2),
            null=False,
            groups=np.zeros(3, dtype=np.int64),
        )


def test_rare_cells_are_kept_together_where_they_are_two():
    assert merge_rare_cells(np.array([100.0, 1, 200, 2]), sd=5.0).tolist() == [0, 2, 1, 2]
    assert merge_rare_cells(np.array([100.0, 1, 200, 20]), sd=5.0).tolist() == [0, 1, 2, 3]
    assert merge_rare_cells(np.array([1.0, 2, -3]), sd=5.0).tolist() == [0, 0, 0]


def test_bins_are_of_even_numbers_of_rows_where_noise_allows():
    attribute = attribute_of(NumberColumn(name="a", type="integer", low=0, high=255))
    values = np.append(np.where(np.arange(256) < 64, 400.0, 10.0), 50.0)
    found, clear = choose_bins(attribute, values, 1.0, float(values.sum()))
    assert found[-1] == found[:-1].max() + 1 and (np.diff(found[:-1]) >= 0).all()  # NULL apart, bins in order
    sums = np.bincount(found, weights=values)[:-1]
    assert 20 <= len(sums) <= 32 and sums.max() < 3 * values.sum() / 32
    assert clear.tolist() == [False] * 256 + [True]  # their noise drew the bins
    drowned, clear = choose_bins(attribute, values, 1e5, float(values.sum()))
    assert np.bincount(drowned)[:-1].tolist() == [128, 128]  # equal width, few
    assert clear.all()


def test_large_numbers_do_not_overflow():
    column = NumberColumn(name="a", type="decimal", step=Fraction(10**6), low=0, high=2**60)
    found = cell_decoder.arrow_column(column, np.array([2**59, NULL, 3])).to_pylist()
    assert found == [2.0**59 * 10**6, None, 3e6]


def test_words_for_true_and_false_keep_their_spelling(tmp_path):
    """In rows, in what is given for a condition, and in a model that was saved before or after."""
    from discreet.synth.column_data import column_data, column_of

    columns = {"smokes": 'type = "boolean"\ntrue = ["Ja", "j"]\nfalse = ["Nein"]', "sober": 'type = "boolean"'}
    lines = [f"{['Ja', 'j', 'nein', ''][number % 4]},{['true', 'false'][number % 2]}" for number in range(400)]
    model = fit(open_project(tmp_path, columns, lines), epsilon="60")
    table = model.sample(200, seed=1)
    assert set(table["smokes"].to_pylist()) == {"Ja", "Nein", None}
    assert table.schema.field("sober").type == pa.bool_()
    with_words, plain = model.contents.columns if hasattr(model, "contents") else model.columns
    for column in (with_words, plain):
        assert column_of(column_data(column)) == replace(column, null=None)
    assert "true" not in column_data(plain), "as it was saved before"
