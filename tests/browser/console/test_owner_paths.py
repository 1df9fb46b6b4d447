"""Whole paths, clicked: networks, reconciling, jobs, the lab, two answers, tables that add up, publishing.

As owner, analyst and the public, at a wide window and on a phone; where each page of a path is laid out without a
fault. The fast tier has a short one of each role, on a phone.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.console import layout
from browser.console.conftest import PHONE, WIDE, Coming, Picture
from browser.console.furnished import declare_networks
from browser.console.place import NAMES, Place, placed
from discreet.console.jobs.job_queue import BackgroundJob, JobQueue, Progress
from discreet.console.visitor import Visitor
from discreet.kernel import curator

pytestmark = pytest.mark.xdist_group("console-flows")

BY_SEX = "SELECT sex, count(*) AS n FROM patients GROUP BY sex"
OLDER = "SELECT sex, count(*) AS n FROM patients WHERE age > 50 GROUP BY sex"
ALL = "SELECT count(*) AS n FROM patients"
WINDOWS = {"wide": WIDE, "phone": PHONE}


def people(*roles: str, fast: str = "") -> pytest.MarkDecorator:
    """Each of the roles at both widths; in the fast tier the one that `fast` names, on a phone."""
    cases = [
        pytest.param(role, name, id=f"{role}-{name}", marks=() if (role, name) == (fast, "phone") else pytest.mark.deep)
        for role in roles
        for name in WINDOWS
    ]
    return pytest.mark.parametrize(("role", "window"), cases)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A clinic with two networks, and two answers that overlap."""
    with placed(tmp_path_factory.mktemp("paths") / "clinic") as made:
        declare_networks(made.house.handle.folder)
        with made.hand("owner") as owner:
            owner.done("/admin/tables/refresh", table="friends")
        yield made


def check_layout(page: Page) -> None:
    """Nothing of the page that stands there sticks out, is cut, or is blank."""
    page.wait_for_load_state()
    assert page.evaluate(layout.PROBE) == [], page.url


