"""What a budget still holds, and what it stands at after an answer that is free."""

import re
from fractions import Fraction

import pytest

import clinic
from answers.shop import make
from discreet.accounting.guarantee import Guarantee
from discreet.answers.affordability import counts_left, largest_question
from discreet.errors import BudgetExceeded
from discreet.exact import EPSILON_UNITS, number, show
from discreet.ledger.account import RemainingByArm


def test_more_counts_are_told_by_how_far_a_person_moves_one():
    """A person of twenty rows moves a count by twenty, so that one within 50 costs twenty times as much."""
    limits = Guarantee(epsilon=number("10", name="epsilon"), delta=number("0", name="delta")).limits
    room = RemainingByArm(pure=10 * EPSILON_UNITS, rho=0)
    one, twenty = (counts_left(limits, room, width=50, rows=rows) for rows in (1, 20))
    # Laplace noise of scale b is within 50 at 95% where 3 b is about 50: epsilon 0.06 for a row.
    assert one == pytest.approx(10 / 0.0594, rel=0.02)
    assert twenty == pytest.approx(10 / (20 * 0.0594), rel=0.15)


ACCOUNTS = [
    ("{ epsilon = 4 }", ""),
    ("{ epsilon = 16, delta = 1e-6 }", 'accounting = "zcdp"'),
    ("{ epsilon = 16, delta = 1e-6 }", 'accounting = "pure"'),
    ("{ epsilon = 2, delta = 1e-6 }", ""),
]


@pytest.mark.thin(3)
@pytest.mark.parametrize(("budget", "accounting"), ACCOUNTS)
@pytest.mark.parametrize("spent", ["", "0.3", "1.999"])
def test_the_largest_question_is_accepted_and_no_count_above_it(tmp_path, budget, accounting, spent):
    project = clinic.make(tmp_path, budget=budget, extra=accounting)
    if spent:
        project.sql("select count(*) from patients where age > 3").ask(epsilon=spent)
    largest = project.budget("patients").largest_question
    assert largest > 0
    count = project.sql("select sex, count(*) from patients group by sex")
    for act in (count.explain, count.ask):
        with pytest.raises(BudgetExceeded) as caught:
            act(epsilon=largest + Fraction(2, 10**6))
        assert caught.value.hint.startswith(f"--epsilon {show(largest)} (this fits")
    for text in ("select count(*), avg(age) from patients", "select median(age), count(*) from patients"):
        assert project.sql(text).explain(epsilon=largest)["accepted"]
    assert count.ask(epsilon=largest).rows
    assert project.budget("patients").largest_question < Fraction(1, 100)


@pytest.mark.deep
def test_where_the_rho_binds_the_hint_speaks_of_epsilon(tmp_path, capsys):
    """The pure filter is closed; what remains as epsilon is more than any one question may have."""
    clinic.make(tmp_path, budget="{ epsilon = 16, delta = 1e-6 }", extra='accounting = "zcdp"')
    code, refused, _ = clinic.run(capsys, tmp_path, "query", "select count(*) from patients", "--epsilon", "6")
    told = clinic.run(capsys, tmp_path, "budget")[1]["tables"]["patients"]
    assert code == 4
    assert refused["reason"] == "this request costs epsilon 48.8506, but 'patients' has 16 remaining of 16"  # rho 18
    assert told["largest_question"] < 6 < told["remaining"]["epsilon"]
    assert refused["hint"].startswith(f"--epsilon {show(number(told['largest_question'], name='epsilon'))} (this fits")
    words = clinic.say(capsys, tmp_path, "budget")[1]
    named = re.search(r"a single count of everybody can use at most --epsilon (\S+);", words)[1]
    assert clinic.run(capsys, tmp_path, "query", "select count(*) from patients", "--epsilon", named)[0] == 0
    assert "too small for a count of everybody" not in words


def test_nothing_is_left_for_everybody(tmp_path, capsys):
    clinic.make(tmp_path)
    clinic.run(capsys, tmp_path, "query", "select count(*) from patients", "--epsilon", "1")
    assert clinic.run(capsys, tmp_path, "budget")[1]["tables"]["patients"]["largest_question"] == 0
    assert "the remaining budget is too small for a count of everybody" in clinic.say(capsys, tmp_path, "budget")[1]


@pytest.mark.parametrize(
    ("pure", "rho", "epsilon"),
    [
        (0, 0, 0),
        (1, 0, 0),
        (1999, 0, "0.000001"),
        (10**9, 2 * 10**12, 2),
        (3 * 10**9, 2 * 10**12, 3),
        (0, 1, "0.000001"),
    ],
)
def test_the_largest_question_by_whole_units(pure, rho, epsilon):
    assert largest_question(RemainingByArm(pure=pure, rho=rho)) == Fraction(epsilon)


def test_no_question_is_larger_than_questions_are():
    assert largest_question(RemainingByArm(pure=10**6 * EPSILON_UNITS, rho=0)) == 1000


@pytest.mark.deep
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
