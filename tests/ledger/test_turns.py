"""Threads that share a commit: each is told its own outcome, after the disk has it, and a failure fails all of them.

In a file and in PostgreSQL alike. A file's ledger is closed by a failure, and opened anew.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded, LedgerFault, LedgerLocked
from discreet.ledger import receipts
from discreet.ledger.anchor import Anchor
from discreet.ledger.group_commit import MOST, CommitQueue
from discreet.ledger.ledger import Ledger
from discreet.ledger.ledger_location import LedgerLocation
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

    def __init__(self, store: type, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free, self.commits, self.fails = threading.Semaphore(0), 0, set()
        act = store.commit

        def commit(store: object) -> None:
            self.commits += 1
            assert self.free.acquire(timeout=WAIT_S)
            if self.commits in self.fails:
                raise LedgerFault("gone")
            act(store)

        monkeypatch.setattr(store, "commit", commit)

    def open(self) -> None:
        self.free.release(1000)


@pytest.fixture(params=["path", "address"])
def where(request: pytest.FixtureRequest) -> LedgerLocation:
    return request.getfixturevalue(request.param)


@pytest.fixture
def ledger(where: LedgerLocation):
    with make(where, guarantee(1, 0, "pure")) as made:
        yield made


@pytest.fixture
def door(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Door:
    return Door(type(ledger._journal.store), monkeypatch)


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


def after_a_failure(ledger: Ledger) -> Ledger:
    return ledger if ledger.shared else Ledger.open(ledger.path)


def test_those_who_wait_share_a_commit(ledger: Ledger, door: Door, where: LedgerLocation):
    crowd = crowd_at(ledger, door, [lambda: ask(ledger, laplace("0.1"))] * 6)
    door.open()
    charges = crowd.join()
    assert door.commits == 2
    assert len({charge.id for charge in charges}) == 7
    with Ledger.open(where) as again:
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
    again = after_a_failure(ledger)
    assert spent(again) == Fraction("0.1")
    ask(again, laplace("0.9"))
    assert again.verify().sound


def test_an_act_that_fails_after_its_entry_fails_for_all(ledger: Ledger, door: Door, monkeypatch: pytest.MonkeyPatch):
    owner = type(ledger._journal.store)
    act = owner.append

    def append(store: object, entry: object, *arguments: object, **named: object) -> None:
        act(store, entry, *arguments, **named)
        if '"question":"bad"' in entry.body:
            raise LedgerFault("lost")

    monkeypatch.setattr(owner, "append", append)
    acts = [lambda: ask(ledger, laplace("0.1")), lambda: ask(ledger, laplace("0.1"), question="bad")]
    crowd = crowd_at(ledger, door, acts)
    door.open()
    assert [str(each) for each in crowd.join() if isinstance(each, LedgerFault)] == ["lost"] * 2
    again = after_a_failure(ledger)
    assert spent(again) == Fraction("0.1")
    assert again.verify().sound


@pytest.mark.parametrize("guarded", [True, False])
def test_a_crash_after_a_shared_commit_leaves_all_of_its_charges(path: Path, state_folder: Path, guarded: bool):
    """The head is six entries behind, and the digests say that they were committed here. Without them nobody knows."""
    with pytest.MonkeyPatch.context() as patch:
        ledger = make(path, guarantee(1, 0, "pure"))
        door = Door(type(ledger._journal.store), patch)
        if not guarded:
            patch.setattr(Anchor, "write_digests", lambda *_, **__: None)
        crowd = crowd_at(ledger, door, [lambda: ask(ledger, laplace("0.1"))] * 6)
        act = Anchor.write_head

        def write_head(anchor: Anchor, head: object) -> None:
            if door.commits == 2:
                raise LedgerFault("the power is gone")
            act(anchor, head)

        patch.setattr(Anchor, "write_head", write_head)
        door.open()
        assert sum(isinstance(each, LedgerFault) for each in crowd.join()) == 6
    if not guarded:
        with pytest.raises(LedgerLocked, match="6 entries behind"):
            Ledger.open(path)
        return
    with Ledger.open(path) as again:
        assert len(again.state.charges) == 7 and spent(again) == Fraction("0.7")
        assert again.verify().sound


def test_a_crash_before_a_shared_commit_leaves_none_of_its_charges(path: Path, state_folder: Path):
    with pytest.MonkeyPatch.context() as patch:
        ledger = make(path, guarantee(1, 0, "pure"))
        door = Door(type(ledger._journal.store), patch)
        crowd = crowd_at(ledger, door, [lambda: ask(ledger, laplace("0.1"))] * 6)
        door.fails = {2}
        door.open()
        assert sum(isinstance(each, LedgerFault) for each in crowd.join()) == 6
    with Ledger.open(path) as again:
        assert len(again.state.charges) == 1
        assert ask(again, laplace("0.1")).seq == again.state.seq  # over digests of entries that no chain has
    with Ledger.open(path) as again:
        assert spent(again) == Fraction("0.2")
        assert again.verify().sound


def test_more_entries_than_a_commit_can_have_are_an_old_state_folder(path: Path, state_folder: Path):
    """Whatever its digests say: an old head beside new digests is no crash."""
    with make(path, guarantee(1, 0, "pure")) as ledger:
        head = next(state_folder.glob("*/head.json"))
        old = head.read_bytes()
        for _ in range(MOST + 1):
            ask(ledger, laplace("0.001"))
    head.write_bytes(old)
    with pytest.raises(LedgerLocked, match="65 entries behind"):
        Ledger.open(path)


def test_a_receipt_is_the_askers_own(ledger: Ledger, door: Door):
    """Whoever leads enters the others' charges too; each is noted where it was asked for."""

    def noted() -> tuple[list[str], str]:
        with receipts.collect_receipts() as ids:
            return ids, ask(ledger, laplace("0.1")).id

    crowd = crowd_at(ledger, door, [noted] * 3)
    door.open()
    pairs = [each for each in crowd.join() if isinstance(each, tuple)]
    assert [ids for ids, _ in pairs] == [[id_] for _, id_ in pairs] and len(pairs) == 3


def test_two_entries_in_one_act_are_refused(ledger: Ledger):
    def twice() -> None:
        for _ in range(2):
            ledger._journal.append("grant", {"population": "patients", "guarantee": guarantee(2, 0, "pure").to_data()})

    with pytest.raises(RuntimeError, match="only one entry"):
        ledger._journal.run_in_section(twice)
    assert after_a_failure(ledger).account_status("patients").limit.epsilon == 1


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
