"""Persons: names, roles, and what ends with them."""

import threading

import pytest

from console.people.conftest import GOOD
from discreet.errors import UsageError


def test_a_person(people, ada, clock):
    assert (ada.name, ada.role, ada.analyst, ada.disabled, ada.created) == ("Ada", "owner", "Ada", False, clock.now)
    assert people.roster.get("ADA") == ada
    assert people.add("Ben", role="analyst", password=GOOD, analyst="research").analyst == "research"


@pytest.mark.parametrize("name", ["ada", "ADA", " Ada ", "Ａda"])
def test_names_are_one_by_casefold(people, ada, name):
    with pytest.raises(UsageError, match="already"):
        people.add(name, role="analyst", password=GOOD)


def test_sharp_s_and_accents(people):
    people.add("Strasse", role="owner", password=GOOD)
    with pytest.raises(UsageError, match="already"):
        people.add("Straße", role="owner", password=GOOD)
    people.add("Zoe\u0308", role="analyst", password=GOOD)
    assert people.roster.get("ZO\u00cb").name == "Zo\u00eb"
    assert people.log_in("zoe\u0308", GOOD, address="192.0.2.1")


@pytest.mark.parametrize("name", ["", "  ", "a" * 61, "a\nb\0", "a\u202eb", "a\u200bb", "--", "\ud800"])
def test_names_that_nobody_can_read_are_refused(people, name):
    with pytest.raises(UsageError):
        people.add(name, role="owner", password=GOOD)
    assert people.roster.all() == []
    assert people.roster.find(name) is None


def test_a_role_that_is_none(people, ada):
    for act in (
        lambda: people.add("x", role="public", password=GOOD),
        lambda: people.roster.set_role("Ada", "god"),
    ):
        with pytest.raises(UsageError, match="not a role"):
            act()


def test_the_last_owner_stays(people, ada, ben):
    for act in (lambda: people.roster.set_role("ada", "analyst"), lambda: people.roster.disable("ada")):
        with pytest.raises(UsageError, match="last owner"):
            act()
    assert people.roster.get("ada") == ada
    people.roster.set_role("ada", "owner")
    people.roster.disable("ben")
    people.roster.enable("ben")
    people.roster.set_role("ben", "owner")
    people.roster.disable("ben")  # a disabled owner is none
    with pytest.raises(UsageError, match="last owner"):
        people.roster.disable("ada")
    people.roster.enable("ben")
    people.roster.disable("ada")
    with pytest.raises(UsageError, match="last owner"):
        people.roster.set_role("ben", "analyst")
    people.roster.set_role("ada", "analyst")  # is no owner that counts


def test_two_owners_who_leave_at_once_leave_one(people, ada):
    people.add("Eve", role="owner", password=GOOD)
    start, left = threading.Barrier(2), []

    def leave(name):
        start.wait()
        try:
            left.append(people.roster.set_role(name, "analyst").name)
        except UsageError:
            return

    threads = [threading.Thread(target=leave, args=(name,)) for name in ("Ada", "Eve")]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(left) == 1
    assert sum(person.role == "owner" for person in people.roster.all()) == 1


@pytest.mark.parametrize(
    "act",
    [
        lambda people: people.set_password("ben", "another horse battery"),
        lambda people: people.roster.set_role("ben", "owner"),
        lambda people: people.roster.disable("ben"),
    ],
)
def test_what_changes_a_person_ends_their_sessions_and_nobody_elses(people, ada, ben, act):
    hers, his, also_his = (people.log_in(name, GOOD, address="192.0.2.1") for name in ("ada", "ben", "ben"))
    act(people)
    assert people.sessions.find(his) is None and people.sessions.find(also_his) is None
    assert people.sessions.find(hers).person == ada


def test_disabling_ends_tokens_for_good(people, ada, ben):
    text, _ = people.tokens.make(ben, label="one")
    mine, _ = people.tokens.make(ada, label="mine")
    people.roster.disable("ben")
    assert people.tokens.find(text).why_not(people.clock()) == "the token was revoked"
    people.roster.enable("ben")
    assert people.tokens.find(text).why_not(people.clock()) == "the token was revoked"
    assert people.tokens.find(mine).why_not(people.clock()) == ""
    assert people.log_in("ben", GOOD, address="192.0.2.1")


def test_a_disabled_person_is_told_nothing_else_than_a_stranger(people, ada, ben):
    people.roster.disable("ben")
    assert people.log_in("ben", GOOD, address="192.0.2.1") is None
    assert people.log_in("ben", GOOD, address="192.0.2.1") is None
    with pytest.raises(UsageError, match="disabled"):
        people.tokens.make(people.roster.get("ben"), label="x")


def test_a_new_password_is_the_only_one(people, ada):
    people.set_password("ada", "another horse battery")
    assert people.log_in("ada", GOOD, address="192.0.2.1") is None
    assert people.log_in("ada", "another horse battery", address="192.0.2.1")


def test_nobody_of_that_name(people, ada):
    for act in (people.roster.get, people.roster.disable, people.roster.enable):
        with pytest.raises(UsageError, match="no person named 'eve'"):
            act("eve")


def test_under_which_name_questions_are_charged(people, ada):
    assert people.roster.set_analyst("ada", "research").analyst == "research"
    with pytest.raises(UsageError):
        people.roster.set_analyst("ada", "")
