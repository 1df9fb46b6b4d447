"""Invariants: exact totals that are published, neighbours that change one unit, and charges that count double."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting import events
from discreet.accounting.filter import Cost
from discreet.accounting.guarantee import FilterLimits, Guarantee
from discreet.errors import BudgetExceeded, LedgerFault, LedgerLocked, UsageError
from discreet.exact import EPSILON_UNITS, RHO_UNITS
from discreet.ledger.account import Account
from discreet.ledger.ledger import Ledger
from ledger.ledgers import ask, copy_ledger, gaussian, guarantee, laplace, make, people
from tiers import size


@pytest.fixture
def ledger(path: Path):
    with make(path, guarantee(3)) as ledger:
        yield ledger


def test_every_charge_old_and_new_counts_double(ledger):
    ask(ledger, laplace(Fraction(1, 2)))
    assert ledger.account_status("patients").spent.epsilon == Fraction(1, 2)
    ledger.declare_invariant("patients", 1, words="totals of states")
    assert ledger.account_status("patients").spent.epsilon == 1
    ask(ledger, laplace(1))
    assert ledger.account_status("patients").spent.epsilon == 3
    with pytest.raises(BudgetExceeded, match="counts double"):
        ask(ledger, laplace(Fraction(1, 1000)))


def test_rho_counts_four_times(path: Path):
    budget = Guarantee(epsilon=Fraction(3), delta=Fraction(1, 10**6), accounting="zcdp")
    with make(path, budget) as ledger:
        most = Fraction(ledger.limits("patients").rho, RHO_UNITS)
        ledger.declare_invariant("patients", 1, words="totals")
        with pytest.raises(BudgetExceeded):
            ask(ledger, gaussian(most / 3))
        ask(ledger, gaussian(most / 4 - Fraction(1, 10**9)))
        with pytest.raises(BudgetExceeded):
            ask(ledger, gaussian(most / 1000))


def test_a_history_that_does_not_fit_twice_is_refused_and_changes_nothing(ledger):
    ask(ledger, laplace(Fraction(16, 10)))
    with pytest.raises(BudgetExceeded, match="counts double"):
        ledger.declare_invariant("patients", 1, words="totals")
    assert ledger.account_status("patients").spent.epsilon == Fraction(16, 10)
    ask(ledger, laplace(Fraction(14, 10)))


def test_said_twice_it_is_one_and_the_totals_are_stored_once(ledger):
    id_ = ledger.declare_invariant("patients", 1, words="totals")
    assert ledger.declare_invariant("patients", 1, words="totals") == id_
    assert ledger.declare_invariant("patients", 1, words="others") != id_
    assert ledger.store(id_, "[1]") == "[1]" and ledger.store(id_, "[2]") == "[1]"
    with pytest.raises(UsageError):
        ledger.declare_invariant("patients", 2, words="totals")


def test_it_survives_reopening_and_a_rollback(path: Path, tmp_path: Path):
    with make(path, guarantee(3)) as ledger:
        ask(ledger, laplace(Fraction(1, 2)))
    copy_ledger(path, tmp_path / "old.db")
    with Ledger.open(path) as ledger:
        ledger.declare_invariant("patients", 1, words="totals")
        assert ledger.refresh().accounts["patients"].invariant
    with Ledger.open(path) as ledger:
        assert ledger.account_status("patients").spent.epsilon == 1
    copy_ledger(tmp_path / "old.db", path)
    from discreet.ledger import repair

    repair.acknowledge(path)
    with Ledger.open(path) as ledger:
        assert ledger.refresh().accounts["patients"].invariant
        assert ledger.account_status("patients").spent.epsilon == 1


def test_disjoint_questions_still_cost_the_maximum(ledger):
    ledger.declare_invariant("patients", 1, words="totals")
    ask(ledger, laplace(1), region=people(1))
    ask(ledger, laplace(1), region=people(2))
    assert ledger.account_status("patients").spent.epsilon == 2


GROUPS = range(3)


def losses(charges, group, arm):
    return [getattr(cost, arm) if group in who else 0 for who, cost in charges]


def within(charges, limits: FilterLimits) -> bool:
    """Whether any change of one record into another stays within one arm: the loss of both, event by event."""
    for one in GROUPS:
        for other in GROUPS:
            pure = sum(losses(charges, one, "pure")) + sum(losses(charges, other, "pure"))
            pairs = zip(losses(charges, one, "rho"), losses(charges, other, "rho"), strict=True)
            rho = sum((math.sqrt(a) + math.sqrt(b)) ** 2 for a, b in pairs)
            if pure > (limits.pure or -1) and rho > (limits.rho or -1) * (1 + 1e-9):
                return False
    return True


def accepted(history, account: Account):
    """The charges of a history that an account accepts, an invariant among them."""
    charges = []
    for who, event, declares in history:
        if declares and not account.invariant and account.fits_counted_double():
            account.invariant = True
        cost = Cost.of(events.loss(event))
        region = people(*sorted(who))
        decision = account.decide(("t", 1), region=region, cost=cost)
        if decision.accepted:
            from discreet.ledger.chain import canonical_json

            account.book(
                ("t", 1), region=canonical_json(region.to_data()), cost=cost, inside=decision.inside,
                balance=decision.balance, used=decision.used, seq=0,
            )  # fmt: skip
            charges.append((who, cost))
    return charges


HISTORIES = st.lists(
    st.tuples(
        st.sets(st.sampled_from(list(GROUPS)), min_size=1),
        st.one_of(
            st.integers(1, 10).map(lambda n: laplace(Fraction(n, 10))),
            st.integers(1, 10).map(lambda n: gaussian(Fraction(n, 200))),
        ),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)
BUDGETS = st.sampled_from([guarantee(1), guarantee(2, Fraction(1, 10**6)), guarantee(1, Fraction(1, 10**6), "zcdp")])


@given(HISTORIES, BUDGETS)
@settings(max_examples=size(40, 300), deadline=None)
def test_no_change_of_a_record_ever_loses_more_than_the_limit(history, budget):
    account = Account(name="p", guarantee=budget)
    charges = accepted(history, account)
    if account.invariant:
        assert within(charges, budget.limits)


def mutant(history, budget, monkeypatch) -> bool:
    account = Account(name="p", guarantee=budget)
    charges = accepted(history, account)
    return account.invariant and not within(charges, budget.limits)


BOTH_ARMS = [({0}, laplace(Fraction(1, 2)), True)] * 2 + [({0}, laplace(Fraction(1, 10)), False)] * 20


def test_limits_that_are_not_halved_are_caught(monkeypatch):
    monkeypatch.setattr(FilterLimits, "for_changes", lambda self: self)
    assert mutant(BOTH_ARMS, guarantee(1), monkeypatch)


def test_an_arm_for_each_record_is_caught(monkeypatch):
    """Men full in the pure arm, women in rho: a change of a man into a woman is within neither."""
    from discreet.ledger import account as module

    budget = guarantee(2, Fraction(1, 10**6), "either")
    known = module.decide
    history = [({0}, laplace(Fraction(1, 2)), True), ({0}, laplace(Fraction(1, 2)), False)]
    history += [({1}, gaussian(Fraction(1, 200)), False)] * 12
    assert not mutant(history, budget, monkeypatch)
    monkeypatch.setattr(module, "decide", lambda *a, one_arm, **k: known(*a, **k))
    assert mutant(history, budget, monkeypatch)


def test_units_are_those_of_the_ledger():
    assert guarantee(1).limits.for_changes().pure == EPSILON_UNITS // 2


def threshold(delta: object) -> events.ThresholdEvent:
    return events.ThresholdEvent(scale=Fraction(10), l1=1, delta=Fraction(delta))


def test_delta_for_keys_counts_double_too(path: Path):
    """Half of 1e-6 is for keys: what was spent on them must fit twice, and so must what comes."""
    small = Fraction(1, 10**6)
    assert guarantee(3, small).limits.for_changes().delta_keys == guarantee(3, small).limits.delta_keys // 2
    with make(path, guarantee(3, small)) as ledger:
        ask(ledger, threshold(small / 5))
        ledger.declare_invariant("patients", 1, words="totals")
        with pytest.raises(BudgetExceeded, match="delta"):
            ask(ledger, threshold(small / 10))
        ask(ledger, threshold(small / 25))


def test_delta_that_does_not_fit_twice_is_refused(path: Path):
    small = Fraction(1, 10**6)
    with make(path, guarantee(3, small)) as ledger:
        ask(ledger, threshold(3 * small / 10))
        with pytest.raises(BudgetExceeded, match="counts double") as problem:
            ledger.declare_invariant("patients", 1, words="totals")
        assert "no epsilon is small enough" in problem.value.hint
        assert not ledger.refresh().invariants


def test_a_history_that_is_not_known_cannot_be_counted_double(path: Path, tmp_path: Path, monkeypatch):
    """Adopted without its state folder: all that was granted counts as spent, and how is not known."""
    from discreet.ledger import repair

    with make(path, guarantee(3)) as ledger:
        ask(ledger, laplace(1))
    monkeypatch.setenv("DISCREET_STATE", str(tmp_path / "other"))
    repair.adopt(path, None, alone=True)
    with Ledger.open(path) as ledger:
        ledger.grant("patients", guarantee(20))  # room enough, were it only that
        with pytest.raises(UsageError, match="adopted without its state folder"):
            ledger.declare_invariant("patients", 1, words="totals")
        assert not ledger.refresh().invariants
        body = {"id": "i-1", "population": "patients", "table": "patients", "version": 1, "words": "totals"}
        with pytest.raises(LedgerFault, match=r"not valid \(invariant\)"), ledger._journal.committed_section():
            ledger._journal.append("invariant", body)  # nor by another writer: what reads the chain refuses it


def test_nothing_is_declared_on_a_locked_table(ledger):
    for _ in range(3):
        ledger.fail(ask(ledger, laplace(Fraction(1, 100))).id)
    with pytest.raises(LedgerLocked):
        ledger.declare_invariant("patients", 1, words="totals")
    assert not ledger.refresh().invariants
