"""What explain says is true: of discovered keys too, whose number nobody knows before."""

import re

import pytest

from answers.shop import make


@pytest.fixture
def shop(tmp_path):
    return make(tmp_path)


def steps(shop, text):
    told = shop.sql(text).explain(epsilon=1)
    return told, [step for step in told["steps"] if "Laplace" in step]


def test_cells_of_discovered_keys_are_not_counted(shop):
    told, lines = steps(shop, "select note, sum(items), count(*) from orders group by note")
    assert len(lines) == 2 and all("each discovered key within" in line for line in lines)
    assert told["cells"] is None
    told, lines = steps(shop, "select note, city, sum(items) from orders group by note, city")
    assert "each of 4 cells of each discovered key within" in lines[0]
    assert told["cells"] is None and "1 cells" not in str(told)


def test_cells_of_known_keys_are(shop):
    told, lines = steps(shop, "select city, sum(items), count(*) from orders group by city")
    assert told["cells"] == 8 and all("each of 4 cells within" in line for line in lines)
    told, lines = steps(shop, "select count(*) from orders")
    assert told["cells"] == 1 and "cells" not in lines[0] and " within " in lines[0]


def test_a_count_is_within_a_number_and_a_sum_within_steps_of_its_grid(shop):
    text = "select count(*), count(distinct customer), count(distinct city), sum(amount) from orders"
    told = {line.partition(":")[0]: line.rpartition(" within ")[2] for line in steps(shop, text)[1]}
    assert set(told) == {"count of rows", "count of persons", "count of different values", "sum"}
    assert told.pop("sum").partition(" ")[2] == "steps of its grid"
    assert all(words.replace(",", "").isdigit() for words in told.values())


def test_a_sum_in_grains_says_so(shop):
    """Cents squared are far finer than the noise: squares are summed in grains of many steps."""
    squares = steps(shop, "select stddev(amount) from orders")[1][2]
    many = re.fullmatch(r"sum: .* within ([\d,]+) times ([\d,]+) steps of its grid", squares)
    assert many and int(many[2].replace(",", "")) > 1


def test_each_columns_noise_is_its_own_statistics(shop):
    """In whatever order they are asked: the statistics of a question are numbered by what they are."""
    one, _ = steps(shop, "select count(*) as n, sum(items) as s, sum(amount) as a, median(items) as m from orders")
    two, _ = steps(shop, "select median(items) as m, sum(amount) as a, sum(items) as s, count(*) as n from orders")
    noise = [{each["column"]: each for each in told["noise"]} for told in (one, two)]
    assert noise[0] == noise[1]
    widths = [noise[0][name]["plus_minus"] for name in ("n", "s", "a")]
    # A person moves these by 20, by 20 * 20 and by 20 * 500, for the same share.
    assert widths[1] / widths[0] == pytest.approx(20, rel=0.05) and widths[2] / widths[1] == pytest.approx(25, rel=0.05)
    assert noise[0]["m"]["bins"] == 21


def test_a_correlation_may_be_a_dash_and_that_is_said_before_it_is_paid(shop):
    said = shop.sql("select corr(amount, items) as r, regr_r2(amount, items) as r2 from orders").explain(epsilon=1)
    assert any(step.startswith("r, r2: a dash where noise leaves no variance") for step in said["steps"])
    assert not any("a dash" in step for step in shop.sql("select avg(items) from orders").explain(epsilon=1)["steps"])
