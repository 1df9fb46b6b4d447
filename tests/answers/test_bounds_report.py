"""What limits take away: the arithmetic with hardly any noise, the guess where noise hides persons, the shares at bounds."""

from fractions import Fraction

import numpy as np
import pytest

from answers.visits import make, rows_of, sizes
from discreet.accounting import events
from discreet.answers.bounds.terms import Terms
from discreet.answers.bounds.truncation import COMPARED, NARROW, Tail, narrow_edges, tail_of, truncation, wide_edges
from discreet.errors import UsageError
from discreet.measurement import Measurement, NoisyCells
from discreet.mechanisms.laplace import DiscreteLaplace
from noise.source import FixedBits


def measured(counts, edges, epsilon, bits):
    """A noisy histogram of persons as the curator stores it."""
    exact = np.bincount(np.searchsorted(edges, counts), minlength=len(edges) + 1)
    law = DiscreteLaplace(scale=1 / Fraction(epsilon))
    noisy, event = law.release(exact, l1=1, bits=bits)
    part = NoisyCells(place=0, statistics=(0,), noisy_values=(tuple(noisy.tolist()),), laws=(law,))
    return Measurement(id="r", text="", parts=(part,), event=event)


def report(counts, epsilon="1", *, declared=20, cells=50, bits=1):
    terms, source = Terms.of(epsilon=epsilon, cells=cells), FixedBits(bits)
    wide = measured(counts, wide_edges(declared), terms.epsilon * (1 - NARROW), source)
    narrow = measured(counts, narrow_edges(declared), terms.epsilon * NARROW, source)
    return truncation(wide, narrow, terms, declared=declared)


def left_out(counts, limit):
    return np.maximum(counts - limit, 0).sum() / counts.sum()


def error(counts, limit, cells=50):
    bias = np.maximum(counts - limit, 0).sum() / cells
    return bias + limit * np.exp(-bias / limit)


@pytest.mark.parametrize("epsilon", ["0.2", "1", "100"])
def test_shares_are_near_the_truth_on_a_skewed_table(epsilon):
    counts = sizes(100_000)
    for bits in range(5):
        for limit in report(counts, epsilon, bits=bits).limits:
            true = left_out(counts, limit.rows)
            assert limit.left_out == pytest.approx(true, abs=0.07 if limit.guessed or epsilon != "100" else 0.03)


#: How many rows each of 20,000 persons has, with tails that a power law of 1 / r inside a bucket is far from.
LIGHT = {
    "five": lambda draw: np.full(20_000, 5),
    "thirty": lambda draw: np.full(20_000, 30),
    "days of a year": lambda draw: np.full(20_000, 365),
    "even": lambda draw: draw.integers(1, 31, 20_000),
    "normal": lambda draw: np.maximum(1, np.rint(draw.normal(30, 5, 20_000))).astype(np.int64),
    "Poisson": lambda draw: np.maximum(1, draw.poisson(25, 20_000)),
    "geometric": lambda draw: draw.geometric(0.1, 20_000),
}


@pytest.mark.parametrize("name", LIGHT)
def test_shares_are_near_the_truth_on_a_light_tail(name):
    """Wide buckets alone told 25% left out of `even` at a limit of 20, where it was 12%, and 36% of `Poisson`, not 21%."""
    counts = LIGHT[name](np.random.default_rng(3))
    for bits in range(5):
        for limit in report(counts, "1", bits=bits).limits:
            assert limit.left_out == pytest.approx(left_out(counts, limit.rows), abs=0.03)


def test_without_narrow_buckets_that_show_rows_are_spread_as_if_nothing_were_known():
    """Of 21 to 50 rows 30 / (1/21 + ... + 1/50) in the mean; half way to it where imagined persons are as many."""
    counts, terms, noise = np.full(10_000, 50), Terms.of(epsilon="100"), FixedBits(1)
    wide = measured(counts, wide_edges(20), 100, noise)

    def mean(persons, epsilon):
        law = DiscreteLaplace(scale=1 / Fraction(epsilon))
        noisy = np.bincount(
            np.searchsorted(narrow_edges(20), np.full(persons, 50)), minlength=len(narrow_edges(20)) + 1
        )
        part = NoisyCells(place=0, statistics=(0,), noisy_values=(tuple(noisy.tolist()),), laws=(law,))
        narrow = Measurement(id="r", text="", parts=(part,), event=law.event(l1=1))
        (found,) = [each for each in truncation(wide, narrow, terms, declared=20).buckets if each.high == 50]
        return found.mean

    nothing = 30 / sum(1 / number for number in range(21, 51))
    last = 5 / sum(1 / number for number in range(46, 51))  # the last narrow bucket: 46 to 50
    law = DiscreteLaplace(scale=1 / Fraction("0.01"))
    imagined = round(2 * np.sqrt(law.variance()))
    assert mean(0, "0.01") == pytest.approx(nothing)
    assert mean(imagined, "0.01") == pytest.approx((nothing + last) / 2, rel=1e-3)
    assert mean(10_000, "10") == pytest.approx(last, rel=1e-3)


