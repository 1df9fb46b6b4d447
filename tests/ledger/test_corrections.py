"""Until something was released about a population, its limit and its tables may be corrected; and never after."""

from __future__ import annotations

import os
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from crash.mutants import without_locks
from discreet.errors import BudgetExceeded, LedgerFault, LedgerRolledBack, UsageError
from discreet.ledger import gap, repair
from discreet.ledger.account import larger_guarantee, smaller_guarantee
from discreet.ledger.backup import backup, restore
from discreet.ledger.ledger import Ledger
from discreet.ledger.state import LedgerState
from ledger.ledgers import Copies, ask, gaussian, guarantee, laplace, make
from tiers import size

SMALL = Fraction(1, 10**6)
FILES = {"files": ["sealed"]}


def limit(ledger: Ledger, population: str = "patients") -> Fraction:
    return ledger.account_status(population).limit.epsilon


def left(ledger: Ledger, population: str = "patients") -> Fraction:
    return ledger.account_status(population).remaining.epsilon


def test_the_limit_is_lowered_raised_and_accounted_otherwise_before_the_first_charge(path: Path):
    with make(path, guarantee(10)) as ledger:
        for other in (guarantee(1), guarantee(2, SMALL), guarantee(2, SMALL, "zcdp"), guarantee(2, SMALL, "pure")):
            ledger.correct("patients", other)
            assert ledger.state.accounts["patients"].guarantee.to_data() == other.to_data()
        rows = ledger.state.seq
        ledger.correct("patients", guarantee(2, SMALL, "pure"))  # as it is: nothing to enter
        assert ledger.state.seq == rows
        ask(ledger, laplace("0.5"))  # versions stay as they were: their unit did not change
    with Ledger.open(path) as ledger:
        assert limit(ledger) == 2 and ledger.verify().sound


def charged(ledger: Ledger) -> None:
    ask(ledger, laplace("0.5"))


def totals_published(ledger: Ledger) -> None:
    ledger.declare_invariant("patients", 1, words="exact totals of sex")


def somebody_forgotten(ledger: Ledger) -> None:
    ledger.forget(["patients"], bytes(16), key="mark")


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (charged, "Answers about"),
        (totals_published, "Answers about"),
        (somebody_forgotten, "A person was erased"),
    ],
)
def test_whatever_was_released_fixes_the_limit_and_the_tables(path: Path, act: Callable[[Ledger], None], why: str):
    with make(path, guarantee(10)) as ledger:
        act(ledger)
        rows = ledger.state.seq
        for other in (guarantee(1), guarantee(20), guarantee(10, accounting="pure")):
            with pytest.raises(UsageError, match=f"{why}.* can only be raised"):
                ledger.correct("patients", other)
        with pytest.raises(UsageError, match=f"{why}.*'patients' cannot be removed.*second budget") as caught:
            ledger.remove_table("patients")
        assert "discreet retire " in caught.value.hint
        assert ledger.state.seq == rows


def test_another_process_that_charged_first_wins(path: Path):
    """What this one has in memory knows of no charge: the ledger reads the newest under its lock, and decides then."""
    with make(path, guarantee(10)) as ledger, Ledger.open(path) as other:
        assert not ledger.state.is_fixed("patients")
        ask(other, laplace("5"))
        with pytest.raises(UsageError, match="can only be raised"):
            ledger.correct("patients", guarantee(1))
        with pytest.raises(UsageError, match="cannot be removed"):
            ledger.remove_table("patients")


def test_an_entry_that_corrects_too_late_is_refused_by_whoever_reads_it(path: Path, monkeypatch: pytest.MonkeyPatch):
    """The rule is in the fold: a program that forgets to ask leaves an entry that no other accepts."""
    with make(path, guarantee(10)) as ledger:
        ask(ledger, laplace("5"))
        with monkeypatch.context() as planted:
            planted.setattr(LedgerState, "is_fixed", lambda *_: False)
            ledger.correct("patients", guarantee(1))
    with pytest.raises(LedgerFault, match=r"entry 5 of the ledger is not valid \(population\)"):
        Ledger.open(path)


# -- races --------------------------------------------------------------------------------------


def race(path: Path, mutant: Callable[[], None] | None = None) -> list[str]:
    """Four processes charge 1 of 10 while four lower the limit to 1/2: what went wrong."""
    begun, begin = os.pipe()
    for number in range(8):
        if os.fork() == 0:
            os.close(begin)
            code = 1
            try:
                if mutant is not None:
                    mutant()
                with Ledger.open(path) as ledger:
                    os.read(begun, 1)
                    try:
                        if number % 2:
                            ask(ledger, laplace("1"))
                        else:
                            ledger.correct("patients", guarantee("1/2"))
                    except (UsageError, BudgetExceeded):
                        pass
                code = 0
            finally:
                os._exit(code)
    os.close(begin)
    codes = [os.wait()[1] for _ in range(8)]
    if any(codes):
        return ["a process failed"]
    try:
        with Ledger.open(path) as ledger:
            account, sound = ledger.state.accounts["patients"], ledger.verify().sound
            over = account.charges > account.guarantee.epsilon
            neither = account.charges == 0 and account.guarantee.epsilon == 10
            return [name for name, holds in (("over", over), ("neither", neither), ("broken", not sound)) if holds]
    except LedgerFault as fault:
        return [fault.reason]


