"""Group commit: one thread takes all that waits, stores it in one transaction, and only then answers.

While the disk is busy with one group the next one gathers, so that the cost of a commit is shared by
as many requests as wait for it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from discreet.errors import StoreFault
from discreet.surveys.collector.survey_store import BatchOutcome, ReportBatch, SurveyStore

#: The most reports of one transaction (a batch more at the end).
REPORTS_PER_COMMIT = 5_000
#: The most bytes that may wait; more are told to come back.
MOST_WAITING_BYTES = 64 * 1024 * 1024
#: What a report weighs beside its own bytes, about.
_WRAPPING = 300


@dataclass(frozen=True, slots=True)
class _Job:
    batch: ReportBatch
    done: Callable[[BatchOutcome | Exception], None]
    weight: int


class WriterBusy(Exception):
    """Too much is waiting to be stored."""


class ReportWriter:
    """The one thread that adds reports to a store.

    Guarantee: an outcome is told only after the transaction that holds it is committed.
    """

    def __init__(self, store: SurveyStore) -> None:
        self._store = store
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._waiting = 0
        self._lock = threading.Lock()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="discreet-collect", daemon=True)
        self._thread.start()

    def put(self, batch: ReportBatch, done: Callable[[BatchOutcome | Exception], None]) -> None:
        """Store this soon; `done` is called in the writer's thread with what became of it."""
        weight = sum(len(sent.report) + _WRAPPING for sent in batch.reports)
        with self._lock:
            if self._stopped or self._waiting + weight > MOST_WAITING_BYTES:
                raise WriterBusy
            self._waiting += weight
            self._jobs.put(_Job(batch, done, weight))

    def add(self, batch: ReportBatch) -> BatchOutcome:
        """The same for a caller that can wait."""
        future: Future[BatchOutcome | Exception] = Future()
        self.put(batch, future.set_result)
        outcome = future.result()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def stop(self) -> None:
        """Store what waits, then end."""
        with self._lock:
            if not self._stopped:
                self._stopped = True
                self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            group, ended = self._gather(job)
            self._store_group(group)
            if ended:
                return

    def _gather(self, first: _Job) -> tuple[list[_Job], bool]:
        """The first and all that wait behind it; and whether the end was among them."""
        group, size = [first], len(first.batch.reports)
        while size < REPORTS_PER_COMMIT:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                return group, True
            group.append(job)
            size += len(job.batch.reports)
        return group, False

    def _store_group(self, group: list[_Job]) -> None:
        outcomes: Sequence[BatchOutcome | Exception]
        try:
            outcomes = self._store.add([job.batch for job in group])
        except StoreFault as fault:
            outcomes = [fault] * len(group)
        except Exception as defect:
            # A defect of ours must not end the thread, or nobody would be answered any more.
            outcomes = [StoreFault(f"a report could not be stored ({type(defect).__name__})")] * len(group)
        with self._lock:
            self._waiting -= sum(job.weight for job in group)
        for job, outcome in zip(group, outcomes, strict=True):
            job.done(outcome)
