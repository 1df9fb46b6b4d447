"""On the real engine, with noise of zero: what is derived is what SQL counts."""

import duckdb
import numpy as np
import pytest

from answers.shop import make
from discreet.mechanisms.laplace import DiscreteLaplace

HISTORY = [
    "select date_trunc('month', day) as m, city, sex, count(*), sum(items) from orders group by m, city, sex",
    "select floor(amount / 100) as f, paid, count(*) from orders group by f, paid",
    "select note, count(*) from orders where note in ('late', 'gift') group by note",
    "select count(*) from orders where note = 'late'",
    "select count(*) filter (where paid), count(amount) from orders where sex = 'F'",
]
DERIVED = [
    "select city, count(*) from orders group by city",
    "select date_trunc('quarter', day) as q, count(*) from orders group by q",
    "select extract(month from day) as m, sum(items) from orders where city is not null group by m",
    "select count(*) from orders where day >= date '2025-04-01' and day < date '2025-07-01'",
    "select count(*) from orders where year(day) = 2025 and sex <> 'F'",
    "select sum(items) from orders where city in ('bonn', 'ulm') or sex = 'M'",
    "select count(*) from orders where amount >= 100 and amount < 300",
    "select count(*) from orders where not (amount < 300)",
    "select paid, count(*) from orders where amount is not null group by paid",
    "select count(*) from orders where paid is null",
    "select count(*) from orders where note = 'late'",
    "select case when city = 'bonn' then 'here' else 'there' end as place, count(*) from orders group by place",
    "select sex, city, count(*) from orders group by rollup (sex, city)",
]
OPEN = [
    "select count(*) from orders where day >= date '2025-04-02'",
    "select count(*) from orders where amount >= 150",
    "select city, paid, count(*) from orders group by city, paid",
    "select count(*) from orders where note = 'urgent'",
    "select count(*) from orders where note > 'late'",
    "select sum(amount) from orders",
    "select count(*) from orders where amount > items",
]


@pytest.fixture(scope="module")
def state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def made(tmp_path_factory, state):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(state))
        patch.setattr(DiscreteLaplace, "draw", lambda self, size, *, bits: np.zeros(size, dtype=np.int64))
        shop = make(tmp_path_factory.mktemp("shop"))
        for text in HISTORY:
            shop.sql(text).ask(epsilon=900)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute(f"create table orders as from read_csv('{shop.folder / 'orders.csv'}', nullstr = '')")
        yield shop, connection


@pytest.fixture
def asked(made, state, monkeypatch):
    monkeypatch.setenv("DISCREET_STATE", str(state))
    return made


def told(row):
    return tuple(None if cell is None else str(cell)[:10] for cell in row)


@pytest.mark.thin(4)
@pytest.mark.parametrize("text", DERIVED)
def test_what_is_derived_is_what_sql_counts(asked, text):
    shop, connection = asked
    found = shop.sql(text).ask(epsilon="0.01")
    assert found.derived or found.cached
    exact = {told(row[:-1]): row[-1] for row in connection.execute(text).fetchall()}
    if "rollup" in text:  # a NULL city and a subtotal have the same key
        assert sorted(round(row[-1], 6) for row in found.rows) == sorted(exact_rows(connection, text))
        return
    shown = {told(row[:-1]): round(row[-1], 6) for row in found.rows}
    assert {key: number for key, number in shown.items() if number or key in exact} == {
        key: int(number or 0) for key, number in exact.items()
    }


def exact_rows(connection, text):
    return [row[-1] for row in connection.execute(text).fetchall()]


@pytest.mark.parametrize("text", OPEN)
def test_what_is_open_is_paid(asked, text):
    shop, _ = asked
    found = shop.sql(text).ask(epsilon="0.01", delta="1e-9")
    assert not found.derived and not found.cached
