"""Asking: the price before paying, refusals that point and offer, one charge for one form, rehearsals that are free."""

import io
import re
import threading
import time
from html import unescape

import pyarrow.parquet as pq
import pytest

from console.house import ORIGIN, world
from console.paying import sent as led_to
from discreet.console.pages import query_price
from discreet.errors import BudgetExceeded, Flag, Message, Refused, Statement
from discreet.kernel.curator import Curator

BY_DISEASE = "SELECT disease, count(*) AS n FROM patients GROUP BY disease"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("ask") / "clinic")
    yield made
    made.house.close()


@pytest.fixture
def browser(clinic):
    return clinic.browser("analyst")


def charges(clinic):
    return len(clinic.house.handle.project.ledger.refresh().charges)


def form(sql, **more):
    return {"sql": sql, "by": "epsilon", "epsilon": "0.5", "confidence": "0.95", "key": "k" * 20, **more}


def send(browser, body):
    """Send the form, and look at the draft that it led to."""
    sent = browser.post("/ask", body)
    assert sent.status_code == 303 and sent.headers["location"].startswith("/ask/draft/"), sent.status_code
    return browser.get(sent.headers["location"])


def test_the_box_is_empty_beside_an_example_and_all_words(browser):
    told = browser.get("/ask.json").json()
    assert told["draft"]["sql"] == ""
    assert told["example"] == BY_DISEASE.replace(" FROM", "\nFROM").replace(" GROUP", "\nGROUP")
    tables = {table["name"]: table for table in told["tables"]}
    assert [column["name"] for column in tables["patients"]["columns"]] == ["age", "disease", "sex", "ward"]
    assert tables["patients"]["columns"][1]["values"] == ["flu", "mumps", "gout"] and tables["visits"]["keys"] == ["id"]
    assert {"count", "sum", "avg", "median"} <= set(told["functions"])
    shown = browser.get("/ask?table=visits&within=40").text
    assert (
        "FROM visits" in shown and re.search(r"<textarea[^>]*></textarea>", shown) and 'value="within" checked' in shown
    )
    for part in ("more private", "more precise", '/ask.js"', "delta 1e-06"):
        assert part in shown


def test_nothing_in_the_page_runs_inline(browser):
    shown = browser.get("/ask").text
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|style=", shown)


def test_the_price_as_you_type(clinic, browser):
    before = charges(clinic)
    told = browser.post("/ask/price", form(BY_DISEASE)).json()
    assert told["accepted"] and told["cost"]["epsilon"] == 0.5 and "delta 0" in told["cost"]["words"]
    assert told["errors"][0]["plus_minus"] == 6 and "plus or minus 6" in told["errors"][0]["words"]
    assert told["confirm"].startswith("This query costs epsilon 0.5, delta 0 of the budget of people, charged to ann.")
    assert told["region"] == "everybody in patients" and told["parts"][0]["because"]
    by_width = browser.post("/ask/price", form(BY_DISEASE, by="within", within="50")).json()
    assert by_width["cost"]["epsilon"] < 0.1
    assert charges(clinic) == before


def test_the_price_says_what_it_closes_and_its_two_wishes(clinic, browser):
    """Exactly: what is said to remain is what remains once it is paid."""
    text = "SELECT sex, sum(age) AS years FROM patients WHERE age > 21 GROUP BY sex"
    told = browser.post("/ask/price", form(text, epsilon="7")).json()
    assert told["linked"]["epsilon"] == "7" and float(told["linked"]["within"]) > 0
    assert float(told["linked"]["within"]) == pytest.approx(
        max(each["plus_minus"] for each in told["errors"]), rel=0.01
    )
    back = browser.post("/ask/price", form(text, by="within", within=told["linked"]["within"])).json()
    assert float(back["linked"]["epsilon"]) == pytest.approx(7, rel=0.05)
    now, after = told["counts"]["now"], told["counts"]["after"]
    assert now == clinic.house.handle.project.budget("patients").counts > after
    browser.post("/ask", form(text, epsilon="7", act="ask", key="closes" * 4))
    assert clinic.house.handle.project.budget("patients").counts == after
    unknown = browser.post("/ask/price", form("SELECT avg(age) AS a FROM patients")).json()
    assert unknown["linked"] == {"epsilon": "0.5", "within": ""}
    shown = send(browser, form(BY_DISEASE, epsilon="3", act="price")).text
    assert re.search(r"about [\d,]+ more counts at ±50", shown)


