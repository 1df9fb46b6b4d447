"""Ranges of a column, through the public path: what is measured, paid, stored, and read for ever."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import discreet
from discreet.accounting.events import ReservationEvent
from discreet.errors import BudgetExceeded, QueryFailed, UsageError
from discreet.kernel.curator import Curator
from discreet.kernel.program import Program
from discreet.mechanisms.strategy.tree_levels import LevelStrategy
from discreet.mechanisms.strategy.unevenness import Unevenness
from discreet.schema.column import MomentColumn, NumberColumn
from discreet.tables.ranges.adaptive_partition import partition
from discreet.tables.ranges.ruler import Ruler, ruler_of
from synth.worlds import AGE, SEX, open_project

AGES = [f"{n % 50},{'FM'[n % 2]}" for n in range(5000)]
COLUMNS = {"age": AGE, "sex": SEX}


@pytest.fixture
def project(tmp_path):
    return open_project(tmp_path, COLUMNS, AGES)


def with_persons(folder, more, rows=3):
    folder.mkdir()
    lines = [f"{line},p{number}" for number, line in enumerate(AGES[:500])] + more
    table = f'person = "who"\nrows_per_person = {rows}'
    return open_project(folder, COLUMNS | {"who": None}, lines, table=table)


@pytest.fixture
def seen(monkeypatch):
    """Exact numbers on their way to the noise, and how far they are said to move."""
    found = []
    known = Curator.add_noise

    def add(self, law, exact_values, moves):
        found.append((exact_values, moves))
        return known(self, law, exact_values, moves)

    monkeypatch.setattr(Curator, "add_noise", add)
    return found


@pytest.mark.parametrize("strategy", ["best", "identity", "binary", "adaptive"])
def test_a_person_moves_what_is_measured_by_no_more_than_is_paid_for(tmp_path, seen, strategy):
    """Exact neighbours on the real engine: without a person, and with one of many rows."""
    runs = []
    for name, more in (("without", []), ("with", ["7,F,x"] * 9)):
        seen.clear()
        with_persons(tmp_path / name, more).ranges("people", "age", epsilon=5, strategy=strategy)
        runs.append(seen[: 1 if strategy == "adaptive" else None])  # later steps are chosen by the noise
    for (before, moves), (after, again) in zip(*runs, strict=True):
        assert moves == again
        change = np.abs(after - before)
        assert 0 < change.sum() <= moves.l1 and (change**2).sum() <= moves.l2_squared
    if strategy in ("identity", "binary"):  # every column is as long as any other, so the bound is attained
        assert int(change.sum()) == moves.l1 == (3 if strategy == "identity" else 3 * 8)


def test_a_tree_that_forgets_its_levels_is_caught(tmp_path, seen, monkeypatch):
    """The mistake of the lecture: noise for one count at every level."""
    monkeypatch.setattr(LevelStrategy, "column_l1", property(lambda self: np.ones(self.size, dtype=np.int64)))
    for name, more in (("without", []), ("with", ["7,F,x"] * 9)):
        with_persons(tmp_path / name, more).ranges("people", "age", epsilon=5, strategy="binary")
    (before, moves), (after, _) = seen
    assert np.abs(after - before).sum() > moves.l1


def test_answers_are_paid_once_and_read_for_ever(project):
    made = project.ranges("people", "age", epsilon=2, ranges=[(10, 19), (None, 49)])
    assert made.cost.epsilon == 2 and not made.cached
    assert [(each.low, each.high) for each in made.intervals()] == [(10, 19), (0, 49)]
    assert project.budget("people").spent.epsilon == 2
    again = discreet.open(project.folder).ranges("people", "age", ranges=[(10, 19), (None, 49)])
    assert again.cached and again.cost.epsilon == 0 and again.intervals() == made.intervals()
    cheaper = project.ranges("people", "age", epsilon=1)
    assert cheaper.release == made.release and cheaper.cached
    dearer = project.ranges("people", "age", epsilon=3)
    assert dearer.release != made.release and project.budget("people").spent.epsilon == 5
    fresh = project.ranges("people", "age", epsilon=3, fresh=True)
    assert fresh.release != dearer.release and project.budget("people").spent.epsilon == 8


def test_a_strategy_by_name_is_what_comes(project):
    project.ranges("people", "age", epsilon=3)
    tree = project.ranges("people", "age", epsilon=1, strategy="binary")
    assert not tree.cached and tree.strategy.sensitivity(1).l1 == 8
    assert project.ranges("people", "age", strategy="binary").release == tree.release
    assert project.ranges("people", "age", epsilon=1).release != tree.release


def test_answers_are_near_and_add_up(project):
    made = project.ranges("people", "age", epsilon=10)
    whole = made.between()
    assert abs(whole.value - 5000) < 60
    parts = [made.between(start, start + 9).value for start in range(0, 100, 10)]
    assert sum(parts) == pytest.approx(made.between(0, 99).value, abs=0.1)
    assert made.upto(24).value == pytest.approx(2500, abs=60)
    assert made.whole.min() >= 0 and made.whole.dtype == np.int64 and made.whole.sum() == round(whole.value)
    middle = made.quantile(0.5, confidence="0.9999999")  # half of the rows lie at or below 24, and not one more
    assert 23 <= middle.value <= 26 and middle.interval[0] <= 24 <= middle.interval[1]
    assert made.quantile("0").value == 0


@pytest.mark.noisy  # numbers of one release go together
def test_intervals_hold_what_they_say(project):
    """30 releases: half of the intervals at 50% hold. At least four standard deviations, intervals of a release being alike."""
    inside = total = 0
    truth = np.bincount(np.arange(5000) % 50, minlength=100)
    sums = np.concatenate([[0], np.cumsum(truth)])
    for _ in range(30):
        made = project.ranges("people", "age", epsilon="0.5", fresh=True, seconds="0.01")
        pairs = [(low, high) for low in range(0, 100, 17) for high in range(low, 100, 23)]
        for (low, high), found in zip(pairs, made.intervals(pairs, confidence="0.5"), strict=True):
            inside += found.interval[0] <= sums[high + 1] - sums[low] <= found.interval[1]
            total += 1
    assert 0.3 < inside / total < 0.7


@pytest.mark.noisy  # numbers of one release go together
def test_the_expected_error_is_the_one_that_comes(project):
    truth = np.bincount(np.arange(5000) % 50, minlength=100)
    squares = []
    for _ in range(30):
        made = project.ranges("people", "age", epsilon="0.2", fresh=True, seconds="0.01")
        gaps = np.concatenate([[0.0], np.cumsum(made.cells - truth)])
        lows, highs = np.triu_indices(101, 1)
        squares.append(float(((gaps[highs] - gaps[lows]) ** 2).mean()))
    assert 0.6 < np.sqrt(np.mean(squares)) / made.expected_rmse < 1.5


def test_a_few_ranges_alone_are_more_exact_and_tell_nothing_else(project):
    few = project.ranges("people", "age", epsilon=1, ranges=[(10, 19)], only=True)
    every = project.ranges("people", "age", epsilon=1, ranges=[(10, 19)])
    assert not every.cached  # who pays for all ranges does not get the few
    width = [made.intervals()[0].interval[1] - made.intervals()[0].interval[0] for made in (few, every)]
    assert width[0] < 0.7 * width[1]
    with pytest.raises(UsageError, match="other ranges"):
        few.between(10, 18)
    with pytest.raises(UsageError, match="no quantiles"):
        few.quantile(0.5)
    assert project.ranges("people", "age", ranges=[(10, 19)]).cached


def test_who_asks_for_the_best_gets_no_other_strategy(project):
    for name in ("identity", "adaptive"):
        project.ranges("people", "age", epsilon=4, strategy=name)
    best = project.ranges("people", "age", epsilon=2)
    assert not best.cached and best.expected_rmse == project.plan_ranges("people", "age", epsilon=2).expected_rmse
    assert project.ranges("people", "age").release != best.release  # the more exact one is read where nothing is paid
    assert project.ranges("people", "age", strategy="adaptive").cached


def test_a_delta_of_0_is_pure(tmp_path):
    found = open_project(tmp_path, COLUMNS, AGES, table='accounting = "zcdp"')
    assert found.plan_ranges("people", "age", epsilon=1, delta=0).event.epsilon == 1
    assert found.plan_ranges("people", "age", epsilon=1).event.epsilon is None


@pytest.mark.thin(2)
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4", "8", "16"])
def test_the_best_is_never_worse_than_single_cells_and_the_bound_is_below_both(project, epsilon):
    best, plain = (
        project.plan_ranges("people", "age", epsilon=epsilon, strategy=name, seconds="0.01")
        for name in ("best", "identity")
    )
    assert best.expected_rmse <= plain.expected_rmse * (1 + 1e-9)
    assert best.lower_bound <= min(best.expected_rmse, plain.expected_rmse)
    assert best.lower_bound > 0 or epsilon in ("8", "16")


def test_a_quantile_among_bins_is_true(tmp_path):
    column = 'type = "integer"\nlow = 0\nhigh = 99\nedges = [0, 10, 50, 99]'
    found = open_project(tmp_path, {"age": column, "sex": SEX}, [f"{n % 100},F" for n in range(5000)])
    made = found.ranges("people", "age", epsilon=20)
    assert [made.quantile(q).value for q in ("0.05", "0.4", "0.99")] == [9, 49, 99]


def test_after_an_exact_total_every_answer_says_what_is_protected(project):
    question = project.sql("SELECT count(*) FROM people")
    assert "double" not in question.explain(epsilon=1)["because"] and not project.budget("people").notes
    project.ledger.declare_invariant("people", 1, words="totals")
    assert "counts double" in question.explain(epsilon=1)["because"]
    answers = [question.ask(epsilon=1), project.ranges("people", "age", epsilon=1)]
    assert all(any("counts double" in note for note in each.warnings) for each in answers)
    assert "not protected" in project.budget("people").notes[0]


def test_a_plan_is_free_and_the_same_on_an_empty_table(tmp_path):
    plans = []
    for name, lines in (("full", AGES), ("empty", [])):
        (tmp_path / name).mkdir()
        found = open_project(tmp_path / name, COLUMNS, lines)
        plans.append(found.plan_ranges("people", "age", epsilon=1).to_data())
        assert found.budget("people").spent.epsilon == 0
    assert plans[0] == plans[1] and plans[0]["lower_bound"] <= plans[0]["expected_rmse"]


def test_with_a_delta_noise_is_gaussian_and_the_pair_is_the_guarantee(project):
    made = project.ranges("people", "age", epsilon=1, delta="1e-6")
    assert made.cost.epsilon is None and 0 < made.cost.rho < Fraction(1, 20)
    assert abs(made.between().value - 5000) < 200


def test_what_is_too_dear_is_refused_before_anything_is_read(tmp_path, seen):
    found = open_project(tmp_path, COLUMNS, AGES, budget="{ epsilon = 1 }")
    with pytest.raises(BudgetExceeded):
        found.ranges("people", "age", epsilon=2)
    with pytest.raises(UsageError, match="no delta"):
        found.ranges("people", "age", epsilon="0.1", delta="1e-6")
    assert not seen and found.budget("people").spent.epsilon == 0


def test_a_release_that_was_broken_off_goes_on_by_the_same_plan(project, monkeypatch):
    """A crash between the charge and the draw: the plan that was stored is gone on with, and nothing is paid twice."""
    known = Program.step

    def dies(self, *args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(Program, "step", dies)
    with pytest.raises(KeyboardInterrupt):
        project.ranges("people", "age", epsilon=2)
    monkeypatch.setattr(Program, "step", known)
    assert project.budget("people").spent.epsilon == 2
    with pytest.raises(UsageError, match="no stored release"):
        project.ranges("people", "age")
    made = discreet.open(project.folder).ranges("people", "age", epsilon=2)
    assert project.budget("people").spent.epsilon == 2 and abs(made.between().value - 5000) < 200


def test_an_engine_that_fails_says_one_sentence(project, monkeypatch):
    def fails(*args, **more):
        raise ValueError("cell 17 of Alice")

    monkeypatch.setattr(type(project.curator.engine), "count", fails)
    with pytest.raises(QueryFailed) as problem:
        project.ranges("people", "age", epsilon=2)
    assert "Alice" not in str(problem.value)


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ([(30, 20)], "no value"),
        ([("x", 20)], "not a number"),
        ([(1, 2, 3)], "a pair"),
        ([], "no range"),
    ],
)
def test_wrong_ranges_are_refused(project, ranges, words):
    with pytest.raises(UsageError, match=words):
        project.ranges("people", "age", epsilon=1, ranges=ranges)
    assert project.budget("people").spent.epsilon == 0


def test_ranges_from_a_file(project, tmp_path):
    file = tmp_path / "r.csv"
    file.write_text("Low,high\n10,19\n,49\n50,\n")
    found = project.ranges("people", "age", epsilon=1, ranges=file).intervals()
    assert [(each.low, each.high) for each in found] == [(10, 19), (0, 49), (50, 99)]
    for text, words in (("a,b\n1,2\n", "low and high"), ("low,high\n", "no range"), ("", "no range")):
        file.write_text(text)
        with pytest.raises(UsageError, match=words):
            project.ranges("people", "age", ranges=str(file))
    with pytest.raises(UsageError, match="cannot read"):
        project.ranges("people", "age", ranges=tmp_path / "none.csv")


def test_columns_without_an_order_or_bounds_are_refused(tmp_path):
    found = open_project(tmp_path, {"age": 'type = "integer"', "sex": SEX}, AGES)
    for column, words in (("age", "bounds"), ("sex", "order"), ("nope", "no column")):
        with pytest.raises(UsageError, match=words):
            found.ranges("people", column, epsilon=1)


class TestRuler:
    def test_declared_bins_are_the_cells(self):
        ruler = ruler_of(NumberColumn(name="x", type="integer", low=0, high=99, edges=(0, 20, 50, 100)))
        assert ruler.cells == 3
        assert ruler.cells_of(0, 19) == ruler.cells_of(0, 20) == ruler.cells_of(-5, 20) == (0, 0)
        assert ruler.cells_of(20, None) == (1, 2) and ruler.cells_of(None, 1000) == (0, 2)
        with pytest.raises(UsageError, match="splits a bin"):
            ruler.cells_of(10, 19)
        with pytest.raises(UsageError, match="splits a bin"):
            ruler.cells_of(0, 30)

    def test_decimals_and_dates(self):
        ruler = ruler_of(NumberColumn(name="x", type="decimal", step=Fraction(1, 4), low=0, high=40))
        assert ruler.cells == 41 and ruler.cells_of("0.3", "1.6") == (2, 6)
        assert (ruler.low(2), ruler.high(6)) == (0.5, 1.5)
        days = ruler_of(MomentColumn(name="d", type="date", low=20000, high=20400))
        assert days.cells_of("2024-10-05", "2024-10-06") == (1, 2)

    def test_wide_columns_are_cut_evenly_and_every_value_has_a_cell(self):
        column = NumberColumn(name="x", type="integer", low=-7, high=10**9)
        ruler = ruler_of(column)
        widths = set(np.diff(ruler.edges).tolist())
        assert widths == {1000} and ruler.edges[0] <= -7 and ruler.edges[-1] > 10**9 and ruler.cells < 2**20 + 1
        assert (ruler.low(0), ruler.high(ruler.cells - 1)) == (-7, 10**9)
        times = ruler_of(MomentColumn(name="t", type="timestamp", low=0, high=86_400_000_000 * 366))
        assert np.diff(times.edges[:3]).tolist() == [60_000_000, 60_000_000]

    def test_single_values(self):
        assert Ruler(column=NumberColumn(name="x", type="integer", low=3, high=3), edges=(3, 4)).cells_of(3, 3) == (
            0,
            0,
        )


class TestAdaptive:
    def world(self, tmp_path, lines):
        column = 'type = "integer"\nlow = 0\nhigh = 1023'
        return open_project(tmp_path, {"x": column, "sex": SEX}, lines, budget="{ epsilon = 900, delta = 1e-6 }")

    @pytest.fixture
    def certain(self, monkeypatch):
        """The test's noise would speak against a partition of these rows once in 140 times: here it cannot."""
        monkeypatch.setattr("discreet.tables.ranges.adaptive_partition.PAYS", 0.5)

    @pytest.mark.usefixtures("certain")
    def test_flat_stretches_become_buckets_and_the_noise_falls(self, tmp_path):
        found = self.world(tmp_path, [f"{100 * (n % 3)},F" for n in range(3000)])
        made = found.ranges("people", "x", epsilon=3, strategy="adaptive", seconds="0.01")
        fixed = found.plan_ranges("people", "x", epsilon=3, seconds="0.01")
        assert "buckets" in made.words and made.expected_rmse < fixed.expected_rmse
        assert made.between(100, 100).value == pytest.approx(1000, abs=150)
        assert made.between(300, 1023).value == pytest.approx(0, abs=150)
        assert found.budget("people").spent.epsilon == 3
        again = discreet.open(found.folder).ranges("people", "x", ranges=[(100, 100)])
        assert again.cached and again.intervals()[0] == made.between(100, 100)

    def test_rough_counts_keep_the_fixed_strategy_at_a_small_price(self, tmp_path):
        rough = np.random.default_rng(1).integers(0, 40, 1024)
        found = self.world(tmp_path, [f"{n},F" for n, times in enumerate(rough) for _ in range(times)])
        made = found.ranges("people", "x", epsilon=1, strategy="adaptive", seconds="0.01")
        fixed = found.plan_ranges("people", "x", epsilon=1, seconds="0.01")
        assert "would not help" in made.words and made.expected_rmse < 1.1 * fixed.expected_rmse

    def test_shares_use_up_the_reservation_exactly(self, tmp_path):
        found = self.world(tmp_path, ["5,F"] * 100)
        for delta in (None, "1e-6"):
            made = found.ranges("people", "x", epsilon=1, delta=delta, strategy="adaptive", seconds="0.01", fresh=True)
            held = found.ledger.reservation(made.release)
            assert isinstance(held.event, ReservationEvent)
            spent = [step.loss for step in held.steps]
            if delta is None:
                assert sum(loss.epsilon for loss in spent) == held.event.epsilon
            else:
                assert sum(loss.rho for loss in spent) == held.event.rho

    def test_what_it_will_cost_is_known_and_noise_that_cannot_be_drawn_is_refused_before(self, tmp_path):
        found = self.world(tmp_path, ["5,F"] * 100)
        plans = [
            found.plan_ranges("people", "x", epsilon=1, strategy=name, seconds="0.01").expected_rmse
            for name in ("best", "adaptive")
        ]
        assert plans[1] == pytest.approx(plans[0] * 20 / 19, rel=0.01)
        with pytest.raises(UsageError, match="scale"):
            found.ranges("people", "x", epsilon="0.00000001", strategy="adaptive", seconds="0.01")
        assert found.budget("people").spent.epsilon == 0

    def test_the_test_has_noise(self, tmp_path):
        """Seven releases of the same rows: a test without noise would say the same each time."""
        found = self.world(tmp_path, ["5,F"] * 100)
        said = set()
        for _ in range(7):
            made = found.ranges("people", "x", epsilon=1, strategy="adaptive", seconds="0.01", fresh=True)
            said.add(found.ledger.answer(f"{made.release}.1"))
        assert len(said) == 7

    @pytest.mark.usefixtures("certain")
    def test_a_later_planner_reads_what_was_measured(self, tmp_path, monkeypatch):
        from discreet.tables.ranges import adaptive_partition

        found = self.world(tmp_path, [f"{100 * (n % 3)},F" for n in range(3000)])
        made = found.ranges("people", "x", epsilon=1, strategy="adaptive", seconds="0.01")
        assert "buckets" in made.words
        monkeypatch.setattr(adaptive_partition, "plan_strategy", lambda *a, **k: pytest.fail("planned anew"))
        assert found.ranges("people", "x").between(100, 100) == made.between(100, 100)

    def test_a_partition_is_what_noisy_unevenness_says(self):
        uneven = Unevenness(8, (2, 4))
        noisy = np.array([0, 50, 0, 0, 99, 0])  # blocks of two: flat, not, flat, flat; of four: not, flat
        assert partition(noisy, uneven, 10).tolist() == [0, 0, 1, 2, 3, 3, 3, 3]
