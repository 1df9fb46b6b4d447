"""A precision that depends on the data is bought step by step: what is charged, when it stops, how often it misses."""

import json
import warnings
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest

import clinic
import discreet
from answers.precision_market import Market
from discreet.accounting.events import is_refinement
from discreet.answers import precision_steps
from discreet.answers.precision_answer import precision_notes
from discreet.answers.precision_steps import PrecisionPurchase
from discreet.answers.refine import AnswerReading
from discreet.bundle import bundle_files
from discreet.bundle.verification import verify
from discreet.errors import UsageError
from discreet.kernel.measurement import Measurement
from discreet.release import PrecisionOutcome
from tiers import size
from verify.forging import signed_again, verdicts

COUNT = "SELECT count(*) AS n FROM patients"
AVERAGE = "SELECT avg(age) AS a FROM patients"
BUDGET = "{ epsilon = 30, delta = 1e-6 }"
AGES = np.clip(np.random.default_rng(3).normal(45, 18, 2000), 0, 99).astype(int)
ROWS = [[int(age), "FM"[place % 2], "flu", ["true", "false"][place % 3 == 0], "n"] for place, age in enumerate(AGES)]


@pytest.fixture
def project(tmp_path):
    return clinic.make(tmp_path / "clinic", budget=BUDGET, rows=ROWS)


@pytest.fixture(scope="module")
def still_state(tmp_path_factory):
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def still_project(tmp_path_factory, still_state):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(still_state))
        return clinic.make(tmp_path_factory.mktemp("still") / "clinic", budget=BUDGET, rows=ROWS)


@pytest.fixture
def still(monkeypatch, still_state, still_project):
    """One project that is only looked at, with the state folder that it was made with."""
    monkeypatch.setenv("DISCREET_STATE", str(still_state))
    return still_project


def spent(project):
    return project.ledger.account_status("patients").spent.epsilon


WISHES = [
    (AVERAGE, "1"),
    (AVERAGE, "3%"),
    ("SELECT sum(age) / count(*) FROM patients", "5%"),
    ("SELECT avg(smoker) FROM patients", "0.05"),
    ("SELECT var_samp(age) FROM patients", "30%"),
    ("SELECT median(age) FROM patients", "6"),
    ("SELECT sex, quantile_cont(age, 0.25) FROM patients GROUP BY sex", "8"),
    (COUNT, "5%"),
    ("SELECT sex, count(*), sum(age) FROM patients GROUP BY sex", "10%"),
]


@pytest.mark.thin(4)
@pytest.mark.parametrize(("text", "within"), WISHES)
def test_every_kind_of_number_is_as_precise_as_wished(project, text, within):
    answer = project.sql(text).ask(within=within, at_most=5)
    data = answer.to_data()["within"]
    assert data["reached"] and data["reached_for"] == 1 and data["at_most"] == 5
    share = float(within.rstrip("%")) / 100 if within.endswith("%") else None
    for row, ends in zip(answer.rows, answer.intervals, strict=True):
        for cell, each in zip(row, ends, strict=True):
            if each is not None:
                assert (each[1] - each[0]) / 2 <= (float(within) if share is None else share * abs(cell)) * 1.001
    assert sum(step["cost"] for step in data["steps"]) == pytest.approx(float(spent(project)))
    assert spent(project) <= 5
    assert float(answer.cost.budget) == pytest.approx(float(spent(project)))
    again = project.sql(text).ask(within=within, at_most=5)
    assert again.cached and again.id == answer.id and float(spent(project)) == pytest.approx(float(answer.cost.budget))


def test_each_step_is_a_charge_with_a_release_of_its_own(project):
    answer = project.sql(AVERAGE).ask(within="1%", at_most=5)
    ids = [step["release"] for step in answer.to_data()["within"]["steps"]]
    assert ids == list(project.ledger.state.charges) and ids[-1] == answer.id and len(ids) >= 2
    assert project.release(answer.id).rows == answer.rows
    assert any("within 1% as wished, after" in each for each in answer.warnings)


def test_a_count_refines_its_look_for_the_difference(project):
    answer = project.sql(COUNT).ask(within="0.5%", at_most=1)
    assert is_refinement(answer.event)
    steps = answer.to_data()["within"]["steps"]
    assert float(spent(project)) == pytest.approx(steps[-1]["epsilon"])  # the look was no loss


def test_a_stored_answer_is_a_look_that_costs_nothing(project):
    first = project.sql(AVERAGE).ask(epsilon="0.05")
    answer = project.sql(AVERAGE).ask(within="0.5", at_most=5)
    steps = answer.to_data()["within"]["steps"]
    assert steps[-1]["release"] == answer.id and first.id not in [step["release"] for step in steps]
    assert min(step["epsilon"] for step in steps) >= 0.05, "nothing less is looked at"
    wide = project.sql(AVERAGE).ask(within=40)
    assert wide.cached and wide.id == answer.id  # the most exact that is stored


