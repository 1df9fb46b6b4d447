"""What a handler answers. The application turns it into HTTP; no handler does."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class PageTable:
    """Rows under names, for a page's .csv."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


class DeferredRows(Sequence[Sequence[Any]]):
    """Rows that are made when they are first looked at: a .csv may have many more of them than its page."""

    def __init__(self, make: Callable[[], Sequence[Sequence[Any]]]) -> None:
        self._make = make

    @cached_property
    def _rows(self) -> Sequence[Sequence[Any]]:
        return self._make()

    def __getitem__(self, place: Any) -> Any:
        return self._rows[place]

    def __len__(self) -> int:
        return len(self._rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A page: a template and all that it tells, as plain JSON data, which is also what its .json twin says.

    `table`: what its .csv twin says; none where there is no table on it. `delay_s`: how long it waits before it leaves.
    """

    template: str
    data: Mapping[str, Any]
    table: PageTable | None = None
    status: int = 200
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Redirect:
    """Go there next; by GET.

    cookie: a session's secret to keep; an empty text ends it. browser: the cookie by which the browser is known at the
    next login. delay_s: how long it waits before it leaves.
    """

    to: str
    cookie: str | None = field(default=None, repr=False)
    browser: str | None = field(default=None, repr=False)
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonData:
    """Data, for a program."""

    data: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A file to keep; without a name it is shown."""

    content: bytes = field(repr=False)
    media_type: str
    name: str = ""


HandlerResponse = Page | Redirect | JsonData | Download


class NotFound(Exception):
    """There is nothing at this address, or nothing that this visitor may know of. Both are told alike."""


class RequestDenied(Exception):
    """A visit that may not be: one sentence for the visitor.

    `status`: 400, 401, 403, 408, 409, 413, 415, 421, 422 or 429. `who`: whose it would have been, for owners. `hint`:
    what to do about it, where that is more than its status says.
    """

    def __init__(
        self, sentence: str, *, status: int = 403, wait_s: float | None = None, who: str = "", hint: str = ""
    ) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.hint = hint
        self.status = status
        self.wait_s = wait_s
        self.who = who
