"""What of a state grows with every charge: moved from memory into indexes, and read again when it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from discreet.ledger.chain import LedgerEntry
from discreet.ledger.charge_data import charge_record
from discreet.ledger.entry_index import EntryIndex, EntrySource, IndexedLists, IndexedMap, StoredEntries
from discreet.ledger.records import AnswerRecord
from discreet.ledger.refinements import release_of
from discreet.ledger.state import LedgerState

#: After so many entries a long fold moves what it knows of them into the indexes.
MOST_IN_MEMORY = 50_000

#: The dictionaries that are indexed. `open_releases` is that of the refinements.
INDEXED = ("charges", "answers", "questions", "charge_of_key", "open_releases")


def index_entries(state: LedgerState, source: EntrySource) -> None:
    """Move everything into the indexes. `source` is where entries are read from now on."""
    old, charges = state.indexed, state.charges
    new_charges = [(id_, charge.seq) for id_, charge in _own(charges) if charge.seq > old]
    new_answers = [(id_, answer.seq) for id_, answer in _own(state.answers) if answer.seq > old]
    answered = [(charges[id_], seq) for id_, seq in new_answers if id_ in charges]
    seq_of = dict(new_charges)
    pairs: dict[str, Iterable[tuple[object, int]]] = {
        "charges": new_charges,
        "answers": new_answers,
        "questions": [((each.table, each.version, each.question), seq) for each, seq in answered],
        "charge_of_key": [(key, seq_of[id_]) for key, id_ in _own(state.charge_of_key) if id_ in seq_of],
        "open_releases": [(id_, seq_of[id_]) for id_, _ in _own(state.refinements.open_releases) if id_ in seq_of],
    }
    indexes = {}
    for name in INDEXED:
        before = maps_of(state)[name]
        index, gone = (before.index, before.gone) if isinstance(before, IndexedMap) else (EntryIndex(), set[Any]())
        indexes[name] = index.merge(pairs[name], without=gone)
    use_indexes(state, indexes, source)


def use_indexes(state: LedgerState, indexes: dict[str, EntryIndex], source: EntrySource) -> None:
    """Let a state read everything up to its last entry from indexes."""
    stored = StoredEntries(source, state.digests)

    def question_of(entry: LedgerEntry) -> tuple[str, int, str]:
        charge = state.charges[entry.data()["id"]]
        return (charge.table, charge.version, charge.question)

    def mapped(
        name: str, key_of: Callable[[LedgerEntry], Any], value_of: Callable[[list[LedgerEntry]], Any]
    ) -> IndexedMap[Any, Any]:
        return IndexedMap(indexes[name], stored, key_of=key_of, value_of=value_of)

    state.charges = mapped("charges", _id, lambda entries: charge_record(entries[0].data(), entries[0]))
    state.answers = mapped("answers", _answer_id, _answer)
    state.questions = IndexedLists(
        indexes["questions"], stored, key_of=question_of, value_of=lambda entries: [_id(entry) for entry in entries]
    )
    state.charge_of_key = mapped("charge_of_key", lambda entry: entry.data()["key"], lambda entries: _id(entries[0]))
    releases = mapped("open_releases", _id, lambda entries: release_of(entries[0].data()))
    state.refinements.open_releases = releases
    state.indexed, state.stored = state.seq, stored


def maps_of(state: LedgerState) -> dict[str, dict[Any, Any]]:
    """The dictionaries that can be indexed, by their names."""
    return {name: getattr(state.refinements if name == "open_releases" else state, name) for name in INDEXED}


def _own(values: dict[Any, Any]) -> Iterable[tuple[Any, Any]]:
    return values.own_items() if isinstance(values, IndexedMap) else values.items()


def _id(entry: LedgerEntry) -> str:
    return str(entry.data()["id"])


def _answer_id(entry: LedgerEntry) -> str:
    body = entry.data()
    return f"{body['id']}.{body['number']}" if entry.kind == "row" else str(body["id"])


def _answer(entries: list[LedgerEntry]) -> AnswerRecord:
    return AnswerRecord(sha256=entries[0].data()["sha256"], seq=entries[0].seq)
