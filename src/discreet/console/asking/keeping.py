"""What is kept beside an idempotency key: an answer as it was given, in few letters.

A short answer is kept as it is. A long one lies in the ledger, for ever: then only where, and what the ledger does not
tell again (what was left after it, that it was a repeat) is kept. One that cannot be read there letter for letter, as
one that follows from several others, is kept whole.
"""

from __future__ import annotations

import json
from typing import Any

from discreet.api import Project
from discreet.console.asking.released import release_data
from discreet.console.asking.wanted import Wanted
from discreet.errors import DiscreetError

#: A result of more letters is read from the ledger again.
LONGEST = 1 << 20
#: What makes an answer long, and is the same whenever it is read.
_LONG = ("columns", "rows", "intervals")


def kept(releases: list[dict[str, Any]], wanted: Wanted, project: Project) -> str:
    """Answers as the text that is kept."""
    result = json.dumps(releases, allow_nan=False)
    if len(result) <= LONGEST:
        return result
    return json.dumps([_place(each, wanted, project) or each for each in releases], allow_nan=False)


def read(result: str, project: Project) -> list[dict[str, Any]]:
    """The answers that were kept, as they were given."""
    return [_read(each["read"], project) if "read" in each else each for each in json.loads(result)]


def _place(data: dict[str, Any], wanted: Wanted, project: Project) -> dict[str, Any] | None:
    """Where an answer is read letter for letter; None where it is not."""
    told = {name: value for name, value in data.items() if name not in _LONG}
    within = None if wanted.fresh else wanted.within
    try:
        statements = len(project.recalled(data["release"]).texts)
    except DiscreetError:
        return None
    for statement in range(1, statements + 1):
        place = {"statement": statement, "confidence": wanted.confidence, "within": within, "told": told}
        try:
            if _read(place, project) == data:
                return {"read": place}
        except DiscreetError:
            continue
    return None


def _read(place: dict[str, Any], project: Project) -> dict[str, Any]:
    told: dict[str, Any] = place["told"]
    found = project.release(
        told["release"], confidence=place["confidence"], statement=place["statement"], within=place["within"]
    )
    data = release_data(found)
    return {**told, **{name: data[name] for name in _LONG}}
