"""Where facts stand in a chain: 16 bytes for each in place of some hundred, read from the store when needed.

    EntryIndex     sorted records of a key's digest and the number of an entry
    StoredEntries  entries by their numbers, each compared with its digest in the chain
    IndexedMap     a dictionary whose older part is an index
    IndexedLists   the same of lists, which grow without being read

Guarantee: what is read of an old entry is what was folded.
Because: an entry is used only if its digest is the one at its place in the chain; that covers every field of it. An
    index says where to look, and never what stands there: the key is compared with the entry's own.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from discreet.errors import LedgerTampered
from discreet.ledger.chain import GENESIS, LedgerEntry, canonical_json, find_problem

Key = TypeVar("Key")
Value = TypeVar("Value")

KEY_BYTES, SEQ_BYTES = 12, 4
RECORD_BYTES = KEY_BYTES + SEQ_BYTES
#: Entries that are read together when all are needed, and how many unneeded ones may lie between two of them.
_SPAN, _GAP = 5000, 20
_RECORD = struct.Struct(f"{RECORD_BYTES}s")


def _key_digest(key: object) -> bytes:
    return hashlib.blake2b(canonical_json(key).encode(), digest_size=KEY_BYTES).digest()


class EntryIndex:
    """Sorted records. A key may stand at several entries."""

    __slots__ = ("records",)

    def __init__(self, records: bytes = b"") -> None:
        self.records = records

    def seqs(self, key: object) -> list[int]:
        """The entries of a key, in order; perhaps one of another key."""
        digest = _key_digest(key)
        low, high = 0, len(self.records) // RECORD_BYTES
        while low < high:
            middle = (low + high) // 2
            if self.records[middle * RECORD_BYTES : middle * RECORD_BYTES + KEY_BYTES] < digest:
                low = middle + 1
            else:
                high = middle
        seqs = []
        while self.records[low * RECORD_BYTES : low * RECORD_BYTES + KEY_BYTES] == digest:
            seqs.append(int.from_bytes(self.records[low * RECORD_BYTES + KEY_BYTES : (low + 1) * RECORD_BYTES]))
            low += 1
        return seqs

    def all_seqs(self) -> list[int]:
        """The entries of all keys, in order."""
        places = range(KEY_BYTES, len(self.records), RECORD_BYTES)
        return sorted(int.from_bytes(self.records[place : place + SEQ_BYTES]) for place in places)

    def merge(self, pairs: Iterable[tuple[object, int]], *, without: Iterable[object] = ()) -> EntryIndex:
        """With more pairs of a key and its entry, and without some keys."""
        gone = {_key_digest(key) for key in without}
        more = sorted(_key_digest(key) + seq.to_bytes(SEQ_BYTES) for key, seq in pairs)
        records = [record for (record,) in _RECORD.iter_unpack(self.records)]
        if gone:
            records = [record for record in records if record[:KEY_BYTES] not in gone]
        return EntryIndex(b"".join(sorted(records + more)))  # two sorted runs: merged in one pass


def check_entry(
    entry: LedgerEntry | None, seq: int, digests: Sequence[str], *, key: bytes | None = None
) -> LedgerEntry:
    """An entry that is the one that was folded at its place."""
    problem = f"entry {seq} is missing"
    if entry is not None:
        previous = digests[seq - 2] if seq > 1 else GENESIS
        problem = find_problem(entry, seq=seq, previous=previous, key=key)
        if not problem and entry.digest == digests[seq - 1]:
            return entry
        problem = problem or f"entry {seq} was changed after it was written"
    raise LedgerTampered(f"the ledger does not verify: {problem}", row=seq)


class EntrySource(Protocol):
    """Whoever has the entries: a store, or a journal that guards one."""

    def span(self, first: int, last: int) -> list[LedgerEntry]: ...


class StoredEntries:
    """The entries of one chain. The source may change: a store is closed and opened again."""

    def __init__(self, source: EntrySource, digests: Sequence[str]) -> None:
        self.source, self._digests = source, digests

    def read(self, seqs: Sequence[int]) -> Iterator[LedgerEntry]:
        """These entries, in order, each as it was folded."""
        chunk: list[int] = []
        for seq in seqs:
            if chunk and (seq - chunk[0] >= _SPAN or seq - chunk[-1] > _GAP):
                yield from self._read_span(chunk)
                chunk = []
            chunk.append(seq)
        if chunk:
            yield from self._read_span(chunk)

    def _read_span(self, seqs: Sequence[int]) -> Iterator[LedgerEntry]:
        entries = {entry.seq: entry for entry in self.source.span(seqs[0], seqs[-1])}
        for seq in seqs:
            yield check_entry(entries.get(seq), seq, self._digests)


class IndexedMap(dict[Key, Value]):
    """A dictionary of what was folded lately and of what was read again; the rest is an index.

    `key_of` and `value_of` say what an entry, or all entries of a key, mean. Whoever goes through all of it has all of
    it in memory from then on. One thread writes, and others may read meanwhile: what was set once is never missing.
    """

    def __init__(
        self,
        index: EntryIndex,
        stored: StoredEntries,
        *,
        key_of: Callable[[LedgerEntry], Key],
        value_of: Callable[[list[LedgerEntry]], Value],
    ) -> None:
        super().__init__()
        self.index, self._stored, self._key_of, self._value_of = index, stored, key_of, value_of
        self.gone: set[Key] = set()
        self._whole: dict[Key, Value] | None = None

    def own_items(self) -> list[tuple[Key, Value]]:
        """What is in memory."""
        return list(super().items())

    def __missing__(self, key: Key) -> Value:
        if self._whole is not None:
            return self._whole[key]
        entries = self._find(key)
        if not entries:
            raise KeyError(key)
        super().__setitem__(key, self._value_of(entries))
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        if super().__contains__(key):
            return True
        return key in self._whole if self._whole is not None else bool(self._find(key))

    def __setitem__(self, key: Key, value: Value) -> None:
        super().__setitem__(key, value)
        if self._whole is not None:  # looked at last: `_all` looks at what is in memory last
            self._whole[key] = value

    def __delitem__(self, key: Key) -> None:
        if key not in self:
            raise KeyError(key)
        self.gone.add(key)
        super().pop(key, None)
        if self._whole is not None:
            self._whole.pop(key, None)

    def get(self, key: Key, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def setdefault(self, key: Key, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self) -> None:
        super().clear()
        self.index, self.gone, self._whole = EntryIndex(), set(), None

    def __len__(self) -> int:
        return len(self._all())

    def __bool__(self) -> bool:
        return bool(self.index.records) or super().__len__() > 0

    def __iter__(self) -> Iterator[Key]:
        return iter(self._all())

    def __reversed__(self) -> Iterator[Key]:
        return reversed(self._all())

    def keys(self) -> Any:
        return self._all().keys()

    def values(self) -> Any:
        return self._all().values()

    def items(self) -> Any:
        return self._all().items()

    def __eq__(self, other: object) -> bool:
        return self._all() == (other._all() if isinstance(other, IndexedMap) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def _find(self, key: object) -> list[LedgerEntry]:
        if not self.index.records or key in self.gone:
            return []
        seqs = self.index.seqs(key)
        return [entry for entry in self._stored.read(seqs) if self._key_of(entry) == key] if seqs else []

    def _all(self) -> dict[Key, Value]:
        """All of it, the oldest first."""
        if self._whole is None:
            entries: dict[Key, list[LedgerEntry]] = {}
            for entry in self._stored.read(self.index.all_seqs()):
                entries.setdefault(self._key_of(entry), []).append(entry)
            whole = {key: self._value_of(each) for key, each in entries.items() if key not in self.gone}
            whole |= dict(self.own_items())
            self._whole = whole
            for key, value in self.own_items():  # what was set meanwhile
                whole[key] = value
        return self._whole


class IndexedLists(IndexedMap[Key, list[str]]):
    """Lists of all entries of a key. What is appended is kept apart, so that appending reads nothing: the cost of a
    fold does not grow with how often a key occurred.
    """

    def __init__(
        self,
        index: EntryIndex,
        stored: StoredEntries,
        *,
        key_of: Callable[[LedgerEntry], Key],
        value_of: Callable[[list[LedgerEntry]], list[str]],
    ) -> None:
        super().__init__(index, stored, key_of=key_of, value_of=value_of)
        self._later: dict[Key, list[str]] = {}

    def append(self, key: Key, value: str) -> None:
        """Append to the list of a key."""
        self._later.setdefault(key, []).append(value)

    def __getitem__(self, key: Key) -> list[str]:
        later = self._later.get(key)
        try:
            return [*super().__getitem__(key), *(later or ())]
        except KeyError:
            if later is None:
                raise
            return list(later)

    def __contains__(self, key: object) -> bool:
        return key in self._later or super().__contains__(key)

    def __bool__(self) -> bool:
        return bool(self._later) or super().__bool__()

    def clear(self) -> None:
        super().clear()
        self._later = {}

    def _all(self) -> dict[Key, list[str]]:
        whole = dict(super()._all())
        for key, later in list(self._later.items()):
            whole[key] = [*whole.get(key, ()), *later]
        return whole


def append_value(lists: dict[Key, list[str]], key: Key, value: str) -> None:
    """Append to the list of a key, in a dictionary of either kind."""
    if isinstance(lists, IndexedLists):
        lists.append(key, value)
    else:
        lists.setdefault(key, []).append(value)
