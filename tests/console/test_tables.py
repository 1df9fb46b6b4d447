"""Tables: planned free, paid once, read for ever."""

import io
import re
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pyarrow.parquet as pq
import pytest
from starlette.testclient import TestClient

from console import hostile
from console.house import world
from console.paying import charges, sent
from discreet.console.app import make_app
from discreet.console.app_state import open_state
from discreet.console.jobs import marginal_tables as tabling
from discreet.console.jobs import range_tables
from discreet.console.pages import plan_picker
from discreet.console.pages.plan_picker import PlanChoices
from discreet.tables.ranges import ranges_release
from discreet.tables.ranges.range_answers import Ranges

pytestmark = pytest.mark.usefixtures("patient")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(folder / "state"))
        made = world(folder / "clinic", most_rows=500)
    hostile.add(made.folder)
    yield made
    made.house.close()


@pytest.fixture(scope="module")
def browser(clinic):
    return clinic.browser("analyst")


RANGES = {"table": "visits", "column": "cost", "epsilon": "2", "between": "0..9\n10..19"}
MARGINALS = {"table": "patients", "columns": ["disease", "sex"], "epsilon": "3"}
PLAN = 'table = "patients"\nattributes = ["sex"]\n[hierarchy]\ncolumns = ["ward"]\nroot = "all"\n'
PUBLISH = {"plan": PLAN, "epsilon": "2", "act": "pay"}


@pytest.fixture(scope="module")
def ranges(browser):
    return sent(browser, "/tables/new/ranges", RANGES).partition("?")[0]


@pytest.fixture(scope="module")
def marginals(browser):
    return sent(browser, "/tables/new/marginals", MARGINALS)


@pytest.fixture(scope="module")
def published(browser):
    return sent(browser, "/tables/new/publish", PUBLISH)


def test_plans_are_free_and_tell_price_and_error(clinic, browser):
    before = charges(clinic)
    told = browser.get("/tables/new/ranges.json", params=RANGES).json()
    assert told["table"]["ordered"] == ["cost", "day"]
    told = told["quote"]
    assert told["price"]["cost"]["epsilon"] == 2 and told["price"]["fits"] and 0 < told["expected_rmse"] < 30
    told = browser.get("/tables/new/marginals.json", params=MARGINALS).json()["quote"]
    assert told["price"]["cost"]["epsilon"] == 3 and told["cells"] == 4 + 2 + 8 and len(told["marginals"]) == 3
    told = browser.get(
        "/tables/new/histogram.json", params={"table": "patients", "columns": "ward", "within": "5"}
    ).json()
    assert told["quote"]["noise"][0]["plus_minus"] <= 5
    answer = browser.post("/tables/new/publish", {**PUBLISH, "act": "plan"})
    assert answer.status_code == 200 and "Before you pay" in answer.text and "epsilon 2.0" in answer.text
    assert charges(clinic) == before


def test_ranges_are_paid_once_and_further_ones_are_free(clinic, browser, ranges):
    before = charges(clinic)
    again = sent(browser, "/tables/new/ranges", RANGES)
    assert again == f"{ranges}?between=0..9%0A10..19"
    told = browser.get(f"{ranges}.json?between=0..9;10..19").json()["found"]
    assert [row[:2] for row in told["rows"]] == [[0, 9], [10, 19]]
    assert all(low < value < high for _, _, value, (low, high) in told["rows"])
    further = browser.get(f"{ranges}.json?between=3..4&quantiles=0.5").json()["found"]
    assert [row[:2] for row in further["rows"]] == [[3, 4]] and len(further["quantiles"]) == 1
    assert browser.get(f"{ranges}.csv").text.startswith("cost_low,cost_high,rows,rows_low,rows_high\n0,")
    assert "paid once by ann" in browser.text(ranges) and "Quantiles" in browser.text(ranges)
    assert charges(clinic) == before


