"""What takes away beside the noise is named in `warnings`, from the declaration alone."""

import pytest

from answers.shop import make
from discreet.answers.caveats import caveats

DECLARED = "numbers and intervals describe the declared table: "


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(tmp_path_factory.mktemp("state")))
        found = make(tmp_path_factory.mktemp("shop"))
        assert not found.ledger.state.charges  # open, under this state folder
        yield found


def told(shop, text: str) -> list[str]:
    return caveats(shop.sql(text).query)


def limits(shop, text: str) -> list[str]:
    """The limits that are named, one by one."""
    lines = [line for line in told(shop, text) if line.startswith(DECLARED)]
    assert len(lines) <= 1
    return lines[0].removeprefix(DECLARED).split("; discreet")[0].split(", ") if lines else []


def bounded(shop, text: str) -> list[str]:
    return [limit.split(" ")[0] for limit in limits(shop, text) if " within " in limit or " at " in limit[3:]]


CLAMPED = {
    "select sum(items) from orders": "items",
    "select avg(amount * items) from orders": "amount and items",
    "select median(day) from orders": "day",
    "select items, count(*) from orders group by items": "items",
    "select date_trunc('month', day), count(*) from orders group by 1": "day",
    "select note, floor(items / 5), count(*) from orders group by 1, 2": "items",
    "select count(*) from orders where items > 5": "items",
    "select count(*) from orders where items > 5 and (day > date '2025-02-01' or amount < 3)": "amount, day and items",
    "select count(*) filter (where amount < 10) from orders": "amount",
    "select count(distinct items) from orders": "items",
    "select sum(case when amount > 9 then 1 else 0 end) from orders": "amount",
    "select avg(m) from (select customer, max(items) as m from orders group by customer)": "items",
    "select count(*) from (select customer, max(items) as m from orders group by customer having min(amount) > 1)": "amount",
    "select m, count(*) from (select customer, max(items) as m from orders group by customer) group by m": "items",
    "select avg(f) from orders o join (select customer, sum(fee) as f from payments group by customer) p"
    " on o.customer = p.customer where items > 1": "orders.items and payments.fee",
    "select sum(people) from orders o join cities c on o.city = c.name and o.items = c.people": "items",
}


@pytest.mark.parametrize(("text", "names"), CLAMPED.items())
def test_clamping_is_named_wherever_it_touches(shop, text, names):
    assert bounded(shop, text) == names.replace(" and ", ", ").split(", ")


@pytest.mark.parametrize(
    "text",
    [
        "select count(*) from orders",
        "select count(items), count(*) from orders where amount is not null and day is null",
        "select count(*) from orders where id > 5",
        "select city, count(distinct note) from orders where paid group by city",
        "select count(*) from (select customer, max(items) as m from orders group by customer)",
        "select count(*) from orders o join payments p on o.customer = p.customer",
        "select state, sum(people) from orders o join cities c on o.city = c.name where people > 1 group by state",
    ],
)
def test_and_nowhere_else(shop, text):
    assert bounded(shop, text) == []


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("select count(distinct customer) from orders where items > 2", ["at most 20 rows per person"]),
        ("select note, count(*) from orders group by note", ["at most 20 rows per person"]),
        (
            "select avg(m) from (select customer, max(items) as m from orders group by customer)",
            ["at most 20 rows per person"],
        ),
        (
            "select count(*) from orders o join payments p on o.customer = p.customer",
            ["at most 20 rows per person of orders", "at most 3 rows per person of payments"],
        ),
        ("select count(*) from people", []),
    ],
)
def test_truncation_is_named_for_every_table_of_persons(shop, text, tables):
    assert [limit for limit in limits(shop, text) if "per person" in limit] == tables


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "select city, sum(amount) from orders group by city",
            "at most 20 rows per person, amount within 0..500, other values of city are NULL",
        ),
        ("select count(city) from people", "other values of city are NULL"),
        (
            "select count(*) from orders where sex = 'M' and day > date '2025-03-01'",
            "at most 20 rows per person, day within 2025-01-01..2025-12-31, other values of sex are 'F'",
        ),
        ("select avg(age) from people", "age within 0..99"),
    ],
)
def test_the_declared_table_is_named_with_its_limits(shop, text, expected):
    """An interval that says "the exact number lies inside" is wrong where a limit moved it: the limits are named."""
    assert ", ".join(limits(shop, text)) == expected


def test_one_row_a_person_is_said_shortly(tmp_path):
    """It may be that nobody has more, or that much is left out: said, but no report is proposed with every answer."""
    shop = make(tmp_path, rows_per_person=1)
    assert told(shop, "select count(*) from orders") == [f"{DECLARED}at most one row per person"]
    (line,) = told(shop, "select count(*) from orders o join payments p on o.customer = p.customer")
    assert "at most one row per person of orders, at most 3 rows per person of payments" in line
    assert line.endswith("; discreet bounds payments --report --epsilon 0.1 estimates what that leaves out")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("select avg(least(amount, 5000)) from orders", "least"),
        ("select sum(greatest(items, 3)) from orders", "greatest"),
        ("select count(*) from orders where least(amount, 100) = 100", "least"),
        ("select avg(m) from (select customer, max(least(items, 7)) as m from orders group by customer)", "least"),
        ("select sum(least(coalesce(amount, 0), 100)) from orders", None),
        ("select sum(least(amount, items)) from orders", None),
        ("select least(count(*), 100) from orders", None),
    ],
)
def test_least_and_greatest_skip_null_and_say_so(shop, text, word):
    lines = [line for line in told(shop, text) if "skips NULL" in line]
    assert [line.split()[0] for line in lines] == ([] if word is None else [word])


def test_they_stand_in_the_answer_and_are_those_of_an_empty_table(shop, tmp_path):
    text = "select items, avg(least(amount, 400)) from orders where day > date '2025-03-01' group by items"
    empty = make(tmp_path, customers=0)
    answers = [each.sql(text).ask(epsilon=1).warnings for each in (shop, empty)]
    for line in told(shop, text):
        assert all(line in warnings for warnings in answers)
    assert len(told(shop, text)) == 2
