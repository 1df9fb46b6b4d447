"""Right answers: every construct, through the whole path at an epsilon so large that noise hardly shows, against
DuckDB's own answer to the same text over the source."""

from fractions import Fraction

import pytest

from answers.shop import make

EPSILON = 1000

SAME = [
    "select count(*) from orders",
    "select count(*) from orders where city = 'ulm' and items > 5",
    "select count(amount), count(city), count(distinct customer), count(distinct items), count(distinct note) from orders",
    "select sum(amount), sum(items), sum(amount * items), sum(least(amount, 100)), sum(-items) from orders",
    "select avg(amount), avg(items), avg(amount * 2 + items), avg(case when paid then 1.0 else 0.0 end) from orders",
    "select variance(items), var_pop(items), stddev(items), stddev_pop(amount) from orders",
    "select corr(items, amount), covar_pop(items, amount), covar_samp(amount, items) from orders",
    "select regr_slope(amount, items), regr_intercept(amount, items) from orders",
    "select count(*) filter (where paid), sum(items) filter (where city = 'bonn') from orders",
    "select sum(amount) / count(*), round(avg(items), 1), count(*) + 1, 2 * sum(items) - count(*) from orders",
    "select city, count(*), avg(amount) from orders group by city",
    "select city, sex, count(*), sum(items) from orders group by city, sex",
    "select floor(items / 5) * 5 as bin, count(*) from orders group by bin",
    "select items % 3 as rest, count(*) from orders group by rest",
    "select date_trunc('month', day) as month, count(*) from orders group by month",
    "select date_trunc('quarter', day) as q, sum(items) from orders group by q",
    "select extract(month from day) as month, extract(dow from day) as weekday, count(*) from orders group by 1, 2",
    "select case when items > 10 then 'many' when items > 3 then 'some' else 'few' end as size, count(*) from orders group by 1",
    "select upper(city) as big, count(*) from orders group by big",
    "select paid, count(*) from orders group by paid",
    "select count(*) from orders where lower(note) like 'u%' or note in ('gift') or length(note) = 4",
    "select count(*) from orders where coalesce(amount, 0) between 100 and 200 and day >= date '2025-06-01'",
    "select count(*) from orders where amount / nullif(items, 0) > 20",
    "select count(*) from orders where not (paid or city is null)",
    "select city, count(*) as n from orders group by city having count(*) > 60 order by city",
    "select city, avg(items) as a from orders group by city order by a limit 2",
    "select city, sex, count(*) from orders group by rollup (city, sex)",
    "select city, paid, grouping(city) as g, count(*) from orders group by cube (city, paid)",
    "select sex, count(*) from orders group by grouping sets ((sex), ())",
    "with big as (select amount - 100 as over, sex from orders where amount > 100) select sex, avg(over), count(*) from big group by sex",
    "select count(*), sum(b) from (select a + 1 as b from (select items as a, city from orders) where city = 'bonn') where b > 3",
    "select avg(n), sum(s), count(*) from (select customer, count(*) as n, sum(items) as s from orders group by customer)",
    "select n, count(*) from (select customer, count(*) as n from orders where items > 2 group by customer having sum(items) > 20) group by n",
    "select avg(m), avg(t), avg(d) from (select customer, min(items) as m, max(items) as t, count(distinct city) as d from orders group by customer)",
    "select city, avg(s) from (select customer, city, sum(amount) as s from orders group by customer, city) group by city",
    "select count(*) from (select distinct customer from orders where paid)",
    "select state, count(*), sum(people) from orders o join cities c on o.city = c.name group by state",
    "select state, count(*) from orders o left join cities c on o.city = c.name group by state",
    "select count(*) from orders o join cities c on o.city = c.name and o.items = c.people",
    "select count(*), sum(fee), sum(items) from orders o join payments p on o.customer = p.customer where fee > 2",
    "select count(*), count(fee) from orders left join payments using (customer)",
    "select avg(f), count(*) from orders o join (select customer, sum(fee) as f from payments group by customer) p on o.customer = p.customer",
    "select city, avg(age), count(*) from people group by city",
    "select state, count(*) from people p join cities c on p.city = c.name group by state",
]


def plain(value):
    """A value as both sides can be compared: text of dates, floats of numbers."""
    if value is None or isinstance(value, str | bool):
        return value
    if hasattr(value, "isoformat"):
        return value.isoformat()[:10]
    return float(value)


#: With this confidence each number lies in its own interval: of a thousand numbers one does not, once in ten million runs.
SURELY = 1 - Fraction(1, 10**10)


def close(found, expected, ends):
    """Equal, or where numbers are noisy, within the number's own interval; grains and floats leave a little."""
    if ends is None or not isinstance(found, float) or not isinstance(expected, float):
        return found == expected
    slack = 1e-6 * max(1.0, abs(expected))
    return ends[0] - slack <= expected <= ends[1] + slack


