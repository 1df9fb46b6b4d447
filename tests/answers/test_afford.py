"""What a budget still holds, and what it stands at after an answer that is free."""

import pytest

from answers.shop import make
from discreet.accounting.guarantee import Guarantee
from discreet.answers.afford import counts_left
from discreet.exact import EPSILON_UNITS, number
from discreet.ledger.account import Room


def test_more_counts_are_told_by_how_far_a_person_moves_one():
    """A person of twenty rows moves a count by twenty, so that one within 50 costs twenty times as much."""
    limits = Guarantee(epsilon=number("10", name="epsilon"), delta=number("0", name="delta")).limits
    room = Room(pure=10 * EPSILON_UNITS, rho=0)
    one, twenty = (counts_left(limits, room, width=50, rows=rows) for rows in (1, 20))
    # Laplace noise of scale b is within 50 at 95% where 3 b is about 50: epsilon 0.06 for a row.
    assert one == pytest.approx(10 / 0.0594, rel=0.02)
    assert twenty == pytest.approx(10 / (20 * 0.0594), rel=0.15)


def test_after_a_free_answer_the_budget_stands_where_it_stood(tmp_path):
    shop = make(tmp_path)
    question = shop.sql("select count(*) from orders")
    question.ask(epsilon=2)
    stands = shop.budget("orders")
    told = question.explain(epsilon=3)
    assert told["spent_after"]["epsilon"] == float(stands.spent.epsilon) == 2
    assert told["remaining_after"]["epsilon"] == float(stands.remaining.epsilon)
    other = shop.sql("select sum(items) from orders").explain(epsilon=3)
    assert other["spent_after"]["epsilon"] == 5
