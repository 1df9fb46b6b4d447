"""Surveys in the console: made and closed by owners, read by analysts, answered by anybody."""

import re
import secrets
import time
from dataclasses import replace

import pytest
import segno
from starlette.testclient import TestClient

from console import hostile
from console.house import ORIGIN, PASSWORD, world
from discreet.cli.main import call
from discreet.console.app import make_app
from discreet.console.jobs import survey_host
from discreet.console.routes import RESPONDENTS, route_table
from discreet.surveys.collector import collector_headers
from discreet.surveys.collector.survey_definition import SEVERAL_QUESTION_PROTOCOLS, Survey, protocol_classes
from discreet.surveys.device.report_sender import StoreTarget, report_document
from discreet.surveys.protocols.collection_periods import head_bytes


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("survey")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(folder / "state"))
        made = world(folder / "clinic")
    yield made
    made.house.close()


@pytest.fixture(scope="module")
def owner(clinic):
    return clinic.browser("owner")


@pytest.fixture(scope="module")
def analyst(clinic):
    return clinic.browser("analyst")


@pytest.fixture(scope="module")
def nobody(clinic):
    return clinic.client()


@pytest.fixture(autouse=True)
def _look_at_once(monkeypatch):
    """Results rest for a second between looks; tests do not."""
    monkeypatch.setattr("discreet.surveys.collector.live_results.REST_S", 0.0)
    monkeypatch.setattr("discreet.surveys.collector.live_results.SHARE", 1e9)


SMOKE = {"question": "Do you smoke?", "kind": "choices", "choices": "yes\nno", "epsilon": "1.1", "minimum": "20"}


def new(owner, **more):
    answer = owner.post("/survey/new", SMOKE | more)
    assert answer.status_code == 303, answer.text[-1500:]
    return answer.headers["location"].removeprefix("/survey/")


def reports(nobody, id_, many, value="yes", tokens=()):
    """A body of reports, as devices make them."""
    survey = Survey.from_data(nobody.get(f"/surveys/{id_}.json").json())
    given = list(tokens) or [None] * many
    told = [
        report_document(survey, secrets.token_hex(16), survey.randomizer.randomize(value), token=each) for each in given
    ]
    return b"\n".join(told)


def send(nobody, id_, many, **more):
    answer = nobody.post(f"/collect/{id_}", content=reports(nobody, id_, many, **more))
    assert answer.json() == {"accepted": many, "repeated": 0}


def test_a_survey_is_designed_free_and_says_why(owner):
    before = len(owner.get("/survey.json").json()["surveys"])
    told = owner.get("/survey/new.json", params=SMOKE).json()["design"]
    assert told["protocol"] == "response" and "2 choices at epsilon 1.1" in told["because"] and not told["weak"]
    assert "Answers are randomized with" in owner.get("/survey/new", params=SMOKE).text
    number = SMOKE | {"kind": "number", "low": "0", "high": "10", "step": "1", "epsilon": "4"}
    told = owner.get("/survey/new.json", params=number).json()["design"]
    assert told["protocol"] == "hybrid" and told["weak"]
    assert (
        owner.get("/survey/new.json", params=SMOKE | {"kind": "words"}).json()["design"]["protocol"]
        == "hadamard-sketch"
    )
    assert owner.get("/survey/new.json", params=SMOKE | {"protocol": "laplace"}).status_code == 400
    assert len(owner.get("/survey.json").json()["surveys"]) == before


def test_the_form_shows_the_question_as_asked_and_suggests(owner):
    """What respondents will see stands on the page before the survey is made, and with it what may be amiss."""
    told = owner.get("/survey/new.json").json()
    assert told["wish"]["epsilon"] == "1" and told["design"] is None and told["trouble"] is None
    names = [each["name"] for group in told["protocols"] for each in group["protocols"]]
    assert (
        sorted(names) == sorted(set(protocol_classes()) - set(SEVERAL_QUESTION_PROTOCOLS))
        and told["protocols"][-1]["words"] == "Any word"
    )
    assert all(each["words"].endswith(".") for group in told["protocols"] for each in group["protocols"])
    simple = {"question": SMOKE["question"], "kind": "yes-no", "epsilon": "1", "choices": "ignored"}
    assert owner.get("/survey/new.json", params=simple).json()["design"]["choices"] == ["yes", "no"]
    shown = owner.get("/survey/new", params=simple | {"protocol": "unary"}).text
    assert (
        re.search(r'name="protocol" value="unary" checked', shown)
        and shown.count('name="protocol" value="" checked') == 0
    )
    asked = {key: value for key, value in SMOKE.items() if key != "epsilon"} | {"asker": "The city clinic"}
    page = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", owner.get("/survey/new", params=asked).text))
    assert "Preview" in page and "The city clinic asks." in page and "○ yes" in page and "○ no" in page
    assert "costs its respondent epsilon 1" in page and "say almost nothing" not in page
    few = owner.get("/survey/new", params=asked | {"minimum": "9", "asker": ""}).text
    assert "say almost nothing" in few and "Respondents do not see who asks" in few
    assert not owner.get("/survey/new.json", params=asked | {"minimum": "10"}).json()["design"]["few"]
    many = owner.get("/survey/new.json", params=asked | {"choices": "\n".join(map(str, range(40)))}).json()["design"]
    assert len(many["choices"]) == 12 and many["more"] == 28


