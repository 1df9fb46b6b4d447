"""Two models on one page: how far apart they are, what only one of them is good for, and their networks side by side."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from xml.etree import ElementTree

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.schema.column import NumberColumn
from discreet.synth.inspect import inspect_two_models
from discreet.synth.inspect.model_comparison import Comparison, Distance
from discreet.synth.inspect.two_models import column_distance
from synth.inspect_tables import CARD, category, exact, model_of, table
from synth.test_inspect_page import HOSTILE, KNOWN, read

SIZES = (4, 3, 2)
COLUMNS = [category("a", 4), category("b", 3), category("c", 2)]
DATA = table(SIZES, 8000, np.random.default_rng(1), tie=0.5)
BAYES = replace(CARD, kind="privbayes")


def model_by(sets, *, data=DATA, sd=10.0, columns=COLUMNS, card=BAYES, seed=2):
    return model_of(columns, data, sets, sd=sd, generator=np.random.default_rng(seed), card=card)


ONE, TWO = model_by([(0, 1), (1, 2)]), model_by([(0, 1), (0, 1, 2)])


def paid(value):
    told = Distance(noisy_value=value, low=value / 2, high=2 * value)
    return Comparison(
        release="r-paid", epsilon=Fraction(1, 2), delta=Fraction(0), rho=None, pairs=3, mean=told, measured=told,
        others=None, worst=("a", "c"), worst_distance=told,
    )  # fmt: skip


def test_a_model_is_no_distance_from_itself_and_others_are_as_far_as_they_are():
    assert column_distance(ONE, ONE, "a") == 0
    other = table(SIZES, 8000, np.random.default_rng(9), tie=0.1)
    far = model_by([(0, 1)], data=other, sd=0.01, seed=3)
    near = model_by([(0, 1)], sd=0.01, seed=3)
    for place, name in enumerate("abc"):
        shares = [exact(each, SIZES, (place,)) / 8000 for each in (DATA, other)]
        truth = np.abs(shares[0] - shares[1]).sum() / 2
        assert column_distance(near, far, name) == pytest.approx(truth, abs=1e-3)
        assert column_distance(far, near, name) == pytest.approx(truth, abs=1e-3)


def test_columns_cut_elsewhere_have_no_distance():
    models = [
        model_by([], columns=[NumberColumn(name="a", type="integer", low=0, high=9, edges=edges)], data=DATA[:, 2:])
        for edges in ((0, 3, 10), (0, 5, 10))
    ]
    assert column_distance(*models, "a") is None
    assert "cut into different cells" in inspect_two_models(*models).page()


def test_models_without_a_common_column_are_refused():
    other = model_by([], columns=[category("z", 4)], data=DATA[:, :1])
    with pytest.raises(UsageError, match="no column in common"):
        inspect_two_models(ONE, other)


def test_both_are_told_as_data_and_as_text():
    told = inspect_two_models(ONE, TWO, names=("one.npz", "two.npz"), comparisons=(None, paid(0.02)))
    data = told.to_data()
    assert [each["name"] for each in data["models"]] == ["one.npz", "two.npz"]
    assert [each["graph"]["degree"] for each in data["models"]] == [1, 2]
    assert [each["column"] for each in data["differences"]] == ["a", "b", "c"]
    text = "\n".join(told.lines())
    assert text.index("one.npz: privbayes model of people") < text.index("two.npz: privbayes model of people")
    assert "columns that differ most" in text and text.count("compared with the real table") == 1
    for place, name in enumerate(told.names):
        good = [{each.columns for each in own.marginals.judged if each.verdict == "good"} for own in told.reports]
        assert {each.columns for each in told.only_good(place)} == good[place] - good[1 - place]
        assert (f"good in {name} only" in text) == bool(good[place] - good[1 - place])


def test_the_page_holds_both_and_asks_for_nothing():
    told = inspect_two_models(ONE, TWO, names=(HOSTILE, "two"), comparisons=(paid(0.01), None))
    page = told.page()
    reader = read(page)
    assert set(reader.tags) <= KNOWN and "<script" not in page and "http" not in page.replace("http-equiv", "")
    words = "".join(reader.texts)
    assert "Compared with the real table" in words and "Not compared." in words and "at most 2 parents" in words
    # Two histograms of each column, two heat maps of each model, two networks, one comparison.
    assert reader.tags.count("svg") == 6 + 4 + 2 + 1
    assert "Compared with the real table" not in inspect_two_models(ONE, TWO).page()


def test_a_column_of_one_model_alone_is_shown_beside_nothing():
    fewer = model_by([(0, 1)], columns=COLUMNS[:2], data=DATA[:, :2])
    page = inspect_two_models(ONE, fewer, names=("all", "fewer")).page()
    assert "in one model only" in page and "fewer does not have this column." in page


def test_the_networks_are_drawn_side_by_side():
    root = ElementTree.fromstring(inspect_two_models(ONE, TWO, names=("K=1", "K=2")).graph_file())
    titles = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text") if each.get("class") == "large"]
    assert titles == ["K=1: people: privbayes, at most 1 parent", "K=2: people: privbayes, at most 2 parents"]
    heads = [each for each in root.iter() if each.get("class") == "head"]
    assert len(heads) == 2 + 3
