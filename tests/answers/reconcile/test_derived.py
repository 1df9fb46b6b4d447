"""Questions that released answers determine cost nothing; a width buys only what they leave open."""

from fractions import Fraction

import pytest

from answers.shop import make as make_shop
from clinic import ROWS, make, rows_of_ledger, write_rows
from discreet.answers.reconcile.history import history
from discreet.bundle.bundle_files import make_bundle
from discreet.engines.duckdb import DuckDBEngine
from discreet.errors import BudgetExceeded, UsageError

ALL = "select count(*) from patients"
MALE, FEMALE = (f"{ALL} where sex = '{sex}'" for sex in "MF")


@pytest.fixture
def clinic(tmp_path):
    return make(tmp_path, budget="{ epsilon = 100.0, delta = 1e-6 }")


def ask(project, text, **wish):
    return project.sql(text).ask(**wish)


def test_a_determined_question_is_free(clinic):
    parts = [ask(clinic, text, epsilon=1) for text in (MALE, FEMALE)]
    spent, rows = clinic.budget("patients").spent, rows_of_ledger(clinic.folder)
    whole = ask(clinic, ALL, epsilon="0.5")
    assert whole.derived and not whole.cached and whole.cost.epsilon == 0
    assert whole.rows == ((sum(part.rows[0][0] for part in parts),),)
    assert whole.sources == tuple(part.id for part in parts)
    assert [column.kind for column in whole.columns] == ["derived"]
    assert any(parts[0].id in warning and "nothing is charged" in warning for warning in whole.warnings)
    assert clinic.budget("patients").spent == spent and rows_of_ledger(clinic.folder) == rows
    again = ask(clinic, "select count(*) as n from patients", epsilon="0.5")
    assert (again.id, again.rows, again.intervals) == (whole.id, whole.rows, whole.intervals)
    assert clinic.sql(ALL).explain(epsilon="0.5")["cost"]["epsilon"] == 0


def test_a_derived_answer_has_no_bundle(clinic):
    for text in (MALE, FEMALE):
        ask(clinic, text, epsilon=1)
    whole = ask(clinic, ALL, epsilon="0.5")
    refused = (
        lambda: make_bundle(clinic, whole.id),
        lambda: clinic.recall(whole.id),
        lambda: clinic.again(whole.id, epsilon=1),
        lambda: history(clinic.version("patients"), curator=clinic.curator, reads=None, only=[whole.id]),
    )
    for each in refused:
        with pytest.raises(
            UsageError, match=f"'{whole.id}' is a derived answer.* without a new charge.* has no bundle"
        ) as why:
            each()
        assert "the releases that it was computed from" in why.value.hint
    assert all(make_bundle(clinic, name) for name in whole.sources)
    with pytest.raises(UsageError, match="there is no release 'd-1'"):
        make_bundle(clinic, "d-1")


def test_whoever_wants_it_more_exact_pays(clinic):
    for text in (MALE, FEMALE):
        ask(clinic, text, epsilon=1)
    paid = ask(clinic, ALL, epsilon="0.8")  # the variance of two at 1 is twice that of one: epsilon 0.71
    assert not paid.derived and paid.cost.epsilon == Fraction(4, 5)


def test_fresh_is_never_derived(clinic):
    for text in (MALE, FEMALE):
        ask(clinic, text, epsilon=1)
    paid = ask(clinic, ALL, epsilon="0.5", fresh=True)
    assert not paid.derived and paid.cost.epsilon == Fraction(1, 2) and paid.sources == ()


def test_a_repeat_is_the_stored_answer_still(clinic):
    first = ask(clinic, ALL, epsilon="0.1")
    for text in (MALE, FEMALE):
        ask(clinic, text, epsilon=2)
    second = ask(clinic, ALL, epsilon="0.1")
    assert second.cached and not second.derived and second.rows == first.rows


def test_a_full_budget_still_answers_what_is_determined(tmp_path):
    project = make(tmp_path, budget="{ epsilon = 1.0 }")
    for text in (MALE, FEMALE):
        ask(project, text, epsilon=1)
    with pytest.raises(BudgetExceeded):
        ask(project, ALL, epsilon="0.9")
    assert ask(project, ALL, epsilon="0.5").derived


