"""Charges under a key: one at most, for the ledger itself says so."""

import json
import threading
from fractions import Fraction

import pytest

from discreet.errors import LedgerFault
from discreet.ledger import chain
from discreet.ledger.charge_request import Asker, ChargeRequest
from discreet.ledger.ledger import Ledger
from discreet.ledger.refusal import DuplicateCharge
from discreet.ledger.state import LedgerState
from ledger.ledgers import WHOLE, ask, laplace, make


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path, state_folder):
    if request.param == "postgres":
        return request.getfixturevalue("address")
    return tmp_path / "project" / ".discreet" / "ledger.db"


@pytest.fixture
def ledger(place):
    with make(place) as ledger:
        yield ledger


def keyed(ledger, key, *, once=False):
    return ledger.charge(
        ChargeRequest(
            population="patients",
            table="patients",
            version=1,
            region=WHOLE,
            event=laplace("0.1"),
            question="q",
            price="0.1",
            asker=Asker(key=key),
            once=once,
        )
    )


def spent(ledger):
    return ledger.account_status("patients").spent.epsilon


def test_a_second_charge_under_a_key_is_refused_and_names_the_first(ledger, place):
    first = keyed(ledger, "a" * 64)
    with pytest.raises(DuplicateCharge) as told:
        keyed(ledger, "a" * 64)
    assert told.value.id == first.id
    assert keyed(ledger, "b" * 64).id != first.id
    assert spent(ledger) == Fraction(2, 10)
    with Ledger.open(place) as again:
        assert (
            again.state.charge_of_key
            == ledger.state.charge_of_key
            == {"a" * 64: first.id, "b" * 64: again.state.charge_of_key["b" * 64]}
        )
        with pytest.raises(DuplicateCharge):
            keyed(again, "a" * 64)
    assert ledger.verify().sound


def test_of_many_at_once_one_is_charged(ledger):
    won, lost = [], []

    def race():
        try:
            won.append(keyed(ledger, "c" * 64))
        except DuplicateCharge as told:
            lost.append(told.id)

    threads = [threading.Thread(target=race) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1 and set(lost) == {won[0].id} and len(lost) == 11
    assert spent(ledger) == Fraction(1, 10)


def test_a_charge_without_a_key_is_entered_as_ever(ledger):
    """Old ledgers fold unchanged, and what old ones would have written is what is written."""
    charge = ask(ledger, laplace("0.1"))
    entry = next(entry for entry in ledger.entries() if entry.seq == charge.seq)
    assert "key" not in json.loads(entry.body)
    assert ledger.state.charge_of_key == {}


def test_a_chain_with_a_key_twice_makes_no_sense(tmp_path, state_folder):
    with make(tmp_path / "project" / ".discreet" / "ledger.db") as ledger:
        keyed(ledger, "d" * 64)
        keyed(ledger, "e" * 64)
        *before, last = ledger.entries()

    def folded(body):
        state = LedgerState()
        for entry in before:
            state.apply(entry)
        state.apply(chain.make_entry(seq=last.seq, kind="charge", body=body, previous=state.digest, key=b"k" * 32))
        return state

    assert len(folded(last.data()).charge_of_key) == 2
    with pytest.raises(LedgerFault, match="is not valid"):
        folded({**last.data(), "key": "d" * 64})


def test_stopped_questions_lock_nothing(ledger):
    for _ in range(4):
        ledger.fail(ask(ledger, laplace("0.1")).id, stopped=True)
    assert not ledger.is_locked("patients") and ledger.state.failures == {}
    for _ in range(3):
        ledger.fail(ask(ledger, laplace("0.1")).id)
    assert ledger.is_locked("patients")
    assert spent(ledger) == Fraction(7, 10)
