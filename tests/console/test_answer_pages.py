"""Answers as people work with them: named, searched, sorted, compared, copied; and what was refused, for its author."""

import re
import xml.etree.ElementTree as ET
from fractions import Fraction

import pytest

from console.house import ORIGIN, PASSWORD, Browser, World, world
from discreet.console.app_state import open_state
from discreet.console.pages import answer_comparison, release_view
from discreet.console.pages.answer_comparison import both_hold, compare_releases
from discreet.console.people.passwords import Passwords
from discreet.console.settings import Settings
from discreet.mechanisms.laplace import DiscreteLaplace

BY_DISEASE = "SELECT disease, count(*) AS n FROM patients GROUP BY disease"
BY_ALL = "SELECT disease, ward, age, count(*) AS n FROM patients GROUP BY disease, ward, age"
BY_WARD = "SELECT ward, count(*) AS n, avg(age) AS years FROM patients GROUP BY ward"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("answer-pages") / "clinic")
    yield made
    made.house.close()


@pytest.fixture(scope="module")
def project(clinic):
    return clinic.house.handle.project


@pytest.fixture(scope="module")
def release(project):
    return project.sql(BY_DISEASE).ask(epsilon=1, analyst="ann")


@pytest.fixture(scope="module")
def other(project):
    return project.sql("SELECT disease, count(*) AS n FROM patients WHERE age < 70 GROUP BY disease").ask(
        epsilon=2, analyst="bea"
    )


def another(clinic, name):
    """A second analyst."""
    people = clinic.house.people
    if people.roster.find(name) is None:
        people.add(name, role="analyst", password=PASSWORD)
    cookie = people.log_in(name, PASSWORD, address="127.0.0.1")
    client = clinic.client()
    client.cookies.set(clinic.house.settings.cookie, cookie)
    return Browser(client=client, csrf=people.sessions.find(cookie).csrf)


def test_an_answer_is_named_by_who_asked_and_by_owners_alone(clinic, release):
    ann, bea, owner = clinic.browser("analyst"), another(clinic, "bea"), clinic.browser("owner")
    path, evil = f"/a/{release.id}", "<img src=x onerror=alert(1)>"
    assert f'action="{path}/notes"' in ann.get(path).text and f'action="{path}/notes"' not in bea.get(path).text
    assert bea.post(f"{path}/notes", {"name": "mine"}).status_code == 403
    assert ann.get(f"{path}.json").json()["note"]["name"] == ""
    form = {"name": f"Yearly {evil}", "tags": "Flu, yearly,flu", "note": f"one\r\n{evil}"}
    assert ann.post(f"{path}/notes", form).headers["location"] == path
    assert bea.get("/jump.json?to=" + form["name"][1:6]).json()["found"] == [
        {"to": path, "words": f"answer {form['name']}"}
    ]
    told = bea.get(f"{path}.json").json()["note"]
    assert (told["name"], told["tags"], told["note"]) == (f"Yearly {evil}", ["flu", "yearly"], f"one\n{evil}")
    assert told["by"] == "ann"
    for at in (path, "/a", "/", f"{path}/beside?other={release.id}"):
        page = bea.get(at).text
        assert "<img" not in page and "Yearly &lt;img" in page, at
    assert owner.post(f"{path}/notes", {"name": "By the owner"}).status_code == 303
    assert "By the owner" in re.search(r"<h1.*?</h1>", ann.get(path).text)[0]
    for wrong in ({"name": "x" * 121}, {"tags": ",".join("abcdefghi")}, {"note": "x" * 2001}, {"name": "\u202ex"}):
        assert ann.post(f"{path}/notes", wrong).status_code == 400, wrong
    assert ann.get(f"{path}.json").json()["note"]["name"] == "By the owner"
    assert ann.post(f"{path}/notes", {}).status_code == 303
    assert ann.get(f"{path}.json").json()["note"]["changed"] is None
    assert ann.post("/a/r-nothing/notes", {"name": "x"}).status_code == 404


def test_a_name_is_no_part_of_what_is_published(clinic, release):
    owner = clinic.browser("owner")
    owner.post(f"/a/{release.id}/notes", {"name": "zzsecret", "tags": "zzsecret", "note": "zzsecret"})
    owner.post(f"/r/{release.id}/publish", {"name": "Diseases"})
    public = clinic.browser("public")
    assert public.get(f"/r/{release.id}").status_code == 200
    for path in ("/r", f"/r/{release.id}", f"/r/{release.id}.json"):
        assert "zzsecret" not in public.get(path).text
    owner.post(f"/a/{release.id}/notes", {})


