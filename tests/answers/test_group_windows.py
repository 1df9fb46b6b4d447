"""Windows over groups: what SQL says they are, and intervals that hold the exact numbers as often as they say."""

from fractions import Fraction
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest

from discreet.answers import answer_block
from discreet.answers.answer_block import AnswerBlock
from discreet.answers.group_windows import alike_windows, rounded_draws, window_sums
from discreet.errors import Refused
from discreet.mechanisms.laplace import DiscreteLaplace
from discreet.mechanisms.repeated_noise import RepeatedNoise
from discreet.plan.formula import Arithmetic, GroupWindow, StatisticRef
from discreet.sql.parsed_query import OutputColumn
from discreet.sql.typed_expression import NumericKind
from tiers import size

TOTAL, RUNNING = GroupWindow(), GroupWindow(order=((0, False),), last=0)


def brute_force(values, places, windows):
    """Group by group: the sum over the others of each window, None for NULL, as SQL says."""
    found = []
    for group in range(len(values)):
        row = []
        for window in windows:
            mine = [other for other in range(len(values)) if all(places[key][other] == places[key][group] for key in window.partition)]  # fmt: skip
            for key, falling in reversed(window.order):
                mine.sort(key=lambda other: places[key][other], reverse=falling)
            at = mine.index(group)
            first = 0 if window.first is None else at + window.first
            last = len(mine) - 1 if window.last is None else at + window.last
            inside = [other for place, other in enumerate(mine) if first <= place <= last]
            others = [other for other in inside if other != group]
            row.append(None if not inside else sum(values[other] for other in others))
        found.append(row)
    return found


def random_windows(draw):
    order = draw.choice([((0, False), (1, True)), ((1, False), (0, False))])
    partition = draw.choice([(), (0,)])
    order = tuple(part for part in order if part[0] not in partition)
    ends = [(None, None), (None, 0), (0, None), (-1, -1), (2, 2), (-2, 1), (None, -1), (1, 3), (0, 0)]
    windows = [GroupWindow(partition=partition)]
    windows += [GroupWindow(partition=partition, order=order, first=first, last=last) for first, last in draw.sample(ends, 2)]  # fmt: skip
    return draw.sample(windows, 3)


@pytest.mark.parametrize("seed", range(12))
def test_the_sums_are_those_of_each_window(seed):
    """Split into parts that no two share, whose numbers of groups are those of their draws."""
    draw = Random(seed)
    shape = draw.choice([(3, 4), (1, 5), (5, 1), (2, 2)])
    values = np.array([draw.randint(-9, 2**40) for _ in range(shape[0] * shape[1])])
    places = [np.repeat(np.arange(shape[0]), shape[1]), np.tile(np.arange(shape[1]), shape[0])]
    windows = random_windows(draw)
    wanted = brute_force(values.tolist(), places, windows)
    for together in alike_windows(windows):
        parts = window_sums(
            values, np.arange(len(values)), together, places=lambda key: places[key], ranks=lambda key: places[key]
        )
        assert len({part.windows for part in parts}) == len(parts)
        for place, window in enumerate(together):
            added = sum((part.sums for part in parts if place in part.windows), start=np.zeros(len(values)))
            number = sum((part.draws for part in parts if place in part.windows), start=np.zeros(len(values), int))
            for group, row in enumerate(wanted):
                exact = row[windows.index(window)]
                assert np.isnan(added[group]) if exact is None else added[group] == exact
                whole = brute_force([1] * len(values), places, [window])[group][0]
                assert number[group] == (whole or 0)


def test_windows_that_have_noise_in_common_are_split_together():
    moving = GroupWindow(order=((0, False),), first=-2, last=0)
    other = GroupWindow(order=((0, True),), last=0)
    before = GroupWindow(order=((0, False),), first=-1, last=-1)
    classes = alike_windows([RUNNING, TOTAL, before, moving, other])
    assert classes == [(RUNNING, TOTAL, moving), (before,), (other,)] or {frozenset(each) for each in classes} == {
        frozenset({RUNNING, TOTAL, moving}), frozenset({before}), frozenset({other})}  # fmt: skip


def test_more_draws_are_counted_never_fewer():
    draws = np.arange(100_000)
    rounded = rounded_draws(draws)
    assert (rounded >= draws).all() and (rounded[:33] == draws[:33]).all()
    assert (rounded[33:] <= 1.07 * draws[33:]).all()
    assert len(np.unique(rounded)) < 300


# Coverage: many runs of one small answer, as the partitions of one large one.

GROUPS = 6
LAW = DiscreteLaplace(scale=Fraction(7))
EXACT = np.array([40, 0, 25, 90, 3, 60])


