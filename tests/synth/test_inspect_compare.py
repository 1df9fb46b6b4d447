"""The charged comparison: its sensitivity on exact neighbours, its price, its answers, on the real engine."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from discreet.accounting.zcdp_conversion import rho_from_epsilon
from discreet.errors import BudgetExceeded, UsageError
from discreet.inference.fit import MeasuredMarginal, fit
from discreet.kernel.binned_table import moves_of_distances
from discreet.kernel.program import Program
from discreet.kernel.project_session import open_session
from discreet.schema.column import NumberColumn
from discreet.synth.attribute import attribute_of
from discreet.synth.inspect import inspect_model
from discreet.synth.inspect import model_comparison as module
from discreet.synth.inspect.model_comparison import SHARES, compare
from discreet.synth.inspect.noisy_distances import PARTS, column_plan, comparison_plan, law_of
from discreet.synth.model import Model
from discreet.synth.synthesis import FitRequest, synthesize
from synth.inspect_tables import CARD
from synth.worlds import PEOPLE, open_project

#: Who smokes is decided by sex; age by neither.
ROWS = [(number % 60, "FM"[number % 2], number % 2 == 0) for number in range(600)]


def exact_distance(cut, plan, place):
    return cut._distance(plan.sets[place], plan.estimate(place), PARTS)


def moves_of(rows, groups):
    return moves_of_distances(rows, [len(group) for group in groups], PARTS)


def make(folder, rows, person=""):
    folder.mkdir(exist_ok=True)
    columns = PEOPLE | {"smoker": 'type = "boolean"'} | ({"who": None} if person else {})
    lines = [",".join(map(str, row)) for row in rows]
    return open_project(folder, columns, lines, budget="{ epsilon = 40, delta = 1e-6 }", table=person)


@pytest.fixture
def project(tmp_path):
    return make(tmp_path / "clinic", ROWS)


def model_of(project, *, sets=((0, 2),), total=600.0) -> Model:
    """A model that knows every column, and (age, smoker) together: it takes sex and smoker to be independent."""
    schema = project.version("people").schema
    attributes = tuple(attribute_of(column) for column in schema.columns)
    ages, sexes, smokers = np.array([200.0, 200, 200, 0]), np.array([300.0, 300]), np.array([300.0, 300, 0])
    margins = (ages, sexes, smokers)
    measured = [
        MeasuredMarginal(attributes=(place,), values=values, variance=1.0) for place, values in enumerate(margins)
    ]
    for one, other in sets:
        values = np.outer(margins[one], margins[other]) / 600
        measured.append(MeasuredMarginal(attributes=(one, other), values=values, variance=1.0))
    return Model(
        card=CARD,
        columns=schema.columns,
        attributes=attributes,
        fitted=fit([each.size for each in attributes], measured, total),
        measured=tuple(measured),
    )


def asked(project, model, epsilon=Fraction(10), **more):
    return compare(model, open_session(project, "people", project.asker(None)), epsilon=epsilon, **more)


def cut_of(project, model):
    """The exact table, without a charge: for tests."""
    session = open_session(project, "people", project.asker(None))
    event = module.reservation(Fraction(1, 100), Fraction(0))
    id_, _ = module._reserve(comparison_plan(model), event, Fraction(1, 100), session, fresh=True)
    return module._cut(Program(project.curator, session.version, id_), model)


def true_distance(model, own):
    """Counted in Python from the rows themselves."""
    ages = [0 if age < 20 else 1 if age < 40 else 2 for age, _, _ in ROWS]
    codes = [ages, ["FM".index(sex) for _, sex, _ in ROWS], [int(smoker) for _, _, smoker in ROWS]]
    counts = np.zeros([model.attributes[place].size for place in own])
    for cell in zip(*(codes[place] for place in own), strict=True):
        counts[cell] += 1
    return np.abs(counts - model.calibrated.project(own)).sum()


def test_distances_are_those_of_the_rows(project):
    model = model_of(project)
    plan, cut = comparison_plan(model), cut_of(project, model)
    assert plan.sets == ((0, 1), (0, 2), (1, 2)) and plan.groups == ((1,), (0, 2))
    for place, own in enumerate(plan.sets):
        assert exact_distance(cut, plan, place) / PARTS == pytest.approx(true_distance(model, own), abs=0.02)


def test_exact_neighbours_move_distances_by_no_more_than_is_said(tmp_path):
    """With and without one person, of 50 rows of which 5 are kept, on the real engine; the bound is attained."""
    people = [(*row, f"p{number}") for number, row in enumerate(ROWS)]
    person = 'person = "who"\nrows_per_person = 5\n'
    without = make(tmp_path / "without", people, person)
    model = model_of(without)
    plan = comparison_plan(model)
    everything = tuple(range(len(plan.sets)))
    moved = []
    before = cut_of(without, model)
    for name, row in (("far", (99, "F", "")), ("near", (5, "F", "true")), ("other", (30, "M", "true"))):
        project = make(tmp_path / name, [*people, *([(*row, "x")] * 50)], person)
        after = cut_of(project, model)
        assert after.program.moves.l1 == 5
        each = [exact_distance(after, plan, place) - exact_distance(before, plan, place) for place in everything]
        moves = moves_of(5, (everything,))
        assert max(map(abs, each)) <= moves_of(5, ((0,),)).l1 == 5 * PARTS
        assert abs(sum(each)) <= moves.l1 == 3 * 5 * PARTS
        two = moves_of(5, plan.groups)
        sums = [sum(each[place] for place in group) for group in plan.groups]
        assert sum(map(abs, sums)) <= two.l1 and max(map(abs, sums)) <= two.linf
        assert sum(one**2 for one in sums) <= two.l2_squared
        moved.append(abs(sum(each)))
    assert max(moved) == 3 * 5 * PARTS


def test_exact_neighbours_move_each_column_by_no_more_than_is_said(tmp_path):
    """One row more, on the real engine: each column's distance moves by a row at most, and all of them by as many."""
    model = model_of(make(tmp_path / "without", ROWS))
    plan, before = column_plan(model), cut_of(make(tmp_path / "before", ROWS), model)
    assert plan.sets == ((0,), (1,), (2,)) and plan.groups == ((0,), (1,), (2,))
    moves, moved = moves_of(1, plan.groups), []
    for name, row in (("far", (99, "F", "")), ("near", (5, "F", "true")), ("other", (30, "M", "true"))):
        after = cut_of(make(tmp_path / name, [*ROWS, row]), model)
        each = [exact_distance(after, plan, place) - exact_distance(before, plan, place) for place in range(3)]
        assert sum(map(abs, each)) <= moves.l1 and max(map(abs, each)) <= moves.linf
        assert sum(one**2 for one in each) <= moves.l2_squared
        moved.append(sum(map(abs, each)))
    assert max(moved) == moves.l1 == 3 * PARTS


