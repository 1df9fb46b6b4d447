"""What forms of several areas have in common: texts that may be empty, whole numbers, prices, errors beside a form."""

from __future__ import annotations

from typing import Any

from discreet.accounting.events import Event
from discreet.accounting.region import Region
from discreet.answers.query_quote import cost_of
from discreet.console import public_facts
from discreet.console.error_responses import error_report_of, page_problem
from discreet.errors import UsageError
from discreet.kernel.version import Version
from discreet.project.project import Project
from discreet.schema.column import Column, MomentColumn, NumberColumn

#: A number is told as text, and so many letters are enough for any.
LONGEST_NUMBER = 60


def text_or_none(text: str) -> str | None:
    """What a field says; None where it was left empty."""
    return text.strip() or None


def number_text(text: str, name: str) -> str | None:
    """A decimal number as its text, not too long to be read; None where it was left empty."""
    if len(text) > LONGEST_NUMBER:
        raise UsageError(f"{name} must have at most {LONGEST_NUMBER} digits")
    return text_or_none(text)


def whole_number(text: str, name: str, *, least: int, most: int) -> int:
    """A whole number between two others."""
    plain = text.strip().replace(",", "")
    if not plain.isascii() or not plain.isdecimal() or len(plain) > 15 or not least <= int(plain) <= most:
        raise UsageError(f"{name} must be a whole number from {least:,} to {most:,}")
    return int(plain)


def price_json(project: Project, name: str, event: Event, *, version: Version | None = None) -> dict[str, Any]:
    """What an event that touches everybody costs, and whether the budget of a table holds it now. Free.

    version: of a network, which may have ends and is asked for statistics alone.
    """
    version = project.peek_version(name) if version is None else version
    decision = project.ledger.preview(
        population=version.population,
        table=version.table,
        version=version.number,
        region=Region.whole(),
        event=event,
        guarantee=project.guarantee(name),
        booking=False,
    )
    account = project.ledger.state.account_or_new(version.population, project.guarantee(name))
    moved = account.epsilon_moved((version.table, version.number), decision)
    paid = public_facts.spending_json(cost_of(event, moved), up=True)
    budget = public_facts.budget_json(project, project.table(name))
    return {
        "cost": paid,
        "fits": decision.accepted,
        "remaining": None if budget is None else budget["remaining"],
        "limit": None if budget is None else budget["limit"],
    }


def form_error(problem: Exception) -> tuple[dict[str, Any], int]:
    """An error as it stands beside a form, and the status of the page."""
    report = error_report_of(problem)
    return page_problem(report), report.status


def private_tables(project: Project) -> list[dict[str, Any]]:
    """The tables that are asked for a price, with their columns, those that ranges lie in, and what is left."""
    return [
        {
            "name": table.name,
            "columns": [column["name"] for column in public_facts.columns_json(project, table)],
            "ordered": [column.name for column in table.schema.columns if has_bounds(column)],
            "budget": public_facts.budget_json(project, table),
        }
        for table in project.file.tables.values()
        if not table.public
    ]


def has_bounds(column: Column) -> bool:
    """Whether a column is of numbers or moments between declared bounds."""
    return isinstance(column, NumberColumn | MomentColumn) and column.low is not None and column.high is not None