def block_of(runs, draw):
    axes = [SimpleNamespace(size=n, labels=list(range(n)), to_data=lambda n=n: n) for n in (runs, GROUPS)]
    query = SimpleNamespace(
        inquiry=SimpleNamespace(statistics=[None], sets=[axes]),
        keys=[SimpleNamespace(axis=axis, typed=SimpleNamespace(kind=NumericKind())) for axis in axes],
        sets=[(0, 1)],
        axis_of=lambda place, key: key,
        outputs=(),
    )
    block = AnswerBlock(query=query, place=0, keys=None, shape=(runs, GROUPS))
    chance = 1 - np.exp(-1 / float(LAW.scale))
    noise = draw.geometric(chance, (runs, GROUPS)) - draw.geometric(chance, (runs, GROUPS))
    block.values[0], block.laws[0] = (EXACT + noise).ravel(), LAW
    return block


def over(first, last, *, ordered=True):
    order = ((1, False),) if ordered else ()
    return StatisticRef(0, GroupWindow(partition=(0,), order=order, first=first, last=last))


def plus(left, right):
    return Arithmetic("+", left, right)


OWN = StatisticRef(0)
ALL = plus(OWN, over(None, None, ordered=False))
UP_TO = plus(OWN, over(None, 0))
SUMS = np.cumsum(EXACT)
BEFORE = np.concatenate([[np.nan], EXACT[:-1]])
COLUMNS = {
    "total": (ALL, np.full(GROUPS, EXACT.sum())),
    "share": (Arithmetic("/", OWN, ALL), EXACT / EXACT.sum()),
    "running": (UP_TO, SUMS),
    "running share": (Arithmetic("/", UP_TO, ALL), SUMS / EXACT.sum()),
    "change": (Arithmetic("-", OWN, over(-1, -1)), EXACT - BEFORE),
    "growth": (Arithmetic("/", OWN, over(-1, -1)), EXACT / np.where(BEFORE == 0, np.nan, BEFORE)),
    "moving": (plus(OWN, over(-2, 0)), SUMS - np.concatenate([[0, 0, 0], SUMS[:-3]])),
    "others": (over(None, -1), np.concatenate([[np.nan], SUMS[:-1]])),
    "total less change": (Arithmetic("-", ALL, over(-1, -1)), EXACT.sum() - BEFORE),
}


def coverage(name, runs, confidence=Fraction(95, 100)):
    """The share of intervals that hold the exact number, by group."""
    of, exact = COLUMNS[name]
    block = block_of(runs, np.random.default_rng(sum(map(ord, name))))
    output = OutputColumn(name=name, formula=of)
    ends = np.array([(np.nan, np.nan) if end is None else end for end in block.interval(output, confidence)])
    low, high = ends.reshape(runs, GROUPS, 2).transpose(2, 0, 1)
    unbounded = np.isnan(low)  # an interval without ends holds everything
    return np.where(np.isnan(exact), np.nan, ((low <= exact) & (exact <= high) | unbounded).mean(axis=0))


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", COLUMNS)
def test_intervals_cover(name):
    found = coverage(name, size(4_000, 20_000))
    assert np.nanmin(found) >= 0.94, found
    if name not in ("growth", "total less change", "running share"):  # all of it is surely all of it
        assert np.nanmax(found) <= 0.975, found


@pytest.mark.parametrize("name", ["share", "running", "running share", "total"])
@pytest.mark.parametrize("fault", ["no noise of others", "one draw for all", "others taken for independent"])
def test_a_planted_mistake_is_seen(monkeypatch, name, fault):
    known = RepeatedNoise.__init__

    def fewer(self, *, law, draws):
        known(self, law=law, draws=0 if fault == "no noise of others" else min(draws, 1))

    if fault == "others taken for independent":
        if name != "running share":
            pytest.skip("there is one window")
        monkeypatch.setattr(answer_block, "alike_windows", lambda windows: [(window,) for window in windows])
        monkeypatch.setattr("discreet.plan.formula.linear.share_window", lambda first, second: True)
        found = coverage(name, 4_000)
        assert np.nanmax(found) > 0.985 or np.nanmin(found) < 0.93, found
        return
    monkeypatch.setattr(RepeatedNoise, "__init__", fewer)
    assert np.nanmin(coverage(name, 4_000)) < 0.92


# What SQL says, on a project whose noise is nothing.

