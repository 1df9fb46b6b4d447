"""`discreet graph synth`: fit a model of a network and sample a graph from it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import discreet
from discreet.cli import terminal
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
    Overwrite,
    refuse_unwritable_output,
    two_ends,
)
from discreet.cli.graph_spread import plain_lines
from discreet.cli.row_file import Format, RowFile, row_files
from discreet.errors import Flag, Message, UsageError

if TYPE_CHECKING:
    from discreet.graph.model.graph_model import GraphModel
    from discreet.project.project import Project


def synth(
    table: Edges,
    epsilon: Epsilon = None,
    delta: Gaussian = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the sampled edges to this .csv or .parquet file.")
    ] = None,
    format_: Format = None,
    overwrite: Overwrite = False,
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
    from discreet.graph.model.graph_model import checked_seed

    if epsilon is None:
        raise UsageError("say how much to spend", hint=Message(Flag("epsilon", 1)))
    opened_project = discreet.open(project)
    checked_seed(seed)
    files = row_files(output, format_, opened_project, overwrite=overwrite)
    refuse_unwritable_output(model, opened_project)
    if output is not None and model is not None and output.resolve() == model.resolve():
        raise UsageError("the edges and the model need different files")
    network = opened_project.graph(table, ends=two_ends(ends), nodes=nodes, key=key, by=by)
    with terminal.progress("measuring"):
        made = network.synth(epsilon=epsilon, delta=delta, fresh=fresh, analyst=analyst)
    with _charged(made):
        rows = _write(made, files[0], seed) if files else None
        if model is not None:
            made.save(model)
    data = _data(made) | {"file": None if output is None else str(output), "rows": rows}
    data |= {"model": None if model is None else str(model)}
    terminal.print_result(data, plain_lines(_words(made, data, opened_project)), as_json=as_json)


def _write(made: GraphModel, file: RowFile, seed: int | None) -> int:
    with terminal.progress("sampling"):
        edges = made.sample(seed)
        file.write_table(edges)
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


def _words(made: GraphModel, data: dict[str, Any], project: Project) -> list[str]:
    budget_status = project.budget(data["table"])
    price = terminal.cost_words(project, made.card.release)
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
