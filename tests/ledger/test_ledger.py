from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.accounting.events import (
    ComposedEvent,
    Event,
    ExponentialEvent,
    GapEvent,
    GaussianEvent,
    LaplaceEvent,
    ThresholdEvent,
    loss,
)
from discreet.accounting.filter import Cost
from discreet.accounting.region import Box, Region, ValueSet
from discreet.errors import BudgetExceeded, LedgerFault, LedgerLocked, UsageError
from discreet.ledger.entry_checks import check_event
from discreet.ledger.ledger import Ledger
from discreet.ledger.records import PlannedCharge
from ledger.ledgers import WHOLE, ask, gaussian, guarantee, laplace, make, people


@pytest.fixture
def ledger(path: Path):
    with make(path) as made:
        yield made


def spent(ledger: Ledger) -> Fraction:
    return ledger.account_status("patients").spent.epsilon


def test_a_charge_is_in_the_ledger_when_it_returns(ledger: Ledger, path: Path):
    charge = ask(ledger, laplace("0.5"), question="how many?", analyst="ann", price="0.5")
    assert re.fullmatch(r"r-[a-z2-7]{12,}", charge.id)
    with Ledger.open(path) as other:
        assert other.state.charges[charge.id] == charge
        assert spent(other) == Fraction(1, 2)
        assert other.account_status("patients").by_analyst == {"ann": Fraction(1, 2)}


def test_a_refused_charge_leaves_nothing(ledger: Ledger):
    ask(ledger, laplace("2.7"))
    rows = ledger.state.seq
    with pytest.raises(BudgetExceeded):
        ask(ledger, laplace("0.5"))
    assert ledger.state.seq == rows
    assert ledger.verify().sound
    assert ledger.verify().rows == rows
    ask(ledger, laplace("0.3"))
    assert ledger.account_status("patients").remaining.epsilon == 0


def test_disjoint_people_cost_the_maximum(ledger: Ledger):
    ask(ledger, laplace("3"), region=people(0))
    ask(ledger, laplace("3"), region=people(1))
    assert spent(ledger) == 3
    with pytest.raises(BudgetExceeded):
        ask(ledger, laplace("0.001"), region=people(0, 2))
    ask(ledger, laplace("0.001"), region=people(2))


def test_the_same_after_opening_anew(ledger: Ledger, path: Path):
    ask(ledger, laplace("3"), region=people(0))
    ledger.close()
    with Ledger.open(path) as again:
        ask(again, laplace("3"), region=people(1))
        with pytest.raises(BudgetExceeded):
            ask(again, laplace("0.001"), region=people(0))


def test_tables_of_one_population_share_its_budget(ledger: Ledger):
    ledger.add_version("visits", population="patients", schema={}, source={})
    ask(ledger, laplace("2"))
    ask(ledger, laplace("1"), table="visits")
    with pytest.raises(BudgetExceeded):
        ask(ledger, laplace("0.001"), table="visits", region=people(7))


def test_versions_of_one_table_share_its_budget(ledger: Ledger):
    ask(ledger, laplace("2"))
    assert ledger.add_version("patients", population="patients", schema={}, source={}) == 2
    ask(ledger, laplace("1"), version=2)
    with pytest.raises(BudgetExceeded):
        ask(ledger, laplace("0.001"), version=2)


def test_preview_is_free_and_says_what_charge_does(ledger: Ledger):
    rows = ledger.state.seq
    told = {"population": "patients", "table": "patients", "version": 1, "region": WHOLE}
    assert ledger.preview(**told, event=laplace("3")).accepted
    assert not ledger.preview(**told, event=laplace("3.000000001")).accepted
    assert ledger.state.seq == rows


