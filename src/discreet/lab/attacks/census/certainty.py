"""What is certain: what all worlds that fit have in common, even where they are too many to list."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.lab.attacks.census.block_constraints import BlockConstraints, compile_block
from discreet.lab.attacks.census.published_block import CensusBlock, Record, World
from discreet.lab.attacks.census.world_search import SECONDS, FittingWorlds, find_world


@dataclass(frozen=True, slots=True, kw_only=True)
class CertainRecords:
    """What every world has. `proved` is False where time ran out first: nothing is then said to be certain.

    `records`: whole records, as often as every world has them. `people`: for the first, second, third... person in
    ascending order, the values that are the same in all worlds, None where they are not.
    """

    records: World
    people: tuple[tuple[int | None, ...], ...]
    proved: bool


#: (person, column, value): the person at this place has this value.
Cell = tuple[int, int, int]
#: What worlds share: records, with their multiplicity, and cells.
Common = tuple[Counter[Record], set[Cell]]
#: How long a world that lacks much is looked for, in seconds.
GLANCE_S = 0.5


def find_certain(block: CensusBlock, fitting: FittingWorlds, *, seconds: float = SECONDS) -> CertainRecords:
    """What all worlds that fit have in common.

    Because: if `fitting` is complete it is what they have in common. If not, the solver is asked for a world that lacks
        some of it; each such world takes something away, and the proof that there is none ends the search.
    """
    until = time.monotonic() + seconds
    if not fitting.worlds:
        return CertainRecords(records=(), people=(), proved=fitting.complete)
    records, cells = common_to_worlds(fitting.worlds)
    if not fitting.complete:
        left = _refine_common(block, records, cells, until)
        if left is None:
            return CertainRecords(records=(), people=(), proved=False)
        records, cells = left
    return CertainRecords(records=tuple(sorted(records.elements())), people=_table(block, cells), proved=True)


def _refine_common(block: CensusBlock, records: Counter[Record], cells: set[Cell], until: float) -> Common | None:
    """What is left of what the listed worlds share when all others are heard; None where time ran out.

    Worlds that lack much at once are looked for first: each then takes away more. Only the last step, that no world
    lacks even one, has to be proved.
    """
    lacks = len(records) + len(cells)
    while records or cells:
        lacks = min(lacks, len(records) + len(cells))
        if (left := until - time.monotonic()) <= 0:
            return None
        other = find_world(_require_missing(block, records, cells, lacks), left if lacks == 1 else min(left, GLANCE_S))
        if not isinstance(other, str):
            records, cells = _shared_with(records, cells, other)
        elif lacks > 1:
            lacks = (lacks + 1) // 2
        elif other == "none":
            break
        else:
            return None
    return records, cells


def common_to_worlds(worlds: Sequence[World]) -> Common:
    """The records, with their multiplicity, and the cells that all these worlds share."""
    records, cells = Counter(worlds[0]), _cells(worlds[0])
    for world in worlds[1:]:
        records, cells = _shared_with(records, cells, world)
    return records, cells


def _shared_with(records: Counter[Record], cells: set[Cell], world: World) -> Common:
    return records & Counter(world), cells & _cells(world)


def _cells(world: World) -> set[Cell]:
    return {(person, place, code) for person, record in enumerate(world) for place, code in enumerate(record)}


def _require_missing(block: CensusBlock, records: Counter[Record], cells: set[Cell], lacks: int) -> BlockConstraints:
    """The block, with the demand that at least so many of these records and cells are not there."""
    made = compile_block(block)
    absent = []
    for person, place, code in sorted(cells):
        absent.append(~made.all_of([made.literal(person, made.equal(place, code)), made.present[person]]))
    for record, times in sorted(records.items()):
        fewer = made.model.new_bool_var("")
        made.model.add(sum(made.record_literals(record)) <= times - 1).only_enforce_if(fewer)
        absent.append(fewer)
    made.model.add(sum(absent) >= lacks)
    return made


def _table(block: CensusBlock, cells: set[Cell]) -> tuple[tuple[int | None, ...], ...]:
    certain_codes = {(person, place): code for person, place, code in cells}
    people = 1 + max((person for person, _, _ in cells), default=-1)
    return tuple(
        tuple(certain_codes.get((person, place)) for place in range(len(block.columns))) for person in range(people)
    )