MIXED = "SELECT count(*) AS n, sum(age) AS years, avg(age) AS mean FROM patients"


def test_a_precision_is_for_the_column_that_is_chosen(clinic, browser):
    """Both ways: an epsilon gives each column's error, and a column's error the least epsilon that keeps it."""
    told = browser.post("/ask/price", form(MIXED, epsilon="2", column="n")).json()
    errors = {each["column"]: each["plus_minus"] for each in told["errors"]}
    assert told["columns"] == ["n", "years"] and told["column"] == "n" and errors["mean"] is None
    assert errors["n"] < errors["years"] and float(told["linked"]["within"]) == pytest.approx(errors["n"], rel=0.01)
    for column in ("n", "years"):
        wish = form(MIXED, by="within", within=str(errors[column]), column=column)
        back = browser.post("/ask/price", wish).json()
        assert back["accepted"] and back["column"] == column
        reached = {each["column"]: each["plus_minus"] for each in back["errors"]}
        assert reached[column] <= errors[column] and 1 < float(back["linked"]["epsilon"]) <= 2
        less = form(MIXED, epsilon=str(float(back["linked"]["epsilon"]) - 0.01), column=column)
        now = {each["column"]: each["plus_minus"] for each in browser.post("/ask/price", less).json()["errors"]}
        assert now[column] > errors[column]  # the least
    everywhere = browser.post("/ask/price", form(MIXED, by="within", within="50")).json()
    assert not everywhere["accepted"] and "depends on the data" in everywhere["problem"]["error"]
    assert everywhere["columns"] == ["n", "years"]  # so one of them can be chosen
    assert browser.post("/ask/price", form(BY_DISEASE)).json()["columns"] == []  # one number: nothing to choose


def test_a_precision_for_a_column_is_asked_once_without_scripts_too(clinic, browser):
    text, before = MIXED.replace("patients", "patients WHERE age > 23"), charges(clinic)
    page = send(browser, form(text, by="within", within="30", column="n", act="price")).text
    assert '<option value="n" selected>' in page and "n: plus or minus 30 or less" in page
    body = form(text, by="within", within="30", column="n", act="ask", key="column" * 4)
    sent = [browser.post("/ask", body).headers["location"] for _ in range(2)]
    assert sent[0].startswith("/a/r-") and {each.partition("?")[0] for each in sent} == {sent[0]}
    assert charges(clinic) == before + 1
    rehearsed = send(browser, body | {"act": "rehearse"})
    assert rehearsed.status_code == 200 and "Rehearsal" in rehearsed.text


def test_a_column_that_is_gone_is_never_another(clinic, browser):
    """Its price is for every column, and says so; sent as it is, it is refused: every column would cost more."""
    text, before = "SELECT count(*) AS many, sum(age) AS years FROM patients WHERE age > 29", charges(clinic)
    told = browser.post("/ask/price", form(text, by="within", within="90", column="n")).json()
    assert told["accepted"] and told["column"] == "" and float(told["linked"]["within"]) > 60
    refused = send(browser, form(text, by="within", within="90", column="n", act="ask"))
    assert refused.status_code == 400 and "no column &#39;n&#39; with noise" in refused.text
    assert charges(clinic) == before


