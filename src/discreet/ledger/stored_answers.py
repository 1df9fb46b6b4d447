"""Answers: what is stored under a charge, inside a section. The first one stands, and is read back by its digest."""

from __future__ import annotations

from discreet.errors import LedgerTampered, QueryFailed, UsageError
from discreet.ledger.chain_reader import sha256_of
from discreet.ledger.journal import Journal
from discreet.ledger.state import LedgerState


def store_answer(journal: Journal, state: LedgerState, id_: str, payload: str) -> str:
    """Store the answer of a charge where it has none; return what is stored."""
    try:
        payload.encode("utf-8")
    except (UnicodeEncodeError, AttributeError) as problem:
        raise UsageError("an answer must be text") from problem
    if not state.can_answer(id_):
        raise UsageError(f"nothing was charged under {id_!r}")
    if id_ in state.answers:
        return read_answer(journal, state, id_)
    if not state.refinements.may_answer(id_):
        raise QueryFailed
    sha256 = sha256_of(payload)
    journal.append("answer", {"id": id_, "sha256": sha256}, payload=(id_, sha256, payload))
    return payload


def read_answer(journal: Journal, state: LedgerState, id_: str) -> str:
    """The answer that is stored under an id; refused where it is not what was stored."""
    if id_ not in state.answers:
        raise UsageError(f"no answer is stored under {id_!r}")
    stored = state.answers[id_]
    payload = journal.store.payload(id_)
    if payload is None or sha256_of(payload) != stored.sha256:
        raise LedgerTampered(f"the stored answer of entry {stored.seq} was changed", row=stored.seq)
    return payload
