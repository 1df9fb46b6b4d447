"""Rows of a stream: one charge, each row once and in order, through restarts, races, failures and rollbacks."""

from __future__ import annotations

import sqlite3
from copy import deepcopy
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.events import ComposedEvent, ExponentialEvent, ReservationEvent
from discreet.errors import LedgerFault, LedgerLocked, LedgerTampered, UsageError
from discreet.ledger import repair
from discreet.ledger.charge_request import ChargeRequest
from discreet.ledger.ledger import Ledger
from discreet.ledger.records import ChargeRecord
from ledger.ledgers import WHOLE, ask, copy_ledger, gaussian, guarantee, laplace, make
from ledger.test_state import BEGINNING, CHARGE, apply, begun


@pytest.fixture
def ledger(path: Path):
    with make(path, guarantee(3, "1e-6")) as made:
        yield made


def start(ledger: Ledger, name: str = "daily", count: int = 3, event: object = None) -> ChargeRecord:
    return ledger.charge(
        ChargeRequest(
            population="patients",
            table="patients",
            version=1,
            region=WHOLE,
            event=event or gaussian("0.01"),
            question="q",
            price="0.1",
            stream={"name": name, "count": count, "of": {"counter": ["root", count]}},
        )
    )


def test_a_stream_is_charged_once_and_its_rows_cost_nothing(ledger: Ledger):
    charge = start(ledger)
    before = ledger.account_status("patients")
    for number in (1, 2, 3):
        assert (
            ledger.append_stream_row(
                charge.id, number=number, owner_file=f"{number}.counted", payload=f"noisy {number}"
            )
            == f"noisy {number}"
        )
    assert ledger.account_status("patients") == before
    assert ledger.stream_rows(charge.id) == ["noisy 1", "noisy 2", "noisy 3"]
    held = ledger.state.streams[charge.id]
    assert [row.owner_file for row in held.rows] == ["1.counted", "2.counted", "3.counted"]
    assert (held.table, held.name, held.count, held.event) == ("patients", "daily", 3, gaussian("0.01"))
    assert ledger.verify().sound


@pytest.mark.parametrize("numbers", [[2], [1, 1], [1, 3], [0], [1, 2, 3, 4], [-1]])
def test_rows_come_in_order_once_and_not_beyond_the_map(ledger: Ledger, numbers: list[int]):
    charge = start(ledger)
    *before, last = numbers
    for number in before:
        ledger.append_stream_row(charge.id, number=number, owner_file="x", payload="")
    seq = ledger.state.seq
    with pytest.raises(UsageError):
        ledger.append_stream_row(charge.id, number=last, owner_file="x", payload="")
    assert ledger.state.seq == seq


def test_a_restart_goes_on(ledger: Ledger, path: Path):
    charge = start(ledger)
    ledger.append_stream_row(charge.id, number=1, owner_file="one", payload="first")
    ledger.close()
    with Ledger.open(path) as again:
        assert again.state.stream("patients", "daily").id == charge.id
        again.append_stream_row(charge.id, number=2, owner_file="two", payload="second")
        assert again.stream_rows(charge.id) == ["first", "second"]
        assert again.answer(f"{charge.id}.2") == "second"


def test_two_processes_at_the_same_row(ledger: Ledger, path: Path):
    charge = start(ledger)
    with Ledger.open(path) as other:
        ledger.append_stream_row(charge.id, number=1, owner_file="mine", payload="mine")
        with pytest.raises(UsageError, match="another process"):
            other.append_stream_row(charge.id, number=1, owner_file="theirs", payload="theirs")
        assert other.stream_rows(charge.id) == ["mine"]
        assert other.state.streams[charge.id].rows[0].owner_file == "mine"


def test_a_name_is_taken_until_its_stream_is_closed(ledger: Ledger):
    charge = start(ledger)
    with pytest.raises(UsageError, match="already"):
        start(ledger)
    other = start(ledger, "weekly")
    ledger.fail(charge.id)
    with pytest.raises(LedgerFault, match="closed"):
        ledger.append_stream_row(charge.id, number=1, owner_file="x", payload="")
    newer = start(ledger)
    assert ledger.state.stream("patients", "daily").id == newer.id != charge.id
    assert not ledger.state.streams[other.id].closed


def test_a_locked_table_draws_no_row(ledger: Ledger):
    charge = start(ledger)
    for _ in range(3):
        ledger.fail(ask(ledger, laplace("0.01")).id)
    with pytest.raises(LedgerLocked):
        ledger.append_stream_row(charge.id, number=1, owner_file="x", payload="")
    ledger.acknowledge()
    ledger.append_stream_row(charge.id, number=1, owner_file="x", payload="")


