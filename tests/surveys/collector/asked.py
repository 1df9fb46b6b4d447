"""Surveys and reports for tests of the collector."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from typing import Any

from discreet.surveys.collector.survey_definition import Survey
from discreet.surveys.collector.survey_store import IncomingReport, ReportBatch, SurveyStore
from discreet.surveys.device.report_sender import report_text
from discreet.surveys.protocols.randomized_response import RandomizedResponse
from discreet.surveys.protocols.randomizer import Randomizer

YES, NO = b"\0", b"\1"


def survey(store: SurveyStore | None = None, *, randomizer: Randomizer | None = None, **more: Any) -> Survey:
    """Did you? A yes is one byte 0, a no is 1."""
    made = Survey.new("Did you?", randomizer or RandomizedResponse(["yes", "no"], epsilon=1), **more)
    if store is not None:
        store.make(made)
    return made


def sent(report: bytes = YES, *, id_: bytes | None = None, token: bytes | None = None) -> IncomingReport:
    return IncomingReport(secrets.token_bytes(16) if id_ is None else id_, report, token)


def batch(of: Survey, *reports: IncomingReport) -> ReportBatch:
    return ReportBatch(of.id, reports or (sent(),))


def line(of: Survey, *, report: bytes = YES, id_: str | None = None, **more: Any) -> dict[str, Any]:
    """A report as it is sent."""
    told = {"version": 1, "survey": of.id, "id": id_ or secrets.token_hex(16), "report": report_text(report)}
    return told | more


def lines(*told: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(each) for each in told).encode()


def closed(of: Survey) -> Survey:
    return replace(of, closed=True)
