"""Answers: every release opens, tells what it is and cost, and is read as it was stored."""

import csv
import io
import re

import numpy as np
import pyarrow.parquet as pq
import pytest

from console.house import world
from discreet.console.pages import answers, release_view
from discreet.mechanisms.laplace import DiscreteLaplace

BY_DISEASE = "SELECT disease, count(*) AS n FROM patients GROUP BY disease"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    made = world(tmp_path_factory.mktemp("answers") / "clinic")
    yield made
    made.house.close()


@pytest.fixture(scope="module")
def project(clinic):
    return clinic.house.handle.project


@pytest.fixture(scope="module")
def release(project):
    return project.sql(BY_DISEASE).ask(epsilon=1, analyst="ann")


@pytest.fixture
def browser(clinic):
    return clinic.browser("analyst")


def test_a_release_tells_all_that_may_be_known(browser, release):
    words = browser.text(f"/a/{release.id}")
    for row in range(len(release)):
        assert release.cell_text(row, 1) in words
    for part in ("epsilon 1, delta 0", "ann", "Confidence intervals", "more counts of everybody at plus or minus 50"):
        assert part in words, part
    assert words.count("confidence interval") == words.count("% confidence intervals of the added noise") == 1
    assert BY_DISEASE in words and "Cite it" in words and "@misc{discreet-" in words
    assert "one person changes it by at most" in words  # the tree
    assert "discrete Laplace noise with scale 1" in words


def test_its_twins_are_the_same_answer(browser, release):
    told = browser.get(f"/a/{release.id}.json").json()
    assert told["rows"] == [list(row) for row in release.rows] and told["cost"]["epsilon"] == 1
    rows = list(csv.reader(io.StringIO(browser.get(f"/a/{release.id}.csv").text)))
    assert rows[0] == ["disease", "n", "n_low", "n_high"]
    assert [[row[0], int(row[1])] for row in rows[1:-1]] == [list(row) for row in release.rows[:-1]]
    table = pq.read_table(io.BytesIO(browser.get(f"/a/{release.id}.parquet").content))
    assert table.equals(release.to_arrow())


@pytest.mark.deep
def test_one_of_several_numbers_is_drawn_and_chosen(browser, project):
    found = project.sql("SELECT sex, count(*) AS n, avg(age) AS years FROM patients GROUP BY sex").ask(epsilon=2)
    path = f"/a/{found.id}"
    titles = [browser.get(f"{path}.json?number={number}").json()["chart"]["title"] for number in (1, 2, 9)]
    assert titles == ["n by sex", "years by sex", "years by sex"]  # the last where there are not so many
    first, second = browser.get(path).text, browser.get(f"{path}?number=2").text
    assert "<strong>n</strong>" in first and "number=2" in first and "number=1" not in first
    assert "<strong>years</strong>" in second and "number=1" in second and "years by sex" in second
    for wrong in ("0", "x", "-1"):
        assert browser.get(f"{path}?number={wrong}").status_code == 400


def test_a_stored_answer_says_that_nothing_was_charged(browser, release):
    assert "Nothing was charged now" in browser.text(f"/a/{release.id}?stored=1")
    assert "which cost epsilon 1, delta 0" in browser.text(f"/a/{release.id}?stored=1")
    assert "Nothing was charged now" not in browser.text(f"/a/{release.id}")


def test_an_average_of_perhaps_nobody_is_a_dash(browser, project, monkeypatch):
    """An interval that is the whole domain says nothing, however tall its bar would be."""
    asked = project.sql("SELECT disease, avg(age) AS years FROM patients WHERE age > 99 GROUP BY disease")
    monkeypatch.setattr(DiscreteLaplace, "draw", lambda law, size, *, bits: np.zeros(size, dtype=np.int64))
    found = asked.ask(epsilon="0.001")
    told = browser.get(f"/a/{found.id}.json").json()
    assert told["columns"][1]["bounds"] == [0.0, 100.0]
    assert all(ends[1] == [0.0, 100.0] for ends in told["intervals"])
    assert all(row[1]["drowned"] for row in told["sheet"]["cells"])
    assert all(bar["drowned"] for bar in told["chart"]["bars"])
    assert all(row[1] is None for row in told["rows"])
    assert all(row[1]["text"] == "–" for row in told["sheet"]["cells"])
    page = browser.text(f"/a/{found.id}")
    assert f"{len(found)} of {len(found)} numbers are not shown (–): the noise is too large" in page
    assert "(the noise is too large to show it)" in page


