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
    400: "The request is invalid; the error says what is expected.",
    401: "There is no token, or the token is not valid.",
    402: "The remaining budget is not enough. Nothing was charged.",
    403: "Your role does not allow this.",
    404: "There is nothing here, or you may not see it.",
    409: "The ledger cannot answer now, or a charged query could not be completed (code 6).",
    413: "The request is too long.",
    421: "The request was sent to a host name that the console does not serve.",
    422: "The query cannot be answered privately as written, the body is not as described, or its key is already used.",
    429: "Too many requests. Retry-After says when to try again.",
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
