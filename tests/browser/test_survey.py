"""The whole way: the real collector over HTTP, a real browser, and the estimate that comes out."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Page, expect

from browser.conftest import Opened
from discreet.surveys.collector.app import make_collector_app
from discreet.surveys.collector.enrolment import enrol
from discreet.surveys.collector.http_server import bind_socket, url_of
from discreet.surveys.collector.store_location import open_survey_store
from discreet.surveys.collector.survey_definition import Survey
from discreet.surveys.collector.survey_store import IncomingReport, ReportBatch, SurveyStore
from discreet.surveys.protocols.collection_periods import CollectionPeriods
from discreet.surveys.protocols.grid_numbers import Duchi
from discreet.surveys.protocols.interval_tree import Tree
from discreet.surveys.protocols.laplace_record import LaplaceRecord
from discreet.surveys.protocols.local_hash import LocalHashing
from discreet.surveys.protocols.prefix_words import PrefixWords
from discreet.surveys.protocols.randomized_response import RandomizedResponse, TwoCoins
from discreet.surveys.protocols.rappor import BasicRappor
from discreet.surveys.protocols.sketch import CountMeanSketch, HadamardSketch
from discreet.surveys.protocols.subset_selection import SubsetSelection
from discreet.surveys.protocols.window_mechanism import Hybrid
from surveys.midnight import stay_within_a_day

FRUIT = ["apple", "pear", "plum", "fig", "kiwi"]
MANY = [f"choice {place}" for place in range(40)]


class Served:
    """A store, and the address at which it is served."""

    def __init__(self, store: SurveyStore, address: str) -> None:
        self.store = store
        self.address = address

    def survey(self, randomizer: Any, *, others: int = 0, answer: Any = None, **more: Any) -> Survey:
        """A new survey, to which so many others have answered already."""
        made = Survey.new("Which one?", randomizer, **more)
        self.store.make(made)
        if others:
            reports = [
                IncomingReport(secrets.token_bytes(16), randomizer.randomize(answer), None) for _ in range(others)
            ]
            self.store.add([ReportBatch(made.id, tuple(reports))])
        return made


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    store = open_survey_store(None, tmp_path_factory.mktemp("surveys"), make=True)
    listening = bind_socket("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(make_collector_app(store, rate=0), log_config=None, access_log=False, ws="none")
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield Served(store, url_of(listening))
    server.should_exit = True
    thread.join()
    store.close()


def give(page: Page, value: str) -> bytes:
    """Answer, look, send; returns the bytes that were shown."""
    field = page.locator("#answer")
    radio = page.locator(f"input[type=radio][value={value!r}]")
    expect(field.or_(radio)).to_be_visible()
    if radio.count():
        radio.check()
    elif field.evaluate("node => node.tagName") == "SELECT":
        field.select_option(value)
    else:
        field.fill(value)
    page.locator("#flip").click()
    expect(page.get_by_role("heading", name="This is what will be sent")).to_be_focused()
    shown = bytes.fromhex(page.locator("#bytes").text_content() or "")
    page.get_by_role("button", name="Send this").click()
    expect(page.locator("#arrived")).to_have_text("Your answer has arrived.")
    return shown


@pytest.mark.thin(2)
@pytest.mark.parametrize(
    ("randomizer", "value"),
    [
        (RandomizedResponse(["yes", "no"], epsilon="1.1"), "no"),
        (LocalHashing(MANY, epsilon="2"), "choice 7"),
        (SubsetSelection(FRUIT, epsilon="1"), "fig"),
        (BasicRappor(FRUIT, epsilon="4"), "kiwi"),
        (CountMeanSketch(epsilon="4"), "北京"),
        (HadamardSketch(epsilon="2"), "🎉"),
        (Duchi(low="0.5", high="2.5", step="0.01", epsilon="1"), "1.83"),
        (Hybrid(low="0", high="100", step="1", epsilon="2"), "41"),
        (TwoCoins(["yes", "no"]), "no"),
        (LaplaceRecord(low="0", high="100", step="1", epsilon="2"), "41"),
        (Tree(low="0", high="100", step="1", epsilon="2"), "41"),
        (PrefixWords(epsilon="2"), "holiday"),
    ],
    ids=lambda case: getattr(case, "protocol", None),
)
def test_the_collector_takes_what_a_browser_sends(served: Served, opened: Opened, randomizer: Any, value: str) -> None:
    survey = served.survey(randomizer)
    with opened(f"{served.address}/s/{survey.id}") as page:
        shown = give(page, value)
    assert [bytes(report) for report in served.store.reports(survey)] == [shown]


def test_a_survey_of_every_day_says_what_it_costs_and_counts_on_the_device(served: Served, opened: Opened) -> None:
    stay_within_a_day()
    days = CollectionPeriods.beginning(time.time(), every="day", donations=2, periods=7, coins="fresh")
    survey = served.survey(TwoCoins(["yes", "no"]), periods=days)
    with opened(f"{served.address}/s/{survey.id}") as page:
        expect(page.locator("#terms")).to_contain_text("This is asked every day, for 7 days.")
        expect(page.locator("#terms")).to_contain_text("to at most 15.381 over 7 days")
        shown = [give(page, "yes")]
        page.reload()
        shown.append(give(page, "no"))
        page.reload()
        expect(page.get_by_role("status")).to_contain_text("You have answered as often as this day allows.")
        expect(page.locator("#ask")).to_be_hidden()
    assert [bytes(report) for report in served.store.reports(survey)] == shown
    assert all(report[:2] == b"\x00\x01" for report in shown)
    with opened(f"{served.address}/s/{survey.id}/results") as results:
        expect(results.locator("#still")).to_contain_text("A day is shown once it takes no more answers")
        served.store.end(survey.id)
        expect(results.locator("#state")).to_have_text("Final results")


def test_results_follow_the_answers_and_a_closed_survey_takes_no_more(served: Served, opened: Opened) -> None:
    survey = served.survey(RandomizedResponse(["yes", "no"], epsilon="1.1"), others=19, answer="yes")
    with opened(f"{served.address}/s/{survey.id}/results") as results:
        expect(results.locator("#still")).to_contain_text("19 answers of 20")
        with opened(f"{served.address}/s/{survey.id}") as page:
            give(page, "yes")
            expect(results.locator("#n")).to_have_text("20")
            expect(results.locator("#bars li")).to_have_count(2)
            expect(results.locator("#halve")).to_have_text("about 60 more answers")
            expect(results.locator("#fakes-label")).to_have_text("1 fake answer")
            page.reload()
            expect(page.locator("#arrived")).to_have_text("You have already answered; your answer counts once.")
        with opened(f"{served.address}/s/{survey.id}") as late:
            late.locator("input[value='yes']").check()
            late.locator("#flip").click()
            served.store.end(survey.id)
            late.get_by_role("button", name="Send this").click()
            expect(late.get_by_role("status")).to_contain_text("closed")
        expect(results.locator("#state")).to_have_text("Final results")
    assert len(served.store.reports(survey)) == 20


def test_an_invitation_is_good_for_one_answer(served: Served, opened: Opened) -> None:
    survey = served.survey(RandomizedResponse(["yes", "no"], epsilon="1.1"), token=True)
    (token,) = enrol(served.store, survey, 1)
    with opened(f"{served.address}/s/{survey.id}#token={token}") as page:
        give(page, "no")
    with opened(f"{served.address}/s/{survey.id}#token={token}") as page:
        page.locator("input[value='yes']").check()
        page.locator("#flip").click()
        page.get_by_role("button", name="Send this").click()
        expect(page.get_by_role("button", name="Not sent")).to_be_visible()
        expect(page.get_by_role("status")).not_to_be_empty()
    assert len(served.store.reports(survey)) == 1
