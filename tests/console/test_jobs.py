"""The list of jobs: what runs and has ended, of oneself, with what was charged; and how each is stopped."""

import threading

import pytest

from console.house import COOKIE, PASSWORD, Browser, world
from console.paying import sent
from discreet.console.jobs.attack_queue import AttackQueue, TrialKey
from discreet.console.jobs.job_queue import JobQueue
from discreet.console.pages import jobs, lab
from discreet.console.people.clock import iso_time
from discreet.console.visitor import Visitor

RANGES = {"table": "patients", "column": "age", "epsilon": "1"}


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jobs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(folder / "state"))
        made = world(folder / "clinic")
    yield made
    made.house.close()


@pytest.fixture(scope="module")
def queue(clinic):
    wall = clinic.house.people.clock
    return clinic.house.handle.singleton(JobQueue, lambda: JobQueue(clinic.house.settings, wall=wall))


def bob(clinic):
    """An analyst who is not ann, with forms of his own."""
    people = clinic.house.people
    if people.roster.find("bob") is None:
        people.add("bob", role="analyst", password=PASSWORD)
    client, cookie = clinic.client(), people.log_in("bob", PASSWORD, address="127.0.0.1")
    client.cookies.set(COOKIE, cookie)
    return Browser(client=client, csrf=people.sessions.find(cookie).csrf)


def listed(browser, part, **more):
    return [
        each
        for each in browser.get("/jobs.json").json()[part]
        if all(each[name] == value for name, value in more.items())
    ]


def test_a_query_and_a_table_lead_to_what_came_of_them_and_say_what_they_cost(clinic):
    browser = clinic.browser("analyst")
    assert "Nothing has run since the server started" in browser.text("/jobs")
    answer = browser.post(
        "/ask",
        {
            "sql": "SELECT count(*) FROM patients",
            "by": "epsilon",
            "epsilon": "0.5",
            "confidence": "0.95",
            "act": "ask",
            "key": "jobs-1",
        },
    ).headers["location"]
    ranges = sent(browser, "/tables/new/ranges", RANGES)
    query, table = (listed(browser, "ended", kind=kind)[0] for kind in ("query", "statistics"))
    assert (query["to"], query["state"], query["epsilon"]) == (answer, "done", 0.5)
    assert (table["to"], table["state"], table["epsilon"]) == (ranges, "done", 1.0)
    assert [each["release"] for each in query["charged"]["releases"]] == [answer.removeprefix("/a/")]
    words = browser.text("/jobs")
    assert "epsilon 0.5" in words and "SELECT count(*) FROM patients" in words and "Running" not in words
    assert sent(browser, "/tables/new/ranges", RANGES) == ranges
    again = listed(browser, "ended", kind="statistics")[0]
    assert again["charged"]["words"] == "nothing" and again["to"] == ranges
    assert not bob(clinic).get("/jobs.json").json()["ended"]
    assert "ann" in {each["person"] for each in listed(clinic.browser("owner"), "ended")}


def test_a_refused_charge_is_not_told_as_a_charge(clinic, queue):
    def act(tell):
        clinic.house.handle.project.sql("SELECT count(*) FROM patients WHERE disease = 'flu'").ask(
            epsilon=1000, analyst="ann"
        )

    job = queue.start(Visitor(role="analyst", name="ann"), act, area="tables", words="too much", key="too much")
    assert job.wait(30)
    (line,) = listed(clinic.browser("analyst"), "ended", words="too much")
    assert line["state"] == "failed" and line["charged"] == {"releases": [], "epsilon": 0.0, "words": "nothing"}
    assert "remain" in line["problem"]["error"] + line["problem"]["hint"]


def test_a_refused_query_is_its_authors_alone(clinic):
    """As its history promises: no page shows it to anybody else, owners included."""
    form = {"sql": "SELECT age AS zebras FROM patients", "by": "epsilon", "epsilon": "0.5", "confidence": "0.95"}
    browser = clinic.browser("analyst")
    browser.post("/ask", form | {"act": "ask", "key": "jobs-refused"})
    assert listed(browser, "ended", words=form["sql"], state="failed")
    for other in (clinic.browser("owner"), bob(clinic)):
        for path in ("/jobs", "/jobs.json", "/jobs.csv", "/ask/open", "/ask/history"):
            assert "zebras" not in other.get(path).text, path


