"""What owners do about tables: versions and reports, budgets, forgetting, removing, quotas. Each shows its change first,
writes what it showed, and is nobody else's."""

import tomllib

import pytest

import discreet
from console.forms_of_tables import digest_of, words
from console.house import world
from discreet.console.routes import route_table

pytestmark = pytest.mark.usefixtures("patient")


@pytest.fixture
def clinic(tmp_path):
    made = world(tmp_path / "clinic")
    yield made
    made.house.close()


@pytest.fixture
def owner(clinic):
    return clinic.browser("owner")


def text_of(clinic):
    return (clinic.folder / "discreet.toml").read_text()


def test_the_list_and_a_table(owner):
    listed = owner.get("/admin/tables.json").json()
    assert [each["name"] for each in listed["tables"]] == ["patients", "visits", "wards"]
    assert listed["unused"] == [] and "patients.csv" in owner.get("/admin/tables.csv").text
    assert owner.get("/admin/table/patients.json").json()["versions"] == []
    assert "nobody" in owner.text("/admin/tables") and owner.get("/admin/table/none").status_code == 404


def test_a_refresh_shows_its_report_and_its_version(owner):
    led = owner.post("/admin/tables/refresh", {"table": "visits"})
    assert led.headers["location"] == "/admin/table/visits#report"
    told = owner.get("/admin/table/visits.json").json()
    assert [each["version"] for each in told["versions"]] == [1]
    assert told["report"]["numbers"]["clamped"]["cost"] == 162  # 41 to 49 of 0 to 49, of 900 rows
    assert "cost: 162 values were moved to the nearest bound." in told["report"]["lines"]
    owner.post("/admin/tables/refresh", {"table": "visits"})
    told = owner.get("/admin/table/visits.json").json()
    assert len(told["versions"]) == 1 and "Nothing has changed" in told["report"]["lines"][0]
    owner.post("/admin/tables/refresh", {"table": "visits", "force": "yes"})
    assert [each["version"] for each in owner.get("/admin/table/visits.json").json()["versions"]] == [2, 1]


def test_a_source_that_went_away_is_told_on_the_page(clinic, owner):
    (clinic.folder / "visits.csv").unlink()
    owner.post("/admin/tables/refresh", {"table": "visits"})
    told = owner.get("/admin/table/visits.json").json()["report"]
    assert told["title"] == "No version was made" and "there is no file visits.csv" in told["lines"][0].lower()


#: Numbers that stand nowhere but in the exact report: rows, persons, values that did not fit or were clamped.
ROWS, PERSONS, CLAMPED, NULLED = 7919, 1237, 4211, 1019


def strange(folder):
    """A table whose exact numbers nothing else on any page has."""
    rows = [f"q{n % PERSONS},{999 if n < CLAMPED else 1},{'' if n % 2 else 'x'}" for n in range(ROWS)]
    rows[-NULLED:] = [f"q{n % PERSONS},never,x" for n in range(NULLED)]
    (folder / "strange.csv").write_text("\n".join(["who,size,mark", *rows]) + "\n")
    told = '[tables.strange]\nsource = "strange.csv"\nperson = "who"\nrows_per_person = 100\n'
    told += "budget = { epsilon = 1, delta = 0 }\n"
    told += '[tables.strange.columns.size]\ntype = "integer"\nlow = 0\nhigh = 10\n'
    (folder / "discreet.toml").write_text((folder / "discreet.toml").read_text() + "\n" + told)


def leaks(browser, paths):
    """Pages that say one of the exact numbers, in any spelling."""
    numbers = [f(n) for n in (ROWS, PERSONS, CLAMPED, NULLED) for f in (str, "{:,}".format)]
    texts = {path: browser.get(path) for path in paths}
    return {path for path, found in texts.items() if any(number in found.text for number in numbers)}


def test_exact_numbers_are_for_owners_alone(clinic, owner):
    """Every page and every JSON that an analyst or the public can get says none of them; the owner's says them all."""
    strange(clinic.folder)
    owner.post("/admin/tables/refresh", {"table": "strange"})
    numbers = owner.get("/admin/table/strange.json").json()["report"]["numbers"]
    assert (numbers["rows"], numbers["persons"]) == (ROWS, PERSONS)
    assert numbers["clamped"]["size"] == CLAMPED and numbers["nulled"]["size"] == NULLED
    paths = {
        path.replace("{table:path}", "strange").replace("{table}", "strange")
        for route in route_table()
        if route.method == "GET"
        for path in route.paths
    }
    # Lessons draw numbers of their own, by chance; test_learn.py shows that they read no project.
    paths = {path for path in paths if "{" not in path and not path.startswith("/learn")} | {
        "/ask?table=strange",
        "/a?table=strange",
        "/jump?to=str",
    }
    assert {"/admin/table/strange", "/d/strange", "/budget.json", "/log", "/index.json"} <= paths
    assert leaks(owner, ["/admin/table/strange", "/admin/table/strange.json"]) == {
        "/admin/table/strange",
        "/admin/table/strange.json",
    }
    for role in ("analyst", "public"):
        assert leaks(clinic.browser(role), sorted(paths)) == set(), role
    token = {"authorization": f"Bearer {clinic.token('analyst')}"}
    api = ["/api/v1/tables", "/api/v1/tables/strange", "/api/v1/budget", "/api/v1/jobs"]
    found = [clinic.client().get(path, headers=token) for path in api]
    assert any(each.status_code == 200 for each in found)
    assert not [each.url for each in found if str(ROWS) in each.text or str(PERSONS) in each.text]