def test_what_a_charge_closes_is_what_is_refused_after_it(ledger: Ledger, path: Path):
    """Against the ledger itself: the charge is made, and each later one is previewed. The pure limit is 3."""

    def planned(epsilon: str, *groups: int, version: int = 1) -> PlannedCharge:
        region = people(*groups) if groups else WHOLE
        cost = Cost.of(loss(laplace(epsilon)))
        return PlannedCharge(population="patients", table="patients", version=version, region=region, cost=cost)

    ledger.add_version("patients", population="patients", schema={"a": 1}, source={"file": "y.csv"})
    ask(ledger, laplace("1"), region=people(0))
    ask(ledger, laplace("0.5"), region=people(1))
    first = planned("1.5", 0, 2)
    later = [
        planned("0.5"), planned("1"), planned("2"), planned("2.1"), planned("2.5", 1), planned("1", 0), planned("0.6", 2),
        planned("1.6", 2), planned("0.5", version=2), planned("0.6", version=2), planned("2.1", version=2),
    ]  # fmt: skip

    def accepted() -> list[bool]:
        return [
            ledger.preview(
                population="patients",
                table="patients",
                version=each.version,
                region=each.region,
                event=laplace(epsilon),
            ).accepted
            for each, epsilon in zip(
                later, ["0.5", "1", "2", "2.1", "2.5", "1", "0.6", "1.6", "0.5", "0.6", "2.1"], strict=True
            )
        ]

    before, closed = accepted(), ledger.closed_by(first, later)
    assert accepted() == before and ledger.closed_by(first, later) == closed  # nothing was booked
    ask(ledger, laplace("1.5"), region=first.region)
    assert closed == [was and not now for was, now in zip(before, accepted(), strict=True)]
    assert closed == [False, True, True, False, False, True, False, True, False, True, False]
    assert ledger.verify().sound


def test_preview_of_a_population_that_is_not_declared_yet(ledger: Ledger):
    told = {"population": "staff", "table": "staff", "version": 1, "region": WHOLE}
    assert ledger.preview(**told, event=laplace("1"), guarantee=guarantee(1)).accepted
    assert not ledger.preview(**told, event=laplace("1.1"), guarantee=guarantee(1)).accepted
    assert ledger.remaining_by_arm("staff", guarantee=guarantee(1)).pure == 10**9
    with pytest.raises(UsageError, match="no population 'staff'"):
        ledger.preview(**told, event=laplace("1"))


def test_the_ledgers_limit_counts_and_not_the_one_told(ledger: Ledger):
    told = {"population": "patients", "table": "patients", "version": 1, "region": WHOLE}
    assert not ledger.preview(**told, event=laplace("4"), guarantee=guarantee(100)).accepted
    assert ledger.remaining_by_arm("patients", guarantee=guarantee(100)).pure == 3 * 10**9


# -- answers -------------------------------------------------------------------------------------


def test_the_first_stored_answer_stands(ledger: Ledger):
    charge = ask(ledger, laplace("0.1"))
    assert ledger.store(charge.id, "1001 ± 3 \0 é") == "1001 ± 3 \0 é"
    assert ledger.store(charge.id, "another") == "1001 ± 3 \0 é"
    assert ledger.answer(charge.id) == "1001 ± 3 \0 é"


def test_nothing_is_stored_that_was_not_charged(ledger: Ledger):
    with pytest.raises(UsageError, match="nothing was charged"):
        ledger.store("r-aaaaaaaaaaaa", "42")
    charge = ask(ledger, laplace("0.1"))
    with pytest.raises(UsageError, match="no answer"):
        ledger.answer(charge.id)
    for payload in ("\ud800", b"bytes", None, 42):
        with pytest.raises(UsageError, match="must be text"):
            ledger.store(charge.id, payload)


def test_find_the_stored_answers_of_a_version(ledger: Ledger):
    first, second, third = (ask(ledger, laplace("0.1"), question="same") for _ in range(3))
    assert ledger.find("patients", 1, "same") == ()
    ledger.store(first.id, "1")
    ledger.store(second.id, "2")
    assert ledger.find("patients", 1, "same") == (first.id, second.id)
    assert ledger.find("patients", 2, "same") == ()
    assert ledger.find("patients", 1, "other") == ()
    assert third.id not in ledger.state.answers