def test_a_job_is_left_found_again_and_stopped_by_its_own_person(clinic, queue):
    go, begun = threading.Event(), threading.Event()

    def act(tell):
        tell("fitting", 0.25)
        begun.set()
        assert go.wait(30)
        tell("sampling", 0.5)
        return "/synth"

    analyst = Visitor(role="analyst", name="ann")
    job = queue.start(analyst, act, area="synth", words="a model of patients", key="left")
    fixed = queue.start(
        analyst, lambda tell: go.wait(30) and "/", area="admin/tables", words="erasing", key="v", stop_terms=None
    )
    try:
        assert begun.wait(30)
        browser = clinic.browser("analyst")
        (line,) = listed(browser, "open", job=job.id)
        assert (line["state"], line["page"], line["charged"]["words"]) == (
            "running",
            f"/synth/underway/{job.id}",
            "nothing",
        )
        assert "value=" in browser.get("/jobs").text and "a model of patients" in browser.text("/jobs")
        assert bob(clinic).get("/jobs.json").json()["open"] == []
        assert bob(clinic).post(f"/jobs/{job.id}/stop").status_code == 404 and not job.stopping
        assert browser.post(f"/jobs/{fixed.id}/stop").status_code == 409 and not fixed.stopping
        assert browser.post("/jobs/w-none/stop").status_code == 404
        assert browser.post(f"/jobs/{job.id}/stop").headers["location"] == "/jobs"
        assert job.stop._pulled.wait(30)
    finally:
        go.set()
    assert job.wait(30) and fixed.wait(30)
    (line,) = listed(browser, "ended", job=job.id)
    assert line["state"] == "stopped" and "This job was stopped" in line["problem"]["error"]


def test_attacks_are_listed_and_stopped_too(clinic, monkeypatch):
    begun, go = threading.Event(), threading.Event()

    def run(key, limit_s):
        begun.set()
        assert go.wait(30)
        return {"story": []}

    monkeypatch.setattr(lab, "ATTACK_QUEUE", bench := AttackQueue(run))
    bench.start([TrialKey(attack="floats"), TrialKey(attack="census")], limit_s=9, person="ann")
    try:
        assert begun.wait(30)
        browser = clinic.browser("analyst")
        assert {each["state"] for each in listed(browser, "open", kind="attack")} == {"waiting", "running"}
        waiting = TrialKey(attack="census")
        assert bob(clinic).get("/jobs.json").json()["open"] == []
        assert bob(clinic).post(f"/jobs/{waiting.id}/stop").status_code == 404
        assert bench.current_trial(waiting).state == "waiting"
        assert browser.post(f"/jobs/{waiting.id}/stop").status_code == 303
        assert bench.current_trial(waiting).state == "stopped"
    finally:
        go.set()
    assert bench.wait(TrialKey(attack="floats"), 30).state == "done"
    assert listed(browser, "ended", kind="attack", state="done")[0]["to"] == "/lab/floats"
    bench.start([waiting], limit_s=9, person="ann")
    assert bench.wait(waiting, 30).state == "done"


def test_the_list_has_the_newest_first_and_an_end(clinic, monkeypatch):
    def line(number, state):
        texts = dict.fromkeys(("kind", "words", "person", "to"), "")
        return {**texts, "job": f"w-{number}", "state": state, "made": iso_time(number), "epsilon": None}

    lines = [line(number, "done") for number in range(jobs.LISTED + 20)] + [line(500, "waiting"), line(501, "running")]
    mixed = lines[::3], lines[1::3], lines[2::3]  # each kind of job has some of them
    for name, part in zip(("_background_jobs", "_queries", "_attacks"), mixed, strict=True):
        monkeypatch.setattr(jobs, name, lambda _, part=part: part)
    browser = clinic.browser("analyst")
    assert [each["job"] for each in listed(browser, "open")] == ["w-501", "w-500"]
    ended = [each["job"] for each in listed(browser, "ended")]
    assert ended == [f"w-{number}" for number in range(jobs.LISTED + 19, 19, -1)]
