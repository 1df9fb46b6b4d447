"""Tokens: shown once, known by their digest, no mightier than they were made or than their person is."""

import pytest

from discreet.console.people import secret
from discreet.console.people.tokens import EACH
from discreet.errors import UsageError

DAY = 86_400


def why(people, text):
    found = people.tokens.find(text)
    return "unknown" if found is None else found.why_not(people.clock())


def test_a_token(people, ada):
    text, made = people.tokens.make(ada, label=" nightly  job ")
    assert text.startswith("dsc_") and len(text) == 47
    assert people.tokens.find(text) == made
    assert made.data(people.clock()) == {
        "number": 1,
        "person": "Ada",
        "label": "nightly job",
        "role": "owner",
        "created": "2027-01-15T08:00:00Z",
        "expires": "2027-04-15T08:00:00Z",
        "revoked": None,
        "used": None,
        "holds": True,
    }
    assert why(people, text) == ""


@pytest.mark.parametrize("wrong", ["", "dsc_", "dsc_" + "A" * 43, "A" * 43, "\ud800", "dsc_" + "a" * 10_000])
def test_another_is_unknown(people, ada, wrong):
    text, _ = people.tokens.make(ada, label="x")
    assert why(people, wrong) == why(people, text.removeprefix("dsc_")) == why(people, text + "x") == "unknown"
    assert why(people, "dsc_" + secret.digest(text).hex()) == "unknown"


def test_it_expires(people, ada, clock):
    usual, _ = people.tokens.make(ada, label="usual")
    short, _ = people.tokens.make(ada, label="short", days=1)
    clock.on(DAY - 1)
    assert why(people, short) == ""
    clock.on(1)
    assert why(people, short) == "the token has expired"
    clock.on(89 * DAY - 1)
    assert why(people, usual) == ""
    clock.on(1)
    assert why(people, usual) == "the token has expired"


def test_it_is_revoked_for_good_and_once(people, ada, clock):
    text, made = people.tokens.make(ada, label="x")
    other, _ = people.tokens.make(ada, label="y")
    revoked = people.tokens.revoke(made.number)
    clock.on(5)
    assert people.tokens.revoke(made.number) == revoked
    assert why(people, text) == "the token was revoked"
    assert why(people, other) == ""
    with pytest.raises(UsageError, match="no token 99"):
        people.tokens.revoke(99)


def test_its_role_is_the_lesser_of_its_own_and_its_persons(people, ada, ben):
    lesser, made = people.tokens.make(ada, label="reads", role="analyst")
    full, _ = people.tokens.make(ada, label="all")
    assert made.role == "analyst"
    assert people.tokens.find(full).role == "owner"
    people.roster.set_role("ben", "owner")
    people.roster.set_role("ada", "analyst")
    assert people.tokens.find(full).role == "analyst"
    assert people.tokens.find(lesser).role == "analyst"
    people.roster.set_role("ada", "owner")
    assert people.tokens.find(lesser).role == "analyst"


def test_nobody_makes_one_above_themselves(people, ben):
    with pytest.raises(UsageError, match="not an owner"):
        people.tokens.make(ben, label="x", role="owner")
    with pytest.raises(UsageError, match="not a role"):
        people.tokens.make(ben, label="x", role="public")


@pytest.mark.parametrize("days", [0, -1, 3651])
def test_days_that_are_refused(people, ada, days):
    with pytest.raises(UsageError, match="1 to 3,650 days"):
        people.tokens.make(ada, label="x", days=days)


@pytest.mark.parametrize("label", ["", "  ", "x" * 61, "a\0b"])
def test_labels_that_are_refused(people, ada, label):
    with pytest.raises(UsageError, match="the label"):
        people.tokens.make(ada, label=label)


def test_the_day_it_was_used_is_written_once(people, ada, clock, monkeypatch):
    text, _ = people.tokens.make(ada, label="x")
    people.tokens.note_use(people.tokens.find(text))
    assert people.tokens.find(text).used == "2027-01-15"
    with monkeypatch.context() as patch:
        patch.setattr(people.store, "writing", lambda: pytest.fail("written again"))
        people.tokens.note_use(people.tokens.find(text))
    clock.on(DAY)
    people.tokens.note_use(people.tokens.find(text))
    assert people.tokens.find(text).used == "2027-01-16"


def test_so_many_hold_at_once(people, ada):
    made = [people.tokens.make(ada, label=str(each))[1] for each in range(EACH)]
    with pytest.raises(UsageError, match="50 active tokens"):
        people.tokens.make(ada, label="one more")
    people.tokens.revoke(made[0].number)
    people.tokens.make(ada, label="one more")


def test_lists(people, ada, ben):
    people.tokens.make(ada, label="hers")
    people.tokens.make(ben, label="his")
    assert [token.label for token in people.tokens.all()] == ["hers", "his"]
    assert [token.label for token in people.tokens.all(ben)] == ["his"]


def test_what_a_token_made_ends_with_it_and_no_later(people, ada, clock):
    """Else whoever stole one could make themselves another, and stay when it is revoked."""
    _, first = people.tokens.make(ada, label="first", days=10)
    text, second = people.tokens.make(ada, label="second", days=90, parent=first)
    deep, third = people.tokens.make(ada, label="third", days=1, parent=second)
    beside, _ = people.tokens.make(ada, label="beside", days=90)
    assert second.expires == first.expires and third.expires < first.expires
    people.tokens.revoke(first.number)
    assert why(people, text) == why(people, deep) == "the token was revoked" and why(people, beside) == ""
    with pytest.raises(UsageError, match="the token that made this request was revoked"):
        people.tokens.make(ada, label="late", parent=first)
