"""Machines that share a ledger in PostgreSQL, each with a state folder of its own; and how a ledger gets there."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.events import ReservationEvent
from discreet.errors import BudgetExceeded, LedgerFault, LedgerRolledBack, LedgerTampered, UsageError
from discreet.ledger import ledger_move, repair
from discreet.ledger.anchor import Anchor
from discreet.ledger.journal import Journal
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import DatabaseAddress
from discreet.ledger.postgres_ledger import PostgresLedgerStore
from ledger.ledgers import ask, copy_ledger, dump, guarantee, laplace, make, restore


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Sit down at a machine: from now on its state folder is used."""

    def sit(name: str) -> Path:
        monkeypatch.setenv("DISCREET_STATE", str(tmp_path / name))
        return tmp_path / name

    return sit


@pytest.fixture
def shared(address: DatabaseAddress, machine: Callable[[str], Path]):
    """A ledger of epsilon 3 that machines `one` and `two` have open."""
    first = machine("one")
    with make(address) as one:
        machine("two")
        repair.adopt(address, first)
        with Ledger.open(address) as two:
            yield one, two


def spent(ledger: Ledger) -> Fraction:
    return ledger.account_status("patients").spent.epsilon


def test_two_machines_have_one_budget(shared: tuple[Ledger, Ledger]):
    one, two = shared
    assert one._journal.anchor.folder != two._journal.anchor.folder
    for _ in range(3):
        ask(one, laplace("0.5"))
        ask(two, laplace("0.5"))
    for ledger in shared:
        with pytest.raises(BudgetExceeded):
            ask(ledger, laplace("0.01"), price="0.01")
        assert spent(ledger) == 3


@pytest.mark.parametrize("point", ["charge_rows", "balances", "payloads"])
def test_opening_while_another_machine_writes(
    shared: tuple[Ledger, Ledger], address: DatabaseAddress, machine, monkeypatch: pytest.MonkeyPatch, point: str
):
    """Entries, balances and answers are read one after the other, and belong together all the same."""
    one, _ = shared
    machine("two")
    act = getattr(PostgresLedgerStore, point)

    def late(store: PostgresLedgerStore, **named: int):
        monkeypatch.setattr(PostgresLedgerStore, point, act)
        one.store(ask(one, laplace("0.5")).id, "meanwhile")
        return act(store, **named)

    monkeypatch.setattr(PostgresLedgerStore, point, late)
    with Ledger.open(address) as again:
        assert spent(again) == Fraction("0.5")


def test_an_answer_of_one_is_the_answer_of_the_other(shared: tuple[Ledger, Ledger]):
    one, two = shared
    id_ = ask(one, laplace(1), question="same").id
    one.store(id_, "said")
    assert two.find("patients", 1, "same") == (id_,)
    assert two.store(id_, "other") == "said"


def test_a_machine_that_was_away_catches_up(shared: tuple[Ledger, Ledger], address: DatabaseAddress, machine):
    one, two = shared
    for _ in range(4):
        ask(one, laplace("0.5"))
    machine("two")
    assert two._journal.anchor.read().seq < one.state.seq - 3
    rows = one.state.seq
    assert repair.acknowledge(address) == repair.RepairOutcome()  # nothing to see: no row is written for it
    assert two._journal.anchor.read().seq == rows == one.refresh().seq
    assert repair.verify(address).sound
    assert spent(two) == 2


def test_joining_ends_no_program(address: DatabaseAddress, machine):
    first = machine("one")
    with make(address, guarantee(3, "1e-6")) as one:
        held = ask(one, ReservationEvent(rho=Fraction("0.1"), epsilon=None, delta=Fraction(0)))
        machine("two")
        repair.adopt(address, first)
        assert not one.refresh().reservations[held.id].closed
        assert list(one.entries())[-1].data() == {"state": "joined", "sealed": []}
    assert (first / one.state.ledger / "head.json").exists()  # nothing was handed over


def test_whoever_saw_the_lost_rows_sees_the_rollback(shared: tuple[Ledger, Ledger], address: DatabaseAddress, machine):
    one, two = shared
    old = dump(address)
    ask(one, laplace(1))
    ask(one, laplace(1))
    one.close()
    two.close()
    restore(address, old)
    machine("one")
    with pytest.raises(LedgerRolledBack):
        Ledger.open(address)
    repair.acknowledge(address)
    with Ledger.open(address) as again:
        assert spent(again) == 2
    machine("two")
    with Ledger.open(address) as other:  # it had not seen those rows, and sees what was charged for them
        assert spent(other) == 2
        ask(other, laplace(1))


def test_two_that_saw_the_lost_rows_both_charge_them(shared: tuple[Ledger, Ledger], address: DatabaseAddress, machine):
    one, two = shared
    old = dump(address)
    ask(one, laplace(1))
    two.refresh()
    ask(two, laplace("0.5"))  # two has seen more than one
    one.close()
    two.close()
    restore(address, old)
    for name, most in (("one", 1), ("two", Fraction("2.5"))):
        machine(name)
        with pytest.raises(LedgerRolledBack):
            Ledger.open(address)
        repair.acknowledge(address)
        with Ledger.open(address) as again:
            assert spent(again) == most


