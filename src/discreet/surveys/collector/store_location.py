"""Where the store of surveys is: a file, or a PostgreSQL database."""

from __future__ import annotations

import os
from pathlib import Path

from discreet.errors import UsageError
from discreet.surveys.collector import sqlite_surveys
from discreet.surveys.collector.survey_store import SurveyStore


def open_survey_store(place: str | None, folder: Path, *, make: bool = False) -> SurveyStore:
    """The store at `place` (postgresql://...), at $DISCREET_SURVEYS, or in the folder's .discreet.

    make: whether one may be made where there is none.
    """
    place = place or os.environ.get("DISCREET_SURVEYS") or None
    if place is not None and place.startswith(("postgresql://", "postgres://")):
        from discreet.surveys.collector.postgres_surveys import PostgresSurveyStore

        return PostgresSurveyStore(place)
    if place is not None:
        if "://" in place:
            raise UsageError("A store must be a file or postgresql://user@host/database.")
        return sqlite_surveys.open_survey_file(Path(place), make=make)
    return sqlite_surveys.open_survey_file(sqlite_surveys.survey_file_of(folder), make=make)