def test_the_price_names_what_it_closes(tmp_path):
    """Exactly what is refused once it is paid: drafts of everybody, and a model on new data; nobody else's."""
    made = world(tmp_path / "clinic")
    file = made.folder / "discreet.toml"
    file.write_text(file.read_text().replace("epsilon = 100,", "epsilon = 10,"))
    ann, owner = made.browser("analyst"), made.browser("owner")
    fitted = {"table": "patients", "model": "privbayes", "columns": ["sex", "disease"], "epsilon": "4"}
    model = led_to(ann, "/synth/new", fitted)
    all_of, old = "SELECT avg(age) AS all_of FROM patients", "SELECT avg(age) AS old FROM patients WHERE age > 70"
    at = {text: ann.post("/ask", form(text, epsilon="3", act="price")).headers["location"] for text in (all_of, old)}
    ann.post("/ask", form("SELECT avg(age) AS dear FROM patients", epsilon="7", act="price"))  # too dear already
    young = "SELECT sum(age) AS young FROM patients WHERE age < 40"

    def closes(browser, text, epsilon):
        return {each["to"] for each in browser.post("/ask/price", form(text, epsilon=epsilon)).json()["closes"]}

    assert closes(ann, young, "1") == set()
    told = closes(ann, young, "4")
    assert told == {at[all_of], model} and closes(owner, young, "4") == set()
    page = send(ann, form(young, epsilon="4", act="price")).text
    assert "the remaining budget is too small for" in page and "epsilon 3" in page
    assert ann.post("/ask", form(young, epsilon="4", act="ask")).headers["location"].startswith("/a/r-")
    assert ann.get(at[all_of]).status_code == 402 and "This query costs" in ann.get(at[old]).text
    made.house.close()


def test_the_price_names_drafts_with_a_plus_or_minus_that_it_closes(tmp_path):
    """By the epsilon that their width is priced at; those that still fit, or are too dear already, are not named."""
    made = world(tmp_path / "clinic")
    file = made.folder / "discreet.toml"
    file.write_text(file.read_text().replace("epsilon = 100,", "epsilon = 6,"))
    ann = made.browser("analyst")
    one, both = "SELECT sum(age) AS total FROM patients", "SELECT count(*) AS n, sum(age) AS total FROM patients"
    wishes = {
        "closed": (one, {"within": "100"}),
        "fits": ("SELECT sum(age) AS rough FROM patients", {"within": "1000"}),
        "column": (both, {"within": "220", "column": "total"}),
        "dear": ("SELECT sum(age) AS exactly FROM patients", {"within": "30"}),
        "unknown": ("SELECT avg(age) AS mean FROM patients", {"within": "1"}),
    }
    at, epsilons = {}, {}
    for name, (sql, wish) in wishes.items():
        body = form(sql, by="within", act="price", **wish)
        at[ann.post("/ask", body).headers["location"]] = name
        priced = ann.post("/ask/price", body).json()
        epsilons[name] = float(priced["linked"]["epsilon"]) if priced["accepted"] else None
    assert 2 < epsilons["closed"] < 5 and 2 < epsilons["column"] < 5 and epsilons["fits"] < 1
    told = ann.post("/ask/price", form("SELECT sum(age) AS young FROM patients WHERE age < 40", epsilon="4")).json()
    assert told["accepted"], told
    assert {at[each["to"]] for each in told["closes"]} == {"closed", "column"}
    for each in told["closes"]:
        assert float(each["words"].rpartition(" ")[2]) == pytest.approx(epsilons[at[each["to"]]], rel=1e-3)
    made.house.close()


def test_a_batch_shows_its_plan_before_it_is_paid(clinic, browser):
    before = charges(clinic)
    text = f"-- Diseases\n{BY_DISEASE};\nSELECT count(*) AS old FROM patients WHERE age > 30"
    told = browser.post("/ask/price", form(text)).json()["plan"]
    assert told["strategy"] and told["statements"][0]["title"] == "Diseases"
    assert told["statements"][1]["noise"][0]["column"] == "old"
    shown = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", send(browser, form(text, act="price")).text))
    assert "2 statements, measured" in shown and "Diseases , measured" in shown and "old: ±" in shown
    assert charges(clinic) == before


