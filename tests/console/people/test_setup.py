"""The first owner's link: once, and only while there is nobody."""

import threading

import pytest

from console.people.conftest import GOOD
from discreet.console.people import secret
from discreet.errors import UsageError


def test_the_link_makes_the_first_owner_once(people):
    link = people.setup.link()
    assert len(link) == 43 and people.setup.holds(link)
    first = people.first_owner(link, name="Ada", password=GOOD)
    assert first.role == "owner"
    assert not people.setup.holds(link)
    with pytest.raises(UsageError, match="no longer valid"):
        people.first_owner(link, name="Eve", password=GOOD)
    assert people.setup.link() is None
    assert people.roster.all() == [first]


@pytest.mark.parametrize("wrong", ["", "A" * 43, "\ud800"])
def test_another_link_is_none_and_costs_no_hash(people, wrong, monkeypatch):
    people.setup.link()
    monkeypatch.setattr(people.passwords, "hash_new", lambda password: pytest.fail("hashed"))
    assert not people.setup.holds(wrong)
    with pytest.raises(UsageError, match="no longer valid"):
        people.first_owner(wrong, name="Eve", password=GOOD)


def test_a_new_link_ends_the_one_before(people):
    old, new = people.setup.link(), people.setup.link()
    assert not people.setup.holds(old) and people.setup.holds(new)


def test_it_is_gone_when_somebody_was_added_otherwise(people):
    link = people.setup.link()
    people.add("Ben", role="analyst", password=GOOD)
    assert not people.setup.holds(link)
    with pytest.raises(UsageError):
        people.setup.take(link, name="Eve", password_hash="x")
    with people.store.reading() as connection:
        assert connection.execute("SELECT count(*) FROM setup").fetchone() == (0,)
        connection.execute("INSERT INTO setup (one, digest) VALUES (1, ?)", (secret.digest(link),))
    assert not people.setup.holds(link)  # even if it were still there


def test_a_wrong_name_or_password_leaves_the_link(people):
    link = people.setup.link()
    for name, password in (("", GOOD), ("Ada", "short")):
        with pytest.raises(UsageError):
            people.first_owner(link, name=name, password=password)
    assert people.setup.holds(link)


def test_of_two_at_once_one(people):
    link, start, made = people.setup.link(), threading.Barrier(2), []

    def come(name):
        start.wait()
        try:
            made.append(people.setup.take(link, name=name, password_hash="hash"))
        except UsageError:
            return

    threads = [threading.Thread(target=come, args=(name,)) for name in ("Ada", "Eve")]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert len(made) == 1 and people.roster.all() == made