def test_three_failures_lock_a_table_until_acknowledged(ledger: Ledger):
    ledger.add_version("visits", population="patients", schema={}, source={})
    for times in range(3):
        assert not ledger.is_locked("patients")
        ledger.fail(ask(ledger, laplace("0.1")).id)
        assert ledger.state.failures == {"patients": times + 1}
    assert ledger.is_locked("patients")
    with pytest.raises(LedgerLocked, match="'patients' is locked"):
        ask(ledger, laplace("0.1"))
    ask(ledger, laplace("0.1"), table="visits")
    assert ledger.acknowledge().unlocked == ("patients",)
    assert not ledger.is_locked("patients")
    ask(ledger, laplace("0.1"))
    assert spent(ledger) == Fraction(5, 10)
    with pytest.raises(UsageError, match="nothing was charged"):
        ledger.fail("r-aaaaaaaaaaaa")


# -- the owner -----------------------------------------------------------------------------------


def test_a_grant_may_only_raise(ledger: Ledger):
    ask(ledger, laplace("3"))
    for lower in (guarantee(2), guarantee(3, 0, "pure"), guarantee(3)):
        with pytest.raises(UsageError):
            ledger.grant("patients", lower)
    ledger.grant("patients", guarantee(4))
    ask(ledger, laplace("1"))
    assert spent(ledger) == 4
    with pytest.raises(UsageError, match="no population"):
        ledger.grant("nobody", guarantee(4))


def test_a_grant_lowers_no_part_of_delta(path: Path):
    from discreet.accounting.guarantee import Guarantee

    with make(path, guarantee(3, Fraction(1, 10**6))) as ledger:
        less_keys = Guarantee(epsilon=Fraction(9), delta=Fraction(1, 10**6), delta_keys=Fraction(0))
        less_rho = Guarantee(epsilon=Fraction(9), delta=Fraction(1, 10**6), delta_keys=Fraction(1, 10**6))
        for lower in (less_keys, less_rho):
            with pytest.raises(UsageError, match="can only raise"):
                ledger.grant("patients", lower)


def test_a_population_is_declared_once(ledger: Ledger):
    rows = ledger.state.seq
    ledger.declare("patients", guarantee(3))
    assert ledger.state.seq == rows
    with pytest.raises(UsageError, match="already declared"):
        ledger.declare("patients", guarantee(5))


def test_version_numbers_only_rise(ledger: Ledger):
    assert ledger.next_version("patients") == 2
    assert ledger.next_version("visits") == 1
    added = ledger.add_version("patients", population="patients", schema={"b": 2}, source={}, file="f", number=2)
    assert added == 2
    version = ledger.state.version("patients", 2)
    assert (version.schema, version.file, version.population) == ({"b": 2}, "f", "patients")
    with pytest.raises(UsageError, match="which is 3"):
        ledger.add_version("patients", population="patients", schema={}, source={}, number=2)


def test_a_table_keeps_its_people(ledger: Ledger):
    ledger.declare("staff", guarantee())
    with pytest.raises(UsageError, match="another population"):
        ledger.add_version("patients", population="staff", schema={}, source={})
    with pytest.raises(UsageError, match="does not belong"):
        ask(ledger, laplace("1"), population="staff")
    with pytest.raises(UsageError, match="no population"):
        ledger.add_version("x", population="nobody", schema={}, source={})
    for version in (2, 0, True, 1.0, "1", None):
        with pytest.raises(UsageError, match="no version"):
            ask(ledger, laplace("1"), version=version)


@pytest.mark.parametrize("name", ["", "x" * 201, "a\nb", "\ud800", 3, None])
def test_names_are_plain(ledger: Ledger, name: object):
    with pytest.raises(UsageError, match="printable text"):
        ledger.declare(name, guarantee())
    with pytest.raises(UsageError, match="printable text"):
        ledger.add_version(name, population="patients", schema={}, source={})
    if name:
        with pytest.raises(UsageError, match="printable text"):
            ask(ledger, laplace("1"), question=name)