def test_respondents_are_told_who_asks(owner, analyst, nobody):
    id_ = new(owner, asker="The city clinic")
    assert nobody.get(f"/surveys/{id_}.json").json()["asker"] == "The city clinic"
    assert "The city clinic" in analyst.text(f"/survey/{id_}") and "The city clinic" in analyst.text(
        f"/survey/{id_}/sheet"
    )
    assert nobody.get(f"/surveys/{new(owner)}.json").json()["asker"] == ""
    for wrong in ("x" * 121, "a\u202eb"):
        assert owner.post("/survey/new", SMOKE | {"asker": wrong}).status_code == 400


def test_only_owners_make_close_and_enrol(owner, analyst, nobody, clinic):
    id_ = new(owner, tokens="on")
    for path in ("/survey/new", f"/survey/{id_}/close", f"/survey/{id_}/tokens"):
        assert analyst.post(path, SMOKE | {"n": "3"}).status_code == 403
        assert clinic.browser("public").post(path, SMOKE | {"n": "3"}).status_code == 401
    told = analyst.get(f"/survey/{id_}.json").json()
    assert not told["closed"] and told["enrolled"] is None
    assert owner.get(f"/survey/{id_}.json").json()["enrolled"] == {"given": 0, "used": 0}
    assert nobody.get(f"/survey/{id_}.json").status_code == 401


def test_wrong_forms_make_nothing(owner):
    before = len(owner.get("/survey.json").json()["surveys"])
    wrong = [
        {"question": ""}, {"choices": "yes"}, {"choices": "yes\nyes"}, {"epsilon": "0"}, {"epsilon": "x"},
        {"minimum": "0"}, {"minimum": "x"}, {"people": "-1"}, {"kind": "other"}, {"kind": "number"},
        {"protocol": "none"}, {"question": "a\u202eb"}, {"choices": "yes\nn\u202eo"},
    ]  # fmt: skip
    for each in wrong:
        answer = owner.post("/survey/new", SMOKE | each)
        assert answer.status_code == 400 and 'role="alert"' in answer.text, each
    assert len(owner.get("/survey.json").json()["surveys"]) == before


def test_results_move_in_steps_of_the_minimum_until_the_end(owner, analyst, nobody):
    """Were each report to show as it comes in, the difference of two looks would be that report."""
    id_ = new(owner)
    send(nobody, id_, 19)
    assert analyst.get(f"/survey/{id_}.json").json()["results"]["waiting"] is True
    assert "Estimates start at 20 reports" in analyst.text(f"/survey/{id_}")
    send(nobody, id_, 2)
    first = analyst.get(f"/survey/{id_}.json").json()["results"]
    assert (first["n"], first["received"], [each["choice"] for each in first["estimates"]]) == (20, 21, ["yes", "no"])
    send(nobody, id_, 18)
    second = analyst.get(f"/survey/{id_}.json").json()["results"]
    assert (second["received"], second["estimates"]) == (39, first["estimates"])
    assert analyst.get(f"/survey/{id_}.csv").text.startswith("choice,share,low,high\nyes,")
    assert owner.post(f"/survey/{id_}/close").status_code == 303
    told = analyst.get(f"/survey/{id_}.json").json()
    assert told["closed"] and told["results"]["n"] == 39
    assert nobody.post(f"/collect/{id_}", content=reports(nobody, id_, 1)).status_code == 410
    assert "Close the survey" not in owner.text(f"/survey/{id_}")


