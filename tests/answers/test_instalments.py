"""Precision in instalments: what is asked for later costs no more than asked for at once, and is as exact."""

from fractions import Fraction

import pytest

import clinic
import discreet
from discreet.accounting.events import GaussianEvent, RefinedEvent, is_refinement
from discreet.errors import BudgetExceeded, DiscreetError

COUNT = "SELECT count(*) AS n FROM patients"
BY_SEX = "SELECT sex, count(*) AS n, sum(age) AS years FROM patients GROUP BY sex"
SMALL = "{ epsilon = 3, delta = 1e-6 }"


@pytest.fixture
def project(tmp_path):
    return clinic.make(tmp_path / "clinic", budget=SMALL)


def spent(project):
    return project.ledger.account_status("patients").spent.epsilon


@pytest.mark.thin(4)
@pytest.mark.parametrize("text", [COUNT, BY_SEX, f"{COUNT} WHERE smoker"])
@pytest.mark.parametrize("widths", [(400, 200), (400, 350, 90), (300, 299)])
def test_instalments_cost_what_the_last_width_costs_at_once(tmp_path, text, widths):
    large = "{ epsilon = 30, delta = 1e-6 }"
    one, other = (clinic.make(tmp_path / name, budget=large) for name in ("one", "other"))
    for width in widths:
        answer = one.sql(text).ask(within=width)
        assert answer.plus_minus() <= width
    other.sql(text).ask(within=widths[-1])
    assert spent(one) == spent(other)
    assert sum(charge.moved for charge in one.ledger.state.charges.values()) == spent(one)


def test_explain_quotes_the_difference_and_says_of_what(project):
    first = project.sql(COUNT).ask(within=40)
    quoted = project.sql(COUNT).explain(within=10)
    assert f"this makes release {first.id} more precise, and only the difference is charged" in quoted["because"]
    second = project.sql(COUNT).ask(within=10)
    assert float(second.cost.to_data(up=True)["budget"]) == pytest.approx(float(quoted["cost"]["budget"]), rel=1e-9)
    assert any(f"makes release {first.id} more precise" in each for each in second.warnings)


def test_again_has_the_noise_of_both_epsilons_together(project):
    first = project.sql(BY_SEX).ask(epsilon="0.2")
    second = project.again(first.id, epsilon="0.3")
    assert spent(project) == Fraction(1, 2)
    at_once = project.sql(BY_SEX).explain(epsilon="0.5")
    scales = [part.scale for part in second.event.events]
    assert [float(scale) for scale in scales] == pytest.approx([each["scale"] for each in at_once["noise"]])
    third = project.again(first.id, epsilon="0.1")  # the last that refined it is meant
    assert spent(project) == Fraction(3, 5)
    assert project.ledger.state.refinements.refined_by == {first.id: second.id, second.id: third.id}


def test_again_within_a_width(project):
    first = project.sql(COUNT).ask(within=40)
    second = project.again(first.id, within=10)
    assert second.plus_minus() <= 10 and is_refinement(second.event)
    assert project.again(first.id, within=30).id == second.id  # precise enough already, and free


def test_a_refined_answer_is_read_back_and_repeated(project):
    first = project.sql(COUNT).ask(within=40)
    second = project.sql(COUNT).ask(within=10)
    assert project.release(second.id).rows == second.rows
    assert project.release(second.id, within=10).rows == second.rows
    repeat = project.sql(COUNT).ask(within=10)
    assert repeat.cached and repeat.rows == second.rows
    assert project.release(first.id).rows == first.rows
    assert (
        project.recall(second.id).cost_of_numbers.epsilon == project.recall(first.id).cost.epsilon + second.cost.epsilon
    )


def test_numbers_of_a_refined_release_are_not_used_twice(project):
    """Both hold the same noise: a mean of the two would be told to be more exact than it is."""
    first = project.sql(BY_SEX.replace(", sum(age) AS years", "")).ask(within=40)
    second = project.again(first.id, within=10)
    derived = project.sql(COUNT).ask(within=20)
    assert derived.derived and derived.sources == (second.id,)
    assert [row[0] for row in derived.rows] == [sum(row[1] for row in second.rows)]


def test_fresh_noise_is_independent(project):
    project.sql(COUNT).ask(within=40)
    fresh = project.sql(COUNT).ask(within=20, fresh=True)
    assert not is_refinement(fresh.event)


