"""A repeat is free: whatever the order in which it names things, alone or in a batch; and what `again` can repeat."""

import json

import pytest

from answers.shop import make
from discreet.answers.repeats import single_statement
from discreet.errors import UsageError
from discreet.kernel.measurement import DiscoveredKeys, Measurement

TWICE = [
    (
        "select city, count(*) as n, sum(items) as s from orders group by city",
        "select sum(items) as all_items, city, count(*) from orders group by 2",
    ),
    (
        "select median(items), max(items), avg(amount) from orders",
        "select avg(amount) as a, max(items) as b, median(items) as c from orders",
    ),
    (
        "select sex, paid, count(*), sum(items) from orders group by grouping sets ((sex), (paid), ())",
        "select sum(items), count(*), paid, sex from orders group by grouping sets ((), (paid), (sex))",
    ),
    (
        "select note, substr(note, 3, 1) as x, count(*), sum(items) from orders group by note, x",
        "select sum(items), substr(note, 3, 1), note, count(*) from orders group by 2, note",
    ),
    (
        "select note, paid, avg(items), count(distinct customer) from orders group by note, paid",
        "select count(distinct customer), paid, avg(items), note from orders group by paid, note",
    ),
]


@pytest.fixture
def shop(tmp_path):
    return make(tmp_path)


@pytest.mark.thin(2)
@pytest.mark.parametrize(("first", "second"), TWICE)
def test_the_order_of_things_makes_no_new_question(shop, first, second):
    answers = [shop.sql(text).ask(epsilon=400) for text in (first, second)]
    assert not answers[0].cached and answers[1].cached
    assert shop.budget("orders").events == 1
    rows = [sorted(sorted(map(repr, row)) for row in answer.rows) for answer in answers]
    assert rows[0] == rows[1]
    ends = [sorted(sorted(map(repr, row)) for row in answer.intervals) for answer in answers]
    assert ends[0] == ends[1]


@pytest.mark.deep
def test_each_number_stays_under_its_own_name(shop):
    first = shop.sql("select count(*) as n, sum(items) as s, sum(amount) as a, median(items) as m from orders")
    second = shop.sql("select median(items) as m, sum(amount) as a, count(*) as n, sum(items) as s from orders")
    one, two = (
        dict(zip([column.name for column in answer.columns], zip(answer.rows[0], answer.intervals[0], strict=True)))
        for answer in (first.ask(epsilon=1), second.ask(epsilon=1))
    )
    assert one == two
    assert second.explain(epsilon=1)["cost"]["epsilon"] == 0


def test_again_reads_both_answers_in_any_order(shop):
    """The second measurement is of another spelling than the first."""
    first = shop.sql("select sum(items) as s, count(*) as n from orders").ask(epsilon=1000)
    both = shop.again(first.id, epsilon=1000)
    turned = shop.sql("select count(*) as n, sum(items) as s from orders").ask(epsilon=1)
    assert turned.id == both.id and turned.rows[0] == both.rows[0][::-1]
    assert both.rows[0] == pytest.approx(first.rows[0], abs=40)


@pytest.mark.deep
def test_again_reads_all_that_was_measured_before(shop):
    """Each time counts: three measurements of one epsilon leave a third of the variance."""
    first = shop.sql("select city, count(*) from orders group by city").ask(epsilon=1)
    second = shop.again(first.id, epsilon=1)
    third = shop.again(second.id, epsilon=1)
    assert shop.curator.stored_measurement(third.id).also == (second.id, first.id)
    stored = [shop.curator.stored_measurement(each.id).parts[0].noisy_values[0] for each in (first, second, third)]
    means = [sum(values) / 3 for values in zip(*stored, strict=True)]
    assert [row[1] for row in third.rows] == pytest.approx(means, abs=0.51)  # noise of tens leaves no decimals
    assert 0.5 < third.plus_minus() / first.plus_minus() < 0.65


@pytest.mark.deep
def test_discovered_keys_come_sorted_as_selected(shop):
    one = shop.sql("select note, substr(note, 3, 1), count(*) from orders group by 2, 1").ask(epsilon=1000)
    two = shop.sql("select substr(note, 3, 1), note, count(*) from orders group by 2, 1").ask(epsilon=1000)
    assert [row[:2] for row in one.rows] == [("Urgent", "g"), ("gift", "f"), ("late", "t"), ("urgent", "g")]
    assert [row[:2] for row in two.rows] == [("f", "gift"), ("g", "Urgent"), ("g", "urgent"), ("t", "late")]
    assert two.cached


BATCH = (
    "select city, count(*) from orders group by city; select city, avg(items), median(items) from orders group by city"
)


