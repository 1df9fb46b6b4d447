"""Linkage (Sweeney 1997): rows without names meet a list with names, on the columns that both have.

A row is *named* where exactly one row of the list has its values. Whether the name is right is known only where a
truth column says whose row each is. Without one, `success` is the share named, which can be more than the share
rightly named: a person may be missing from the list while somebody with the same values is on it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

from discreet.errors import Flag, Message, UsageError
from discreet.lab.attacks.table_match import TableMatch, count_codes, join_names, look_up_counts, match_tables
from discreet.lab.evidence import Evidence, clopper_pearson, percent
from discreet.lab.pictures import bars

if TYPE_CHECKING:
    import pyarrow as pa

    from discreet.lab.worlds.state import GeneratedState

#: More sets of columns than this are not searched, and more than that not drawn.
MOST_SETS, DRAWN = 2_000, 6
#: Sets of columns are enlarged until one names more than this share of people.
MOST_PEOPLE = 0.5
#: From this share of rows on whose value is not on the list a warning is given.
MUCH_MISSING = 0.2
FILE_NAMES = ("the file without names", "the file with names")
#: What the hospital and the voters of the generated state share.
STATE = ("zip", "birth", "sex")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkOutcome:
    """What became of the rows without names, on one set of columns."""

    on: tuple[str, ...]
    rows: int
    #: Rows with the values of at least one named row; of exactly one.
    matched: int
    unique: int
    #: Of these, those that also have their values to themselves in the file without names.
    one_to_one: int
    #: Of the unique, those whose name is right; None where nothing tells.
    correct: int | None
    #: The share of the list's rows that have their values to themselves.
    unique_in_list: float

    @property
    def named(self) -> int:
        """Rows that the attack names: rightly, where that is known."""
        return self.unique if self.correct is None else self.correct

    @property
    def share(self) -> float:
        return self.named / self.rows

    def to_data(self) -> dict[str, Any]:
        return {
            "on": list(self.on),
            "rows": self.rows,
            "matched": self.matched,
            "unique": self.unique,
            "ambiguous": self.matched - self.unique,
            "unmatched": self.rows - self.matched,
            "one_to_one": self.one_to_one,
            "correct": self.correct,
            "unique_in_list": self.unique_in_list,
        }

    def evidence(self, named: pa.Table, seconds: float) -> Evidence:
        """It as evidence, without its story."""
        return Evidence(
            attack="linkage",
            success=self.share,
            chance=1 / named.num_rows,
            n=self.rows,
            seconds=seconds,
            interval=clopper_pearson(self.named, self.rows),
            details=self.to_data(),
        )


def link(bare: pa.Table, named: pa.Table, *, on: Sequence[str] | None = None, truth: str | None = None) -> Evidence:
    """Name the rows of `bare`: find the row of `named` with equal values in the columns `on` (default: all shared)."""
    began = time.process_time()
    matching = match_tables(
        bare, named, on=on or shared_columns(bare, named, but=truth), truth=truth, called=FILE_NAMES
    )
    seen = _link(matching, matching.on)
    without = {
        name: _link(matching, tuple(other for other in matching.on if other != name)).share
        for name in matching.on
        if len(matching.on) > 1
    }
    learned = [name for name in bare.column_names if name not in named.column_names]
    evidence = seen.evidence(named, time.process_time() - began)
    return replace(
        evidence,
        story=(*_story(seen, named.num_rows, without, learned), *_format_warnings(matching)),
        details={
            **evidence.details,
            "learned": learned,
            "named_without": without,
            "no_counterpart": matching.missing(),
        },
        picture=lambda: bars(f"Linked on {join_names(matching.on)}", _shares(seen)),
    )


def search(
    bare: pa.Table, named: pa.Table, *, among: Sequence[str] | None = None, truth: str | None = None
) -> Evidence:
    """Find the columns that do the damage: try sets of columns, small ones first, until one names most people."""
    began = time.process_time()
    matching = match_tables(
        bare, named, on=among or shared_columns(bare, named, but=truth), truth=truth, called=FILE_NAMES
    )
    tried: list[LinkOutcome] = []
    for size in range(1, len(matching.on) + 1):
        if len(tried) + comb(len(matching.on), size) > MOST_SETS:
            raise UsageError(
                f"{len(matching.on)} columns have too many subsets: the search tries at most {MOST_SETS:,}",
                hint=Message("name fewer columns with ", Flag("on")),
            )
        tried += [_link(matching, some) for some in combinations(matching.on, size)]
        if max(seen.share for seen in tried) > MOST_PEOPLE:
            break
    whole = _link(matching, matching.on)
    best = max(tried, key=lambda seen: (seen.named, -len(seen.on)))
    ordered = sorted({seen.on: seen for seen in [*tried, whole]}.values(), key=lambda seen: -seen.named)
    evidence = best.evidence(named, time.process_time() - began)
    return replace(
        evidence,
        story=_search_story(best, whole, len(tried)),
        details={**evidence.details, "sets": [{"on": list(seen.on), "named": seen.share} for seen in ordered]},
        picture=lambda: bars(
            "Share of rows named" + f", best {DRAWN} of {len(ordered):,} sets of columns" * (len(ordered) > DRAWN),
            {"+".join(seen.on): seen.share for seen in ordered[:DRAWN]},
        ),
    )


def shared_columns(bare: pa.Table, named: pa.Table, *, but: str | None = None) -> tuple[str, ...]:
    """The columns that both tables have, but for the one that tells the truth."""
    common = tuple(name for name in bare.column_names if name in named.column_names and name != but)
    if not common:
        raise UsageError(
            "the two files have no column in common", hint="give matching columns the same name in both files"
        )
    return common


def _link(matching: TableMatch, on: tuple[str, ...]) -> LinkOutcome:
    mine, theirs = matching.codes(on)
    listed_times = count_codes(theirs)
    candidates = look_up_counts(listed_times, mine)
    alone = candidates == 1
    right = matching.right(mine, theirs, alone)
    return LinkOutcome(
        on=on,
        rows=len(mine),
        matched=int((candidates > 0).sum()),
        unique=int(alone.sum()),
        one_to_one=int((alone & (look_up_counts(count_codes(mine), mine) == 1)).sum()),
        correct=None if right is None else int(right.sum()),
        unique_in_list=int((listed_times == 1).sum()) / len(theirs),
    )


def _shares(seen: LinkOutcome) -> dict[str, float]:
    """How the rows divide."""
    names = (
        {"named": seen.unique}
        if seen.correct is None
        else {"rightly named": seen.correct, "wrongly named": seen.unique - seen.correct}
    )
    counts = {**names, "several names": seen.matched - seen.unique, "no name": seen.rows - seen.matched}
    return {name: count / seen.rows for name, count in counts.items()}


def _story(seen: LinkOutcome, names: int, without: dict[str, float], learned: Sequence[str]) -> tuple[str, ...]:
    several, none = (seen.matched - seen.unique) / seen.rows, 1 - seen.matched / seen.rows
    rows = f"{seen.rows:,} {'row' if seen.rows == 1 else 'rows'}"
    story = [
        f"Of {rows} without a name, {percent(seen.unique / seen.rows)} match exactly one of {names:,} named rows on "
        f"{join_names(seen.on)}; {percent(several)} match several, {percent(none)} match none."
    ]
    if seen.correct is not None and seen.unique:
        story[0] += f" Of these unique matches, {percent(seen.correct / seen.unique)} are right."
    if learned and seen.unique:
        story.append(f"For each match, the attacker learns these columns of the named person: {join_names(learned)}.")
    if without and seen.unique:
        worst = min(without, key=lambda name: without[name])
        story.append(f"{worst!r} does the most damage: without it, {percent(without[worst])} would be named.")
    return tuple(story)


def _format_warnings(matching: TableMatch) -> tuple[str, ...]:
    """Columns that the two files may write differently."""
    far = [f"{name!r} ({percent(share)})" for name, share in matching.missing().items() if share >= MUCH_MISSING]
    if not far:
        return ()
    return (
        f"Some rows have values that do not occur in {FILE_NAMES[1]}: {join_names(far)}. If the two files write the "
        "same value differently (02138 or 2138, M or male), more rows could be named.",
    )


def _search_story(best: LinkOutcome, whole: LinkOutcome, tried: int) -> tuple[str, ...]:
    first = (
        f"Of {tried:,} sets of columns, tried in order of size, {join_names(best.on)} "
        f"{'names' if len(best.on) == 1 else 'name'} the most people: {percent(best.share)}"
    )
    if best.share <= MOST_PEOPLE:
        return (f"{first}. No set names more than half of them.",)
    more = "" if best.on == whole.on else f" All {len(whole.on)} shared columns together name {percent(whole.share)}."
    return (f"{first}. No smaller set names more than half of them.{more}",)


def demo(*, on: Sequence[str] = STATE, find: bool = False) -> Evidence:
    """In a generated state: its hospital file and its list of voters, and what that says of its governor."""
    from discreet.lab.worlds.state import make_state

    state = make_state()
    if find:
        return search(state.hospital, state.voters, among=on, truth="person")
    evidence = link(state.hospital, state.voters, on=on, truth="person")
    if set(on) != set(STATE):  # the governor is found by all three
        return evidence
    sentence, details = _governor(state)
    return replace(evidence, story=(*evidence.story, sentence), details={**evidence.details, **details})


def _governor(state: GeneratedState) -> tuple[str, dict[str, Any]]:
    """How the governor is found, by what every newspaper knows of him; and how many are alone with these values."""
    steps = ("birth", "sex", "zip")
    voters, stays = state.voters, state.hospital
    him = voters.filter(pc.equal(voters["person"], state.governor)).to_pylist()[0]
    counts = []
    for name in steps:
        voters, stays = (table.filter(pc.equal(table[name], him[name])) for table in (voters, stays))
        counts.append(voters.num_rows)
    everybody = match_tables(state.people, state.people, on=steps, truth=None, called=("the state", "the state"))
    alone = _link(everybody, steps).unique_in_list
    sentence = (
        f"The governor, {him['name']}: {counts[0]} voters have his birth date, {counts[1]} of them are men, "
        f"{counts[2]} of these lives in his ZIP code. The hospital treated him for {stays['diagnosis'][0]}. "
        f"Like him, {percent(alone)} of the state's {state.people.num_rows:,} people have a combination of ZIP code, "
        "birth date and sex that nobody else has."
    )
    match_counts = {"same_birth": counts[0], "of_them_men": counts[1], "of_them_in_his_zip": counts[2]}
    return sentence, {"governor": match_counts, "unique_in_state": alone}