def test_a_price_of_nothing_says_why(tmp_path):
    """The old have been queried, the young have not: what the young lose now raises no total."""
    made = world(tmp_path / "clinic")
    browser = made.browser("analyst")
    browser.post("/ask", form("SELECT count(*) AS n FROM patients WHERE age >= 50", act="ask"))
    young = form("SELECT count(*) AS n FROM patients WHERE age < 50")
    told = browser.post("/ask/price", young).json()
    assert told["cost"]["budget"] == 0 and told["cost"]["words"] == "nothing: other people have been queried more"
    assert told["confirm"] == (
        "This query costs nothing of the budget of people: other people have been queried more. It is recorded for ann. "
        "Remaining afterwards: epsilon 99.5, delta 1e-06."
    )
    dearer = browser.post("/ask/price", young | {"epsilon": "0.75"}).json()
    assert dearer["confirm"].startswith("This query costs epsilon 0.25, delta 0 of the budget of people")
    made.house.close()


def test_a_small_epsilon_is_no_warning(browser):
    shown = send(browser, form(BY_DISEASE, epsilon="0.001", act="price")).text
    assert "epsilon 0.001" in shown and 'class="warn' not in shown and 'class="bad' not in shown


def test_a_refusal_points_at_the_clause_and_offers_the_rewrite(clinic, browser):
    text = "SELECT disease\nFROM patients"
    told = browser.post("/ask/price", form(text)).json()
    problem = told["problem"]
    assert not told["accepted"] and problem["line"] == 1 and text[problem["start"] :].startswith("disease\nFROM")
    assert "^" in problem["excerpt"] and problem["offers"]
    take = problem["offers"][0]["take"]
    assert take.startswith("sql SELECT")
    page = send(browser, form(text, act="ask"))
    assert page.status_code == 422 and 'role="alert"' in page.text and "Use this query" in page.text
    taken = send(browser, form(text, take=take))
    assert taken.status_code == 200 and ">Price</h2>" in taken.text and "epsilon 0.5" in taken.text


def test_in_a_batch_the_place_is_in_the_whole_text(browser):
    text = f"{BY_DISEASE};\nSELECT count(*) AS n\nFROM nowhere"
    problem = browser.post("/ask/price", form(text)).json()["problem"]
    assert problem["line"] == 3 and text[problem["start"] :].startswith("nowhere")


def test_a_budget_that_does_not_hold_it_offers_what_it_holds(tmp_path):
    made = world(tmp_path / "clinic")
    file = made.folder / "discreet.toml"
    file.write_text(file.read_text().replace("{ epsilon = 100, delta = 1e-6 }", "{ epsilon = 1 }"))
    browser = made.browser("analyst")
    page = send(browser, form(BY_DISEASE, epsilon="5", act="ask"))
    assert page.status_code == 402 and "Use epsilon 1" in page.text
    taken = send(browser, form(BY_DISEASE, epsilon="5", take="epsilon 1"))
    assert "This query costs epsilon 1, delta 0" in taken.text
    assert charges(made) == 0
    made.house.close()


def test_asking_leads_to_the_answer(clinic, browser):
    before = charges(clinic)
    sent = browser.post("/ask", form("SELECT sex, count(*) AS n FROM patients GROUP BY sex", act="ask"))
    assert sent.status_code == 303 and sent.headers["location"].startswith("/a/r-")
    assert charges(clinic) == before + 1
    told = browser.get(sent.headers["location"] + ".json").json()
    assert told["analyst"] == "ann" and told["cost"]["epsilon"] == 0.5


