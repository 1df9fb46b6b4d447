"""What killed makings left: declared tables that no ledger names, with everybody in them.

A declared table is there before its version is in the ledger, so that no version lacks its table; a process can be
killed between the two. What it leaves, no question reads; `forget` and `refresh` look for it here.

Guarantee: after `drop_orphaned_tables` a table of this ledger's at these engines is a version's; or nobody is in it who
    was forgotten in its table; or its name is told. What began over nine days ago is gone. What another ledger names,
    or this one, or will name, is not dropped, if the clocks of the machines that share the ledger differ by less than a
day.
Because: a name holds its ledger's id, 80 bits of chance, and a midnight at most two days after its making began
    (`version`), from which days count. Names are listed before the ledger is read, so that a table whose version was
    entered meanwhile is known. A making enters nothing more than six days after that midnight. One that still runs may
    lose somebody who was forgotten; it then enters nothing, for the tombstone was in the ledger before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from discreet.engines.engine import Engine
from discreet.errors import DiscreetError
from discreet.kernel.version import is_orphaned
from discreet.ledger.ledger import Ledger

#: The tags of everybody who was forgotten in the table that a version of this name was made of.
ForgottenTags = Callable[[str], Collection[bytes]]


def drop_orphaned_tables(
    addresses: Iterable[str], *, ledger: Ledger, engine: Engine, folder: Path, forgotten: ForgottenTags
) -> tuple[str, ...]:
    """Drop what is nobody's at these engines, and erase the forgotten from the rest; what could not be reached.

    An act of the owner.
    """
    id_ = ledger.id
    tables = [(at, name) for at in sorted(set(addresses)) for name in engine.at(at).table_names(id_, folder=folder)]
    named = {version.file for made in ledger.refresh().versions.values() for version in made.values()}
    orphaned = [(engine.at(at), name) for at, name in tables if name not in named]
    return tuple(name for at, name in orphaned if not _is_dropped_or_erased(at, name, folder, forgotten))


def _is_dropped_or_erased(engine: Engine, name: str, folder: Path, forgotten: ForgottenTags) -> bool:
    try:
        place = engine.place(name, folder=folder)
        if is_orphaned(name):
            engine.drop(place)
        elif tags := forgotten(name):
            engine.erase(place, tags)
    except (DiscreetError, OSError):  # of another shape, or half of one: its owner looks at it, or days go by
        return False
    return True