def test_wider_at_a_higher_confidence(browser, release):
    plain, sure = (browser.get(f"/a/{release.id}.json{query}").json() for query in ("", "?confidence=0.999"))
    assert sure["rows"] == plain["rows"] and sure["intervals"][0][1][1] > plain["intervals"][0][1][1]
    assert browser.get(f"/a/{release.id}?confidence=2").status_code == 200  # says why it cannot be read so
    assert "Confidence must be between" in browser.text(f"/a/{release.id}?confidence=2")


def test_drowned_cells_are_greyed_and_said(browser, project):
    found = project.sql("SELECT sex, ward, count(*) AS n FROM patients WHERE age > 78 GROUP BY sex, ward").ask(
        epsilon="0.01"
    )
    shown = browser.get(f"/a/{found.id}").text
    assert 'class="number drowned"' in shown and "(below the noise)" in shown


@pytest.mark.thin(3)
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (BY_DISEASE + " ORDER BY n DESC", "bars"),
        pytest.param("SELECT day, count(*) AS n FROM visits GROUP BY day", "lines", marks=pytest.mark.deep),
        ("SELECT disease, sex, count(*) AS n FROM patients GROUP BY disease, sex", "heatmap"),
        pytest.param("SELECT count(*) AS n, avg(age) AS a FROM patients", "bars", marks=pytest.mark.deep),
        ("SELECT count(*) AS n FROM patients", None),
        ("SELECT disease, sex, sum(age) AS n FROM patients GROUP BY ROLLUP (disease, sex)", None),
        pytest.param(
            "SELECT sex = 'F' AS woman, count(*) AS n FROM patients GROUP BY 1", "bars", marks=pytest.mark.deep
        ),
        ("SELECT date_trunc('month', day) AS month, avg(cost) AS c FROM visits GROUP BY 1", "lines"),
        pytest.param("SELECT age, count(*) AS n FROM patients GROUP BY age", "bars", marks=pytest.mark.deep),
        ("SELECT age % 7 AS left, sum(age) AS s FROM patients GROUP BY 1", "lines"),
        pytest.param("SELECT max(day) AS last FROM visits", None, marks=pytest.mark.deep),
        pytest.param(
            "SELECT disease, sex, ward, count(*) AS n FROM patients GROUP BY disease, sex, ward",
            None,
            marks=pytest.mark.deep,
        ),
    ],
)
def test_the_chart_that_fits_the_keys(browser, project, text, kind):
    found = project.sql(text).ask(epsilon=2)
    told = browser.get(f"/a/{found.id}.json").json()["chart"]
    assert (None if told is None else told["chart"]) == kind
    shown = browser.get(f"/a/{found.id}").text
    assert ('role="img"' in shown) is (kind is not None)


def test_each_statement_of_a_batch(browser, project):
    found = project.batch(f"{BY_DISEASE}; SELECT disease, avg(age) AS years FROM patients GROUP BY disease", epsilon=3)
    first, second = (browser.get(f"/a/{found[0].id}.json?statement={place}").json() for place in (1, 2))
    assert [column["name"] for column in first["columns"]] == ["disease", "n"]
    assert [column["name"] for column in second["columns"]] == ["disease", "years"]
    assert browser.get(f"/a/{found[0].id}?statement=3").status_code == 404
    assert browser.get(f"/a/{found[0].id}?statement=x").status_code == 400