def test_the_share_is_about_right(owner, analyst, nobody):
    """400 who all say yes at epsilon 3: a standard error of 1.2%, so 10% are left once in far more than a million runs."""
    id_ = new(owner, epsilon="3")
    send(nobody, id_, 400)
    (yes, no) = analyst.get(f"/survey/{id_}.json").json()["results"]["estimates"]
    assert abs(yes["share"] - 1) < 0.1 and abs(no["share"]) < 0.1


def test_a_survey_that_is_collected_every_day(owner, analyst, nobody, monkeypatch):
    daily = {"every": "day", "donations": "2", "periods": "7", "coins": "fresh"}
    preview = owner.get("/survey/new", params=SMOKE | daily).text
    assert (
        "Collected every day for 7 days" in preview and "15.4 over 7 days: each donation flips fresh coins" in preview
    )
    id_ = new(owner, **daily)
    asked = Survey.from_data(nobody.get(f"/surveys/{id_}.json").json())
    assert asked.periods is not None and asked.periods.donations == 2
    page = analyst.get(f"/survey/{id_}").text
    assert "A day is shown once it takes no more reports" in page and "15.4 over 7 days" in page
    reports = [head_bytes(1) + asked.randomizer.randomize("yes") for _ in range(40)]
    body = b"\n".join(report_document(asked, secrets.token_hex(16), report) for report in reports)
    assert nobody.post(f"/collect/{id_}", content=body).json()["accepted"] == 40
    monkeypatch.setattr("discreet.surveys.collector.period_results.final_periods", lambda periods, now: 1)
    page = analyst.get(f"/survey/{id_}").text
    assert asked.periods.begin_text(1) in page and "Estimates by period" in page
    told = analyst.get(f"/survey/{id_}.json").json()
    assert told["results"]["periods"][0]["n"] == 40
    for wrong in ({"every": "month"}, {"donations": "0"}, {"periods": "x"}, {"coins": "old"}):
        assert owner.post("/survey/new", SMOKE | daily | wrong).status_code == 400, wrong


def test_a_survey_of_days_has_charts_and_a_trend(clinic, owner, analyst, nobody, monkeypatch):
    """From 90% to 10% of 400 a day at epsilon 3 with fresh coins: a slope of about -40 points, which is beyond doubt."""
    daily = {"every": "day", "donations": "1", "periods": "7", "coins": "fresh", "epsilon": "3"}
    id_ = new(owner, **daily)
    asked = Survey.from_data(nobody.get(f"/surveys/{id_}.json").json())
    store = survey_host.survey_host_of(clinic.house.handle).store
    for day, yes in enumerate((360, 200, 40), start=1):
        answers = ["yes"] * yes + ["no"] * (400 - yes)
        reports = [head_bytes(day) + bytes(each) for each in asked.randomizer.randomize_all(answers)]
        body = b"\n".join(report_document(asked, secrets.token_hex(16), report) for report in reports)
        StoreTarget(store, now=time.time() + (day - 1) * 86_400).send(asked, body)
    monkeypatch.setattr("discreet.surveys.collector.period_results.final_periods", lambda periods, now: 2)
    page = analyst.get(f"/survey/{id_}").text
    assert page.count("chart-band") == 2 and "yes by day" in page and 'aria-label="Trends"' not in page
    monkeypatch.setattr("discreet.surveys.collector.period_results.final_periods", lambda periods, now: 3)
    page = analyst.get(f"/survey/{id_}").text
    assert page.count("chart-band") == 2 and 'aria-label="Trends"' in page and "for a population" in page
    yes, no = analyst.get(f"/survey/{id_}.json").json()["trend_lines"]
    assert yes[0] == "yes" and -50 < float(yes[1]) < -30 and float(yes[2].split(" to ")[1]) < 0
    assert float(no[3].split(" to ")[0]) > 0
    monkeypatch.setattr("discreet.surveys.collector.period_results.final_periods", lambda periods, now: 1)
    assert "chart-band" not in analyst.get(f"/survey/{id_}").text


def test_numbers_and_words(owner, analyst, nobody):
    id_ = new(owner, kind="number", low="0", high="10", step="1", minimum="5")
    send(nobody, id_, 6, value="7")
    told = analyst.get(f"/survey/{id_}.json").json()["results"]
    assert told["n"] == 5 and told["interval"][0] <= told["mean"] <= told["interval"][1]
    assert "The mean is about" in analyst.text(f"/survey/{id_}")
    id_ = new(owner, kind="words", minimum="5")
    send(nobody, id_, 7, value="tea")
    assert "estimates the words that you enter" in analyst.text(f"/survey/{id_}")
    told = analyst.get(f"/survey/{id_}.json", params={"words": "tea\ncoffee"}).json()
    assert told["results"]["n"] == 5 and [line[0] for line in told["lines"]] == ["tea", "coffee"]


