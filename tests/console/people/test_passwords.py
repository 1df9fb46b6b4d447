"""Passwords: one hash for everybody who comes, whoever they are."""

import statistics
import threading
import time
import unicodedata

import pytest

from console.people.conftest import GOOD
from discreet.console.people import passwords as module
from discreet.console.people.passwords import Passwords
from discreet.console.people.people import People
from discreet.console.people.throttle import LoginThrottle, LoginTry, TooManyLogins
from discreet.errors import UsageError


@pytest.fixture
def cheap():
    return Passwords(memory_kib=8, passes=1)


def test_the_parameters_are_those_of_the_contract():
    assert Passwords().hash_new(GOOD).startswith("$argon2id$v=19$m=19456,t=2,p=1$")


def test_right_and_wrong(cheap):
    stored = cheap.hash_new(GOOD)
    assert cheap.is_right(stored, GOOD)
    assert not cheap.is_right(stored, GOOD + "x")
    assert not cheap.is_right(stored, "")
    assert not cheap.is_right(None, GOOD)
    assert not cheap.is_right("no hash at all", GOOD)


def test_the_hash_that_stands_in_is_nobodys(cheap):
    assert not cheap.is_right(None, "")
    cheap._nobody = cheap.hash_existing("guessed all the same")
    assert not cheap.is_right(None, "guessed all the same")
    assert not cheap.is_right(None, cheap._stand_in_hash())


@pytest.mark.parametrize("password", ["", "a" * 9, "e\u0301" * 9, "a" * 1001, "a" * 100_000])
def test_lengths_that_are_refused(cheap, password):
    with pytest.raises(UsageError, match=r"a password (needs|must have)"):
        cheap.hash_new(password)


@pytest.mark.parametrize("password", ["zebra tram", f"zebra tram {'a' * 989}", "\0zebra\0tram", "naïve-café-2"])
def test_lengths_that_are_taken(cheap, password):
    assert cheap.is_right(cheap.hash_new(password), password)


def test_a_longer_one_is_not_the_one_it_begins_with(cheap):
    longest = f"zebra tram {'a' * 989}"
    assert not cheap.is_right(cheap.hash_new(longest), f"{longest}a")
    assert not cheap.is_right(cheap.hash_existing(""), "a" * 1001)  # nor the empty one


def test_composed_and_decomposed_are_one(cheap):
    word = "crème brûlée"
    assert cheap.is_right(cheap.hash_new(unicodedata.normalize("NFD", word)), unicodedata.normalize("NFC", word))
    assert cheap.is_right(cheap.hash_new(unicodedata.normalize("NFC", word)), unicodedata.normalize("NFD", word))


def test_a_letter_that_is_none_is_only_wrong(cheap):
    assert not cheap.is_right(cheap.hash_new(GOOD), "\ud800" * 12)


def test_one_hash_whoever_comes(people, ada, monkeypatch):
    """Known and right, known and wrong, unknown, disabled, odd, throttled: `verify` runs once, and nothing else."""
    people.add("Dis", role="analyst", password=GOOD)
    people.roster.disable("Dis")
    people.passwords._stand_in_hash()
    calls = []
    hasher = people.passwords._hasher

    class Counting:
        def verify(self, stored, password):
            calls.append("verify")
            return hasher.verify(stored, password)

        def hash(self, password):
            calls.append("hash")
            return hasher.hash(password)

        def check_needs_rehash(self, stored):
            return hasher.check_needs_rehash(stored)

    monkeypatch.setattr(people.passwords, "_hasher", Counting())
    cases = [
        ("ada", GOOD),
        ("ada", "wrong"),
        ("nobody", GOOD),
        ("dis", GOOD),
        ("\ud800", GOOD),
        ("", ""),
        ("x" * 9999, "y" * 9999),
    ]
    for name, password in cases:
        calls.clear()
        found = people.log_in(name, password, address="192.0.2.1")
        assert calls == ["verify"], name
        assert (found is not None) == (name == "ada" and password == GOOD)
    for name in ("ada", "nobody"):
        for _ in range(5):
            people.log_in(name, "wrong", address="192.0.2.2")
        calls.clear()
        with pytest.raises(TooManyLogins):
            people.log_in(name, GOOD, address="192.0.2.2")
        assert calls == ["verify"], name