def test_again_pays_once_for_a_form_and_reads_both_together(clinic, project, browser):
    first = project.sql("SELECT ward, sum(age) AS n FROM patients GROUP BY ward").ask(epsilon="0.2", analyst="ann")
    shown = browser.get(f"/a/{first.id}").text
    key = re.search(r'name="key" value="([^"]+)"', shown)[1]
    before = len(project.ledger.refresh().charges)
    sent = [browser.post(f"/a/{first.id}/again", {"key": key, "epsilon": "0.2"}) for _ in range(2)]
    assert [each.status_code for each in sent] == [303, 303]
    assert sent[0].headers["location"] == sent[1].headers["location"]
    assert len(project.ledger.refresh().charges) == before + 1
    second = project.release(sent[0].headers["location"].removeprefix("/a/"))
    assert second.plus_minus() < first.plus_minus()
    assert f'href="/a/{first.id}"' in browser.get(f"/a/{second.id}").text
    assert f'href="/a/{second.id}"' in browser.get(f"/a/{first.id}").text
    within = browser.post(f"/a/{second.id}/again", {"key": f"{key}x", "within": str(second.plus_minus() / 2)})
    third = project.release(within.headers["location"].removeprefix("/a/"))
    assert within.status_code == 303 and third.plus_minus() <= second.plus_minus() / 2
    bad = browser.post(f"/a/{first.id}/again", {"key": key, "epsilon": "much"})
    assert bad.status_code == 400 and 'role="alert"' in bad.text


@pytest.mark.deep
def test_releases_of_every_kind_open(clinic, browser, project):
    asked = project.sql("select count(*) n from patients where age > 33").ask(epsilon=1)
    project.again(asked.id, epsilon=1)
    project.batch(
        "select ward, count(*) n from patients group by ward; select ward, avg(age) y from patients group by ward",
        epsilon=1,
    )
    project.synthesize("patients", epsilon=1, model="independent", columns=["sex", "disease"])
    project.ranges("patients", "age", epsilon=1)
    project.marginals("patients", ["sex", "disease"], epsilon=1)
    project.stream("patients", "daily", epsilon=1, horizon=8)
    project.histogram("patients", "sex").ask(epsilon=1)
    project.bias("patients", epsilon=1)
    kinds = set()
    for id_ in project.ledger.refresh().charges:
        told = browser.get(f"/a/{id_}.json").json()
        kinds.add(told["kind"])
        page = browser.get(f"/a/{id_}")
        if told["elsewhere"]:
            assert browser.get(told["elsewhere"]).status_code == 200, told["elsewhere"]
        assert page.status_code == 200 and told["words"][1:] in page.text and told["cost"]["words"] in page.text
    assert {"question", "batch", "again", "model", "ranges", "marginals", "stream", "bounds"} <= kinds


def test_the_list_is_paged_and_by_table_and_analyst(clinic, browser, project, release):
    project.sql("SELECT count(*) AS n FROM visits").ask(epsilon=1)
    told = browser.get("/a.json").json()
    newest = [charge.id for charge in sorted(project.ledger.refresh().charges.values(), key=lambda each: -each.seq)]
    assert [each["release"] for each in told["releases"]] == newest[:25]
    assert told["count"] == len(newest)
    anns = browser.get("/a.json?analyst=ann").json()
    assert {each["analyst"] for each in anns["releases"]} == {"ann"}
    visits = browser.get("/a.json?table=visits").json()
    assert {each["table"] for each in visits["releases"]} == {"visits"}
    assert browser.get("/a.json?page=99").json()["page"] == told["pages"]
    assert browser.get("/a?page=0").status_code == 400
    assert browser.get("/a.csv").text.startswith("release,kind,table,version,analyst,time,price,asked,name,tags\n")


def test_what_is_not_there_and_who_may_not(clinic, browser, release):
    for path in ("/a/r-nothing", "/a/r-nothing.json", "/a/r-nothing.parquet", "/a/%00"):
        assert browser.get(path).status_code == 404, path
    public = clinic.browser("public")
    assert public.get(f"/a/{release.id}").status_code == 303
    assert public.get(f"/a/{release.id}.json").status_code == 401
    assert public.get(f"/a/{release.id}.parquet").status_code in (401, 303)


def test_owners_may_publish(clinic, browser, release):
    owner = clinic.browser("owner")
    assert f'action="/a/{release.id}/publish"' in owner.get(f"/a/{release.id}").text
    assert "/publish" not in browser.get(f"/a/{release.id}").text


def test_an_older_version_is_shown_and_cannot_be_measured_again(tmp_path):
    made = world(tmp_path / "clinic")
    project, browser = made.house.handle.project, made.browser("analyst")
    old = project.sql(BY_DISEASE).ask(epsilon=1)
    project.refresh("patients", force=True)
    words = browser.text(f"/a/{old.id}")
    assert "version 1 (the newest is 2)" in words and old.cell_text(0, 1) in words
    assert "cannot be made more precise" in words and "Pay and make it" not in words
    made.house.close()


