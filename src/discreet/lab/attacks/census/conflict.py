"""Which published numbers contradict each other: some that cannot all be true, and none too many."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.lab.attacks.census.block_constraints import compile_block
from discreet.lab.attacks.census.published_block import MEASURES, CensusBlock
from discreet.lab.attacks.census.world_search import SECONDS, find_world

#: Given up first, so that what is left is as easy to check by hand as can be.
_ORDER = ("median", "mean", "sum", "fact", "vague count", "count")

#: A statistic's name and one of its measures, or a fact's name and "fact".
Part = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatisticsConflict:
    """Numbers that no block of people has. `minimal`: any one of them taken away, the others agree."""

    parts: tuple[Part, ...]
    sentences: tuple[str, ...]
    minimal: bool

    def show(self) -> str:
        """As people read it."""
        few = " and ".join(filter(None, ["; ".join(self.sentences[:-1]), self.sentences[-1]]))
        return f"{few} cannot be true together" if len(self.sentences) > 1 else f"{few} cannot be true"


def find_conflict(block: CensusBlock, *, seconds: float = SECONDS) -> StatisticsConflict | None:
    """Numbers in conflict, of which none can be spared; None where all agree, or the time is over.

    Because: they are left out one after the other, and one stays only if without it, and without all that left
        before, a world fits. What was undecided in time stays too, and the set is then not called minimal.
    """
    until = time.monotonic() + seconds
    parts = _parts(block)
    if not _contradicts(block, parts, until):
        return None
    for kind in _ORDER[:-1]:  # in bulk first: most conflicts are among counts
        rest = [part for part in parts if _kind(block, part) != kind]
        if len(rest) < len(parts) and _contradicts(block, rest, until):
            parts = rest
    minimal = True
    for part in sorted(parts, key=lambda part: _ORDER.index(_kind(block, part))):
        rest = [other for other in parts if other != part]
        decided = _contradicts(block, rest, until)
        parts = rest if decided else parts
        minimal = minimal and decided is not None
    left = _restrict_block(block, parts)
    sentences = [statistic.show() for statistic in left.statistics] + [fact.show() for fact in left.facts]
    return StatisticsConflict(parts=tuple(parts), sentences=tuple(sentences), minimal=minimal)


def _parts(block: CensusBlock) -> list[Part]:
    stated = [(one.name, name) for one in block.statistics for name in MEASURES if getattr(one, name) is not None]
    return stated + [(fact.name, "fact") for fact in block.facts]


def _kind(block: CensusBlock, part: Part) -> str:
    """What a part is, for the order; a count that is only bounded (a suppressed one) is vague."""
    name, measure = part
    span = next((one.count for one in block.statistics if one.name == name), None) if measure == "count" else None
    return "vague count" if span is not None and span.low != span.high else measure


def _contradicts(block: CensusBlock, parts: Sequence[Part], until: float) -> bool | None:
    """Whether no world fits these parts; None where that was not decided in time."""
    if (left := until - time.monotonic()) <= 0:
        return None
    outcome = find_world(compile_block(_restrict_block(block, parts)), left)
    return None if outcome == "undecided" else outcome == "none"


def _restrict_block(block: CensusBlock, parts: Sequence[Part]) -> CensusBlock:
    """The block with these numbers and facts only."""
    statistics = []
    for one in block.statistics:
        stated = [name for name in MEASURES if (one.name, name) in parts]
        if stated:
            gone = dict.fromkeys(set(MEASURES) - set(stated))
            statistics.append(replace(one, **gone))  # type: ignore[arg-type]
    facts = tuple(fact for fact in block.facts if (fact.name, "fact") in parts)
    return replace(block, statistics=tuple(statistics), facts=facts)