def test_what_was_read_of_ranges_is_kept_and_never_out_of_date(browser, ranges, monkeypatch):
    """The next visit computes nothing anew; other ranges, quantiles and warnings are another reading."""
    monkeypatch.setattr(range_tables, "_READ", {})
    at = f"{ranges}.json?between=3..4&quantiles=0.5"
    first = browser.get(at).json()["found"]
    monkeypatch.setattr(Ranges, "to_data", None)
    assert browser.get(at).json()["found"] == first
    monkeypatch.undo()
    others = [browser.get(at.replace(*words)).json()["found"] for words in (("3..4", "3..5"), ("0.5", "0.9"))]
    assert others[0]["rows"] != first["rows"] and others[1]["quantiles"] != first["quantiles"]

    def checked():
        monkeypatch.setattr(ranges_release, "count_caveats", lambda *_: ["what the ledger says since"])
        assert "what the ledger says since" in browser.get(at).json()["found"]["warnings"]

    checked()

    def planted(read, pairs, wants):
        return range_tables._READ.setdefault((read.release, pairs), range_tables._release_json(read, wants))

    monkeypatch.undo()
    monkeypatch.setattr(range_tables, "_READ", {})
    monkeypatch.setattr(range_tables, "_read_ranges", lambda read, pairs, wants: planted(read, str(pairs), wants))
    browser.get(at)
    with pytest.raises(AssertionError):
        checked()


def test_ranges_of_some_rows_by_groups(clinic, browser):
    form = {"table": "patients", "column": "age", "epsilon": "1", "by": "sex", "where": "age >= 10", "width": "10"}
    ordered = browser.get("/tables/new/ranges.json", params={"table": "patients"}).json()["table"]["ordered"]
    form |= {"column": ordered[0], "where": f"{ordered[0]} is not null"}
    quote = browser.get("/tables/new/ranges.json", params=form).json()["quote"]
    assert quote["groups"] == 2 and "in each of 2 groups" in browser.get("/tables/new/ranges", params=form).text
    at = sent(browser, "/tables/new/ranges", form)
    before = charges(clinic)
    told = browser.get(f"{at}.json?quantiles=0.5").json()["found"]
    assert told["by"] == ["sex"] and len({row[0] for row in told["rows"]}) == 2 and len(told["quantiles"]) == 2
    assert "50%" in browser.get(f"{at}?quantiles=0.5").text
    assert browser.get(f"{at}.csv").text.startswith(f"sex,{ordered[0]}_low,")
    assert charges(clinic) == before
    wish = {"table": "patients", "columns": ordered[0], "width": "10", "where": "sex = 'F'", "epsilon": "1"}
    assert browser.get("/tables/new/histogram.json", params=wish).json()["quote"]["cost"]["epsilon"] == 1


def test_numbers_stand_at_the_right(browser, ranges):
    """Of the whole column, its name included; and beside the chart."""
    shown = browser.get(ranges).text
    assert '<th scope="col">cost</th><th scope="col" class="number">rows</th>' in shown
    assert re.search(r'<td class="number">-?[\d,.]+ ± [\d.]+</td>', shown) and '<div class="pair">' in shown
    assert 'class="number">at or below</th>' in shown


@pytest.mark.deep
def test_wrong_ranges_are_told_beside_the_form(clinic, browser, ranges):
    before = charges(clinic)
    for wrong in ("?between=x", "?between=50..60..70", "?between=9..3", "?quantiles=2"):
        answer = browser.get(f"{ranges}{wrong}")
        assert answer.status_code == 400 and 'role="alert"' in answer.text, wrong
    for wrong in ({"column": "nothing"}, {"epsilon": "x"}, {"between": "x"}, {"strategy": "x"}):
        assert browser.post("/tables/new/ranges", RANGES | wrong).status_code == 400, wrong
    assert browser.get("/tables/new/ranges", params=RANGES | {"column": "id"}).status_code == 400
    assert charges(clinic) == before


@pytest.mark.deep
def test_ranges_of_an_older_version_are_read_as_they_were_told(clinic, browser):
    """A new version is another table: what was measured of the old one is never told as the new one's, nor bought."""
    form = {"table": "hostile", "column": "size", "epsilon": "1"}
    at = sent(browser, "/tables/new/ranges", form)
    told = browser.get(f"{at}.json").json()["found"]["rows"]
    clinic.house.handle.project.refresh("hostile")
    before = charges(clinic)
    later = browser.get(f"{at}.json").json()["found"]
    assert later["rows"] == told and later["readable"] is False
    assert browser.get(f"{at}?between=1..2").status_code == 400
    assert charges(clinic) == before


