"""People over a clock that is turned by hand, with hashes that cost next to nothing."""

import pytest

from discreet.console.people.passwords import Passwords
from discreet.console.people.people import People
from discreet.storage import sqlite_file

GOOD = "correct horse battery"


class HandClock:
    def __init__(self):
        self.now = 1_800_000_000.0

    def __call__(self):
        return self.now

    def on(self, seconds):
        self.now += seconds


@pytest.fixture(autouse=True)
def _quick_store(request, monkeypatch):
    """Elsewhere than in its own tests, the store does not wait for the disk."""
    if request.path.name != "test_store.py":
        quick = [
            ("synchronous", "OFF", 0) if name == "synchronous" else (name, *rest)
            for name, *rest in sqlite_file.SETTINGS
        ]
        monkeypatch.setattr(sqlite_file, "SETTINGS", quick)


@pytest.fixture
def clock():
    return HandClock()


@pytest.fixture
def people(tmp_path, clock):
    made = People.of(tmp_path, clock=clock, passwords=Passwords(memory_kib=8, passes=1))
    yield made
    made.close()


@pytest.fixture
def ada(people):
    return people.add("Ada", role="owner", password=GOOD)


@pytest.fixture
def ben(people, ada):
    return people.add("Ben", role="analyst", password=GOOD)
