"""What limits and bounds take away: intervals that hold it as often as they say, and no advice that noise cannot carry."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from answers.visits import make, rows_of, sizes
from discreet.accounting import events
from discreet.answers.bounds import roster_estimate
from discreet.answers.bounds.bias import _share
from discreet.answers.bounds.bounds_terms import BoundsTerms
from discreet.answers.bounds.truncation import (
    COMPARED,
    NARROW,
    LimitEffect,
    _best,
    narrow_edges,
    truncation_of,
    wide_edges,
)
from discreet.errors import UsageError
from discreet.kernel.measurement import Measurement, NoisyCells
from discreet.mechanisms.laplace import DiscreteLaplace
from noise.source import FixedBits
from tiers import size


def measured(counts, edges, epsilon, bits):
    """A noisy histogram of persons as the curator stores it."""
    exact = np.bincount(np.searchsorted(edges, counts), minlength=len(edges) + 1)
    law = DiscreteLaplace(scale=1 / Fraction(epsilon))
    noisy, event = law.add_noise(exact, l1=1, bits=bits)
    part = NoisyCells(place=0, statistics=(0,), noisy_values=(tuple(noisy.tolist()),), laws=(law,))
    return Measurement(id="r", text="", parts=(part,), event=event)


def report(counts, epsilon="1", *, declared=20, cells=50, bits=1):
    terms, source = BoundsTerms.of(epsilon=epsilon, cells=cells), FixedBits(bits)
    wide = measured(counts, wide_edges(declared), terms.epsilon * (1 - NARROW), source)
    narrow = measured(counts, narrow_edges(declared), terms.epsilon * NARROW, source)
    return truncation_of(wide, narrow, terms, declared=declared)


def left_out(counts, limit):
    return np.maximum(counts - limit, 0).sum() / counts.sum()


def error(counts, limit, cells=50):
    bias = np.maximum(counts - limit, 0).sum() / cells
    return bias + limit * np.exp(-bias / limit)


#: How many rows persons have: in heaps, evenly, with light and heavy tails, few persons and many.
SHAPES = {
    "one or a hundred": lambda draw: np.repeat([1, 100], [9000, 1000]),
    "few with one or a hundred": lambda draw: np.repeat([1, 100], [900, 100]),
    "even": lambda draw: draw.integers(1, 31, 2000),
    "lognormal": lambda draw: np.ceil(np.exp(draw.normal(1.8, 1.2, 5000))).astype(np.int64),
    "heavy": lambda draw: np.minimum(draw.zipf(2.0, 20_000), 10**6),
    "very heavy": lambda draw: np.minimum(draw.zipf(1.7, 300), 10**6),
    "small": lambda draw: draw.integers(1, 6, 50),
    "heaps that hardly show": lambda draw: np.repeat([1, 4, 15, 40, 150, 400], [2000, 60, 60, 60, 60, 60]),
    "days of a year": lambda draw: np.full(3000, 365),
}


def misses(counts, epsilon, draws):
    """Of so many reports: how often the share that some limit leaves out is missed, how often the persons beyond."""
    shares, persons = {}, 0
    for bits in draws:
        found = report(counts, epsilon, bits=bits)
        persons += int((counts > (found.up_to or 0)).sum() > found.more)
        seen = counts[counts <= (found.up_to or 0)]
        for limit in found.limits:
            if limit.left_out is not None:
                low, high = limit.left_out
                missed = not low - 1e-9 <= left_out(seen, limit.rows) <= high + 1e-9
                missed = missed or left_out(counts, limit.rows) < low - 1e-9  # who is not seen only adds
                shares[limit.rows] = shares.get(limit.rows, 0) + missed
    return max(shares.values(), default=0), persons


@pytest.mark.thin(1)
@pytest.mark.parametrize(("name", "epsilon"), [("one or a hundred", "0.1"), ("lognormal", "1"), ("heavy", "0.2")])
def test_intervals_hold_the_share_that_is_left_out(name, epsilon):
    """Two decimals of a guess told 0.16% to 24.6% in five runs, where it was 11.3%."""
    counts = SHAPES[name](np.random.default_rng(5))
    assert max(misses(counts, epsilon, range(size(4, 8)))) <= 1  # the noise is fixed


@pytest.mark.fuzz
@pytest.mark.parametrize("epsilon", ["0.05", "0.2", "1"])
@pytest.mark.parametrize("name", SHAPES)
def test_intervals_hold_the_share_as_often_as_they_say(name, epsilon):
    """At most 5% miss; more than 50 of 400 would then be a chance of less than 1e-7."""
    counts = SHAPES[name](np.random.default_rng(5))
    assert max(misses(counts, epsilon, range(1000, 1400))) <= 50


def test_intervals_that_forget_their_noise_are_caught(monkeypatch):
    monkeypatch.setattr(roster_estimate, "chernoff_half_width", lambda parts, confidence: 0.0)
    assert misses(SHAPES["one or a hundred"](None), "0.1", range(8))[0] > 4


@pytest.mark.thin(1)
@pytest.mark.parametrize(
    ("rows", "wrong"), [((30, 3, 1000), False), ((900, 30, 70), False), ((5, 60, 200), False), ((900, 30, 70), True)]
)
def test_shares_at_bounds_count_the_noise_of_all_rows(rows, wrong):
    """Most rows may lie at a bound: then the noise of the number of all rows matters as much as that of those there."""
    law, missed, told = DiscreteLaplace(scale=Fraction(15)), 0, 0
    noise = law.draw(3 * 300, bits=FixedBits(3)).reshape(-1, 3)
    for drawn in noise:
        noisy = tuple((np.array(rows) + drawn).tolist())
        found = _share(NoisyCells(place=0, statistics=(0,), noisy_values=(noisy,), laws=(law,)), 0)
        if wrong:  # as it was: the noise of the rows there alone
            half = law.half_width(Fraction(95, 100)) / sum(noisy)
            found = (noisy[0] / sum(noisy) - half, noisy[0] / sum(noisy) + half)
        if found is not None:
            told += 1
            missed += not found[0] <= rows[0] / sum(rows) <= found[1]
    assert (missed > 0.08 * told) if wrong else (missed <= 0.08 * told)
    assert told > 100


def test_hardly_any_noise():
    """Up to ten rows each number has a bucket of its own: the share is what it is."""
    counts = np.repeat([1, 2], [1000, 500])
    found = report(counts, "100", declared=1)
    assert [(limit.rows, limit.declared) for limit in found.limits] == [(1, True), (2, False)]
    assert found.limits[0].left_out == pytest.approx((0.25, 0.25), abs=0.001)
    assert found.limits[1].left_out is None and found.up_to == 2 and found.more == 0
    assert [limit.plus_minus for limit in found.limits] == [3, 6]  # as DiscreteLaplace says at 95%


@pytest.mark.deep
def test_advice_is_good_where_it_is_given():
    """Surely no more than half as wrong again as with any other limit; at little epsilon there is none."""
    for name in ("one or a hundred", "even", "lognormal", "days of a year"):
        counts = SHAPES[name](np.random.default_rng(7))
        best = min(error(counts, limit) for limit in COMPARED)
        for bits in range(size(1, 3)):
            advice = report(counts, "2", bits=bits).best
            assert advice is None or error(counts, advice.rows) <= 1.5 * best
    assert report(np.full(3000, 365), "2").best is not None
    assert all(
        report(SHAPES["lognormal"](np.random.default_rng(7)), "0.05", bits=bits).best is None
        for bits in range(size(1, 3))
    )


@pytest.mark.deep
def test_empty_buckets_far_up_do_not_count():
    """Twenty-odd of them, each with noise: one person taken for real would own more rows than all others."""
    for bits in range(size(6, 20)):
        found = report(np.full(1000, 3), "0.1", bits=bits)
        assert max(bucket.low for bucket in found.buckets if bucket.seen) == 2
        assert [limit.rows for limit in found.limits] == [1, 2, 5, 20]
    assert any(bucket.noisy_persons > 15 for bucket in found.buckets if not bucket.seen)


def test_nobody_can_be_seen():
    found = report(np.zeros(0, np.int64), "0.1")
    assert found.up_to is None and found.best is None
    assert all(limit.left_out is None and limit.error is None for limit in found.limits)


def test_the_declared_limit_is_always_among_them():
    found = report(sizes(1000), declared=777_777)
    assert [limit.rows for limit in found.limits if limit.declared] == [777_777]


def test_report_end_to_end(tmp_path):
    """Charged once, no more than was asked, and free the second time."""
    rows = rows_of(sizes(500))
    project = make(tmp_path, rows, extra="rows_per_person = 3", bits=6)
    found = project.bias("visits", epsilon=10, cells=5)
    assert found.truncation is not None
    (declared,) = [limit for limit in found.truncation.limits if limit.declared]
    assert declared.rows == 3 and declared.left_out is not None
    assert declared.left_out[0] <= left_out(sizes(500), 3) <= declared.left_out[1] + 0.1
    (age,) = found.clamping
    assert (age.column, age.low, age.high) == ("age", 0, 120)
    assert age.at_high == pytest.approx((10 / 130, 10 / 130), abs=0.03)
    assert age.at_low == pytest.approx((1 / 130, 1 / 130), abs=0.03)
    assert age.at_high[0] < age.at_high[1] and age.at_low[0] < age.at_low[1]
    spent = [project.curator.stored_measurement(id_).event for id_ in found.releases]
    assert [events.loss(event).epsilon for event in spent] == [Fraction(15, 4), Fraction(5, 4), 5]
    assert spent == [
        events.LaplaceEvent(scale=Fraction(4, 15), l1=1),
        events.LaplaceEvent(scale=Fraction(4, 5), l1=1),
        events.LaplaceEvent(scale=Fraction(3, 5), l1=3),
    ]
    assert found.cost.epsilon == 10
    again = project.bias("visits", epsilon=10, cells=5)
    assert again.releases == found.releases and again.cost.epsilon == 0 and again.truncation == found.truncation
    better = project.bias("visits", epsilon=20, cells=5)
    assert not set(better.releases) & set(found.releases) and better.cost.epsilon == 20


@pytest.mark.deep
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
    with pytest.raises(UsageError, match="each row of 'visits' is one person"):
        project.bias("visits", ["rows_per_person"], epsilon=1)


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
        assert found["low"].at_low[0] > 0.9 > 0.1 > found["low"].at_high[1]
        assert found["high"].at_high[0] > 0.9 > 0.1 > found["high"].at_low[1]


def test_no_limit_is_recommended_whose_advantage_hangs_on_persons_that_nobody_sees():
    """Of 49 persons with many rows a limit of 5 leaves out 15 rows each that one of 20 keeps."""
    terms = BoundsTerms.of(epsilon=1, cells=50)
    five, twenty = (
        LimitEffect(rows=rows, declared=False, left_out=(0.1, 0.2), plus_minus=3 * rows, error=error)
        for rows, error in ((5, (5.0, 5.5)), (20, (20.0, 20.0)))
    )
    assert _best([five, twenty], terms, 0) == five
    assert _best([five, twenty], terms, 49) == five  # 5.5 + 14.7 is less than 1.5 times 20
    wide = replace(twenty, error=(9.0, 10.0))
    assert _best([five, wide], terms, 0) == five and _best([five, wide], terms, 49) is None