def test_marginals_are_kept_and_agree(clinic, browser, marginals):
    before = charges(clinic)
    assert sent(browser, "/tables/new/marginals", MARGINALS) == marginals
    told = browser.get(f"{marginals}.json").json()["found"]
    assert [each["name"] for each in told["tables"]] == ["disease", "sex", "disease × sex"]
    single = {row[0]: row[1] for row in told["shown"]["rows"]}
    both = browser.get(f"{marginals}.json?t=3").json()["found"]["shown"]
    for key, value in single.items():
        assert sum(row[2] for row in both["rows"] if row[0] == key) == pytest.approx(value, abs=0.01)
    assert sum(both["whole"]) == told["total"] and min(both["whole"]) >= 0
    header = "disease,sex,value,low,high,whole"
    assert browser.get(f"{marginals}.csv?t=3").text.splitlines()[0] == header
    table = pq.read_table(io.BytesIO(browser.get(f"{marginals}/download?format=parquet&t=3").content))
    assert table.column_names == header.split(",") and table.num_rows == 8
    assert browser.get(f"{marginals}?t=4").status_code == 400
    assert charges(clinic) == before


def test_tables_of_an_ordered_column_are_drawn_in_its_order(clinic, browser):
    """Of 41 costs and NULL, the 40 largest were once drawn, and "2 more"."""
    at = sent(browser, "/tables/new/marginals", {"table": "visits", "columns": ["cost"], "epsilon": "3"})
    (number,) = [
        each["number"] for each in browser.get(f"{at}.json").json()["found"]["tables"] if each["name"] == "cost"
    ]
    page, chart = browser.get(f"{at}?t={number}").text, browser.get(f"{at}.json?t={number}").json()["found"]["chart"]
    assert [bar["label"] for bar in chart["bars"]] == [*range(41), None] and chart["ordered"]
    assert "chart-step" in page and "… 2 more" not in page
    places = [page.index(f"<title>{cost}: ") for cost in range(41)]
    assert places == sorted(places)
    every = "\n".join(f"{cost}..{cost}" for cost in range(41))
    at = sent(browser, "/tables/new/ranges", {**RANGES, "between": every}).partition("?")[0]
    page = browser.get(f"{at}?{urlencode({'between': every})}").text
    assert "chart-step" in page and "The band around the steps shows" in page and "… 1 more" not in page
    backwards = "\n".join(f"{cost}..{cost}" for cost in reversed(range(41)))
    overlapping = "\n".join(f"{cost}..{cost + 1}" for cost in [*range(40), 39])
    for between in (backwards, overlapping):
        page = browser.get(f"{at}?{urlencode({'between': between})}").text
        assert "chart-step" not in page and "… 1 more" in page and "Lines on the bars show" in page


def test_many_at_once_pay_once(clinic):
    """The charge is made once for what is wished, whoever comes first; the others read what was drawn."""
    project = clinic.house.handle.project
    wish = tabling.wish_of({"table": ("patients",), "columns": ("ward",), "epsilon": ("0.5",)})
    before = len(charges(clinic))
    with ThreadPoolExecutor(6) as pool:
        found = list(
            pool.map(lambda who: tabling.measure_marginals(project, wish, analyst=who), ["ann", "bob", None] * 2)
        )
    assert len(set(found)) == 1 and len(charges(clinic)) == before + 1


@pytest.mark.deep
def test_a_server_of_another_day_reads_the_same(clinic, browser, ranges, marginals, published, monkeypatch):
    monkeypatch.setenv("DISCREET_STATE", str(clinic.folder.parent / "state"))
    seen = {at: browser.get(f"{at}.json").json()["found"] for at in (ranges, marginals, published)}
    house, _ = open_state(clinic.folder, clinic.house.settings, log=clinic.folder.parent / "other.log")
    client = TestClient(make_app(house), base_url=clinic.house.settings.origin, cookies=browser.client.cookies)
    for at, found in seen.items():
        assert client.get(f"{at}.json").json()["found"] == found
    house.close()


def test_published_tables_add_up_and_their_files_are_listed_ones(clinic, browser, published):
    before = charges(clinic)
    assert sent(browser, "/tables/new/publish", PUBLISH) == published
    told = browser.get(f"{published}.json").json()["found"]
    rows = {each["name"]: each["rows"] for each in told["previews"]}
    assert sum(row[2] for row in rows["ward"]) == sum(row[1] for row in rows["all"]) == told["rows"]
    page = browser.text(published)
    assert "Counts add up exactly" in page and "with epsilon 2," in page and "at most 1 row;" in page
    assert re.search(r"ward count estimate w0 \d+ -?\d+\.\d ± \d\.\d w1", page)  # one number for one thing
    assert browser.get(f"{published}/download?file=ward.csv").text.startswith('"ward","sex","count"')
    assert browser.get(f"{published}/download?file=card.json").json()["release"] == published[8:]
    for name in ("", "..", "../../ledger.db", "nothing.csv", "%2e%2e%2fx.json"):
        assert browser.get(f"{published}/download?file={name}").status_code == 404, name
    assert charges(clinic) == before