def test_the_limit_estimated_best_is_good():
    generator = np.random.default_rng(7)
    for counts in (
        sizes(1_000_000),
        sizes(10_000),
        generator.geometric(0.1, 100_000),
        np.ceil(np.exp(generator.normal(1.8, 1.2, 100_000))).astype(np.int64),
        np.full(100_000, 5),
    ):
        best = min(error(counts, limit) for limit in COMPARED)
        ratios = [error(counts, report(counts, "0.2", bits=bits).best.rows) / best for bits in range(8)]
        assert np.median(ratios) < 1.5 and max(ratios) < 2.2


def test_empty_buckets_far_up_do_not_count():
    """Twenty-odd of them, each with noise: one person taken for real would own more rows than all others."""
    counts = np.full(1000, 3)
    for bits in range(40):
        found = report(counts, "0.1", bits=bits)
        assert max(bucket.low for bucket in found.buckets if bucket.seen) == 2
        assert all(limit.left_out < 0.1 for limit in found.limits if limit.rows >= 50)
    assert any(bucket.noisy_persons > 15 for bucket in found.buckets if not bucket.seen)


def test_small_buckets_alone_would_be_exact():
    """Buckets of one number of rows have no mean to guess."""
    counts = np.repeat([1, 2], [1000, 500])
    found = report(counts, "100", declared=1)
    assert [(limit.rows, limit.declared) for limit in found.limits][:3] == [(1, True), (2, False), (5, False)]
    assert [limit.left_out for limit in found.limits][:2] == [pytest.approx(500 / 2000), 0]
    assert [limit.plus_minus for limit in found.limits][:3] == [3, 6, 15]  # as DiscreteLaplace says at 95%
    assert found.plus_minus == 0 and not found.limits[0].guessed and found.limits[1].guessed


def test_the_declared_limit_is_always_among_them():
    found = report(sizes(1000), declared=777_777)
    assert [limit.rows for limit in found.limits if limit.declared] == [777_777]


def test_nobody_can_be_seen():
    found = report(np.zeros(0, np.int64), "0.1")
    assert all(limit.left_out is None for limit in found.limits)
    assert found.best.rows == 1


def test_a_tail_is_a_power_law():
    """Of persons with more than 100 rows by a power law of 2: beyond k >= 100 they have persons * 100^2 / k rows."""
    tail = Tail(start=100, persons=7, exponent=2.0)
    assert tail.beyond(100) == pytest.approx(700)
    assert tail.beyond(1000) == pytest.approx(70)
    assert tail.beyond(0) == pytest.approx(1400)
    assert tail.beyond(40) == pytest.approx(1400 - 280)


def test_report_end_to_end(tmp_path):
    """Charged once, no more than was asked, and free the second time."""
    rows = rows_of(sizes(500))
    project = make(tmp_path, rows, extra="rows_per_person = 3", bits=6)
    found = project.bias("visits", epsilon=10, cells=5)
    assert found.truncation is not None
    (declared,) = [limit for limit in found.truncation.limits if limit.declared]
    assert declared.rows == 3 and declared.left_out == pytest.approx(left_out(sizes(500), 3), abs=0.1)
    (age,) = found.clamping
    kept = sum(min(3, count) for count in sizes(500))
    assert (age.column, age.low, age.high) == ("age", 0, 120)
    assert age.at_high == pytest.approx(10 / 130, abs=0.03) and age.at_low == pytest.approx(1 / 130, abs=0.03)
    assert age.plus_minus == pytest.approx(3 / 5 * 3 / kept, rel=0.2)  # scale 3 rows / epsilon 5, times ln 20
    spent = [project.curator.stored(id_).event for id_ in found.releases]
    assert [events.loss(event).epsilon for event in spent] == [Fraction(15, 4), Fraction(5, 4), 5]
    assert spent == [
        events.Laplace(scale=Fraction(4, 15), l1=1),
        events.Laplace(scale=Fraction(4, 5), l1=1),
        events.Laplace(scale=Fraction(3, 5), l1=3),
    ]
    assert found.cost.epsilon == 10
    again = project.bias("visits", epsilon=10, cells=5)
    assert again.releases == found.releases and again.cost.epsilon == 0 and again.truncation == found.truncation
    better = project.bias("visits", epsilon=20, cells=5)
    assert not set(better.releases) & set(found.releases) and better.cost.epsilon == 20


