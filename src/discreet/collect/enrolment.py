"""Enrolment tokens: 128 random bits, each good for one report of one survey.

The collector keeps a token's hash and whether it was used; not when, and not by which report.
"""

from __future__ import annotations

import secrets

from discreet.collect.intake import hashed
from discreet.collect.store import Store
from discreet.collect.survey import Survey
from discreet.errors import UsageError

_BYTES = 16


def enrol(store: Store, survey: Survey, many: int) -> list[str]:
    """New tokens for a survey. Nobody can show them again."""
    if not survey.token:
        raise UsageError("This survey takes reports without tokens.", hint="discreet survey new ... --tokens makes one")
    if survey.closed:
        raise UsageError("This survey is closed.")
    made = [secrets.token_urlsafe(_BYTES) for _ in range(many)]
    store.enrol(survey.id, [hashed(token) for token in made])
    return made