def test_a_long_answer_shows_its_first_rows_and_all_of_them_on_demand(clinic, project, release):
    ann = clinic.browser("analyst")
    released = project.sql(BY_ALL).ask(epsilon=1, analyst="ann")
    path, many = f"/a/{released.id}", len(released.rows)
    first, whole = ann.get(f"{path}?confidence=0.5").text, ann.get(f"{path}?confidence=0.5&rows=all").text
    assert many > 100 and first.count('<th scope="row">') == 50 and whole.count('<th scope="row">') == many
    to = f"{path}?statement=1&amp;confidence=0.5&amp;rows=all#rows"
    assert f'the first 50 of {many} rows. <a href="{to}">Show all {many} rows</a>' in first
    assert "Show the first rows only" in whole and "Copy the first 50 rows" in first and "Copy the numbers" in whole
    assert re.search(r'confidence=0.999&amp;rows=all">99.9%', whole)  # what else is chosen stays
    assert len(ann.get(f"{path}.csv").text.splitlines()) == many + 1
    assert "Show all" not in ann.text(f"/a/{release.id}")


def test_the_list_is_searched_and_sorted(clinic, project, release, other):
    ann = clinic.browser("analyst")
    ann.post(f"/a/{release.id}/notes", {"name": "Alpha", "tags": "keep", "note": "for the mayor"})

    def ids(query):
        return [each["release"] for each in ann.get(f"/a.json?{query}").json()["releases"]]

    for query in ("q=MAYOR", "q=alpha", "tag=keep", f"q={release.id}", "q=disease+alpha"):
        assert ids(query) == [release.id], query
    assert other.id in ids("q=age+70") and release.id not in ids("q=age+70")
    assert ids("q=nothingofthekind") == [] and "No answer matches" in ann.text("/a?q=nothingofthekind")
    assert ids("sort=oldest") == ids("")[::-1] and ids("sort=name")[0] == release.id
    ann.post(f"/a/{release.id}/notes", {"name": "Zu\u0308rich, Straße", "tags": "keep", "note": "for the mayor"})
    for query in ("zurich", "ZÜRICH", "zürich", "zu\u0308rich+strasse"):
        assert ids(f"q={query}") == [release.id], query
    assert ann.get("/jump.json?to=zurich").json()["found"][0]["to"] == f"/a/{release.id}"
    prices = [each["price"] for each in ann.get("/a.json?sort=price").json()["releases"]]
    assert prices == sorted(prices, reverse=True)
    assert ids("sort=evil") == ids("") and 'value="&#34;&gt;' in ann.get('/a?q=">').text


def test_one_number_is_shown_large_and_a_question_is_its_title(clinic, project):
    one = project.sql("SELECT count(*) AS n FROM patients WHERE age < 42").ask(epsilon=1)
    page = clinic.browser("analyst").get(f"/a/{one.id}").text
    assert re.search(rf'class="single">.*<strong>{re.escape(one.cell_text(0, 0))}</strong>', page)
    assert '<h1 class="sql">SELECT count(*) AS n FROM patients WHERE age &lt; 42</h1>' in page
    assert release_view.single_number({"rows": [[1], [2]], "columns": [{"kind": "noisy", "name": "n"}]}) is None


def test_links_keep_what_was_chosen(clinic, project):
    """The drawn column, the confidence and the best numbers: none is lost by a link that changes another."""
    found = project.sql(BY_WARD).ask(epsilon=2, analyst="ann")
    ann, path = clinic.browser("analyst"), f"/a/{found.id}"
    page = ann.get(f"{path}?number=2&confidence=0.999").text
    links = [link.replace("&amp;", "&") for link in re.findall(r'href="([^"]+)"', page) if f"{path}?" in link]
    level = [link for link in links if "confidence=0.5" in link]
    assert len(level) == 1 and "number=2" in level[0]
    assert any("number" not in link and "confidence=0.999" in link for link in links)  # the other column
    files = [
        link.replace("&amp;", "&") for link in re.findall(rf'href="({path}\.(?:csv|parquet|json|svg)[^"]*)"', page)
    ]
    assert len(files) >= 5 and all("confidence=0.999" in link for link in files)
    wide, narrow = (ann.get(link).json()["intervals"] for link in (f"{path}.json?confidence=0.999", f"{path}.json"))
    assert wide[0][1][1] > narrow[0][1][1]


