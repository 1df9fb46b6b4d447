"""The keys by which persons are told apart, and the erasure of a person from every version."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from discreet.engines.engine import Engine
from discreet.engines.keyed_hashes import person_tag
from discreet.engines.person_keys import MARK, PersonKeys
from discreet.engines.stream_counts import erase_from_stream_counts
from discreet.ledger.ledger import Ledger


def person_keys(ledger: Ledger, folder: Path) -> PersonKeys:
    """The keys by which persons are told apart and their rows picked; made when they are first needed.

    Under another key than before nothing goes on: the forgotten would come back, and joins find nobody.
    """
    state = ledger.refresh()
    marks = {mark for tags in state.forgotten.values() for mark in tags.values()}
    sources = [record.source for made in state.versions.values() for record in made.values()]
    return PersonKeys.at(folder, earlier_marks=marks | {str(one[MARK]) for one in sources if MARK in one})


def erase_person(
    person: tuple[str, ...],
    tables: Sequence[str],
    *,
    locations: Sequence[tuple[str, str]],
    ledger: Ledger,
    engine: Engine,
    folder: Path,
) -> int:
    """Erase a person from every version of these tables, and leave a tombstone. How many versions held them.

    `locations`: the addresses of the versions' engines, and their names there. The ledger is told before rows
    change and after: what is released between the two is never refined (`ledger/refinements`).
    """
    keys = person_keys(ledger, folder)
    tag = person_tag(person, keys.tags)
    ledger.forget(tables, tag, key=keys.mark)
    erase_from_stream_counts(folder, tables, [tag], seal=ledger.keyed_digest)
    targets = ((engine.at(address), name) for address, name in locations)
    erased = sum(engine.erase(engine.place(name, folder=folder), [tag]) for engine, name in targets)
    ledger.end_forget(tables, tag, key=keys.mark)
    return erased