def test_a_form_sent_many_times_at_once_pays_once(clinic, browser):
    before = charges(clinic)
    sent = []
    body = form("SELECT sum(cost) AS s FROM visits", act="ask", fresh="yes", key="many" * 5)
    threads = [
        threading.Thread(target=lambda: sent.append(clinic.browser("analyst").post("/ask", body))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Some may be told to wait, for each holds a thread of the server; whoever is answered has the same answer.
    assert {each.status_code for each in sent} == {303}
    assert len({to for each in sent if (to := each.headers["location"]).startswith("/a/")}) == 1
    assert charges(clinic) == before + 1


def test_the_same_form_with_another_question_is_another_question(clinic, browser):
    """Whoever goes back in the browser, and changes the text, has the old key in the form."""
    before = charges(clinic)
    for text in (
        "SELECT avg(age) AS a FROM patients WHERE sex = 'F'",
        "SELECT avg(age) AS a FROM patients WHERE sex = 'M'",
    ):
        assert browser.post("/ask", form(text, act="ask", key="back" * 5)).status_code == 303
    assert charges(clinic) == before + 2


def test_a_repeat_is_free_and_said_to_be(clinic, browser):
    text = "SELECT ward, count(*) AS n FROM patients GROUP BY ward"
    first = browser.post("/ask", form(text, act="ask", key="first" * 4)).headers["location"]
    before = charges(clinic)
    told = browser.post("/ask/price", form(text)).json()
    assert told["repeat"] == first.removeprefix("/a/") and told["confirm"].startswith("This query is free")
    assert browser.post("/ask", form(text, act="ask", key="second" * 4)).headers["location"] == f"{first}?stored=1"
    anew = browser.post("/ask/price", form(text, fresh="yes")).json()
    assert anew["cost"]["epsilon"] == 0.5 and anew["confirm"].startswith("This query costs epsilon 0.5")
    # What follows from it is free as well, and has an address.
    derived = browser.post(
        "/ask", form("SELECT count(*) AS n FROM patients WHERE ward IN ('w0', 'w1')", act="ask", epsilon="0.1")
    )
    assert derived.headers["location"].startswith("/ask/answer/")
    words = browser.text(derived.headers["location"])
    assert "Derived from earlier answers (free)" in words and first.removeprefix("/a/") in words
    assert charges(clinic) == before
    other = clinic.browser("owner")
    assert other.get(derived.headers["location"]).status_code == 404  # one's own requests alone


def test_several_statements_are_one_batch(clinic, browser):
    text = f"{BY_DISEASE};\n-- Mean ages\nSELECT disease, avg(age) AS years FROM patients GROUP BY disease"
    told = browser.post("/ask/price", form(text)).json()
    assert told["statements"] == 2 and told["cost"]["words"].startswith("epsilon ")
    sent = browser.post("/ask", form(text, act="ask"))
    assert sent.headers["location"].startswith("/ask/answer/")
    words = browser.text(sent.headers["location"])
    assert "years" in words and "Your answers" in words and "2. Mean ages" in words


def test_a_percentage_is_refused_with_its_reason(browser):
    told = browser.post("/ask/price", form(BY_DISEASE, by="within", within="5%", epsilon="")).json()
    assert told["accepted"] is False and "bought in several steps" in str(told["problem"])


@pytest.mark.deep
def test_numbers_that_are_none_are_told(browser):
    for wrong in (
        {"epsilon": "much"},
        {"epsilon": ""},
        {"epsilon": "-1"},
        {"confidence": "2"},
        {"by": "within", "within": "x"},
    ):
        page = send(browser, form(BY_DISEASE, act="ask", **wrong))
        assert page.status_code == 400 and 'role="alert"' in page.text, wrong
        assert browser.post("/ask/price", form(BY_DISEASE, **wrong)).json()["accepted"] is False


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    "text", ["", ";", "\x00", "SELECT", "'", "x" * 100_000, "/* ", "SELECT * FROM patients", "é" * 50]
)
def test_any_text_is_a_refusal_and_no_fault(browser, text):
    for act in ("ask", "price", "rehearse"):
        assert send(browser, form(text, act=act)).status_code in (200, 400, 422)
    assert browser.post("/ask/price", form(text)).status_code == 200


def test_a_rehearsal_is_free_and_tells_the_whole_error(clinic, browser):
    before = charges(clinic)
    page = send(browser, form("SELECT sum(cost) AS s, count(*) AS n FROM visits", act="rehearse", rows="900"))
    assert page.status_code == 200
    words = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.text))
    for part in (
        "Rehearsal",
        "900 rows of visits",
        "Plain SQL",
        "Bounds and value lists",
        "Rows over the limit",
        "a different distribution of values",
    ):
        assert part in words, part
    assert charges(clinic) == before
    assert send(browser, form(BY_DISEASE, act="rehearse", rows="0")).status_code == 400
    assert send(browser, form(f"{BY_DISEASE}; {BY_DISEASE}", act="rehearse")).status_code == 400