def test_only_the_owner_publishes_exact_totals(clinic, browser):
    """An exact total changes what is promised to everybody, for good."""
    before = charges(clinic)
    exact = {**PUBLISH, "plan": f'invariants = ["all"]\n{PLAN}'}
    for act in ("plan", "pay"):
        assert browser.post("/tables/new/publish", {**exact, "act": act}).status_code == 403
    answer = clinic.browser("owner").post("/tables/new/publish", exact)  # who has not declared them
    assert answer.status_code == 422 and "owner" in answer.text
    assert charges(clinic) == before


def test_too_many_cells_are_refused_before_anything_is_charged(clinic, browser):
    before = charges(clinic)
    large = {"table": "patients", "epsilon": "1", "order": "4"}
    assert browser.get("/tables/new/marginals", params=large).status_code == 422
    assert browser.post("/tables/new/marginals", large).status_code == 422
    wide = {**PUBLISH, "plan": PLAN.replace('["sex"]', '["sex", "age", "disease"]')}
    for act in ("plan", "pay"):
        assert browser.post("/tables/new/publish", {**wide, "act": act}).status_code == 422
    for wrong in ("table = ", 'table = "nothing"', "", "share = 1e99999999"):
        assert browser.post("/tables/new/publish", {**PUBLISH, "plan": wrong}).status_code == 400, wrong
    assert charges(clinic) == before


def test_what_the_budget_does_not_hold_is_told_with_its_status(clinic, browser):
    before = charges(clinic)
    dear = {**MARGINALS, "epsilon": "150"}
    assert browser.get("/tables/new/marginals.json", params=dear).json()["quote"]["price"]["fits"] is False
    answer = browser.post("/tables/new/marginals", dear)
    assert answer.status_code == 402 and 'role="alert"' in answer.text
    assert charges(clinic) == before


def test_a_histogram_of_a_released_marginal_is_free(clinic, browser, marginals):
    form = {"table": "patients", "columns": "disease", "epsilon": "1", "key": "free"}
    before = charges(clinic)
    quote = browser.get("/tables/new/histogram.json", params=form).json()["quote"]
    assert quote["told"]["enough"] and marginals.endswith(quote["told"]["releases"][0])
    at = browser.post("/tables/new/histogram", form).headers["location"]
    assert at == "/ask/answer/free" and browser.get(at).status_code == 200
    assert charges(clinic) == before


def test_a_histogram_is_a_question_with_a_key(clinic, browser):
    form = {"table": "patients", "columns": "ward", "where": "age >= 40", "epsilon": "1"}
    key = re.search(r'name="key" value="([^"]+)"', browser.get("/tables/new/histogram", params=form).text)[1]
    before = len(charges(clinic))
    first, second = (browser.post("/tables/new/histogram", {**form, "key": key}) for _ in range(2))
    assert first.status_code == 303 and first.headers["location"].startswith("/a/r-")
    assert second.headers["location"] == first.headers["location"]
    assert len(charges(clinic)) == before + 1
    assert browser.get("/tables/new/histogram.json", params=form).json()["quote"]["stored"]["release"] in str(
        first.headers["location"]
    )
    release = first.headers["location"].rpartition("/")[2]
    assert browser.get(f"/tables/{release}").headers["location"] == f"/a/{release}"
    assert browser.post("/tables/new/histogram", {**form, "columns": "nothing", "key": "k"}).status_code == 400


