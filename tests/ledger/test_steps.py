"""Reservations: a program's steps stay within what was charged for them, through restarts, failures and rollbacks."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.accounting.events import ComposedEvent, GaussianEvent, Loss, ReservationEvent, loss, to_data
from discreet.errors import BudgetExceeded, LedgerFault, LedgerLocked, LedgerTampered, UsageError
from discreet.ledger import repair
from discreet.ledger.charge_request import ChargeRequest
from discreet.ledger.ledger import Ledger
from ledger.ledgers import WHOLE, ask, copy_ledger, gaussian, guarantee, laplace, make

RHO = Fraction(1, 10)
RESERVED = ReservationEvent(epsilon=None, rho=RHO, delta=Fraction(0))
PURE = ReservationEvent(epsilon=Fraction(1), rho=Fraction(1, 2), delta=Fraction(0))


@pytest.fixture
def ledger(path: Path):
    with make(path, guarantee(3, "1e-6")) as made:
        yield made


def test_a_reservation_costs_what_it_says(ledger: Ledger):
    assert loss(RESERVED) == Loss(epsilon=None, rho=RHO)
    charge = ask(ledger, RESERVED)
    before = ledger.account_status("patients")
    for _ in range(2):
        step = ledger.step(charge.id, gaussian(RHO / 2), of="ages")
        ledger.store(step.id, "noisy")
    assert ledger.account_status("patients") == before  # steps cost nothing more
    assert [step.id for step in ledger.reservation(charge.id).steps] == [f"{charge.id}.1", f"{charge.id}.2"]


def test_steps_stay_within_it_exactly(ledger: Ledger):
    charge = ask(ledger, RESERVED)
    for _ in range(3):
        ledger.store(ledger.step(charge.id, gaussian(RHO / 3), of="x").id, "")
    rows = ledger.state.seq
    with pytest.raises(UsageError, match="beyond"):
        ledger.step(charge.id, GaussianEvent(sigma2=Fraction(10**30), l2_squared=1), of="x")
    assert ledger.state.seq == rows


def test_pure_steps_add_in_epsilon_and_a_gaussian_is_none(ledger: Ledger):
    charge = ask(ledger, PURE)
    with pytest.raises(UsageError, match="beyond"):
        ledger.step(charge.id, gaussian("1e-9"), of="x")
    ledger.store(ledger.step(charge.id, laplace("0.6"), of="x").id, "")
    with pytest.raises(UsageError, match="beyond"):
        ledger.step(charge.id, laplace("0.5"), of="x")  # rho alone would fit: .18 + .125 < .5
    ledger.step(charge.id, laplace("0.4"), of="x")


@given(st.lists(st.fractions(min_value=Fraction(1, 50), max_value=Fraction(1, 3)), max_size=12))
def test_holds_is_the_exact_sum(parts: list[Fraction]):
    losses = [loss(gaussian(part)) for part in parts]
    assert ReservationEvent(epsilon=None, rho=Fraction(1), delta=Fraction(0)).holds(losses) == (sum(parts) <= 1)
    pure = [loss(laplace(part)) for part in parts]
    assert PURE.holds(pure) == (sum(parts) <= 1)


def test_delta_for_keys_is_reserved_too():
    held = ReservationEvent(epsilon=None, rho=Fraction(1), delta=Fraction(1, 10**6))
    step = Loss(epsilon=Fraction(1, 10), rho=Fraction(1, 200), delta=Fraction(6, 10**7))
    assert held.holds([step])
    assert not held.holds([step, step])


def test_a_restart_goes_on_where_it_was(ledger: Ledger, path: Path):
    charge = ask(ledger, RESERVED, question="fit")
    ledger.store(ledger.step(charge.id, gaussian(RHO / 2), of="one").id, "first")
    ledger.step(charge.id, gaussian(RHO / 2), of="two")  # and the power fails
    ledger.close()
    with Ledger.open(path) as again:
        held = again.find_reservation("patients", 1, "fit")
        assert held is not None
        assert held.id == charge.id
        assert again.answer(f"{charge.id}.1") == "first"
        rows = again.state.seq
        with pytest.raises(LedgerFault, match="is not the step"):
            again.step(charge.id, gaussian(RHO / 2), of="three")
        with pytest.raises(LedgerFault, match="is not the step"):
            again.step(charge.id, gaussian(RHO / 4), of="two")
        assert again.step(charge.id, gaussian(RHO / 2), of="two").id == f"{charge.id}.2"
        assert again.state.seq == rows  # the same step, not a new one
        again.store(f"{charge.id}.2", "second")
        again.store(f"{charge.id}.2", "redrawn")
        assert again.answer(f"{charge.id}.2") == "second"


def test_a_step_of_this_number_is_drawn_once(ledger: Ledger, path: Path):
    """Two processes in the same program: the second reads what the first drew."""
    charge = ask(ledger, RESERVED, question="fit")
    with Ledger.open(path) as other:
        first = ledger.step(charge.id, gaussian(RHO / 2), of="one", number=1)
        assert other.step(charge.id, gaussian(RHO / 2), of="one", number=1).id == first.id
        ledger.store(first.id, "first")
        assert other.store(first.id, "second") == "first"
        rows = other.state.seq
        assert other.step(charge.id, gaussian(RHO / 2), of="one", number=1).id == first.id
        assert other.state.seq == rows
        assert other.step(charge.id, gaussian(RHO / 2), of="two", number=2).id == f"{charge.id}.2"
        with pytest.raises(UsageError, match="out of order"):
            ledger.step(charge.id, gaussian(RHO / 4), of="three", number=4)


def test_the_same_fit_is_charged_once_by_two_processes(ledger: Ledger, path: Path):
    def reserve(book: Ledger, **more):
        return book.charge(
            ChargeRequest(
                population="patients",
                table="patients",
                version=1,
                region=WHOLE,
                event=RESERVED,
                question="fit",
                price=1,
                **more,
            )
        )

    with Ledger.open(path) as other:
        first = reserve(ledger, once=True)
        assert reserve(other, once=True).id == first.id
        with pytest.raises(BudgetExceeded):
            reserve(other)  # a second one does not fit
    ledger.fail(first.id)
    with pytest.raises(BudgetExceeded):
        reserve(ledger, once=True)  # a failed one cannot go on


def test_no_step_before_the_last_one_was_answered(ledger: Ledger):
    charge = ask(ledger, RESERVED)
    ledger.step(charge.id, gaussian(RHO / 4), of="one")
    with pytest.raises(UsageError, match="out of order"):
        ledger.step(charge.id, gaussian(RHO / 4), of="two", number=2)
    body = {"id": charge.id, "number": 2, "event": to_data(gaussian(RHO / 4)), "of": "two"}
    with pytest.raises(LedgerFault, match="is not valid"), ledger._journal.committed_section():
        ledger._journal.append("step", body)


def test_a_locked_table_draws_no_step(ledger: Ledger):
    charge = ask(ledger, RESERVED, question="fit")
    ledger.store(ledger.step(charge.id, gaussian(RHO / 4), of="one").id, "first")
    for _ in range(3):
        ledger.fail(ask(ledger, gaussian("0.001")).id)
    with pytest.raises(LedgerLocked):
        ledger.step(charge.id, gaussian(RHO / 4), of="two")
    assert ledger.step(charge.id, gaussian(RHO / 4), of="one", number=1).id == f"{charge.id}.1"  # what is there is read


def test_a_failed_step_ends_the_program(ledger: Ledger):
    charge = ask(ledger, RESERVED, question="fit")
    ledger.step(charge.id, gaussian(RHO / 2), of="one")
    ledger.fail(charge.id)
    with pytest.raises(LedgerFault, match="no further step"):
        ledger.step(charge.id, gaussian(RHO / 2), of="one")
    assert ledger.find_reservation("patients", 1, "fit") is None


def test_a_rollback_draws_no_step_twice(ledger: Ledger, path: Path, tmp_path: Path):
    """The balances before and after are the same: only the steps were forgotten."""
    charge = ask(ledger, RESERVED, question="fit")
    ledger.close()
    copy_ledger(path, tmp_path / "old" / "ledger.db")
    with Ledger.open(path) as now:
        now.store(now.step(charge.id, gaussian(RHO), of="all").id, "seen")
    copy_ledger(tmp_path / "old" / "ledger.db", path)
    repair.acknowledge(path)
    with Ledger.open(path) as again:
        with pytest.raises(LedgerFault, match="no further step"):
            again.step(charge.id, gaussian(RHO), of="all")
        assert again.find_reservation("patients", 1, "fit") is None


def test_a_stored_step_cannot_be_changed(ledger: Ledger, path: Path):
    import sqlite3

    charge = ask(ledger, RESERVED)
    ledger.store(ledger.step(charge.id, gaussian(RHO), of="all").id, "noisy")
    with sqlite3.connect(path) as database:
        names = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        for name in names:
            database.execute(f'DROP TRIGGER "{name}"')
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        (payloads,) = [name for name in tables if re.search("payload|answer", name)]
        database.execute(f"UPDATE {payloads} SET payload = 'exact'")
    database.close()
    with pytest.raises((LedgerTampered, LedgerFault)):
        ledger.answer(f"{charge.id}.1")


@pytest.mark.parametrize("event", [RESERVED, ComposedEvent(events=(RESERVED, gaussian("1e-9")))])
def test_a_step_reserves_nothing(ledger: Ledger, event):
    charge = ask(ledger, RESERVED)
    with pytest.raises(UsageError):
        ledger.step(charge.id, event, of="x")


def test_strange_reservations_are_refused(ledger: Ledger):
    with pytest.raises(UsageError):
        ask(ledger, ComposedEvent(events=(RESERVED, gaussian("1e-9"))))
    with pytest.raises(ValueError, match="pure reservation"):
        ReservationEvent(epsilon=Fraction(1), rho=Fraction(1, 3), delta=Fraction(0))
    charge = ask(ledger, gaussian("0.001"))
    with pytest.raises(UsageError, match="nothing was reserved"):
        ledger.step(charge.id, gaussian("0.001"), of="x")