def test_a_comparison_by_an_earlier_version_is_read_back(project, monkeypatch):
    model = model_of(project)
    monkeypatch.setattr(module, "SHARES", module.SHARES_OF_PAIRS)
    first = asked(project, model, Fraction(1))
    monkeypatch.undo()
    rows = project.ledger.state.seq
    assert asked(project, model, Fraction(1)) == first and first.columns == ()
    assert project.ledger.state.seq == rows
    assert len(asked(project, model, Fraction(1), fresh=True).columns) == 3


def test_what_is_paid_is_what_was_asked(project):
    found = asked(project, model_of(project), Fraction(1, 3))
    assert found.epsilon == Fraction(1, 3)
    held = project.ledger.reservation(found.release)
    assert held.event.epsilon == Fraction(1, 3) and held.event.delta == 0
    assert sum(step.loss.epsilon for step in held.steps) == Fraction(1, 3)
    assert [step.loss.epsilon / Fraction(1, 3) for step in held.steps] == [
        SHARES["mean"],
        SHARES["choice"],
        SHARES["worst"],
        SHARES["columns"],
    ]
    assert sum(SHARES.values()) == sum(module.SHARES_OF_PAIRS.values()) == 1


def test_with_a_delta_it_is_paid_in_the_rho_that_converts_to_it(project):
    model = model_of(project)
    found = asked(project, model, Fraction(5), delta=Fraction(1, 10**7))
    held = project.ledger.reservation(found.release)
    rho = rho_from_epsilon(Fraction(5), Fraction(1, 10**7))
    assert (held.event.epsilon, held.event.rho, found.rho) == (None, rho, rho)
    paid = [step.loss.rho / rho for step in held.steps]
    assert paid[0] == SHARES["mean"] and paid[2] == SHARES["worst"] and paid[3] == SHARES["columns"]
    assert SHARES["choice"] - Fraction(1, 10**6) < paid[1] <= SHARES["choice"]
    assert [step.loss.epsilon is None for step in held.steps] == [True, False, True, True]
    assert found.worst == ("sex", "smoker")
    # sigma = sqrt(5 / (2 * rho / 4)) rows, for groups of one and two pairs; beyond 7 sigma once in 10^11 runs.
    slack = 7 * float(10 / rho) ** 0.5 / 1200
    assert abs(found.measured.noisy_value - true_distance(model, (0, 2)) / 1200) < slack
    with pytest.raises(UsageError, match="delta"):
        asked(project, model, Fraction(5), delta=Fraction(1))