QUESTIONS = [
    "select city, count(*), sum(count(*)) over () as t from orders group by city",
    "select city, sex, sum(count(*)) over (partition by sex) as t, sum(sum(items)) over (partition by city) as i from orders group by city, sex",
    "select city, sex, sum(count(*)) over (order by city, sex) as r from orders group by city, sex",
    "select city, sex, sum(count(*)) over (partition by sex order by city desc) as r from orders group by city, sex",
    "select date_trunc('month', day) as m, lag(count(*)) over (order by m) as b, lag(count(*), 3) over (order by m) as a from orders where day is not null group by m",
    "select date_trunc('month', day) as m, sum(count(*)) over (order by m rows between 3 preceding and 1 preceding) as w from orders where day is not null group by m",
    "select city, count(*) - lag(count(*)) over (order by city) as d, 100 * count(*) / sum(count(*)) over () as p from orders group by city order by p desc, city",
    "select paid, sum(count(*)) over (order by paid) / sum(count(*)) over () as cdf from orders group by paid",
    "select city, coalesce(lag(count(*)) over (order by city), 0) as b from orders group by city",
    "select city, sum(count(*)) over (order by city rows between unbounded preceding and 1 preceding) as b from orders group by city",
]  # fmt: skip


@pytest.mark.thin(6)
@pytest.mark.parametrize("text", QUESTIONS)
def test_it_means_what_it_means_to_duckdb(shop, source, text):
    release = shop.sql(text).ask(epsilon=1000)
    keys = [place for place, column in enumerate(release.columns) if column.kind == "key"]
    theirs = {tuple(str(row[place])[:10] for place in keys): row for row in source.execute(text).fetchall()}
    shown = {tuple(str(row[place])[:10] for place in keys): row for row in release.rows}
    assert shown.keys() - theirs.keys() <= {("None",)}  # a known key without rows: the last one
    for key, expected in theirs.items():
        for place, column in enumerate(release.columns):
            if column.kind != "key":
                found = shown[key][place]
                assert (found is None) == (expected[place] is None), (key, found, expected)
                assert found is None or abs(found - float(expected[place])) <= 2 + 0.01 * abs(found)


def test_a_share_of_what_is_stored_is_free(shop):
    shop.sql("select items, count(*) from orders group by items").ask(epsilon=1, fresh=True)
    share = shop.sql("select items, count(*) / sum(count(*)) over () as p from orders group by items").ask(epsilon=1)
    assert share.cached and share.cost.epsilon == 0


def test_a_number_that_is_not_there_is_not_said_to_be_hidden(shop):
    text = "select city, lag(count(*)) over (order by city) as b from orders group by city"
    release = shop.sql(text).ask(epsilon=1000)
    assert release.rows[0][1] is None and release.intervals[0][1] is None
    assert not any("not shown" in each for each in release.warnings)


REFUSED = {
    "select city, sum(avg(items)) over () from orders group by city": "only counts and sums",
    "select city, sum(count(*) + 1) over () from orders group by city": "only counts and sums",
    "select note, sum(count(*)) over () from orders group by note": "need declared keys",
    "select city, sum(count(*)) over () from orders group by rollup (city)": "grouping sets",
    "select city, sum(count(*)) over () from orders group by city having count(*) > 3": "HAVING",
    "select city, sum(count(*)) over (order by count(*)) from orders group by city": "not in GROUP BY",
    "select city, sex, lag(count(*)) over (order by city) from orders group by city, sex": "every key",
    "select city, lag(count(*)) over () from orders group by city": "need ORDER BY",
    "select city, lag(count(*), 1, 0) over (order by city) from orders group by city": "default",
    "select city, lag(count(*), 0) over (order by city) from orders group by city": "from 1 on",
    "select city, lag(count(*), -1) over (order by city) from orders group by city": "whole groups",
    "select city, rank() over (order by city) from orders group by city": "only sum, lag and lead",
    "select city, avg(count(*)) over () from orders group by city": "only sum, lag and lead",
    "select city, sum(count(*)) filter (where true) over () from orders group by city": "only sum, lag and lead",
    "select city, sum(lag(count(*)) over (order by city)) over () from orders group by city": "within another",
    "select city, sum(count(*)) over w from orders group by city window w as ()": "window",
    "select city, sum(count(*)) over (order by city nulls first) from orders group by city": "NULLS FIRST",
    "select city, sum(count(*)) over (order by city range 2 preceding) from orders group by city": "write ROWS",
    "select city, sum(count(*)) over (order by city rows between 1 following and 1 preceding) from orders group by city": "rame",
    "select city, sum(count(*)) over (order by city rows 1 preceding exclude current row) from orders group by city": "EXCLUDE",
    "select city, sum(median(items)) over () from orders group by city": "quantile",
    "select sum(items) over () from orders": "",
    "select city, sum(count(*)) over (partition by items) from orders group by city": "not in GROUP BY",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_refused(shop, text):
    with pytest.raises(Refused) as refused:
        shop.sql(text)
    assert REFUSED[text] in refused.value.reason
