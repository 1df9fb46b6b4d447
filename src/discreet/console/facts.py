"""What may be told to everybody who may ask: declarations, budgets and the list of releases, as plain JSON data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from discreet import exact
from discreet.api import Project
from discreet.ledger.records import Charge
from discreet.recall import Recalled
from discreet.release import Spending
from discreet.schema.column import Boolean, Category, Column, Moment, Number, type_name
from discreet.schema.schema import Table

#: More values of a category than this are cut on a page.
MOST_VALUES = 60


def spending(found: Spending, *, up: bool) -> dict[str, Any]:
    """Numbers, and the words that people read: spent rounded up, remaining down."""
    epsilon = None if found.epsilon is None else exact.show(found.epsilon, up=up)
    return {**found.to_data(up=up), "words": f"epsilon {epsilon or '–'}, delta {exact.show(found.delta, up=up)}"}


def budget(project: Project, table: Table) -> dict[str, Any] | None:
    """Where the budget of a table's population stands; None for a public table, and where none is declared."""
    if table.public or table.budget is None:
        return None
    standing = project.budget(table.name)
    limit, spent = standing.limit.epsilon, standing.spent.epsilon
    share = None if not limit or spent is None else min(1.0, exact.as_float(spent / limit, up=True))
    return {
        "population": standing.population,
        "limit": spending(standing.limit, up=True),
        "spent": spending(standing.spent, up=True),
        "remaining": spending(standing.remaining, up=False),
        "share_spent": share,
        "accounting": standing.accounting,
        "events": standing.events,
        "counts_within_50": standing.counts,
        "largest_question": exact.as_float(standing.largest_question, up=False),
        "by_analyst": {who: spending(paid, up=True) for who, paid in standing.by_analyst.items()},
        "notes": list(standing.notes),
    }


def unit(table: Table) -> str:
    """Whose presence is hidden, in a sentence."""
    if table.public:
        return "Nothing is hidden: the owner says that everybody may know this table."
    told = table.schema.unit
    if told.is_row:
        return "Hidden is the presence of each row: no answer tells whether one more was there."
    if told.ends:
        most = "" if told.limit is None else f" At most {told.limit:,} edges of a person count."
        return f"Hidden is the presence of each person at an end of an edge, with all their edges.{most}"
    rows = f"at most {told.rows:,} rows" if told.rows > 1 else "one row"
    whose = f"reached through {told.through!r}" if told.through else f"told by {', '.join(told.person)}"
    return f"Hidden is the presence of each person, {whose}. A person counts with {rows}."


def column(found: Column, raw: Any) -> dict[str, Any]:
    """A column and its domain, and whether that was declared or bought."""
    measured = raw.get("measured") if isinstance(raw, dict) else None
    data: dict[str, Any] = {
        "name": found.name,
        "type": type_name(found),
        "domain": "",
        "values": [],
        "more_values": 0,
        "constant": bool(getattr(found, "constant", False)),
        "closed": bool(getattr(found, "closed", False)),
        "measured_for": None if measured is None else str(measured),
    }
    match found:
        case Number() | Moment() if found.low is not None and found.high is not None:
            data["domain"] = f"{found.label(found.low)} to {found.label(found.high)}"
            if isinstance(found, Number) and found.type == "decimal":
                data["domain"] += f", in steps of {exact.show(found.step)}"
        case Category():
            shown = [str(value) for value in found.values]
            data["values"], data["more_values"] = shown[:MOST_VALUES], max(0, len(shown) - MOST_VALUES)
        case Boolean():
            data["domain"] = "true or false"
        case _:
            data["domain"] = ""
    data["origin"] = _origin(data)
    return data


def _origin(data: dict[str, Any]) -> str:
    if data["measured_for"] is not None:
        return f"measured for epsilon {data['measured_for']}"
    return "declared" if data["domain"] or data["values"] else "no bounds declared"


def columns(project: Project, table: Table) -> list[dict[str, Any]]:
    """The columns of a table as they are declared."""
    raw = project.file.raw.get(table.name, {}).get("columns", {})
    known = {name.lower(): told for name, told in raw.items()}
    return [column(each, known.get(each.name.lower(), {})) for each in table.schema.columns]


def table_line(project: Project, table: Table) -> dict[str, Any]:
    """A table in a list."""
    return {
        "name": table.name,
        "public": table.public,
        "population": table.population,
        "columns": len(table.schema.columns),
        "version": max(project.ledger.state.versions.get(table.name, {}), default=0),
        "unit": unit(table),
        "budget": budget(project, table),
    }


def charges(project: Project) -> Iterator[Charge]:
    """Every charge, the newest first."""
    return reversed(list(project.ledger.refresh().charges.values()))


def asked(told: Recalled, *, most: int) -> str:
    """What a release answers, on one line: the first words of its question, or what it is of itself."""
    text = told.texts[0] if told.texts else str(told.about.get("asked", "")) or told.words
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def minute(time: str) -> str:
    """When something was charged, to the minute: finer, two charges of a batch would tell how long counting took.

    >>> minute("2026-11-15T23:38:22.123456Z")
    '2026-11-15T23:38Z'
    """
    return f"{time[:16]}Z"


def charge(project: Project, found: Charge) -> dict[str, Any]:
    """A charge in a list: what the ledger says of it, and nothing of its answer."""
    state = project.ledger.state
    kind = "fit" if found.id in state.reservations else "stream" if found.id in state.streams else "answer"
    return {
        "release": found.id,
        "table": found.table,
        "version": found.version,
        "analyst": found.analyst,
        "time": minute(found.time),
        "price": exact.as_float(found.price, up=True),
        "kind": kind,
        "answered": found.id in state.answers,
    }
