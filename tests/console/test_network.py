"""A network with ends in the console: its pages stand, it can be looked at, and nothing can be asked of its rows."""

import pytest

from console.house import world

MORE = """
[tables.friends]
source = "friends.csv"
population = "people"
ends = ["from", "to"]
"""
PAGES = [
    "/",
    "/d/friends",
    "/ask",
    "/ask?table=friends",
    "/tables",
    "/tables/new/ranges",
    "/tables/new/marginals",
    "/tables/new/histogram",
    "/tables/new/publish",
    "/tables/new/network",
    "/tables/new/network?table=friends&epsilon=1",
    "/tables/reconcile",
    "/ask/rows/friends.csv",
    "/index.json",
    "/synth",
    "/synth/new",
    "/budget",
    "/log",
]


@pytest.fixture
def clinic(tmp_path):
    made = world(tmp_path / "clinic")
    (made.folder / "friends.csv").write_text("from,to\n1,2\n2,3\n")
    with (made.folder / "discreet.toml").open("a") as stream:
        stream.write(MORE)
    yield made
    made.house.close()


@pytest.mark.parametrize("version", [pytest.param(False, marks=pytest.mark.deep), True])
def test_pages_stand(clinic, version):
    browser = clinic.browser("owner")
    if version:
        clinic.house.handle.project.reread().refresh("friends")
    statuses = {page: browser.get(page).status_code for page in PAGES}
    assert {page: status for page, status in statuses.items() if status != 200} == {}
    told = browser.text("/d/friends")
    assert "whether any one person, with all their edges, is in this table." in told
    assert "50,000,000" not in told


def test_a_question_about_it_is_refused_with_the_reason(clinic):
    browser = clinic.browser("owner")
    sent = browser.post("/ask", {"sql": "select count(*) from friends", "epsilon": "1", "act": "ask"})
    answered = browser.get(sent.headers["location"])
    assert "has ends" in answered.text
    assert clinic.house.handle.project.ledger.refresh().charges == {}
