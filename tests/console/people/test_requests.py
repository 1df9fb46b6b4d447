"""Requests: asked for, and decided once."""

import sqlite3
import threading
from fractions import Fraction

import pytest

from discreet.console.people.budget_requests import EACH
from discreet.errors import StoreFault, UsageError


@pytest.fixture
def asked(people, ben):
    return people.requests.ask(ben, table="patients", epsilon="0.5", why=" for the\r\nyearly report ")


def nothing(request):
    return None


def test_a_request(people, asked):
    assert asked.data() == {
        "number": 1,
        "person": "Ben",
        "analyst": "Ben",
        "table": "patients",
        "epsilon": "0.5",
        "why": "for the\nyearly report",
        "made": "2027-01-15T08:00:00Z",
        "state": "open",
        "decided": None,
        "decided_by": None,
        "word": "",
    }
    assert people.requests.all() == [asked] == [people.requests.get(1)]


def test_approved_once(people, ada, asked, clock):
    acted = []
    clock.on(60)
    told = people.requests.approve(1, by=ada, word="well argued", act=acted.append)
    assert acted == [asked]
    assert (told.state, told.decided, told.decided_by, told.word) == ("approved", int(clock.now), "Ada", "well argued")
    for again in (
        lambda: people.requests.approve(1, by=ada, act=acted.append),
        lambda: people.requests.decline(1, by=ada),
    ):
        with pytest.raises(UsageError, match="already approved by Ada"):
            again()
    assert len(acted) == 1


def test_declined_once(people, ada, asked):
    assert people.requests.decline(1, by=ada, word="ask next year").state == "declined"
    with pytest.raises(UsageError, match="already declined"):
        people.requests.approve(1, by=ada, act=lambda request: pytest.fail("granted"))


def test_an_act_that_fails_leaves_it_open(people, ada, asked):
    def refuse(request):
        raise UsageError("no such table")

    with pytest.raises(UsageError, match="no such table"):
        people.requests.approve(1, by=ada, act=refuse)
    assert people.requests.get(1) == asked
    assert people.requests.approve(1, by=ada, act=nothing).state == "approved"


def test_of_two_owners_at_once_one_acts(people, ada, asked):
    start, acted = threading.Barrier(2), []

    def decide():
        start.wait()
        try:
            people.requests.approve(1, by=ada, act=acted.append)
        except UsageError:
            return

    threads = [threading.Thread(target=decide) for _ in range(2)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(acted) == 1


def test_the_file_itself_keeps_a_decision(people, ada, asked):
    people.requests.decline(1, by=ada)
    with pytest.raises(StoreFault) as told, people.store.writing() as connection:
        connection.execute("UPDATE requests SET state = 'approved'")
    assert isinstance(told.value.__cause__, sqlite3.IntegrityError)


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": "0"},
        {"epsilon": "-1"},
        {"epsilon": "nan"},
        {"epsilon": "1e9"},
        {"epsilon": ""},
        {"why": "  "},
        {"why": "x" * 1001},
        {"why": "a\0"},
        {"table": ""},
    ],
)
def test_what_is_refused(people, ben, wrong):
    with pytest.raises(UsageError):
        people.requests.ask(ben, **({"table": "patients", "epsilon": "0.5", "why": "because"} | wrong))
    assert people.requests.all() == []


def test_epsilon_is_kept_exactly(people, ben):
    people.requests.ask(ben, table="t", epsilon="0.1", why="x")
    assert people.requests.get(1).epsilon == Fraction(1, 10)


def test_so_many_wait_at_once(people, ada, ben, asked):
    for _ in range(EACH - 1):
        people.requests.ask(ben, table="t", epsilon=1, why="x")
    with pytest.raises(UsageError, match="still open"):
        people.requests.ask(ben, table="t", epsilon=1, why="x")
    people.requests.ask(ada, table="t", epsilon=1, why="x")
    people.requests.decline(1, by=ada)
    people.requests.ask(ben, table="t", epsilon=1, why="x")


def test_unknown(people, ada):
    for act in (lambda: people.requests.get(7), lambda: people.requests.decline(7, by=ada)):
        with pytest.raises(UsageError, match="no request 7"):
            act()