def test_after_a_rollback_streams_are_closed(path: Path, tmp_path: Path):
    with make(path, guarantee(3, "1e-6")) as ledger:
        charge = start(ledger)
        ledger.append_stream_row(charge.id, number=1, owner_file="one", payload="first")
    copy_ledger(path, tmp_path / "old.db")
    with Ledger.open(path) as ledger:
        ledger.append_stream_row(charge.id, number=2, owner_file="two", payload="seen")
    copy_ledger(tmp_path / "old.db", path)
    repair.acknowledge(path)
    with Ledger.open(path) as ledger:
        assert ledger.stream_rows(charge.id) == ["first"]
        with pytest.raises(LedgerFault, match="closed"):
            ledger.append_stream_row(charge.id, number=2, owner_file="two", payload="another draw")
        start(ledger)  # the name is free again


def test_after_an_adoption_streams_are_closed(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with make(path, guarantee(3, "1e-6")) as ledger:
        charge = start(ledger)
    state = Path(str(tmp_path / "state"))
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "elsewhere"))
    repair.adopt(path, state)
    with Ledger.open(path) as ledger, pytest.raises(LedgerFault, match="closed"):
        ledger.append_stream_row(charge.id, number=1, owner_file="x", payload="")


def test_a_stored_row_cannot_be_changed(ledger: Ledger, path: Path):
    charge = start(ledger)
    ledger.append_stream_row(charge.id, number=1, owner_file="x", payload="noisy")
    with sqlite3.connect(path) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for name in names:
            database.execute(f'DROP TRIGGER "{name}"')
        database.execute("UPDATE answers SET payload = 'exact'")
    database.close()
    with pytest.raises(LedgerTampered):
        ledger.stream_rows(charge.id)


@pytest.mark.parametrize(
    "event",
    [
        ExponentialEvent(epsilon=Fraction(1, 10)),
        ReservationEvent(epsilon=None, rho=Fraction(1, 100), delta=Fraction(0)),
        ComposedEvent(events=(gaussian("0.01"), laplace("0.1"))),
    ],
)
def test_a_stream_is_noise_of_one_law(ledger: Ledger, event: object):
    seq = ledger.state.seq
    with pytest.raises(UsageError, match="one distribution"):
        start(ledger, event=event)
    assert ledger.state.seq == seq


def test_rows_of_nothing(ledger: Ledger):
    charge = ask(ledger, gaussian("0.01"))
    for id_ in (charge.id, "r-nothing"):
        with pytest.raises(UsageError, match="no stream"):
            ledger.append_stream_row(id_, number=1, owner_file="x", payload="")
    for count in (0, -1, True, 1.0):
        with pytest.raises(UsageError, match="at least one"):
            start(ledger, count=count)
    with pytest.raises(UsageError):
        start(ledger, name="")


STREAM = {"name": "daily", "count": 2, "of": {}}


def row(number: object = 1, **more: object) -> dict[str, object]:
    return {"id": CHARGE["id"], "number": number, "kept": "x", "sha256": "0" * 64} | more


@pytest.mark.parametrize(
    "entries",
    [
        [("row", row())],
        [("charge", CHARGE), ("row", row())],
        [("charge", {**CHARGE, "stream": {**STREAM, "count": 0}})],
        [("charge", {**CHARGE, "stream": {**STREAM, "count": "2"}})],
        [("charge", {**CHARGE, "stream": {"name": "daily"}})],
        [("charge", {**CHARGE, "stream": {**STREAM, "surprise": 1}})],
        [("charge", {**CHARGE, "stream": STREAM}), ("row", row(2))],
        [("charge", {**CHARGE, "stream": STREAM}), ("row", row()), ("row", row())],
        [("charge", {**CHARGE, "stream": STREAM}), ("row", row()), ("row", row(2)), ("row", row(3))],
        [("charge", {**CHARGE, "stream": STREAM}), ("failure", {"id": CHARGE["id"]}), ("row", row())],
        [("charge", {**CHARGE, "stream": STREAM}), ("row", {"id": CHARGE["id"], "number": 1})],
    ],
    ids=range(11),
)
def test_entries_that_make_no_sense_are_refused(entries: list[tuple[str, dict[str, object]]]):
    state = begun()
    for kind, body in entries[:-1]:
        apply(state, kind, body)
    with pytest.raises(LedgerFault):
        apply(state, *entries[-1])
    assert state.seq == len(BEGINNING) + len(entries) - 1


def test_two_open_streams_of_one_name_make_no_sense():
    balance = {"pure": 2 * 10**9, "rho": 10**12, "pure_sum": 2 * 10**9, "rho_sum": 10**12}
    decision = {**CHARGE["decision"], "inside": [10**9, 5 * 10**11], "balance": balance}
    second = {**CHARGE, "id": "r-bbbbbbbbbbbbbbbb", "decision": decision}
    state = begun()
    apply(state, "charge", {**CHARGE, "stream": STREAM})
    with pytest.raises(LedgerFault):
        apply(deepcopy(state), "charge", {**second, "stream": STREAM})
    apply(state, "charge", {**second, "stream": {**STREAM, "name": "weekly"}})
    assert [held.name for held in state.streams.values()] == ["daily", "weekly"]
