"""What may be told to everybody who may ask: declarations, budgets and the list of releases, as plain JSON data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discreet import exact
from discreet.answers.workload.drawn_batch import is_batch
from discreet.ledger.records import ChargeRecord
from discreet.present.cell_text import DASH
from discreet.project.project import Project
from discreet.project.recall import RecalledRelease
from discreet.release import Spending
from discreet.schema.column import BooleanColumn, CategoryColumn, Column, MomentColumn, NumberColumn, type_name
from discreet.schema.schema import Table

#: More values of a category than this are cut on a page.
MOST_VALUES = 60


def spending_json(amount: Spending, *, up: bool) -> dict[str, Any]:
    """Numbers, and the words that people read: spent rounded up, remaining down."""
    shown = amount.epsilon if amount.budget is None else amount.budget
    epsilon = None if shown is None else exact.show(shown, up=up)
    return {**amount.to_data(up=up), "words": f"epsilon {epsilon or DASH}, delta {exact.show(amount.delta, up=up)}"}


def budget_json(project: Project, table: Table) -> dict[str, Any] | None:
    """Where the budget of a table's population stands; None for a public table, and where none is declared."""
    if table.public or table.budget is None:
        return None
    standing = project.budget(table.name)
    limit, spent = standing.limit.epsilon, standing.spent.epsilon
    share = None if not limit or spent is None else min(1.0, exact.as_float(spent / limit, up=True))
    return {
        "population": standing.population,
        "limit": spending_json(standing.limit, up=True),
        "spent": spending_json(standing.spent, up=True),
        "remaining": spending_json(standing.remaining, up=False),
        "share_spent": share,
        "accounting": standing.accounting,
        "events": standing.events,
        "counts_within_50": standing.counts,
        "largest_question": exact.as_float(standing.largest_question, up=False),
        "by_analyst": {who: spending_json(paid, up=True) for who, paid in standing.by_analyst.items()},
        "notes": list(standing.notes),
        "large_limit": standing.large_limit,
    }


def unit_sentence(table: Table) -> str:
    """Whose presence is hidden, in a sentence."""
    if table.public:
        return "Nothing is protected: the owner declared this table public."
    privacy_unit = table.schema.unit
    if privacy_unit.is_row:
        return "Protected: whether any one row is in this table."
    if privacy_unit.ends:
        most = "" if privacy_unit.limit is None else f" At most {privacy_unit.limit:,} edges per person are counted."
        return f"Protected: whether any one person, with all their edges, is in this table.{most}"
    rows = f"At most {privacy_unit.rows:,} rows" if privacy_unit.rows > 1 else "One row"
    whose = (
        f"reached through {privacy_unit.through!r}"
        if privacy_unit.through
        else f"identified by {', '.join(privacy_unit.person)}"
    )
    counted = "are counted" if privacy_unit.rows > 1 else "is counted"
    return f"Protected: whether any one person is in this table (people are {whose}). {rows} per person {counted}."


def column_json(declared_column: Column, raw: Any) -> dict[str, Any]:
    """A column and its domain, and whether that was declared or bought."""
    measured = raw.get("measured") if isinstance(raw, dict) else None
    data: dict[str, Any] = {
        "name": declared_column.name,
        "type": type_name(declared_column),
        "domain": "",
        "values": [],
        "more_values": 0,
        "constant": bool(getattr(declared_column, "constant", False)),
        "closed": bool(getattr(declared_column, "closed", False)),
        "measured_for": None if measured is None else str(measured),
    }
    match declared_column:
        case NumberColumn() | MomentColumn() if declared_column.low is not None and declared_column.high is not None:
            data["domain"] = (
                f"{declared_column.label(declared_column.low)} to {declared_column.label(declared_column.high)}"
            )
            if isinstance(declared_column, NumberColumn) and declared_column.type == "decimal":
                data["domain"] += f", in steps of {exact.show(declared_column.step)}"
        case CategoryColumn():
            shown = [str(value) for value in declared_column.values]
            data["values"], data["more_values"] = shown[:MOST_VALUES], max(0, len(shown) - MOST_VALUES)
        case BooleanColumn():
            data["domain"] = "true or false"
        case _:
            data["domain"] = ""
    data["origin"] = _origin(data)
    return data


def _origin(data: dict[str, Any]) -> str:
    if data["measured_for"] is not None:
        return f"measured for epsilon {data['measured_for']}"
    return "declared" if data["domain"] or data["values"] else "no bounds declared"


def columns_json(project: Project, table: Table) -> list[dict[str, Any]]:
    """The columns of a table as they are declared."""
    raw = project.file.raw.get(table.name, {}).get("columns", {})
    raw_by_name = {name.lower(): raw_column for name, raw_column in raw.items()}
    return [column_json(each, raw_by_name.get(each.name.lower(), {})) for each in table.schema.columns]


def table_line(project: Project, table: Table) -> dict[str, Any]:
    """A table in a list."""
    return {
        "name": table.name,
        "public": table.public,
        "population": table.population,
        "columns": len(table.schema.columns),
        "version": max(project.ledger.state.versions.get(table.name, {}), default=0),
        "unit": unit_sentence(table),
        "budget": budget_json(project, table),
    }


def charges(project: Project) -> Iterator[ChargeRecord]:
    """Every charge, the newest first."""
    return reversed(list(project.ledger.refresh().charges.values()))


def query_excerpt(recalled_release: RecalledRelease, *, most: int) -> str:
    """What a release answers, on one line: the first words of its question, or what it is of itself."""
    text = (
        recalled_release.texts[0]
        if recalled_release.texts
        else str(recalled_release.about.get("asked", "")) or recalled_release.words
    )
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def to_minute(time: str) -> str:
    """When something was charged, to the minute: finer, two charges of a batch would tell how long counting took.

    >>> to_minute("2026-11-15T23:38:22.123456Z")
    '2026-11-15T23:38Z'
    """
    return f"{time[:16]}Z"


def charge_json(project: Project, ledger_charge: ChargeRecord) -> dict[str, Any]:
    """A charge in a list: what the ledger says of it, and nothing of its answer."""
    state = project.ledger.state
    id_ = ledger_charge.id
    is_fit = id_ in state.reservations and not (id_ in state.answers and is_batch(project.ledger, id_))
    kind = "fit" if is_fit else "stream" if id_ in state.streams else "answer"
    return {
        "release": ledger_charge.id,
        "table": ledger_charge.table,
        "version": ledger_charge.version,
        "analyst": ledger_charge.analyst,
        "time": to_minute(ledger_charge.time),
        "price": exact.as_float(ledger_charge.moved, up=True),
        "kind": kind,
        "answered": ledger_charge.id in state.answers,
    }