def test_a_rollback_under_an_open_ledger(shared: tuple[Ledger, Ledger], address: DatabaseAddress):
    one, _ = shared
    old = dump(address)
    ask(one, laplace(1))
    restore(address, old)
    with pytest.raises(LedgerRolledBack):
        ask(one, laplace(1))


def test_another_key_writes_nothing_that_counts(shared: tuple[Ledger, Ledger], address: DatabaseAddress, machine):
    """Without any state folder a machine takes the ledger over, every budget spent; the others then refuse it."""
    one, _ = shared
    ask(one, laplace("0.1"))
    machine("three")
    with pytest.raises(LedgerFault, match="no state folder"):
        Ledger.open(address)
    with pytest.raises(UsageError, match="spend every budget") as refused:
        repair.adopt(address, None)
    assert "--alone" in refused.value.hint
    assert repair.verify(address).rows == 0  # no state folder came to be
    ask(one, laplace("0.1"))  # and the others go on
    assert repair.adopt(address, None, alone=True).lost == ("patients",)
    with Ledger.open(address) as three, pytest.raises(BudgetExceeded):
        ask(three, laplace("0.1"))
    with pytest.raises(LedgerTampered, match="not written by this ledger"):
        ask(one, laplace("0.1"))


def test_a_machine_joins_only_with_the_right_key(address: DatabaseAddress, machine, tmp_path: Path):
    machine("one")
    make(address).close()
    wrong = machine("other")
    made = make(tmp_path / "ledger.db")
    made.close()
    machine("two")
    with pytest.raises(LedgerFault, match="not this ledger's"):
        repair.adopt(address, wrong / made.state.ledger)


# -- moving -------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path, address: DatabaseAddress, machine) -> Path:
    """A ledger in a file, with a history."""
    machine("one")
    path = tmp_path / "project" / ".discreet" / "ledger.db"
    with make(path) as ledger:
        ledger.store(ask(ledger, laplace(1), question="old", analyst="ann").id, "said\0")
        ledger.fail(ask(ledger, laplace("0.5")).id)
    return path


def test_a_moved_ledger_has_its_history(file: Path, address: DatabaseAddress):
    with Ledger.open(file) as before:
        old, standing = list(before.entries()), before.account_status("patients")
    assert ledger_move.move_to_postgres(file, address) == len(old) + 1
    with Ledger.open(address) as ledger:
        *entries, last = ledger.entries()
        assert entries == old
        assert last.data() == {"state": "moved", "sealed": []}
        assert ledger.account_status("patients") == standing
        (id_,) = ledger.find("patients", 1, "old")
        assert ledger.answer(id_) == "said\0"
        ask(ledger, laplace("1.5"))
        with pytest.raises(BudgetExceeded):
            ask(ledger, laplace("0.01"), price="0.01")
    assert repair.verify(address).sound


def test_the_old_file_answers_nothing(file: Path, address: DatabaseAddress):
    open_before = Ledger.open(file)
    ledger_move.move_to_postgres(file, address)
    with pytest.raises(LedgerRolledBack):
        Ledger.open(file)
    with pytest.raises(LedgerRolledBack):
        ask(open_before, laplace("0.1"))
    open_before.close()


def test_a_move_keeps_programs_and_adopted_rows(tmp_path: Path, address: DatabaseAddress, machine):
    """Rows from before an adoption without a key are proved by the anchor's digests alone: they move too."""
    machine("one")
    path = tmp_path / "p" / "ledger.db"
    make(path).close()
    machine("two")
    repair.adopt(path, None)
    with Ledger.open(path) as ledger:
        ledger.grant("patients", guarantee(5, "1e-6"))
        held = ask(ledger, ReservationEvent(rho=Fraction("0.01"), epsilon=None, delta=Fraction(0)))
    ledger_move.move_to_postgres(path, address)
    with Ledger.open(address) as ledger:
        assert not ledger.state.reservations[held.id].closed
    assert repair.verify(address).sound


def test_a_move_that_fails_leaves_the_file(file: Path, address: DatabaseAddress, monkeypatch: pytest.MonkeyPatch):
    def fail(store: PostgresLedgerStore) -> None:
        raise LedgerFault("gone")

    act = PostgresLedgerStore.commit
    monkeypatch.setattr(PostgresLedgerStore, "commit", fail)
    with pytest.raises(LedgerFault, match="gone"):
        ledger_move.move_to_postgres(file, address)
    monkeypatch.setattr(PostgresLedgerStore, "commit", act)
    with Ledger.open(file) as ledger:
        ask(ledger, laplace("0.5"))
    with pytest.raises(LedgerFault, match="there is no ledger"):
        Ledger.open(address)
    ledger_move.move_to_postgres(file, address)
    with Ledger.open(address) as ledger:
        assert spent(ledger) == 2