def test_tokens_are_shown_once_and_count_once(owner, nobody):
    id_ = new(owner, tokens="on", minimum="2")
    shown = owner.post(f"/survey/{id_}/tokens", {"n": "3"})
    codes = [part.partition("<")[0] for part in shown.text.split("#token=")[1:]]
    assert shown.status_code == 200 and len(codes) == 3 and f"{ORIGIN}/s/{id_}#token={codes[0]}" in shown.text
    assert not any(code in owner.get(f"/survey/{id_}").text for code in codes)
    send(nobody, id_, 2, tokens=codes[:2])
    assert nobody.post(f"/collect/{id_}", content=reports(nobody, id_, 1)).status_code == 403
    again = reports(nobody, id_, 1, tokens=codes[:1])
    assert nobody.post(f"/collect/{id_}", content=again).status_code == 409
    assert owner.get(f"/survey/{id_}.json").json()["enrolled"] == {"given": 3, "used": 2}
    for wrong in ("0", "1001", "x"):
        assert owner.post(f"/survey/{id_}/tokens", {"n": wrong}).status_code == 400
    assert owner.post(f"/survey/{new(owner)}/tokens", {"n": "1"}).status_code == 400


def test_respondents_have_the_pages_and_headers_of_the_collector(owner, nobody):
    id_ = new(owner)
    paths = {
        "GET /s/{survey}": f"/s/{id_}",
        "GET /s/{survey}/results": f"/s/{id_}/results",
        "GET /surveys/{survey}.json": f"/surveys/{id_}.json",
        "GET /surveys/{survey}/results.json": f"/surveys/{id_}/results.json",
        "GET /static/{file}": "/static/discreet-local.js",
    }
    assert set(paths) == {f"{method} {path}" for method, path in RESPONDENTS if method == "GET"}
    for path in (*paths.values(), "/static/respond.js", "/static/style.css"):
        answer = nobody.get(path)
        assert answer.status_code == 200, path
        assert {name: answer.headers[name] for name in collector_headers.HEADERS} == collector_headers.HEADERS
        assert "set-cookie" not in answer.headers
    for path in ("/static/nothing.js", "/static/..%2fapp.py", "/surveys/zzzzzzzzzz.json", "/s/zzzzzzzzzz"):
        assert nobody.get(path).status_code == 404
    assert not {(path, method) for method, path in RESPONDENTS} & {(each.path, each.method) for each in route_table()}


def test_reports_are_taken_from_programs_and_our_page_and_from_nowhere_else(owner, nobody):
    id_ = new(owner)

    def sent(**headers):
        return nobody.post(f"/collect/{id_}", content=reports(nobody, id_, 1), headers=headers).status_code

    assert sent() == 200 and sent(origin=ORIGIN) == 200 and sent(**{"sec-fetch-site": "same-origin"}) == 200
    assert sent(**{"sec-fetch-site": "cross-site"}) == 403 and sent(origin="https://evil.example") == 403
    assert sent(host="evil.example") == 421
    assert nobody.get(f"/s/{id_}", headers={"host": "evil.example"}).status_code == 421
    assert nobody.post(f"/collect/{id_}", content=b"x" * (1 << 20) + b"y").status_code == 413
    assert nobody.get(f"/collect/{id_}").status_code == 405


def test_the_collector_is_not_told_who_is_logged_in(clinic, owner, analyst, monkeypatch):
    id_, seen = new(owner), []
    found = survey_host.survey_host_of(clinic.house.handle)
    real = found._app

    async def watched(scope, receive, send):
        seen.append(dict(scope))
        await real(scope, receive, send)

    monkeypatch.setattr(found, "_app", watched)
    headers = {"authorization": f"Bearer {clinic.token()}", "x-forwarded-for": "192.0.2.7"}
    assert analyst.get(f"/s/{id_}", headers=headers).status_code == 200
    scope = seen[0]
    assert not {b"cookie", b"authorization", b"x-forwarded-for"} & {name for name, _ in scope["headers"]}
    behind = replace(clinic.house, settings=replace(clinic.house.settings, behind_proxy=True))
    client = TestClient(make_app(behind), base_url=ORIGIN)
    client.get(f"/s/{id_}", headers={"x-forwarded-for": "203.0.113.9, 192.0.2.7"})
    assert seen[1]["client"] == ("192.0.2.7", 0)  # as the proxy says last: what a client says itself counts nothing
    assert scope["client"] == ("testclient", 0) and "app" not in scope and "state" not in scope