def test_the_chart_is_a_file(clinic, project, release):
    ann = clinic.browser("analyst")
    found = ann.get(f"/a/{release.id}.svg")
    assert found.headers["content-type"] == "image/svg+xml" and "attachment" in found.headers["content-disposition"]
    picture = ET.fromstring(found.text)
    assert float(picture.get("width")) > 300 and "var(--" in found.text and "prefers-color-scheme" not in found.text
    assert set(re.findall(r"var\((--[a-z0-9-]+)\)", found.text)) <= set(re.findall(r"(--[a-z0-9-]+):", found.text))
    assert ann.get(f"/a/{release.id}.svg?confidence=0.999").text != found.text
    one = project.sql("SELECT count(*) AS n FROM patients").ask(epsilon=1)
    assert ann.get(f"/a/{one.id}.svg").status_code == 404 and ann.get("/a/r-nothing.svg").status_code == 404
    assert clinic.browser("public").get(f"/a/{release.id}.svg").status_code in (303, 401)


# -- two answers -----------------------------------------------------------------------------------


def test_two_answers_stand_beside_each_other(clinic, release, other):
    ann = clinic.browser("analyst")
    told = ann.get(f"/a/{release.id}/beside.json?other={other.id}").json()
    assert not told["shared"] and [each["group"] for each in told["lines"]] == ["flu", "mumps", "gout", "NULL"]
    assert told["column"] == "n" and any("not the same" in line for line in told["changes"])
    bars = told["chart"]["bars"]
    assert [bar["value"] for bar in bars[:2]] == [release.rows[0][1], other.rows[0][1]]
    sheet = ann.get(f"/a/{release.id}/beside.csv?other={other.id}").text.splitlines()
    assert sheet[0].startswith("group,first,first_low") and len(sheet) == 5
    assert ann.get(f"/a/{release.id}/beside?other=r-nothing").status_code == 404
    assert "have different groups" in ann.text(f"/a/{release.id}/beside?other={ask_wards(clinic)}")


def ask_wards(clinic):
    return clinic.house.handle.project.sql(BY_WARD).ask(epsilon=2).id


def test_the_interval_of_a_difference_holds_both(release, other):
    """By the rule that its docstring proves: both intervals at a confidence whose square is enough."""
    level = both_hold(Fraction(95, 100))
    assert level**2 >= Fraction(95, 100) > (level - Fraction(1, 1000)) ** 2
    lines = compare_releases(release, other, "n", Fraction(95, 100), independent=True)
    for row, line in enumerate(lines):
        one, two = (each.interval(level)[row][1] for each in (release, other))
        assert line.difference == (other.rows[row][1] - release.rows[row][1], two[0] - one[1], two[1] - one[0])
        assert line.difference[1] < line.difference[0] < line.difference[2]
    for confidence in (Fraction(1, 2), Fraction(99, 100), Fraction(999999, 1000000), Fraction(1, 10**9)):
        assert confidence <= both_hold(confidence) ** 2 < 1


def covered(monkeypatch):
    """How often the difference of two equal numbers lies in its interval, by summation over all draws of both laws."""
    law, draws = DiscreteLaplace(scale=Fraction(2)), range(-60, 61)

    def numbers(place, name, confidence, *, following=False):
        half = law.half_width(confidence)
        return {(a, b): (n, n - half, n + half) for a in draws for b in draws for n in [(a, b)[place]]}

    monkeypatch.setattr(answer_comparison, "_numbers_by_group", numbers)
    lines = compare_releases(0, 1, "n", Fraction(95, 100), independent=True)
    held = [line.group for line in lines if line.difference[1] <= 0 <= line.difference[2]]
    return sum(chance(law, a) * chance(law, b) for a, b in held)


def test_a_difference_is_covered_as_often_as_is_claimed(monkeypatch):
    """Exact, by summation over both laws: the claim holds at the law itself, not in a sample."""
    assert 0.95 <= covered(monkeypatch) < 1


def test_a_difference_with_the_width_of_one_number_is_seen(monkeypatch):
    def narrow(one, other):
        return other[0] - one[0], other[1] - one[0], other[2] - one[0]

    monkeypatch.setattr(answer_comparison, "_difference", narrow)
    assert covered(monkeypatch) < 0.95