def test_answers_are_near_the_truth_and_the_worst_pair_is_found(project):
    """Sex and smoker are 300 rows apart in each of four cells' halves: a wrong choice once in exp(600 * 5 / 2) runs."""
    model = model_of(project)
    found = asked(project, model)
    exact = {own: true_distance(model, own) / 1200 for own in combinations(range(3), 2)}
    assert found.worst == ("sex", "smoker")
    # Noise of scale (3 pairs) / (epsilon / 4) rows over 600: beyond 20 scales once in 10^8 runs.
    slack = 20 * 3 / 2.5 / 1200
    assert abs(found.mean.noisy_value - np.mean(list(exact.values()))) < slack
    assert abs(found.measured.noisy_value - exact[0, 2]) < 3 * slack
    assert abs(found.others.noisy_value - (exact[0, 1] + exact[1, 2]) / 2) < 2 * slack
    assert abs(found.worst_distance.noisy_value - exact[1, 2]) < slack
    # Each column has noise of scale 3 / (epsilon / 8) rows.
    assert [each.column for each in found.columns] == ["age", "sex", "smoker"]
    for place, each in enumerate(found.columns):
        assert abs(each.distance.noisy_value - true_distance(model, (place,)) / 1200) < 2 * slack
    for each in (found.mean, found.measured, found.others, found.worst_distance, found.columns[0].distance):
        assert each.low <= each.noisy_value <= each.high


def test_intervals_hold_the_truth_as_often_as_they_say(project):
    """200 noisy sums by the law itself: 95% of intervals hold; fewer than 170 once in 10^8 runs."""
    model = model_of(project)
    plan, cut = comparison_plan(model), cut_of(project, model)
    law = law_of(cut.program, SHARES["worst"], ((2,),))
    exact = exact_distance(cut, plan, 2)
    moves = moves_of(1, ((2,),))
    hits = 0
    for _ in range(200):
        (noisy,), event = project.curator.add_noise(law, np.array([exact]), moves)
        interval = module._distance(int(noisy), float(law.half_width(module.CONFIDENCE)), 1, model.total)
        hits += interval.low <= exact / (2 * PARTS * model.total) <= interval.high
        assert event.scale == law.scale
    assert hits >= 170


def test_the_same_comparison_again_is_free(project):
    model = model_of(project)
    first = asked(project, model, Fraction(1))
    rows, spent = project.ledger.state.seq, project.budget("people").spent
    assert asked(project, model, Fraction(1)) == first
    assert (project.ledger.state.seq, project.budget("people").spent) == (rows, spent)
    other = model_of(project, total=601.0)
    assert asked(project, other, Fraction(1)).release != first.release
    assert asked(project, model, Fraction(2)).release != first.release
    assert asked(project, model, Fraction(1), fresh=True).release != first.release


def test_another_version_and_an_empty_purse_are_refused_before_a_charge(project):
    model = model_of(project)
    rows = project.ledger.state.seq
    with pytest.raises(UsageError, match="version 7"):
        asked(project, replace(model, card=replace(CARD, version=7)))
    with pytest.raises(UsageError, match="epsilon"):
        asked(project, model, Fraction(0))
    with pytest.raises(BudgetExceeded):
        asked(project, model, Fraction(41))
    assert project.ledger.state.seq == rows


