"""Tables of which nothing is declared: small codes, words, NULL and notes come out as they are, within one charge."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import events
from discreet.accounting.region import Region
from discreet.answers.bounds.program_purchase import find_words, words_price
from discreet.engines.memory_values import stored_code
from discreet.errors import SchemaError
from discreet.kernel.project_session import open_session
from discreet.mechanisms.weighted_threshold import UNIT, WeightedThreshold, delta_of
from discreet.plan import price as price_file
from discreet.plan.price import Discover, least_persons
from discreet.plan.relation import Scan
from discreet.schema.column import NumberColumn
from discreet.synth.attribute_discovery import OTHER
from discreet.synth.fit_request import FitRequest
from discreet.synth.inspect import inspect_model, marginal_verdicts
from discreet.synth.model import Model
from discreet.synth.synthesis import synthesize
from synth.worlds import fit, open_project

BUDGET = "{ epsilon = 100000, delta = 1e-4 }"
EPSILON, DELTA = Fraction(1, 10), Fraction(1, 10**8)
TEXT = {"word": 'type = "text"'}


def words_of(rows):
    return [["yes", "no", "maybe", "once"][n % 4 if n < 900 else 3] for n in range(rows)]


def discovery(version, **more):
    (step,) = words_price(version, "word", epsilon=EPSILON, delta=DELTA, **more).steps
    assert isinstance(step, Discover)
    return step


def test_words_by_gaussian_noise_lose_no_more_and_need_fewer_rows(tmp_path):
    version = open_project(tmp_path, TEXT, words_of(900), budget=BUDGET).version("people")
    by_gauss, by_laplace = discovery(version, gaussian=True), discovery(version)
    assert isinstance(by_gauss.mechanism, WeightedThreshold) and by_gauss.weights is None
    loss = events.loss(by_gauss.mechanism.event())
    assert loss.rho == EPSILON**2 / 2 and 0 < loss.delta <= DELTA and loss.epsilon is None
    assert least_persons(by_gauss)[0] < least_persons(by_laplace)[0] / 3
    mechanism = by_gauss.mechanism  # one row alone: it shows with chance delta at most
    assert delta_of(mechanism.noise, keys_per_person=1, threshold=mechanism.threshold) <= DELTA


def test_one_row_moves_one_word_by_its_whole_weight(tmp_path):
    """On the real engine, with and without a row; with the weight that the noise is made for."""
    sides = []
    for name, rows in (("all", 901), ("less", 900)):
        (tmp_path / name).mkdir()
        project = open_project(tmp_path / name, TEXT, words_of(rows), budget=BUDGET)
        version = project.version("people")
        step = discovery(version, gaussian=True)
        tables = project.curator.locate_tables({Scan(table="people", version=version.number): version}, {})
        exact_groups = project.curator.engine.at(version.engine).keys(
            step.plan, step.keys, Region.whole(), persons=step.persons, tables=tables, weights=step.weights
        )
        sides.append(dict(zip(exact_groups.exact_keys, exact_groups.exact_persons.tolist(), strict=True)))
    moved = [abs(sides[0].get(key, 0) - sides[1].get(key, 0)) * UNIT for key in {*sides[0], *sides[1]}]
    assert sum(each**2 for each in moved) == UNIT**2 == step.mechanism.event().l2_squared  # attained


def test_common_words_are_found_and_single_ones_are_not(tmp_path, monkeypatch):
    """A planted fault, counts that are not weighed, is seen: then no word is."""
    lines = [*words_of(900), *(f"word {n}" for n in range(40))]
    project = open_project(tmp_path, TEXT, lines, budget=BUDGET)
    session = open_session(project, "people", project.asker(None))

    def found():
        program = program_of_delta(project)
        return {key for (key,) in find_words(program, "word", share=Fraction(1, 2), columns=1).keys}

    def program_of_delta(project):
        event = events.ReservationEvent(epsilon=None, rho=Fraction(1, 10), delta=DELTA)
        from discreet.answers.whole_table_charge import charge_whole_table
        from discreet.kernel.program import Program

        id_ = charge_whole_table(session, event, question="0" * 64, price=Fraction(1))
        return Program(project.curator, session.version, id_)

    assert found() == {"yes", "no", "maybe", "once"}  # 225 rows and more, where 20 are needed
    monkeypatch.setattr(price_file, "UNIT", 1)
    assert found() == set()


@pytest.mark.noisy  # cells that noise lifts beside the codes
def test_small_codes_come_out_as_those_codes(tmp_path):
    columns = {"race": 'type = "integer"', "flag": 'type = "integer"', "year": 'type = "integer"', **TEXT}
    lines = [f"{[1, 2, 3, 4][n % 4]},{int(n % 12 == 0)},{2020 + n % 3},{'FM'[n % 2]}" for n in range(6000)]
    for budget in (BUDGET, "{ epsilon = 100000 }"):
        folder = tmp_path / str(len(budget))
        folder.mkdir()
        rows = fit(open_project(folder, columns, lines, budget=budget), epsilon="3").sample(3000, seed=1)
        codes = {"race": {1, 2, 3, 4}, "flag": {0, 1}, "year": {2020, 2021, 2022}} | (
            {"word": {"F", "M"}} if budget == BUDGET else {}
        )
        for name, known in codes.items():
            values = rows[name].to_pylist()
            assert known <= set(values)
            assert sum(value not in known for value in values) < 90  # a cell that noise lifted: 1 of some 300 is


@pytest.mark.noisy  # each of 2,000 unique notes shows with the chance that delta allows: together below 1e-2
def test_other_words_are_never_called_good(tmp_path, monkeypatch):
    lines = ["yes" if n % 3 else f"note {n}" for n in range(6000)]
    model = fit(open_project(tmp_path, TEXT, lines, budget=BUDGET), epsilon="3")
    assert set(model.sample(300, seed=1)["word"].to_pylist()) == {"yes", OTHER}
    (said,) = [line for line in model.card.warnings if "other values of word" in line]
    assert "about 33% of the rows" in said and "shared by fewer than about" in said
    model.save(tmp_path / "model.json")
    for each in (model, Model.load(tmp_path / "model.json")):
        (judged,) = inspect_model(each).marginals.judged
        assert judged.verdict == "partly" and "too few rows share" in judged.why
    monkeypatch.setattr(marginal_verdicts, "_unresolved", lambda evidence, place: [])
    assert inspect_model(model).marginals.judged[0].verdict == "good"  # what it was: the fault is seen


@pytest.mark.noisy
def test_a_column_of_one_value_is_never_called_good(tmp_path, monkeypatch):
    project = open_project(tmp_path, {"x": 'type = "integer"'}, ["0"] * 4000, budget=BUDGET)
    model = fit(project, epsilon="3")
    assert set(model.sample(100, seed=1)["x"].to_pylist()) == {0}
    assert any("only one value of x was seen" in line for line in model.card.warnings)
    assert inspect_model(model).marginals.judged[0].verdict == "partly"
    monkeypatch.setattr(marginal_verdicts, "_is_one_value", lambda evidence, place: False)
    assert inspect_model(model).marginals.judged[0].verdict == "good"


def test_a_column_with_many_rows_in_wide_cells_outside_is_never_called_good(tmp_path, monkeypatch):
    """A value that 7% have comes out as the values around it; how many cells lie outside is saved with the model."""
    lines = [str(2000 if n % 14 == 0 else n % 4) for n in range(6000)]
    model = fit(open_project(tmp_path, {"x": 'type = "integer"'}, lines, budget=BUDGET), epsilon="20")
    (attribute,) = model.attributes
    above = sum(edge > 1000 for edge in attribute.edges) - 1
    model = replace(model, attributes=(replace(attribute, outer=(0, above)),))
    model.save(tmp_path / "model.json")
    for each in (model, Model.load(tmp_path / "model.json")):
        assert each.attributes[0].outer == (0, above)
        (judged,) = inspect_model(each).marginals.judged
        assert judged.verdict == "partly" and "may lie in wide cells" in judged.why
    monkeypatch.setattr(marginal_verdicts, "MOST_SPREAD", 0.1)
    assert inspect_model(model).marginals.judged[0].verdict == "good"  # what it was: the fault is seen


@pytest.mark.parametrize("budget", ["{ epsilon = 10 }", BUDGET])
def test_what_a_table_without_delta_loses_is_said_before_it_is_paid(tmp_path, budget):
    columns = {f"n{n}": 'type = "integer"\nlow = 0\nhigh = 9' for n in range(12)} | TEXT
    project = open_project(tmp_path, columns, [",".join(["1"] * 12) + ",yes"] * 50, budget=budget)
    session = open_session(project, "people", project.asker(None))
    notes = []

    def announce(note):
        assert not session.ledger.refresh().reservations
        notes.append(str(note))

    synthesize(FitRequest(epsilon=Fraction(1), kind="independent"), session, announce=announce)
    losses = [note for note in notes if "without a delta each count" in note]
    assert len(losses) == (budget != BUDGET)
    if losses:
        # Laplace noise of scale 39, 95% of it; Gaussian noise of the rho that epsilon 1 and delta 1e-6 allow.
        assert "±117 rows; a delta of 1e-6 would make it ±" in losses[0]
        assert any("word will contain only placeholders; declare their values" in note for note in notes)


def test_a_delta_that_would_change_nothing_is_not_offered(tmp_path):
    """It said: "off by about ±27 rows, where a delta of 1e-6 would make it ±27"."""
    columns = dict.fromkeys("abc", 'type = "integer"\nlow = 0\nhigh = 9')
    project = open_project(tmp_path, columns, ["1,2,3"] * 30, budget="{ epsilon = 9, delta = 0 }")
    notes: list[str] = []
    session = open_session(project, "people", project.asker(None))
    synthesize(
        FitRequest(epsilon=Fraction(1), kind="independent"), session, announce=lambda note: notes.append(str(note))
    )
    assert not any("without a delta each count" in note for note in notes)


def test_one_row_a_person_is_said(tmp_path):
    project = open_project(
        tmp_path,
        {"who": None, "kind": 'type = "category"\nvalues = ["a", "b"]'},
        [f"{n // 3},a" for n in range(90)],
        table='person = "who"',
    )
    (note,) = [warning for warning in fit(project).card.warnings if "rows_per_person" in warning]
    assert note.startswith("one row of each person was used")


def test_a_closed_number_has_no_null(tmp_path):
    """In the declared table of the engine as in memory; its model has no cell for NULL, and says so when it is saved."""
    columns = {"age": 'type = "integer"\nlow = 2\nhigh = 9\nclosed = true', "day": 'type = "date"\nlow = 2020-01-01'}
    lines = [f"{['', 'NA', 7, 11][n % 4]},2020-01-0{n % 9 + 1}" for n in range(400)]
    project = open_project(tmp_path, columns, lines, budget=BUDGET)
    (column,) = [each for each in project.version("people").schema.columns if each.name == "age"]
    assert [stored_code(column, value) for value in ("", "7", "11")] == [2, 7, 9]
    model = fit(project, epsilon="60")
    attribute = model.attributes[model.place("age")]
    assert not attribute.null and model.project(["age"]).counts.sum() == pytest.approx(400, abs=9)
    counts = np.bincount(model.sample(400, seed=1)["age"].to_numpy(), minlength=10)
    assert counts[2] == pytest.approx(200, abs=9) and counts[7] == pytest.approx(100, abs=9)
    model.save(tmp_path / "model.json")
    again = Model.load(tmp_path / "model.json")
    assert again.attributes[again.place("age")].column.closed


def test_a_closed_number_needs_low():
    with pytest.raises(SchemaError, match="needs low"):
        NumberColumn(name="age", type="integer", closed=True)
