"""Group commit: what is told was stored, what waits is bounded, a fault ends nothing."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.errors import StoreFault
from discreet.surveys.collector import report_writer as module
from discreet.surveys.collector.report_writer import ReportWriter, WriterBusy
from discreet.surveys.collector.store_location import open_survey_store
from discreet.surveys.collector.survey_store import AcceptedBatch
from surveys.collector.asked import batch, sent, survey


class Slow:
    """A store whose disk waits until it is let go."""

    def __init__(self, store):
        self.store, self.go, self.groups, self.entered = store, threading.Event(), [], threading.Event()

    def add(self, batches):
        self.entered.set()
        assert self.go.wait(20)
        self.groups.append(len(batches))
        return self.store.add(batches)


def test_all_that_waits_shares_a_commit_and_nobody_is_told_before_it(file_store):
    asked, slow = survey(file_store), Slow(file_store)
    writer = ReportWriter(slow)
    told = []
    writer.put(batch(asked), told.append)
    assert slow.entered.wait(20)
    for _ in range(50):
        writer.put(batch(asked), told.append)
    assert told == []
    assert file_store.count(asked.id) == 0
    slow.go.set()
    writer.stop()
    assert told == [AcceptedBatch(1, 0)] * 51
    assert slow.groups == [1, 50]
    assert file_store.count(asked.id) == 51


def test_a_group_is_bounded(file_store, monkeypatch):
    monkeypatch.setattr(module, "REPORTS_PER_COMMIT", 10)
    asked, slow = survey(file_store), Slow(file_store)
    writer = ReportWriter(slow)
    for _ in range(41):
        writer.put(batch(asked), lambda outcome: None)
    slow.go.set()
    writer.stop()
    assert max(slow.groups) == 10 and sum(slow.groups) == 41


def test_more_than_may_wait_is_sent_away(file_store, monkeypatch):
    monkeypatch.setattr(module, "MOST_WAITING_BYTES", 2_000)
    asked, slow = survey(file_store), Slow(file_store)
    writer = ReportWriter(slow)
    for _ in range(6):
        writer.put(batch(asked), lambda outcome: None)
    with pytest.raises(WriterBusy):
        writer.put(batch(asked), lambda outcome: None)
    slow.go.set()
    assert writer.add(batch(asked, sent())) == AcceptedBatch(1, 0) if _room(writer) else True
    writer.stop()
    with pytest.raises(WriterBusy):
        writer.put(batch(asked), lambda outcome: None)
    assert writer._waiting == 0


def _room(writer: ReportWriter) -> bool:
    """Wait until what waited is stored."""
    for _ in range(2000):
        if not writer._waiting:
            return True
        threading.Event().wait(0.005)
    return False


@pytest.mark.parametrize("fault", [StoreFault("the disk is full"), ZeroDivisionError()])
def test_a_fault_is_told_to_all_of_its_group_and_ends_nothing(file_store, fault):
    asked = survey(file_store)

    class Once:
        def __init__(self):
            self.failed = False

        def add(self, batches):
            if not self.failed:
                self.failed = True
                raise fault
            return file_store.add(batches)

    writer = ReportWriter(Once())
    with pytest.raises(StoreFault):
        writer.add(batch(asked))
    assert writer.add(batch(asked)) == AcceptedBatch(1, 0)
    writer.stop()


def test_many_senders(store):
    asked = survey(store)
    writer = ReportWriter(store)
    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(lambda _: writer.add(batch(asked, sent(), sent())), range(100)))
    writer.stop()
    assert outcomes == [AcceptedBatch(2, 0)] * 100
    assert store.count(asked.id) == 200


def test_what_was_told_is_there_for_another(place):
    one = open_survey_store(place, None, make=True)
    asked = survey(one)
    writer = ReportWriter(one)
    writer.add(batch(asked))
    other = open_survey_store(place, None)
    assert other.count(asked.id) == 1
    writer.stop()
    one.close()
    other.close()
