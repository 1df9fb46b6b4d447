"""What is not declared is bought: bounds and words. One row's word or extreme value never shows."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pytest

from discreet.synth.attribute_discovery import OTHER, attribute_of_words, undeclared_columns
from discreet.synth.model_file import save
from discreet.synth.synthesis import modelled_columns
from synth.worlds import SEX, fit, open_project
from tiers import fuzzed, size

#: A twentieth of every fit's delta goes to words: 40 fits show a word of one row with chance 2e-9 at most.
DELTA = Fraction(1, 10**9)
BUDGET = "{ epsilon = 100000, delta = 1e-4 }"
WORD, EXTREME, DAY = "zebra-4711", 987_654_321, "2611-07-13"

COLUMNS = {"word": 'type = "text"', "number": 'type = "integer"', "day": 'type = "date"', "sex": SEX}


def lines(rare, count=900):
    ordinary = [
        f"{['yes', 'no', 'maybe'][n % 3]},{n % 50},2020-01-{n % 28 + 1:02d},{'FM'[n % 2]}" for n in range(count)
    ]
    return [*ordinary, f"{WORD},{EXTREME},{DAY},F"] if rare else ordinary


def never_shown(folder, fits):
    columns = COLUMNS | {"number": 'type = "integer"\nlow = 0', "day": None}  # the ends that a rare value is near
    project = open_project(folder, columns, lines(rare=True), budget=BUDGET)
    words = far = 0
    for seed in range(fits):
        model = fit(project, epsilon="5", delta=DELTA, fresh=True)
        table = model.sample(300, seed=seed)
        shown = {str(value) for name in table.column_names for value in table[name].to_pylist()}
        assert not shown & {WORD, str(EXTREME), DAY}
        save(model, folder / "model.json")
        text = (folder / "model.json").read_text()
        assert WORD not in text and str(EXTREME) not in re.findall(r"[\w.-]+", text)  # as a number, not digits of one
        far += any(attribute.column.high >= 10_000 for attribute in model.attributes if attribute.name == "number")
        words += "yes" in shown and "maybe" in shown
    assert far < 0.3 * fits  # noise puts an end there in none of 300 fits; the rare value would in each
    assert words > (0.5 * fits if fits >= 40 else 0)  # what many share is bought and comes out


def test_many_fits_show_no_rare_value(tmp_path):
    """Of ten fits one that shows it is still seen, unless fewer than one in ten does."""
    never_shown(tmp_path, size(10, 40))


@pytest.mark.fuzz
@pytest.mark.timeout(7200)
def test_a_thousand_fits_show_no_rare_value(tmp_path):
    never_shown(tmp_path, fuzzed(1000))


@pytest.mark.noisy
@pytest.mark.deep
def test_bounds_are_near_what_most_rows_are(tmp_path):
    project = open_project(
        tmp_path,
        COLUMNS | {"half": 'type = "decimal"\nlow = 0'},
        [f"{each},{n / 10}" for n, each in enumerate(lines(rare=True, count=9000))],
        budget=BUDGET,
    )
    model = fit(project, epsilon="200", kind="mst")
    places = {attribute.name: attribute for attribute in model.attributes}
    assert set(places) == {"word", "number", "day", "sex", "half"}
    number = places["number"].column
    assert 30 <= number.high < 5000 and -5000 < number.low <= 20
    assert (
        places["half"].column.low == 0 and 500 * 100 <= places["half"].column.high < 20_000 * 100
    )  # its own bound stays
    assert places["number"].open and not places["sex"].open
    rows = model.sample(2000, seed=1).to_pandas()
    assert rows["number"].between(number.low, number.high).mean() > 0.95
    assert rows["number"].median() == pytest.approx(25, abs=15)
    assert set(rows["word"].dropna()) >= {"yes", "no", "maybe"}
    assert set(rows["word"].dropna()) <= {"yes", "no", "maybe", OTHER}
    assert Fraction(39, 400) < model.card.shares["describing"] <= Fraction(4, 40)  # roots are rounded down
    assert set(model.sample(50, given={"word": "no"}, seed=1)["word"].to_pylist()) == {"no"}


def test_words_need_a_delta(tmp_path):
    model = fit(open_project(tmp_path, COLUMNS, lines(rare=False), budget="{ epsilon = 100 }"), epsilon="20")
    assert "word" not in {attribute.name for attribute in model.attributes}
    assert model.sample(3, seed=1)["word"].to_pylist() == ["word 1", "word 2", "word 3"]


def test_a_word_called_other_is_not_the_others():
    assert attribute_of_words("a", ["(other)", "x"]).column.values == ("(other)", "x", "((other))")


def test_what_columns_leave_open(tmp_path):
    project = open_project(tmp_path, COLUMNS, lines(rare=False))
    columns = modelled_columns(project.version("people"), None)
    needs = undeclared_columns(columns, keys=True)
    assert set(needs.numbers) == {"number", "day"} and needs.texts == ("word",)
    assert needs.number_share(pure=False) == Fraction(1, 40) and needs.text_share(pure=False) == Fraction(1, 20)
    assert needs.number_share(pure=True) == needs.text_share(pure=True) == Fraction(1, 8)
    many = undeclared_columns(columns * 10, keys=True)  # 20 columns of numbers and moments, 10 of text
    assert many.number_share(pure=False) == Fraction(3, 400) and many.text_share(pure=False) == Fraction(3, 200)
    assert many.number_share(pure=True) == many.text_share(pure=True) == Fraction(1, 75)
    assert undeclared_columns(columns, keys=False).texts == ()


def test_noise_of_a_person_is_that_of_all_their_rows(tmp_path):
    """The spread of the same measurement over 30 fits is rows_per_person times that of a row. 0.4 to 2.5: 6 sd."""
    spreads = []
    for rows in (1, 20):
        folder = tmp_path / str(rows)
        folder.mkdir()
        people = [f"p{n},{'FM'[n % 2]}" for n in range(400)]
        table = f'person = "who"\nrows_per_person = {rows}'
        project = open_project(folder, {"who": None, "sex": SEX}, people, table=table, budget=BUDGET)
        values = [fit(project, epsilon="2", delta=DELTA, fresh=True).measured[0].values for _ in range(30)]
        spreads.append(np.std(np.concatenate(values)))
    assert 0.4 < spreads[1] / (20 * spreads[0]) < 2.5


@pytest.mark.noisy
def test_bounds_bought_with_too_little_are_not_relied_on(tmp_path, monkeypatch):
    """A pure epsilon, nothing declared: what could not be afforded is said, and nothing of it is called good."""
    from discreet.synth.inspect import inspect_model

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    rows = lines(rare=False, count=3000)
    with monkeypatch.context() as patched:
        # What noise leaves room for; by the noise itself it would be less in some runs of a million.
        patched.setattr(
            "discreet.synth.first_histograms._most_outside", lambda attribute, own: 10.0**6 * attribute.open
        )
        poor = fit(open_project(tmp_path / "a", COLUMNS, rows, budget="{ epsilon = 100 }"), epsilon="0.05")
    assert set(poor.card.doubtful) == {"number", "day"}
    assert any("declare low and high" in warning for warning in poor.card.warnings)
    judged = {each.columns: each.verdict for each in inspect_model(poor).marginals.judged}
    assert judged[("number",)] == judged[("day",)] == judged[("number", "sex")] == "unknown"
    again = load(poor, tmp_path).card
    assert (again.doubtful, again.outside) == (poor.card.doubtful, poor.card.outside)
    rich = fit(open_project(tmp_path / "b", COLUMNS, rows, budget="{ epsilon = 100 }"), epsilon="20")
    assert rich.card.doubtful == ()
    assert {each.columns: each.verdict for each in inspect_model(rich).marginals.judged}[("number",)] == "good"


def load(model, folder):
    from discreet.synth.model import Model

    model.save(folder / "model.json")
    return Model.load(folder / "model.json")
