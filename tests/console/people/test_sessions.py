"""Sessions: how long they hold, what they are known by, and what ends them."""

import pytest

from console.people.conftest import GOOD
from discreet.console.people import secret, sessions

HOUR = 3600


@pytest.fixture
def cookie(people, ada):
    return people.log_in("ada", GOOD, address="192.0.2.1")


def test_a_cookie_is_256_bits_and_names_its_person(people, ada, cookie):
    assert len(cookie) == 43
    assert people.sessions.find(cookie).person == ada
    assert people.log_in("ada", GOOD, address="192.0.2.1") != cookie


@pytest.mark.parametrize("wrong", ["", "x", "A" * 43, "\ud800", "a" * 10_000])
def test_another_cookie_is_nobodys(people, cookie, wrong):
    assert people.sessions.find(wrong) is None
    assert people.sessions.find(cookie[:-1]) is None


def test_the_digest_is_no_cookie(people, cookie):
    with people.store.reading() as connection:
        (digest,) = connection.execute("SELECT digest FROM sessions").fetchone()
    assert digest == secret.digest(cookie)
    assert people.sessions.find(digest.hex()) is None


def test_idle_for_eight_hours(people, cookie, clock):
    for _ in range(10):
        clock.on(8 * HOUR - 1)
        assert people.sessions.find(cookie)
    clock.on(8 * HOUR)
    assert people.sessions.find(cookie) is None


def test_seven_days_at_most(people, cookie, clock):
    for _ in range(7 * 24 - 1):
        clock.on(HOUR)
        assert people.sessions.find(cookie)
    clock.on(HOUR)
    assert people.sessions.find(cookie) is None


def test_a_visit_writes_only_now_and_then(people, cookie, clock, monkeypatch):
    written = []
    monkeypatch.setattr(people.sessions, "_note", lambda *_: written.append(1))
    for _ in range(10):
        clock.on(10)
        people.sessions.find(cookie)
    assert not written
    clock.on(300)
    people.sessions.find(cookie)
    assert written


def test_login_gives_a_new_one_and_ends_the_one_before(people, ada, cookie):
    again = people.log_in("ada", GOOD, address="192.0.2.1", instead_of=cookie)
    assert again != cookie
    assert people.sessions.find(cookie) is None
    assert people.sessions.find(again)


def test_a_cookie_that_was_handed_to_a_browser_is_never_taken_on(people, ada):
    """Fixation: a secret that somebody else chose does not become a session."""
    chosen = secret.new()
    given = people.log_in("ada", GOOD, address="192.0.2.1", instead_of=chosen)
    assert given != chosen
    assert people.sessions.find(chosen) is None


def test_a_failed_login_ends_nothing(people, cookie):
    assert people.log_in("ada", "wrong", address="192.0.2.1", instead_of=cookie) is None
    assert people.sessions.find(cookie)


def test_end_and_end_all(people, ada, ben, cookie):
    other = people.log_in("ada", GOOD, address="192.0.2.1")
    his = people.log_in("ben", GOOD, address="192.0.2.1")
    people.sessions.end(other)
    assert people.sessions.find(other) is None and people.sessions.find(cookie)
    third = people.log_in("ada", GOOD, address="192.0.2.1")
    assert people.sessions.end_all(ada, but=cookie) == 1
    assert people.sessions.find(third) is None and people.sessions.find(cookie)
    assert people.sessions.end_all(ada) == 1
    assert people.sessions.find(cookie) is None and people.sessions.find(his)


def test_csrf_is_the_sessions_own_and_not_its_cookie(people, ada, cookie):
    other = people.log_in("ada", GOOD, address="192.0.2.1")
    mine, hers = (people.sessions.find(each).csrf for each in (cookie, other))
    assert mine == people.sessions.find(cookie).csrf
    assert mine != hers and mine != cookie and len(mine) == 43
    assert people.sessions.find(mine) is None
    assert mine not in repr(people.sessions.find(cookie))


def test_a_person_has_so_many_and_the_oldest_ends(people, ada, cookie, clock, monkeypatch):
    monkeypatch.setattr(sessions, "EACH", 3)
    clock.on(1)
    later = [people.log_in("ada", GOOD, address="192.0.2.1") for _ in range(3)]
    assert people.sessions.find(cookie) is None
    assert all(people.sessions.find(each) for each in later)


def test_those_that_are_over_are_cleared_away(people, ada, cookie, clock):
    clock.on(9 * HOUR)
    people.log_in("ada", GOOD, address="192.0.2.1")
    with people.store.reading() as connection:
        assert connection.execute("SELECT count(*) FROM sessions").fetchone() == (1,)


def test_who_is_logged_in_tells_nothing_that_lets_anybody_in(people, cookie, clock):
    (told,) = people.sessions.all()
    assert told == {"person": "Ada", "since": "2027-01-15T08:00:00Z", "seen": "2027-01-15T08:00:00Z"}
    clock.on(8 * HOUR)
    assert people.sessions.all() == []
