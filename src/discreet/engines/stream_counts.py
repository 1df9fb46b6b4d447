"""What a stream has counted: how many rows of each person, over its whole life. For the owner only, as exact as can be.

A person is counted when rows of theirs are first seen, and never for more than a limit in all:

    counted'(p) = max(counted(p), min(rows of p now, limit)),    new rows of p = counted'(p) - counted(p)

Guarantee: over all steps the new rows of a person add up to at most `limit`, and depend on that person's rows alone.
Because: counted(p) never falls, starts at 0 and is at most `limit`; it is a function of the numbers of p's own rows in
    the versions read so far. Somebody who was forgotten is left out on both sides: who is erased is not counted again.

The file lies beside the declared tables, readable by its owner only. Each step writes a new one before its noise is
drawn; the ledger's row names it. It is sealed with the ledger's key: one that was altered, or is another step's, is
not read.

    <streams>/<stream>/lock                     held while a step is taken, or a person erased
                       <number>-<chance>.counted
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.engines.engine import ExactPersons
from discreet.engines.keyed_hashes import TAG_BYTES
from discreet.engines.table_file import new_file
from discreet.errors import LedgerFault, UsageError

Seal = Callable[[str], str]

FOLDER = "streams"
_ENDING = ".counted"
_LOCK = "lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCounts:
    """Persons by their tags, how many rows of each were counted, and how many rows were new at each step. Exact."""

    stream: str
    table: str
    exact_tags: Any = field(repr=False)
    exact_counts: NDArray[np.int64] = field(repr=False)
    exact_steps: tuple[int, ...] = field(repr=False, default=())

    @staticmethod
    def empty(stream: str, table: str) -> StreamCounts:
        """Before the first step."""
        return StreamCounts(stream=stream, table=table, exact_tags=_tags(b""), exact_counts=np.zeros(0, dtype=np.int64))

    def without(self, tags: Collection[bytes]) -> StreamCounts:
        """The same without these persons. What they added to earlier steps stays."""
        kept = np.invert(_is_among(self.exact_tags, tags))
        return replace(self, exact_tags=_select_tags(self.exact_tags, kept), exact_counts=self.exact_counts[kept])

    def advance(self, persons: ExactPersons, *, limit: int, forgotten: Collection[bytes]) -> StreamCounts:
        """After one more step, which sees the persons of a declared table."""
        now, rows = persons.exact_tags, persons.exact_rows
        present = np.invert(_is_among(now, forgotten))
        now, seen = _select_tags(now, present), np.minimum(rows[present], limit)
        before = self.without(forgotten)
        places = _index_among(now, before.exact_tags)
        counted_before = places >= 0
        grown = seen.copy()
        grown[counted_before] = np.maximum(seen[counted_before] - before.exact_counts[places[counted_before]], 0)
        counts = before.exact_counts.copy()
        counts[places[counted_before]] += grown[counted_before]
        first = np.logical_and(np.invert(counted_before), grown > 0)
        return replace(
            self,
            exact_tags=_tags(_bytes(before.exact_tags) + _bytes(_select_tags(now, first))),
            exact_counts=np.concatenate([counts, grown[first]]),
            exact_steps=(*self.exact_steps, int(grown.sum())),
        )


@contextmanager
def lock_stream(folder: Path, *, wait: bool) -> Iterator[None]:
    """Hold one stream's folder against every other process; refused, or waited for, where another holds it."""
    try:
        _make_folder(folder)
        descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as problem:
        raise _unwritable(problem) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        os.close(descriptor)
        raise UsageError("another process is taking a step of this stream", hint="try again in a moment") from None
    try:
        yield
    finally:
        os.close(descriptor)


def save(folder: Path, counted: StreamCounts, seal: Seal, *, name: str = "") -> str:
    """Write a state, durably; return its file's name, a new one where none is given."""
    name = name or f"{len(counted.exact_steps)}-{secrets.token_hex(8)}{_ENDING}"
    people = _bytes(counted.exact_tags) + counted.exact_counts.astype("<i8").tobytes()
    head = {"stream": counted.stream, "table": counted.table, "name": name, "steps": list(counted.exact_steps)}
    text = json.dumps(head, sort_keys=True)
    try:
        with new_file(folder / name) as stream:
            stream.write(f"{_seal(text, people, seal)}\n{text}\n".encode())
            stream.write(people)
    except UsageError as problem:
        raise LedgerFault(
            problem.reason.replace("the declared table", "the file of the stream's counts"), hint="no noise was drawn"
        ) from None
    return name


