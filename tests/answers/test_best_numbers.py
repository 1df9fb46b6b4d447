"""The best numbers of an answer: whole, never negative, adding up over ROLLUP, CUBE and GROUPING SETS; nothing paid."""

import json
from collections import defaultdict

import numpy as np
import pytest

import discreet.answers.best_numbers as module
from discreet.cli.terminal import BEST_LEGEND, answer_lines
from discreet.errors import UsageError

NUMBERS = "count(*) as n, sum(items) as s"


def ask(shop, sql, epsilon="0.3", **more):
    return shop.sql(sql).ask(epsilon=epsilon, fresh=True, **more)


def test_counts_and_sums_are_whole_and_never_negative_and_keep_their_total(shop):
    for _ in range(3):
        release = ask(shop, f"select items, {NUMBERS} from orders group by items", epsilon="0.01")
        best = release.best()
        assert [row[0] for row in best] == [row[0] for row in release.rows]
        for place in (1, 2):
            numbers = [row[place] for row in best]
            assert all(isinstance(number, int) and number >= 0 for number in numbers)
            low, high = (sum(row[place][end] for row in release.intervals) for end in (0, 1))
            assert sum(numbers) == max(0, (low + high) // 2)  # the sum of the unbiased numbers, with all their digits


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "grouping",
    [
        "rollup(sex, paid, city)",
        "cube(sex, city)",
        "cube(sex, paid, city)",
        "grouping sets ((city), (sex))",
        "grouping sets ((city, sex), (city), ())",
    ],
)
def test_groups_add_up_to_their_totals(shop, grouping):
    keys = ["sex", "paid", "city"] if "paid" in grouping else ["sex", "city"]
    flags = [f"grouping({key}) as g_{key}" for key in keys]
    release = ask(shop, f"select {', '.join([*keys, *flags])}, {NUMBERS} from orders group by {grouping}")
    tables = defaultdict(dict)
    for row in release.best():
        summed = row[len(keys) : 2 * len(keys)]
        tables[summed][row[: len(keys)]] = row[2 * len(keys) :]
    totals = {tuple(np.sum(list(table.values()), axis=0).tolist()) for table in tables.values()}
    assert len(totals) == 1  # one total, whichever table is added up
    for coarse, wide in tables.items():
        for fine, table in tables.items():
            if fine == coarse or any(above < below for above, below in zip(coarse, fine, strict=True)):
                continue
            added = defaultdict(lambda: np.zeros(2, dtype=np.int64))
            for labels, numbers in table.items():
                added[tuple(None if one else label for one, label in zip(coarse, labels, strict=True))] += numbers
            assert {key: tuple(value.tolist()) for key, value in added.items()} == wide


def test_totals_of_many_cells_stay_near_what_was_measured_of_them(shop, source):
    """The sum of 21 noisy cells has 21 times the variance of a total that was measured."""
    exact = dict(source.execute("select city, count(*) from orders group by city").fetchall())
    unbiased, best = [], []
    for _ in range(10):
        release = ask(shop, "select items, city, count(*) n from orders group by cube(items, city)", epsilon="3")
        totals = release.totals
        for row, one, places in zip(release.rows, release.best(), totals, strict=True):
            if places == (0,):
                unbiased.append(row[2] - exact.get(row[1], 0))
                best.append(one[2] - exact.get(row[1], 0))
    assert np.mean(np.square(best)) < 2.5 * np.mean(np.square(unbiased))


def test_what_is_not_a_count_or_sum_stays_as_it_is(shop):
    sql = "select city, avg(amount) a, median(items) m, count(*) n, 2 * count(*) + 1 as k from orders group by city"
    release = ask(shop, sql, epsilon=200)
    for row, best in zip(release.rows, release.best(), strict=True):
        assert row[:3] == best[:3]
        assert best[4] == 2 * best[3] + 1


def test_discovered_keys_keep_the_numbers_that_they_were_discovered_by(shop):
    release = ask(shop, "select note, count(distinct customer) n from orders group by note", epsilon=20)
    assert len(release.rows) and release.best() == release.rows


def test_rows_that_are_left_out_by_having_and_limit_still_say_what_they_know(shop):
    release = ask(shop, "select items, count(*) n from orders group by items having count(*) > 5 order by n limit 4")
    assert [row[0] for row in release.best()] == [row[0] for row in release.rows]


def test_groups_in_which_nobody_can_be_get_nobody(shop):
    release = ask(shop, "select sex, lower(sex) as l, count(*) n from orders group by sex, lower(sex)", epsilon=5)
    assert len(release.best()) == len(release.rows)
    assert sum(row[2] for row in release.best()) == sum(row[2] for row in release.rows)


def test_derived_answers_have_best_numbers_too(shop):
    shop.sql("select sex, city, count(*) n from orders where items < 3 group by sex, city").ask(epsilon=2)
    release = shop.sql("select sex, count(*) n from orders where items < 3 group by sex").ask(epsilon="0.5")
    assert release.derived
    assert all(isinstance(row[1], int) and row[1] >= 0 for row in release.best())


def test_sums_over_other_groups_stay_as_they_are(shop):
    text = (
        "select city, count(*) n, sum(count(*)) over () w, sum(count(*)) over (order by city) r from orders group by 1"
    )
    release = ask(shop, text, epsilon="0.2")
    assert [row[2:] for row in release.best()] == [row[2:] for row in release.rows]
    assert all(row[1] >= 0 for row in release.best())


def test_it_costs_nothing_and_is_the_same_whenever_it_is_read(shop):
    release = ask(shop, "select city, count(*) n from orders group by city")
    before = shop.budget("orders").spent
    assert release.best() == shop.release(release.id).best()
    assert shop.budget("orders").spent == before


def test_files_and_json_and_the_screen_have_them(shop):
    release = ask(shop, "select city, count(*) n, avg(items) a from orders group by city", epsilon="0.2")
    table = release.to_arrow(best=True)
    assert table.column_names == ["city", "n", "n_low", "n_high", "n_best", "a", "a_low", "a_high", "a_best"]
    assert table["n_best"].to_pylist() == [row[1] for row in release.best()]
    assert "n_best" not in release.to_arrow().column_names
    assert json.loads(json.dumps(release.to_data(best=True)))["best"] == [list(row) for row in release.best()]
    assert "best" not in release.to_data()
    lines = answer_lines(release, shop.budget("orders"), best=True)
    assert BEST_LEGEND in lines and len(lines[0].columns) == 4
    assert BEST_LEGEND not in answer_lines(release, shop.budget("orders"))


def test_a_release_that_cannot_compute_them_says_so(shop):
    from dataclasses import replace

    release = replace(ask(shop, "select count(*) n from orders"), read_best=None)
    with pytest.raises(UsageError, match="best numbers"):
        release.best()


def test_a_table_that_forgets_its_totals_is_caught(shop, monkeypatch):
    """The planted bug: each grouping set by itself. Measured as one workload they would agree as they are."""
    monkeypatch.setattr("discreet.project.question.has_many_numbers", lambda query: False)
    release = ask(shop, "select sex, city, sum(amount) s from orders group by rollup(sex, city)", epsilon=20)
    whole = module._solved
    monkeypatch.setattr(module, "_solved", lambda tables, least: [whole([table], least)[0] for table in tables])
    sums = defaultdict(int)
    for row, places in zip(release.best(), release.totals, strict=True):
        sums[places] += row[2]
    assert len(set(sums.values())) > 1
