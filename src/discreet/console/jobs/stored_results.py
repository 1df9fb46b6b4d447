"""What is kept beside an idempotency key: an answer as it was given, in few letters.

A short answer is kept as it is. A long one lies in the ledger, for ever: then only where, and what the ledger does not
tell again (what was left after it, that it was a repeat) is kept. One that cannot be read there letter for letter, as
one that follows from several others, is kept whole.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from discreet.console.jobs.query_request import QueryRequest
from discreet.console.jobs.release_json import release_data
from discreet.errors import DiscreetError
from discreet.project.project import Project

#: A result of more letters is read from the ledger again.
LONGEST = 1 << 20
#: What makes an answer long, and is the same whenever it is read.
_LONG = ("columns", "rows", "intervals", "best", "totals")


def encode_releases(releases: list[dict[str, Any]], query_request: QueryRequest, project: Project) -> str:
    """Answers as the text that is kept."""
    result = json.dumps(releases, allow_nan=False)
    if len(result) <= LONGEST:
        return result
    return json.dumps([_ledger_reference(each, query_request, project) or each for each in releases], allow_nan=False)


def decode_releases(result: str, project: Project) -> list[dict[str, Any]]:
    """The answers that were kept, as they were given."""
    return [_read_reference(each["read"], project) if "read" in each else each for each in json.loads(result)]


def answer_path(result: str, key: str) -> str:
    """Where the answers that were kept under a key are read: one that stands alone has a page for everybody.

    >>> answer_path('[{"release": "r-1", "derived": false, "from": []}]', "k"), answer_path("[]", "k/l")
    ('/a/r-1', '/ask/answer/k%2Fl')
    """
    releases = [each["read"]["told"] if "read" in each else each for each in json.loads(result)]
    if len(releases) == 1 and not releases[0].get("derived") and not releases[0].get("from"):
        return f"/a/{quote(releases[0]['release'], safe='')}"
    return f"/ask/answer/{quote(key, safe='')}"


def _ledger_reference(data: dict[str, Any], query_request: QueryRequest, project: Project) -> dict[str, Any] | None:
    """Where an answer is read letter for letter; None where it is not."""
    short_fields = {name: value for name, value in data.items() if name not in _LONG}
    within = None if query_request.fresh else query_request.within
    try:
        statements = len(project.recall(data["release"]).texts)
    except DiscreetError:
        return None
    for statement in range(1, statements + 1):
        place = {"statement": statement, "confidence": query_request.confidence, "within": within, "told": short_fields}
        try:
            if _read_reference(place, project) == data:
                return {"read": place}
        except DiscreetError:
            continue
    return None


def _read_reference(place: dict[str, Any], project: Project) -> dict[str, Any]:
    short_fields: dict[str, Any] = place["told"]
    release = project.release(
        short_fields["release"], confidence=place["confidence"], statement=place["statement"], within=place["within"]
    )
    data = release_data(release)
    return {**short_fields, **{name: data[name] for name in _LONG if name in data}}