def test_the_job_of_a_refresh_is_an_owners(clinic, owner, monkeypatch):
    monkeypatch.setattr("discreet.console.jobs.job_queue.PATIENCE_S", 0.0)
    monkeypatch.setattr("discreet.console.jobs.job_queue.MOST_PATIENT", 0)
    to = owner.post("/admin/tables/refresh", {"table": "visits"}).headers["location"].partition("#")[0]
    if "/underway/" in to:  # else it was done at once
        assert clinic.browser("analyst").get(to).status_code == 403
        assert clinic.browser("public").get(f"{to}.json").status_code == 401
        assert owner.get(f"{to}.json").json()["words"] == "a new version of visits"


def test_a_budget_is_shown_before_it_is_written(clinic, owner):
    before = text_of(clinic)
    form = {"table": "visits", "epsilon": "7", "delta": ""}
    looked = owner.post("/admin/tables/budget", form)
    assert "budget = {epsilon = 7, delta = 1e-06}" in words(looked) and text_of(clinic) == before
    assert "99.9" in words(looked)  # what such a limit means
    wrong = owner.post("/admin/tables/budget", form | {"epsilon": "8", "shown": digest_of(looked)})
    assert "epsilon = 8" in words(wrong) and text_of(clinic) == before  # what was shown is not what would be written
    assert owner.post("/admin/tables/budget", form | {"shown": digest_of(looked)}).status_code == 303
    assert tomllib.loads(text_of(clinic))["populations"]["people"]["budget"]["epsilon"] == 7
    assert text_of(clinic).count("\n") == before.count("\n")


def test_after_an_answer_a_budget_only_rises(clinic, owner):
    project = discreet.open(clinic.folder)
    project.sql("select count(*) n from visits").ask(epsilon=1)
    lower = owner.post("/admin/tables/budget", {"table": "visits", "epsilon": "5", "delta": ""})
    assert lower.status_code == 400 and 'role="alert"' in lower.text
    looked = owner.post("/admin/tables/budget", {"table": "visits", "epsilon": "120", "delta": ""})
    form = {"table": "visits", "epsilon": "120", "delta": "", "shown": digest_of(looked)}
    assert owner.post("/admin/tables/budget", form).status_code == 303
    reread = discreet.open(clinic.folder)
    assert reread.guarantee("visits").epsilon == 120 and reread.warnings("visits") == []


def test_a_file_that_somebody_else_changed_is_shown_anew(clinic, owner):
    form = {"table": "visits", "epsilon": "7", "delta": ""}
    shown = digest_of(owner.post("/admin/tables/budget", form))
    file = clinic.folder / "discreet.toml"
    file.write_text(text_of(clinic).replace("high = 40", "high = 45"))
    assert owner.post("/admin/tables/budget", form | {"shown": shown}).status_code == 200
    assert "epsilon = 100" in text_of(clinic) and "high = 45" in text_of(clinic)


def test_removing_shows_the_lines_that_go_and_keeps_the_source(clinic, owner):
    owner.post("/admin/tables/refresh", {"table": "visits"})
    looked = owner.post("/admin/tables/remove", {"table": "visits"})
    assert "removed: [tables.visits]" in words(looked) and "tables.visits" in text_of(clinic)
    done = owner.post("/admin/tables/remove", {"table": "visits", "shown": digest_of(looked)})
    assert "removed 'visits'" in words(done) and "tables.visits" not in text_of(clinic)
    assert (clinic.folder / "visits.csv").exists() and owner.get("/admin/table/visits").status_code == 404
    assert owner.post("/admin/tables/remove", {"table": "visits"}).status_code == 404


def test_what_was_released_keeps_its_table(clinic, owner):
    discreet.open(clinic.folder).sql("select count(*) n from visits").ask(epsilon=1)
    page = owner.get("/admin/table/visits")
    assert "Retire this table" in words(page) and "/admin/tables/remove" not in page.text
    told = owner.post("/admin/tables/remove", {"table": "visits"})
    assert told.status_code == 400 and "tables.visits" in text_of(clinic) and 'role="alert"' in told.text


