"""Which columns may say whose row it is: by their names, and, told apart, by what was read from the data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from discreet.project.table_draft import PersonCandidate
from discreet.project.unit_notes import looks_like_identifier, looks_like_person, snake_case
from discreet.schema.schema import Table

#: Names that say nothing but "this tells rows or people apart", in a few languages.
_BARE = re.compile(r"(.*_)?(id|ids|uid|uuid|guid|nr|no|num|number|nummer|key|code|name|surname|pid|mrn|ssn)")

#: A number of something, and what is told apart by such a word but is no person.
_NOT_A_PERSON = re.compile(
    r"(n|num|number|no|count)_(of_)?.+|(.*_)?(zip|postal|post|area|country|state|region|icd|product|item|order|page|room|"
    r"street|house|phone_country)_?(code|no|nr|num|number|id|name)"
)


def named_candidates(names: Iterable[str], others: Iterable[Table] = ()) -> Iterator[PersonCandidate]:
    """Columns whose names say that they tell people apart, the likeliest first. From names alone."""
    names = list(names)
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
        yield PersonCandidate(name, why)