def test_nothing_more_is_bought_where_the_cap_is_too_small(project, capsys):
    answer = project.sql(AVERAGE).ask(within="0.01%", at_most="0.2")
    data = answer.to_data()["within"]
    assert not data["reached"] and data["needed"] > 0.2 and spent(project) <= Fraction(1, 5)
    assert float(spent(project)) < 0.1, "a cheap look says that it is in vain"
    assert any("not within 0.01%. It would take about epsilon" in each for each in answer.warnings)
    before = spent(project)
    with pytest.raises(UsageError, match=r"within 0.01% would take about epsilon"):
        project.sql(AVERAGE).ask(within="0.01%", at_most="0.2")
    with pytest.raises(UsageError, match=r"would take about"):
        project.sql(AVERAGE).explain(within="0.01%", at_most="0.2")
    assert spent(project) == before


def test_most_of_the_groups(project):
    text = "SELECT disease, count(*) FROM patients GROUP BY disease"  # all have the flu
    answer = project.sql(text).ask(within="10%", share_of_groups="20%", at_most=2)
    assert answer.to_data()["within"]["reached"]
    assert any("for 20% of the groups as wished" in each for each in answer.warnings)
    with suppress(UsageError):  # the other groups have nobody: what is stored says that it is in vain, or a step does
        assert not project.sql(text).ask(within="10%", at_most=1).to_data()["within"]["reached"]


def test_explain_tells_the_first_step_and_the_cap_and_charges_nothing(project):
    explained = project.sql(AVERAGE).explain(within="5%", at_most=2)
    assert explained["within"] == {"wished": "5%", "for": 1.0, "at_most": 2.0}
    assert explained["cost"]["epsilon"] == pytest.approx(2 / 64) and "cost at most epsilon 2" in str(explained)
    assert not project.ledger.state.charges
    answer = project.sql(AVERAGE).ask(within="5%", at_most=2)
    assert answer.to_data()["within"]["steps"][0]["epsilon"] == pytest.approx(2 / 64)
    assert project.sql(AVERAGE).explain(within="5%", at_most=2).price.startswith("nothing: release")


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        (COUNT, {"within": "0%"}, "must be above 0"),
        (COUNT, {"within": "5 per cent"}, "plain finite number"),
        (COUNT, {"within": "5%", "share_of_groups": "120%"}, "share of groups"),
        (COUNT, {"epsilon": 1, "at_most": 1}, "goes with a precision"),
        (COUNT, {"epsilon": 1, "share_of_groups": 1}, "goes with a precision"),
        (COUNT, {"within": 10, "at_most": "0.1"}, "and at most 0.1 is allowed"),
        ("SELECT note, count(*) FROM patients GROUP BY note", {"within": "5%"}, "known keys"),
        ("SELECT median(age) FROM patients", {"within": "5%", "interval": False}, "without its interval"),
    ],
)
def test_what_makes_no_sense_is_refused_free(project, text, more, words):
    with pytest.raises(UsageError, match=words):
        project.sql(text).ask(**more)
    assert not project.ledger.state.charges


def test_a_purchase_that_died_goes_on_where_it_was(project, monkeypatch):
    """Killed after its second charge, before the answer was stored: the next call draws under that charge."""
    store, calls = project.ledger.store, []

    def dying(*words):
        calls.append(words)
        if len(calls) == 2:
            raise discreet.errors.LedgerFault("the process died here")
        return store(*words)

    monkeypatch.setattr(type(project.ledger), "store", lambda self, *words: dying(*words))
    with pytest.raises(discreet.errors.LedgerFault):
        project.sql(AVERAGE).ask(within="1%", at_most=5)
    before = spent(project)
    monkeypatch.undo()
    answer = project.sql(AVERAGE).ask(within="1%", at_most=5)
    steps = answer.to_data()["within"]["steps"]
    assert len(project.ledger.state.charges) == 1 + len(steps), "the second charge is answered, and none is made twice"
    assert steps[0]["cost"] == 0 and (len(steps) > 1 or spent(project) == before)


# How often the interval misses


def misses(market, within, exact, runs, **more):
    return sum(not market.covers(within, exact, **more)[1] for _ in range(runs)) / runs


def bound(runs, share=0.06):
    """No correct build misses more often: six deviations above what is proved."""
    return share + 6 * sqrt(share * (1 - share) / runs)