def hostile(model):
    """Models that anybody could write: cells of columns that are not there, of other types, of any code."""
    age, sex, smoker = model.attributes
    edges = (0, 20, 40, 100)
    text = NumberColumn(name="sex", type="integer", low=0, high=99, edges=edges)
    wide = NumberColumn(name="age", type="integer", low=0, high=9999, edges=(0, 20, 40, 10_000))
    other = replace(age, column=replace(age.column, name="salary"))
    yield replace(model, attributes=(age, replace(sex, column=text, edges=(0, 1, 2)), smoker))
    yield replace(model, attributes=(replace(age, column=wide, edges=wide.edges), sex, smoker))
    yield replace(model, attributes=(other, sex, smoker))
    yield replace(model, attributes=(replace(age, of=smoker.axis().of), sex, smoker))
    yield replace(model, attributes=(replace(age, edges=(0, 40, 20, 100)), sex, smoker))
    yield replace(model, attributes=(replace(age, groups=np.array([0, 1, 3, -1])), sex, smoker))
    yield replace(model, attributes=(replace(age, groups=np.array([0, 1, 2, 2])), sex, smoker))
    yield replace(model, attributes=(age, smoker, sex))
    yield replace(model, fitted=fit([4, 2, 3], [], 1e18), measured=())


def test_a_model_that_anybody_wrote_is_refused_before_a_charge(project):
    model = model_of(project)
    rows = project.ledger.state.seq
    for count, made_up in enumerate(hostile(model), start=1):
        with pytest.raises(UsageError):
            asked(project, made_up)
    assert count == 9
    assert project.ledger.state.seq == rows


def test_stored_steps_are_noisy(project):
    """Noise of scale 1,024 * 3 * 4,000 on the sums: exact ones would show about once in ten million runs."""
    model = model_of(project)
    plan, cut = comparison_plan(model), cut_of(project, model)
    found = asked(project, model, Fraction(1, 1000))
    stored = json.loads(project.ledger.answer(f"{found.release}.1"))
    exact = [sum(exact_distance(cut, plan, place) for place in group) for group in plan.groups]
    assert stored[0] != exact[0] and stored[1] != exact[1]


def test_a_model_of_one_column_is_compared_by_it(project):
    model = model_of(project)
    column = model.columns[0]
    values = np.array([200.0, 200, 200, 0])
    measured = (MeasuredMarginal(attributes=(0,), values=values, variance=1.0),)
    alone = replace(
        model,
        columns=(column,),
        attributes=model.attributes[:1],
        measured=measured,
        fitted=fit([4], measured, 600.0),
    )
    found = asked(project, alone)
    assert found.worst == ("age",) and found.others is None
    assert found.mean.noisy_value < 0.1


@pytest.mark.noisy
@pytest.mark.parametrize("kind", ["independent", "mst"])
def test_a_fitted_model_is_inspected_and_compared(project, kind):
    """The whole path: fit, compare, look."""
    wanted = FitRequest(epsilon=Fraction(20), kind=kind)
    model = synthesize(wanted, open_session(project, "people", project.asker(None)))
    report = inspect_model(model, comparison=asked(project, model, Fraction(3)))
    assert "compared with the real table" in report.lines()[-3] and "by themselves" in report.lines()[-1]
    assert "smoker by itself" in report.page()
    assert report.columns == ("age", "sex", "smoker")
    assert report.card.release in report.page()
    assert report.comparison.release in report.page()
    verdicts = {each.columns: each.verdict for each in report.marginals.judged}
    assert verdicts["sex",] == "good"  # 300 rows each, and noise of a few
    if kind == "independent":
        assert verdicts["sex", "smoker"] == "unknown"
        assert report.comparison.worst == ("sex", "smoker")
        assert report.comparison.measured is None
    else:
        assert verdicts["sex", "smoker"] == "good"


@pytest.mark.noisy
def test_columns_that_were_bought_are_compared_too(tmp_path):
    """Text whose values were found, a number whose bounds were: their cells are those of the declared columns."""
    folder = tmp_path / "shop"
    folder.mkdir()
    lines = [f"{number % 50},{['tea', 'coffee'][number % 2]}" for number in range(2000)]
    columns = {"price": 'type = "integer"', "drink": 'type = "text"'}
    project = open_project(folder, columns, lines, budget="{ epsilon = 60, delta = 1e-6 }")
    model = synthesize(
        FitRequest(epsilon=Fraction(20), kind="mst"),
        open_session(project, "people", project.asker(None)),
    )
    assert {each.name for each in model.attributes} == {"price", "drink"}
    found = asked(project, model, Fraction(2))
    assert set(found.worst) == {"price", "drink"}
    assert found.mean.low < 0.2
    assert found.release in inspect_model(model, comparison=found).page()