def load(folder: Path, name: str, seal: Seal) -> StreamCounts:
    """Read a state as it was written."""
    try:
        mac, text, people = (folder / name).read_bytes().split(b"\n", 2)
        head = json.loads(text)
        if mac.decode() != _seal(text.decode(), people, seal) or head["name"] != name:
            raise ValueError("the seal does not match")
    except (OSError, ValueError, KeyError, TypeError):
        raise LedgerFault(
            "the file of the stream's counts is missing or was altered, so who was counted is no longer known",
            hint="restore the folder of declared tables as it was, or start another stream",
        ) from None
    middle = len(people) * TAG_BYTES // (TAG_BYTES + 8)
    return StreamCounts(
        stream=head["stream"],
        table=head["table"],
        exact_tags=_tags(people[:middle]),
        exact_counts=np.frombuffer(people[middle:], dtype="<i8").astype(np.int64),
        exact_steps=tuple(head["steps"]),
    )


def drop_other_states(folder: Path, *, keep: str | None) -> None:
    """Erase what no row of the ledger names: older states, and what broke off. Only while `lock_stream`."""
    for file in folder.iterdir():
        if file.name not in (_LOCK, keep):
            file.unlink(missing_ok=True)


def discard(file: Path) -> None:
    """Erase a state that is not what it was. Where the disk fails it is kept: it may be whole."""
    try:
        file.read_bytes()
    except OSError as problem:
        raise _unwritable(problem) from None
    file.unlink()


def states(folder: Path) -> list[Path]:
    """Every state in the folder of one stream."""
    return sorted(file for file in folder.iterdir() if file.name.endswith(_ENDING))


def _make_folder(folder: Path) -> None:
    """Make the folder, durably: a state is of no use in a folder that a power cut takes away."""
    for each in (folder.parent, folder):
        if not each.exists():
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
            above = os.open(each.parent, os.O_RDONLY)
            try:
                os.fsync(above)
            finally:
                os.close(above)


def _seal(text: str, people: bytes, seal: Seal) -> str:
    return seal(f"counted {hashlib.sha256(text.encode() + people).hexdigest()} {len(text)}")


def erase_from_stream_counts(folder: Path, tables: Collection[str], tags: Collection[bytes], *, seal: Seal) -> None:
    """Rewrite what streams over these tables have counted without the persons of these tags.

    A state that cannot be read serves no stream any more, and goes.
    """
    for own in sorted((folder / FOLDER).glob("*/")):
        with lock_stream(own, wait=True):
            for file in states(own):
                try:
                    state = load(own, file.name, seal)
                except LedgerFault:
                    discard(file)
                    continue
                if state.table in tables:
                    save(own, state.without(tags), seal, name=file.name)


def _unwritable(problem: OSError) -> LedgerFault:
    return LedgerFault(
        f"the file of the stream's counts cannot be written: {problem.strerror}", hint="no noise was drawn"
    )


def _tags(raw: bytes) -> Any:
    import pyarrow as pa

    kind = pa.binary(TAG_BYTES)
    return pa.FixedSizeBinaryArray.from_buffers(kind, len(raw) // TAG_BYTES, [None, pa.py_buffer(raw)])


def _bytes(tags: Any) -> bytes:
    start, count = tags.offset * TAG_BYTES, len(tags) * TAG_BYTES
    return bytes(tags.buffers()[1])[start : start + count] if count else b""


def _select_tags(tags: Any, mask: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return tags.filter(pa.array(mask))


def _is_among(tags: Any, among_tags: Collection[bytes]) -> NDArray[np.bool_]:
    return _index_among(tags, _tags(b"".join(among_tags))) >= 0


def _index_among(tags: Any, among: Any) -> NDArray[np.int64]:
    """Where each tag stands among others; -1 where it does not."""
    import pyarrow.compute as pc

    if not len(among) or not len(tags):
        return np.full(len(tags), -1, dtype=np.int64)
    indices = pc.fill_null(pc.index_in(tags.cast("binary"), value_set=among.cast("binary")), -1)
    return np.asarray(indices).astype(np.int64)
