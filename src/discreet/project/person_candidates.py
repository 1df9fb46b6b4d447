"""Which columns may say whose row it is: by their names, and, told apart, by what was read from the data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from discreet.engines.missing_values import is_missing
from discreet.project.table_draft import PersonCandidate
from discreet.project.unit_notes import can_identify, looks_like_identifier, looks_like_person, snake_case
from discreet.schema.schema import Table

#: Fewer different values than this tell groups apart, not people; and one value for so many rows does, too.
_FEWEST_VALUES = 10
_MOST_REPEATS = 200

#: Rows that are counted together.
_ROWS_AT_ONCE = 1_000

#: Names that say nothing but "this tells rows or people apart", in a few languages.
_BARE = re.compile(r"(.*_)?(id|ids|uid|uuid|guid|nr|no|num|number|nummer|key|code|name|surname|pid|mrn|ssn)")

#: A number of something, and what is told apart by such a word but is no person.
_NOT_A_PERSON = re.compile(
    r"(n|num|number|no|count)_(of_)?.+|(.*_)?(zip|postal|post|area|country|state|region|icd|product|item|order|page|room|"
    r"street|house|phone_country)_?(code|no|nr|num|number|id|name)"
)


def named_candidates(
    columns: Mapping[str, Mapping[str, Any]], others: Iterable[Table] = ()
) -> Iterator[PersonCandidate]:
    """Columns whose names say that they tell people apart, the likeliest first. By their names and proposed types."""
    names = [name for name, settings in columns.items() if can_identify(str(settings.get("type")))]
    persons = {part.lower(): other.name for other in others for part in other.schema.unit.person}
    reasons: dict[str, str] = {}
    for name in names:
        if name.lower() in persons:
            reasons.setdefault(name, f"the person column of {persons[name.lower()]!r}")
    for name in filter(looks_like_person, names):
        reasons.setdefault(name, "its name says so")
    for name in names:
        word = snake_case(name)
        if (looks_like_identifier(name) or _BARE.fullmatch(word)) and not _NOT_A_PERSON.fullmatch(word):
            reasons.setdefault(name, "its name looks like an identifier")
    for name, why in reasons.items():
        likely = name.lower() in persons or looks_like_person(name)
        yield PersonCandidate(name, why, is_likely=likely)


def with_repeated(
    named: Iterable[PersonCandidate], columns: Mapping[str, Mapping[str, Any]], rows: Iterable[Sequence[Any]]
) -> list[PersonCandidate]:
    """The candidates by name, and behind them columns whose values repeat as those of people with several rows do.

    `rows`: the first ones, their cells in the order of `columns`. What is said of them is for the owner alone.
    """
    candidates = list(named)
    names = [name for name, settings in columns.items() if settings.get("type") in ("integer", "text")]
    places = [list(columns).index(name) for name in names]
    seen: list[Counter[Any]] = [Counter() for _ in names]
    remaining = iter(rows)
    while some := list(islice(remaining, _ROWS_AT_ONCE)):
        for place, counts in zip(places, seen, strict=True):
            counts.update([row[place] for row in some])
    repeated = {}
    for name, counts in zip(names, seen, strict=True):
        given_counts = [count for value, count in counts.items() if not is_missing(value)]
        given, different = sum(given_counts), len(given_counts)
        if different >= _FEWEST_VALUES and different < given <= _MOST_REPEATS * different:
            repeated[name] = "its values repeat in the rows looked at"
    for place, candidate in enumerate(candidates):
        if candidate.column in repeated:
            why = f"{candidate.why}, and {repeated[candidate.column]}"
            candidates[place] = replace(candidate, why=why, is_from_data=True)
    by_name = {candidate.column for candidate in candidates}
    return [
        *candidates,
        *(PersonCandidate(name, why, is_from_data=True) for name, why in repeated.items() if name not in by_name),
    ]
