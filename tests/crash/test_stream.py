"""kill -9 between any two writes of a stream's step: nobody is counted twice, no step is shown and then another."""

from __future__ import annotations

import csv
import json
import os
import random
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import discreet
from crash.harness import Life, Outcome, torture
from crash.streamer import MUTANTS, POINTS, plain
from discreet.errors import DiscreetError
from discreet.tables.stream import project_streams
from tables.stream.visits import make, state
from tiers import size

STREAMER = Path(__file__).with_name("streamer.py")
STEPS, LIMIT = 2, 2


def project(folder: Path, *, steps: int = STEPS, newcomers: int = 1) -> list[int]:
    """A stream of as many steps, and the data that arrives at each; how many rows it must count at each.

    At each step there are some persons more.
    """
    folder.mkdir(parents=True)
    made = plain(make(folder, {}, budget="{ epsilon = 5 }"))
    most: dict[str, int] = {}
    counted: list[int] = []
    for step in range(1, steps + 1):
        rows = {f"p{number}": random.randint(0, 3) for number in range(12 + newcomers * step)}
        most = {person: max(rows.get(person, 0), most.get(person, 0)) for person in {*rows, *most}}
        counted.append(sum(min(LIMIT, count) for count in most.values()) - sum(counted))
        with (folder / f"data-{step}.csv").open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["id", "email", "ward"])
            writer.writerows([person, "e", "north"] for person, count in rows.items() for _ in range(count))
    project_streams.stream(made, "visits", "daily", epsilon=1, horizon=steps + 1, contributions=LIMIT)
    return counted


def problems(folder: Path, outcome: Outcome, expected: list[int], *, steps: int = STEPS) -> list[str]:
    """Everything that a crash must never leave behind."""
    found = [f"a life failed: {fault.splitlines()[-1]}" for fault in outcome.faults]
    opened = discreet.open(folder)
    stream = project_streams.stream(opened, "visits", "daily")[0]
    rows = {row.step: [row.total.value, list(row.noisy)] for row in stream.rows}
    if sorted(rows) != list(range(1, steps + 1)):
        found.append(f"steps {sorted(rows)}")
    for line in outcome.lines:
        step, _, shown = line.partition(" ")
        if json.loads(shown) != rows.get(int(step)):
            found.append(f"step {step} was shown, and is another now")
    try:
        counted = list(state(opened, stream).exact_steps)
    except DiscreetError as problem:
        return [*found, str(problem)]
    if counted != expected:
        found.append(f"{counted} rows were counted of {expected}")
    if int(state(opened, stream).exact_counts.max()) > LIMIT:
        found.append("somebody was counted more often than the limit")
    if len(opened.ledger.state.charges) != 1 or not opened.verify().sound:
        found.append("the ledger holds something else")
    return found


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in memory, where a life is not spent waiting for the disk."""
    folder = Path(tempfile.mkdtemp(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None))
    monkeypatch.setenv("DISCREET_STATE", str(folder / "state"))
    yield folder
    shutil.rmtree(folder)


def test_death_at_one_write_after_the_other(memory: Path):
    """One stream, whose every life but the last leaves at another point: what one of them spoils the last one shows."""
    folder, steps = memory / "own", 2 * len(POINTS)
    expected = project(folder, steps=steps, newcomers=4)
    lives = [Life(arguments=[str(folder), str(steps), f"die={point}"]) for point in POINTS]
    lives.append(Life(arguments=[str(folder), str(steps)]))
    outcome = torture(STREAMER, lives, environment={}, timeout_s=400)
    assert outcome.codes == [9] * len(POINTS) + [0]
    assert problems(folder, outcome, expected, steps=steps) == []


@pytest.mark.deep
def test_death_between_every_two_writes_of_a_step(memory: Path):
    """As above, with a stream for each point."""
    folders = {point: memory / str(number) for number, point in enumerate(POINTS)}
    expected, lives = {}, []
    for point, folder in folders.items():
        expected[point] = project(folder)
        lives += [Life(arguments=[str(folder), str(STEPS), f"die={point}"]), Life(arguments=[str(folder), str(STEPS)])]
    outcome = torture(STREAMER, lives, environment={}, timeout_s=400)
    assert outcome.codes == [9, 0] * len(POINTS)
    for number, (point, folder) in enumerate(folders.items()):
        said = [*outcome.said[2 * number], *outcome.said[2 * number + 1]]
        own = Outcome(codes=[], said=[said], faults=[], cpu_s=0)
        assert problems(folder, own, expected[point]) == [], point
    assert outcome.faults == []


def test_kills_at_any_time(memory: Path):
    folder, steps = memory / "own", size(8, 12)
    expected = project(folder, steps=steps)
    lives = [
        Life(arguments=[str(folder), str(steps)], delay_s=random.uniform(0, 0.1), from_birth=turn % 5 == 0)
        for turn in range(size(3, 20))
    ]
    lives.append(Life(arguments=[str(folder), str(steps)]))
    outcome = torture(STREAMER, lives, environment={}, timeout_s=400)
    assert outcome.codes[-1] == 0 and set(outcome.codes) <= {0, -signal.SIGKILL}
    print(f"{outcome.killed} kills, {outcome.cpu_s:.1f} CPU s")
    assert problems(folder, outcome, expected, steps=steps) == []


def test_mutants_are_caught(memory: Path):
    expected, lives = {}, []
    for mutant in MUTANTS:
        expected[mutant] = project(memory / mutant)
        arguments = [str(memory / mutant), str(STEPS), f"mutant={mutant}"]
        lives += [Life(arguments=[*arguments, "die=after the row"]), Life(arguments=arguments)]
    outcome = torture(STREAMER, lives, environment={})
    assert outcome.codes[::2] == [9] * len(MUTANTS)
    for number, mutant in enumerate(MUTANTS):
        said = outcome.said[2 * number : 2 * number + 2]
        own = Outcome(codes=[], said=said, faults=[], cpu_s=0)
        assert problems(memory / mutant, own, expected[mutant]) != [], mutant
