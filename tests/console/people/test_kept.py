"""What is published, what was denied, and which keys were taken."""

import threading

import pytest

from discreet.console.people import denials as denials_module
from discreet.errors import UsageError

OWNER, OTHER, BODY, ELSE = b"o" * 32, b"p" * 32, b"b" * 32, b"e" * 32


def test_published_in_order(people, ada, ben, clock):
    for release in ("r-b", "r-a", "r-c"):
        people.published.publish(release, by=ada, fields={"name": f"The {release}", "intended_use": "two\r\nlines"})
        clock.on(60)
    assert [one.release for one in people.published.all()] == ["r-b", "r-a", "r-c"]
    assert people.published.find("r-a").data() == {
        "release": "r-a",
        "published": "2027-01-15T08:01:00Z",
        "by": "Ada",
        "fields": {"name": "The r-a", "intended_use": "two\nlines"},
    }
    assert people.published.find("r-x") is None


def test_published_anew_keeps_its_place_and_day(people, ada, ben, clock):
    people.published.publish("r-a", by=ada, fields={"name": "old"})
    people.published.publish("r-b", by=ada, fields={})
    clock.on(60)
    again = people.published.publish("r-a", by=ben, fields={"name": "new"})
    assert (again.by, again.published, again.fields) == ("Ada", int(clock.now) - 60, {"name": "new"})
    assert [one.release for one in people.published.all()] == ["r-a", "r-b"]


def test_withdrawn(people, ada):
    people.published.publish("r-a", by=ada, fields={})
    assert people.published.withdraw("r-a") is True
    assert people.published.withdraw("r-a") is False
    assert people.published.all() == []


@pytest.mark.parametrize(
    "fields", [{"Name": "x"}, {"<b>": "x"}, {"name": "x" * 2001}, {"name": "a\0"}, {f"f{n}": "x" for n in range(41)}]
)
def test_fields_that_are_refused(people, ada, fields):
    with pytest.raises(UsageError):
        people.published.publish("r-a", by=ada, fields=fields)
    assert people.published.all() == []


def test_the_last_denials_of_a_person(people, clock, monkeypatch):
    monkeypatch.setattr(denials_module, "EACH", 10)
    for each in range(25):
        people.denials.keep(who="Ben", method="GET", route=f"/{each}", why="it takes an owner")
        clock.on(1)
    assert [one.route for one in people.denials.all()] == [f"/{each}" for each in range(24, 14, -1)]
    assert people.denials.all()[0].data() == {
        "time": "2027-01-15T08:00:24Z",
        "who": "Ben",
        "method": "GET",
        "route": "/24",
        "why": "it takes an owner",
    }


def test_so_many_are_kept():
    assert (denials_module.KEPT, denials_module.EACH) == (1000, 200)


@pytest.mark.parametrize("flood", ["", "somebody", "Ben", "Cy"])
def test_nobody_pushes_out_what_a_person_was_denied(people, clock, monkeypatch, flood):
    """Neither by visits without a name, nor by typing names at the login, nor by being denied much oneself."""
    monkeypatch.setattr(denials_module, "KEPT", 10)
    monkeypatch.setattr(denials_module, "EACH", 5)
    people.denials.keep(who="Ben", method="POST", route="/admin/people", why="it takes an owner")
    for each in range(30):
        clock.on(1)
        route = "/login" if flood in ("somebody", "Ben") else f"/{each}"
        people.denials.keep(who=flood, method="POST", route=route, why="wrong", always=True)
    kept = people.denials.all()
    assert [one.route for one in kept if one.who == "Ben"][-1] == "/admin/people"
    assert len(kept) == 1 + (5 if flood == "Cy" else 10)


def test_the_same_denial_is_written_once_in_a_while(people, clock):
    said = {"who": "Ben", "method": "GET", "route": "/admin", "why": "it takes an owner"}
    for _ in range(20):
        people.denials.keep(**said)
    assert len(people.denials.all()) == 1
    people.denials.keep(**said | {"method": "POST"})
    clock.on(10)
    people.denials.keep(**said)
    assert len(people.denials.all()) == 3
    people.denials.keep(**said, always=True)
    assert len(people.denials.all()) == 4


def test_a_clock_that_was_set_back_silences_nothing_for_long(people, clock):
    said = {"who": "Ben", "method": "GET", "route": "/admin", "why": "it takes an owner"}
    people.denials.keep(**said)
    clock.on(-86_400)
    people.denials.keep(**said)
    assert len(people.denials.all()) == 2


def test_what_is_remembered_of_denials_is_bounded(people, monkeypatch):
    monkeypatch.setattr(denials_module, "KEPT", 10)
    for each in range(50):
        people.denials.keep(who=str(each), method="GET", route="/", why="x")
    assert len(people.denials._recent) <= 10


def test_a_key_is_taken_once(people, clock):
    first = people.keys.begin(OWNER, "k", BODY)
    assert (first.fresh, first.state, first.result, first.body) == (True, "begun", None, BODY)
    clock.on(5)
    second = people.keys.begin(OWNER, "k", ELSE)
    assert (second.fresh, second.state, second.body, second.made) == (False, "begun", BODY, first.made)
    assert people.keys.begin(OTHER, "k", ELSE).fresh
    assert people.keys.begin(OWNER, "l", ELSE).fresh


def test_the_first_result_stays(people):
    people.keys.begin(OWNER, "k", BODY)
    assert people.keys.finish(OWNER, "k", state="answered", result="r-1").result == "r-1"
    again = people.keys.finish(OWNER, "k", state="answered", result="r-2")
    assert (again.state, again.result) == ("answered", "r-1")
    assert people.keys.find(OWNER, "k") == again
    assert people.keys.begin(OWNER, "k", BODY).result == "r-1"
    assert people.keys.finish(OWNER, "none", state="answered", result="r-1") is None
    assert people.keys.find(OTHER, "k") is None


def test_only_a_key_that_came_to_nothing_is_given_back(people):
    people.keys.begin(OWNER, "k", BODY)
    assert people.keys.drop(OWNER, "k") and people.keys.begin(OWNER, "k", ELSE).fresh
    people.keys.finish(OWNER, "k", state="answered", result="r-1")
    assert not people.keys.drop(OWNER, "k")
    assert people.keys.find(OWNER, "k").result == "r-1"


def test_old_keys_are_forgotten(people, clock):
    people.keys.begin(OWNER, "old", BODY)
    clock.on(100)
    people.keys.begin(OWNER, "new", BODY)
    assert people.keys.forget(before=int(clock.now) - 50) == 1
    assert people.keys.find(OWNER, "old") is None and people.keys.find(OWNER, "new")


def test_of_many_at_once_one_takes_the_key(people):
    start, fresh = threading.Barrier(8), []

    def work():
        start.wait()
        fresh.append(people.keys.begin(OWNER, "k", BODY).fresh)

    threads = [threading.Thread(target=work) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert sum(fresh) == 1 and len(fresh) == 8