def test_a_crash_before_the_anchor_leaves_one_budget(
    file: Path, address: DatabaseAddress, monkeypatch: pytest.MonkeyPatch
):
    """Both are there, and whichever is used first stops the other."""
    act = Anchor.write

    def die(self: Anchor, *arguments: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Anchor, "write", die)
    with pytest.raises(KeyboardInterrupt):
        ledger_move.move_to_postgres(file, address)
    monkeypatch.setattr(Anchor, "write", act)
    with Ledger.open(file) as ledger:
        ask(ledger, laplace("0.5"))
    with pytest.raises(LedgerRolledBack):
        Ledger.open(address)
    repair.acknowledge(address)
    with Ledger.open(address) as ledger:
        assert spent(ledger) == 2


@pytest.mark.parametrize("point", ["the answer of the commit", "the anchor", "after the anchor"])
def test_a_move_that_broke_off_goes_on(
    file: Path, address: DatabaseAddress, monkeypatch: pytest.MonkeyPatch, point: str
):
    """The ledger is there, and nobody was told; the second time finds it, whether or not the anchor knows."""
    owner, name = (PostgresLedgerStore, "commit") if "commit" in point else (Anchor, "write")
    act = getattr(owner, name)

    def break_off(*arguments: object, **named: object) -> None:
        if point != "the anchor":
            act(*arguments, **named)
        raise LedgerFault("the connection to the ledger's server was lost")

    with Ledger.open(file) as before:
        old = before.state.digests
    monkeypatch.setattr(owner, name, break_off)
    with pytest.raises(LedgerFault, match="was lost"):
        ledger_move.move_to_postgres(file, address)
    monkeypatch.setattr(owner, name, act)
    assert ledger_move.move_to_postgres(file, address) == len(old) + 1
    assert ledger_move.move_to_postgres(file, address) == len(old) + 1
    with Ledger.open(address) as ledger:
        assert ledger.state.digests[:-1] == old
        assert spent(ledger) == Fraction("1.5")
        ask(ledger, laplace("1.5"))
    with pytest.raises(LedgerRolledBack):
        Ledger.open(file)
    assert repair.verify(address).sound


def test_a_file_used_after_a_move_broke_off(file: Path, address: DatabaseAddress, monkeypatch: pytest.MonkeyPatch):
    """What the file has spent since is not forgotten: moving refuses, and acknowledging charges it there."""
    act = PostgresLedgerStore.commit

    def break_off(store: PostgresLedgerStore) -> None:
        act(store)
        raise LedgerFault("lost")

    monkeypatch.setattr(PostgresLedgerStore, "commit", break_off)
    with pytest.raises(LedgerFault, match="lost"):
        ledger_move.move_to_postgres(file, address)
    monkeypatch.setattr(PostgresLedgerStore, "commit", act)
    with Ledger.open(file) as ledger:
        ask(ledger, laplace("0.5"))
    with pytest.raises(UsageError, match="the file was used since") as refused:
        ledger_move.move_to_postgres(file, address)
    assert "acknowledge" in refused.value.hint
    repair.acknowledge(address)
    with Ledger.open(address) as ledger:
        assert spent(ledger) == 2


def test_a_copy_that_somebody_changed_does_not_pass_for_a_move(
    file: Path, address: DatabaseAddress, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Anchor, "write", lambda *_, **__: (_ for _ in ()).throw(LedgerFault("lost")))
    with pytest.raises(LedgerFault, match="lost"):
        ledger_move.move_to_postgres(file, address)
    monkeypatch.undo()
    rows = dump(address)
    entries = rows["entries"]
    rows["entries"] = [*entries[:-1], (*entries[-1][:-1], "0" * 64)]  # another key's
    restore(address, rows)
    monkeypatch.setenv("DISCREET_STATE", str(file.parents[2] / "one"))
    with pytest.raises(LedgerTampered, match="not written by this ledger"):
        ledger_move.move_to_postgres(file, address)


def test_what_is_there_already_is_not_overwritten(file: Path, address: DatabaseAddress, machine):
    make(address).close()
    with pytest.raises(UsageError, match="already a ledger"):
        ledger_move.move_to_postgres(file, address)
    with pytest.raises(UsageError, match="already in PostgreSQL"):
        ledger_move.move_to_postgres(address, address)
    with Ledger.open(file) as ledger:
        assert spent(ledger) == Fraction("1.5")


def test_a_damaged_file_does_not_move(file: Path, address: DatabaseAddress, tmp_path: Path):
    copy_ledger(file, tmp_path / "old.db")
    with Ledger.open(file) as ledger:
        ask(ledger, laplace("0.5"))
    shutil.copyfile(tmp_path / "old.db", file)
    for ending in ("-wal", "-shm"):
        file.with_name(file.name + ending).unlink(missing_ok=True)
    with pytest.raises(LedgerFault):
        ledger_move.move_to_postgres(file, address)
    with pytest.raises(LedgerFault, match="there is no ledger"):
        Journal.attach(address)
