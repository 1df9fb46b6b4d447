"""Budgets: what is left, who spent what, and more of it."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest

from console.house import COOKIE, world
from discreet.console.pages import odds
from discreet.console.pages.budget_forecast import forecast_json
from discreet.console.pages.budget_history import MOST_STEPS, BudgetChange, chart_steps, thin_changes
from discreet.present.charts.chart_data import draw


@pytest.fixture
def clinic(tmp_path):
    made = world(tmp_path / "clinic")
    file = made.folder / "discreet.toml"
    file.write_text(file.read_text().replace("epsilon = 100", "epsilon = 3"))
    yield made
    made.house.close()


def ask(clinic, sql="SELECT count(*) FROM patients", epsilon=0.5, analyst="ann"):
    return clinic.house.handle.project.sql(sql).ask(epsilon=epsilon, analyst=analyst)


def test_a_limit_that_is_too_large_is_said_to_be(tmp_path, clinic):
    """On the page of budgets, on a table's page and on its owner's; a smaller one is not."""
    large = world(tmp_path / "large")
    pages = ("/budget", "/d/patients", "/admin/table/patients")
    try:
        assert all("Epsilon 100 is certainly not good" in large.browser("owner").text(page) for page in pages)
        (people,) = large.browser("analyst").get("/budget.json").json()["populations"]
        assert "e^100" in people["large_limit"]
    finally:
        large.house.close()
    assert not any("certainly not good" in clinic.browser("owner").text(page) for page in pages)


def test_nothing_spent_yet(clinic):
    words = clinic.browser("analyst").text("/budget")
    assert "Nothing was spent yet" in words and "no open requests" in words and "epsilon 3, delta 1e-06" in words


def test_who_spent_what_in_every_window_and_in_all(clinic):
    ask(clinic)
    ask(clinic, "SELECT count(*) FROM patients WHERE age < 30", epsilon=0.25)
    ask(clinic, "SELECT count(*) FROM visits", epsilon=0.25, analyst=None)
    browser = clinic.browser("analyst")
    (people,) = browser.get("/budget.json").json()["populations"]
    assert people["tables"] == ["patients", "visits"] and people["events"] == 3
    assert [step["who"] for step in people["chart"]["steps"]] == ["", "ann", "ann", "unnamed analyst"]
    assert [step["remaining"] for step in people["chart"]["steps"]] == sorted(
        (step["remaining"] for step in people["chart"]["steps"]), reverse=True
    )
    assert people["chart"]["steps"][-1]["remaining"] == people["remaining"]["epsilon"]
    ann, nobody = people["who"]
    assert ann["who"] == "ann" and nobody["who"] == "unnamed analyst"
    assert list(ann["windows"]) == ["7 days", "30 days", "365 days", "lifetime"]
    assert all(paid == {"questions": 2, "epsilon": 0.75} for paid in ann["windows"].values())
    moments = [step["when"] for step in people["chart"]["steps"]]
    assert all(when.endswith(":00+00:00") for when in moments)  # no seconds: see burning.py
    assert "population,who,window,questions,epsilon\npeople,ann,7 days,2,0.75\n" in browser.get("/budget.csv").text
    words = browser.text("/budget")
    assert "about" in words and "more counts" in words and "never comes back" in words


def test_a_window_forgets_what_the_lifetime_does_not(clinic):
    ask(clinic)
    clock = clinic.house.people.clock
    clinic.house.people.clock = lambda: clock() + 40 * 86400
    (people,) = clinic.browser("analyst").get("/budget.json").json()["populations"]
    windows = people["who"][0]["windows"]
    assert windows["30 days"] == {"questions": 0, "epsilon": 0.0}
    assert windows["365 days"] == windows["lifetime"] == {"questions": 1, "epsilon": 0.5}
    assert people["spent"]["epsilon"] >= 0.5


def test_ask_approve_and_spend(clinic):
    analyst, owner = clinic.browser("analyst"), clinic.browser("owner")
    sent = analyst.post("/budget/requests", {"table": "patients", "epsilon": "1.5", "why": "<b>beds</b>"})
    assert sent.status_code == 303
    assert "Waiting for an owner's decision" in analyst.text("/budget") and "<b>beds" not in analyst.get("/budget").text
    page = owner.text("/budget")
    assert "ann requests epsilon 1.5 more for patients" in page
    assert "from epsilon 3 to the number below, permanently" in page and "98.91 percent" not in page
    (request,) = owner.get("/budget.json").json()["open"]
    assert (request["limit"], request["new_limit"], request["population"]) == ("3", "4.5", "people")
    assert analyst.post("/budget/requests/1/approve", {"epsilon": "4.5"}).status_code == 403
    approved = owner.post("/budget/requests/1/approve", {"epsilon": "4.5", "word": "for the beds"})
    assert approved.status_code == 303
    assert clinic.house.handle.project.guarantee("visits").epsilon == Fraction("4.5")
    again = owner.post("/budget/requests/1/approve", {"epsilon": "9", "understood": "yes"})
    assert again.status_code == 400 and "already approved" in again.text
    assert clinic.house.handle.project.guarantee("patients").epsilon == Fraction("4.5")
    assert "for the beds" in analyst.text("/budget")
    assert "To update the file" in owner.text("/budget") and "To update the file" not in analyst.text("/budget")
    (people,) = analyst.get("/budget.json").json()["populations"]
    assert people["chart"]["steps"][-1] | {"when": ""} == {"when": "", "remaining": 4.5, "limit": 4.5, "who": ""}


def test_decline(clinic):
    clinic.browser("analyst").post("/budget/requests", {"table": "patients", "epsilon": "1", "why": "x"})
    owner = clinic.browser("owner")
    assert owner.post("/budget/requests/1/decline", {"word": "not now"}).status_code == 303
    assert "not now" in clinic.browser("analyst").text("/budget")
    assert clinic.house.handle.project.guarantee("patients").epsilon == 3
    assert owner.post("/budget/requests/1/decline").status_code == 400
    assert owner.post("/budget/requests/99/decline").status_code == 400
    assert owner.post("/budget/requests/x/decline").status_code == 404


def test_a_large_limit_is_granted_only_by_whoever_has_read_what_it_means(clinic):
    owner = clinic.browser("owner")
    refused = owner.post("/budget/grant", {"table": "patients", "epsilon": "8"})
    assert refused.status_code == 400 and "99.97 percent sure" in refused.text and 'value="8"' in refused.text
    assert clinic.house.handle.project.guarantee("patients").epsilon == 3
    assert owner.post("/budget/grant", {"table": "patients", "epsilon": "8", "understood": "yes"}).status_code == 303
    assert clinic.house.handle.project.guarantee("patients").epsilon == 8
    lower = owner.post("/budget/grant", {"table": "patients", "epsilon": "2"})
    assert lower.status_code == 400 and "only raise" in lower.text
    assert clinic.browser("analyst").post("/budget/grant", {"table": "patients", "epsilon": "9"}).status_code == 403


def test_what_cannot_be_asked_for(clinic):
    analyst = clinic.browser("analyst")
    for told in (
        {"table": "wards", "epsilon": "1", "why": "x"},
        {"table": "nothing", "epsilon": "1", "why": "x"},
        {"table": "patients", "epsilon": "-1", "why": "x"},
        {"table": "patients", "epsilon": "many", "why": "x"},
        {"table": "patients", "epsilon": "1", "why": ""},
        {},
    ):
        sent = analyst.post("/budget/requests", told)
        assert sent.status_code == 400, told
    assert clinic.house.people.requests.all() == []


def beside(text, at):
    """What a page says between a heading and the form below it."""
    return text.partition(f'id="{at}"')[2].partition("<form")[0]


@pytest.mark.deep
def test_what_is_wrong_with_a_form_is_told_beside_it(clinic):
    """The page is long, and has several forms: the browser lands at the form that was sent, and so does the sentence."""
    analyst, owner = clinic.browser("analyst"), clinic.browser("owner")
    assert 'action="/budget/requests#ask"' in analyst.get("/budget").text
    sent = analyst.post("/budget/requests", {"table": "patients", "epsilon": "1,5", "why": "x"}).text
    assert sent.count('role="alert"') == 1 and 'role="alert"' in beside(sent, "ask") and "1,5" in beside(sent, "ask")
    assert 'value="1,5"' in sent
    analyst.post("/budget/requests", {"table": "patients", "epsilon": "1", "why": "x"})
    assert 'action="/budget/requests/1/approve#request-1"' in owner.get("/budget").text
    wrong = owner.post("/budget/requests/1/approve", {"epsilon": "none"}).text
    assert wrong.count('role="alert"') == 1 and 'role="alert"' in beside(wrong, "request-1")
    lower = owner.post("/budget/grant", {"table": "patients", "epsilon": "2"}).text
    assert lower.count('role="alert"') == 1 and 'role="alert"' in beside(lower, "grant")
    owner.post("/budget/requests/1/decline")
    gone = owner.post("/budget/requests/1/decline").text  # its form is not there any more
    assert gone.count('role="alert"') == 1 and 'role="alert"' in gone.partition("</h1>")[2].partition("<h2")[0]


def test_requests_of_others_are_for_owners(clinic):
    clinic.browser("analyst").post("/budget/requests", {"table": "patients", "epsilon": "1", "why": "secret plan"})
    people = clinic.house.people
    people.add("bob", role="analyst", password="correct horse battery")
    cookie = people.log_in("bob", "correct horse battery", address="127.0.0.1")
    client = clinic.client()
    client.cookies.set(COOKIE, cookie)
    assert "secret plan" not in client.get("/budget").text
    assert "secret plan" in clinic.browser("owner").text("/budget")


@pytest.mark.deep
def test_hostile_names_stay_names(clinic):
    name = '<script>alert(1)</script>"{{ 7 * 7 }}'
    ask(clinic, analyst=name)
    ask(clinic, "SELECT count(*) FROM visits", analyst=name)
    for path in ("/budget", "/log", "/log?analyst=%3Cscript%3Ealert(1)"):
        text = clinic.browser("owner").get(path).text
        assert "alert(1)" in text and "<script>alert" not in text
    (people,) = clinic.browser("owner").get("/budget.json").json()["populations"]
    assert people["who"][0]["who"] == name


def changes(*days, cost="1", left="10"):
    """A charge on each day of 2026, and what is left in the end."""
    return [
        BudgetChange(
            when=(FIRST + timedelta(days=day)).isoformat(), kind="charge", who="a", table="t", cost=Fraction(cost),
            remaining=Fraction(left), limit=Fraction(100),
        )
        for day in days
    ]  # fmt: skip


FIRST = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_forecast_goes_on_at_the_pace_of_the_last_thirty_days():
    """Three in twenty days, then three in thirty of a hundred days: what is older sets no pace."""
    young = forecast_json(changes(0, 10, 19), Fraction(10), FIRST + timedelta(days=20))
    assert young["words"].startswith("At the pace of the last 20 days (epsilon 3) ")
    assert young["until"] == f"{FIRST + timedelta(days=20 + 10 * 20 / 3):%Y-%m-%d}"
    old = forecast_json(changes(0, 1, 2, 71, 80, 99), Fraction(10), FIRST + timedelta(days=100))
    assert old["until"] == f"{FIRST + timedelta(days=200):%Y-%m-%d}" and old["spent_in_window"] == 3
    assert old["line"]["end"] < old["until"] + "T24" and 0 <= old["line"]["remaining"] < 10


def test_a_forecast_that_cannot_be_is_not_made():
    late = FIRST + timedelta(days=40)
    few = {
        "too little history": (changes(0, 39), "10", late),
        "idle": (changes(0, 1, 2), "10", late),
        "used up": (changes(0, 20, 30), "0", late),
        "lasts": (changes(20, 30, 31, cost="1/1000000"), "10", late),
    }
    for state, (acts, left, now) in few.items():
        told = forecast_json(acts, Fraction(left), now)
        assert (told["state"], told["until"], told["line"]) == (state, None, None), state
    same_week = forecast_json(changes(0, 1, 2, 3), Fraction(10), FIRST + timedelta(days=6))
    assert same_week["state"] == "too little history" and "at least 3 charges and 7 days" in same_week["words"]
    assert forecast_json([], Fraction(10), late)["state"] == "too little history"


def test_a_budget_that_lasts_for_less_than_a_microsecond_has_a_forecast():
    told = forecast_json(changes(0, 5, 9, cost="5000"), Fraction(1, 10**9), FIRST + timedelta(days=10))
    assert told["until"] == told["line"]["end"][:10] == "2026-01-11" and told["line"]["remaining"] == 0


def test_what_everybody_spent_adds_up_to_what_is_spent(clinic):
    """Also where exact totals or a restored backup take from the budget what nobody asked."""
    ask(clinic)
    ask(clinic, "SELECT count(*) FROM patients WHERE age < 30", epsilon=0.25, analyst="bob")
    clinic.house.handle.project.ledger.declare_invariant("patients", 1, words="the total")
    clock = clinic.house.people.clock
    clinic.house.people.clock = lambda: clock() + 8 * 86400
    ask(clinic, "SELECT count(*) FROM visits", epsilon=0.25, analyst=None)
    (people,) = clinic.browser("analyst").get("/budget.json").json()["populations"]
    paid = {each["who"]: each["windows"]["lifetime"]["epsilon"] for each in people["who"]}
    assert sum(paid.values()) == people["all"]["lifetime"]["epsilon"] == people["spent"]["epsilon"]
    assert paid["exact totals"] == 0.75 and people["all"]["lifetime"]["questions"] == 3
    assert people["forecast"]["state"] == "ends" and people["chart"]["forecast"] is not None
    page = clinic.browser("analyst").get("/budget").text
    assert "chart-forecast" in page and "At the pace of the last 8 days" in page


def test_odds():
    assert odds.epsilon_meaning(Fraction("1.0986"))["percent"] == "75"  # a little below ln 3, rounded up
    assert [odds.epsilon_meaning(Fraction(each))["grave"] for each in (1, 5, 6)] == [False, False, True]
    beyond = odds.epsilon_meaning(Fraction(1000), Fraction(1, 10**6))
    assert beyond["percent"] == "more than 99.999999" and "at most more" not in beyond["words"]
    assert "all but certain" in beyond["words"] and "hardly protects anybody" in beyond["words"]
    assert float(odds.epsilon_meaning(Fraction(12))["percent"]) < 100
    assert "except with probability 1e-06" in odds.epsilon_meaning(Fraction(1), Fraction(1, 10**6))["words"]
    assert "rather than another" in odds.epsilon_meaning(Fraction(1), changes=True)["words"]


def test_long_histories_are_thinned():
    acts = [
        BudgetChange(
            when="2026-01-01T00:00:00+00:00", kind="charge", who="a", table="t", cost=Fraction(1),
            remaining=Fraction(5000 - number), limit=Fraction(5000),
        )
        for number in range(5000)
    ]  # fmt: skip
    found = thin_changes(acts)
    assert len(found) <= MOST_STEPS and found[-1] == acts[-1] and thin_changes(acts[:7]) == acts[:7]


@pytest.mark.deep
def test_a_restored_ledger_is_read_anew(clinic, tmp_path):
    from discreet.console.pages.budget_history import BudgetHistory
    from discreet.ledger.backup import backup, restore
    from discreet.ledger.ledger import Ledger

    ask(clinic)
    path = clinic.house.handle.project.ledger_path
    backup(path, tmp_path / "copy.db")
    ask(clinic, "SELECT count(*) FROM patients WHERE age < 30")
    burning = BudgetHistory()
    assert len(burning.changes_by_population(clinic.house.handle.project.ledger)["people"]) == 3
    clinic.house.handle.project.ledger.close()
    path.write_bytes(b"lost")
    restore(path, tmp_path / "copy.db")
    with Ledger.open(path) as ledger:
        assert [act.kind for act in burning.changes_by_population(ledger)["people"]] == ["population", "charge", "gap"]


def test_a_clock_that_was_set_back_does_not_break_the_chart():
    """The ledger's order stands; times of the chart never fall."""
    acts = [
        BudgetChange(
            when=f"2026-01-{day:02}T00:00:00+00:00", kind="charge", who="a", table="t", cost=Fraction(1),
            remaining=Fraction(9 - number), limit=Fraction(9),
        )
        for number, day in enumerate((5, 3, 4, 7))
    ]  # fmt: skip
    steps = chart_steps(acts)
    assert [each["when"][8:10] for each in steps] == ["05", "05", "05", "07"]
    assert [each["remaining"] for each in steps] == [9, 8, 7, 6]
    assert "<svg" in draw({"chart": "burn_down", "title": "t", "steps": steps, "forecast": None})