@pytest.mark.parametrize("data", [[], "x", None, {"x": float("nan")}, {"x": {1}}])
def test_schemas_are_json_objects(ledger: Ledger, data: object):
    with pytest.raises(UsageError, match="JSON"):
        ledger.add_version("patients", population="patients", schema=data, source={})
    with pytest.raises(UsageError, match="JSON"):
        ledger.add_version("patients", population="patients", schema={}, source=data)


# -- costs ---------------------------------------------------------------------------------------

NAN, INFINITE = float("nan"), float("inf")
ABSURD: list[Event] = [
    LaplaceEvent(scale=NAN, l1=1),
    LaplaceEvent(scale=INFINITE, l1=1),
    LaplaceEvent(scale=0.5, l1=1),
    LaplaceEvent(scale=Fraction(1), l1=NAN),
    LaplaceEvent(scale=Fraction(1), l1=INFINITE),
    LaplaceEvent(scale=Fraction(1), l1=True),
    LaplaceEvent(scale=Fraction(1, 1001), l1=1),
    LaplaceEvent(scale=Fraction(1), l1=10**30),
    GaussianEvent(sigma2=NAN, l2_squared=1),
    GaussianEvent(sigma2=Fraction(1, 10**30), l2_squared=1),
    ExponentialEvent(epsilon=NAN),
    ExponentialEvent(epsilon=Fraction(10**9)),
    ThresholdEvent(scale=Fraction(1), l1=1, delta=0.5),
    GapEvent(epsilon=Fraction(1), rho=Fraction(1), delta=Fraction(0)),
    ComposedEvent(events=(laplace(1), GapEvent(epsilon=Fraction(1), rho=Fraction(1), delta=Fraction(0)))),
    ComposedEvent(events=tuple(laplace(300) for _ in range(4))),
    ComposedEvent(events=tuple(ThresholdEvent(scale=Fraction(1), l1=1, delta=Fraction(1, 2)) for _ in range(2))),
    "laplace",
    None,
]


@pytest.mark.thin(8)
@pytest.mark.parametrize("event", ABSURD, ids=str)
def test_absurd_costs_are_refused_by_type(ledger: Ledger, event: Event):
    rows = ledger.state.seq
    with pytest.raises(UsageError):
        ask(ledger, event)
    with pytest.raises(UsageError):
        ledger.preview(population="patients", table="patients", version=1, region=WHOLE, event=event)
    assert ledger.state.seq == rows
    ask(ledger, laplace(1))


@pytest.mark.thin(5)
@pytest.mark.parametrize("price", [0, -1, "0", NAN, INFINITE, "nan", "1e999", True, None, 1001, "١"])
def test_absurd_prices_are_refused(ledger: Ledger, price: object):
    with pytest.raises(UsageError):
        ask(ledger, laplace(1), price=price)


def test_the_dearest_question_is_no_absurdity():
    assert check_event(laplace(1000)).pure == 10**12
    assert check_event(gaussian(500_000)).rho == 5 * 10**17


@pytest.mark.parametrize(
    "region",
    [
        None,
        "all",
        Region((Box({"a": ValueSet(((1.5, 2),))}),)),
        Region((Box({"a": ValueSet(((2, 1),))}),)),
        Region((Box({1: ValueSet(((1, 2),))}),)),
    ],
)
def test_regions_that_would_not_come_back_are_refused(ledger: Ledger, region: object):
    with pytest.raises(UsageError, match="region"):
        ask(ledger, laplace(1), region=region)


# -- sharing -------------------------------------------------------------------------------------


def test_two_openings_see_each_others_charges(ledger: Ledger, path: Path):
    with Ledger.open(path) as other:
        ask(ledger, laplace("2"))
        assert spent(other) == 2
        with pytest.raises(BudgetExceeded):
            ask(other, laplace("1.1"))
        ask(other, laplace("1"))
        assert spent(ledger) == 3


