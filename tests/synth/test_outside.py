"""Rows outside bought bounds: counted apart, taken in where they are seen, and never lost in silence."""

from __future__ import annotations

import os
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.events import ReservationEvent
from discreet.answers.bounds.end_search import DISLIKE, MOST_DISLIKE, MOST_STEP, EndSearch
from discreet.answers.bounds.round_bounds import first_code, last_code
from discreet.answers.whole_table_charge import charge_whole_table
from discreet.inference.fit import MeasuredMarginal
from discreet.inference.fit import fit as fit_of
from discreet.kernel.binned_table import BinnedTable
from discreet.kernel.program import Program
from discreet.kernel.project_session import open_session
from discreet.schema.column import MOST_CODE, MomentColumn, NumberColumn
from discreet.synth import first_histograms
from discreet.synth.constraint_bounds import open_ended_attribute
from discreet.synth.first_histograms import MOST_BINS
from discreet.synth.inspect import inspect_model
from discreet.synth.outside_rows import OutsideCells, widen_bounds
from synth.inspect_tables import model_of
from synth.worlds import SEX, fit, open_project

WHOLE = NumberColumn(name="x", type="integer")
DAY = MomentColumn(name="x", type="date")
BUDGET = "{ epsilon = 100000, delta = 1e-4 }"
#: Beyond every noisy count, and below every one.
NEVER, ALWAYS = [1e18] * 70, [-1e18] * 70


def search(column=WHOLE, wanted=("low", "high"), low=0, high=3):
    return EndSearch(column=column, missing_ends=wanted, codes={}, low=low, high=high)


@pytest.mark.parametrize("column", [WHOLE, DAY])
@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 1), (-7, 12), (1000, 1000), (-MOST_CODE, MOST_CODE)])
@pytest.mark.parametrize("wanted", [("low", "high"), ("low",), ("high",)])
def test_cells_hold_every_code_once_and_reach_to_where_codes_end(column, low, high, wanted):
    low, high = max(low, first_code(column)), min(high, last_code(column))
    outside = OutsideCells.of(search(column, wanted, low, high))
    axis = outside.axis()
    assert all(a < b for a, b in zip(axis.edges, axis.edges[1:], strict=False))
    assert axis.size == len(outside.below) + len(outside.above)  # with the bounds themselves, and NULL
    far = outside.moved_bounds(np.zeros(axis.size, dtype=np.int64), ALWAYS)
    assert far == (
        first_code(column) if "low" in wanted else outside.low,
        last_code(column) if "high" in wanted else outside.high,
    )


def test_ends_move_to_the_last_cell_that_holds_rows():
    outside = OutsideCells.of(search())  # 0 to 3; above: 4-5, 6-7, 8-11, ...; below: -2 to -1, -4 to -3, ...
    counts = np.zeros(outside.axis().size, dtype=np.int64)
    counts[len(outside.below) + 1] = 90  # 6-7
    counts[len(outside.below) - 2] = 60  # -2 to -1
    counts[-1] = 500  # NULL
    assert outside.moved_bounds(counts, [50] * 70) == (-2, 7)
    assert outside.moved_bounds(counts, [70] * 70) == (0, 7)
    assert outside.moved_bounds(counts, [100] * 70) == (0, 3)


@pytest.mark.parametrize(("value", "found"), [(0, (0, 1)), (7, (7, 8)), (-7, (-7, -6))])
def test_one_value_gets_a_neighbour(value, found):
    outside = OutsideCells.of(search(low=value, high=value))
    counts = np.zeros(outside.axis().size, dtype=np.int64)
    assert outside.moved_bounds(counts, NEVER) == found
    counts[len(outside.below) - 2] = 5  # more rows seem to be below
    assert outside.moved_bounds(counts, NEVER) == ((0, 1) if value == 0 else (value - 1, value))
    below = OutsideCells.of(search(wanted=("low",), low=value, high=value))
    assert below.moved_bounds(np.zeros(below.axis().size, dtype=np.int64), NEVER) == (value - 1, value)


