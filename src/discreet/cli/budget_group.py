"""`discreet budget`: `show` what is spent and what remains, and `grant` more."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import discreet
from discreet import exact
from discreet.cli import terminal
from discreet.cli.confirmation import Yes, confirm
from discreet.cli.flags import HERE, Folder, Json
from discreet.cli.verb_app import DefaultVerbGroup, VerbApp

if TYPE_CHECKING:
    from discreet.project.project import Project

budget_app = VerbApp(
    cls=DefaultVerbGroup,
    subcommand_metavar="[show] [TABLE] | grant TABLE --epsilon E",
    help="Show budgets, or raise a limit. `discreet budget TABLE` is short for `discreet budget show TABLE`, which "
    "also takes a table called `show` or `grant`.",
)


@budget_app.command()
def show(
    table: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="A declared table. Default: all tables.")
    ] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Show limit, spent and remaining, by table and by analyst. Free."""
    from discreet.project.budget import has_limit

    opened_project = _open(project)
    private = [name for name, declared in opened_project.file.tables.items() if not declared.public]
    names = private if table is None else [opened_project.table(table).name]
    if table is None:
        names = [name for name in private if has_limit(opened_project.ledger_table(name), opened_project.ledger)]
    without = [] if table is not None else [name for name in private if name not in names]
    budgets = {name: opened_project.budget(name) for name in names}
    data, text = terminal.budgets_output(budgets, without=without)
    terminal.print_notes([note for name in names for note in opened_project.warnings(name)])
    terminal.print_result(data, text, as_json=as_json)


@budget_app.command()
def grant(
    table: Annotated[str, typer.Argument(help="A declared table.")],
    epsilon: Annotated[str, typer.Option("--epsilon", help="The new limit.")],
    delta: Annotated[str | None, typer.Option("--delta", help="The new delta. Default: as it is.")] = None,
    yes: Yes = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Raise the limit of the people in a table. For the owner."""
    from discreet.project.budget import limit_difference, outdated_budget_line

    opened_project = _open(project)
    _confirm_grant(opened_project, table, epsilon, delta, yes=yes)
    opened_project.grant(table, epsilon=epsilon, delta=delta)
    name = opened_project.table(table).name
    data, text = terminal.budgets_output({name: opened_project.budget(name)})
    ledger_table = opened_project.ledger_table(name)
    line = outdated_budget_line(ledger_table, opened_project.ledger)
    difference = limit_difference(ledger_table, opened_project.ledger) if line else None
    terminal.print_notes([note for note in opened_project.warnings(name) if note != difference])
    also = [f"  also write it to discreet.toml: {line}"] if line else []
    terminal.print_result(data, [*text, *also], as_json=as_json)


def _confirm_grant(project: Project, table: str, epsilon: str, delta: str | None, *, yes: bool) -> None:
    """Ask before a limit is more than doubled or goes beyond `LARGE_EPSILON`: it may be impossible to lower it again.

    Without a terminal only a grant that does both is refused.
    """
    from discreet.accounting.guarantee import LARGE_EPSILON
    from discreet.project.budget import raised_limit

    raised = raised_limit(project.ledger_table(table), project.ledger, epsilon=epsilon, delta=delta)
    old, new = project.guarantee(table).epsilon, raised.epsilon
    doubled, large = new > 2 * old, new > LARGE_EPSILON
    if doubled or (large and old <= LARGE_EPSILON):
        weak = f", and above {LARGE_EPSILON} the guarantee is weak" if large else ""
        confirm(
            f"this raises the limit of {project.table(table).population!r} from epsilon {exact.show(old)} to "
            f"{exact.show(new)}; once an answer is released, a limit can only be raised{weak}",
            yes=yes,
            needs_terminal=doubled and large,
        )


def _open(project: Path) -> Project:
    return discreet.open(project)
