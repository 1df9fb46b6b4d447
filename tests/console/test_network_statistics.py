"""Statistics of networks on a page and for programs: planned free, paid once, read for ever; the JSON of the verb."""

from types import SimpleNamespace

import pytest

from console.api.test_api import Program
from console.house import ORIGIN, Passwords, Settings, World, open_state
from console.paying import charges, sent
from discreet.console.jobs import network_statistics
from discreet.schema.column import TextColumn
from discreet.schema.privacy_unit import PrivacyUnit
from graph.friends import make, make_persons

pytestmark = pytest.mark.usefixtures("patient")

FORM = {"table": "friends", "nodes": "people", "by": "colour", "epsilon": "2"}


def opened(folder):
    house, setup = open_state(folder, Settings(origin=ORIGIN, grid_ms=1), log=folder.parent / "console.log")
    house.people.passwords = Passwords(memory_kib=64, passes=1)
    return World(house=house, folder=folder, setup=setup)


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    folder = tmp_path_factory.mktemp("edges")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(folder / "state"))
        make(folder / "friends")
        world = opened(folder / "friends")
    yield world
    world.house.close()


@pytest.fixture(scope="module")
def persons(tmp_path_factory):
    folder = tmp_path_factory.mktemp("persons")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_STATE", str(folder / "state"))
        make_persons(folder / "ties")
        world = opened(folder / "ties")
    yield world
    world.house.close()


def test_a_plan_is_free_and_is_that_of_the_verb(edges):
    browser, before = edges.browser("analyst"), charges(edges)
    quote = browser.get("/tables/new/network.json", params=FORM).json()["quote"]
    planned = edges.house.handle.project.graph("friends", nodes="people", by="colour").plan(epsilon=2).to_data()
    assert {name: quote[name] for name in planned} == planned and quote["price"]["cost"]["epsilon"] == 2
    page = browser.get("/tables/new/network", params=FORM).text
    assert "Before you pay" in page and "Protected: each link" in page and "ladder" in page
    (alone,) = [each["parts"][-1] for each in quote["alone"] if each["only"] == "triangles"]
    narrower = f"{alone['plus_minus_if_an_edge_moves_it_by']['10']:,} if one link can change it by 10"
    assert "± if asked for alone" in page and narrower in page
    page = browser.get("/tables/new/network", params=FORM | {"only": "triangles"}).text
    assert "asked for alone" not in page and narrower in page
    assert charges(edges) == before


def test_only_networks_are_offered(edges, tmp_path_factory):
    """By declaration alone: a table with ends, or of rows with from and to; others are folded, or not there."""
    page = edges.browser("analyst").get("/tables/new/network.json").json()
    assert ([each["name"] for each in page["networks"]], page["others"]) == (["friends"], [])
    assert "/tables/new/network?table=friends" in edges.browser("analyst").get("/tables/new/network").text
    unit = {"row": PrivacyUnit(), "person": PrivacyUnit(person=("id",)), "ends": PrivacyUnit(ends=("a", "b"))}

    def offered(kind, *names):
        columns = tuple(TextColumn(name=name) for name in names)
        schema = SimpleNamespace(columns=columns, unit=unit[kind])
        return network_statistics.is_network(SimpleNamespace(schema=schema))

    assert offered("row", "From", "TO", "note") and offered("ends")
    assert not offered("row", "sex", "age") and not offered("person", "from", "to")


def test_it_is_paid_once_and_shown_with_intervals(edges):
    browser = edges.browser("analyst")
    at = sent(browser, "/tables/new/network", FORM)
    before = charges(edges)
    assert sent(browser, "/tables/new/network", FORM) == at
    found = browser.get(f"{at}.json").json()["found"]
    assert {"edges", "degrees", "mixing", "triangles"} <= set(found["statistics"])
    low, high = found["statistics"]["edges"]["interval"]
    assert low <= found["statistics"]["edges"]["value"] <= high
    page = browser.text(at)
    assert "Statistics of the network" in page and "Edges between groups" in page and "31 (public)" in page
    assert "Not protected" in page and "<svg" in browser.get(at).text
    lines = browser.get(f"{at}.csv").text.splitlines()
    assert lines[0] == "statistic,at,and,value,low,high" and sum(line.startswith("mixing,") for line in lines) == 4
    assert browser.get(f"{at}/download?format=json").status_code == 200
    assert at.rpartition("/")[2] in browser.text("/tables") and charges(edges) == before
    again = edges.house.handle.project.graph("friends", nodes="people", by="colour").stats(epsilon=2)
    assert again.cached and again.to_data()["statistics"] == found["statistics"]