def chance(law, k):
    """Of a draw, as a float: e^(-|k|/scale) up to its sum."""
    ratio = 2.718281828459045 ** (-1 / float(law.scale))
    return (1 - ratio) / (1 + ratio) * ratio ** abs(k)


def test_answers_that_share_noise_have_no_interval_of_a_difference(clinic, project):
    first = project.sql("SELECT sex, count(*) AS n FROM patients GROUP BY sex").ask(epsilon="0.5", analyst="ann")
    again = project.again(first.id, epsilon="0.5")
    third = project.again(again.id, epsilon="0.5")
    ann = clinic.browser("analyst")
    for one, two in ((first, again), (again, first), (first, third), (first, first)):
        told = ann.get(f"/a/{one.id}/beside.json?other={two.id}").json()
        assert told["shared"] and all("±" not in line["difference"].replace("± ?", "") for line in told["lines"])
    assert "share noise" in ann.text(f"/a/{first.id}/beside?other={third.id}")


def test_a_quantile_has_no_narrow_interval_of_a_difference(project):
    """Its interval was measured with it: at a higher confidence it is all that is declared, or none."""
    found = [project.sql("SELECT median(age) AS m FROM patients").ask(epsilon=e, fresh=True) for e in (3, 4)]
    (line,) = compare_releases(*found, "m", Fraction(95, 100), independent=True)
    assert line.first[1] is not None and line.difference[1:] in ((None, None), (-100, 100))


def test_after_new_data_one_asks_again_and_compares(tmp_path):
    made = world(tmp_path / "clinic")
    project, ann = made.house.handle.project, made.browser("analyst")
    old = project.sql(BY_DISEASE).ask(epsilon=1, analyst="ann")
    assert "newer data" not in ann.text(f"/a/{old.id}")
    project.refresh("patients", force=True)
    page = ann.get(f"/a/{old.id}").text
    assert "There is newer data: version 2" in page and "Ask again about the new data" in page
    sent = ann.post("/ask", {"sql": BY_DISEASE, "by": "epsilon", "epsilon": "1", "act": "price"})
    assert sent.headers["location"].startswith("/ask/draft/")
    new = project.sql(BY_DISEASE).ask(epsilon=1, analyst="ann")
    assert new.version == 2
    assert f"/a/{new.id}/beside?other={old.id}" in ann.get(f"/a/{new.id}").text
    told = ann.get(f"/a/{new.id}/beside.json?other={old.id}").json()
    assert any("different versions" in line for line in told["changes"]) and not told["shared"]
    made.house.close()


# -- one's own history -----------------------------------------------------------------------------


def test_a_note_does_not_overwrite_one_that_its_writer_never_saw(clinic, release):
    ann, owner, path = clinic.browser("analyst"), clinic.browser("owner"), f"/a/{release.id}"
    shown = re.search(r'name="shown" value="([0-9a-f]{16})"', ann.get(path).text)[1]
    assert owner.post(f"{path}/notes", {"name": "By the owner", "shown": shown}).status_code == 303
    late = ann.post(f"{path}/notes", {"name": "By ann", "shown": shown})
    assert late.status_code == 400 and "after you opened the page" in late.text
    assert clinic.house.people.notes.find(release.id).name == "By the owner"
    again = re.search(r'name="shown" value="([0-9a-f]{16})"', ann.get(path).text)[1]
    assert again != shown and ann.post(f"{path}/notes", {"shown": again}).status_code == 303


def test_what_was_refused_is_its_authors_alone(clinic):
    ann, bea, owner = clinic.browser("analyst"), another(clinic, "bea"), clinic.browser("owner")
    secret = "SELECT zzsecret FROM patients"
    form = {"by": "epsilon", "epsilon": "0.1", "confidence": "0.95"}
    for _ in range(2):
        ann.post("/ask", {**form, "sql": secret, "act": "ask"})
    assert [each["text"] for each in ann.get("/ask/history.json").json()["refused"]] == [secret]
    assert secret in ann.get("/ask/history").text and "zzsecret" in ann.text("/")
    for stranger in (bea, owner):
        for path in ("/ask/history", "/ask/history.csv", "/", "/jobs", "/log", "/a?q=zzsecret"):
            page = stranger.get(path)
            assert page.status_code == 200 and "zzsecret from" not in page.text.lower(), path
    assert "zzsecret" not in owner.get("/admin/denials").text
    dear = {**form, "sql": BY_WARD.replace("patients", "patients WHERE age > 3"), "epsilon": "150", "act": "ask"}
    ann.post("/ask", dear)
    assert "remain" in ann.get("/ask/history.json").json()["refused"][0]["why"]
    ann.post("/ask", {**form, "sql": "SELECT count(*) FROM visits WHERE cost > 7", "act": "price"})
    told = ann.get("/ask/history.json").json()
    assert len(told["refused"]) == 2 and told["drafts"][0]["sql"].endswith("cost > 7")
    assert bea.get("/ask/history.json").json() == {"drafts": [], "refused": [], "most": 30}
    assert bea.post("/ask/history/forget").status_code == 303
    assert len(ann.get("/ask/history.json").json()["refused"]) == 2
    ann.post("/ask/history/forget")
    assert ann.get("/ask/history.json").json() == {"drafts": [], "refused": [], "most": 30}


