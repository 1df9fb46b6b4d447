"""The first page: what waits for the owner's word, what was granted beyond the file, and a file that cannot be read."""

import pytest

from console.house import world


@pytest.fixture
def clinic(tmp_path):
    made = world(tmp_path / "clinic")
    yield made
    made.house.close()


def ask(browser, epsilon="1"):
    assert browser.post("/budget/requests", {"table": "patients", "epsilon": epsilon, "why": "x"}).status_code == 303


def test_owners_are_told_of_requests_that_wait(clinic):
    owner, analyst = clinic.browser("owner"), clinic.browser("analyst")
    assert "for your decision" not in owner.text("/") and owner.get("/index.json").json()["requests"] == 0
    ask(analyst)
    assert "One request for more budget is waiting for your decision" in owner.text("/")
    ask(analyst, "2")
    assert "2 requests for more budget are waiting for your decision" in owner.text("/")
    assert "for your decision" not in analyst.text("/") and analyst.get("/index.json").json()["requests"] == 0
    owner.post("/budget/requests/1/decline")
    owner.post("/budget/requests/2/decline")
    assert "for your decision" not in owner.text("/")


def test_who_has_no_table_yet_is_told_what_to_do_first(tmp_path):
    made = world(tmp_path / "clinic")
    file = made.folder / "discreet.toml"
    file.write_text(file.read_text().partition("[populations")[0])
    owner, analyst = made.browser("owner"), made.browser("analyst")
    for path in ("/synth", "/synth/new", *(f"/tables/new/{kind}" for kind in ("marginals", "histogram", "ranges"))):
        assert 'class="button" href="/admin/tables/new"' in owner.get(path).text, path
        page = analyst.get(path).text
        assert "/admin" not in page and 'href="/learn">try the lessons' in page, path
    made.house.close()


@pytest.mark.deep
def test_a_grant_is_told_with_the_line_to_write_and_not_as_a_fault(clinic):
    owner, file = clinic.browser("owner"), clinic.folder / "discreet.toml"
    clinic.house.handle.project.sql("select count(*) from patients").ask(epsilon=1)
    assert owner.get("/index.json").json()["lines"] == []
    clinic.house.handle.project.grant("patients", epsilon=120)
    told = owner.get("/index.json").json()
    (line,) = told["lines"]
    assert "epsilon = 120" in line and told["warnings"] == []
    assert "The granted limit applies" in owner.text("/") and line in owner.text("/")
    assert clinic.browser("analyst").get("/index.json").json()["lines"] == []
    file.write_text(file.read_text().replace("epsilon = 100", "epsilon = 120"))
    assert owner.get("/index.json").json()["lines"] == []


@pytest.mark.deep
def test_a_file_that_cannot_be_read_says_that_the_old_one_goes_on(clinic):
    owner, analyst = clinic.browser("owner"), clinic.browser("analyst")
    file = clinic.folder / "discreet.toml"
    whole = file.read_text()
    file.write_text(whole + "\n[tables.broken\n")
    words = owner.text("/")
    assert "discreet.toml has an error" in words
    assert "the console uses the last version that it could read" in words and "patients" in words
    assert "has an error" not in analyst.text("/") and analyst.get("/d/patients").status_code == 200
    file.write_text(whole)
    assert "has an error" not in owner.text("/")


def test_the_latest_answers_stand_with_their_questions(clinic):
    asked = "select disease, count(*) as n from patients group by disease"
    found = clinic.house.handle.project.sql(asked).ask(epsilon=1, analyst="ann")
    (told,) = clinic.browser("analyst").get("/index.json").json()["latest"]
    assert (told["release"], told["asked"], told["analyst"]) == (found.id, asked, "ann")