def test_reconciled_answers_agree_and_cost_nothing(clinic, browser):
    for turn, column in enumerate(("disease", "sex")):
        form = {"table": "patients", "columns": column, "epsilon": "1", "key": f"reconcile-{turn}"}
        assert browser.post("/tables/new/histogram", form).status_code == 303
    before = charges(clinic)
    told = browser.get("/tables/reconcile.json?table=patients&whole=on").json()["found"]
    of_a_part = [each["release"] for each in told["numbers"] if set(each["keys"]) == {"ward"}]  # with a WHERE
    sums = {}
    whole = [each for each in told["numbers"] if each["release"] not in of_a_part]
    for each in [number for number in whole if not {"age", "cost"} & set(number["keys"])]:
        sums[each["release"]] = sums.get(each["release"], 0.0) + each["reconciled"]
    totals = list(sums.values())
    assert len(totals) >= 2 and totals == pytest.approx([totals[0]] * len(totals))
    moves = [abs(each["after"][1]) for each in told["chart"]["pairs"]]
    assert moves and moves == sorted(moves, reverse=True) and told["moved"] >= len(moves)
    largest = max(abs(each["reconciled"] - each["value"]) / each["standard_error"] for each in told["numbers"])
    assert moves[0] == pytest.approx(largest)
    for each in told["chart"]["pairs"]:  # never less precise than it was
        assert each["after"][2] - each["after"][0] <= each["before"][2] - each["before"][0] + 1e-9
    assert told["said"] and "identities" in browser.text("/tables/reconcile?table=patients").lower()
    assert browser.get("/tables/reconcile.csv?table=patients").text.startswith("release,column,number,value,")
    assert browser.get("/tables/reconcile?table=patients&release=r-nothing").status_code == 400
    assert charges(clinic) == before


@pytest.mark.deep
def test_lists_and_what_is_not_there(browser, ranges, marginals, published):
    told = {f"/tables/{each['release']}": each["kind"] for each in browser.get("/tables.json").json()["released"]}
    wanted = {ranges: "ranges", marginals: "marginals", published: "publish"}
    assert wanted.items() <= told.items()
    assert all(name in browser.text("/tables") for name in ("Histogram", "Ranges", "Marginals", "Publish", "Reconcile"))
    for name in ("r-nothing", "..%2fx"):
        assert browser.get(f"/tables/{name}").status_code == 404
        assert browser.get(f"/tables/{name}/download").status_code == 404


def test_what_is_not_kept_is_told(clinic, browser, marginals):
    path = clinic.folder / ".discreet" / "released" / f"{marginals[8:]}.json"
    assert path.stat().st_mode & 0o77 == 0 and path.parent.stat().st_mode & 0o77 == 0
    content = path.read_bytes()
    path.write_bytes(content[:100])
    try:
        assert "not stored here" in browser.text(marginals)
        before = charges(clinic)
        assert sent(browser, "/tables/new/marginals", MARGINALS) == marginals
        assert path.read_bytes() == content and charges(clinic) == before
    finally:
        path.write_bytes(content)


@pytest.mark.deep
def test_names_and_values_are_never_marks(browser):
    at = sent(browser, "/tables/new/marginals", {"table": "hostile", "epsilon": "5", "order": "2"})
    for number in (1, 2, 3):
        shown = browser.get(f"{at}?t={number}").text
        assert hostile.tame(shown)
    assert "&lt;img src=x" in browser.get(f"{at}?t=1").text
    for path in ("ranges", "marginals", "histogram", "publish"):
        told = {"table": hostile.RUNS, "plan": hostile.RUNS, "column": hostile.ENDS, "epsilon": hostile.RUNS}
        assert hostile.tame(browser.get(f"/tables/new/{path}", params=told).text)
    assert hostile.tame(browser.post("/tables/new/publish", {"plan": hostile.RUNS, "epsilon": "1"}).text)
    assert browser.get(f"{at}.csv?t=1").text.count("<img src=x") == 1


@pytest.mark.deep
def test_where_ranges_may_end_is_told_before_and_what_was_paid_stays(browser):
    """What the form suggests is answered; what does not fit takes nothing off the page."""
    wish = {"table": "patients", "column": "age", "epsilon": "2"}
    page = browser.get("/tables/new/ranges", params=wish).text
    assert "starts at 0, 10, 20" in page and "that starts and ends at the edges of bins" in page
    told = browser.get("/tables/new/ranges.json", params=wish).json()["cuts"]["age"]
    at = sent(browser, "/tables/new/ranges", wish)
    for example in told["examples"]:
        assert browser.get(at, params={"between": example}).status_code == 200, example
    answer = browser.get(at, params={"between": "..17"})
    assert answer.status_code == 400 and "the range up to 17 splits a bin" in answer.text
    assert "<svg" in answer.text and "Quantiles" in answer.text and "starts at 0, 10, 20" in answer.text
    assert "the range from 35 upwards splits a bin" in browser.get(at, params={"between": "35.."}).text