def test_drafts_outlive_a_restart_and_end_with_a_logout(tmp_path):
    made = world(tmp_path / "clinic")
    ann = made.browser("analyst")
    form = {"by": "within", "within": "40", "confidence": "0.9", "build_table": "visits", "build_group": "month day"}
    asked = [f"SELECT sum(cost) AS zzdraft FROM visits WHERE cost > {number}" for number in range(12)]
    at = [ann.post("/ask", {**form, "sql": text, "act": "price"}).headers["location"] for text in asked[:-1]]
    at.append(ann.post("/ask", {**form, "sql": asked[-1], "act": "rehearse"}).headers["location"])
    pages = ann.get(at[-1]).text, ann.get(f"{at[-1]}.json").json()
    assert pages[1]["rehearsal"]["rows"] and pages[1]["draft"]["choices"]["groups"][0] == "month day"
    made.house.close()
    house, _ = open_state(made.folder, Settings(origin=ORIGIN, grid_ms=1), log=made.folder.parent / "console.log")
    house.people.passwords = Passwords(memory_kib=64, passes=1)
    again = World(house=house, folder=made.folder, setup=None)
    ann, owner = again.browser("analyst"), again.browser("owner")
    after = ann.get(at[-1]).text, ann.get(f"{at[-1]}.json").json()
    assert after[1]["rehearsal"] == pages[1]["rehearsal"] and after[1]["draft"] == pages[1]["draft"]
    assert [ann.get(each).status_code for each in at] == [404, 404, *[200] * 10]  # the last ten
    assert [each["sql"] for each in ann.get("/ask/history.json").json()["drafts"]] == asked[:1:-1]
    assert "zzdraft" in ann.text("/")
    for path in (at[-1], "/ask/history", "/"):  # nobody else's, owners included
        assert "zzdraft" not in owner.get(path).text
    assert owner.post("/logout").status_code == 303 and ann.get(at[-1]).status_code == 200
    house.people.sessions.end_all(house.people.roster.get("ann"))  # a session that ends deletes none
    ann = again.browser("analyst")
    assert ann.get(at[-1]).status_code == 200
    assert ann.post("/logout").status_code == 303
    assert again.browser("analyst").get("/ask/history.json").json()["drafts"] == []
    house.close()


def test_so_many_refused_queries_are_kept(clinic):
    clinic.browser("analyst")
    people = clinic.house.people
    person = people.roster.get("ann")
    for number in range(35):
        people.refused.keep(person, text=f"select {number}", why="because")
    people.refused.keep(person, text="x" * 20_001, why="because")
    people.refused.keep(person, text=" ", why="because")
    assert [each.text for each in people.refused.of(person)] == [f"select {n}" for n in range(34, 4, -1)]
    assert people.refused.forget(person) == 30


# -- home and data ---------------------------------------------------------------------------------


def test_home_has_one_meter_for_a_population(clinic, project):
    told = clinic.browser("analyst").get("/index.json").json()
    (meter,) = told["populations"]
    assert meter["population"] == "people" and meter["tables"] == ["patients", "visits"]
    counts = {name: each["counts"] for each in meter["counts"] for name in each["tables"]}
    assert counts == {name: project.budget(name).counts for name in ("patients", "visits")}
    assert meter["remaining"]["epsilon"] == pytest.approx(float(project.budget("patients").remaining.epsilon))


def test_home_shows_each_their_own(clinic):
    ann, bea, owner = clinic.browser("analyst"), another(clinic, "bea"), clinic.browser("owner")
    ann.post("/budget/requests", {"table": "visits", "epsilon": "3", "why": "zzreason"})
    assert "ann requests epsilon 3 more for visits" in owner.text("/")
    assert "epsilon 3 more for visits: waiting for an owner" in ann.text("/")
    assert "epsilon 3 more" not in bea.text("/") and "zzreason" not in bea.text("/")