def test_threads_share_a_ledger(path: Path):
    with make(path, guarantee(2, 0, "pure")) as ledger:
        accepted: list[str] = []

        def spend() -> None:
            try:
                while True:
                    accepted.append(ask(ledger, laplace("0.1")).id)
            except BudgetExceeded:
                return

        threads = [threading.Thread(target=spend) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(accepted) == len(set(accepted)) == 20
        assert spent(ledger) == 2


def in_a_fork(act: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_parent_and_child_go_on_after_a_fork(ledger: Ledger):
    ask(ledger, laplace("1"))
    before = ledger._journal.store
    assert in_a_fork(lambda: ask(ledger, laplace("1"))) == 0
    ask(ledger, laplace("1"))
    assert ledger._journal.store is not before
    assert spent(ledger) == 3
    assert ledger.verify().sound
    assert in_a_fork(lambda: ask(ledger, laplace("0.1"))) == 1


def test_a_fork_waits_for_a_thread_that_charges(ledger: Ledger):
    holding, release = threading.Event(), threading.Event()

    def hold() -> None:
        with ledger._journal.committed_section():
            holding.set()
            release.wait(20)

    thread = threading.Thread(target=hold)
    thread.start()
    holding.wait(20)
    threading.Timer(0.1, release.set).start()
    assert in_a_fork(lambda: ask(ledger, laplace("1"))) == 0
    assert release.is_set()
    thread.join()
    assert spent(ledger) == 1


def test_the_child_holds_locks_of_its_own(ledger: Ledger, path: Path):
    """The parent's last close would throw away the log that an unlocked child writes to."""
    ready_read, ready_write = os.pipe()
    go_read, go_write = os.pipe()

    def child() -> None:
        ask(ledger, laplace("1"))
        os.write(ready_write, b"x")
        os.read(go_read, 1)
        ask(ledger, laplace("1"))

    pid = os.fork()
    if pid == 0:
        try:
            child()
        except BaseException:
            os._exit(1)
        os._exit(0)  # not closed: what is durable is in the log
    os.read(ready_read, 1)
    ask(ledger, laplace("1"))
    ledger.close()
    os.write(go_write, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    for descriptor in (ready_read, ready_write, go_read, go_write):
        os.close(descriptor)
    with Ledger.open(path) as again:
        assert spent(again) == 3


def test_a_connection_from_before_a_fork_is_refused(path: Path):
    ledger = make(path)
    ledger._journal.store._pid -= 1  # as if a fork had passed Python by
    with pytest.raises(LedgerFault, match="forked"):
        ask(ledger, laplace("1"))
    with pytest.raises(LedgerFault, match="forked"):
        Ledger.open(path)
    ledger.close()
    Ledger.open(path).close()


def test_a_closed_ledger_answers_nothing(ledger: Ledger):
    charge = ask(ledger, laplace("1"))
    ledger.store(charge.id, "1")
    ledger.close()
    for act in (lambda: ledger.answer(charge.id), lambda: ask(ledger, laplace("1")), ledger.refresh):
        with pytest.raises(LedgerFault, match="closed"):
            act()


def test_no_ledger_and_a_second_ledger(ledger: Ledger, path: Path):
    with pytest.raises(UsageError, match="already"):
        Ledger.create(path)
    with pytest.raises(LedgerFault, match="no ledger"):
        Ledger.open(path.with_name("other.db"))
    assert sorted(each.name for each in path.parent.iterdir()) == ["ledger.db", "ledger.db-shm", "ledger.db-wal"]


def test_files_belong_to_their_owner(ledger: Ledger, path: Path):
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert {each.stat().st_mode & 0o777 for each in path.parent.iterdir()} == {0o600}


def test_entries_for_showing(ledger: Ledger):
    ask(ledger, laplace("1"))
    assert [entry.kind for entry in ledger.entries()] == ["open", "population", "version", "charge"]
