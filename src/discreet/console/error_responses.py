"""Refusals: what any error becomes, for programs and for people. Never a datum, and never a server's own fault."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from discreet.console import cli_terms
from discreet.console.responses import NotFound, Page, RequestDenied
from discreet.errors import BudgetExceeded, DiscreetError, Refused, UsageError

#: The exit code of wrong usage, which a visit that may not be is told as.
USAGE = UsageError.exit_code
#: By the exit code of an error.
STATUS = {2: 400, 3: 422, 4: 402, 5: 409, 6: 409}
TITLES = {
    400: "That does not fit", 401: "Please log in", 402: "The budget does not hold it", 403: "Not for you",
    404: "Nothing here", 405: "Not this way", 408: "Too slow", 409: "Not now", 413: "Too long", 415: "Not a form",
    421: "Another name", 422: "Refused", 429: "Too many at once", 500: "A defect",
}  # fmt: skip


#: What to do next, by status, where an error does not say it itself.
HINTS = {
    400: "/api lists what each address takes",
    401: "log in; a program sends a token that is made on /me, as Authorization: Bearer dsc_…",
    403: "an owner says who may do what, on /admin",
    404: "look at its spelling, or search; what came after a backup is not there once that was restored",
    405: "/api lists the addresses of programs, and what each does",
    408: "send it again, in one go",
    409: "come again in a moment",
    413: "send less at once",
    415: "use the form on its page",
    421: "use the address that the server was started with; its option --origin sets it",
    422: "/api/v1/openapi.json says what each request may hold",
    429: "come again in a moment",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorReport:
    """An error as it is told. `more`: what a refusal or a budget adds. defect: nobody expected it."""

    status: int
    sentence: str
    hint: str = ""
    code: int | None = None
    more: dict[str, Any] = field(default_factory=dict)
    wait_s: float | None = None
    defect: bool = False


def error_report_of(problem: Exception) -> ErrorReport:
    """What an error is told as. One that nobody expected may quote a cell, so it is one constant sentence."""
    match problem:
        case RequestDenied():
            hint = problem.hint or HINTS.get(problem.status, "")
            return ErrorReport(
                status=problem.status, sentence=problem.sentence, hint=hint, code=USAGE, wait_s=problem.wait_s
            )
        case NotFound():
            return ErrorReport(status=404, sentence="There is nothing here.", hint=HINTS[404], code=USAGE)
        case DiscreetError():
            return ErrorReport(
                status=429 if hasattr(problem, "wait_s") else STATUS.get(problem.exit_code, 409),
                sentence=problem.reason,
                hint=problem.hint,
                code=problem.exit_code,
                more=_error_details(problem),
                wait_s=getattr(problem, "wait_s", None),
            )
        case _:
            return ErrorReport(
                status=500,
                sentence="Something went wrong here, and its owner is told.",
                hint="it is no fault of yours; an owner finds it on /admin",
                defect=True,
            )


def _error_details(problem: DiscreetError) -> dict[str, Any]:
    if isinstance(problem, Refused):
        place = {"line": problem.line, "column": problem.column, "width": problem.width}
        return {"accepted": False, **place, "excerpt": problem.excerpt()}
    if isinstance(problem, BudgetExceeded):
        return {"needed": problem.needed, "remaining": problem.remaining}
    return {}


def error_json(report: ErrorReport) -> dict[str, Any]:
    """As JSON."""
    return {
        "error": cli_terms.without_cli_terms(report.sentence),
        "hint": cli_terms.without_cli_terms(report.hint),
        "code": report.code,
        **report.more,
    }


def error_page(report: ErrorReport, *, onward: str = "") -> Page:
    """As a page. `onward`: where to go after a login."""
    data = {"title": TITLES.get(report.status, "Refused"), "problem": error_json(report), "onward": onward}
    return Page(template="refusal.html", data=data, status=report.status)
