from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from discreet.errors import LedgerFault
from discreet.ledger.chain import GENESIS, LedgerEntry, canonical_json, digest
from discreet.ledger.state import LedgerState
from ledger.ledgers import ask, guarantee, laplace, make

CHARGE = {
    "id": "r-aaaaaaaaaaaaaaaa",
    "population": "p",
    "table": "t",
    "version": 1,
    "region": [{}],
    "event": {"kind": "laplace", "scale": "1/1", "l1": 1},
    "cost": {"pure": 10**9, "rho": 5 * 10**11, "delta": 0},
    "analyst": None,
    "question": "q",
    "price": "1/1",
    "decision": {
        "arm": "pure",
        "used": 1,
        "nodes": 0,
        "inside": [0, 0],
        "balance": {"pure": 10**9, "rho": 5 * 10**11, "pure_sum": 10**9, "rho_sum": 5 * 10**11},
    },
}
BEGINNING = [
    ("open", {"ledger": "abcdefgh234567ab", "format": 1}),
    ("population", {"population": "p", "guarantee": guarantee(3).to_data(), "unit": "row"}),
    ("version", {"table": "t", "version": 1, "population": "p", "schema": {}, "source": {}, "file": ""}),
]


def apply(state: LedgerState, kind: str, body: object) -> None:
    fields = {"seq": state.seq + 1, "time": "2026-01-01T00:00:00.000000Z", "kind": kind, "body": canonical_json(body)}
    state.apply(LedgerEntry(**fields, previous=state.digest, digest=digest(**fields, previous=state.digest), mac=""))


def begun() -> LedgerState:
    state = LedgerState()
    for kind, body in BEGINNING:
        apply(state, kind, body)
    return state


def changed(*where: Any, to: object) -> dict[str, Any]:
    body = deepcopy(CHARGE)
    inner: Any = body
    for step in where[:-1]:
        inner = inner[step]
    inner[where[-1]] = to
    return body


def test_a_fold():
    state = begun()
    apply(state, "charge", CHARGE)
    apply(state, "answer", {"id": CHARGE["id"], "sha256": "0" * 64})
    assert state.seq == 5
    assert state.accounts["p"].total.pure == 10**9
    assert state.questions == {("t", 1, "q"): [CHARGE["id"]]}
    assert LedgerState().digest == GENESIS


BAD = [
    ("charge", changed("event", "kind", to="refund")),
    ("charge", changed("event", "kind", to=["laplace"])),
    ("charge", changed("event", to={"kind": "together", "events": []})),
    ("charge", changed("event", to={"kind": "together"})),
    ("charge", changed("event", "scale", to=1.5)),
    ("charge", changed("event", "scale", to="-1/1")),
    ("charge", changed("event", "surprise", to=1)),
    ("charge", changed("cost", "pure", to=1)),
    ("charge", changed("cost", "pure", to=-(10**9))),
    ("charge", changed("cost", "rho", to=0)),
    ("charge", changed("decision", "used", to=10**12 + 1)),
    ("charge", changed("decision", "used", to=-1)),
    ("charge", changed("decision", "balance", "pure", to=0.0)),
    ("charge", changed("decision", "balance", "pure", to=10**9 + 1)),
    ("charge", changed("decision", "balance", "pure", to=-1)),
    ("charge", changed("decision", "balance", "rho_sum", to=0)),
    ("charge", changed("population", to="nobody")),
    ("charge", changed("version", to=2)),
    ("charge", changed("table", to="u")),
    ("charge", changed("price", to=0.5)),
    ("charge", {name: value for name, value in CHARGE.items() if name != "decision"}),
    ("charge", []),
    ("answer", {"id": "r-nothing", "sha256": ""}),
    ("failure", {"id": "r-nothing"}),
    ("open", BEGINNING[0][1]),
    ("population", BEGINNING[1][1]),
    ("population", {"population": "q", "guarantee": guarantee(3).to_data(), "unit": "family"}),
    ("population", {"population": "q", "guarantee": {"epsilon": "0/1"}, "unit": "row"}),
    ("grant", {"population": "p", "guarantee": guarantee(2).to_data()}),
    ("grant", {"population": "q", "guarantee": guarantee(5).to_data()}),
    ("version", BEGINNING[2][1]),
    ("version", {**BEGINNING[2][1], "version": 2, "population": "nobody"}),
    ("adopt", {"sealed": ["nobody"]}),
    ("gap", {"guarantees": {}, "sealed": {}, "charges": [], "versions": {}}),
    ("acknowledge", {}),
]


@pytest.mark.parametrize(("kind", "body"), BAD, ids=str)
def test_entries_that_make_no_sense_are_refused(kind: str, body: object):
    state = begun()
    with pytest.raises(LedgerFault):
        apply(state, kind, body)
    assert state.seq == 3


def test_an_unknown_event_kind_says_to_upgrade():
    with pytest.raises(LedgerFault, match="unknown event kind 'refund'") as caught:
        apply(begun(), "charge", changed("event", "kind", to="refund"))
    assert "upgrade" in caught.value.hint


def test_a_newer_format_says_to_upgrade():
    with pytest.raises(LedgerFault, match="format 2") as caught:
        apply(LedgerState(), "open", {"ledger": "x", "format": 2})
    assert "upgrade" in caught.value.hint


def test_the_first_entry_opens():
    with pytest.raises(LedgerFault):
        apply(LedgerState(), *BEGINNING[1])


def test_nothing_is_charged_or_answered_twice():
    state = begun()
    apply(state, "charge", CHARGE)
    with pytest.raises(LedgerFault):
        apply(state, "charge", CHARGE)
    apply(state, "answer", {"id": CHARGE["id"], "sha256": "0" * 64})
    with pytest.raises(LedgerFault):
        apply(state, "answer", {"id": CHARGE["id"], "sha256": "1" * 64})


def test_folding_twice_gives_the_same(path: Path):
    with make(path) as ledger:
        for _ in range(3):
            ledger.store(ask(ledger, laplace("0.25"), analyst="ann").id, "x")
        state = LedgerState()
        for entry in ledger.entries():
            state.apply(entry)
        assert state.totals() == ledger.state.totals()
        assert (state.charges, state.answers, state.digests) == (
            ledger.state.charges, ledger.state.answers, ledger.state.digests,
        )  # fmt: skip
