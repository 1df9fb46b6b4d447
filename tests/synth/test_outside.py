"""Rows outside bought bounds: counted apart, taken in where they are seen, and never lost in silence."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from types import SimpleNamespace

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
from discreet.plan.cells import Axis
from discreet.schema.column import MOST_CODE, MomentColumn, NumberColumn
from discreet.schema.value_format import MomentFormat
from discreet.sql.typed_expression import column_expression
from discreet.synth import first_histograms, seen_cells
from discreet.synth.constraint_bounds import open_ended_attribute
from discreet.synth.fine_cells import shape_cells
from discreet.synth.inspect import inspect_model
from discreet.synth.noisy_histogram import HistogramPair, NoisyHistogram
from discreet.synth.outside_rows import open_attribute, zoom, zoomed_edges
from discreet.synth.seen_cells import unseen_cells
from synth.inspect_tables import model_of
from synth.worlds import SEX, fit, open_project
from tiers import fuzzed

WHOLE = NumberColumn(name="x", type="integer")
DAY = MomentColumn(name="x", type="date")
BUDGET = "{ epsilon = 100000, delta = 1e-4 }"


def search(column=WHOLE, wanted=("low", "high"), low=0, high=3):
    return EndSearch(column=column, missing_ends=wanted, codes={}, low=low, high=high)


@pytest.mark.parametrize("column", [WHOLE, DAY])
@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 1), (-7, 12), (1000, 1000), (-MOST_CODE, MOST_CODE)])
@pytest.mark.parametrize("wanted", [("low", "high"), ("low",), ("high",)])
def test_cells_widen_away_from_the_bounds_and_end_where_codes_do(column, low, high, wanted):
    low, high = max(low, first_code(column)), min(high, last_code(column))
    declared = {end: value for end, value in (("low", low), ("high", high)) if end not in wanted}
    attribute = open_attribute(search(replace(column, **declared), wanted, low, high))
    edges, (below, above) = attribute.edges, attribute.outer
    assert all(a < b for a, b in pairwise(edges))
    assert edges[0] >= first_code(column) and edges[-1] <= last_code(column) + 1
    assert edges[below] <= low and edges[len(edges) - 1 - above] > high  # between them lie the bounds, rounded
    assert (below == 0) == ("low" not in wanted or low == first_code(column))
    assert (above == 0) == ("high" not in wanted or high == last_code(column))
    assert {"low": edges[0], "high": edges[-1] - 1}.items() >= declared.items()


def test_years_of_two_digits_stay_in_their_century():
    born = MomentColumn(name="born", type="date", format=MomentFormat(words="%m/%d/%y"))
    attribute = open_attribute(search(born, low=0, high=20_000))
    assert [born.label(code) for code in (attribute.edges[0], attribute.edges[-1] - 1)] == ["1969-01-01", "2068-12-31"]


def outside_counts(inner, above):
    """Open codes 0 to 3 with noisy counts, none below them; what is seen of them, with noise of sd 10."""
    attribute = open_attribute(search(wanted=("high",), high=3))
    counts = np.array([*inner, *above, *[0] * (attribute.outer[1] - len(above)), 0.0])
    own = NoisyHistogram(values=counts, variance=100.0)
    return (~unseen_cells(attribute, counts, own)).tolist()[:-1]


def test_cells_outside_are_seen_where_noise_does_not_explain_them():
    assert outside_counts([900, 900, 900, 900], [20])[4] is False  # beside many, rows have ended
    assert outside_counts([900, 900, 900, 50], [20])[4] is True  # beside few, they may go on
    assert outside_counts([900, 900, 900, 900], [40])[4] is True
    assert outside_counts([900, 900, 900, 900], [0, 0, 0, 0, 45])[8] is False  # the farther, the harder
    assert outside_counts([900, 900, 900, 900], [0, 0, 0, 0, 99])[8] is True


def short_ends(column, draw, bounds, *, rows=5000, fits=40, laplace=False):
    """Of so many noisy histograms of a column with these bounds, how many have no weight beyond the 99th percentile."""
    short = 0
    for seed in range(fits):
        generator = np.random.default_rng(seed)
        attribute = shape_cells(open_attribute(search(column, low=bounds[0], high=bounds[1])))
        values = np.rint(draw(generator, rows)).astype(int)
        exact = np.histogram(values, bins=[-(10**9), *attribute.edges, 10**9])[0]
        noise = (
            generator.laplace(scale=18 / 2**0.5, size=len(exact)) if laplace else generator.normal(0, 18, len(exact))
        )
        own = NoisyHistogram(values=np.append(np.rint(exact + noise), 0.0), variance=18.0**2, is_laplace=laplace)
        pair = HistogramPair(deciding=own, counting=own)
        found = first_histograms.group_cells([attribute], SimpleNamespace(merged=lambda groups: None), [pair])
        drawn = np.flatnonzero(found.attributes[0].weights[:-1] > 0)
        short += attribute.edges[drawn[-1] + 1] - 1 < np.quantile(values, 0.99)
        short += attribute.edges[drawn[0]] > np.quantile(values, 0.01)
    return short


def normal(generator, rows):
    return generator.normal(171, 9.5, rows)


def waiting(generator, rows):
    return generator.exponential(400, rows)


@pytest.mark.thin(1)
@pytest.mark.parametrize("laplace", [False, True])
def test_bounds_reach_the_tails_that_noise_hides(monkeypatch, laplace):
    """The seeds are fixed; 1.4% of the rows lie beyond the bound. Planted faults: nothing lies beyond what is seen, and
    no tail goes on outside."""
    assert short_ends(WHOLE, normal, (140, 230), laplace=laplace) == 0
    outside = (WHOLE, waiting, (0, 1700))
    found = short_ends(*outside, laplace=laplace)
    assert found <= 4  # of 40 upper ends; low ones are at 0
    with monkeypatch.context() as patched:
        patched.setattr(seen_cells, "CERTAIN", -100.0)
        assert short_ends(*outside, laplace=laplace) > found + 8
    monkeypatch.setattr(seen_cells, "GOES_ON", 1.0)
    assert short_ends(*outside, laplace=laplace) > found + 8


def test_an_end_goes_on_by_the_curve_of_the_rows_before_it(monkeypatch):
    """1.7% of a normal law lie below the bound, which is above 0: noise of 18 hides these 43 rows of 2,500."""

    def weights(generator, rows):
        return generator.normal(760, 170, rows)

    found = short_ends(WHOLE, weights, (400, 1700), rows=2500)
    assert found <= 7  # of 40 lower ends; upper ones lie within the bounds
    monkeypatch.setattr(
        seen_cells, "rows_beyond", lambda noisy, edges, sd, by_octaves: np.zeros(len(edges) - 1 - len(noisy))
    )
    assert short_ends(WHOLE, weights, (400, 1700), rows=2500) > found + 8


def test_few_rows_beside_a_sharp_end_belong_to_it(monkeypatch):
    """Nobody is 17; 1.5% of the rows are 18, and many are 19."""
    counts = np.array([3.0, -20, 5, 60, 200, 300, 250, 180, -4, 2])
    assert seen_cells.seen_range(counts, 24.0, margin=1 / 4).first == 3
    monkeypatch.setattr(seen_cells, "NEXT", 100.0)
    assert seen_cells.seen_range(counts, 24.0, margin=1 / 4).first == 4


def test_a_rare_code_is_not_lost_among_codes_that_nobody_has(monkeypatch):
    """What is rare is counted together, and is below the noise of so many cells; one of them stands out alone."""
    attribute = open_attribute(search(wanted=("high",), high=7))
    counts = np.array([900.0, 800, 700, 450, 27, -30, -25, -20, *[0] * attribute.outer[1], 0.0])
    groups = np.array([0, 1, 2, 3, *[4] * (attribute.fine - 5), 5])
    own = NoisyHistogram(values=counts, variance=100.0)

    def is_lost():
        return bool(seen_cells.unseen_together(attribute, groups, counts, own)[4])

    assert not is_lost()
    monkeypatch.setattr(seen_cells, "ALONE", 1e-9)
    assert is_lost()


def test_nothing_goes_on_below_zero_by_itself():
    """Rows fall towards 0, where they end."""
    attribute = open_attribute(search(replace(WHOLE, type="decimal"), low=0, high=9999))
    below, above = attribute.outer
    inner = np.linspace(10, 60, len(attribute.edges) - 1 - below - above)
    counts = np.concatenate([np.full(below, 20.0), inner, np.zeros(above), [0.0]])
    unseen = unseen_cells(attribute, counts, NoisyHistogram(values=counts, variance=100.0))
    assert unseen[:below].all()
    moved = replace(attribute, edges=tuple(edge - 5000 for edge in attribute.edges))
    assert not unseen_cells(moved, counts, NoisyHistogram(values=counts, variance=100.0))[below - 1]


def test_a_code_that_a_bound_left_out_has_a_cell_of_its_own():
    attribute = open_attribute(search(wanted=("high",), low=0, high=64))
    assert {72, 73} <= set(attribute.edges)
    assert open_attribute(search(low=3, high=64)).edges[open_attribute(search(low=3, high=64)).outer[0]] == 0


def test_null_below_its_noise_is_nobodys(monkeypatch):
    """A planted fault, that NULL is always kept, is seen."""
    attribute = open_attribute(search(wanted=("high",), high=3))

    def is_null_drawn(null):
        counts = np.array([0.0, 900, 800, 700, 600, *[0] * (attribute.outer[1] + 1), null])
        own = NoisyHistogram(values=counts, variance=100.0)
        pair = HistogramPair(deciding=own, counting=own)
        found = first_histograms.group_cells([attribute], SimpleNamespace(merged=lambda groups: None), [pair])
        assert found.measured[0].values.shape == found.sizes
        return found.attributes[0].weights[-1] > 0

    assert not is_null_drawn(15.0) and is_null_drawn(80.0)
    for chance in ("NULL_SEEN", "SEEN"):
        monkeypatch.setattr(seen_cells, chance, 0.2)
    assert is_null_drawn(15.0)


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


@pytest.mark.noisy  # in one of 150 runs noise lifts a cell near the end of the 480 that are looked at
@pytest.mark.thin(1)
@pytest.mark.parametrize("limit", [1, 3])
def test_one_person_moves_the_counts_of_a_closer_look_by_their_rows(tmp_path, limit):
    """On the real engine, with and without a person; and the step costs the share that it is given, no more."""
    wide, counts = search(replace(WHOLE, name="x"), low=5000, high=15_000), []
    people = [f"p{n // limit},{n * n % 977 + 9700}" for n in range(300 * limit)]
    for name, lines in (("all", people), ("less", people[:-limit])):
        (tmp_path / name).mkdir()
        table = f'person = "who"\nrows_per_person = {limit}'
        columns = {"who": None, "x": 'type = "integer"'}
        program = program_of(open_project(tmp_path / name, columns, lines, table=table, budget=BUDGET))
        axis = Axis(of=column_expression(wide.column).expression, edges=zoomed_edges(wide), null=False, labels=())
        counts.append(BinnedTable(program, (axis,))._count((0,)))
        assert counts[-1].sum() == len(lines)
        near = zoom(program, [wide], share=Fraction(1, 2))[0].search
        assert program.share_left == Fraction(1, 2) and program.shares == {"describing": Fraction(1, 2)}
        assert program.moves.l1 == limit
        assert 5000 < near.low <= 9710 and 10_650 <= near.high < 15_000  # about 20 sd of the noise or more
    assert np.abs(counts[0] - counts[1]).sum() == limit  # attained


@pytest.mark.noisy
@pytest.mark.parametrize("other", ["", "99999999"])
def test_a_row_that_is_not_seen_in_one_column_is_seen_in_the_others(tmp_path, monkeypatch, other):
    """NULL in one column, or a value outside its wide bounds: the other column is looked at as closely as alone."""
    monkeypatch.setattr(
        seen_cells, "STANDING_OUT", 8.0
    )  # of 960 cells noise lifts one beyond 4 sd in 3 of 100 runs; rows are 40
    lines = [f"{n % 50 + 9975},{n % 40 + 10_000 if n % 4 == 0 else other}" for n in range(400)]
    columns = {"x": 'type = "integer"', "y": 'type = "integer"'}
    program = program_of(open_project(tmp_path, columns, lines, budget=BUDGET))
    wide = [
        replace(search(replace(WHOLE, name=name), low=5000, high=15_000), noisy_rows=rows)
        for name, rows in (("x", 400), ("y", 100))
    ]
    for near in (each.search for each in zoom(program, wide, share=Fraction(9, 10))):
        assert 7500 < near.low <= 10_000 <= near.high < 12_500  # noise may widen an end by a power of two


def test_what_has_few_codes_is_not_looked_at_closer(tmp_path):
    program = program_of(open_project(tmp_path, {"x": 'type = "integer"'}, ["1", "2"], budget=BUDGET))
    few = search(replace(WHOLE, name="x"), low=0, high=200)
    assert [each.search for each in zoom(program, [few], share=Fraction(1, 2))] == [few] and program.steps == 0


def test_bounds_are_not_narrowed_to_a_part_of_the_rows(tmp_path, monkeypatch):
    """A cell that noise lifted, or half of the rows, is not all there is."""
    monkeypatch.setattr(
        seen_cells, "STANDING_OUT", 8.0
    )  # half of the rows are 28 sd; what noise lifts beyond 4 would add to them
    lines = [str(5 if n % 2 else n * 7 % 5000) for n in range(400)]
    program = program_of(open_project(tmp_path, {"x": 'type = "integer"'}, lines, budget=BUDGET))
    wide = replace(search(replace(WHOLE, name="x"), low=0, high=5000), noisy_rows=400)
    assert [each.search for each in zoom(program, [wide], share=Fraction(1, 100))] == [wide]


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
            held = attribute.groups[[int(np.searchsorted(attribute.edges, code, side="right")) - 1 for code in (0, 1)]]
            yield count, attribute, counts[held[1]] if held[0] != held[1] else None, verdicts[(name,)]


def test_columns_of_zeros_and_ones_never_collapse(tmp_path):
    """480 ones are more than 9 sd of the noise on what lies outside: lost with a chance below 1e-12; before, as a rule."""
    for count, attribute, found, _ in shares_of_ones(tmp_path, rows=6000, ones=[60, 480, 1020, 3000], fits=2):
        assert len(attribute.edges) > 2
        if count >= 480:
            assert attribute.edges[0] <= 0 and attribute.edges[-1] >= 2
        if count >= 480:
            assert abs(found - count) < 300  # more than 10 sd


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("rows", [1000, 3000, 30_000])
def test_many_columns_of_zeros_and_ones_never_collapse(tmp_path, rows):
    """A few fits of few rows may take -1 for the second value, where 1 is as rare: those are unknown, never good."""
    ones = [round(rows * share) for share in (0.08, 0.17, 0.5)]
    fits = fuzzed(40)
    lost = wrong = 0
    for count, attribute, found, verdict in shares_of_ones(tmp_path, rows=rows, ones=ones, fits=fits):
        gone = attribute.edges[-1] < 2
        lost += gone
        wrong += gone and verdict in ("good", "partly") and count > 0.06 * rows
        assert len(attribute.edges) > 2
        assert found is None or found < rows
    assert lost <= max(2, 0.1 * 3 * fits) and wrong <= max(2, 0.02 * 3 * fits)  # of 1,200 columns none was lost


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
    own = NoisyHistogram(values=np.array([7.0, 100, 200, 300, 20, 40]), variance=4.0)
    assert attribute.fine_of_counted().tolist() == [0, 0, 1, 2, 2, 3]
    assert first_histograms._most_outside(attribute, own) == pytest.approx(27 + first_histograms.LIMIT * 2 * 2**0.5)
    assert first_histograms.cells_in_use(attribute, own).tolist() == [True] * 6
    assert first_histograms.cells_in_use(attribute, replace(own, variance=25.0)).tolist() == [
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


def test_a_group_that_nobody_has_does_not_hide_the_rest():
    """Of a column whose cells are all below the noise, those that are left are kept: none of a group of no cells."""
    own = NoisyHistogram(values=np.zeros(4), variance=100.0)
    attribute = open_attribute(search(wanted=("high",), high=3))
    weights = np.zeros(attribute.fine)
    weights[0] = 5.0
    groups = np.minimum(np.arange(attribute.fine), 1)
    assert not seen_cells.unseen_together(attribute, groups, weights, own).any()
