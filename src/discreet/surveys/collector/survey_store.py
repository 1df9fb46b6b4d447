"""Where reports are kept: the Protocol, what goes in and comes out, and the one decision that all stores share.

A store adds many batches in one transaction. It locks the surveys they belong to, reads what it must
know, lets `BatchDecider` decide each batch, and writes what was decided. So two collectors, a retry and a
closing hand cannot disagree about what was counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.errors import Command, Message, StoreFault, UsageError
from discreet.surveys.collector.survey_definition import Survey

#: A report's id has so many bytes: 32 figures on the wire.
ID_BYTES = 16
#: Reports that are read from a store at once.
REPORTS_PER_READ = 100_000


@dataclass(frozen=True, slots=True)
class IncomingReport:
    """One report as it came in: checked, not yet counted. `token` is hashed already."""

    id: bytes
    report: bytes
    token: bytes | None = None


@dataclass(frozen=True, slots=True)
class ReportBatch:
    """Reports of one survey that are counted together or not at all."""

    survey: str
    reports: tuple[IncomingReport, ...]


@dataclass(frozen=True, slots=True)
class AcceptedBatch:
    """A batch that is stored: so many reports are new, so many were counted before."""

    accepted: int
    repeated: int


@dataclass(frozen=True, slots=True)
class DeclinedBatch:
    """A batch of which nothing is stored: a status of HTTP, a sentence, the place of the report at fault."""

    status: int
    reason: str
    place: int | None = None


BatchOutcome = AcceptedBatch | DeclinedBatch


@dataclass(frozen=True, slots=True)
class PlacedReport:
    """A report in its place: the places of a survey are 1, 2, 3, ... without a gap, in the order of commits."""

    survey: str
    place: int
    id: bytes
    report: bytes


@dataclass(slots=True)
class SurveySnapshot:
    """What a transaction must know of one survey before it decides; `BatchDecider` keeps it up to date."""

    closed: bool
    token: bool
    reports: int
    #: Of the ids that came in, those that are counted already.
    ids: set[bytes]
    #: Of the tokens that came in, those that were given out, and whether each was used.
    tokens: dict[bytes, bool]


@dataclass(slots=True)
class BatchDecider:
    """Decides batches one after the other within a transaction.

    A repeat is recognised by its id alone, before its token is looked at: a device that was not told
    that its report arrived sends it again, and by then its token is used. Tokens are never stored
    beside a report.
    """

    snapshots: dict[str, SurveySnapshot]
    rows: list[PlacedReport] = field(default_factory=list)
    used_tokens: list[tuple[str, bytes]] = field(default_factory=list)

    def decide(self, batch: ReportBatch) -> BatchOutcome:
        snapshot = self.snapshots.get(batch.survey)
        if snapshot is None:
            return DeclinedBatch(404, "There is no such survey.")
        new: dict[bytes, IncomingReport] = {}
        spent: set[bytes] = set()
        for place, sent in enumerate(batch.reports):
            if sent.id in snapshot.ids or sent.id in new:
                continue
            if snapshot.closed:
                return DeclinedBatch(410, "This survey is closed.", place)
            if snapshot.token:
                if (problem := _token_problem(sent.token, snapshot, spent)) is not None:
                    return DeclinedBatch(*problem, place)
                assert sent.token is not None
                spent.add(sent.token)
            new[sent.id] = sent
        self._accept(batch.survey, snapshot, new, spent)
        return AcceptedBatch(len(new), len(batch.reports) - len(new))

    def _accept(
        self, survey: str, snapshot: SurveySnapshot, new: dict[bytes, IncomingReport], spent: set[bytes]
    ) -> None:
        for sent in new.values():
            snapshot.reports += 1
            self.rows.append(PlacedReport(survey, snapshot.reports, sent.id, sent.report))
        snapshot.ids.update(new)
        snapshot.tokens.update(dict.fromkeys(spent, True))
        self.used_tokens += [(survey, token) for token in sorted(spent)]


def _token_problem(token: bytes | None, snapshot: SurveySnapshot, spent: set[bytes]) -> tuple[int, str] | None:
    if token is None:
        return 403, "This survey needs an enrolment token with each report."
    if token not in snapshot.tokens:
        return 403, "This enrolment token is not valid for this survey."
    if snapshot.tokens[token] or token in spent:
        return 409, "This enrolment token was already used."
    return None


class SurveyStore(Protocol):
    """Surveys and their reports. What `add` returned is on disk; so is everything else once its call is over.

    Any thread may call. Another process may use the same store at the same time.
    """

    def make(self, survey: Survey) -> None:
        """Keep a new survey."""

    def survey(self, id_: str) -> Survey:
        """The survey with this id; a UsageError where there is none."""

    def surveys(self) -> list[Survey]:
        """All of them, oldest first."""

    def end(self, id_: str) -> None:
        """Close a survey for good; once more does nothing."""

    def enrol(self, id_: str, tokens: Iterable[bytes]) -> None:
        """Give out tokens, which come hashed."""

    def tokens(self, id_: str) -> tuple[int, int]:
        """How many tokens were given out, and how many of them are used."""

    def add(self, batches: Sequence[ReportBatch]) -> list[BatchOutcome]:
        """Count these, each batch whole or not at all, all of them in one transaction."""

    def count(self, id_: str) -> int:
        """How many reports a survey has."""

    def reports(self, survey: Survey, *, after: int = 0, most: int = REPORTS_PER_READ) -> NDArray[np.uint8]:
        """The reports behind place `after`, in order, one row each, at most so many."""

    def close(self) -> None:
        """Let go of it."""


def unknown_survey(id_: str) -> UsageError:
    return UsageError(
        f"There is no survey {id_[:40]!r} here.", hint=Message(Command("survey list"), ", to see all surveys")
    )


def report_matrix(reports: Sequence[bytes], width: int) -> NDArray[np.uint8]:
    """Reports as they are stored, as one matrix."""
    joined = b"".join(reports)
    if len(joined) != len(reports) * width:
        raise StoreFault("a stored report has the wrong length: another program changed the store")
    return np.frombuffer(joined, dtype=np.uint8).reshape(len(reports), width)


def all_reports(store: SurveyStore, survey: Survey) -> NDArray[np.uint8]:
    """All reports of a survey as one matrix."""
    pieces, after = [], 0
    while True:
        piece = store.reports(survey, after=after)
        pieces.append(piece)
        after += len(piece)
        if len(piece) < REPORTS_PER_READ:
            return np.concatenate(pieces)
