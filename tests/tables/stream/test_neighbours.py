"""Neighbours on the real engine: a person's whole life, over several versions, moves what is drawn by no more than charged.

Every history of 0, 1 or 3 rows over three versions is the life of one person. With and without each of them the
declared tables are made by DuckDB from their source, and the steps are counted; what moves is measured exactly.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from discreet.engines.duckdb import DuckDBEngine
from discreet.engines.file_backed_engine import read_persons
from discreet.engines.stream_counts import StreamCounts
from discreet.engines.table_file import persons_file
from discreet.schema.column import CategoryColumn
from discreet.schema.privacy_unit import PrivacyUnit
from discreet.schema.schema import Schema, Table
from discreet.tables.stream.square_root_counter import SquareRootCounter
from discreet.tables.stream.tree_counter import TreeCounter
from engines.persons_tables import KEY, TAG_KEY
from tiers import size

#: Tables and steps are made once for all tests, on a machine that may be busy.

VERSIONS = 3
LIVES = list(itertools.product((0, 1, 3), repeat=VERSIONS))[:: size(2, 1)]
COUNTERS = [SquareRootCounter(VERSIONS), TreeCounter(VERSIONS, ((1, 2), (2, 1)))]

Step = Callable[[StreamCounts, Path, int], StreamCounts]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The side files of every version, with everybody (None) and without each person."""
    folder = tmp_path_factory.mktemp("lives")
    engine = DuckDBEngine(threads=1)
    schema = Schema(
        table="t", columns=(CategoryColumn(name="ward", values=("n", "s")),), unit=PrivacyUnit(person=("id",), rows=3)
    )
    table = Table(schema=schema, source="s.csv", population="t", budget=None)
    found = {}
    for left_out in (None, *range(len(LIVES))):
        for version in range(VERSIONS):
            if left_out is not None and LIVES[left_out][version] == 0:
                found[left_out, version] = found[None, version]  # nothing to leave out
                continue
            rows = [
                f"p{number},{'ns'[(number + turn) % 2]}"
                for number, life in enumerate(LIVES)
                if number != left_out
                for turn in range(life[version])
            ]
            random.shuffle(rows)
            (folder / "s.csv").write_text("\n".join(["id,ward", *rows]) + "\n")
            target = folder / f"{left_out}-{version}.parquet"
            engine.declare(table, folder=folder, target=target, key=KEY, tag_key=TAG_KEY)
            found[left_out, version] = persons_file(target)
    engine.close()
    return found


def steps(files, left_out, limit, step: Step) -> np.ndarray:
    state = StreamCounts.empty("r-x", "t")
    for version in range(VERSIONS):
        state = step(state, files[left_out, version], limit)
    return np.array(state.exact_steps)


def honest(state: StreamCounts, file: Path, limit: int) -> StreamCounts:
    return state.advance(read_persons(file), limit=limit, forgotten=())


def problems(files, limit, step: Step) -> list[str]:
    """Everything that one person must not be able to do."""
    found, farthest = [], dict.fromkeys(range(len(COUNTERS)), 0)
    everybody = steps(files, None, limit, step)
    for number, life in enumerate(LIVES):
        moved = everybody - steps(files, number, limit, step)
        seen = np.maximum.accumulate(np.minimum(life, limit))
        if moved.tolist() != np.diff(seen, prepend=0).tolist():
            found.append(f"the life {life} moves the steps by {moved.tolist()}")
        for place, counter in enumerate(COUNTERS):
            moves = counter.strategy.sensitivity(limit)
            drawn = [np.abs(v) for t in range(VERSIONS) for v in (counter.strategy.matrix() @ moved)[counter.due(t)]]
            l1, l2 = int(sum(drawn)), int(sum(value**2 for value in drawn))
            if l1 > moves.l1 or l2 > moves.l2_squared:
                found.append(f"the life {life} moves {counter.words} by more than is charged")
            farthest[place] = max(farthest[place], l2)
    for place, counter in enumerate(COUNTERS):
        if farthest[place] < counter.strategy.sensitivity(limit).l2_squared:
            found.append("nobody attains what is charged")
    return found


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_nobody_moves_the_stream_by_more_than_is_charged_and_somebody_by_as_much(files, limit):
    assert problems(files, limit, honest) == []


def forgetful(state: StreamCounts, file: Path, limit: int) -> StreamCounts:
    """Counts every version anew."""
    fresh = StreamCounts.empty("r-x", "t").advance(read_persons(file), limit=limit, forgotten=())
    return StreamCounts(
        stream="r-x",
        table="t",
        exact_tags=fresh.exact_tags,
        exact_counts=fresh.exact_counts,
        exact_steps=(*state.exact_steps, *fresh.exact_steps),
    )


def unbounded(state: StreamCounts, file: Path, limit: int) -> StreamCounts:
    return state.advance(read_persons(file), limit=10**6, forgotten=())


def by_size(state: StreamCounts, file: Path, limit: int) -> StreamCounts:
    """What one person adds depends on how many others there are."""
    after = state.advance(read_persons(file), limit=limit, forgotten=())
    last = after.exact_steps[-1] // 2 * 2
    return StreamCounts(
        stream="r-x",
        table="t",
        exact_tags=after.exact_tags,
        exact_counts=after.exact_counts,
        exact_steps=(*after.exact_steps[:-1], last),
    )


@pytest.mark.parametrize("mutant", [forgetful, unbounded, by_size])
def test_mutants_are_caught(files, mutant):
    assert problems(files, 2, mutant) != []
