"""One suite for every store: what is counted, what is not, and what a race cannot change."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import UsageError
from discreet.surveys.collector import survey_store as stores
from discreet.surveys.collector.store_location import open_survey_store
from discreet.surveys.collector.survey_store import (
    AcceptedBatch,
    BatchDecider,
    DeclinedBatch,
    ReportBatch,
    SurveySnapshot,
    all_reports,
)
from discreet.surveys.protocols.unary import OptimisedUnary
from surveys.collector.asked import NO, YES, batch, sent, survey


def tokens(*names: str) -> list[bytes]:
    return [sha256(name.encode()).digest() for name in names]


def test_a_survey_comes_back_as_it_was(store):
    made = survey(store, minimum=7, token=True)
    found = store.survey(made.id)
    assert found.to_data() == made.to_data()
    assert (found.created, found.closed) == (made.created, False)
    wide = survey(store, randomizer=OptimisedUnary(["ä", "b'\"", "c🙂"], epsilon="0.5"))
    assert [each.to_data() for each in store.surveys()] == [made.to_data(), wide.to_data()]


@pytest.mark.parametrize("id_", ["nothing", "", "a" * 10, "'; DROP TABLE surveys; --", "x" * 10_000, "\0"])
def test_a_survey_that_is_not_there(store, id_):
    survey(store)
    for act in (store.survey, store.end, store.count, store.tokens):
        with pytest.raises(UsageError):
            act(id_)
    assert len(store.surveys()) == 1


def test_reports_are_counted_and_read_in_order(store):
    asked = survey(store)
    assert store.count(asked.id) == 0
    assert all_reports(store, asked).shape == (0, 1)
    outcomes = store.add([batch(asked, sent(YES), sent(NO)), batch(asked, sent(NO))])
    assert outcomes == [AcceptedBatch(2, 0), AcceptedBatch(1, 0)]
    assert store.count(asked.id) == 3
    assert all_reports(store, asked).tolist() == [[0], [1], [1]]
    assert store.reports(asked, after=1, most=1).tolist() == [[1]]


def test_reading_in_pieces_is_reading_all(store, monkeypatch):
    asked = survey(store, randomizer=OptimisedUnary([str(number) for number in range(30)], epsilon=1))
    made = asked.randomizer.randomize_all(np.arange(25))
    store.add([batch(asked, *(sent(bytes(row)) for row in made))])
    monkeypatch.setattr(stores, "REPORTS_PER_READ", 10)
    monkeypatch.setattr(type(store).reports, "__kwdefaults__", {"after": 0, "most": 10})
    assert all_reports(store, asked).tolist() == made.tolist()


def test_an_id_is_counted_once_and_the_first_report_stays(store):
    asked, first = survey(store), sent(YES)
    assert store.add([batch(asked, first)]) == [AcceptedBatch(1, 0)]
    assert store.add([batch(asked, first)]) == [AcceptedBatch(0, 1)]
    assert store.add([batch(asked, replace(first, report=NO), sent(NO))]) == [AcceptedBatch(1, 1)]
    assert all_reports(store, asked).tolist() == [[0], [1]]


def test_an_id_twice_in_a_batch_or_in_a_group(store):
    asked, one = survey(store), sent(YES)
    assert store.add([batch(asked, one, replace(one, report=NO))]) == [AcceptedBatch(1, 1)]
    other = sent(NO)
    assert store.add([batch(asked, other), batch(asked, other)]) == [AcceptedBatch(1, 0), AcceptedBatch(0, 1)]
    assert all_reports(store, asked).tolist() == [[0], [1]]


def test_the_same_id_in_two_surveys_is_two_reports(store):
    one, other, same = survey(store), survey(store), sent()
    assert store.add([batch(one, same), batch(other, same)]) == [AcceptedBatch(1, 0), AcceptedBatch(1, 0)]
    assert (store.count(one.id), store.count(other.id)) == (1, 1)


def test_a_closed_survey_stays_closed(store):
    asked, before = survey(store), sent()
    store.add([batch(asked, before)])
    store.end(asked.id)
    store.end(asked.id)
    assert store.survey(asked.id).closed
    late, again = store.add([batch(asked, before, sent()), batch(asked, before)])
    assert isinstance(late, DeclinedBatch)
    assert (late.status, late.place) == (410, 1)
    assert again == AcceptedBatch(0, 1)  # it was acknowledged, and stays counted
    assert store.count(asked.id) == 1


def test_one_refused_batch_does_not_touch_the_others(store):
    asked, ended = survey(store), survey(store)
    store.end(ended.id)
    nowhere = ReportBatch("nowhere", (sent(),))
    outcomes = store.add([batch(asked), batch(ended), nowhere, batch(asked)])
    assert [type(outcome) for outcome in outcomes] == [AcceptedBatch, DeclinedBatch, DeclinedBatch, AcceptedBatch]
    assert outcomes[2].status == 404
    assert (store.count(asked.id), store.count(ended.id)) == (2, 0)


def test_a_token_is_good_for_one_report(store):
    asked = survey(store, token=True)
    one, two, stranger = tokens("one", "two", "stranger")
    store.enrol(asked.id, [one, two])
    assert store.tokens(asked.id) == (2, 0)
    first = sent(token=one)
    without, unknown, good, retried, used = store.add(
        [
            batch(asked, sent()),
            batch(asked, sent(token=stranger)),
            batch(asked, first),
            batch(asked, first),
            batch(asked, sent(token=one)),
        ]
    )
    assert (without.status, unknown.status, used.status) == (403, 403, 409)
    assert (good, retried) == (AcceptedBatch(1, 0), AcceptedBatch(0, 1))
    assert store.tokens(asked.id) == (2, 1)
    # The same again in a later transaction, and a batch of which one token is bad.
    retried, used, half = store.add(
        [batch(asked, first), batch(asked, sent(token=one)), batch(asked, sent(token=two), sent(token=one))]
    )
    assert retried == AcceptedBatch(0, 1)
    assert used.status == 409
    assert (half.status, half.place) == (409, 1)
    assert store.tokens(asked.id) == (2, 1)  # the other token of that batch is not lost
    assert store.count(asked.id) == 1
    assert store.add([batch(asked, sent(token=two))]) == [AcceptedBatch(1, 0)]


def test_one_token_for_two_reports_of_a_batch(store):
    asked = survey(store, token=True)
    store.enrol(asked.id, tokens("one"))
    (outcome,) = store.add([batch(asked, sent(token=tokens("one")[0]), sent(token=tokens("one")[0]))])
    assert (outcome.status, outcome.place) == (409, 1)
    assert store.count(asked.id) == 0


def test_a_token_of_another_survey(store):
    asked, other = survey(store, token=True), survey(store, token=True)
    store.enrol(other.id, tokens("one"))
    (outcome,) = store.add([batch(asked, sent(token=tokens("one")[0]))])
    assert outcome.status == 403
    assert store.tokens(other.id) == (1, 0)


def test_two_stores_and_many_threads_count_each_id_once(store, place):
    """Every report is sent four times, through two stores, by eight threads."""
    asked = survey(store)
    reports = [sent(bytes([number % 2])) for number in range(200)]
    other = open_survey_store(place, Path("."))

    def send(number: int) -> int:
        to = (store, other)[number % 2]
        some = reports[25 * (number // 4) : 25 * (number // 4) + 25]
        return sum(outcome.accepted for outcome in to.add([batch(asked, *some[:12]), batch(asked, *some[12:])]))

    with ThreadPoolExecutor(8) as pool:
        accepted = sum(pool.map(send, range(32)))
    other.close()
    assert accepted == store.count(asked.id) == len(all_reports(store, asked)) == 200


def test_closing_races_with_collecting(store, place):
    """Whatever was accepted is counted, and nothing is once closing is over."""
    asked = survey(store)
    other = open_survey_store(place, Path("."))
    accepted, go = [], threading.Event()

    def send() -> None:
        while True:
            (outcome,) = other.add([batch(asked)])
            if isinstance(outcome, DeclinedBatch):
                return
            accepted.append(outcome)
            go.set()

    thread = threading.Thread(target=send)
    thread.start()
    assert go.wait(20)
    store.end(asked.id)
    counted = store.count(asked.id)
    thread.join()
    other.close()
    assert len(accepted) == counted == store.count(asked.id)


def test_a_desk_that_forgets_ids_is_caught(store, monkeypatch):
    """So that the tests above are seen to fail: the decision matters, and the database's own rule stands behind it."""
    real = BatchDecider.decide

    def forgetful(desk, batch):
        desk.snapshots = {name: replace(known, ids=set()) for name, known in desk.snapshots.items()}
        return real(desk, batch)

    asked, one = survey(store), sent()
    store.add([batch(asked, one)])
    monkeypatch.setattr(BatchDecider, "decide", forgetful)
    with pytest.raises(stores.StoreFault):
        store.add([batch(asked, one)])
    monkeypatch.undo()
    assert store.count(asked.id) == 1
    assert store.add([batch(asked)]) == [AcceptedBatch(1, 0)]  # and the store goes on


def test_places_follow_each_other():
    desk = BatchDecider({"a": SurveySnapshot(closed=False, token=False, reports=5, ids=set(), tokens={})})
    desk.decide(ReportBatch("a", (sent(), sent())))
    desk.decide(ReportBatch("a", (sent(),)))
    assert [row.place for row in desk.rows] == [6, 7, 8]