def test_a_rehearsal_can_be_come_back_to_and_is_its_own_person_s(clinic, browser):
    """Seen to fail while the form itself was answered with the page: a browser's Back had no address to go to."""
    before = charges(clinic)
    sent = browser.post("/ask", form(BY_DISEASE, act="rehearse"))
    at = sent.headers["location"]
    for _ in range(3):
        shown = browser.get(at)
        assert shown.status_code == 200 and "Rehearsal" in shown.text and "GROUP BY disease</textarea>" in shown.text
    other = clinic.browser("owner").get(at)
    assert other.status_code == 404 and "GROUP BY disease</textarea>" not in other.text
    assert "SELECT" not in at
    for _ in range(10):
        browser.post("/ask", form(BY_DISEASE, act="price"))
    gone = browser.get(at)
    assert gone.status_code == 404 and "this one is gone" in gone.text
    assert charges(clinic) == before


def test_the_price_of_a_draft_is_the_one_of_now(clinic, browser):
    text = "SELECT max(age) AS oldest FROM patients"
    at = browser.post("/ask", form(text, act="price")).headers["location"]
    assert "This query costs epsilon 0.5" in browser.get(at).text
    browser.post("/ask", form(text, act="ask", key="later" * 4))
    assert "This query is free" in browser.get(at).text


@pytest.mark.deep
def test_the_question_of_a_release_is_changed_without_sql_in_the_address(browser):
    at = browser.post("/ask", form(f"{BY_DISEASE}; SELECT sum(age) AS s FROM patients", act="ask")).headers["location"]
    release = browser.get(f"{at}.json").json()["releases"][1]["release"]
    shown = browser.get(f"/a/{release}").text
    (to,) = re.findall(r'href="(/ask\?[^"]*)">Edit the query', shown)
    assert "SELECT" not in to
    assert "SELECT sum(age) AS s FROM patients</textarea>" in browser.get(unescape(to)).text
    assert browser.get("/ask.json?sql=SELECT+1").json()["draft"]["sql"] == ""  # nor is any taken from one
    assert browser.get("/ask?release=r-nothing").status_code == 404
    assert browser.get(f"/ask?release={release}&statement=9").status_code == 400


def test_made_up_rows_can_be_kept(browser):
    lines = browser.get("/ask/rows/visits.csv").text.splitlines()
    assert lines[0] == "id,cost,day" and len(lines) == 1001
    table = pq.read_table(io.BytesIO(browser.get("/ask/rows/visits.parquet").content))
    assert table.column_names == ["id", "cost", "day"] and table.num_rows == 1000
    for path in ("/ask/rows/wards.csv", "/ask/rows/nothing.csv", "/ask/rows/nothing.parquet"):
        assert browser.get(path).status_code == 404


