"""Refusals: what any error becomes, for programs and for people. Never a datum, and never a server's own fault."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from discreet.console.console_text import console_text, page_hint, page_sentence
from discreet.console.responses import NotFound, Page, RequestDenied
from discreet.errors import BudgetExceeded, DiscreetError, Flag, Message, Refused, UsageError

#: The exit code of wrong usage, which a visit that may not be is told as.
USAGE = UsageError.exit_code
#: By the exit code of an error.
STATUS = {2: 400, 3: 422, 4: 402, 5: 409, 6: 409}
TITLES = {
    400: "Invalid request", 401: "Please log in", 402: "Not enough budget", 403: "Not allowed",
    404: "Not found", 405: "Method not allowed", 408: "Too slow", 409: "Not possible now", 413: "Too long",
    415: "Not a form", 421: "Wrong host name", 422: "Refused", 429: "Too many requests", 500: "Internal error",
}  # fmt: skip


#: What to do next, by status, where an error does not say it itself.
HINTS = {
    400: "see /api for what each route accepts",
    401: "log in; a program sends a token, created on /me, as Authorization: Bearer dsc_…",
    403: "ask an owner; owners manage roles on /admin",
    404: "check the spelling, or search; after a backup is restored, everything newer than the backup is missing",
    405: "see /api for the routes of the API and what each does",
    408: "send the whole request again without pauses",
    409: "wait a moment, then send it again",
    413: "send less at once",
    415: "use the form on its page",
    421: Message("use the URL that the server was started with; its option ", Flag("origin"), " sets it"),
    422: "see /api/v1/openapi.json for what each request may contain",
    429: "wait a moment, then send it again",
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
                sentence="Something went wrong on the server. The error was recorded for the owner.",
                hint="this is not your fault; an owner can find the error on /admin",
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
    """For programs: the message as it is."""
    return {
        "error": console_text(report.sentence),
        "hint": console_text(report.hint),
        "code": report.code,
        **report.more,
    }


def page_problem(report: ErrorReport) -> dict[str, Any]:
    """For people: the message as a sentence. Every page takes its errors from here."""
    sentences = {"error": page_sentence(report.sentence), "hint": page_hint(report.hint)}
    return {**error_json(report), **sentences}


def error_page(report: ErrorReport, *, onward: str = "") -> Page:
    """As a page. `onward`: where to go after a login."""
    data = {"title": TITLES.get(report.status, "Refused"), "problem": page_problem(report), "onward": onward}
    return Page(template="refusal.html", data=data, status=report.status)
