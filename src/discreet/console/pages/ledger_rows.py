"""The ledger's rows for people: what each says, without anything exact and without persons.

Owners see when each row was written, to the second, its digest and whole body. Others see times to the minute, and only
of rows that no count comes before in their own question: an answer's time, or its digest, from which the time can be
tried out, would tell how long counting took. That somebody was forgotten is told to owners alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet import exact
from discreet.ledger.chain import LedgerEntry
from discreet.ledger.public_entries import entries_as_data, public_digest, public_time
from discreet.ledger.state import LedgerState

#: Rows whose minute may be told.
TIMED = frozenset({"open", "population", "grant", "charge", "invariant"})

#: A forgotten person's row is an act of the owner to everybody else.
_HIDDEN = "forget"


def row_json(entry: LedgerEntry, state: LedgerState, *, owner: bool) -> dict[str, Any]:
    """A row as JSON data."""
    body = entry.data()
    kind = shown_kind(entry.kind, owner=owner)
    hidden = kind != entry.kind
    charge = state.charge_of(body)
    table, analyst = row_subject(entry, state)
    row_data = {
        "row": entry.seq,
        "kind": kind,
        "time": _time(entry, state, owner=owner),
        "table": None if hidden else table,
        "analyst": analyst,
        "release": charge.id if charge is not None else None,
        "epsilon": exact.as_float(exact.read(body["price"]), up=True) if entry.kind == "charge" else None,
        "words": "an act of the owner" if hidden else row_sentence(entry.kind, body),
    }
    return row_data | ({"digest": public_digest(entry, state)} if owner else {})


def shown_kind(kind: str, *, owner: bool) -> str:
    """What kind of row others than owners see; where it is another one, they do not see its table."""
    return "owner" if kind == _HIDDEN and not owner else kind


def row_subject(entry: LedgerEntry, state: LedgerState) -> tuple[str | None, str | None]:
    """The table and the analyst that a row is about: its own, or those of its charge."""
    body = entry.data()
    charge = state.charge_of(body)
    of_charge = (None, None) if charge is None else (charge.table, charge.analyst)
    return body.get("table") or of_charge[0], body.get("analyst") or of_charge[1]


def _time(entry: LedgerEntry, state: LedgerState, *, owner: bool) -> str | None:
    if owner:
        return f"{public_time(entry, state)[:19]}Z"
    return f"{entry.time[:16]}Z" if entry.kind in TIMED else None


def row_sentence(kind: str, body: Mapping[str, Any]) -> str:
    """What a row says, in a sentence."""
    match kind:
        case "open":
            return "the ledger was opened"
        case "population":
            return f"{body['population']} has a budget of {_limit_words(body['guarantee'])}, for each {body['unit']}"
        case "grant":
            return f"the limit of {body['population']} was raised to {_limit_words(body['guarantee'])}"
        case "version":
            return f"version {body['version']} of {body['table']} was made"
        case "charge":
            return f"{body['analyst'] or 'an unnamed analyst'} was charged for {body['id']}, version {body['version']}"
        case "answer":
            return f"the noisy answer of {body['id']} was stored"
        case "step" | "row":
            return f"{body['id']}: step {body['number']}"
        case "failure":
            return f"{body['id']} {_failure_words(body)}; the charge stays"
        case "gap":
            whom = ", ".join(sorted({part["population"] for part in body["charges"]})) or "nobody"
            return f"an older copy of the ledger was restored: the missing charges were charged to {whom}"
        case "acknowledge":
            tables = ", ".join(body["tables"])
            return f"the owner acknowledged the problem{': ' + tables + ' can be queried again' if tables else ''}"
        case "adopt":
            return {"moved": "the ledger moved", "joined": "another machine joined"}.get(
                body["state"], "the ledger was copied to another machine"
            ) + (f"; the whole budget is spent for {', '.join(body['sealed'])}" if body["sealed"] else "")
        case "invariant":
            return f"exact totals of {body['population']} were published: {body['words']}"
        case "forget":
            act = "the rows of a forgotten person are gone from" if body.get("erased") else "a person was forgotten in"
            return f"{act} {', '.join(body['tables'])}"
    return kind


def _failure_words(body: Mapping[str, Any]) -> str:
    """How something ended that was charged and has no answer. Only what was not completed counts towards a lock."""
    if body.get("stopped") is True:
        return "was stopped"
    return "took too long" if body.get("late") is True else "was not completed"


def _limit_words(guarantee: Mapping[str, str]) -> str:
    return f"epsilon {exact.show(exact.read(guarantee['epsilon']))}, delta {exact.show(exact.read(guarantee['delta']))}"


def export_row(entry: LedgerEntry, state: LedgerState, *, owner: bool) -> dict[str, Any]:
    """A row for a file: to owners as `discreet ledger export` writes it, to others as it is shown."""
    if not owner:
        return row_json(entry, state, owner=False)
    return entries_as_data([entry], state)[0]