def test_a_plan_is_chosen_from_lists_and_its_errors_lead_to_them(clinic, browser, published):
    """What is chosen is the same plan as the text, and free where the text was paid; each list says what is wrong in it."""
    listed = browser.get("/tables/new/publish.json", params={"table": "patients"}).json()["options"]
    assert {each["name"] for each in listed["attributes"]} >= {"sex", "age", "disease"} and listed["exact"] == []
    assert [each["words"] for each in listed["levels"]] == ["columns of patients", "columns of the public table wards"]
    chosen = {
        "by": "choices", "act": "plan", "table": "patients", "attributes": "sex", "level": ['["ward"]', "", "", ""],
        "root": "all", "epsilon": "2",
    }  # fmt: skip
    page = browser.post("/tables/new/publish", chosen).text
    assert "This plan was published before" in page and 'value="[&#34;ward&#34;]" selected' in page
    assert page.count("checked") == 1 and "Edit the plan as text" in page
    house = {**chosen, "level": ['["wards", "house"]', '["wards", "ward"]'], "attributes": ["sex", "disease"]}
    page = browser.post("/tables/new/publish", house)
    assert (
        page.status_code == 200 and "from = &#34;wards&#34;" in page.text and '<th scope="row">house</th>' in page.text
    )
    wrong = {
        "levels": {"level": ['["ward"]', '["wards", "house"]']},
        "attributes": {"attributes": ["ward"]},
        "epsilon": {"epsilon": "1000"},
    }
    for at, texts in wrong.items():
        sent_wrong = browser.post("/tables/new/publish", {**chosen, **texts})
        if at != "epsilon":  # a plan may cost more than is left: that is told with its price
            assert sent_wrong.status_code == 400 and f'href="#{at}"' in sent_wrong.text, at
            assert f'id="problem-{at}"' in sent_wrong.text and 'name="attributes"' in sent_wrong.text
        else:
            assert "remaining budget is not enough" in sent_wrong.text
    for level in ("{}", "[" * 3_000, '["\\ud800"]', '["wards", 1]'):  # what no list offers
        assert browser.post("/tables/new/publish", {**chosen, "level": level}).status_code == 400, level[:20]
    lacking = clinic.browser("owner").post("/tables/new/publish", {**chosen, "exact": "3"})
    assert lacking.status_code == 400 and 'href="#exact"' in lacking.text
    assert browser.post("/tables/new/publish", {**chosen, "exact": "0"}).status_code == 403
    assert browser.post("/tables/new/publish", {**chosen, "table": "nothing"}).status_code == 400


@pytest.mark.parametrize(
    "choices",
    [
        PlanChoices(table='a "b" \\ c', attributes=("x y",), levels=(("f.g",), ("h",)), root="all", exact=(0, 2)),
        PlanChoices(table="patients", levels=(("wards", "house"), ("wards", "ward")), root="nation"),
        PlanChoices(table="patients", attributes=("sex",), root="all"),
    ],
)
def test_choices_and_their_plan_are_the_same(clinic, choices):
    table = clinic.house.handle.project.table("patients")
    assert plan_picker.choices_of_plan(plan_picker.plan_text(choices, table)) == choices


def test_a_level_whose_name_cannot_be_a_file_name_is_shown_and_not_offered(tmp_path):
    made = world(tmp_path / "clinic")
    file = made.folder / "discreet.toml"
    file.write_text(
        file.read_text().replace("[tables.patients.columns.ward]", '[tables.patients.columns."ward/house"]')
    )
    (source,) = made.folder.glob("patients.csv")
    source.write_text(source.read_text().replace("ward", "ward/house", 1))
    page = made.browser("owner").get("/tables/new/publish?table=patients").text
    assert re.search(r'<option value="[^"]*ward/house[^"]*" disabled>', page) and "cannot be a file name" in page
    assert re.search(r'<option value="[^"]*disease[^"]*">', page)
    made.house.close()


def test_a_plan_that_lists_cannot_say_is_edited_as_text(browser):
    plan = PLAN + "[levels.ward]\nshare = 2\n"
    page = browser.post("/tables/new/publish", {**PUBLISH, "plan": plan, "act": "plan"}).text
    assert "edited as text" in page and 'name="attributes"' not in page and "Before you pay" in page
    assert "Choose a table" in browser.text("/tables/new/publish")
    assert "No table is a network yet" in browser.text("/tables/new/network")  # patients and visits have persons
