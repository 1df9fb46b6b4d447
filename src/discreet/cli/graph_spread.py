"""`discreet graph synth` and `discreet graph spread`: a graph to play with, and how fast a rumour travels in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import standard_streams, terminal
from discreet.cli.flags import (
    HERE,
    Analyst,
    By,
    Edges,
    Ends,
    Epsilon,
    Folder,
    Fresh,
    Gaussian,
    Json,
    Key,
    Nodes,
    refuse_unwritable_output,
    two_ends,
)
from discreet.errors import Flag, Message, UsageError

if TYPE_CHECKING:
    from discreet.graph.model.graph_model import GraphModel
    from discreet.graph.model.rumours import RumourSpread
    from discreet.project.project import BudgetStatus

#: How wide a curve is.
_WIDE = 50


def synth(
    table: Edges,
    epsilon: Epsilon = None,
    delta: Gaussian = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the sampled edges to this .csv or .parquet file.")
    ] = None,
    model: Annotated[Path | None, typer.Option("--model", help="Save the model to this file, as JSON.")] = None,
    nodes: Nodes = None,
    key: Key = None,
    by: By = None,
    ends: Ends = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed for a reproducible graph; sampling adds no protection.")
    ] = None,
    fresh: Fresh = False,
    analyst: Analyst = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Fit a model of a network and sample a graph from it. Charged once; repeating it is free."""
    import discreet
    from discreet.graph.model.graph_model import checked_seed

    if epsilon is None:
        raise UsageError("say how much to spend", hint=Message(Flag("epsilon", 1)))
    opened_project = discreet.open(project)
    checked_seed(seed)
    for path in (output, model):
        refuse_unwritable_output(path, opened_project)
    if output is not None and output.suffix.lower() not in (".csv", ".parquet"):
        raise UsageError(f"edges are written to a .csv or a .parquet file, not to {output.name[:60]!r}")
    if output is not None and model is not None and output.resolve() == model.resolve():
        raise UsageError("the edges and the model need different files")
    network = opened_project.graph(table, ends=two_ends(ends), nodes=nodes, key=key, by=by)
    with terminal.progress("measuring"):
        made = network.synth(epsilon=epsilon, delta=delta, fresh=fresh, analyst=analyst)
    with _charged(made):
        rows = None if output is None else _write(made, output, seed)
        if model is not None:
            made.save(model)
    data = _data(made) | {"file": None if output is None else str(output), "rows": rows}
    data |= {"model": None if model is None else str(model)}
    terminal.print_result(data, plain_lines(_words(made, data, opened_project.budget(table))), as_json=as_json)


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
    import discreet
    from discreet.graph.model.model_measurement import read_back

    return read_back(reference, ledger=discreet.open(project).ledger)


def _write(made: GraphModel, output: Path, seed: int | None) -> int:
    from pyarrow import csv, parquet

    with terminal.progress("sampling"):
        edges = made.sample(seed)
        (csv.write_csv if output.suffix.lower() == ".csv" else parquet.write_table)(edges, output)
    return int(edges.num_rows)


@contextmanager
def _charged(made: GraphModel) -> Iterator[None]:
    """What is measured is charged and kept by now, and a file that cannot be written says so."""
    try:
        yield
    except (OSError, UsageError) as problem:
        why = problem.reason if isinstance(problem, UsageError) else str(problem.strerror)
        raise UsageError(
            f"the model is measured, charged and stored as release {made.card.release}, but the file could not be "
            f"written: {why}",
            hint="run the same command with another file: it is free",
        ) from None


def _data(made: GraphModel) -> dict[str, Any]:
    card, measured = made.card, made.measured
    return {
        "release": card.release,
        "table": card.table,
        "version": card.version,
        "unit": measured.unit,
        "nodes": made.nodes,
        "edges": made.edges,
        "by": measured.by,
        "blocks": measured.blocks,
        "limit": measured.limit,
        "cost": card.cost(),
        "cached": card.repeat,
        "warnings": made.warnings,
    }


def _words(made: GraphModel, data: dict[str, Any], budget_status: BudgetStatus) -> list[str]:
    epsilon = data["cost"]["epsilon"]
    price = f"rho {data['cost']['rho']:g}" if epsilon is None else f"epsilon {epsilon:g}"
    paid = f"stored model: free (it cost {price})" if made.card.repeat else f"cost {price}"
    blocks = f", in {data['blocks']} blocks by {data['by']}" if data["by"] is not None else ""
    lines = [f"model of about {made.nodes:,} nodes and {made.edges:,} edges{blocks}"]
    lines += [f"wrote {data['rows']:,} synthetic edges to {data['file']}"] if data["file"] else []
    lines += [f"saved the model to {data['model']}"] if data["model"] else []
    return [
        *lines,
        f"{paid}; {terminal.spent_words(budget_status)}. Release {made.card.release}, version {made.card.version}.",
        *(f"note: {warning}" for warning in data["warnings"]),
        f"next: discreet graph spread {data['model'] or made.card.release} --seeds 10 --rate 0.1",
    ]


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
