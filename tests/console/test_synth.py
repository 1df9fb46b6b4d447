"""Synthetic data: a price before it is paid, one charge for one fit, and everything else free."""

import io
import threading
import time
from contextlib import suppress

import pyarrow.parquet as pq
import pytest

import discreet
from console import hostile
from console.house import world
from console.paying import charges, sent
from discreet.console.jobs.job_queue import JobHalted, JobQueue, job_queue_of
from discreet.console.render import number
from discreet.console.responses import NotFound, RequestDenied
from discreet.console.settings import Settings
from discreet.console.visitor import Visitor
from discreet.errors import Refused
from discreet.ledger.ledger import Ledger
from discreet.synth.model import Model
from discreet.synth.model_folder import save_in_project

pytestmark = pytest.mark.usefixtures("patient")


@pytest.fixture(scope="module")
def clinic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("synth")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(folder / "state"))
        made = world(folder / "clinic")
    hostile.add(made.folder)
    yield made
    made.house.close()


@pytest.fixture(scope="module")
def browser(clinic):
    return clinic.browser("analyst")


FIT = {"table": "patients", "model": "mst", "epsilon": "2"}


@pytest.fixture(scope="module")
def model(browser):
    return sent(browser, "/synth/new", FIT)


def test_the_price_is_free_and_is_what_is_charged(clinic, browser):
    before = len(charges(clinic))
    told = browser.get("/synth/new.json", params={**FIT, "epsilon": "1.5"}).json()["quote"]
    assert (told["model"], told["price"]["fits"]) == ("mst", True)
    assert told["because"].startswith("you chose it; ") and "noise, because it costs the budget" in told["because"]
    assert told["guarantee"] == {"epsilon": 1.5, "delta": 3.75e-07}
    words = told["price"]["cost"]["words"]
    assert words.startswith("epsilon 1.") and words in browser.text("/synth/new?table=patients&model=mst&epsilon=1.5")
    assert len(charges(clinic)) == before
    to = sent(browser, "/synth/new", {**FIT, "epsilon": "1.5"})
    card = browser.get(f"{to}.json").json()["report"]["card"]
    assert card["rho"] == pytest.approx(told["price"]["cost"]["rho"], rel=1e-5)
    assert len(charges(clinic)) == before + 1


@pytest.mark.deep
def test_what_to_expect_is_told_before_it_is_paid(browser):
    """By the price and the declaration alone: a larger price is more exact, and more columns are less so."""

    def told(**more):
        return browser.get("/synth/new.json", params={**FIT, **more}).json()["quote"]["expected"]

    plain = told()
    assert plain["good_from"] == pytest.approx(plain["plus_minus"] / 0.05) and plain["plus_minus"] > 0
    assert told(epsilon="20")["plus_minus"] < plain["plus_minus"] / 4
    assert told(columns="sex")["plus_minus"] == pytest.approx(plain["plus_minus"] / 2)  # one of four columns
    words = browser.text("/synth/new?table=patients&model=mst&epsilon=2")
    assert "What to expect." in words and f"±{number(plain['plus_minus'], 2)}" in words


def test_the_same_form_is_paid_once_and_by_whoever_sent_it(clinic, browser, model):
    before = charges(clinic)
    assert sent(browser, "/synth/new", FIT) == model
    assert sent(clinic.browser("owner"), "/synth/new", FIT) == model
    assert charges(clinic) == before
    paid = next(each for each in before if f"/synth/{each.id}" == model)
    assert (paid.analyst, paid.table) == ("ann", "patients")


def test_looking_and_sampling_cost_nothing(clinic, browser, model):
    before = charges(clinic)
    words = browser.text(model)
    assert "What it is good and bad for" in words and "Rely on" in words and "Measured together" in words
    told = browser.get(f"{model}.json").json()
    assert {each["column"] for each in told["pictures"]} == {"age", "disease", "sex", "ward"}
    assert browser.get(f"{model}.csv").text.startswith("columns,cells,measured,near_share,expected_distance,verdict\n")
    lines = browser.get(f"{model}/sample?n=30&format=csv").text.splitlines()
    assert lines[0] == "age,disease,sex,ward" and len(lines) == 31
    rows = browser.get(f"{model}/sample?n=25&format=json&column=sex&value=F").json()["rows"]
    assert len(rows) == 25 and {row[2] for row in rows} == {"F"}
    table = pq.read_table(io.BytesIO(browser.get(f"{model}/sample?n=7&format=parquet").content))
    assert (table.num_rows, table.column_names) == (7, ["age", "disease", "sex", "ward"])
    assert charges(clinic) == before


