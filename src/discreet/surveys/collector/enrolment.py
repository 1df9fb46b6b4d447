"""Enrolment tokens: 128 random bits, each good for one report of one survey.

The store keeps a token's hash and whether it was used, and has no column for when, or by which report. But both are
written in one transaction, so that neither counts without the other: whoever sees the store's own log or row versions
(PostgreSQL's xmin, SQLite's -wal file) can tell which report a token came with. The report stays noised all the same.
"""

from __future__ import annotations

import secrets

from discreet.errors import Command, Flag, Message, UsageError
from discreet.surveys.collector.intake import token_hash
from discreet.surveys.collector.survey_definition import Survey
from discreet.surveys.collector.survey_store import SurveyStore

_BYTES = 16


def enrol(store: SurveyStore, survey: Survey, many: int) -> list[str]:
    """New tokens for a survey. Nobody can show them again."""
    if not survey.token:
        raise UsageError(
            "This survey does not use tokens.",
            hint=Message(Command("survey new", "...", Flag("tokens", True)), ", for a survey that does"),
        )
    if survey.closed:
        raise UsageError("This survey is closed.")
    made = [secrets.token_urlsafe(_BYTES) for _ in range(many)]
    store.enrol(survey.id, [token_hash(token) for token in made])
    return made