def test_a_step_between_few_candidates_costs_little():
    for size in (2, 3, 10, 63, 64, 1000):
        choice = search(high=size - 1).mechanism("high", epsilon=Fraction(1), rows=1)
        step = choice.dislikes[1] - choice.dislikes[0]
        assert step == min(MOST_STEP, Fraction(DISLIKE, size))
    few = replace(search(high=999), noisy_rows=200).mechanism("high", epsilon=Fraction(1), rows=1)
    assert few.dislikes[-1] <= 200 * MOST_DISLIKE  # a 40th of the rows weighs as much as the whole way


def program_of(project):
    """A reservation of rho 1 on the table, without a fit."""
    session = open_session(project, "people", project.asker(None))
    event = ReservationEvent(epsilon=None, rho=Fraction(1), delta=Fraction(0))
    id_ = charge_whole_table(session, event, question="0" * 64, price=Fraction(1))
    return Program(project.curator, session.version, id_)


@pytest.mark.thin(1)
@pytest.mark.parametrize("limit", [1, 3])
def test_one_person_moves_the_counts_outside_by_their_rows(tmp_path, limit):
    """On the real engine, with and without a person; and the step costs the share that it is given, no more."""
    outside, counts = OutsideCells.of(search(low=-5, high=5)), []
    people = [f"p{n // limit},{n * n % 977 - 300}" for n in range(300 * limit)]
    for name, lines in (("all", people), ("less", people[:-limit])):
        (tmp_path / name).mkdir()
        table = f'person = "who"\nrows_per_person = {limit}'
        columns = {"who": None, "x": 'type = "integer"'}
        program = program_of(open_project(tmp_path / name, columns, lines, table=table, budget=BUDGET))
        counts.append(BinnedTable(program, (outside.axis(),))._count((0,)))
        assert counts[-1].sum() == len(lines)
        widen_bounds(program, [outside], share=Fraction(1, 100))
        assert program.share_left == Fraction(99, 100) and program.shares == {"describing": Fraction(1, 100)}
        assert program.moves.l1 == limit
    assert np.abs(counts[0] - counts[1]).sum() == limit  # attained


def shares_of_ones(folder, *, rows, ones, fits, epsilon="1", budget=BUDGET):
    """Fits of 0/1 columns without bounds, with these numbers of ones: the share of ones in each, and what is said."""
    columns = {f"b{count}": 'type = "integer"' for count in ones}
    lines = [",".join("1" if n < count else "0" for count in ones) for n in range(rows)]
    project = open_project(folder, columns | {"sex": SEX}, [f"{line},F" for line in lines], budget=budget)
    for _ in range(fits):
        model = fit(project, epsilon=epsilon, fresh=True)
        verdicts = {each.columns: each.verdict for each in inspect_model(model).marginals.judged}
        for name, count in zip(columns, ones, strict=True):
            attribute = model.attributes[model.place(name)]
            counts = model.project([name]).counts
            held = attribute.groups[[code - attribute.edges[0] for code in (0, 1)]]
            yield count, attribute, counts[held[1]] if held[0] != held[1] else None, verdicts[(name,)]


def test_columns_of_zeros_and_ones_never_collapse(tmp_path):
    """480 ones are more than 9 sd of the noise on what lies outside: lost with a chance below 1e-12; before, as a rule."""
    for count, attribute, found, _ in shares_of_ones(tmp_path, rows=6000, ones=[60, 480, 1020, 3000], fits=2):
        assert len(attribute.edges) > 2
        if count >= 480:
            assert attribute.edges[0] <= 0 and attribute.edges[-1] >= 2
        if count >= 1020 and len(attribute.edges) <= MOST_BINS:
            assert abs(found - count) < 500  # more than 20 sd


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("rows", [1000, 3000, 30_000])
def test_many_columns_of_zeros_and_ones_never_collapse(tmp_path, rows):
    """A few fits of few rows may take -1 for the second value, where 1 is as rare: those are unknown, never good."""
    ones = [round(rows * share) for share in (0.08, 0.17, 0.5)]
    fits = 40 * int(os.environ.get("DISCREET_FUZZ", "1"))
    lost = wrong = 0
    for count, attribute, found, verdict in shares_of_ones(tmp_path, rows=rows, ones=ones, fits=fits):
        gone = attribute.edges[-1] < 2
        lost += gone
        wrong += gone and verdict in ("good", "partly") and count > 0.06 * rows
        assert len(attribute.edges) > 2
        assert found is None or found < rows
    assert lost <= 0.1 * 3 * fits and wrong <= 2