@pytest.mark.deep  # the whole visit is timed in test_login
def test_unknown_and_wrong_cost_the_same(tmp_path, monkeypatch):
    """By processor time, with the real parameters: medians within a fifth, and far from nothing."""
    people = People.of(tmp_path)
    people.add("Ada", role="owner", password=GOOD)
    people.log_in("warm", "up", address="192.0.2.9")
    monkeypatch.setattr(LoginThrottle, "enter", lambda *_, **more: LoginTry(time=0.0))

    def cost(name):
        begun = time.thread_time()
        people.log_in(name, "something wrong", address="192.0.2.9")
        return time.thread_time() - begun

    pairs = [(cost("Ada"), cost("Nobody")) for _ in range(25)]
    known, unknown = (statistics.median(column) for column in zip(*pairs, strict=True))
    assert 0.8 < known / unknown < 1.25
    assert min(known, unknown) > 0.005
    people.close()


def test_two_hashes_at_once_and_a_short_queue(cheap, monkeypatch):
    inside, most, gate, lock = [0], [0], threading.Event(), threading.Lock()

    class Slow:
        def hash(self, password):
            with lock:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
            gate.wait(10)
            with lock:
                inside[0] -= 1
            return "hash"

    monkeypatch.setattr(cheap, "_hasher", Slow())
    threads = [threading.Thread(target=cheap.hash_new, args=(GOOD,)) for _ in range(module.AT_ONCE + module.WAITING)]
    [thread.start() for thread in threads]
    while cheap._places._value:
        time.sleep(0.001)
    with pytest.raises(TooManyLogins):
        cheap.hash_new(GOOD)
    gate.set()
    [thread.join() for thread in threads]
    assert most[0] == 2
    assert cheap.hash_new(GOOD) == "hash"


def test_a_hash_of_older_parameters_is_renewed_at_login(people, ada):
    people.passwords = Passwords(memory_kib=16, passes=1)
    old = people.roster.credentials("ada")[1]
    assert people.log_in("ada", "wrong but long", address="192.0.2.1") is None
    assert people.roster.credentials("ada")[1] == old
    cookie = people.log_in("ada", GOOD, address="192.0.2.1")
    new = people.roster.credentials("ada")[1]
    assert "m=16," in new and "m=8," in old
    assert people.sessions.find(cookie).person == ada
    assert people.log_in("ada", GOOD, address="192.0.2.1")
    assert people.roster.credentials("ada")[1] == new


def test_a_password_changed_while_it_was_checked_begins_no_session(people, ada, monkeypatch):
    right = people.passwords.is_right

    def meanwhile(stored, password):
        found = right(stored, password)
        people.set_password("ada", "another horse battery")
        return found

    monkeypatch.setattr(people.passwords, "is_right", meanwhile)
    assert people.log_in("ada", GOOD, address="192.0.2.1") is None
    assert people.sessions.all() == []


def test_the_same_with_older_parameters(people, ada, monkeypatch):
    people.passwords = Passwords(memory_kib=16, passes=1)
    hashed = people.passwords.hash_existing

    def meanwhile(password):
        people.roster.set_password("ada", "$argon2id$somebody else's")
        return hashed(password)

    monkeypatch.setattr(people.passwords, "hash_existing", meanwhile)
    assert people.log_in("ada", GOOD, address="192.0.2.1") is None
    assert people.sessions.all() == []
    assert people.roster.credentials("ada")[1] == "$argon2id$somebody else's"


def test_the_same_password_in_other_letters_is_no_new_one(people, ada):
    """Else who was given one could keep it."""
    people.set_password("ada", "zébra tram to Altona", temporary=True)
    for same in ("zébra tram to Altona", unicodedata.normalize("NFD", "zébra tram to Altona")):
        with pytest.raises(UsageError, match="another password"):
            people.change_password("ada", "zébra tram to Altona", same, address="192.0.2.1")
    assert people.roster.get("ada").temporary


def test_what_an_owner_sets_while_somebody_changes_the_old_password_stands(people, ada, monkeypatch):
    hash_new = people.passwords.hash_new

    def meanwhile(password, names=()):
        monkeypatch.setattr(people.passwords, "hash_new", hash_new)
        people.set_password("ada", "zebra tram to Altona", temporary=True)
        return hash_new(password, names)

    monkeypatch.setattr(people.passwords, "hash_new", meanwhile)
    with pytest.raises(UsageError, match="changed meanwhile"):
        people.change_password("ada", GOOD, "another horse battery", address="192.0.2.1")
    assert people.roster.get("ada").temporary
    assert people.log_in("ada", "another horse battery", address="192.0.2.1") is None
    assert people.log_in("ada", "zebra tram to Altona", address="192.0.2.1") is not None
