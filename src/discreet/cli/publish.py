"""`discreet publish`: tables as a census publishes them, from a plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import discreet
from discreet.cli import standard_streams, terminal
from discreet.cli.flags import HERE, Analyst, Confidence, Epsilon, Folder, Json
from discreet.errors import Flag, Message, UsageError

if TYPE_CHECKING:
    from discreet.project.project import Project
    from discreet.tables.publish.published_tables import PublishedTables


def publish(
    plan: Annotated[
        Path,
        typer.Argument(metavar="PLAN.toml", help="Plan: which tables to publish, for which places and attributes."),
    ],
    epsilon: Epsilon = None,
    delta: Annotated[
        str | None, typer.Option("--delta", help="Delta of the guarantee; 0 means pure. Default: the table's delta.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Folder to write the tables to.")] = None,
    confidence: Confidence = "0.95",
    price: Annotated[bool, typer.Option("--plan", help="Only show the price and the expected error. Free.")] = False,
    analyst: Analyst = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ignore the stored answer; draw new noise and charge again.")
    ] = False,
    force: Annotated[bool, typer.Option("--overwrite", "--force", help="Replace what is in the folder.")] = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Publish tables of places and attributes that add up exactly. Charged once; repeating the plan is free."""
    opened_project = discreet.open(project)
    if epsilon is None:
        raise UsageError("say how much to spend", hint=Message(Flag("epsilon", 1)))
    if price:
        if output is not None or fresh or force:
            raise UsageError(
                "--plan writes no files and draws no noise: --output, --fresh and --force cannot be used with it"
            )
        quote = opened_project.plan_publish(plan, epsilon=epsilon, delta=delta).to_data()
        terminal.print_result(quote, _quote_lines(quote), as_json=as_json)
        return
    if output is None:
        raise UsageError("say which folder to write the tables to", hint="-o FOLDER")
    _refuse_own(output, opened_project)
    with _progress() as tell:
        made = opened_project.publish(
            plan,
            epsilon=epsilon,
            delta=delta,
            to=output,
            confidence=confidence,
            analyst=analyst,
            fresh=fresh,
            force=force,
            progress=tell,
        )
    data, text = _publication_output(made, output, opened_project)
    terminal.print_result(data, text, as_json=as_json)


def _refuse_own(to: Path, project: Project) -> None:
    try:
        own = project.owns_file(to) or to.resolve() == project.folder.resolve()
    except OSError as problem:
        raise UsageError(f"{str(to)[:200]!r} cannot be written: {problem.strerror}") from None
    if own:
        raise UsageError(f"{str(to)!r} belongs to the project", hint="write to another folder")


def _levels(levels: list[dict[str, Any]]) -> list[str]:
    width = max(len(level["level"]) for level in levels)
    return [
        f"  {level['level']:{width}}  {level['places']:>9,} places  {level['cells']:>11,} cells  "
        f"{_share(level['share'])}  typical error {level['expected_error']['cell']:.3g} per cell, "
        f"{level['expected_error']['total']:.3g} per total"
        for level in levels
    ]


def _share(share: float) -> str:
    return f"{share:>8.1%}" if share else "added up"


def _guarantee(guarantee: dict[str, Any]) -> str:
    delta = f", delta {guarantee['delta']:g}" if guarantee["delta"] else ""
    rho = "" if guarantee["rho"] is None else f" (rho {guarantee['rho']:g})"
    return f"epsilon {guarantee['epsilon']:g}{delta}{rho} for each {guarantee['unit']}; {guarantee['neighbours']}"


def _quote_lines(quote: dict[str, Any]) -> list[str]:
    lines = [f"tables of {quote['table']!r}, version {quote['version']}:", *_levels(quote["levels"])]
    lines.append(
        ("published before, so free now; it cost " if quote["stored"] else "would cost ")
        + _guarantee(quote["guarantee"])
    )
    if not quote["fits"] and not quote["stored"]:
        lines.append("this is more than the remaining budget; run discreet budget to see what remains")
    lines += [*quote["exact"], *(f"note: {note}" for note in quote["notes"])]
    return lines


def _publication_output(made: PublishedTables, to: Path, project: Project) -> tuple[dict[str, Any], list[str]]:
    from discreet.tables.publish.publication_card import card_data

    budget_status = project.budget(made.layout.version.table)
    files = sorted(file.name for file in to.iterdir() if file.suffix in (".csv", ".parquet"))
    data = card_data(made, files)
    nothing = {"epsilon": 0.0, "rho": 0.0, "delta": 0.0, "budget": 0.0}
    paid = {key: data["guarantee"][key] for key in ("epsilon", "rho", "delta")}
    paid["budget"] = terminal.budget_cost(project, made.release)
    data |= {
        "folder": str(to),
        "cached": made.cached,
        "cost": nothing if made.cached else paid,
        **budget_status.after_data(),
    }
    what = "published before, with" if made.cached else "guarantee:"
    lines = [f"wrote {len(files)} tables of about {data['rows']:,} rows, and card.html, to {to}"]
    lines += [*_levels(data["levels"]), f"{what} {_guarantee(data['guarantee'])}"]
    if budget_status.spent.epsilon is not None and budget_status.limit.epsilon is not None:
        paid_words = "free" if made.cached else f"cost {terminal.cost_words(project, made.release)}"
        lines.append(f"{paid_words}; {terminal.spent_words(budget_status)}. Release {made.release}.")
    lines += [*data["exact"], *(f"note: {note}" for note in data["notes"])]
    return data, lines


@contextmanager
def _progress() -> Iterator[Callable[[str, float], None]]:
    """A bar on stderr, where that is a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = standard_streams.progress_console()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("publishing", total=1.0)

        def tell(word: str, done: float) -> None:
            bar.update(task, description=word, completed=done)

        yield tell