def test_groups_add_up_and_come_apart(clinic):
    """Of a table by two keys: each key alone, one cell, a subtotal, an order."""
    fine = ask(clinic, "select sex, smoker, count(*) n, sum(age) s from patients group by sex, smoker", epsilon=20)
    cells = {row[:2]: row[2:] for row in fine.rows}
    by_sex = ask(clinic, "select sex, count(*) from patients group by sex", epsilon=1)
    assert by_sex.derived
    assert [row[1] for row in by_sex.rows] == [sum(cells[sex, own][0] for own in (True, False, None)) for sex in "FM"]
    smokers = ask(clinic, "select sum(age) from patients where smoker is not true", epsilon=1)
    assert smokers.derived and smokers.rows[0][0] == sum(cells[sex, own][1] for sex in "FM" for own in (False, None))
    top = ask(
        clinic,
        "select smoker, count(*) n from patients where sex = 'M' group by smoker having count(*) > 0 order by n limit 1",
        epsilon=1,
    )
    least = min((True, False, None), key=lambda own: cells["M", own][0])
    assert top.derived and top.rows == ((least, cells["M", least][0]),)
    sets = ask(clinic, "select sex, count(*) from patients group by grouping sets ((sex), ())", epsilon=1)
    assert sets.derived and sets.rows[-1] == (None, sum(number for number, _ in cells.values()))


@pytest.mark.deep
def test_what_again_and_batches_measured_counts_as_well(clinic):
    first = ask(clinic, MALE, epsilon=1)
    clinic.again(first.id, epsilon=1)
    clinic.batch(f"{FEMALE}; select disease, count(*) from patients group by disease", epsilon=2)
    found = history(clinic.version("patients"), curator=clinic.curator, reads=lambda text: clinic.sql(text).query)
    assert len(found.numbers) == 3 + 5 and found.left_out == ()
    whole = ask(clinic, ALL, epsilon="0.2")
    assert whole.derived and len(whole.sources) == 4


OPEN = [
    "select count(distinct age) from patients",
    "select count(distinct disease) from patients where sex = 'M'",
    "select median(age) from patients",
    "select avg(age) from patients",
    "select count(*) from patients where age > 30",
    "select count(*) from patients where length(note) = 1",
    "select note, count(*) from patients group by note",
]


@pytest.mark.thin(4)
@pytest.mark.parametrize("text", OPEN)
def test_never_derived(clinic, text):
    ask(clinic, "select sex, disease, smoker, count(*) from patients group by sex, disease, smoker", epsilon=50)
    ask(clinic, "select sum(age), count(age) from patients", epsilon=20)
    paid = ask(clinic, text, epsilon="0.01")
    assert not paid.derived and not paid.cached and paid.cost.epsilon > 0


def test_another_version_tells_nothing(clinic):
    for text in (MALE, FEMALE):
        ask(clinic, text, epsilon=5)
    assert ask(clinic, ALL, epsilon="0.1").derived  # so both have been read, and are remembered
    write_rows(clinic.folder / "patients.csv", ROWS[:50])
    clinic.refresh("patients")
    assert not ask(clinic, ALL, epsilon="0.1").derived
    with pytest.raises(UsageError, match="no release"):
        history(clinic.version("patients"), curator=clinic.curator, reads=None, only=["r-none"])


def test_joins_persons_and_other_tables_tell_nothing(tmp_path):
    shop = make_shop(tmp_path)
    texts = {
        "select count(*) from orders o join cities c on o.city = c.name": "a join",
        "select count(*) from orders join payments using (customer)": "a join",
        "select count(distinct customer) from orders": "people",
        "select count(*) from (select customer, count(*) from orders group by customer)": "for each person",
        "select note, count(*) from orders group by note": "discovered",
    }
    released = {ask(shop, text, epsilon=1000).id: reason for text, reason in texts.items()}
    ask(shop, "select count(*) from payments", epsilon=1000)
    version = shop.version("orders")
    found = history(version, curator=shop.curator, reads=lambda text: shop.sql(text).query)
    assert found.numbers == () and {each.release for each in found.left_out} == set(released)
    assert all(released[each.release] in each.reason for each in found.left_out)
    paid = ask(shop, "select count(*) from orders", epsilon=1)
    assert not paid.derived and not paid.cached
    assert not ask(shop, "select count(*) from orders where note = 'late'", epsilon="0.1").derived


@pytest.mark.deep
def test_rows_of_persons_add_up(tmp_path):
    shop = make_shop(tmp_path)
    parts = ask(shop, "select paid, count(*) from orders group by paid", epsilon=1000)
    whole = ask(shop, "select count(*) from orders", epsilon=100)
    assert whole.derived and whole.rows[0][0] == sum(row[1] for row in parts.rows)


