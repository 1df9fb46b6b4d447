"""Throttling: five of a name, fifty of an address, in a quarter of an hour; and little memory."""

import threading

import pytest

from console.people.conftest import GOOD
from discreet.console.people import throttle as module
from discreet.console.people.throttle import Throttle, Throttled, network


@pytest.fixture
def throttle(clock):
    return Throttle(clock)


def test_the_sixth_try_of_a_name_waits(throttle, clock):
    for each in range(5):
        throttle.enter("Ada", f"192.0.2.{each}")
        clock.on(60)
    with pytest.raises(Throttled) as told:
        throttle.enter("aDA", "192.0.2.99")
    assert told.value.wait_s == 10 * 60
    clock.on(10 * 60 - 1)
    with pytest.raises(Throttled) as told:
        throttle.enter("ada", "192.0.2.99")
    assert told.value.wait_s == 1
    clock.on(1)
    throttle.enter("ada", "192.0.2.99")
    with pytest.raises(Throttled):
        throttle.enter("ada", "192.0.2.99")


def test_a_throttled_try_does_not_lengthen_the_wait_of_the_name(throttle, clock):
    for _ in range(5):
        throttle.enter("ada", "192.0.2.1")
    for _ in range(30):
        clock.on(20)
        with pytest.raises(Throttled):
            throttle.enter("ada", "192.0.2.2")
    clock.on(5 * 60)
    throttle.enter("ada", "192.0.2.3")


def test_fifty_of_an_address(throttle, clock):
    for each in range(50):
        throttle.address("192.0.2.1")
        throttle.enter(f"name {each}", "192.0.2.1")
    for refused in (lambda: throttle.address("192.0.2.1"), lambda: throttle.enter("fresh", "192.0.2.1")):
        with pytest.raises(Throttled) as told:
            refused()
        assert told.value.wait_s == 15 * 60
    throttle.enter("fresh", "192.0.2.2")
    clock.on(15 * 60)
    throttle.enter("fresh", "192.0.2.1")


def test_a_success_clears_the_name_and_only_its_own_try_of_the_address(throttle):
    for each in range(49):
        throttle.enter(f"name {each}", "192.0.2.1")
    for _ in range(20):
        throttle.forgive(throttle.enter("ada", "192.0.2.1"))
    throttle.enter("ada", "192.0.2.1")
    with pytest.raises(Throttled):
        throttle.address("192.0.2.1")


def test_many_at_once_are_no_more_than_many_in_turn(throttle):
    entered, start = [], threading.Barrier(20)

    def work():
        start.wait()
        try:
            entered.append(throttle.enter("ada", "192.0.2.1"))
        except Throttled:
            return

    threads = [threading.Thread(target=work) for _ in range(20)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(entered) == 5


def test_memory_is_bounded_and_a_name_under_attack_is_kept(throttle, monkeypatch):
    monkeypatch.setattr(module, "REMEMBERED", 100)
    for _ in range(5):
        throttle.enter("ada", "192.0.2.1")
    for each in range(1000):
        throttle.enter(f"name {each}", f"198.51.{each // 250}.{each % 250}")
    assert len(throttle._names) <= 100 and len(throttle._addresses) <= 100
    with pytest.raises(Throttled):
        throttle.enter("ada", "192.0.2.77")


def test_a_name_under_attack_is_kept_though_its_tries_are_the_oldest(throttle, clock, monkeypatch):
    """Whoever floods with fresh names must not find that the one they attack was forgotten for its age."""
    monkeypatch.setattr(module, "REMEMBERED", 20)
    for _ in range(5):
        throttle.enter("ada", "192.0.2.1")
    for each in range(200):
        clock.on(1)
        throttle.enter(f"name {each}", f"198.51.100.{each}")
        throttle.enter(f"name {each}", f"198.51.101.{each}")
    with pytest.raises(Throttled):
        throttle.enter("ada", "192.0.2.77")


def test_what_is_over_is_forgotten_first(throttle, clock, monkeypatch):
    monkeypatch.setattr(module, "REMEMBERED", 3)
    for name in "abc":
        [throttle.enter(name, "192.0.2.1") for _ in range(4)]
    clock.on(16 * 60)
    throttle.enter("d", "192.0.2.1")
    assert len(throttle._names) == 1


def test_neither_names_nor_addresses_are_kept(throttle):
    throttle.enter("a typed password", "192.0.2.123")
    kept = repr((throttle._names, throttle._addresses))
    assert "typed" not in kept and "192.0" not in kept
    assert all(len(key) == 16 for key in (*throttle._names, *throttle._addresses))
    assert Throttle(lambda: 0)._hash("x") != Throttle(lambda: 0)._hash("x")


def test_one_house_is_one_address():
    assert network("2001:db8:1:2::1") == network("2001:db8:1:2:ffff::9")
    assert network("2001:db8:1:2::1") != network("2001:db8:1:3::1")
    assert network("::ffff:192.0.2.1") == "192.0.2.1"
    assert network("unix:") == "unix:"


def test_a_throttled_name_is_not_heard_even_if_right_and_there_or_not(people, ada):
    said = []
    for name in ("ada", "nobody"):
        for _ in range(5):
            assert people.log_in(name, "wrong", address="192.0.2.1") is None
        with pytest.raises(Throttled) as told:
            people.log_in(name, GOOD, address="192.0.2.1")
        said.append(str(told.value))
    assert said[0] == said[1]
    assert "ada" not in said[0]


def test_spaces_make_no_other_name(people, ada):
    for name in ("ada", " ada", "ada ", "ADA", "\tada"):
        assert people.log_in(name, "wrong", address="192.0.2.1") is None
    with pytest.raises(Throttled):
        people.log_in("ada", GOOD, address="192.0.2.1")


def test_a_success_is_no_failure(people, ada):
    for _ in range(60):
        assert people.log_in("ada", GOOD, address="192.0.2.1")
    for _ in range(4):
        people.log_in("ada", "wrong", address="192.0.2.1")
    assert people.log_in("ada", GOOD, address="192.0.2.1")
    for _ in range(4):
        people.log_in("ada", "wrong", address="192.0.2.1")
    assert people.log_in("ada", GOOD, address="192.0.2.1")