def test_what_came_is_in_no_log(clinic, owner, nobody):
    id_ = new(owner)
    before = (clinic.folder.parent / "console.log").read_text()
    send(nobody, id_, 3)
    nobody.get(f"/s/{id_}")
    time.sleep(0.01)
    assert (clinic.folder.parent / "console.log").read_text() == before


def test_a_sheet_and_a_list(owner, analyst):
    id_ = new(owner)
    words = analyst.text(f"/survey/{id_}/sheet")
    assert f"{ORIGIN}/s/{id_}" in words and "yes · no" in words and "epsilon 1.1" in words
    told = {each["survey"]: each for each in analyst.get("/survey.json").json()["surveys"]}
    assert told[id_]["question"] == "Do you smoke?" and told[id_]["link"] == f"{ORIGIN}/s/{id_}"
    assert analyst.get("/survey.csv").text.startswith("survey,question,protocol,epsilon,received,closed,created\n")
    for name in ("zzzzzzzzzz", "x", "..%2fnew"):
        assert analyst.get(f"/survey/{name}").status_code == 404
        assert analyst.get(f"/survey/{name}/sheet").status_code == 404


def test_the_card_is_that_of_the_command_line(clinic, owner, analyst, nobody, capsys):
    id_ = new(owner, question='Do you "smoke"?')
    assert f'href="/survey/{id_}/card"' in analyst.get(f"/survey/{id_}").text
    answer = analyst.get(f"/survey/{id_}/card")
    assert answer.headers["content-type"].startswith("application/yaml")
    assert f"card-{id_}.yaml" in answer.headers["content-disposition"]
    capsys.readouterr()
    assert call(["survey", "card", id_, "--project", str(clinic.folder)]) == 0
    assert answer.text.splitlines() == capsys.readouterr().out.splitlines()
    assert 'name: "Do you \\"smoke\\"?"' in answer.text and "epsilon" in answer.text
    assert nobody.get(f"/survey/{id_}/card").status_code != 200
    assert analyst.get("/survey/zzzzzzzzzz/card").status_code == 404


def test_questions_and_choices_are_never_marks(owner, analyst, nobody):
    id_ = new(owner, question=hostile.RUNS, choices=f"{hostile.ENDS}\n{hostile.RUNS}", minimum="2")
    send(nobody, id_, 4, value=hostile.RUNS)
    for path in ("/survey", f"/survey/{id_}", f"/survey/{id_}/sheet", f"/s/{id_}", f"/s/{id_}/results"):
        assert hostile.tame(analyst.get(path).text), path
    assert "&lt;img src=x" in analyst.get(f"/survey/{id_}").text
    assert hostile.tame(
        owner.get("/survey/new", params=SMOKE | {"question": hostile.RUNS, "choices": hostile.ENDS}).text
    )


def test_a_sheet_and_a_page_show_the_address_as_a_qr_code(clinic, owner, analyst):
    """The squares that are drawn are those of the code, and the page warns where no phone can follow it."""
    survey = new(owner)
    link = f"{ORIGIN}/s/{survey}"
    for path in (f"/survey/{survey}", f"/survey/{survey}/sheet"):
        assert drawn_squares(analyst.get(path).text) == [
            tuple(map(bool, row)) for row in segno.make(link, error="m").matrix
        ]
        assert "only on this machine" in analyst.text(path)
    cookie = clinic.house.people.log_in("ann", PASSWORD, address="127.0.0.1")
    abroad = replace(clinic.house, settings=replace(clinic.house.settings, origin="https://console.example.org"))
    client = TestClient(make_app(abroad), base_url=abroad.settings.origin)
    client.cookies.set(abroad.settings.cookie, cookie)
    assert "console.example.org/s/" in (page := client.get(f"/survey/{survey}").text)
    assert "only on this machine" not in page


def drawn_squares(text):
    """The dark squares of the QR code on a page, without its margin."""
    (drawn,) = re.findall(r'<svg class="qr-code".*?</svg>', text)
    size = int(re.search(r'viewBox="0 0 (\d+) ', drawn)[1])
    grid = [[False] * size for _ in range(size)]
    for column, row, length in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\3z", drawn):
        for dark in range(int(column), int(column) + int(length)):
            grid[int(row)][dark] = True
    assert not any(map(any, grid[:4])) and not any(any(row[:4]) for row in grid)
    return [tuple(row[4:-4]) for row in grid[4:-4]]
