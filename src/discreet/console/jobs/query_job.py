"""A query on its way, from its coming to the tick at which its end may be known."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any, ClassVar

from discreet.console.jobs.job_runner import Job, Place
from discreet.console.jobs.query_request import QueryRequest


@dataclass(slots=True, kw_only=True, eq=False)
class QueryJob(Job):
    """A query on its way. `waiters`: how many requests wait for it. `to`: where its answer is, once it has one."""

    done: ClassVar[str] = "answered"

    person: str
    analyst: str | None
    owner: bytes
    key: str
    body: bytes
    query_request: QueryRequest
    to: str = ""
    id: str = field(default_factory=lambda: f"j-{secrets.token_hex(8)}")
    waiters: int = 0

    @property
    def place(self) -> Place:
        """Whose it is, and its key."""
        return self.owner, self.key

    def forget(self) -> None:
        """Let go of its result, where it has one: it is kept beside its key."""
        self._result = None

    def to_data(self, now: float, *, grid_ms: int) -> dict[str, Any]:
        """What its person may know of it."""
        return {
            "job": self.id,
            "person": self.person,
            "kind": self.query_request.kind,
            "text": self.query_request.text,
            "state": self.state(now, grid_ms=grid_ms),
            "stopping": self.stopping,
            "made": self.made,
        }