def test_answers_before_somebody_was_forgotten_are_of_other_rows(tmp_path):
    shop = make_shop(tmp_path)
    ask(shop, "select paid, count(*) from orders group by paid", epsilon=1000)
    shop.forget("orders", ["c1"])
    found = history(shop.version("orders"), curator=shop.curator, reads=lambda text: shop.sql(text).query)
    assert found.numbers == () and "forgotten" in found.left_out[0].reason
    assert not ask(shop, "select count(*) from orders", epsilon=100).derived
    ask(shop, "select sex, count(*) from orders group by sex", epsilon=1000)
    assert ask(shop, "select count(*) from orders where sex = 'F'", epsilon=100).derived


def test_within_takes_what_is_narrow_enough(clinic):
    for text in (MALE, FEMALE):
        ask(clinic, text, epsilon="0.1")
    told = clinic.sql(ALL).explain(within=50)
    assert told["cost"]["epsilon"] == 0 and told["told"]["enough"] and told["told"]["plus_minus"] < 50
    found = ask(clinic, ALL, within=50)
    assert found.derived and found.plus_minus() == pytest.approx(told["told"]["plus_minus"], rel=1e-3)


@pytest.mark.deep
def test_within_buys_only_what_is_missing(clinic):
    alone = clinic.sql(ALL).explain(within=20)
    assert alone["told"] is None
    for text in (MALE, FEMALE):
        ask(clinic, text, epsilon="0.15")
    question = clinic.sql(ALL)
    told = question.explain(within=20)
    assert told["told"]["plus_minus"] > 20 and not told["told"]["enough"]
    assert told["cost"]["epsilon"] < 0.75 * alone["cost"]["epsilon"]
    assert "only the rest is charged" in str(told)
    before = clinic.budget("patients").spent.epsilon
    found = question.ask(within=20)
    assert float(found.cost.epsilon) == pytest.approx(told["cost"]["epsilon"]) and not found.derived
    assert float(clinic.budget("patients").spent.epsilon - before) == pytest.approx(told["cost"]["epsilon"])
    assert 19 < found.plus_minus() <= 20 and len(found.sources) == 3 and found.id == found.sources[-1]
    repeat = question.ask(within=20)
    assert repeat.derived and repeat.rows == found.rows and repeat.intervals == found.intervals


@pytest.mark.deep
def test_a_smaller_width_pays_the_difference(clinic):
    first = ask(clinic, ALL, within=40)
    second = ask(clinic, ALL, within=20)
    whole = make_price(clinic, 20)
    assert second.sources == (first.id, second.id)
    assert float(second.cost.epsilon) < 0.9 * whole


def make_price(project, within):
    """What the width costs where nothing is known: a question about other people."""
    return project.sql("select count(*) from patients where age > 50").explain(within=within)["cost"]["epsilon"]


@pytest.mark.deep
def test_within_of_many_cells(clinic):
    fine = ask(clinic, "select sex, disease, count(*) from patients group by sex, disease", epsilon="0.2")
    found = ask(clinic, "select disease, count(*) from patients group by disease", within=15)
    assert not found.derived and found.sources == (fine.id, found.id)
    assert found.plus_minus() <= 15 and float(found.cost.epsilon) < 0.2
    assert ask(clinic, "select disease, count(*) from patients group by disease", within=15).derived


def test_no_data_is_touched(clinic, monkeypatch):
    """Whether something is free, and what the rest costs, is decided by released answers alone."""
    for text in (MALE, FEMALE):
        ask(clinic, text, epsilon="0.2")

    def forbidden(*arguments, **named):
        raise AssertionError("exact data were read")

    monkeypatch.setattr(DuckDBEngine, "count", forbidden)
    monkeypatch.setattr(DuckDBEngine, "keys", forbidden)
    assert ask(clinic, ALL, epsilon="0.05").derived and ask(clinic, ALL, within=50).derived
    assert clinic.sql(ALL).explain(within=12)["told"] is not None
    with pytest.raises(Exception, match="could not be"):
        ask(clinic, ALL, within=12)


def test_an_average_is_paid_for(clinic):
    """Its parts are determined; but the law of their ratio is not known here."""
    ask(clinic, "select sex, avg(age) from patients group by sex", epsilon=20)
    assert not ask(clinic, "select avg(age) from patients", epsilon="0.1").derived


@pytest.mark.deep
def test_what_is_told_never_makes_a_width_dearer(clinic):
    """Fractions of steps need more room than whole steps: where hardly anything is known, it is left aside."""
    for text in (MALE, FEMALE):
        ask(clinic, text, epsilon="0.01")
    told = clinic.sql(ALL).explain(within=10)
    assert told["told"] is None and told["cost"]["epsilon"] == make_price(clinic, 10)
    paid = ask(clinic, ALL, within=10)
    assert paid.sources == () and not paid.derived and paid.plus_minus() == 10
    assert ask(clinic, ALL, within=10).cached
