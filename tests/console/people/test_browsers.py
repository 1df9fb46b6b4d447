"""Known browsers: marks that only a login makes, for one person, until the password changes or half a year is over."""

import pytest

from console.people.conftest import GOOD
from discreet.console.people import browsers
from discreet.console.people.throttle import TooManyLogins

DAY_S = 86_400


def stored(people, name):
    person, password_hash = people.roster.credentials(name)
    return person, password_hash


def known(people, cookie, name="ada"):
    return browsers.matching_mark(cookie, *stored(people, name), now=int(people.clock()))


def test_a_login_makes_its_browser_known_for_its_own_name(people, ada, ben):
    cookie = people.attempt("Ada", GOOD, address="192.0.2.1").browser
    assert known(people, cookie) == cookie
    assert known(people, cookie, "ben") == ""
    assert people.attempt("Ada", "wrong", address="192.0.2.1").browser is None


def test_a_mark_ends_with_the_password_and_with_time(people, ada, clock):
    first = people.attempt("Ada", GOOD, address="192.0.2.1").browser
    clock.on(180 * DAY_S - 1)
    assert known(people, first)
    clock.on(1)
    assert not known(people, first)
    second = people.attempt("Ada", GOOD, address="192.0.2.1").browser
    people.set_password("Ada", "another horse battery")
    assert not known(people, second)


def test_a_mark_survives_a_restart_and_is_no_session(people, ada, tmp_path, clock):
    cookie = people.attempt("Ada", GOOD, address="192.0.2.1").browser
    again = type(people).of(tmp_path, clock=clock, passwords=people.passwords)
    assert known(again, cookie) and again.sessions.find(cookie) is None
    again.close()


@pytest.mark.parametrize("place", range(0, 43, 6))
def test_a_changed_mark_is_unknown(people, ada, place):
    cookie = people.attempt("Ada", GOOD, address="192.0.2.1").browser
    changed = "Q" if cookie[place] == "A" else "A"  # not B: the last letter has two bits that say nothing
    assert not known(people, cookie[:place] + changed + cookie[place + 1 :])


@pytest.mark.parametrize("text", ["", ".", "A" * 43, "A" * 10_000, "é" * 43, "A" * 42 + "=", "." * 500, "\x00"])
def test_any_text_is_no_mark(people, ada, text):
    assert known(people, text) == ""
    assert people.attempt("Ada", GOOD, address="192.0.2.1", browser=text).cookie


def test_people_who_share_a_browser_are_all_known_in_it(people, ada, ben):
    cookie = people.attempt("Ada", GOOD, address="192.0.2.1").browser
    cookie = people.attempt("Ben", GOOD, address="192.0.2.1", browser=cookie).browser
    assert known(people, cookie) and known(people, cookie, "ben")
    for _ in range(6):  # a new mark of the same person takes the place of the old one
        cookie = people.attempt("Ben", GOOD, address="192.0.2.1", browser=cookie).browser
    assert cookie.count(".") == 1 and known(people, cookie)


def test_a_forged_mark_spares_nothing(people, ada):
    for _ in range(5):
        people.attempt("Ada", "wrong", address="192.0.2.1", browser="A" * 43)
    with pytest.raises(TooManyLogins):
        people.attempt("Ada", GOOD, address="192.0.2.1", browser="B" * 43)


def test_a_stolen_mark_buys_few_guesses(people, ada, clock):
    cookie = people.attempt("Ada", GOOD, address="192.0.2.1").browser
    heard = 0
    for each in range(3_600):
        clock.on(1)
        try:
            people.attempt("Ada", "wrong", address=f"192.0.{each // 250}.{each % 250}", browser=cookie)
            heard += 1
        except TooManyLogins:
            continue
    assert heard == 20
