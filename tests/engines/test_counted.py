"""What a stream has counted: against a slow reference, sealed, and erased where somebody is forgotten."""

from __future__ import annotations

import hashlib
import hmac
import stat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from discreet.engines import stream_counts
from discreet.engines.file_backed_engine import read_persons
from discreet.engines.stream_counts import StreamCounts, erase_from_stream_counts
from discreet.errors import LedgerFault, UsageError
from tiers import size


def tag(number):
    return hashlib.sha256(b"%d" % number).digest()[:16]


def seal(text, key=b"key"):
    return hmac.digest(key, text.encode(), "sha256").hex()


def side(folder, rows):
    """A side file: how many rows each person has."""
    columns = {
        "number": pa.array(range(len(rows)), pa.int32()),
        "tag": pa.array([tag(person) for person in rows], pa.binary(16)),
        "rows": pa.array(list(rows.values()), pa.int64()),
    }
    pq.write_table(pa.table(columns), folder / "t.persons.parquet")
    return folder / "t.persons.parquet"


def people(state):
    return dict(zip(state.exact_tags.to_pylist(), state.exact_counts.tolist(), strict=True))


versions = st.lists(st.dictionaries(st.integers(0, 5), st.integers(1, 6), max_size=6), min_size=1, max_size=5)


@given(versions, st.integers(1, 4), st.lists(st.integers(0, 5), max_size=2, unique=True), st.integers(0, 4))
@settings(max_examples=size(20, 150), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_against_a_slow_reference(tmp_path, history, limit, erased, when):
    state = StreamCounts.empty("r-x", "t")
    slow, new = {}, []
    for step, rows in enumerate(history):
        gone = [tag(person) for person in erased] if step >= when else []
        state = state.advance(read_persons(side(tmp_path, rows)), limit=limit, forgotten=gone)
        slow = {person: count for person, count in slow.items() if person not in gone}
        total = 0
        for person, count in ((tag(person), min(count, limit)) for person, count in rows.items()):
            if person not in gone:
                total += max(0, count - slow.get(person, 0))
                slow[person] = max(count, slow.get(person, 0))
        new.append(total)
        assert list(state.exact_steps) == new
        assert people(state) == slow
        assert all(count <= limit for count in people(state).values())


def saved(folder, rows=({1: 2, 2: 9},), table="t"):
    state = StreamCounts.empty("r-x", table)
    for each in rows:
        state = state.advance(read_persons(side(folder, each)), limit=3, forgotten=())
    return state, stream_counts.save(folder, state, seal)


def test_written_and_read_back(tmp_path):
    state, name = saved(tmp_path, ({1: 2, 2: 9}, {3: 1}))
    again = stream_counts.load(tmp_path, name, seal)
    assert (again.stream, again.table, again.exact_steps) == ("r-x", "t", (5, 1))
    assert people(again) == people(state) == {tag(1): 2, tag(2): 3, tag(3): 1}
    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    empty = StreamCounts.empty("r-x", "t")
    assert people(stream_counts.load(tmp_path, stream_counts.save(tmp_path, empty, seal), seal)) == {}


def test_every_changed_byte_is_seen(tmp_path):
    _, name = saved(tmp_path)
    whole = (tmp_path / name).read_bytes()
    for place in range(len(whole)):
        (tmp_path / name).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(LedgerFault, match="missing or was altered"):
            stream_counts.load(tmp_path, name, seal)
    for cut in (0, 10, len(whole) - 1):
        (tmp_path / name).write_bytes(whole[:cut])
        with pytest.raises(LedgerFault):
            stream_counts.load(tmp_path, name, seal)
    (tmp_path / name).write_bytes(whole + b"x")
    with pytest.raises(LedgerFault):
        stream_counts.load(tmp_path, name, seal)
    (tmp_path / name).unlink()
    with pytest.raises(LedgerFault):
        stream_counts.load(tmp_path, name, seal)


def test_another_steps_state_and_another_ledgers_are_not_taken(tmp_path):
    _, one = saved(tmp_path)
    _, two = saved(tmp_path)
    (tmp_path / one).write_bytes((tmp_path / two).read_bytes())
    with pytest.raises(LedgerFault):
        stream_counts.load(tmp_path, one, seal)
    with pytest.raises(LedgerFault):
        stream_counts.load(tmp_path, two, lambda text: seal(text, b"other"))


def test_it_tells_nothing_in_print(tmp_path):
    state, _ = saved(tmp_path)
    assert repr(state) == "StreamCounts(stream='r-x', table='t')"


def test_erasing_a_person_from_the_streams_of_some_tables(tmp_path):
    folders = {table: tmp_path / stream_counts.FOLDER / table for table in ("t", "other")}
    names = {}
    for table, folder in folders.items():
        folder.mkdir(parents=True)
        _, names[table] = saved(folder, table=table)
    erase_from_stream_counts(tmp_path, ["t"], [tag(2)], seal=seal)
    assert people(stream_counts.load(folders["t"], names["t"], seal)) == {tag(1): 2}
    assert stream_counts.load(folders["t"], names["t"], seal).exact_steps == (5,)
    assert tag(2) not in (folders["t"] / names["t"]).read_bytes()
    assert people(stream_counts.load(folders["other"], names["other"], seal)) == {tag(1): 2, tag(2): 3}


def test_a_state_that_was_altered_goes_when_somebody_is_forgotten(tmp_path):
    folder = tmp_path / stream_counts.FOLDER / "r-x"
    folder.mkdir(parents=True)
    _, name = saved(folder)
    (folder / name).write_bytes(b"nonsense " + tag(2))
    erase_from_stream_counts(tmp_path, ["t"], [tag(2)], seal=seal)
    assert not (folder / name).exists()


def test_nobody_streams(tmp_path):
    erase_from_stream_counts(tmp_path, ["t"], [tag(2)], seal=seal)


def test_one_at_a_time(tmp_path):
    held, more = stream_counts.lock_stream(tmp_path, wait=False), stream_counts.lock_stream(tmp_path, wait=False)
    with held, pytest.raises(UsageError, match="another process"), more:
        pass
    with stream_counts.lock_stream(tmp_path, wait=True):
        pass


def test_tidying_keeps_what_the_ledger_names(tmp_path):
    folder = tmp_path / "own"
    with stream_counts.lock_stream(folder, wait=False):
        names = [stream_counts.save(folder, StreamCounts.empty("r-x", "t"), seal) for _ in range(3)]
        (folder / ".making.left").write_bytes(b"half")
        stream_counts.drop_other_states(folder, keep=names[1])
        assert stream_counts.states(folder) == [folder / names[1]]
        stream_counts.drop_other_states(folder, keep=None)
        assert [file.name for file in folder.iterdir()] == ["lock"]


def test_a_side_file_that_is_gone_or_broken(tmp_path):
    state = StreamCounts.empty("r-x", "t")
    with pytest.raises(LedgerFault, match="not complete"):
        state.advance(read_persons(tmp_path / "none.parquet"), limit=1, forgotten=())
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(LedgerFault, match="not complete"):
        state.advance(read_persons(tmp_path / "broken.parquet"), limit=1, forgotten=())


def test_mutants_are_seen(tmp_path, monkeypatch):
    """Who counts every version anew, or forgets to bound, exceeds the limit over a life; the reference would see it."""

    def life(step):
        state = StreamCounts.empty("r-x", "t")
        for rows in (2, 0, 2, 5):
            state = step(state, side(tmp_path, {1: rows} if rows else {}))
        return sum(state.exact_steps)

    assert life(lambda state, file: state.advance(read_persons(file), limit=3, forgotten=())) == 3
    assert life(lambda state, file: state.advance(read_persons(file), limit=99, forgotten=())) == 5

    def without_memory(state, file):
        fresh = StreamCounts(stream="r-x", table="t", exact_tags=stream_counts._tags(b""), exact_counts=np.zeros(0, np.int64),
                        exact_steps=state.exact_steps)  # fmt: skip
        return fresh.advance(read_persons(file), limit=3, forgotten=())

    assert life(without_memory) > 3


def test_a_full_disk_is_said_and_leaves_nothing(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(LedgerFault, match="the file of the stream's counts cannot be written: No space"):
        stream_counts.save(tmp_path, StreamCounts.empty("r-x", "t"), seal)
    assert list(Path(tmp_path).iterdir()) == []
