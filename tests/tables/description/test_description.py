"""A description: one charge, all that it draws within it, nothing shown that noise could be, and killed ones go on."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.answers.bounds import program_purchase
from discreet.engines.person_keys import PersonKeys
from discreet.errors import BudgetExceeded, UsageError
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.program import Program
from discreet.mechanisms.bits import system
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.weighted_threshold import WeightedThreshold, delta_of
from discreet.plan.price import Discover
from discreet.project.project import Project
from discreet.schema.column import NumberColumn
from discreet.tables.description import description_release
from discreet.tables.description.description import QUANTILES, quantiles_of
from discreet.tables.description.description_plan import CONFIDENCE, DescriptionPlan
from tiers import size

CITIES = ("Oslo", "Rome", "Paris")


def lines(count, *, per_person=1):
    made = random.Random(4)
    return [
        f"p{n // per_person},{min(104, max(0, round(made.gauss(50, 18))))},{made.choice(CITIES)},"
        f"{made.lognormvariate(5, 1):.2f},{made.choice(['true', 'false', ''])},{int(made.random() < 0.08)}"
        for n in range(count)
    ]


def open_project(folder, rows, *, epsilon=1000, delta=None, person=None, per_person=1):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "visits.csv").write_text("\n".join(["who,age,city,cost,smoker,flag", *rows]) + "\n")
    project = Project.make(folder / "project", epsilon=epsilon, delta=delta)
    project.add(folder / "visits.csv", name="visits", person=person, rows_per_person=per_person if person else None)
    return project


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """Persons with two rows, described at an epsilon at which noise is next to nothing."""
    project = open_project(
        tmp_path_factory.mktemp("told"), lines(3000, per_person=2), delta="1e-5", person="who", per_person=2
    )
    return project, project.describe("visits", epsilon=200)


@pytest.mark.noisy
def test_at_a_large_epsilon_it_is_the_truth(described):
    _, made = described
    rows = [line.split(",") for line in lines(3000, per_person=2)]
    assert abs(made.rows.value - 3000) < 30 and abs(made.persons.value - 1500) < 20
    ages = np.array([int(row[1]) for row in rows])
    age = made.column("age")
    assert -20 <= age.low <= 0 and ages.max() <= age.high < 210  # noise moves an end now and then
    for each in age.quantiles:
        exact = np.quantile(ages, float(each.fraction), method="inverted_cdf")
        assert each.low <= exact <= each.high and abs(each.value - exact) <= 4
    city = made.column("city")
    assert [cell.label for cell in city.cells] == sorted(CITIES)
    for cell in city.cells:
        assert cell.share(made.rows) == pytest.approx(sum(row[2] == cell.label for row in rows) / 3000, abs=0.02)
    smoker = made.column("smoker")
    assert smoker.nulls.value == pytest.approx(sum(row[4] == "" for row in rows), abs=30)
    flag = made.column("flag")
    assert (flag.low, flag.high) == (0, 1) and len(flag.cells) == 2
    assert made.column("cost").low == 0 and made.column("cost").others.high < 150


def test_it_is_one_charge_and_the_same_again_is_free(described):
    project, made = described
    (charge,) = project.ledger.refresh().charges.values()
    assert charge.id == made.release and not made.cached
    again = project.describe("visits", epsilon="200")
    assert again.cached and again.columns == made.columns and again.rows == made.rows
    assert again.to_data()["cost"]["epsilon"] == 0
    assert len(project.ledger.refresh().charges) == 1
    recalled = project.recall(made.release)
    assert recalled.kind == "description" and recalled.lacks is None


def test_what_is_drawn_is_within_what_is_charged_and_uses_it_up(described):
    project, made = described
    reservation = project.ledger.reservation(made.release)
    losses, event = [step.loss for step in reservation.steps], reservation.event
    assert event.epsilon == 200  # so large that Laplace noise is cheaper
    assert 0 <= event.epsilon - sum(loss.epsilon for loss in losses) < event.epsilon / 10**6
    assert 0 < sum(loss.delta for loss in losses) <= event.delta


@pytest.mark.noisy  # which values of a category are found depends on noise, and with it which cells there are
def test_every_axis_and_count_moves_by_one_persons_rows(tmp_path, monkeypatch):
    """On the real engine, with and without a person of three rows: attained, and never more."""
    monkeypatch.setattr(PersonKeys, "at", lambda _, **__: PersonKeys(rows=bytes(32), tags=bytes(32)))
    rows, counts, moves = lines(300, per_person=3), [], []
    measure, run = BinnedTable.measure, Program.run

    def look(table, sets, laws, **more):
        counts.append([table._count(own) for own in sets])
        moves.append(table.program.moves)
        return measure(table, sets, laws, **more)

    def look_at_price(program, price):
        if not any(isinstance(step, Discover) for step in price.steps):
            tables = program._curator.tables(price, [program.version], {})
            found = [
                program._curator._count(step.cells, price, tables)[0] for step in price.steps if hasattr(step, "moves")
            ]
            counts.append(found)
            moves.append([step.moves[0] for step in price.steps if hasattr(step, "moves")])
        return run(program, price)

    monkeypatch.setattr(BinnedTable, "measure", look)
    monkeypatch.setattr(Program, "run", look_at_price)
    monkeypatch.setattr(
        description_release, "find_ends", lambda program, names, share: fixed_ends(program, names, share)
    )
    seen = []
    for name, kept in (("all", rows), ("less", rows[3:])):
        counts.clear(), moves.clear()
        project = open_project(tmp_path / name, kept, delta="1e-5", person="who", per_person=3)
        project.describe("visits", epsilon=1)
        seen.append(([list(map(np.array, each)) for each in counts], list(moves)))
    (whole, moved), (less, _) = seen
    assert [[each.shape for each in x] for x in whole] == [[each.shape for each in x] for x in less]
    gaps = [[np.abs(a - b).sum() for a, b in zip(x, y, strict=True)] for x, y in zip(whole, less, strict=True)]
    assert gaps[0] == [3] and moved[0][0].l1 == 3  # rows
    assert gaps[1] == [1] and moved[1][0].l1 == 1  # persons
    assert set(gaps[-1]) == {3} and moved[-1].l1 == 3 and moved[-1].l2_squared == 9  # histograms
    assert all(gap <= move.l1 for gap, move in zip(gaps[2], moved[2], strict=True))  # magnitudes, by persons
    assert max(gaps[2]) == 1


def fixed_ends(program, names, share):
    """The steps as they are, but with ends that do not depend on noise: then both sides count the same cells."""
    from dataclasses import replace

    found = program_purchase.find_ends(program, names, share=share)
    return [replace(each, low=0, high=1000, is_known=True) for each in found]


@pytest.mark.parametrize("part", ["twice", "one row", "counts"])
def test_noise_that_is_too_small_is_refused_by_the_ledger(tmp_path, monkeypatch, part):
    """Planted: histograms measured twice as finely as paid for, or as if a person had one row; counts for too much."""
    law = DescriptionPlan.law
    if part == "twice":
        monkeypatch.setattr(DescriptionPlan, "law", lambda plan, share, rows=None: law(plan, 2 * share, rows=rows))
    elif part == "one row":
        monkeypatch.setattr(DescriptionPlan, "law", lambda plan, share, rows=None: law(plan, share, rows=1))
    else:
        monkeypatch.setattr(DescriptionPlan, "count_share", property(lambda plan: Fraction(1, 2)))
    project = open_project(tmp_path, lines(60, per_person=2), person="who", per_person=2)
    with pytest.raises(UsageError, match="beyond what"):
        project.describe("visits", epsilon=1)


def test_a_threshold_that_is_too_low_is_refused_by_the_ledger(tmp_path, monkeypatch):
    """Planted: words that fewer persons share than delta allows."""
    known = WeightedThreshold.within

    def lower(**more):
        found = known(**more)
        threshold = found.threshold // 2
        chance = delta_of(found.noise, keys_per_person=found.keys_per_person, threshold=threshold)
        return replace(found, threshold=threshold, delta=chance)

    monkeypatch.setattr(WeightedThreshold, "within", staticmethod(lower))
    project = open_project(tmp_path, lines(60), delta="1e-5")
    with pytest.raises(UsageError, match="beyond what"):
        project.describe("visits", epsilon=1)


def test_a_killed_one_goes_on_under_the_same_charge(tmp_path, monkeypatch):
    project = open_project(tmp_path, lines(400), delta="1e-5")
    with monkeypatch.context() as patch:
        patch.setattr(description_release._Drawing, "_columns", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            project.describe("visits", epsilon=3)
    (charge,) = project.ledger.refresh().charges
    assert project.recall(charge).kind == "unfinished"
    before = [step.id for step in project.ledger.reservation(charge).steps]
    made = project.describe("visits", epsilon=3)
    assert made.release == charge and list(project.ledger.refresh().charges) == [charge]
    assert [step.id for step in project.ledger.reservation(charge).steps][: len(before)] == before
    assert project.recall(charge).kind == "description"


def test_the_plan_is_free_and_the_same_for_all_data(tmp_path):
    plans = []
    for name, rows in (("few", lines(3)), ("many", lines(400))):
        project = open_project(tmp_path / name, rows, delta="1e-5")
        project.refresh("visits")
        plans.append(project.describe_plan("visits", epsilon=1).to_data())
        assert not project.ledger.refresh().charges
    assert plans[0] == plans[1]
    assert any("fewer than about" in note and "bounds" in note for note in plans[0]["notes"])
    assert {each["source"] for each in plans[0]["columns"]} == {"bought", "declared", "words"}


def test_it_is_as_exact_as_the_plan_says(tmp_path):
    project = open_project(tmp_path, lines(400))
    plan = project.describe_plan("visits", epsilon=5)
    made = project.describe("visits", epsilon=5)
    for planned, column in zip(plan.columns, made.columns, strict=True):
        assert column.name == planned.column.name
        for cell in column.cells:
            assert cell.number.plus_minus <= plan.histogram_law(planned).half_width(CONFIDENCE)
    assert made.rows.plus_minus == plan.to_data()["rows_plus_minus"]


def test_columns_are_shown_as_the_file_has_them(described):
    assert [each.name for each in described[1].columns] == ["age", "city", "cost", "smoker", "flag"]


@pytest.mark.noisy
def test_an_empty_table_shows_nothing(tmp_path):
    """At an epsilon of 1, with 95% for each thing that is shown: hardly anything, and then by chance."""
    project = open_project(tmp_path, [], delta="1e-5")
    made = project.describe("visits", epsilon=1)
    shown = sum(len(column.common) for column in made.columns)
    assert shown <= 4  # each of some six lists shows one with 5% at most
    assert not made.column("city").cells
    assert all(quantile.is_below_noise for column in made.columns for quantile in column.quantiles) or shown
    data = made.to_data()
    assert all(cell["value"] is None for column in data["columns"] for cell in column["cells"] if cell["below_noise"])
    assert any("to make sense" in note for note in made.notes)


def test_without_a_delta_words_are_not_possible_and_that_is_said(tmp_path):
    project = open_project(tmp_path, lines(400), delta="1e-5")
    made = project.describe("visits", epsilon=20, delta=0)
    city = made.column("city")
    assert city.source == "none" and not city.cells and city.nulls is not None
    assert any("needs a delta" in note for note in made.notes)
    assert made.cost.delta == 0 and made.cost.epsilon == 20


def test_a_refusal_offers_what_fits(tmp_path):
    for delta in (None, "1e-5"):
        project = open_project(tmp_path / str(delta), lines(60), epsilon=2, delta=delta)
        with pytest.raises(BudgetExceeded) as refused:
            project.describe("visits", epsilon=50)
        offer = re.search(r"epsilon[= ]([0-9.]+)", str(refused.value.hint))[1]
        assert not project.ledger.refresh().charges
        project.describe("visits", epsilon=offer)


@pytest.mark.noisy
def test_only_what_is_not_declared_is_written(described, tmp_path):
    project = open_project(tmp_path, lines(900), delta="1e-5")
    text = (project.folder / "discreet.toml").read_text()
    text = text.replace("[tables.visits.columns.age]\n", "[tables.visits.columns.age]\nlow = 3\n")
    (project.folder / "discreet.toml").write_text(text)
    project = Project(project.folder)
    made = project.describe("visits", epsilon=100)
    names = project.declare_described(made)
    assert set(names) == {"age", "city", "cost", "flag"}
    columns = project.file.raw["visits"]["columns"]
    assert columns["age"]["low"] == 3 and columns["age"]["high"] >= 100 and columns["age"]["measured"] > 0
    assert columns["city"]["type"] == "category" and columns["city"]["values"] == sorted(CITIES)
    assert (columns["flag"]["low"], columns["flag"]["high"]) == (0, 1)
    assert "measured" not in columns["smoker"]
    assert project.declare_described(made) == []
    project.refresh("visits")
    later = project.describe("visits", epsilon=100)
    assert {each.name for each in later.columns if each.source != "declared"} == {"who"} and not later.settings


@pytest.mark.noisy
def test_intervals_of_quantiles_hold_the_quantile():
    """95% by 400 draws of noise over a skew histogram: fewer than 88% has a chance of about one in a thousand."""
    generator, law = np.random.default_rng(1), DiscreteLaplace(scale=Fraction(20))
    values = np.sort((generator.gamma(2, 100, 4000)).astype(int))
    edges = tuple(range(0, 1601, 50))
    counts = np.diff(np.searchsorted(values, [*edges[:-1], 10**6]))
    column = NumberColumn(name="x", type="integer", low=0, high=1599)
    hits = np.zeros(len(QUANTILES))
    draws = size(150, 400)
    for _ in range(draws):
        noisy = counts + law.draw(len(counts), bits=system())
        for place, each in enumerate(quantiles_of(column, edges, noisy, law)):
            exact = np.quantile(values, float(each.fraction), method="inverted_cdf")
            hits[place] += each.low <= exact <= each.high
    assert (hits / draws > 0.88).all()


def test_a_table_without_columns_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("who\n1\n")
    project = Project.make(tmp_path / "p", epsilon=1)
    project.add(tmp_path / "t.csv", name="t", person="who")
    with pytest.raises(UsageError):
        project.describe("t", epsilon=1)
