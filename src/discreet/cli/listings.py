"""`discreet tables` and `discreet releases`: what there is, and what was answered. Public facts, free."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table as RichTable
from rich.text import Text as RichText

import discreet
from discreet import exact
from discreet.cli import terminal
from discreet.cli.flags import HERE, Folder, Json

if TYPE_CHECKING:
    from discreet.project.project import Project
    from discreet.release import Spending
    from discreet.schema.schema import Table

#: What stands in place of a question that is not stored yet.
UNFINISHED = "no answer is stored yet; the same command finishes it, free"

#: Longer questions are cut on a screen; --json has them whole.
LONGEST_QUESTION = 60


def tables(project: Folder = HERE, as_json: Json = False) -> None:
    """List the declared tables: whom each protects, its newest version and its budget. Free."""
    opened_project = discreet.open(project)
    listed = [_table_data(opened_project, table) for table in opened_project.file.tables.values()]
    columns = ("table", "protects", "version", "spent", "limit", "source")
    lines: Any = "no table is declared yet; declare one with discreet add FILE"
    if listed:
        lines = _grid(columns, [[_cell(each[name], up=name != "limit") for name in columns] for each in listed])
    terminal.print_result({"tables": listed}, lines, as_json=as_json)


def releases(
    table: Annotated[str | None, typer.Argument(help="Only the releases of this table.")] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """List everything that was released: when, what was asked, what it cost the budget, and by whom. Free."""
    opened_project = discreet.open(project)
    name = None if table is None else opened_project.table(table).name
    charges = opened_project.ledger.refresh().charges.values()
    listed = [_release_data(opened_project, each.id) for each in charges if name in (None, each.table)]
    columns = ("release", "time", "table", "analyst", "cost", "question")
    lines: Any = "nothing was released yet"
    if listed:
        lines = _grid(columns, [[_cell(each[column], cut=True) for column in columns] for each in listed])
        lines += _unfinished_lines(opened_project, [each["release"] for each in listed])
    terminal.print_result({"releases": listed}, lines, as_json=as_json)


def _table_data(project: Project, table: Table) -> dict[str, Any]:
    from discreet.project.budget import has_limit

    versions = project.ledger.refresh().versions.get(table.name, {})
    has_budget = not table.public and has_limit(project.ledger_table(table.name), project.ledger)
    budget = project.budget(table.name) if has_budget else None
    unit = table.schema.unit
    return {
        "table": table.name,
        "protects": "nobody: public" if table.public else "one row" if unit.is_row else "one person",
        "population": None if table.public else table.population,
        "version": max(versions, default=None),
        "spent": _epsilon(None if budget is None else budget.spent, up=True),
        "limit": _epsilon(None if budget is None else budget.limit, up=False),
        "source": str(table.source),
    }


def _epsilon(amount: Spending | None, *, up: bool) -> float | None:
    return None if amount is None or amount.epsilon is None else exact.as_float(amount.epsilon, up=up)


def _release_data(project: Project, release: str) -> dict[str, Any]:
    recalled = project.recall(release)
    charge = recalled.charge
    return {
        "release": release,
        "time": f"{charge.time[:16]}Z",  # to the minute: finer, two charges would tell how long counting took
        "table": charge.table,
        "version": charge.version,
        "kind": recalled.words,
        "question": UNFINISHED
        if project.ledger.waits_for_answer(release)
        else "; ".join(" ".join(text.split()) for text in recalled.texts) or recalled.words,
        "analyst": charge.analyst,
        "cost": exact.as_float(charge.moved, up=True),
    }


def _unfinished_lines(project: Project, releases: list[str]) -> list[str]:
    """What to do about charges that have no answer."""
    unanswered = [each for each in releases if project.ledger.waits_for_answer(each)]
    if not unanswered:
        return []
    return [
        "",
        f"note: {', '.join(unanswered)}: charged, but no answer is stored. If the program was ended, run the same "
        "command again (the same query, epsilon or width, and analyst): it is answered under this charge, free",
    ]


def _cell(value: object, *, cut: bool = False, up: bool = True) -> str:
    text = "–" if value is None else exact.show_float(value, up=up) if isinstance(value, float) else str(value)
    return f"{text[:LONGEST_QUESTION]}…" if cut and len(text) > LONGEST_QUESTION else text


def _grid(heads: tuple[str, ...], rows: list[list[str]]) -> list[Any]:
    grid = RichTable(box=None, pad_edge=False, header_style="bold")
    for head in heads:
        grid.add_column(RichText(head), no_wrap=True)
    for row in rows:
        grid.add_row(*(RichText(cell) for cell in row))
    return [grid]
