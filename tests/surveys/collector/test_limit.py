"""A bucket for each address."""

from __future__ import annotations

import pickle

import pytest

from discreet.surveys.collector import address_limit as module
from discreet.surveys.collector.address_limit import RATE, AddressLimit


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    return now


def test_a_burst_then_the_rate(clock):
    limit = AddressLimit(10)
    assert limit.wait_s("192.0.2.1", 200) == 0
    assert limit.wait_s("192.0.2.1", 1) == pytest.approx(0.1)
    assert limit.wait_s("192.0.2.2", 1) == 0  # somebody else
    clock[0] += 1
    assert limit.wait_s("192.0.2.1", 11) > 0  # nothing is taken by what is refused
    assert limit.wait_s("192.0.2.1", 10) == 0
    assert limit.wait_s("192.0.2.1", 1) > 0


def test_a_long_wait_saves_no_more_than_a_burst(clock):
    limit = AddressLimit(10)
    limit.wait_s("192.0.2.1", 1)
    clock[0] += 10**6
    assert limit.wait_s("192.0.2.1", 201) > 0
    assert limit.wait_s("192.0.2.1", 200) == 0


def test_a_network_of_version_6_is_one_household(clock):
    limit = AddressLimit(1)
    assert limit.wait_s("2001:db8::1", 20) == 0
    assert limit.wait_s("2001:db8::ffff", 1) > 0
    assert limit.wait_s("2001:db8:0:1::1", 1) == 0
    assert limit.wait_s("192.0.2.1", 20) == 0
    assert limit.wait_s("::ffff:192.0.2.1", 1) > 0


@pytest.mark.parametrize("here", ["127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1"])
def test_this_machine_is_limited_only_where_a_rate_is_given(clock, here):
    assert AddressLimit().wait_s(here, 10**9) == 0
    assert AddressLimit(5).wait_s(here, 10**9) > 0
    assert AddressLimit(0).wait_s(here, 10**9) == 0


def test_others_are_limited_where_nothing_is_said(clock):
    limit = AddressLimit()
    assert limit.wait_s("192.0.2.1", int(20 * RATE)) == 0
    assert limit.wait_s("192.0.2.1", 1) > 0
    assert limit.wait_s(None, 1) == limit.wait_s("what?", 1) == 0


def test_memory_is_bounded_and_holds_no_address(clock, monkeypatch):
    monkeypatch.setattr(module, "REMEMBERED_ADDRESSES", 10)
    limit = AddressLimit()
    for number in range(100):
        limit.wait_s(f"192.0.2.{number}", 1)
    assert len(limit._buckets) == 10
    assert b"192.0.2" not in pickle.dumps([*limit._buckets, limit._key])
