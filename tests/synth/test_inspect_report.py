"""The report of a model: plain data that says what is there, on known cases and on odd ones."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.inference.fit import FitSearch, MeasuredMarginal, fit
from discreet.kernel.curator import Version
from discreet.schema.column import BooleanColumn, CategoryColumn, MomentColumn, NumberColumn, TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema
from discreet.synth.attribute import attribute_of
from discreet.synth.constraints import PublicConstraints
from discreet.synth.inspect import inspect_model
from discreet.synth.inspect import marginal_verdicts as marginals_module
from discreet.synth.model import Model
from discreet.synth.random_model import random_model
from synth.inspect_tables import CARD, category, model_of, table
from tiers import size

AGE = NumberColumn(name="age", type="integer", low=0, high=99, edges=(0, 20, 40, 60, 100))
BORN = MomentColumn(name="born", type="date", low=0, high=9, edges=(0, 1, 5, 10))
SEX = CategoryColumn(name="sex", values=("F", "M"))


def known_model(*, sd=1.0) -> Model:
    """40 ages a bin but 0 NULL; F 100, M 50, NULL 10; the two independent, and measured together."""
    ages, sexes = np.array([40.0, 40, 40, 40, 0]), np.array([100.0, 50, 10])
    pair = np.outer(ages, sexes) / 160
    measured = (
        MeasuredMarginal(attributes=(0,), values=ages + 1, variance=sd**2),
        MeasuredMarginal(attributes=(1,), values=sexes, variance=sd**2),
        MeasuredMarginal(attributes=(0, 1), values=pair, variance=sd**2),
    )
    attributes = (attribute_of(AGE), attribute_of(SEX))
    found = fit((5, 3), measured[1:], 160.0, search=FitSearch(iterations=2000, tolerance=1e-4, strength=1e-4))
    return Model(
        card=CARD, columns=(AGE, SEX, TextColumn(name="note")), attributes=attributes, fitted=found, measured=measured
    )


def test_histograms_stand_beside_what_was_measured():
    report = inspect_model(known_model())
    age, sex = report.histograms
    assert (age.kind, age.ordered, sex.kind, sex.ordered) == ("number", True, "category", False)
    assert age.labels == ("0 to 19", "20 to 39", "40 to 59", "60 to 99", None)
    assert age.spans == ((0, 20), (20, 40), (40, 60), (60, 100), None)
    np.testing.assert_allclose(sex.counts, [100, 50, 10], atol=0.5)
    assert sex.null_share == pytest.approx(10 / 160, abs=0.005)
    # The column's own measurement (41, variance 1) and the pair's (40, variance 3): 40.75 and 3/4.
    np.testing.assert_allclose(age.noisy_counts[:4], 40.75)
    np.testing.assert_allclose(age.plus_minus, 1.96 * np.sqrt(0.75))
    assert report.placeholders == ("note",)


def test_null_kept_with_rare_values_has_its_part_of_them():
    attribute = attribute_of(SEX).with_groups(np.array([0, 1, 1]), np.array([90.0, 3, 1]))
    model = Model(
        card=CARD,
        columns=(SEX,),
        attributes=(attribute,),
        fitted=fit((2,), [MeasuredMarginal(attributes=(0,), values=np.array([90.0, 10]), variance=1e-4)], 100.0),
    )
    (sex,) = inspect_model(model).histograms
    assert sex.null_share == pytest.approx(0.1 / 4, abs=1e-3)
    assert sex.labels[1] == "2 rare values"
    (simple,) = inspect_model(model).questions
    assert [each.condition for each in simple.predicates] == ["= F"]  # what is kept together cannot be asked apart


def test_dependence_and_network():
    pairs = {each.columns: each for each in inspect_model(known_model()).dependences}
    assert pairs["age", "sex"].strength == pytest.approx(0, abs=1e-3)
    assert pairs["age", "sex"].measured
    data = np.repeat(np.arange(3), 1000)[:, None].repeat(3, axis=1)
    model = model_of(
        [category(name, 3) for name in "abc"], data, [(0, 1), (0, 1, 2)], sd=0.01, generator=np.random.default_rng(0)
    )
    report = inspect_model(model)
    assert report.network == (("a", "b", "c"),)
    assert all(each.strength > 0.99 for each in report.dependences)


def test_the_strength_of_a_column_that_may_be_constant_is_not_shown():
    """An all-NULL column came out as the strongest pair: the noise of both was measured together."""
    for seed in range(size(6, 20)):  # fixed generators
        generator = np.random.default_rng(seed)
        data = np.zeros((3000, 3), dtype=np.int64)
        data[:, 1] = generator.integers(0, 3, 3000)
        data[:, 2] = (data[:, 1] == 0) ^ (generator.random(3000) < 0.1)
        columns = [category("none", 5), category("some", 3), category("tied", 2)]
        model = model_of(columns, data, [(0, 1), (1, 2)], sd=15, generator=generator)
        report = inspect_model(model)
        found = {each.columns: each for each in report.dependences}
        assert found["none", "some"].strength is None and found["none", "some"].constant == ("none",)
        assert found["none", "tied"].strength is None
        assert found["some", "tied"].strength > 0.3 and found["some", "tied"].constant == ()
        page = report.page()
        assert "not shown, because none may have only one value" in page
        strongest = page.split("<h3>Strongest</h3>")[1].split("</ul>")[0]
        assert "some × tied" in strongest and "none" not in strongest


def test_conditions_are_those_people_ask():
    age, sex = inspect_model(known_model()).questions
    assert [each.condition for each in sex.predicates] == ["= F", "= M", "is NULL"]
    assert [each.condition for each in age.predicates] == [
        "from 0 to 19",
        "from 20 to 39",
        "from 40 to 59",
        "from 60 to 99",
        "is NULL",
        "at most 19",
        "at least 20",
        "at most 39",
        "at least 40",
        "at most 59",
        "at least 60",
    ]
    counts = {each.condition: each.count for each in age.predicates}
    assert counts["at most 39"] == pytest.approx(80, abs=1)
    assert counts["at least 60"] == pytest.approx(40, abs=1)  # NULL is in no range


def test_verdicts_follow_the_noise():
    quiet, loud = inspect_model(known_model(sd=0.01)), inspect_model(known_model(sd=30))
    assert {each.verdict for each in quiet.marginals.judged} == {"good"}
    assert {each.verdict for each in loud.marginals.judged} == {"poor"}
    assert all(each.why for each in loud.marginals.judged)


def test_what_was_not_measured_is_unknown():
    data = table((3, 4, 5), 20_000, np.random.default_rng(5), tie=0.3)
    columns = [category(name, size) for name, size in zip("abc", (3, 4, 5), strict=True)]
    report = inspect_model(model_of(columns, data, [(0, 1)], sd=5, generator=np.random.default_rng(6)))
    found = {each.columns: each for each in report.marginals.judged}
    assert (found["a", "c"].verdict, found["a", "c"].why) == ("unknown", "never measured together")
    assert found["a", "c"].expected_distance is None
    assert found["a", "b"].measured and 0 < found["a", "b"].expected_distance < 0.05
    assert report.marginals.passed_over == 0


def test_too_many_and_too_large_are_passed_over(monkeypatch):
    monkeypatch.setattr(marginals_module, "MOST_TRIPLES", 3)
    monkeypatch.setattr(marginals_module, "MOST_CELLS", 19)
    sizes = (3, 4, 5, 2)
    data = table(sizes, 5000, np.random.default_rng(5), tie=0.3)
    columns = [category(name, size) for name, size in zip("abcd", sizes, strict=True)]
    report = inspect_model(model_of(columns, data, [(0, 1, 3), (0, 1)], sd=5, generator=np.random.default_rng(6)))
    judged = {each.columns for each in report.marginals.judged}
    assert ("b", "c") not in judged and ("a", "c") in judged
    assert len([own for own in judged if len(own) == 3]) == 0  # the one that was measured has 24 cells
    assert report.marginals.passed_over == 4 + 6 + 4 - len(judged)


def test_the_report_is_json():
    for report in (inspect_model(known_model()), inspect_model(replace(known_model(), measured=()))):
        text = json.dumps(report.to_data(), allow_nan=False)
        data = json.loads(text)
        assert data["card"]["epsilon"] == 1 and data["card"]["delta"] == 1e-9
        assert data["card"]["shares"]["measuring"] == 0.25
        assert data["histograms"][0]["labels"][-1] is None
        assert data["comparison"] is None
        assert {each["columns"][0] for each in data["marginals"]["judged"]} == {"age", "sex"}


def test_a_random_model_is_said_to_know_nothing():
    schema = Schema(
        table="people", columns=(AGE, BORN, BooleanColumn(name="smoker"), TextColumn(name="note")), unit=PrivacyUnit()
    )
    version = Version(table="people", number=1, population="people", schema=schema, file="")
    report = inspect_model(random_model(version, schema.columns, PublicConstraints()))
    assert report.rows_plus_minus is None
    assert all(each.noisy_counts is None for each in report.histograms)
    assert {each.verdict for each in report.marginals.judged} == {"unknown"}
    assert [each.kind for each in report.histograms] == ["number", "moment", "boolean"]
    json.dumps(report.to_data(), allow_nan=False)


def test_a_column_of_one_value_and_a_model_of_one_column():
    one = CategoryColumn(name="only", values=("x",), closed=True)
    data = np.zeros((500, 1), dtype=np.int64)
    report = inspect_model(model_of([one], data, [], sd=2, generator=np.random.default_rng(1)))
    assert report.dependences == () and report.network == ()
    assert report.questions[0].predicates[0].good
    both = inspect_model(
        model_of([one, SEX], np.zeros((500, 2), dtype=np.int64), [(0, 1)], sd=2, generator=np.random.default_rng(1))
    )
    assert both.dependences[0].strength is None


def test_shares_and_guarantees_are_rounded_up():
    card = replace(CARD, epsilon=Fraction(2, 3))
    assert inspect_model(replace(known_model(), card=card)).to_data()["card"]["epsilon"] == 0.6666666667