def test_what_may_lie_outside_is_unknown_until_noise_rules_it_out(tmp_path, monkeypatch):
    column = {"x": 'type = "integer"', "sex": SEX}
    project = open_project(tmp_path, column, [f"{n % 9},F" for n in range(5000)], budget=BUDGET)
    known = first_histograms._most_outside
    sure = fit(project, epsilon="4")
    assert sure.card.doubtful == () and 0 <= sure.card.outside["x"] < 0.05 * sure.total  # 250 rows: more than 20 sd
    monkeypatch.setattr(first_histograms, "_most_outside", lambda attribute, own: 10 * known(attribute, own) + 400)
    model = fit(project, epsilon="4")
    assert model.card.repeat and model.card.doubtful == ("x",)
    report = inspect_model(model)
    assert {each.verdict for each in report.marginals.judged if "x" in each.columns} == {"unknown"}
    assert {each.expected_distance for each in report.marginals.judged if "x" in each.columns} == {None}
    assert any("may be too narrow" in warning for warning in model.card.warnings)
    assert any("may be too narrow" in line for line in report.lines())
    assert "Measured bounds that may be too narrow" in report.page()


def test_the_limit_on_rows_outside_is_what_was_counted_there_and_its_noise():
    attribute = open_ended_attribute(WHOLE, 0, 2)  # counted: below, 0, 1, 2, above, NULL
    own = first_histograms.NoisyHistogram(values=np.array([7.0, 100, 200, 300, 20, 40]), variance=4.0)
    assert attribute.fine_of_counted().tolist() == [0, 0, 1, 2, 2, 3]
    assert first_histograms._most_outside(attribute, own) == pytest.approx(27 + first_histograms.LIMIT * 2 * 2**0.5)
    assert first_histograms._cells_in_use(attribute, own).tolist() == [True] * 6
    assert first_histograms._cells_in_use(attribute, replace(own, variance=25.0)).tolist() == [
        False,
        True,
        True,
        True,
        True,
        True,
    ]


def test_rows_outside_widen_what_is_said_of_the_ends():
    column, data = NumberColumn(name="x", type="integer", low=0, high=8), np.arange(5000)[:, None] % 9
    model = model_of([column], data, [], sd=3, generator=np.random.default_rng(1))
    before = inspect_model(model)
    after = inspect_model(replace(model, card=replace(model.card, outside={"x": 300.0})))
    moved = np.subtract(after.histograms[0].plus_minus, before.histograms[0].plus_minus)
    assert moved == pytest.approx([300, *[0] * 7, 300, 0])
    widths = [{each.condition: each.plus_minus for each in one.questions[0].predicates} for one in (before, after)]
    assert widths[1]["at most 0"] == pytest.approx(widths[0]["at most 0"] + 300)
    assert widths[1]["= 4"] == pytest.approx(widths[0]["= 4"])


def test_a_page_is_drawn_where_all_values_are_rare():
    """It crashed: there is no bin whose width could be drawn."""
    column, data = NumberColumn(name="x", type="integer", low=0, high=2), np.arange(50)[:, None] % 3
    model = model_of([column], data, [], sd=1, generator=np.random.default_rng(1))
    one = model.attributes[0].with_groups(np.zeros(4, dtype=np.int64), np.ones(4))
    whole = MeasuredMarginal(attributes=(0,), values=np.array([50.0]), variance=1.0)
    merged = replace(model, attributes=(one,), measured=(whole,), fitted=fit_of((1,), [whole], 50.0))
    assert "4 rare values" in inspect_model(merged).page()
