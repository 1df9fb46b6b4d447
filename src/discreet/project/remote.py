"""A project on a server, used like a local one.

clinic = discreet.connect("https://console.example.org", token)
release = clinic.sql("select disease, count(*) n from patients group by disease").ask(epsilon=0.5)

Explanations, releases and errors have the same types as in local use. Each `ask` has its own idempotency key: a request
that is lost on the way is sent again under the same key and charged only once.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from discreet import exact
from discreet.accounting import events
from discreet.errors import UsageError
from discreet.present import notebook
from discreet.project.http_transport import HttpTransport
from discreet.project.question import Explanation, one_line, question_html
from discreet.release import Intervals, Release, ReleaseColumn, Spending

if TYPE_CHECKING:
    from discreet.project.budget import BudgetStatus

__all__ = ["Remote", "RemoteQuestion", "connect"]

_BASE = "/api/v1"
#: What a project at home can do besides: said, where somebody looks for it here.
_LOCAL_ONLY = frozenset(
    {
        "add",
        "batch",
        "bias",
        "bounds",
        "compare",
        "explain_batch",
        "forget",
        "grant",
        "histogram",
        "marginals",
        "publish",
        "ranges",
    }
    | {
        "plan_marginals",
        "plan_publish",
        "plan_ranges",
        "reconcile",
        "refresh",
        "remove",
        "stream",
        "synthesize",
        "verify",
    }
)


def connect(url: str, token: str, *, patience_s: float = 300.0, certificates: str | None = None) -> Remote:
    """Connect to a project on a console. `certificates`: a file of certificates to trust instead of the usual ones."""
    return Remote(transport=HttpTransport(url=url, token=token, patience_s=patience_s, certificates=certificates))


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """A project on a server. The server's ledger is charged and stores the answers."""

    transport: HttpTransport

    def sql(
        self, text: str, *, groups_per_person: object = None, rows_per_person_per_group: object = None
    ) -> RemoteQuestion:
        """An SQL query. The server parses it when you call `explain` or `ask`. The limits: see `Project.sql`."""
        from discreet.sql.group_limits import with_limits

        text = with_limits(text, groups=groups_per_person, rows=rows_per_person_per_group)
        return RemoteQuestion(remote=self, text=text)

    def again(
        self,
        release: str,
        *,
        epsilon: object = None,
        within: object = None,
        confidence: object = "0.95",
        key: str | None = None,
    ) -> Release:
        """Make an earlier answer more precise, by more `epsilon` or to be `within` ±. Charged."""
        body = _decimal_fields(epsilon=epsilon, within=within, confidence=confidence)
        return self.send_paid(f"/releases/{quote(release, safe='')}/again", body, key)

    def release(self, release: str, *, confidence: object = None) -> Release:
        """Read a stored answer from the server's ledger. Free."""
        return self._read(self._data(release, confidence))

    def tables(self) -> list[dict[str, Any]]:
        """The declared tables, with their columns and domains."""
        listed_tables: list[dict[str, Any]] = self.transport.send("GET", f"{_BASE}/tables")["tables"]
        return listed_tables

    def releases(self) -> list[dict[str, Any]]:
        """The newest 1,000 charges, newest first."""
        listed_releases: list[dict[str, Any]] = self.transport.send("GET", f"{_BASE}/releases?limit=1000")["releases"]
        return listed_releases

    def budget(self, name: str | None = None) -> BudgetStatus:
        """The budget of a table's population: limit, spent and remaining. `name` is optional with one private table."""
        statuses = self.transport.send("GET", f"{_BASE}/budget")["tables"]
        status_by_name = {each.lower(): status for each, status in statuses.items()}
        if name is None and len(status_by_name) != 1:
            raise UsageError("which table?", hint=", ".join(sorted(statuses)) or "the server has no private table")
        status = next(iter(status_by_name.values())) if name is None else status_by_name.get(name.lower())
        if status is None:
            raise UsageError(f"the server has no private table {str(name)[:60]!r}", hint=", ".join(sorted(statuses)))
        return _budget_status(status)

    def __getattr__(self, name: str) -> NoReturn:
        """Say why what a project at home can do is not here. Nothing is ever found by it."""
        if name not in _LOCAL_ONLY:
            raise AttributeError(f"a project on a server has no {name!r}", name=name, obj=self)
        raise AttributeError(
            f"{name!r} is not available for a project on a server: its owner uses discreet.open where the data is, or "
            "the console's pages. Available here: sql, again, release, releases, tables and budget",
            name=name,
            obj=self,
        )

    def send_paid(self, path: str, body: Mapping[str, Any], key: str | None) -> Release:
        """The release of something that is charged, once for its key."""
        key = key or secrets.token_urlsafe(24)
        return self._read(self.transport.send("POST", _BASE + path, dict(body), key=key))

    def _data(self, release: str, confidence: object = None) -> dict[str, Any]:
        suffix = "" if confidence is None else f"?confidence={quote(decimal(confidence, name='confidence'))}"
        payload: dict[str, Any] = self.transport.send("GET", f"{_BASE}/releases/{quote(release, safe='')}{suffix}")
        return payload

    def _read(self, data: dict[str, Any]) -> Release:
        """A release from its data. Intervals at another confidence are asked for when they are wanted."""
        own, stays = exact.number(data["confidence"], name="confidence"), _intervals(data)
        best = data.get("best")  # an older server has none

        def reread(confidence: Fraction) -> tuple[Intervals, ...]:
            if confidence == own:
                return stays
            if data["from"]:
                raise UsageError(
                    "this answer is combined with earlier ones, so its confidence cannot be changed here",
                    hint="repeat the query with confidence=; a repeat is free",
                )
            return _intervals(self._data(data["release"], confidence))

        return Release(
            id=data["release"],
            table=data["table"],
            version=data["version"],
            columns=tuple(map(ReleaseColumn.from_data, data["columns"])),
            rows=tuple(tuple(row) for row in data["rows"]),
            event=events.from_data(data["event"]),
            confidence=own,
            cost=_spending(data["cost"]),
            spent=_spending(data["spent"]),
            remaining=_spending(data["remaining"]),
            cached=data["cached"],
            derived=data["derived"],
            sources=tuple(data["from"]),
            warnings=tuple(data["warnings"]),
            totals=tuple(map(tuple, data.get("totals") or ())),
            read_intervals=reread,
            read_best=None if best is None else lambda: tuple(map(tuple, best)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteQuestion:
    """A query that a server answers: `explain` prices it, free; `ask` charges and answers it."""

    remote: Remote
    text: str
    #: The last explanation or answer, for a notebook to show.
    _last_shown: list[Explanation | Release] = field(default_factory=list, init=False, repr=False, compare=False)

    def explain(
        self, *, epsilon: object = None, within: object = None, confidence: object = "0.95", delta: object = None
    ) -> Explanation:
        """The sensitivity with its reasons, the noise, the expected error and the price. Free: no data is read."""
        body = _decimal_fields(epsilon=epsilon, within=within, confidence=confidence, delta=delta)
        explanation = Explanation(
            data=self.remote.transport.send("POST", f"{_BASE}/explain", {"sql": self.text, **body})
        )
        self._last_shown[:] = [explanation]
        return explanation

    def ask(
        self,
        *,
        epsilon: object = None,
        within: object = None,
        confidence: object = "0.95",
        delta: object = None,
        fresh: bool = False,
        key: str | None = None,
    ) -> Release:
        """Charge the server's ledger and answer. A repeat returns the stored answer, free.

        `key`: your own idempotency key, so that a program that is started again is not charged again.
        """
        body = _decimal_fields(epsilon=epsilon, within=within, confidence=confidence, delta=delta)
        release = self.remote.send_paid("/query", {"sql": self.text, "fresh": fresh, **body}, key)
        self._last_shown[:] = [release]
        return release

    def __repr__(self) -> str:
        return f"<RemoteQuestion: {one_line(self.text)}>"

    def _repr_html_(self) -> str:
        """The query in a notebook, with its price if it was explained. Nothing is sent."""
        return notebook.notebook_html(lambda: question_html(self.text, self._last_shown), lambda: repr(self))


def decimal(value: object, *, name: str) -> str:
    """A number as decimal text, exactly as it is meant."""
    if isinstance(value, Fraction):
        rest = value.denominator
        for prime in (2, 5):
            while rest % prime == 0:
                rest //= prime
        if rest != 1:
            raise UsageError(f"{name} {value} has no finite decimal form", hint="write a decimal number, such as 0.33")
        return exact.show(value, digits=40)
    exact.number(value, name=name)
    return repr(value) if isinstance(value, float) else str(value).strip()


def _decimal_fields(**numbers: object) -> dict[str, str]:
    return {name: decimal(value, name=name) for name, value in numbers.items() if value is not None}


def _spending(data: Mapping[str, Any]) -> Spending:
    rho = data.get("rho")
    return Spending(
        epsilon=None if data["epsilon"] is None else exact.number(data["epsilon"], name="epsilon"),
        delta=exact.number(data["delta"], name="delta"),
        rho=None if rho is None else exact.number(rho, name="rho"),
        budget=None if data.get("budget") is None else exact.number(data["budget"], name="budget"),
    )


def _intervals(data: Mapping[str, Any]) -> tuple[Intervals, ...]:
    return tuple(tuple(_ends(ends) for ends in row) for row in data["intervals"])


def _ends(ends: list[Any] | None) -> tuple[float | str, float | str] | None:
    """JSON has no infinity: an end that is none is far away."""
    if ends is None:
        return None
    low, high = ends
    return float("-inf") if low is None else low, float("inf") if high is None else high


def _budget_status(status: Mapping[str, Any]) -> BudgetStatus:
    from discreet.project.budget import BudgetStatus

    return BudgetStatus(
        population=status["population"],
        limit=_spending(status["limit"]),
        spent=_spending(status["spent"]),
        remaining=_spending(status["remaining"]),
        events=status["events"],
        by_analyst={name: _spending(paid) for name, paid in status["by_analyst"].items()},
        accounting=status["accounting"],
        counts=status["counts_within_50"],
        largest_question=exact.number(status["largest_question"], name="epsilon"),
        notes=tuple(status["notes"]),
    )
