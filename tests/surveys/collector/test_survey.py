"""A survey is valid from birth, and says to a device exactly what it is."""

from __future__ import annotations

import copy
from functools import partial

import pytest

from discreet.errors import UsageError
from discreet.surveys.collector.survey_definition import Survey, is_survey_id
from discreet.surveys.protocols.randomized_response import RandomizedResponse
from discreet.surveys.protocols.several_questions import Sampled
from surveys.collector.asked import survey

COINS = RandomizedResponse(["yes", "no"], epsilon="1.1")


def test_the_document_of_the_wire():
    made = Survey.new("Did you go out drinking?", COINS, minimum=30)
    assert made.to_data() == {
        "version": 1,
        "survey": made.id,
        "question": "Did you go out drinking?",
        "randomizer": COINS.parameters(),
        "minimum": 30,
        "closed": False,
        "token": False,
        "asker": "",
    }
    assert Survey.from_data(made.to_data()).to_data() == made.to_data()
    assert made.as_closed().to_data()["closed"] is True


def test_ids_are_short_plain_and_different():
    ids = {Survey.new("?", COINS).id for _ in range(200)}
    assert len(ids) == 200
    assert all(is_survey_id(id_) and id_.isalnum() and id_.isascii() for id_ in ids)
    assert not is_survey_id("../../etc/") and not is_survey_id("") and not is_survey_id("A" * 10)


@pytest.mark.parametrize("question", ["", "  ", "a\nb", "\x1b[31mred", "x" * 2001])
def test_a_question_is_one_line(question):
    with pytest.raises(UsageError, match="one line"):
        Survey.new(question, COINS)


@pytest.mark.parametrize("minimum", [0, -1, 10**10])
def test_a_minimum_is_at_least_one(minimum):
    with pytest.raises(UsageError, match="minimum"):
        Survey.new("?", COINS, minimum=minimum)


def test_a_collector_that_lies_about_its_coins_is_refused():
    told = survey().to_data()
    for change in (
        lambda data: data["randomizer"]["numbers"].update(lie=1),
        lambda data: data["randomizer"].update(costs="1/2"),
        lambda data: data["randomizer"].update(protocol="truth"),
        lambda data: data["randomizer"]["options"].update(choices=["yes"]),
        lambda data: data.update(randomizer=None),
        lambda data: data.update(version=2),
        lambda data: data.update(survey="../"),
        lambda data: data.pop("question"),
        lambda data: data.update(minimum="many"),
    ):
        data = copy.deepcopy(told)
        change(data)
        with pytest.raises(UsageError):
            Survey.from_data(data)


def test_a_survey_asks_one_question():
    with pytest.raises(UsageError, match="one question"):
        Survey.new("?", Sampled(dict.fromkeys("ab", partial(RandomizedResponse, ["yes", "no"])), epsilon=1))