@pytest.mark.thin(1)
@pytest.mark.parametrize(
    "text",
    [
        "select city, count(*) from orders group by city",
        "select count(*) as n, city from orders group by 2 order by n",
        "select avg(items), median(items), city from orders group by city",
    ],
)
def test_a_statement_of_a_batch_is_free_when_it_is_asked_alone(shop, text):
    batch = shop.batch(BATCH, epsilon=400)
    question = shop.sql(text)
    told = question.explain(epsilon=400)
    assert told["cost"]["epsilon"] == 0 and told["stored"]["release"] == batch[0].id
    found = question.ask(epsilon=400)
    assert found.cached and found.id == batch[0].id and shop.budget("orders").events == 1
    cells = {repr(cell) for answer in batch for row in answer.rows for cell in row}
    assert {repr(cell) for row in found.rows for cell in row} <= cells
    assert not question.ask(epsilon=400, fresh=True).cached


@pytest.mark.deep
def test_a_batch_that_asks_the_same_twice_in_another_order_pays_once(shop):
    text = "select note, count(*), sum(items) from orders group by note"
    turned = "select sum(items), note, count(*) from orders group by note"
    one, two = shop.batch(f"{text}; {turned}", epsilon=200)
    assert not one.cached and two.cached and shop.budget("orders").events == 1
    assert [(row[0], row[1], row[2]) for row in one.rows] == [(row[1], row[2], row[0]) for row in two.rows]


@pytest.mark.deep
def test_a_batch_reads_what_again_has_measured(shop):
    text = "select city, count(*) from orders group by city"
    first = shop.sql(text).ask(epsilon=1)
    both = shop.again(first.id, epsilon=1)
    (found,) = shop.batch(text, epsilon=1)
    assert found.cached and found.rows == both.rows and found.intervals == both.intervals


def test_what_a_batch_did_not_ask_is_a_new_question(shop):
    shop.batch(BATCH, epsilon=1)
    for text in (
        "select city, sum(items) from orders group by city",
        "select city, count(items) from orders group by city",
        "select city, median(items) from orders group by city",
        "select count(*) from orders",
    ):
        assert not shop.sql(text).ask(epsilon=1).cached


def test_within_takes_no_batch_that_is_wider(shop):
    shop.batch("select count(*) from orders; select sum(items), sum(amount) from orders", epsilon=1)
    question = shop.sql("select count(*) from orders")
    assert question.ask(within=5000).cached
    assert not question.ask(within=20).cached


def test_within_is_for_every_number_of_an_answer(shop):
    """Not for the most exact of them: the sum moves twenty times as far as the count."""
    text = "select count(*), sum(items) from orders"
    first = shop.sql(text).ask(epsilon=1)
    narrow, wide = sorted((high - low) / 2 for low, high in first.intervals[0])
    assert not shop.sql(text).ask(within=int(narrow) + 2).cached
    assert shop.sql(text).ask(within=int(wide) + 2).cached


@pytest.mark.deep
def test_again_says_what_it_can_repeat(shop, tmp_path):
    batch = shop.batch(BATCH, epsilon=1)[0]
    with pytest.raises(UsageError, match="2 statements of a batch") as problem:
        single_statement(shop.curator.stored_measurement(batch.id))
    assert '--fresh --epsilon E "select city, count(*) from orders group by city"' in problem.value.hint
    bounds = shop.bias("orders", epsilon=1)
    with pytest.raises(UsageError, match="discreet bounds orders") as problem:
        single_statement(shop.curator.stored_measurement(bounds.releases[0]))
    assert "again, with a larger E" in problem.value.hint
    single = shop.sql("select count(*) from orders ;").ask(epsilon=1)
    assert single_statement(shop.curator.stored_measurement(single.id)) == "select count(*) from orders"


def test_answers_of_older_builds_can_be_read(shop):
    """Fields that were added later have a value for those who did not write them."""
    found = shop.sql("select note, count(*) from orders group by note").ask(epsilon=100)
    text = shop.ledger.answer(found.id)
    data = json.loads(text)
    del data["also"]
    for part in data["parts"]:
        part.pop("cut", None)
    old = Measurement.from_text(json.dumps(data))
    assert old == Measurement.from_text(text)
    assert any(isinstance(part, DiscoveredKeys) and not part.is_truncated for part in old.parts)


@pytest.mark.deep
def test_a_comment_at_a_statements_end_does_not_swallow_the_next(tmp_path):
    from answers.shop import make

    shop = make(tmp_path)
    one, two = "select count(*) from orders -- all", "select avg(items) from orders"
    shop.batch(f"{one}\n;\n{two}", epsilon=1)
    spent = shop.budget("orders").spent
    assert shop.sql(two).ask(epsilon=1).cached
    assert shop.sql("select count(*) from orders").ask(epsilon=1).cached
    assert shop.budget("orders").spent == spent