def test_protected_persons(persons):
    """A table with ends, which no other page may ask: statistics of the network are the one thing."""
    browser = persons.browser("analyst")
    form = {"table": "ties", "only": "edges,degrees", "epsilon": "1"}
    assert "each person with all their links" in browser.get("/tables/new/network", params=form).text
    at = sent(browser, "/tables/new/network", form)
    found = browser.get(f"{at}.json").json()["found"]
    assert (found["unit"], found["limit"]) == ("node", {"edges": 8, "chosen": False})
    assert "At most 8 edges per person are counted (declared)" in " ".join(browser.text(at).split())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"by": "height"}, "no column"),
        ({"only": "love"}, "love"),
        ({"edges_per_node": "many"}, "must be a whole number from 1"),
        ({"ends": "a"}, "Name the two columns of the ends"),
        ({"epsilon": "x"}, "epsilon"),
        ({"only": "x" * 600}, "at most 500 letters"),
    ],
)
def test_what_makes_no_sense_is_a_sentence_and_free(edges, wrong, words):
    browser, before = edges.browser("analyst"), charges(edges)
    for answer in (
        browser.get("/tables/new/network", params=FORM | wrong),
        browser.post("/tables/new/network", FORM | wrong),
    ):
        assert 400 <= answer.status_code < 500 and words.lower() in answer.text.lower()  # a sentence has a capital
    assert charges(edges) == before


def test_a_release_that_was_made_elsewhere_says_so(edges):
    made = edges.house.handle.project.graph("friends").stats(epsilon=1, only="edges")
    page = edges.browser("analyst").get(f"/tables/{made.release}").text
    assert "This was measured elsewhere" in page and "/tables/new/network?table=friends" in page


BODY = {"table": "friends", "nodes": "people", "by": "colour", "epsilon": 3, "only": "edges,mixing"}


@pytest.fixture
def program(edges):
    return Program(edges)


class TestForPrograms:
    def test_a_plan(self, edges, program):
        before = charges(edges)
        told = program.send("POST", "/graph/plan", BODY).json()
        assert told["unit"] == "edge" and [part["name"] for part in told["parts"]] == ["edges", "mixing"]
        assert told["price"]["fits"] and charges(edges) == before

    def test_the_json_of_the_verb(self, edges, program):
        answer = program.send("POST", "/graph", BODY)
        assert answer.status_code == 200
        told, before = answer.json(), charges(edges)
        project = edges.house.handle.project
        same = project.graph("friends", nodes="people", by="colour").stats(epsilon=3, only="edges,mixing").to_data()
        assert same["cached"] and not told["cached"]
        spent = {name: told.pop(name) for name in ("spent", "remaining")}
        assert {**told, "cached": True, "cost": None} == {**same, "cost": None} and told["price"]["epsilon"] == 3
        assert spent["spent"]["epsilon"] + spent["remaining"]["epsilon"] == pytest.approx(400)
        again = program.send("POST", "/graph", BODY).json()
        assert again["cached"] and again["statistics"] == told["statistics"] and charges(edges) == before

    @pytest.mark.parametrize(
        "wrong", [{"table": "x"}, {"by": "height"}, {"love": 1}, {"edges_per_node": 0}, {"epsilon": 0}, {"ends": "a"}]
    )
    def test_what_makes_no_sense(self, edges, program, wrong):
        before = charges(edges)
        for path in ("/graph/plan", "/graph"):
            answer = program.send("POST", path, BODY | wrong)
            assert 400 <= answer.status_code < 500 and answer.json()["error"]
        assert charges(edges) == before

    def test_more_than_is_left_is_refused(self, edges, program):
        answer = program.send("POST", "/graph", BODY | {"epsilon": 500})
        assert answer.status_code == 402 and answer.json()["error"]