@pytest.mark.noisy
def test_the_network_and_another_model_beside_it_are_free(clinic, browser, model):
    other = sent(browser, "/synth/new", {**FIT, "model": "privbayes"})
    before = charges(clinic)
    words = browser.text(other)
    assert "The network" in words and "An arrow is not a cause." in words and "Beside another model" in words
    assert "What was measured together" in browser.text(model)
    names = [each.removeprefix("/synth/") for each in (model, other)]
    at = f"{model}/beside?other={names[1]}"
    told = browser.get(f"{model}/beside.json?other={names[1]}").json()
    assert told["names"] == names and [each["arrows"] for each in told["graphs"]] == [False, True]
    assert {each["column"] for each in told["columns"]} == {"age", "disease", "sex", "ward"}
    assert all(0 <= each["distance"] < 0.5 for each in told["columns"])
    assert "Two models beside each other" in browser.text(at)
    assert browser.get(f"{model}/beside.csv?other={names[1]}").text.startswith("fact,first,second\n")
    for nowhere in (f"{model}/beside", f"{model}/beside?other=r-nothing", f"/synth/r-nothing/beside?other={names[1]}"):
        assert browser.get(nowhere).status_code == 404, nowhere
    assert charges(clinic) == before


def test_samples_have_a_limit_and_formats_are_known(browser, model):
    for wrong in ("n=0", "n=100001", "n=x", "n=5&format=exe", "n=5&column=nothing&value=1", "n=5&column=sex&value=Q"):
        assert browser.get(f"{model}/sample?{wrong}").status_code == 400, wrong


def test_the_model_itself_is_a_file_that_loads(browser, model, tmp_path):
    answer = browser.get(f"{model}/model")
    (tmp_path / "model.npz").write_bytes(answer.content)
    assert Model.load(tmp_path / "model.npz").card.table == "patients"
    assert "attachment" in answer.headers["content-disposition"]


def test_a_comparison_is_charged_by_its_form_alone_and_once(clinic, browser, model):
    before = len(charges(clinic))
    assert "Only a comparison with the real table shows" in browser.text(model)
    to = sent(browser, f"{model}/compare", {"epsilon": "1"})
    assert to == f"{model}#compared"
    assert sent(browser, f"{model}/compare", {"epsilon": "1"}) == to
    (told,) = browser.get(f"{model}.json").json()["comparisons"]
    assert told["epsilon"] == 1 and told["lines"][0]["words"] == "mean of 6 pairs of columns"
    assert "This comparison was paid for" in browser.text(model)
    assert len(charges(clinic)) == before + 1
    assert browser.post(f"{model}/compare", {"epsilon": "-1"}).status_code == 400
    sent(browser, f"{model}/compare", {"epsilon": "2"})
    both = browser.get(f"{model}.json").json()["comparisons"]
    assert sorted(each["epsilon"] for each in both) == [1, 2] and told in both, "each was paid, and each is kept"