def test_a_first_question_is_priced_and_not_charged(clinic, project):
    ann = clinic.browser("analyst")
    (example,) = [each["example"] for each in ann.get("/index.json").json()["tables"] if each["name"] == "patients"]
    before = len(project.ledger.refresh().charges)
    sent = ann.post("/ask", {"sql": example, "by": "epsilon", "epsilon": "0.1", "act": "price"})
    shown = ann.text(sent.headers["location"])
    assert "Price pricing … Free: release" in shown and len(project.ledger.refresh().charges) == before
    assert "SELECT" not in sent.headers["location"]


def test_a_free_histogram_does_not_say_that_it_is_charged(clinic, project):
    ann, wish = clinic.browser("analyst"), "/tables/new/histogram?table=patients&columns=age&epsilon=0.3"
    assert "It is charged to ann" in ann.text(wish) and "Pay and count" in ann.text(wish)
    project.histogram("patients", "age").ask(epsilon="0.3", analyst="ann")
    free = ann.text(wish)
    assert "Nothing is charged." in free and "charged to ann" not in free and "Pay and" not in free


def test_data_says_what_may_be_asked(clinic):
    ann = clinic.browser("analyst")
    rows = {tuple(line.split(",")[:2]): line for line in ann.get("/d.csv").text.splitlines()}
    assert "average" in rows["patients", "age"] and "count by it" in rows["patients", "disease"]
    assert "month" in rows["visits", "day"] and "join" in rows["wards", "house"]
    page = ann.text("/d")
    assert "more counts of patients" in page and "See its price" in page
    assert clinic.browser("public").get("/d").status_code == 303


def test_every_page_is_reached_from_the_menu_or_the_foot(clinic):
    owner = clinic.browser("owner").get("/").text
    for path in (
        "/ask",
        "/a",
        "/d",
        "/tables",
        "/synth",
        "/survey",
        "/learn",
        "/lab",
        "/r",
        "/admin",
        "/budget",
        "/log",
    ):
        assert f'href="{path}"' in owner, path
    assert 'href="/admin"' not in clinic.browser("analyst").get("/").text


def test_the_planted_faults_are_seen(monkeypatch, release, other):
    """A difference at the confidence of one number would be too narrow."""
    monkeypatch.setattr(answer_comparison, "both_hold", lambda confidence: confidence)
    lines = compare_releases(release, other, "n", Fraction(95, 100), independent=True)
    level = both_hold(Fraction(95, 100))
    proper = [
        two[0] - one[1]
        for one, two in zip(*([row[1] for row in each.interval(level)] for each in (release, other)), strict=True)
    ]
    assert [line.difference[1] for line in lines] != proper


def test_a_total_is_not_a_group_that_is_called_total(project):
    query = (
        "SELECT CASE WHEN sex = 'F' THEN 'total' ELSE 'others' END AS part, count(*) AS n FROM patients{}"
        " GROUP BY ROLLUP(part)"
    )
    both, half = (project.sql(query.format(each)).ask(epsilon=1) for each in ("", " WHERE age < 50"))
    lines = compare_releases(both, half, "n", Fraction(95, 100), independent=True)
    assert sorted(line.label for line in lines) == ["others", "total", "total"]
    for line, one, two in zip(lines, both.rows, half.rows, strict=True):
        assert (line.first[0], line.second[0]) == (one[1], two[1])


def test_releases_are_read_together_as_they_are_one_by_one(project, release, other, monkeypatch):
    from discreet.console import answer_index
    from discreet.project import recall

    charges = list(project.ledger.refresh().charges.values())
    assert len(charges) > 1
    one_by_one = [project.recall(charge.id) for charge in charges]
    monkeypatch.setattr(recall, "_TOGETHER", 2)
    assert list(recall.recall_releases([charge.id for charge in charges], ledger=project.ledger)) == one_by_one
    monkeypatch.setattr(answer_index, "MOST", 1)
    index = answer_index.AnswerIndex()
    for _ in range(2):  # the second time one is remembered, and the rest is read again
        entries = index.look_up(project, charges)
        assert [(each.id, each.kind, each.texts) for each in entries] == [
            (each.id, each.kind, each.texts) for each in one_by_one
        ]
    assert len(index._answers) == 1