def test_charges_and_corrections_that_race_end_within_one_limit(tmp_path: Path, state_folder: Path):
    for number in range(size(1, 3)):
        path = tmp_path / str(number) / "ledger.db"
        make(path, guarantee(10)).close()
        assert race(path) == []


def test_a_correction_without_the_lock_is_caught(tmp_path: Path, state_folder: Path):
    seen = []
    for number in range(10):
        path = tmp_path / str(number) / "ledger.db"
        make(path, guarantee(10)).close()
        seen += race(path, without_locks)
        if seen:
            return
    raise AssertionError("nothing went wrong without locks")


# -- rollbacks ----------------------------------------------------------------------------------


def lowered_then_restored(path: Path, copies: Copies) -> Ledger:
    """Ten, lowered to 1, half of it spent; then a backup from before comes back."""
    make(path, guarantee(10)).close()
    copies.take("old")
    with Ledger.open(path) as ledger:
        ledger.correct("patients", guarantee(1))
        ask(ledger, laplace("0.5"))
    copies.restore_ledger("old")
    with pytest.raises(LedgerRolledBack):
        Ledger.open(path)
    repair.acknowledge(path)
    return Ledger.open(path)


def test_a_restored_ledger_keeps_the_limit_that_was_lowered(path: Path, copies: Copies):
    with lowered_then_restored(path, copies) as ledger:
        assert (limit(ledger), left(ledger)) == (1, Fraction("0.5"))
        with pytest.raises(UsageError, match="can only be raised"):
            ledger.correct("patients", guarantee(10))
    with Ledger.open(path) as ledger:
        assert limit(ledger) == 1 and ledger.verify().sound