@pytest.mark.parametrize("text", ["SELECT avg(age) AS a FROM patients", "SELECT median(age) AS m FROM patients"])
def test_other_statistics_are_measured_again(project, text):
    first = project.sql(text).ask(epsilon="0.3")
    second = project.again(first.id, epsilon="0.3")
    assert spent(project) <= Fraction(3, 5)
    assert is_refinement(second.event) == ("avg" in text)


def test_gaussian_noise_is_combined_as_before(tmp_path):
    project = clinic.make(tmp_path / "clinic", budget=SMALL, extra='accounting = "zcdp"')
    first = project.sql(COUNT).ask(epsilon="0.3")
    second = project.again(first.id, epsilon="0.3")
    assert not is_refinement(second.event) and project.recall(second.id).also == (first.id,)


def test_where_independent_noise_costs_less_it_is_taken(tmp_path):
    """After a large Gaussian the pure sum holds nobody any more, and at the orders a refinement costs more."""
    project = clinic.make(tmp_path / "clinic", budget=SMALL)
    first = project.sql(COUNT).ask(epsilon="0.1")
    charge(project, GaussianEvent(sigma2=Fraction(100), l2_squared=1))
    before = spent(project)
    second = project.again(first.id, epsilon="0.1")
    assert not is_refinement(second.event)
    assert spent(project) - before < Fraction(1, 10)


def charge(project, event):
    from discreet.accounting.region import Region
    from discreet.ledger.charge_request import ChargeRequest

    project.ledger.charge(
        ChargeRequest(
            population="patients",
            table="patients",
            version=1,
            region=Region.whole(),
            event=event,
            question="x",
            price=1,
        )
    )


def test_a_refusal_of_a_refinement_costs_nothing(tmp_path):
    project = clinic.make(tmp_path / "clinic", budget="{ epsilon = 0.5 }")
    first = project.sql(COUNT).ask(epsilon="0.3")
    with pytest.raises(BudgetExceeded):
        project.again(first.id, epsilon="0.3")
    assert spent(project) == Fraction(3, 10)
    assert is_refinement(project.again(first.id, epsilon="0.2").event)


def test_after_somebody_was_forgotten_nothing_is_refined(tmp_path):
    rows = [[f"p{place}", *row] for place, row in enumerate(clinic.ROWS[:50])]
    clinic.make(tmp_path / "clinic", budget=SMALL, extra='person = "who"')
    (tmp_path / "clinic" / "patients.csv").write_text(
        "who,age,sex,disease,smoker,note\n" + "\n".join(",".join(map(str, row)) for row in rows)
    )
    project = discreet.open(tmp_path / "clinic")
    first = project.sql("SELECT count(DISTINCT who) AS n FROM patients").ask(epsilon="0.3")
    project.forget("patients", ("p7",))
    second = project.again(first.id, epsilon="0.3")
    assert not is_refinement(second.event)


def test_rows_that_are_erased_between_charge_and_answer(project, monkeypatch):
    """The count may be of other rows than the first answer was: it is not shown."""
    first = project.sql(COUNT).ask(epsilon="0.3")
    curator = type(project.curator)
    right = curator.draw

    def erased_meanwhile(self, price, tables):
        drawn = right(self, price, tables)
        self.ledger.forget(["patients"], bytes(16), key="mark")
        return drawn

    monkeypatch.setattr(curator, "draw", erased_meanwhile)
    with pytest.raises(DiscreetError) as problem:
        project.again(first.id, epsilon="0.3")
    assert problem.value.exit_code == 6
    assert len(project.ledger.state.answers) == 1


def test_the_event_that_is_charged_is_of_the_first_answers_noise(project):
    first = project.sql(COUNT).ask(epsilon="0.25")
    second = project.again(first.id, epsilon="0.25")
    assert first.event.scale == 4
    assert second.event == RefinedEvent(earlier=Fraction(4), scale=Fraction(2), l1=1)


def test_the_second_answer_is_drawn_given_the_first(project):
    """Of almost the same scale, both noises are mostly one: of 100 numbers 90 or so stay. Independent noise of scale 2
    is equal 1 time in 8 or so: 60 of 100 less than once in a million runs.
    """
    by_age = "SELECT age, count(*) AS n FROM patients GROUP BY age"
    first = project.sql(by_age).ask(epsilon="0.5")
    second = project.again(first.id, epsilon="0.001")
    assert sum(one == other for one, other in zip(first.rows, second.rows, strict=True)) >= 60
