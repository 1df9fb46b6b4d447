"""A visit: who comes, to what, with what. All that a handler gets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.console.visitor import Visitor
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.console.jobs.query_service import QueryService
    from discreet.console.people.people import People
    from discreet.console.project_handle import ProjectHandle
    from discreet.console.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestContext:
    """One request, checked: its visitor may be here, and its form is this visitor's own.

    params: the named parts of the path. query, form: texts, each under its name as often as it came. body: of a request
    to the API, as its model. key: its Idempotency-Key. secret: the session's cookie. browser: the cookie of known
    browsers. address: where it came from. began: when it had come, by the clock of what passes. upload: the file that
    came as its body, which is deleted after the visit unless the handler moved it.
    """

    visitor: Visitor
    handle: ProjectHandle
    people: People
    queries: QueryService
    settings: Settings
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    form: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    body: Any = field(default=None, repr=False)
    key: str = field(default="", repr=False)
    secret: str = field(default="", repr=False)
    browser: str = field(default="", repr=False)
    address: str = field(default="", repr=False)
    began: float = 0.0
    upload: Path | None = None

    def query_text(self, name: str, default: str = "") -> str:
        """A text of the query; refused where it came twice."""
        return _single_text(self.query, name, default)

    def field(self, name: str, default: str = "") -> str:
        """A text of the form; refused where it came twice."""
        return _single_text(self.form, name, default)

    def fields(self, name: str) -> tuple[str, ...]:
        """All texts under a name of the form."""
        return self.form.get(name, ())


def _single_text(texts: Mapping[str, tuple[str, ...]], name: str, default: str) -> str:
    values = texts.get(name, (default,))
    if len(values) != 1:
        raise UsageError(f"{name[:40]!r} was given more than once")
    return values[0]