def test_a_question_on_its_way_is_listed_and_cancelled_by_its_form(clinic, browser, monkeypatch):
    counting, go_on = threading.Event(), threading.Event()
    real = Curator.draw

    def draw(self, price, tables):
        counting.set()
        assert go_on.wait(30)
        return real(self, price, tables)

    monkeypatch.setattr(Curator, "draw", draw)
    body = form("SELECT avg(cost) AS a FROM visits", act="ask", key="slow" * 5)
    sent = []
    thread = threading.Thread(target=lambda: sent.append(clinic.browser("analyst").post("/ask", body)))
    thread.start()
    assert counting.wait(30)
    listed = browser.get("/jobs.json").json()["open"][0]
    assert (listed["words"], listed["state"], listed["stopping"]) == (body["sql"], "running", False)
    assert "avg(cost)" in browser.text("/jobs")
    browser.post("/ask/cancel", {**body, "epsilon": "0.7"})  # another question: nothing is stopped
    assert browser.get("/jobs.json").json()["open"][0]["stopping"] is False
    assert browser.post("/ask/cancel", body).headers["location"] == "/jobs"
    assert browser.get("/jobs.json").json()["open"][0]["stopping"] is True
    time.sleep(0.1)  # until its tick
    go_on.set()
    thread.join()
    shown = browser.get(sent[0].headers["location"])
    assert shown.status_code == 409 and 'role="alert"' in shown.text
    assert browser.get("/jobs.json").json()["ended"][0]["state"] == "stopped"


def test_open_questions_are_listed_and_cancelling_nothing_is_no_fault(browser):
    assert browser.post("/ask/cancel", form(BY_DISEASE)).status_code == 303
    assert browser.post("/jobs/j-nothing/stop").status_code == 404
    assert browser.get("/ask/answer/nothing").status_code == 404


def test_hostile_text_stays_text(browser):
    evil = "<script>alert(1)</script>"
    for act in ("ask", "price"):
        shown = send(browser, form(f"SELECT '{evil}' FROM \"{evil}\"", act=act, epsilon='"><b>')).text
        assert evil not in shown and '"><b>' not in shown
    assert evil not in browser.get("/ask", params={"table": evil, "epsilon": f'">{evil}', "release": "r-1"}).text


def test_the_public_may_not(clinic):
    public = clinic.browser("public")
    assert public.get("/ask").status_code == 303
    refused = public.post("/ask", form(BY_DISEASE, act="ask"), headers={"referer": f"{ORIGIN}/ask?release=r-1"})
    assert refused.status_code == 401 and 'href="/login?next=/ask"' in refused.text
    foreign = public.post("/ask", form(BY_DISEASE, act="ask"), headers={"referer": "https://evil.example/x"})
    assert 'href="/login?next=/"' in foreign.text
    assert public.post("/ask/price", form(BY_DISEASE)).status_code in (401, 403)


def test_only_a_rewrite_that_would_be_answered_is_offered(clinic):
    project = clinic.house.handle.project
    statement = Message("group it: ", Statement(BY_DISEASE))
    for hint, offers in ((statement, 1), (Message(Statement("SELECT * FROM patients")), 0), (str(statement), 0)):
        problem = Refused("no", hint=hint, sql="SELECT 1")
        assert len(query_price.editor_error(problem, "SELECT 1", project)["offers"]) == offers


def test_a_wish_is_offered_as_the_page_calls_it(clinic):
    """From the hint's parts, never from its words."""
    project = clinic.house.handle.project
    hint = Message(Flag("within", 50), ", or ", Flag("epsilon", "0.1"), "; a smaller ", Flag("delta"))
    problem = BudgetExceeded("no", hint=hint, needed={}, remaining={})
    told = query_price.editor_error(problem, "SELECT 1", project)
    assert told["offers"] == [{"take": "within 50", "words": "Use plus or minus 50"}]
    assert told["hint"] == "plus or minus 50, or epsilon 0.1; a smaller delta."
    plain = BudgetExceeded("no", hint="--epsilon 0.1", needed={}, remaining={})
    assert query_price.editor_error(plain, "SELECT 1", project)["offers"] == []
