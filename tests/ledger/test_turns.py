"""Threads that share a commit: each is told its own outcome, after the disk has it, and a failure fails all of them."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from fractions import Fraction

import pytest

from discreet.errors import BudgetExceeded, LedgerFault
from discreet.ledger.group_commit import CommitQueue
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import DatabaseAddress
from discreet.ledger.postgres_ledger import PostgresLedgerStore
from ledger.ledgers import ask, guarantee, laplace, make

WAIT_S = 30


class Crowd:
    """Threads that each do something, and what came of it."""

    def __init__(self) -> None:
        self.threads: list[threading.Thread] = []
        self.told: list[object] = []

    def add(self, act: Callable[[], object]) -> None:
        def live() -> None:
            try:
                found = act()
            except BaseException as fault:
                found = fault
            self.told.append(found)

        self.threads.append(threading.Thread(target=live, daemon=True))
        self.threads[-1].start()

    def join(self) -> list[object]:
        for thread in self.threads:
            thread.join(WAIT_S)
            assert not thread.is_alive()
        return self.told


def until(seen: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not seen():
        assert time.monotonic() < deadline
        time.sleep(0.001)


class Door:
    """Holds every commit until it is let through, counts them, and fails where it is told to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free, self.commits, self.fails = threading.Semaphore(0), 0, set()
        act = PostgresLedgerStore.commit

        def commit(store: PostgresLedgerStore) -> None:
            self.commits += 1
            assert self.free.acquire(timeout=WAIT_S)
            if self.commits in self.fails:
                raise LedgerFault("gone")
            act(store)

        monkeypatch.setattr(PostgresLedgerStore, "commit", commit)

    def open(self) -> None:
        self.free.release(1000)


@pytest.fixture
def ledger(address: DatabaseAddress):
    with make(address, guarantee(1, 0, "pure")) as made:
        yield made


