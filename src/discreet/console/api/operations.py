"""Entries: what the API's document says of a route beside its models."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from discreet.console.api.release_files import PARQUET
from discreet.console.routes import Route

#: Any request may be refused so: it makes no sense, its token does not hold, or it is for others; it is too long, was
#: sent to another name, or too many came.
COMMON_REFUSALS = (400, 401, 403, 413, 421, 429)
STATUS_MEANING = {
    400: "The request makes no sense as it is; the error says what would.",
    401: "No token, or one that does not hold.",
    402: "The budget does not hold it. Nothing was charged.",
    403: "For another role.",
    404: "There is nothing here, or nothing that you may know of.",
    409: "The ledger cannot answer now, or a charged question could not be completed (code 6).",
    413: "Too long.",
    421: "Sent to another name than the console's.",
    422: "The question cannot be answered privately as asked, the body is not as described, or its key is taken.",
    429: "Too many at once. Retry-After says when to try again.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryParameter:
    """A parameter of a query."""

    name: str
    lines: str
    schema: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOperation:
    """A route and what is said of it. refusals: statuses that it may answer with, beside those of every route.

    media_type: of what it gives, where that is no JSON.
    """

    route: Route
    status: int = 200
    refusals: tuple[int, ...] = ()
    query: tuple[QueryParameter, ...] = ()
    params: dict[str, dict[str, Any]] = field(default_factory=dict)
    keyed: bool = False
    media_type: str = "application/json"


#: The form of a release's id in a path. Any text may be asked for; one that is none is not there.
RELEASE = {"release": {"type": "string", "maxLength": 100}}
CSV = "text/csv"
__all__ = ["COMMON_REFUSALS", "CSV", "PARQUET", "RELEASE", "STATUS_MEANING", "ApiOperation", "QueryParameter"]
