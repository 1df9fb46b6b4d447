from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from discreet import exact
from discreet.accounting.events import ThresholdEvent
from discreet.accounting.zcdp_conversion import epsilon_from_rho
from discreet.errors import BudgetExceeded
from discreet.ledger.ledger import Ledger
from ledger.ledgers import ask, gaussian, guarantee, laplace, make


def refused(ledger: Ledger, event: object) -> BudgetExceeded:
    with pytest.raises(BudgetExceeded) as caught:
        ask(ledger, event)
    found = caught.value
    needed, remaining = found.needed["epsilon"], found.remaining["epsilon"]
    over_epsilon = needed is None or float(needed) > float(remaining or 0)
    assert over_epsilon or float(found.needed["delta"] or 0) > float(found.remaining["delta"] or 0)
    return found


def test_in_epsilon(path: Path):
    with make(path) as ledger:
        ask(ledger, laplace("2.7"))
        found = refused(ledger, laplace("0.5"))
    assert found.reason == "this request costs epsilon 0.5, but 'patients' has 0.3 remaining of 3"
    assert found.needed == {"epsilon": "0.5", "delta": "0"}
    assert found.remaining == {"epsilon": "0.3", "delta": "0"}
    assert found.binding == "loss"


def test_needed_is_rounded_up_and_remaining_down(path: Path):
    with make(path, guarantee("1/3", 0, "pure")) as ledger:
        found = refused(ledger, laplace("2/3"))
    assert (found.needed["epsilon"], found.remaining["epsilon"]) == ("0.666667", "0.333333")


def test_in_rho(path: Path):
    with make(path, guarantee(3, Fraction(1, 10**6), "zcdp")) as ledger:
        ask(ledger, gaussian("0.15"))
        found = refused(ledger, gaussian("0.125"))
    before, after = (epsilon_from_rho(Fraction(rho), Fraction(1, 2 * 10**6)) for rho in ("0.15", "0.275"))
    assert found.reason == (
        f"this request costs epsilon {exact.show(after - before, up=True)}, but 'patients' has "
        f"{exact.show(3 - before)} remaining of 3"
    )
    assert found.needed["epsilon"] is not None and found.binding == "loss"


def test_when_all_of_rho_is_gone_nothing_remains(path: Path):
    with make(path, guarantee(3, Fraction(1, 10**6), "zcdp")) as ledger:
        limit = Fraction(ledger.state.accounts["patients"].limits.rho, 10**12)
        ask(ledger, gaussian(limit))
        assert refused(ledger, gaussian("0.125")).remaining["epsilon"] == "0"
        assert ledger.account_status("patients").remaining.epsilon == 0


def test_what_is_needed_is_more_than_what_remains(path: Path):
    with make(path, guarantee(3, Fraction(1, 10**6))) as ledger:
        ask(ledger, gaussian("0.15"))
        found = refused(ledger, laplace(2))
        assert Fraction(found.needed["epsilon"]) > Fraction(found.remaining["epsilon"])
    with make(path.with_name("other.db"), guarantee(3, Fraction(1, 10**6))) as ledger:
        ask(ledger, laplace("2.5"))
        assert "costs epsilon 1," in refused(ledger, laplace(1)).reason


def test_a_gaussian_without_delta(path: Path):
    with make(path) as ledger:
        found = refused(ledger, gaussian("0.001"))
    assert "no delta to convert" in found.reason
    assert found.needed["epsilon"] is None
    assert found.remaining["epsilon"] == "3"


def test_in_delta(path: Path):
    with make(path, guarantee(3, Fraction(1, 10**6))) as ledger:
        ask(ledger, ThresholdEvent(scale=Fraction(10), l1=1, delta=Fraction(4, 10**7)))
        found = refused(ledger, ThresholdEvent(scale=Fraction(10), l1=1, delta=Fraction(2, 10**7)))
    assert found.reason == ("this request costs delta 2e-07 for its keys, but 'patients' has 1e-07 remaining of 5e-07")
    assert (found.needed["delta"], found.remaining["delta"]) == ("2e-07", "1e-07")
    assert found.binding == "keys"
