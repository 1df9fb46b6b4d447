"""From a request's body to reports that may be counted. Everything is checked before anything is stored.

    {"version": 1, "survey": "...", "id": 32 hexadecimal figures, "report": base64url without padding}

One such object is a report; several, one on each line, are a batch, which is counted whole or not at
all. A survey that needs tokens wants a "token" in each.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.surveys.collector.survey_definition import VERSION, Survey
from discreet.surveys.collector.survey_store import (
    AcceptedBatch,
    BatchOutcome,
    DeclinedBatch,
    IncomingReport,
    ReportBatch,
)
from discreet.surveys.protocols.collection_periods import PERIOD_BYTES, CollectionPeriods

#: A device's clock may be this far ahead of the collector's.
CLOCK_SLACK_S = 600
#: The longest report, as JSON, and the longest body, in bytes.
LONGEST_REPORT = 16 * 1024
LONGEST_BODY = 1024 * 1024

#: To a sender who retried because no answer came, this is as good as an acknowledgement.
REPEATED_REPORT = "A report whose id was counted before is not counted again: the first one stays."

_FIELDS = {"version", "survey", "id", "report"}
_ID = re.compile(r"[0-9a-fA-F]{32}", re.ASCII)
_BASE64 = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{22}", re.ASCII)


class RequestRefusal(Exception):
    """A request that is refused: a status of HTTP, one sentence, and the line at fault in a batch."""

    def __init__(self, status: int, reason: str, *, line: int | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.line = line

    def to_data(self) -> dict[str, Any]:
        if self.line is None:
            return {"error": self.reason}
        return {"error": f"Line {self.line}: {self.reason} No report of this batch was counted.", "line": self.line}


@dataclass(frozen=True, slots=True)
class ReportUpload:
    """The reports of one request, and the line that each stands on."""

    batch: ReportBatch
    lines: tuple[int, ...]

    def answer(self, outcome: BatchOutcome) -> dict[str, Any]:
        """What the sender is told; raises what was declined."""
        match outcome:
            case DeclinedBatch():
                line = self.lines[outcome.place] if outcome.place is not None and len(self.lines) > 1 else None
                raise RequestRefusal(outcome.status, outcome.reason, line=line)
            case AcceptedBatch():
                response_data: dict[str, Any] = {"accepted": outcome.accepted, "repeated": outcome.repeated}
                if outcome.repeated:
                    response_data["note" if outcome.accepted else "error"] = REPEATED_REPORT
                return response_data


def read_body(body: bytes, survey: Survey, *, now: float | None = None) -> ReportUpload:
    """The reports in a body, which arrived `now` (seconds since 1970)."""
    numbered = [(number, line) for number, line in enumerate(body.split(b"\n"), 1) if line.strip()]
    if not numbered:
        raise RequestRefusal(400, "The request contains no report.")
    if len(numbered) > 1 and len(body) <= LONGEST_REPORT and not numbered[0][1].rstrip().endswith(b"}"):
        numbered = [(1, body)]  # one object that is spread over lines
    sent, several = [], len(numbered) > 1
    for number, line in numbered:
        try:
            sent.append(_read_line(line, survey))
        except RequestRefusal as wrong:
            raise RequestRefusal(wrong.status, wrong.reason, line=number if several else None) from None
    lines = tuple(number for number, _ in numbered)
    _refuse_impossible_reports(sent, lines, survey, time.time() if now is None else now)
    return ReportUpload(ReportBatch(survey.id, tuple(sent)), lines)


def _read_line(line: bytes, survey: Survey) -> IncomingReport:
    if len(line) > LONGEST_REPORT:
        raise RequestRefusal(413, f"A report can have at most {LONGEST_REPORT:,} bytes.")
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        raise RequestRefusal(400, "The report is not valid JSON.") from None
    if not isinstance(fields, dict) or not _FIELDS <= fields.keys() <= _FIELDS | {"token"}:
        raise RequestRefusal(
            400, "A report must be an object with version, survey, id and report, and optionally a token."
        )
    if type(fields["version"]) is not int or fields["version"] != VERSION:
        raise RequestRefusal(400, f"This collector accepts reports of version {VERSION} only.")
    if fields["survey"] != survey.id:
        raise RequestRefusal(400, "This report is for another survey.")
    if not isinstance(fields["id"], str) or not _ID.fullmatch(fields["id"]):
        raise RequestRefusal(400, "A report's id must have 32 hexadecimal digits.")
    return IncomingReport(
        bytes.fromhex(fields["id"]), _read_report(fields["report"], survey), _read_token(fields.get("token"), survey)
    )


def _read_report(text: object, survey: Survey) -> bytes:
    width = survey.report_width
    if not isinstance(text, str) or len(text) != -(-width * 4 // 3) or not _BASE64.fullmatch(text):
        raise RequestRefusal(400, f"A report of this survey must be {width:,} bytes in base64url without padding.")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _read_token(text: object, survey: Survey) -> bytes | None:
    if text is None or not survey.token:
        return None
    if not isinstance(text, str) or not _TOKEN.fullmatch(text):
        raise RequestRefusal(403, "This enrolment token is not valid for this survey.")
    return token_hash(text)


def token_hash(token: str) -> bytes:
    """A token as it is stored. It has 128 random bits, so a plain hash cannot be turned back."""
    return hashlib.sha256(token.encode("ascii")).digest()


def _refuse_impossible_reports(sent: list[IncomingReport], lines: tuple[int, ...], survey: Survey, now: float) -> None:
    """Refuse what the randomizer cannot have made, and reports of a period that is over or has not begun."""
    joined = np.frombuffer(b"".join(one.report for one in sent), dtype=np.uint8).reshape(len(sent), -1)
    if survey.periods is not None:
        for place, one in enumerate(sent):
            if (reason := _period_problem(one.report, survey.periods, now)) is not None:
                raise RequestRefusal(400, reason, line=lines[place] if len(lines) > 1 else None)
        joined = np.ascontiguousarray(joined[:, PERIOD_BYTES:])
    made = survey.randomizer.valid(joined)
    if not made.all():
        first = int(np.argmin(made))
        raise RequestRefusal(
            400,
            f"This is not a possible report of the protocol {survey.randomizer.protocol}.",
            line=lines[first] if len(lines) > 1 else None,
        )


def _period_problem(report: bytes, periods: CollectionPeriods, now: float) -> str | None:
    """A report is taken while its period runs, and in the period after it; then the period is final."""
    number = int.from_bytes(report[:PERIOD_BYTES], "big")
    first, last = periods.number_at(now) - 1, periods.number_at(now + CLOCK_SLACK_S)
    if 1 <= number <= periods.periods and first <= number <= last:
        return None
    return (
        f"This report is for {periods.every} {number}; the survey now takes reports for {periods.every} "
        f"{min(max(last, 1), periods.periods)} and the one before."
    )
