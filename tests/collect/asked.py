"""Surveys and reports for tests of the collector."""

from __future__ import annotations

import json
import secrets
from dataclasses import replace
from typing import Any

from discreet.collect.sending import shown
from discreet.collect.store import Batch, Sent, Store
from discreet.collect.survey import Survey
from discreet.local.randomizer import Randomizer
from discreet.local.response import RandomizedResponse

YES, NO = b"\0", b"\1"


def survey(store: Store | None = None, *, randomizer: Randomizer | None = None, **more: Any) -> Survey:
    """Did you? A yes is one byte 0, a no is 1."""
    made = Survey.new("Did you?", randomizer or RandomizedResponse(["yes", "no"], epsilon=1), **more)
    if store is not None:
        store.make(made)
    return made


def sent(report: bytes = YES, *, id_: bytes | None = None, token: bytes | None = None) -> Sent:
    return Sent(secrets.token_bytes(16) if id_ is None else id_, report, token)


def batch(of: Survey, *reports: Sent) -> Batch:
    return Batch(of.id, reports or (sent(),))


def line(of: Survey, *, report: bytes = YES, id_: str | None = None, **more: Any) -> dict[str, Any]:
    """A report as it is sent."""
    told = {"version": 1, "survey": of.id, "id": id_ or secrets.token_hex(16), "report": shown(report)}
    return told | more


def lines(*told: dict[str, Any]) -> bytes:
    return "\n".join(json.dumps(each) for each in told).encode()


def closed(of: Survey) -> Survey:
    return replace(of, closed=True)