COVERED = [
    (COUNT, "0.5%", len(AGES), size(100, 20_000)),
    (COUNT, "5%", len(AGES), size(300, 20_000)),
    (AVERAGE, "1", AGES.mean(), size(20, 4_000)),
    ("SELECT sum(age) / count(*) FROM patients", "5%", AGES.mean(), size(40, 2_000)),
    ("SELECT median(age) FROM patients", "5", np.sort(AGES)[(len(AGES) - 1) // 2], size(30, 4_000)),
]


@pytest.mark.thin(3)
@pytest.mark.parametrize(("text", "within", "exact", "runs"), COVERED)
def test_intervals_hold_as_often_as_is_proved(still, text, within, exact, runs):
    assert misses(Market(still, text), within, float(exact), runs, at_most=1) <= bound(runs)


def test_an_answer_that_is_taken_as_soon_as_it_looks_precise_misses_more(still, monkeypatch):
    """A planted bug: look again and again with new noise, and take the first answer whose interval does not
    look wide. Of a number near 0 the large ones look precise."""
    market = Market(still, "SELECT count(*) FROM patients WHERE age = 98", refining=False)
    exact = int((AGES == 98).sum())
    monkeypatch.setattr(PrecisionPurchase, "level", lambda self, aims: self.precision.confidence)
    monkeypatch.setattr(precision_steps, "MOST_STEPS", 40)

    def again(self, last, aims, *, spent):
        return self.first_look(), True

    monkeypatch.setattr(PrecisionPurchase, "_next", again)
    runs = size(40, 150)
    assert misses(market, "90%", exact, runs, at_most=8) > bound(runs)


def test_top_ups_are_read_at_a_higher_confidence(still):
    market = Market(still, COUNT)
    purchase = PrecisionPurchase(
        query=market.query, precision=market.buy_precision("5%", at_most=1)[0], seller=market, cap=Fraction(1)
    )
    levels = [1 - purchase.level(aims) for aims in range(8)]
    assert levels[0] == Fraction(1, 20) and sum(levels[1:]) < levels[0] / 8


# avg of a boolean at a large epsilon


@pytest.mark.thin(3)
@pytest.mark.parametrize("epsilon", [150, 181, 200, 400])
@pytest.mark.parametrize("extra", ["", 'person = "note"\nrows_per_person = 5\n'])
def test_the_average_of_a_boolean_at_a_large_epsilon(tmp_path, epsilon, extra):
    """A right interval, and no warning of float64."""
    rows = [[*row[:4], f"p{place // 3}"] for place, row in enumerate(clinic.ROWS)]
    columns = clinic.COLUMNS.replace('[tables.patients.columns.note]\ntype = "text"\n', "") if extra else clinic.COLUMNS
    made = clinic.make(tmp_path / "c", budget="{ epsilon = 3000 }", rows=rows, extra=extra, columns=columns)
    told = [row[3] for row in rows if row[3]]
    exact = told.count("true") / len(told)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answer = made.sql("SELECT avg(smoker) AS s FROM patients").ask(epsilon=epsilon)
        ((low, high),) = answer.intervals[0]
        str(answer)
    assert low - 1e-9 <= exact <= high + 1e-9 and high - low < 0.01
    assert not any("noise" in each for each in answer.warnings)


def test_what_the_budget_does_not_hold_is_not_offered():
    """ "--at-most 58" was offered where 3 was left."""
    outcome = PrecisionOutcome(
        wished="1%",
        share=Fraction(1),
        reached=False,
        share_reached=Fraction(0),
        steps=(),
        at_most=Fraction(1),
        needed=Fraction(58),
    )
    (note,) = precision_notes(outcome, Fraction(3))
    assert "about epsilon 58 more, and the remaining budget allows 3" in note and "at-most" not in str(note)
    (note,) = precision_notes(outcome, Fraction(60))
    assert "at-most 58" in str(note)


@pytest.mark.thin(2)
@pytest.mark.parametrize(("text", "within"), [(COUNT, "2%"), (AVERAGE, "2"), ("select median(age) from patients", "3")])
def test_a_top_up_that_is_read_again_has_the_intervals_that_were_given(project, monkeypatch, tmp_path, text, within):
    """They were narrower, for the asked confidence: what was bought after a failed aim must miss less often."""
    real, aims = PrecisionPurchase._is_reached, []

    def not_at_first(self, step):
        aims.append(step)
        return len(aims) > 1 and real(self, step)

    with monkeypatch.context() as once:
        once.setattr(PrecisionPurchase, "_is_reached", not_at_first)
        given = project.sql(text).ask(within=within, at_most=20)
    assert given.precision.reached and len(aims) > 1
    measurement = project.curator.stored_measurement(given.id)
    assert measurement.surer in (16, 32, 64) and Measurement.from_text(measurement.to_text()) == measurement
    again = project.sql(text).ask(epsilon=1)
    assert again.cached and again.id == given.id
    for read in (again, project.release(given.id)):
        assert read.intervals == given.intervals
    plain = AnswerReading(query=project.sql(text).query, measurement=replace(measurement, surer=1))
    if "median" not in text:  # the interval of a median is bought at one confidence
        assert plain.intervals(Fraction(95, 100)) != given.intervals
        assert project.release(given.id, confidence="0.8").intervals != given.intervals
    files = bundle_files.make_bundle(project, given.id)
    assert set(verdicts(files).values()) <= {"proved", "open"}
    if text == COUNT:
        assert verdicts(signed_again(files, plan=less_sure))["numbers"] == "broken"
    bundle_files.write(files, tmp_path / "out")
    assert verify(tmp_path / "out").sound


def less_sure(plan):
    """A plan that says nothing of it: then its intervals are wider than the noise makes them."""
    stored = json.loads(plan["payloads"][plan["release"]])
    stored.pop("surer")
    plan["payloads"][plan["release"]] = json.dumps(stored, sort_keys=True, separators=(",", ":"))
    return plan