def test_a_restore_that_takes_the_larger_limit_is_caught(path: Path, copies: Copies, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(
        gap, "_limit", lambda account, totals, common: larger_guarantee(account.guarantee, guarantee(1))
    )
    with lowered_then_restored(path, copies) as ledger:
        assert left(ledger) == Fraction("9.5")


def test_without_the_digests_the_smaller_limit_stands(path: Path, copies: Copies, state_folder: Path):
    make(path, guarantee(10)).close()
    copies.take("old")
    with Ledger.open(path) as ledger:
        ledger.correct("patients", guarantee(1))
    copies.restore_ledger("old")
    next(state_folder.glob("*/digests")).unlink()
    repair.acknowledge(path)
    with Ledger.open(path) as ledger:
        assert limit(ledger) == 1


def test_a_limit_that_was_corrected_upwards_comes_back(path: Path, copies: Copies):
    make(path, guarantee(1)).close()
    copies.take("old")
    with Ledger.open(path) as ledger:
        ledger.correct("patients", guarantee(5, SMALL, "zcdp"))
        ask(ledger, gaussian("0.1"))
        before = left(ledger)
    copies.restore_ledger("old")
    repair.acknowledge(path)
    with Ledger.open(path) as ledger:
        assert limit(ledger) == 5 and left(ledger) <= before
        assert ledger.state.accounts["patients"].guarantee.accounting == "zcdp"


@pytest.mark.parametrize("here", [guarantee(2), guarantee(4, SMALL, "zcdp")])
def test_where_both_histories_corrected_it_the_smaller_stands(path: Path, copies: Copies, here: object):
    """As where two machines share a restored server, one of which had not seen the rest."""
    make(path, guarantee(10)).close()
    copies.take("shared")
    with Ledger.open(path) as ledger:
        ledger.correct("patients", guarantee(3))
        ask(ledger, laplace("1"))
    copies.take("one")
    copies.restore_ledger("shared")
    copies.restore_state("shared")
    with Ledger.open(path) as ledger:
        ledger.correct("patients", here)
    copies.restore_state("one")
    repair.acknowledge(path)
    with Ledger.open(path) as ledger:
        assert limit(ledger) == min(3, here.epsilon)
        assert left(ledger) <= min(3, here.epsilon) - 1
        assert ledger.verify().sound


def test_after_a_restore_nothing_is_corrected_even_where_nothing_seems_charged(path: Path, copies: Copies):
    """Another machine's anchor may know more; whoever restores grants."""
    make(path).close()
    copies.take("old")
    with Ledger.open(path) as ledger:
        ledger.add_version("patients", population="patients", schema={}, source={})
    copies.restore_ledger("old")
    repair.acknowledge(path)
    with Ledger.open(path) as ledger:
        with pytest.raises(UsageError, match="The ledger was restored from an old copy"):
            ledger.correct("patients", guarantee(1))
        with pytest.raises(UsageError, match="The ledger was restored from an old copy"):
            ledger.remove_table("patients")


def test_a_backup_holds_corrections_and_a_restore_of_any_moment_gives_nothing_back(path: Path, tmp_path: Path):
    with make(path, guarantee(10)) as ledger:
        backup(path, tmp_path / "0.db")
        ledger.correct("patients", guarantee(2))
        backup(path, tmp_path / "1.db")
        ledger.remove_table("patients")
        backup(path, tmp_path / "2.db")
        ledger.add_version("patients", population="patients", schema={}, source={})
        ask(ledger, laplace("1"), version=2)
    for number in (2, 1, 0, 2):
        path.write_bytes(b"lost")
        restore(path, tmp_path / f"{number}.db")
        with Ledger.open(path) as ledger:
            assert (limit(ledger), left(ledger)) == (2, 1)
            assert ledger.verify().sound


def test_the_smaller_of_two_limits_is_a_limit():
    one, two = guarantee(3, SMALL, "zcdp"), guarantee(1, SMALL, "pure")
    assert smaller_guarantee(one, two).accounting == "pure"  # none of its delta is for noise, which zCDP needs
    assert smaller_guarantee(one, two).epsilon == 1
    assert smaller_guarantee(two, one).delta == SMALL / 2


# -- tables -------------------------------------------------------------------------------------


def test_a_table_that_was_removed_may_be_of_others_and_no_number_comes_twice(path: Path):
    with make(path) as ledger:
        ledger.add_version("visits", population="patients", schema={}, source=FILES)
        ledger.declare("others", guarantee(1))
        with pytest.raises(UsageError, match="has the same source as 'visits'"):
            ledger.add_version("stays", population="others", schema={}, source=FILES)
        with pytest.raises(UsageError, match="belongs to another population"):
            ledger.add_version("visits", population="others", schema={}, source=FILES)
        (version,) = ledger.remove_table("visits")
        assert (version.table, version.number) == ("visits", 1)
        assert ledger.remove_table("visits") == () == ledger.remove_table("nothing")
        with pytest.raises(UsageError, match="no version 1 of 'visits'"):
            ask(ledger, laplace("1"), table="visits")
        assert ledger.add_version("visits", population="others", schema={}, source=FILES) == 2
        ask(ledger, laplace("1"), table="visits", population="others", version=2)
    with Ledger.open(path) as ledger:
        assert ledger.state.population_of_table == {"patients": "patients", "visits": "others"}
        assert ledger.verify().sound


def test_a_removed_table_says_no_more_by_what_people_are_known(path: Path):
    with Ledger.create(path) as ledger:
        ledger.declare("people", guarantee(3), unit="person")
        way = [{"table": "orders", "person": ["customer"], "through": None, "on": []}]
        items = {"person": {"through": "orders", "on": "order_id"}}
        ledger.add_version("orders", population="people", schema={"person": "customer"}, source={})
        ledger.add_version("items", population="people", schema=items, source={"reached": way})
        ledger.remove_table("orders")
        assert set(ledger.state.protected_units["people"].namings) == {"items", "orders"}  # items reach them so
        ledger.remove_table("items")
        assert set(ledger.state.protected_units["people"].namings) == {"orders"}
        ask_version = ledger.add_version("items", population="people", schema={"person": "buyer"}, source={})
        ask(ledger, laplace("1"), table="items", population="people", version=ask_version)
    with Ledger.open(path) as ledger:
        assert ledger.state.protected_units["people"].changes == []


def removed_then_restored(path: Path, copies: Copies) -> Ledger:
    """Visits leave one population, and are asked about in another one; then a copy from before comes back."""
    with make(path) as ledger:
        ledger.add_version("visits", population="patients", schema={}, source=FILES)
        ledger.declare("others", guarantee(1))
    copies.take("old")
    with Ledger.open(path) as ledger:
        ledger.remove_table("visits")
        ledger.add_version("visits", population="others", schema={}, source=FILES)
        ask(ledger, laplace("1"), table="visits", population="others", version=2)
    copies.restore_ledger("old")
    repair.acknowledge(path)
    return Ledger.open(path)


def test_a_restored_ledger_knows_that_a_table_left(path: Path, copies: Copies):
    """Else its people would have the budget of the population that it left, on top of what they lost in the other."""
    with removed_then_restored(path, copies) as ledger:
        assert left(ledger, "others") == 0
        assert ledger.state.population_of_table["visits"] == "others"
        with pytest.raises(UsageError, match="no version 1 of 'visits'"):
            ask(ledger, laplace("1"), table="visits")
        with pytest.raises(UsageError, match="belongs to another population"):
            ledger.add_version("visits", population="patients", schema={}, source=FILES)
        assert ledger.add_version("visits", population="others", schema={}, source=FILES) == 3


def test_a_restore_that_forgets_it_is_caught(path: Path, copies: Copies, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gap, "_forgotten_removals", lambda state, removed: ())
    with removed_then_restored(path, copies) as ledger:
        ask(ledger, laplace("3"), table="visits")  # a budget of 1 was spent before