def test_retiring_keeps_what_was_released(clinic, owner):
    asked = discreet.open(clinic.folder).sql("select count(*) n from visits").ask(epsilon=1)
    assert clinic.browser("analyst").post("/admin/tables/retire", {"table": "visits"}).status_code == 403
    looked = owner.post("/admin/tables/retire", {"table": "visits"})
    assert "removed: [tables.visits]" in words(looked) and "tables.visits" in text_of(clinic)
    done = owner.post("/admin/tables/retire", {"table": "visits", "shown": digest_of(looked)})
    assert "retired 'visits'" in words(done) and "tables.visits" not in text_of(clinic)
    assert (clinic.folder / "visits.csv").exists() and owner.get("/admin/table/visits").status_code == 404
    assert discreet.open(clinic.folder).release(asked.id).rows == asked.rows
    assert owner.get(f"/a/{asked.id}").status_code == 200


def test_a_table_without_releases_is_not_retired(clinic, owner):
    told = owner.post("/admin/tables/retire", {"table": "visits"})
    assert told.status_code == 400 and "need not be retired" in words(told) and "tables.visits" in text_of(clinic)


def test_forgetting_asks_first_and_leaves_the_person_out(clinic, owner):
    owner.post("/admin/tables/refresh", {"table": "visits"})
    asked = owner.post("/admin/tables/forget", {"table": "visits", "person": "7"})
    assert asked.status_code == 200 and "cannot be undone" in words(asked)
    assert owner.get("/admin/table/visits.json").json()["report"]["title"] == "Version 1 was made"
    owner.post("/admin/tables/forget", {"table": "visits", "person": "7", "sure": "yes"})
    assert owner.get("/admin/table/visits.json").json()["report"]["numbers"]["versions"] == 1
    owner.post("/admin/tables/refresh", {"table": "visits", "force": "yes"})
    assert owner.get("/admin/table/visits.json").json()["report"]["numbers"]["persons"] == 299
    log = (clinic.folder.parent / "console.log").read_text()
    assert '"/admin/tables/forget"' in log and '"who": "olga"' in log


@pytest.mark.parametrize("form", [{"person": ""}, {"person": ["1", "2"]}, {}])
def test_nobody_is_forgotten_by_mistake(owner, form):
    owner.post("/admin/tables/refresh", {"table": "visits"})
    told = owner.post("/admin/tables/forget", {"table": "visits", "sure": "yes", **form})
    assert told.status_code == 400 and 'role="alert"' in told.text


def test_quotas_are_set_and_taken_away(clinic, owner):
    form = {"analyst": "ann", "epsilon": "2.5"}
    looked = owner.post("/admin/analysts", form)
    assert "[analysts.ann]" in words(looked) and "That includes you" in words(looked)
    assert "analysts" not in text_of(clinic)
    assert owner.post("/admin/analysts", form | {"shown": digest_of(looked)}).status_code == 303
    assert tomllib.loads(text_of(clinic))["analysts"] == {"ann": {"epsilon": 2.5}}
    more = owner.post("/admin/analysts", {"analyst": "olga", "epsilon": "9"})
    owner.post("/admin/analysts", {"analyst": "olga", "epsilon": "9", "shown": digest_of(more)})
    assert [each["analyst"] for each in owner.get("/admin/analysts.json").json()["quotas"]] == ["ann", "olga"]
    for name in ("ANN", "olga"):
        looked = owner.post("/admin/analysts", {"analyst": name, "epsilon": ""})
        owner.post("/admin/analysts", {"analyst": name, "epsilon": "", "shown": digest_of(looked)})
    assert "analysts" not in tomllib.loads(text_of(clinic))
    for wrong in ({"analyst": "", "epsilon": "1"}, {"analyst": "x", "epsilon": "-1"}, {"analyst": "x", "epsilon": ""}):
        assert owner.post("/admin/analysts", wrong).status_code == 400


OWN = [route for route in route_table() if route.path.startswith(("/admin/table", "/admin/analysts"))]


def test_every_act_is_refused_to_analysts_and_to_the_public(clinic):
    """By real handlers: nothing of the file changes, and nothing lands in the folder."""
    before = text_of(clinic)
    for role, status in (("analyst", {403}), ("public", {401, 303})):
        browser = clinic.browser(role)
        for route in OWN:
            path = route.path.replace("{table:path}", "visits").replace("{work}", "w-1")
            headers = {"x-csrf": browser.csrf}
            form = {"table": "visits", "person": "7", "sure": "yes", "source": "visits.csv", "act": "write"}
            found = browser.get(path) if route.method == "GET" else browser.post(path, form, headers=headers)
            assert found.status_code in status, (role, route.method, path, found.status_code)
    assert text_of(clinic) == before and not (clinic.folder / "sources").exists()
    assert len(OWN) >= 12