def test_a_comparison_that_two_send_at_once_is_paid_once(clinic, browser, model, monkeypatch):
    """Both look whether it is reserved before either has reserved it."""
    before, looked, real = len(charges(clinic)), threading.Barrier(2), Ledger.find_reservation

    def reserved(self, table, version, question):
        found = real(self, table, version, question)
        with suppress(threading.BrokenBarrierError):
            looked.wait(10)
        return found

    monkeypatch.setattr(Ledger, "find_reservation", reserved)
    found = []
    senders = [
        threading.Thread(target=lambda who=who: found.append(sent(who, f"{model}/compare", {"epsilon": "0.5"})))
        for who in (browser, clinic.browser("owner"))
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join(30)
    assert found == [f"{model}#compared"] * 2 and looked.broken is False
    assert len(charges(clinic)) == before + 1


def test_random_rows_cost_nothing(clinic, browser):
    before = charges(clinic)
    to = sent(browser, "/synth/new", {"table": "patients", "model": "random"})
    assert "It says nothing about the data" in browser.text(to)
    assert charges(clinic) == before


@pytest.mark.deep
def test_what_cannot_be_is_told_beside_the_form_and_costs_nothing(clinic, browser):
    before = charges(clinic)
    assert browser.get("/synth/new?table=nothing&epsilon=1").status_code == 400
    assert browser.get("/synth/new?table=wards&epsilon=1").status_code == 400
    dear = {"table": "visits", "model": "independent", "epsilon": "120"}
    assert browser.get("/synth/new.json", params=dear).json()["quote"]["price"]["fits"] is False
    assert "The remaining budget is not enough for this" in browser.get("/synth/new", params=dear).text
    answer = browser.post("/synth/new", dear)
    assert answer.status_code == 402 and "has" in answer.text and 'name="epsilon"' in answer.text
    assert browser.post("/synth/new", {**FIT, "columns": "nothing"}).status_code == 400
    assert charges(clinic) == before


@pytest.mark.deep
def test_a_list_of_models_and_nothing_under_other_names(clinic, browser, model):
    told = browser.get("/synth.json").json()
    assert model in [f"/synth/{each['release']}" for each in told["fits"] if each["kept"]]
    assert model.rpartition("/")[2] in browser.text("/synth")
    for name in ("r-nothing", "..%2f..%2fdiscreet", "random-none-1"):
        assert browser.get(f"/synth/{name}").status_code == 404
        assert browser.get(f"/synth/{name}/model").status_code == 404


def test_a_model_that_is_not_kept_is_told_and_made_anew_free(clinic, browser, model):
    path = clinic.folder / ".discreet" / "models" / f"{model.rpartition('/')[2]}.npz"
    content = path.read_bytes()
    path.unlink()
    try:
        assert "its file is not stored in this project" in browser.text(model)
        before = charges(clinic)
        assert sent(browser, "/synth/new", FIT) == model and path.is_file()
        assert charges(clinic) == before
    finally:
        path.write_bytes(content)


@pytest.mark.deep
def test_names_and_values_are_never_marks(clinic, browser):
    to = sent(browser, "/synth/new", {"table": "hostile", "model": "independent", "epsilon": "20"})
    shown = browser.get(to).text
    assert hostile.tame(shown) and "&lt;img src=x" in shown
    assert hostile.tame(browser.get(f"/synth/new?table=hostile&epsilon={hostile.RUNS}").text)
    assert hostile.tame(browser.get(f"/synth/new?table={hostile.RUNS}&epsilon=1").text)


# -- works ------------------------------------------------------------------------------------------------------------

ANN, BOB = Visitor(role="analyst", name="ann"), Visitor(role="analyst", name="bob")
OLGA = Visitor(role="owner", name="olga")


@pytest.fixture
def works():
    made = JobQueue(Settings(origin="http://127.0.0.1:8000", at_once=1, waiting=2, each=2))
    yield made
    made.close()


def held(event):
    """A work that goes on until the event; not for ever, or a work that could not be stopped would keep the tests."""

    def act(tell):
        until = time.monotonic() + 20
        while not event.wait(0.01) and time.monotonic() < until:
            tell("counting", 0.5)
        return "/there"

    return act


def test_the_same_work_is_found_and_limits_hold(works):
    go = threading.Event()
    first = works.start(ANN, held(go), area="synth", words="a", key="1")
    assert works.start(ANN, held(go), area="synth", words="a", key="1") is first
    assert works.start(BOB, held(go), area="synth", words="a", key="1") is not first
    works.start(ANN, held(go), area="synth", words="b", key="2")
    for who in (ANN, BOB):  # two of one's own; three in all
        with pytest.raises(RequestDenied, match=r"in progress|are waiting"):
            works.start(who, held(go), area="synth", words="c", key="3")
    assert len(works.open_jobs(ANN, "synth")) == 2 and len(works.open_jobs(OLGA, "synth")) == 3
    assert works.open_jobs(ANN, "tables") == []
    with pytest.raises(NotFound):
        works.find(first.id, BOB)
    assert works.find(first.id, OLGA) is first
    go.set()
    assert works.next_path(first) == "/there"


def test_an_end_and_every_word_are_told_at_a_tick(works):
    """An end between two ticks shows at the second: how long a step took depends on the data."""
    now = [100.0]
    made = JobQueue(Settings(origin="http://127.0.0.1:8000", grid_ms=1000), clock=lambda: now[0])

    def act(tell):
        now[0] = 100.3
        tell("counting", 0.25)
        now[0] = 101.2
        return "/there"

    work = made.start(ANN, act, area="synth", words="a", key="1")
    assert work.wait(30)
    seen = {}
    for at in (100.5, 100.999, 101.0, 101.3, 101.999, 102.0):
        now[0] = at
        told = made.job_json(work)
        seen[at] = (told["state"], told["step"], told["to"])
    quiet, word, end = ("open", "", None), ("open", "counting", None), ("done", "counting", "/there")
    assert list(seen.values()) == [quiet, quiet, word, word, word, end]
    made.close()


def test_a_work_is_stopped_and_says_that_its_charge_stays(works):
    work = works.start(ANN, held(threading.Event()), area="synth", words="a", key="1")
    works.stop(work)
    assert work.wait(30)
    with pytest.raises(JobHalted, match="stays charged"):
        work.outcome()
    assert works.job_json(work)["state"] in ("open", "stopped")


def test_an_error_of_a_work_is_the_error_of_its_form(works):
    def act(_):
        raise Refused("not so", hint="but so")

    with pytest.raises(Refused, match="not so"):
        works.next_path(works.start(ANN, act, area="synth", words="a", key="1"))


def test_the_page_of_a_work(clinic, browser, monkeypatch):
    monkeypatch.setattr("discreet.console.jobs.job_queue.PATIENCE_S", 0.0)
    go = threading.Event()
    house = clinic.house

    class Visiting:
        handle, settings = house.handle, house.settings

    made = job_queue_of(Visiting).start(
        Visitor(role="analyst", name="ann"), held(go), area="synth", words="a fit", key="9"
    )
    at = f"/synth/underway/{made.id}"
    assert job_queue_of(Visiting).next_path(made) == at
    words = browser.text(at)
    assert "A fit" in words and ">Stop<" in browser.get(at).text and "a fit" in browser.text("/synth")
    assert browser.get(f"/tables/underway/{made.id}").status_code == 404
    assert browser.post(f"{at}/stop").headers["location"] == at
    assert made.wait(30)
    time.sleep(0.01)
    assert "stays charged" in browser.text(at) and browser.get(f"{at}.json").json()["state"] == "stopped"
    assert clinic.browser("public").get(f"{at}.json").status_code == 401


PERSONS = {"table": "visits", "model": "persons", "epsilon": "3"}


def test_a_fit_of_persons_is_priced_paid_once_and_shown(clinic, browser):
    """The same options as for rows; a table of one row a person does not offer it."""
    before = len(charges(clinic))
    assert "whole persons with all their rows" in browser.text("/synth/new?table=visits")
    assert "whole persons with all their rows" not in browser.text("/synth/new?table=patients")
    refused = browser.get("/synth/new.json", params={**PERSONS, "table": "patients"}).json()
    assert "nobody has several rows" in str(refused["trouble"])
    told = browser.get("/synth/new.json", params=PERSONS).json()["quote"]
    assert told["model"] == "persons" and told["columns"] == ["cost", "day"] and told["expected"]["plus_minus"] > 0
    assert len(charges(clinic)) == before
    model = sent(browser, "/synth/new", PERSONS)
    assert sent(browser, "/synth/new", PERSONS) == model and len(charges(clinic)) == before + 1
    assert browser.get("/synth.json").json()["fits"][0]["kept"]
    words = browser.text(model)
    assert (
        "Questions about persons, visits" in words and "Sample persons" in words and "From one row to the next" in words
    )
    page = browser.get(f"{model}.json").json()
    assert {each["column"] for each in page["parts"][0]["pictures"]} >= {"cost", "day"}
    assert browser.get(f"{model}.csv").text.startswith("table,question,of,share,measured,plus_minus,verdict\n")
    one, other = (browser.get(f"{model}/sample?n=40&seed=5").text for _ in range(2))
    assert one == other and one.splitlines()[0] == "id,cost,day"
    assert len({line.split(",")[0] for line in one.splitlines()[1:]}) == 40
    assert browser.get(f"{model}/sample?n=5&table=others").status_code == 404
    assert browser.get(f"{model}/model").content[:2] == b"PK"
    assert len(charges(clinic)) == before + 1


def test_a_model_of_several_tables_has_a_page(clinic, browser, monkeypatch):
    """Fitted on the command line; its tables come out with ids that join."""
    monkeypatch.setenv("DISCREET_STATE", str(clinic.folder.parent / "state"))
    project = discreet.open(clinic.folder)
    made = project.synthesize(["patients", "visits"], epsilon=3)
    save_in_project(project.folder, made)
    words = browser.text(f"/synth/{made.card.release}")
    assert "Synthetic persons from patients, visits" in words
    ids = [
        {line.split(",")[0] for line in browser.get(f"/synth/{made.card.release}/sample?n=30&seed=1&table={name}").text.splitlines()[1:]}
        for name in ("patients", "visits")
    ]  # fmt: skip
    assert len(ids[0]) == 30 and ids[1] <= ids[0]