@pytest.mark.thin(9)
@pytest.mark.parametrize("text", SAME)
def test_answers_are_those_of_sql(shop, source, text):
    release = shop.sql(text).ask(epsilon=EPSILON)
    ends = release.interval(SURELY)
    found = [(tuple(map(plain, row)), each) for row, each in zip(release.rows, ends, strict=True)]
    expected = [tuple(map(plain, row)) for row in source.execute(text).fetchall()]
    if "order by" not in text:
        keys = [place for place, column in enumerate(release.columns) if column.kind == "key"]
        # Known keys without rows get a noisy zero; SQL leaves them out.
        shown = {tuple(row[place] for place in keys) for row in expected}
        found = [pair for pair in found if tuple(pair[0][place] for place in keys) in shown]

        def order(row):
            # Among equal keys (a NULL key and a subtotal) the numbers decide.
            names = [(row[place] is None, str(row[place])) for place in keys]
            return names, [cell or 0.0 for cell in row if isinstance(cell, float)]

        found.sort(key=lambda pair: order(pair[0]))
        expected.sort(key=order)
    assert len(found) == len(expected)
    for (row, each), wanted in zip(found, expected, strict=True):
        assert all(map(close, row, wanted, each)), (row, wanted, each)
    for row, each in zip(release.rows, release.intervals, strict=True):
        for cell, interval in zip(row, each, strict=True):
            if interval is not None and cell is not None:
                assert interval[0] <= cell <= interval[1]


def test_a_table_reaches_its_persons_through_another(shop, source):
    found = shop.sql("select count(*), sum(weight), count(distinct person) from lines").ask(epsilon=EPSILON).rows[0]
    expected = source.execute(
        "select count(*), sum(weight), count(distinct customer) from lines join orders using (id)"
    ).fetchone()
    assert all(abs(one - two) <= max(1, 0.01 * two) for one, two in zip(found, expected, strict=True))


def test_quantiles(shop, source):
    release = shop.sql(
        "select median(amount), quantile(items, 0.25), min(amount), max(amount), median(day) from orders"
    ).ask(epsilon=EPSILON)
    row, ends = release.rows[0], release.intervals[0]
    expected = source.execute(
        "select quantile_cont(amount, [0.5, 0.005, 0.995]), quantile_disc(items, 0.25), median(day) from orders"
    ).fetchone()
    assert row[0] == pytest.approx(expected[0][0], abs=5)  # four rows away: about e^-20
    assert row[1] == pytest.approx(expected[1], abs=1)
    assert row[2] == pytest.approx(expected[0][1], abs=25)
    assert row[3] == pytest.approx(expected[0][2], abs=25)
    assert row[4][:7] == str(expected[2])[:7]
    assert all(low <= cell <= high for cell, (low, high) in zip(row, ends, strict=True))
    groups = shop.sql("select sex, median(items) from orders group by sex").ask(epsilon=EPSILON)
    assert [row[0] for row in groups.rows] == ["F", "M"]


def test_discovered_keys(shop, source):
    expected = dict(source.execute("select note, count(*) from orders group by note").fetchall())
    found = shop.sql("select note, count(*), avg(items) from orders group by note").ask(epsilon=EPSILON)
    assert {row[0]: round(row[1], -1) for row in found.rows} == {key: round(n, -1) for key, n in expected.items()}
    assert [row[0] for row in found.rows] == sorted(expected)
    top = shop.sql("select note, count(*) as n from orders group by note order by n desc limit 2").ask(epsilon=EPSILON)
    assert [row[0] for row in top.rows] == sorted(expected, key=expected.get, reverse=True)[:2]
    listed = shop.sql("select distinct note from orders").ask(epsilon=EPSILON)
    assert [row[0] for row in listed.rows] == sorted(expected)
    words = shop.sql("select word, count(*) from people group by word").ask(epsilon=EPSILON)
    assert words.event.l1 == 1 and len(words.rows) == 2  # one threshold answers the count as well
    numbers = shop.sql("select id, count(*) from orders group by id").ask(epsilon=1)
    assert numbers.rows == ()  # nobody shares an order number


def test_truncation_leaves_out_what_is_over_the_limit(tmp_path):
    shop = make(tmp_path, rows_per_person=2)
    kept = shop.sql("select count(*), count(distinct customer) from orders").ask(epsilon=EPSILON).rows[0]
    assert kept[1] == pytest.approx(120, abs=2)
    counts = [row.split(",")[0] for row in (tmp_path / "orders.csv").read_text().splitlines()[1:]]
    expected = sum(min(2, counts.count(customer)) for customer in set(counts))
    assert kept[0] == pytest.approx(expected, abs=2)
