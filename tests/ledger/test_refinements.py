"""Refinements in the ledger: a release is refined once, about the same rows, and never where another history may have."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from threading import Barrier, Thread

import pytest

from discreet.accounting.events import ComposedEvent, LaplaceEvent, RefinedEvent, ReservationEvent, to_data
from discreet.errors import DiscreetError, LedgerFault, QueryFailed, UsageError
from discreet.ledger import repair
from discreet.ledger.charge_request import ChargeRequest
from discreet.ledger.ledger import Ledger
from discreet.ledger.refusal import ClosedRefinement
from ledger.ledgers import WHOLE, ask, copy_ledger, gaussian, guarantee, make, people

FIRST = LaplaceEvent(scale=Fraction(10), l1=1)
SECOND = RefinedEvent(earlier=Fraction(10), scale=Fraction(5), l1=1)
THIRD = RefinedEvent(earlier=Fraction(5), scale=Fraction(2), l1=1)


@pytest.fixture
def ledger(path: Path):
    with make(path, guarantee(3, "1e-6")) as made:
        yield made


def refine(ledger: Ledger, release: str | None, event=SECOND, *, question: str = "q", region=WHOLE, **more):
    return ledger.charge(
        ChargeRequest(
            population="patients",
            table="patients",
            version=1,
            region=region,
            event=event,
            question=question,
            price="0.5",
            refines=release,
            **more,
        )
    )


def answered(ledger: Ledger, event=FIRST, **more) -> str:
    charge = ask(ledger, event, **({"question": "q"} | more))
    ledger.store(charge.id, "noisy")
    return charge.id


def test_instalments_cost_what_the_last_one_would_have_cost(ledger: Ledger, path: Path):
    first = answered(ledger)
    second = refine(ledger, first)
    ledger.store(second.id, "noisier no more")
    third = refine(ledger, second.id, THIRD)
    assert ledger.state.refinements.last(first) == second.id  # the third has no answer yet
    ledger.store(third.id, "least noisy")
    assert ledger.account_status("patients").spent.epsilon == Fraction(1, 2)
    assert second.moved == Fraction(1, 10) and third.moved == Fraction(3, 10)
    assert ledger.state.refinements.last(first) == third.id
    ledger.close()
    with Ledger.open(path) as again:  # the fold says the same
        assert again.state.refinements.last(first) == third.id
        assert again.account_status("patients").spent.epsilon == Fraction(1, 2)
        assert again.verify()


def test_a_release_is_refined_once(ledger: Ledger):
    first = answered(ledger)
    refine(ledger, first)
    rows = ledger.state.seq
    with pytest.raises(ClosedRefinement):
        refine(ledger, first)
    assert ledger.state.seq == rows


def test_of_many_at_once_one_refines(ledger: Ledger, path: Path):
    first = answered(ledger)
    start, done = Barrier(6), []

    def run() -> None:
        with Ledger.open(path) as own:
            start.wait()
            try:
                done.append(refine(own, first).id)
            except DiscreetError as problem:
                done.append(type(problem))

    threads = [Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(str, done))[:5] == [str(ClosedRefinement)] * 5
    assert ledger.account_status("patients").spent.epsilon == Fraction(1, 5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"event": RefinedEvent(earlier=Fraction(11), scale=Fraction(5), l1=1)},  # cheaper than the truth
        {"event": RefinedEvent(earlier=Fraction(10), scale=Fraction(5), l1=2)},
        {"event": ComposedEvent(events=(SECOND, SECOND))},
        {"event": ComposedEvent(events=(SECOND, FIRST))},
        {"event": FIRST},
        {"event": gaussian("0.1")},
        {"question": "another"},
        {"region": people(1)},
        {"release": None},
    ],
)
def test_a_refinement_is_of_the_release_that_it_names(ledger: Ledger, wrong):
    first = answered(ledger)
    rows = ledger.state.seq
    with pytest.raises((LedgerFault, UsageError)):
        refine(ledger, **({"release": first} | wrong))
    assert ledger.state.seq == rows
    ledger.refresh()
    assert refine(ledger, first).moved == Fraction(1, 10)  # nothing was taken away by what was refused


def test_what_has_no_answer_yet_is_not_refined(ledger: Ledger):
    charge = ask(ledger, FIRST, question="q")
    with pytest.raises((LedgerFault, UsageError)):
        refine(ledger, charge.id)


def test_noise_of_another_kind_is_not_refined(ledger: Ledger):
    for event in (gaussian("0.001"), ComposedEvent(events=(FIRST, gaussian("0.001")))):
        release = answered(ledger, event)
        assert release not in ledger.state.refinements.open_releases
        with pytest.raises(ClosedRefinement):
            refine(ledger, release)


def test_a_step_of_a_reservation_refines_nothing(ledger: Ledger):
    charge = ask(ledger, ReservationEvent(epsilon=Fraction(1), rho=Fraction(1, 2), delta=Fraction(0)))
    with pytest.raises(UsageError, match="cannot be a step"):
        ledger.step(charge.id, SECOND, of="x")
    with pytest.raises(UsageError, match="cannot be a step"):
        ledger.step(charge.id, ComposedEvent(events=(SECOND,)), of="x")


def test_nothing_is_refined_after_somebody_was_forgotten(ledger: Ledger, path: Path):
    first = answered(ledger)
    waiting = refine(ledger, answered(ledger, question="other"), question="other")
    ledger.forget(["visits"], bytes(16), key="mark")
    with pytest.raises(ClosedRefinement):
        refine(ledger, first)
    with pytest.raises(QueryFailed):  # what was drawn may be about other rows than the first answer: it stays unseen
        ledger.store(waiting.id, "a draw")
    assert waiting.id not in ledger.state.answers
    with pytest.raises(ClosedRefinement):  # its rows may still go
        refine(ledger, answered(ledger))
    ledger.end_forget(["visits"], bytes(16), key="mark")
    later = answered(ledger)
    ledger.store(refine(ledger, later).id, "of the rows that are left")
    ledger.close()
    with Ledger.open(path) as again:
        assert first not in again.state.refinements.open_releases


def test_nothing_is_refined_in_a_ledger_that_was_restored(ledger: Ledger, path: Path, tmp_path: Path):
    """What it forgot may have been a refinement of the same release: two of them would tell more than both cost."""
    first = answered(ledger)
    ledger.close()
    copy_ledger(path, tmp_path / "copy.db")
    with Ledger.open(path) as gone:
        refine(gone, first)
    copy_ledger(tmp_path / "copy.db", path)
    repair.acknowledge(path)
    with Ledger.open(path) as restored:
        assert restored.account_status("patients").spent.epsilon == Fraction(1, 5)  # what was forgotten is charged
        with pytest.raises(ClosedRefinement):
            refine(restored, first)


def test_events_of_refinements_name_what_they_refine():
    assert to_data(SECOND) == {"kind": "refined", "earlier": "10/1", "scale": "5/1", "l1": 1}