@pytest.mark.deep
def test_hostile_names_stay_text(tmp_path):
    made = world(tmp_path / "clinic")
    evil = "<img src=x onerror=alert(1)>"
    file = made.folder / "discreet.toml"
    file.write_text(
        file.read_text().replace('["flu", "mumps", "gout"]', f"['flu', '{evil}', '\\\"><script>', '{{7*7}}']")
    )
    project, browser = made.house.handle.project, made.browser("owner")
    found = project.sql(f'SELECT disease AS "{evil}", count(*) AS "<b>n" FROM patients GROUP BY disease').ask(epsilon=1)
    for path in (f"/a/{found.id}", "/a"):
        shown = browser.get(path).text
        assert "<img" not in shown and "<b>" not in shown and "><script>" not in shown
    assert "&lt;img" in browser.get(f"/a/{found.id}").text
    made.house.close()


# -- parts ----------------------------------------------------------------------------------------


def test_cells_are_written_as_a_release_writes_them(project):
    for text in (
        BY_DISEASE,
        "SELECT avg(age) AS a, sum(age) AS s, median(age) AS m FROM patients",
        "SELECT max(day) AS d FROM visits",
    ):
        found = project.sql(text).ask(epsilon=1)
        data = found.to_data()
        for row in range(len(found)):
            for place in range(len(found.columns)):
                key = found.columns[place].kind == "key"
                assert release_view.format_cell(
                    data["rows"][row][place], data["intervals"][row][place], key=key
                ) == found.cell_text(row, place)


def test_bibtex_is_not_broken_by_names(project, release):
    told = project.recall(release.id)
    found = answers.citation(told, origin="http://x")
    assert found["bibtex"].count("{") == found["bibtex"].count("}")
    assert release.id in found["text"] and "epsilon 1" in found["text"] and "version 1" in found["text"]
    assert answers._plain_bibtex("a{b}_c\\") == r"a\{b\}\_c\textbackslash "


@pytest.mark.noisy  # now and then all numbers add up as they were drawn
def test_best_numbers_are_shown_and_hidden_by_a_link(browser, project):
    sql = "SELECT disease, sex, count(*) AS n FROM patients GROUP BY ROLLUP(disease, sex)"
    found = project.sql(sql).ask(epsilon=1, fresh=True)
    path = f"/a/{found.id}"
    plain, shown = browser.get(path).text, browser.get(f"{path}?best=1").text
    assert "best=1#rows" in plain and "n, best" not in plain and "Hide the best numbers" not in plain
    assert "n, best" in shown and "Hide the best numbers" in shown
    assert ">total<" in plain
    assert browser.get(f"{path}.json").json()["best"] == [list(row) for row in found.best()]


def test_many_bins_are_steps_in_their_order_and_categories_are_not():
    """Rows may be in the order of a number; a chart of an ordered column is in the order of the column."""

    def chart(labels, **more):
        data = {
            "columns": [{"name": "k", "kind": "key"}, {"name": "n", "kind": "noisy"}],
            "rows": [[label, 100] for label in labels],
            "intervals": [[None, [90, 110]] for _ in labels],
        }
        return release_view.release_chart(data | more)

    bins = [f"[{low}, {low + 5})" for low in range(0, 250, 5)]
    mixed = chart([*bins[30:], None, *bins[:30]])
    assert [bar["label"] for bar in mixed["bars"]] == [*bins, None] and mixed["ordered"]
    few = chart(bins[9::-1])
    assert [bar["label"] for bar in few["bars"]] == bins[9::-1] and few["ordered"]
    words = [f"place {number}" for number in range(50)]
    assert [bar["label"] for bar in chart(words[::-1])["bars"]] == words[::-1] and not chart(words)["ordered"]


def test_a_point_of_a_line_that_is_below_the_noise_says_so():
    data = {
        "columns": [{"name": "k", "kind": "key"}, {"name": "n", "kind": "noisy"}],
        "rows": [[1, 100], [2, 3], [3, 90]],
        "intervals": [[None, [90, 110]], [None, [-5000, 5006]], [None, [80, 100]]],
    }
    (series,) = release_view.release_chart(data)["series"]
    assert [point["drowned"] for point in series["points"]] == [False, True, False]