def go(page: Page, word: str) -> None:
    """Through the menu, which a phone folds away."""
    menu = page.get_by_role("button", name="Menu")
    if menu.is_visible():
        menu.click()
    page.get_by_role("link", name=word, exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    check_layout(page)


@people("owner", "analyst", fast="analyst")
def test_a_network_is_planned_paid_and_read(coming: Coming, place: Place, role: str, window: str) -> None:
    epsilon = {"owner": 2, "analyst": 3}[role] + (0.5 if window == "phone" else 0)  # another charge for each
    with coming(role, at="/", viewport=WINDOWS[window], statuses={400}) as page:
        go(page, "Statistics")
        page.get_by_role("link", name="Network", exact=True).click()
        page.get_by_role("link", name="links", exact=True).click()
        page.get_by_label("Epsilon", exact=True).fill(str(epsilon))
        page.get_by_label("Table of nodes").fill("members")
        page.get_by_label("Group by").fill("height")
        page.get_by_role("button", name="See the price").click()
        expect(page.get_by_role("alert")).to_contain_text("has no column 'height'")
        check_layout(page)
        before = charges(place)
        page.get_by_label("Group by").fill("colour")
        page.get_by_role("button", name="See the price").click()
        expect(page.get_by_role("heading", name="Before you pay")).to_be_visible()
        expect(page.get_by_role("group", name="Expected errors")).to_contain_text("mixing")
        check_layout(page)
        assert charges(place) == before
        page.get_by_role("button", name=re.compile(f"^Pay epsilon {epsilon:g}")).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Statistics of the network of links")
        expect(page.get_by_role("heading", name="Edges between groups")).to_be_visible()
        expect(page.locator("svg.chart").first).to_be_visible()
        check_layout(page)
        assert charges(place) == before + 1
        release = page.url.rpartition("/")[2]
        go(page, "Statistics")
        page.get_by_role("link", name=release).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Statistics of the network of links")
    assert charges(place) == before + 1


@people("owner", "analyst")
def test_persons_of_a_network_are_protected_with_all_their_links(coming: Coming, role: str, window: str) -> None:
    with coming(role, at="/tables/new/network", viewport=WINDOWS[window]) as page:
        page.get_by_role("link", name="friends", exact=True).click()
        page.get_by_label("Epsilon", exact=True).fill("1")
        page.get_by_label("Only these statistics").fill("edges, degrees")
        page.get_by_role("button", name="See the price").click()
        expect(page.locator("main")).to_contain_text("Protected: each person with all their links")
        page.get_by_role("button", name=re.compile("^Pay ")).click()
        expect(page.locator("main")).to_contain_text("At most 8 edges per person are counted (declared)")
        check_layout(page)


def charges(place: Place) -> int:
    return len(place.house.handle.project.ledger.refresh().charges)


@people("owner", "analyst")
def test_answers_are_reconciled(coming: Coming, place: Place, picture: Picture, role: str, window: str) -> None:
    with place.hand("analyst") as analyst:
        # Noise so large that both agree by themselves less than once in ten thousand times.
        releases = [
            analyst.ask(query, epsilon="0.0001")
            for query in (
                "SELECT sex, count(*) AS n FROM patients WHERE age > 33 GROUP BY sex",
                "SELECT count(*) AS n FROM patients WHERE age > 33",
            )
        ]
    before = charges(place)
    with coming(role, at="/", viewport=WINDOWS[window]) as page:
        go(page, "Statistics")
        page.get_by_role("link", name="Reconcile", exact=True).click()
        page.get_by_role("link", name="patients", exact=True).click()
        for release in releases:
            page.get_by_role("checkbox", name=release).check()
        page.get_by_label("Also show whole numbers").check()
        page.get_by_role("button", name="Reconcile").click()
        expect(page.get_by_role("heading", name="What moved")).to_be_visible()
        expect(page.locator("svg.chart")).to_be_visible()
        check_layout(page)
        picture(page, f"reconciled-{role}-{window}")
        page.get_by_text(re.compile(r"^All \d+ numbers as a table")).click()
        expect(page.get_by_role("group", name="Released and reconciled numbers")).to_be_visible()
        page.get_by_text("Identities that hold for any data").click()
        expect(page.locator("#identities")).to_contain_text("1 identity holds for any data")
        check_layout(page)
        assert all(page.get_by_role("checkbox", name=release).is_checked() for release in releases)
    assert charges(place) == before


def endless(place: Place, name: str) -> BackgroundJob:
    """A job of the analyst's that goes on until somebody stops it."""
    handle, settings, clock = place.house.handle, place.house.settings, place.house.people.clock
    queue = handle.singleton(JobQueue, lambda: JobQueue(settings, wall=clock))

    def run(tell: Progress) -> str:
        while True:
            tell("measuring", 0.4)
            time.sleep(0.01)

    person = Visitor(role="analyst", name=NAMES["analyst"])
    return queue.start(person, run, area="tables", words=name, key=name)


@people("owner", "analyst", fast="analyst")
def test_a_job_is_left_found_again_and_stopped(coming: Coming, place: Place, role: str, window: str) -> None:
    """An owner may stop an analyst's job. The job's own page, the list and the area it belongs to all lead to it."""
    name = f"marginals of everything, {role} {window}"
    title = name[0].upper() + name[1:]
    with coming(role, at="/", viewport=WINDOWS[window]) as page:
        job = endless(place, name)
        go(page, "Statistics")
        page.get_by_role("link", name=name).click()
        expect(page.get_by_role("status")).to_contain_text("measuring")
        check_layout(page)
        page.get_by_role("link", name="jobs", exact=True).click()
        card = page.locator(f"[data-job={job.id}]")
        expect(card.get_by_role("link")).to_have_text(title)
        check_layout(page)
        card.get_by_role("button", name="Stop").click()
        expect(page.get_by_role("group", name="Jobs that have ended")).to_contain_text(title)
        line = page.get_by_role("row").filter(has_text=title)
        expect(line).to_contain_text("This job was stopped")
        expect(line).to_contain_text("nothing")
        check_layout(page)
    assert job.wait(30) and job.stopping


@people("owner", fast="owner")
def test_the_making_of_a_version_is_stopped(
    coming: Coming, place: Place, monkeypatch: pytest.MonkeyPatch, role: str, window: str
) -> None:
    """From the table's page to its job, to all jobs, and back to a version that is the one before."""
    before, goes_on, check = charges(place), threading.Event(), curator.check_in_time
    version = place.house.handle.project.version("patients").number

    def late(*given: Any, **how: Any) -> Any:
        assert goes_on.wait(100)
        return check(*given, **how)

    monkeypatch.setattr(curator, "check_in_time", late)
    with coming(role, at="/admin/table/patients", viewport=WINDOWS[window]) as page:
        try:
            page.get_by_label("even if nothing has changed").check()
            page.get_by_role("button", name="Refresh").click()
            expect(page.get_by_role("button", name="Stop")).to_be_visible()
            expect(page.locator("main")).to_contain_text("Nothing is charged, and the version in use stays in use")
            check_layout(page)
            page.get_by_role("link", name="jobs", exact=True).click()
            page.locator("[data-job]").get_by_role("button", name="Stop").click()
            expect(page.locator("[data-job]")).to_contain_text("(stopping)")
            check_layout(page)
        finally:
            goes_on.set()
        stopped = f"no new version of 'patients' was made; version {version} is still in use"
        expect(page.get_by_role("row").filter(has_text=stopped).first).to_be_visible()
        check_layout(page)
        page.goto("/admin/table/patients")
        expect(page.locator("main")).to_contain_text(stopped)
    assert charges(place) == before and place.house.handle.project.version("patients").number == version


@people("owner", "analyst")
def test_attacks_are_run_and_compared(coming: Coming, role: str, window: str) -> None:
    """One attack with settings of one's own, then the overview, where its bars stand beside each other."""
    with coming(role, at="/", viewport=WINDOWS[window]) as page:
        go(page, "Lab")
        page.get_by_role("group", name="All attacks").get_by_role("link").first.click()
        check_layout(page)
        page.get_by_role("button", name="Run on generated people").click()
        expect(page.get_by_role("heading", name=re.compile("^Result"))).to_be_visible(timeout=60_000)
        check_layout(page)
        page.get_by_role("main").get_by_role("link", name="Lab", exact=True).click()
        expect(page.locator("svg.chart").first).to_be_visible()
        for word in ("Unprotected", "Protected", "Chance", "At most"):
            expect(page.get_by_role("columnheader", name=word, exact=True)).to_be_visible()
        check_layout(page)


@people("owner", "analyst", fast="owner")
def test_two_answers_are_compared(coming: Coming, place: Place, role: str, window: str) -> None:
    with place.hand("analyst") as analyst:
        first, second = analyst.ask(BY_SEX), analyst.ask(OLDER, epsilon="0.7")
    with coming(role, at=f"/a/{first}", viewport=WINDOWS[window]) as page:
        page.get_by_label("Compare with another answer").select_option(second)
        page.get_by_role("button", name="Compare").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Two answers compared")
        expect(page.locator("svg.chart")).to_be_visible()
        expect(page.locator("table.sheet tbody tr")).to_have_count(2)
        check_layout(page)
        page.get_by_role("link", name=second).click()
        expect(page).to_have_url(re.compile(second))


@people("owner", "analyst")
def test_tables_that_add_up_are_chosen_from_lists(coming: Coming, place: Place, role: str, window: str) -> None:
    epsilon = {"owner": 2, "analyst": 3}[role] + (0.5 if window == "phone" else 0)
    before = charges(place)
    with coming(role, at="/", viewport=WINDOWS[window]) as page:
        go(page, "Statistics")
        page.get_by_role("link", name="Publish", exact=True).click()
        page.get_by_role("link", name="patients", exact=True).click()
        check_layout(page)
        page.get_by_label("Everything together is called").fill("clinic")
        page.get_by_label("Level 1: largest places").select_option(label="ward")
        page.locator("#attributes").get_by_label("sex").check()
        page.locator("form").filter(has_text="Attributes to count by").get_by_label("Epsilon").fill(str(epsilon))
        page.get_by_role("button", name="See the price").first.click()
        expect(page.get_by_role("group", name="Levels")).to_contain_text("clinic")
        check_layout(page)
        assert charges(place) == before
        page.get_by_role("button", name="Pay and publish").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Tables that add up")
        expect(page.locator("main")).to_contain_text("Counts add up exactly at every level")
        check_layout(page)
    assert charges(place) == before + 1


@people("public", fast="public")
def test_what_is_published_is_read_by_everybody_until_it_is_withdrawn(
    coming: Coming, place: Place, role: str, window: str
) -> None:
    with place.hand("analyst") as analyst:
        release = analyst.ask(BY_SEX)
    name = f"Patients by sex, for a {window}"
    with coming("analyst", at=f"/a/{release}", viewport=WINDOWS[window]) as page:
        expect(page.get_by_role("button", name="Publish", exact=True)).to_have_count(0)
    with coming("owner", at=f"/a/{release}", viewport=WINDOWS[window], dialogs=True) as page:
        page.get_by_role("button", name="Publish", exact=True).click()
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_label("Description").fill("How many patients are women and men.")
        check_layout(page)
        page.get_by_role("button", name="Publish", exact=True).click()
        expect(page.get_by_role("heading", level=1)).to_have_text(name)
        check_layout(page)
        with coming(at="/", viewport=WINDOWS[window], statuses={404}) as reader:
            check_layout(reader)
            reader.get_by_role("link", name=name).click()
            expect(reader.locator("svg.chart")).to_be_visible()
            check_layout(reader)
            page.on("dialog", lambda dialog: dialog.accept())
            page.get_by_role("button", name="Withdraw").click()
            expect(page.locator("main")).not_to_contain_text(name)
            reader.reload()
            expect(reader.get_by_role("heading", level=1)).to_have_text("Not found")
            for own in ("/tables", "/jobs", "/lab", f"/a/{release}"):
                reader.goto(own)
                expect(reader).to_have_url(re.compile(r"/login\?next="))