@pytest.fixture
def door(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Door:
    return Door(monkeypatch)


def crowd_at(ledger: Ledger, door: Door, acts: list[Callable[[], object]]) -> Crowd:
    """The first one is in its commit, and the others wait for it, in their order."""
    crowd = Crowd()
    crowd.add(lambda: ask(ledger, laplace("0.1")))
    until(lambda: door.commits == 1)
    for number, act in enumerate(acts):
        crowd.add(act)
        until(lambda number=number: len(ledger._journal._commit_queue._waiting) == number + 1)
    return crowd


def spent(ledger: Ledger) -> Fraction:
    return ledger.account_status("patients").spent.epsilon


def test_those_who_wait_share_a_commit(ledger: Ledger, door: Door, address: DatabaseAddress):
    crowd = crowd_at(ledger, door, [lambda: ask(ledger, laplace("0.1"))] * 6)
    door.open()
    charges = crowd.join()
    assert door.commits == 2
    assert len({charge.id for charge in charges}) == 7
    with Ledger.open(address) as again:
        assert set(again.state.charges) == {charge.id for charge in charges}
        assert spent(again) == Fraction("0.7")
    assert ledger.verify().sound


def test_nobody_is_told_before_the_commit(ledger: Ledger, door: Door):
    crowd = crowd_at(ledger, door, [lambda: ask(ledger, laplace("0.1")), lambda: spent(ledger)])
    assert crowd.told == []
    door.free.release()
    until(lambda: door.commits == 2 and crowd.told)
    time.sleep(0.05)
    assert len(crowd.told) == 1
    door.open()
    assert len(crowd.join()) == 3


def test_a_refusal_concerns_one_alone(ledger: Ledger, door: Door):
    """The last unit goes to whoever came first; the one after it is refused, and those around it are charged."""
    acts = [
        lambda: ask(ledger, laplace("0.8")),
        lambda: ask(ledger, laplace("0.2")),
        lambda: ask(ledger, laplace("0.1")),
    ]
    crowd = crowd_at(ledger, door, acts)
    door.open()
    told = crowd.join()
    (refused,) = [each for each in told if isinstance(each, BaseException)]
    assert isinstance(refused, BudgetExceeded)
    assert door.commits == 2
    assert spent(ledger) == 1
    assert ledger.verify().sound


def test_a_commit_that_fails_fails_for_all(ledger: Ledger, door: Door):
    """Those who were refused, too: what they were refused for was perhaps not charged."""
    acts = [lambda: ask(ledger, laplace("0.9")), lambda: ask(ledger, laplace("0.9"))]
    crowd = crowd_at(ledger, door, acts)
    door.fails = {2}
    door.open()
    told = crowd.join()
    assert [str(each) for each in told if isinstance(each, LedgerFault)] == ["gone"] * 2
    assert spent(ledger) == Fraction("0.1")
    ask(ledger, laplace("0.9"))
    assert ledger.verify().sound


def test_an_act_that_fails_after_its_entry_fails_for_all(ledger: Ledger, door: Door, monkeypatch: pytest.MonkeyPatch):
    act = PostgresLedgerStore.append

    def append(store: PostgresLedgerStore, entry: object, *arguments: object, **named: object) -> None:
        act(store, entry, *arguments, **named)
        if '"question":"bad"' in entry.body:
            raise LedgerFault("lost")

    monkeypatch.setattr(PostgresLedgerStore, "append", append)
    acts = [lambda: ask(ledger, laplace("0.1")), lambda: ask(ledger, laplace("0.1"), question="bad")]
    crowd = crowd_at(ledger, door, acts)
    door.open()
    assert [str(each) for each in crowd.join() if isinstance(each, LedgerFault)] == ["lost"] * 2
    assert spent(ledger) == Fraction("0.1")
    assert ledger.verify().sound


def test_two_entries_in_one_act_are_refused(ledger: Ledger):
    def twice() -> None:
        for _ in range(2):
            ledger._journal.append("grant", {"population": "patients", "guarantee": guarantee(2, 0, "pure").to_data()})

    with pytest.raises(RuntimeError, match="only one entry"):
        ledger._journal.run_in_section(twice)
    assert ledger.account_status("patients").limit.epsilon == 1


def test_a_child_does_nothing_for_threads_that_it_does_not_have(ledger: Ledger, door: Door):
    crowd = crowd_at(ledger, door, [lambda: ask(ledger, laplace("0.1"))] * 2)
    threading.Timer(0.2, door.open).start()
    child = os.fork()  # waits for the commit's end; two threads wait beside it
    if child == 0:
        os._exit(len(ledger._journal._commit_queue._waiting))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    crowd.join()
    assert spent(ledger) == Fraction("0.3")


# -- turns alone ----------------------------------------------------------------------------------


def test_an_interrupted_leader_names_another():
    turns, lock, reached, go = CommitQueue(), threading.RLock(), threading.Event(), threading.Event()

    def together(acts):
        for act in acts:
            act()

    def interrupted() -> None:
        reached.set()
        assert go.wait(WAIT_S)
        raise KeyboardInterrupt

    crowd = Crowd()
    crowd.add(lambda: turns.run(interrupted, lock=lock, together=together))
    assert reached.wait(WAIT_S)
    for number in range(3):
        crowd.add(lambda number=number: turns.run(lambda: number, lock=lock, together=together))
    until(lambda: len(turns._waiting) == 3)
    go.set()
    told = crowd.join()
    assert sorted(each for each in told if isinstance(each, int)) == [0, 1, 2]
    assert sum(isinstance(each, KeyboardInterrupt) for each in told) == 1
    assert not turns._has_leader


def test_who_leaves_while_waiting_is_passed_over(monkeypatch: pytest.MonkeyPatch):
    """An interrupt ends the wait: what was to be done is not done, and whoever comes after is served."""
    turns, lock, done = CommitQueue(), threading.RLock(), []

    def together(acts):
        for act in acts:
            act()

    turns._has_leader = True  # somebody leads
    monkeypatch.setattr("threading.Event.wait", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        turns.run(lambda: done.append("never"), lock=lock, together=together)
    monkeypatch.undo()
    turns._has_leader = False
    turns.run(lambda: done.append("after"), lock=lock, together=together)
    assert done == ["after"]


@pytest.mark.parametrize(("limit", "most"), [("MOST", 2), ("LONGEST_S", -1)])
def test_more_than_go_at_once(monkeypatch: pytest.MonkeyPatch, limit: str, most: int):
    """As many as may go at once, or one where that takes too long; the rest after them, in their order."""
    monkeypatch.setattr(f"discreet.ledger.group_commit.{limit}", most)
    turns, lock, sizes = CommitQueue(), threading.RLock(), []

    def together(acts):
        sizes.append(sum(1 for act in acts if act() is None))

    with lock:
        crowd = Crowd()
        for number in range(7):
            crowd.add(lambda number=number: turns.run(lambda: number, lock=lock, together=together))
        until(lambda: len(turns._waiting) == 7)
    assert sorted(crowd.join()) == list(range(7))
    assert sum(sizes) == 7 and max(sizes) == max(most, 1)
