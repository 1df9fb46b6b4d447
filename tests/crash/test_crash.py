"""kill -9 at any point: no answer without its row, nothing overspent, and the ledger opens as if nothing was."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from crash.harness import Life, Outcome, torture
from crash.spender import POINTS
from discreet.ledger.ledger import Ledger
from ledger.ledgers import guarantee, make
from tiers import fuzzed, size

SPENDER = Path(__file__).with_name("spender.py")

#: Kills on one ledger: so few that opening it never takes longer than living.
LIVES = size(14, 50)


def budget(path: Path, epsilon: str = "6") -> None:
    make(path, guarantee(epsilon, 0, "pure")).close()


def problems(path: Path, outcome: Outcome) -> list[str]:
    """Everything that a crash must never leave behind."""
    found = [f"a life failed: {fault.splitlines()[-1]}" for fault in outcome.faults]
    try:
        ledger = Ledger.open(path)
    except Exception as fault:
        return [*found, f"the ledger does not open: {fault}"]
    with ledger:
        if not ledger.verify().sound:
            found.append("the chain does not verify")
        standing = ledger.account_status("patients")
        spent = sum((Fraction(charge.cost.pure, 10**9) for charge in ledger.state.charges.values()), Fraction(0))
        if spent > standing.limit.epsilon or spent != standing.spent.epsilon:
            found.append(f"spent {spent}, booked {standing.spent.epsilon}, limit {standing.limit.epsilon}")
        for line in outcome.lines:
            id_, _, payload = line.partition(" ")
            if id_ not in ledger.state.charges:
                found.append(f"{id_} was answered and never charged")
            elif id_ not in ledger.state.answers or ledger.answer(id_) != payload:
                found.append(f"{id_} was answered and is not stored")
    return found


def random_lives(path: Path, count: int, *, longest_s: float) -> list[Life]:
    """Mostly killed while charging; one in six at any time from its birth, while it opens the ledger."""
    return [
        Life(arguments=[str(path)], delay_s=random.uniform(0, longest_s), from_birth=number % 6 == 0)
        for number in range(count)
    ]


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """One on disk, where a life is spent waiting for fsync, and one in memory, where it is spent between the steps."""
    memory = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    yield tmp_path, memory
    shutil.rmtree(memory)


def test_kills_at_any_time(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch):
    kill(folders, monkeypatch, ledgers=size(1, 2))


@pytest.mark.fuzz
def test_three_hundred_kills(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch):
    kill(folders, monkeypatch, ledgers=fuzzed(6))


def kill(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, *, ledgers: int) -> None:
    killed = said = charged = 0
    cpu_s = 0.0
    for number in range(ledgers):
        folder, longest_s = folders[number % 2], (0.15, 0.03)[number % 2]
        path = folder / f"{number}" / "ledger.db"
        monkeypatch.setenv("DISCREET_STATE", str(folder / "state"))
        budget(path, "0.5" if number == 0 else "90")  # the first one also runs out
        outcome = torture(SPENDER, random_lives(path, LIVES, longest_s=longest_s), environment={})
        assert problems(path, outcome) == []
        killed += outcome.killed
        said += len(outcome.lines)
        cpu_s += outcome.cpu_s
        with Ledger.open(path) as ledger:
            charged += len(ledger.state.charges)
    print(f"{killed} kills, {charged} charges, {said} answers said, {cpu_s:.1f} CPU s")
    assert killed == ledgers * LIVES
    assert said > killed // 10


def test_death_at_every_step_of_a_charge(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DISCREET_STATE", str(folders[1] / "state"))
    paths = {point: folders[1] / f"{number}" / "ledger.db" for number, point in enumerate(POINTS)}
    lives = []
    for point, path in paths.items():
        budget(path)
        lives += [Life(arguments=[str(path), f"die={point}"]), Life(arguments=[str(path)], delay_s=0.01)]
    outcome = torture(SPENDER, lives, environment={})
    assert outcome.faults == []
    assert outcome.codes[::2] == [9] * len(POINTS)
    for number, (point, path) in enumerate(paths.items()):
        said = outcome.said[2 * number : 2 * number + 2]
        assert len(said[0]) == 2
        assert problems(path, replace(outcome, said=said)) == []
        with Ledger.open(path) as ledger:
            # A life asks under a name of its own. The second one may be killed anywhere, and leave a charge
            # without an answer too: what the first one lost is told apart by that name.
            charges, heard = ledger.state.charges, [line.partition(" ")[0] for line in said[0]]
            mine = [charge.id for charge in charges.values() if charge.question == charges[heard[0]].question]
            lost = [id_ for id_ in mine if id_ not in heard]
            assert len(lost) == (list(POINTS).index(point) >= list(POINTS).index("after the commit")), point
            assert not ledger.state.answers.keys() & set(lost), point


def test_threads_that_share_a_commit_die_together(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch):
    """Eight threads, killed around the commit that serves them all: whoever got an answer has a charge that stands."""
    monkeypatch.setenv("DISCREET_STATE", str(folders[1] / "state"))
    path = folders[1] / "shared" / "ledger.db"
    budget(path)
    points = list(POINTS) if size(0, 1) else ["before the commit", "after the commit", "before the head"]
    lives = [Life(arguments=[str(path), f"die={point}", "threads=8"]) for point in points]
    outcome = torture(SPENDER, lives, environment={})
    assert outcome.codes == [9] * len(points)
    assert problems(path, outcome) == []


def test_a_head_written_before_the_commit_is_caught(tmp_path: Path, state_folder: Path):
    path = tmp_path / "ledger.db"
    budget(path)
    lives = [Life(arguments=[str(path), "mutant=head_before_commit", "die=before the commit"])]
    outcome = torture(SPENDER, lives, environment={"DISCREET_STATE": str(state_folder)})
    assert outcome.codes == [9]
    assert any("does not open" in problem for problem in problems(path, outcome))


def test_an_answer_before_its_charge_is_caught(tmp_path: Path, state_folder: Path):
    path = tmp_path / "ledger.db"
    budget(path)
    lives = [Life(arguments=[str(path), "mutant=answer_before_charge", "die=before the transaction"])]
    outcome = torture(SPENDER, lives, environment={"DISCREET_STATE": str(state_folder)})
    assert outcome.codes == [9]
    assert problems(path, outcome) != []
