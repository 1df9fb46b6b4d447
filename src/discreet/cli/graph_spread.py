"""`discreet graph spread`: how fast a rumour travels in a model of a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import discreet
from discreet.cli import standard_streams, terminal
from discreet.cli.flags import HERE, Folder, Json
from discreet.errors import UsageError

if TYPE_CHECKING:
    from discreet.graph.model.graph_model import GraphModel
    from discreet.graph.model.rumours import RumourSpread

#: How wide a curve is.
_WIDE = 50


def spread(
    model: Annotated[str, typer.Argument(help="A model's file, or the release that made it: r-…")],
    seeds: Annotated[str, typer.Option("--seeds", help="Number of nodes that know the rumour at first.")] = "10",
    rate: Annotated[
        str, typer.Option("--rate", help="Probability that an edge passes the rumour on, in each step.")
    ] = "0.1",
    reach: Annotated[str, typer.Option("--reach", help="Report when this share of nodes knows the rumour.")] = "0.5",
    runs: Annotated[
        str, typer.Option("--runs", help="Number of graphs behind the interval, each with its own noise; 39 give 95%.")
    ] = "20",
    seed: Annotated[int | None, typer.Option("--seed", help="Seed for a reproducible result.")] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Simulate how fast a rumour spreads in a model of a network. Gives an interval. Free."""
    made = _model(model, project)
    with _progress() as tell:
        rumour_spread = made.spread(seeds=seeds, rate=rate, reach=reach, runs=runs, seed=seed, progress=tell)
    model_data = {"release": made.card.release, "table": made.card.table, "unit": made.measured.unit}
    terminal.print_result(
        model_data | rumour_spread.to_data(), plain_lines(_curve_words(made, rumour_spread)), as_json=as_json
    )


def plain_lines(lines: list[Any]) -> list[Any]:
    """Lines without what would command a terminal: names in them come from data, declarations and files of others."""
    from discreet.graph.graph_card import plain

    return [plain(line) if isinstance(line, str) else line for line in lines]


def _model(reference: str, project: Path) -> GraphModel:
    """A model by its file, or by a release of the project."""
    from discreet.graph.model.graph_model import GraphModel

    if Path(reference).exists():
        return GraphModel.load(reference)
    if not reference.startswith("r-"):
        raise UsageError(
            f"there is no file {reference[:80]!r}", hint="give a model's file, or the release that made it: r-…"
        )
    from discreet.graph.model.model_measurement import read_back

    return read_back(reference, ledger=discreet.open(project).ledger)


def _curve_words(made: GraphModel, rumour_spread: RumourSpread) -> list[str]:
    lines = ["  step  share of nodes that know"]
    for step, share, _, _ in rumour_spread.curve:
        lines.append(f"{step:>6,}  {'#' * round(_WIDE * share):<{_WIDE}} {100 * share:.1f}%")
    return [
        *lines,
        "",
        rumour_spread.sentence,
        f"The rumour starts at {rumour_spread.settings.seeds:,} random nodes, in {rumour_spread.settings.runs:,} "
        f"graphs of the model of {made.card.table!r} (release {made.card.release}). Free.",
        "The interval covers noise and chance, not what a model of blocks and degrees leaves out.",
        *(f"note: {warning}" for warning in rumour_spread.warnings),
    ]


@contextmanager
def _progress() -> Iterator[Callable[[str, float], None]]:
    """A bar on stderr, where that is a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = standard_streams.progress_console()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("spreading", total=1.0)
        yield lambda word, done: bar.update(task, description=word, completed=done)
