"""What the reader understands, through the whole path, beside DuckDB's own answers to the same text."""

import pytest

EPSILON = 1000


def close(mine, theirs):
    """Equal up to noise: keys as they are, numbers within 2 and a little."""
    if isinstance(mine, int | float) and not isinstance(mine, bool):
        return theirs is not None and abs(mine - float(theirs)) <= 3 + abs(float(theirs)) / 100
    return mine == (None if theirs is None else str(theirs)[: len(mine)])


#: Each counts and sums little enough that noise at this epsilon is below 3, save once in a million runs.
SAME = [
    "select state, count(*) from people p left join cities c on p.city = c.name and c.state like '%w' "
    "group by state having count(*) > 20 order by state nulls last",
    "select count(*), count(fee) from orders o left join payments p on o.customer = p.customer and p.fee > 5",
    "select count(*) from orders o join payments p on o.customer = p.customer and o.items > p.fee",
    "select state, count(*) from people p join (select name as n, state from cities where people < 3) c "
    "on p.city = c.n group by state having count(*) > 20 order by state",
    "select r.state, count(*) from payments p join (select o.customer, c.state from orders o "
    "join cities c on o.city = c.name where c.state <> 'by') r on p.customer = r.customer "
    "group by r.state having count(*) > 20 order by 1",
    "select date_trunc('month', day) as m, count(*) n from orders group by m order by m nulls last limit 3 offset 4",
    "select city, count(*) from people group by city order by city limit 1 offset 1",
    "select count(*) from people group by city having count(*) > 20 order by city desc",
    "select sum(items) from orders where paid group by city having count(*) > 20 order by city desc",
    "select city, count(*) from people group by city having count(*) > 20 order by city offset 2",
    "select city, count(*) from people group by city order by city limit 2 offset 0",
    "select city, count(*) from orders group by city order by city nulls first",
    "select city, count(*) from orders group by city order by city desc nulls last",
]


@pytest.mark.thin(4)
@pytest.mark.parametrize("text", SAME)
def test_the_answer_is_duckdbs(shop, source, text):
    mine = shop.sql(text).ask(epsilon=EPSILON).rows
    theirs = source.execute(text).fetchall()
    assert len(mine) == len(theirs), (mine, theirs)
    for one, other in zip(mine, theirs, strict=True):
        assert all(close(a, b) for a, b in zip(one, other, strict=True)), (one, other)


@pytest.mark.parametrize(("way", "cities"), [("", ["trier", "ulm", "bonn"]), ("desc", ["bonn", "ulm", "trier"])])
def test_order_by_a_quantile_that_is_not_selected(shop, way, cities):
    of = "case city when 'bonn' then 12 when 'trier' then 3 else 7 end"
    text = f"select city from people group by city having count(*) > 20 order by median({of}) {way}"
    assert [city for (city,) in shop.sql(text).ask(epsilon=EPSILON).rows] == cities