def test_only_what_is_named(tmp_path):
    project = make(tmp_path, rows_of(sizes(20)), extra="rows_per_person = 3")
    alone = project.bias("visits", ["rows_per_person"], epsilon=1)
    assert alone.truncation is not None and not alone.clamping and len(alone.releases) == 2
    assert alone.cost.epsilon == 1
    column = project.bias("visits", ["AGE"], epsilon=1)
    assert column.truncation is None and [each.column for each in column.clamping] == ["age"]
    for wrong in ("cost", "city", "seen", "nothing"):
        with pytest.raises(UsageError):
            project.bias("visits", [wrong], epsilon=1)
    assert project.budget("visits").spent.epsilon == pytest.approx(2)


def test_rows_have_nothing_to_truncate(tmp_path):
    project = make(tmp_path, rows_of(sizes(20)), person=False)
    assert project.bias("visits", epsilon=1).truncation is None
    with pytest.raises(UsageError, match="each row is one person"):
        project.bias("visits", ["rows_per_person"], epsilon=1)


def test_the_rows_of_those_who_cannot_be_seen_are_guessed():
    """Beyond the last bucket that shows, in the middle of several draws, within a factor of two of the truth."""
    counts = sizes(10_000)
    for limit in (200, 500):
        guesses = []
        for bits in range(25):
            (found,) = [each for each in report(counts, "0.2", declared=limit, bits=bits).limits if each.declared]
            guesses += [found.left_out] if found.guessed else []
        assert len(guesses) > 12
        assert left_out(counts, limit) / 2 < np.median(guesses) < 2 * left_out(counts, limit)


@pytest.mark.parametrize(("unseen", "much"), [(30, True), (3, False)])
def test_a_share_of_which_much_is_guessed_is_called_a_guess(unseen, much):
    """Persons up to 20 rows show, those above do not: what the tail gives these counts beyond smaller limits too."""
    edges = wide_edges(20)
    persons = dict.fromkeys([*edges, None], 0) | {10: 3000, 20: 300, 50: unseen, 100: unseen}
    law = DiscreteLaplace(scale=Fraction(3))
    part = NoisyCells(place=0, statistics=(0,), noisy_values=(tuple(persons.values()),), laws=(law,))
    wide = Measurement(id="r", text="", parts=(part,), event=law.event(l1=1))
    narrow = measured(np.zeros(0, np.int64), narrow_edges(20), 100, FixedBits(1))
    found = truncation(wide, narrow, Terms.of(epsilon="1"), declared=20)
    tail = tail_of(found.buckets, edges.index(20))
    rows = tail.beyond(0) + sum(bucket.beyond(0) for bucket in found.buckets if bucket.seen)
    below = [limit for limit in found.limits if limit.rows < 20]
    assert [limit.rows for limit in below] == [1, 2, 5, 10] and all(limit.left_out > 0.03 for limit in below)
    assert (
        [limit.guessed for limit in below] == [much] * 4 == [tail.beyond(limit.rows) > 0.03 * rows for limit in below]
    )
    assert all(limit.guessed for limit in found.limits if limit.rows >= 20)


def test_columns_in_another_order_are_read_as_what_they_are(tmp_path):
    """A repeat finds the stored answer; each column must find its own cells in it."""
    import discreet

    (tmp_path / "t.csv").write_text("low,high\n" + "0,9\n" * 4000)
    (tmp_path / "discreet.toml").write_text(
        """
[tables.t]
source = "t.csv"
budget = { epsilon = 50 }
columns = { low = { type = "integer", low = 0, high = 9 }, high = { type = "integer", low = 0, high = 9 } }
"""
    )
    project = discreet.init(tmp_path)
    for names in (["low", "high"], ["high", "low"]):
        found = {each.column: each for each in project.bias("t", names, epsilon=10).clamping}
        assert found["low"].at_low > 0.9 > 0.1 > found["low"].at_high
        assert found["high"].at_high > 0.9 > 0.1 > found["high"].at_low
