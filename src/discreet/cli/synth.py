"""`discreet synth`: fit a model of a table, sample rows from it, look at what it is good for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet import exact
from discreet.cli import standard_streams, terminal
from discreet.cli.flags import (
    HERE,
    Analyst,
    Epsilon,
    Folder,
    Json,
    Overwrite,
    refuse_overwriting,
    refuse_unwritable_output,
    refuse_unwritable_path,
)
from discreet.cli.row_file import Format, file_format
from discreet.cli.verb_app import VerbApp
from discreet.errors import Flag, Message, UsageError

if TYPE_CHECKING:
    from discreet.project.project import Project
    from discreet.synth.model import Model, ModelCard

synth_app = VerbApp(no_args_is_help=True, help="Synthetic data: fit a model, sample rows, inspect it.")

MODEL = typer.Argument(help="Model file. Default: the newest model fitted in this project.")


@synth_app.command()
def fit(
    table: Annotated[str, typer.Argument(help="A declared table.")],
    epsilon: Epsilon = None,
    delta: Annotated[
        str | None, typer.Option("--delta", help="Delta of the guarantee. Default: the table's delta.")
    ] = None,
    model: Annotated[
        str,
        typer.Option("--model", help="Model: auto, random, independent, correlated (privbayes), mst or aim."),
    ] = "auto",
    columns: Annotated[str | None, typer.Option("--columns", help="Only these columns, separated by commas.")] = None,
    degree: Annotated[
        str | None,
        typer.Option("--degree", help="With privbayes: the most parents of a column (K), 1 to 8. Default: up to 3."),
    ] = None,
    seconds: Annotated[str | None, typer.Option("--seconds", help="About how many seconds the fit may take.")] = None,
    rows: Annotated[str | None, typer.Option("--rows", help="The number of rows, if it is public.")] = None,
    public: Annotated[
        str | None, typer.Option("--public", help="With mst: a public table that selects the pairs. Free.")
    ] = None,
    marginal: Annotated[
        list[str] | None, typer.Option("--marginal", help="a,b: always measure these columns together.")
    ] = None,
    weight: Annotated[
        list[str] | None, typer.Option("--weight", help="a,b=5: weight of these columns together.")
    ] = None,
    constraints: Annotated[
        Path | None, typer.Option("--constraints", help="File of public facts that the model keeps exactly.")
    ] = None,
    analyst: Analyst = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ignore the stored model; fit a new one and charge again.")
    ] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="File to save the model to.")] = None,
    overwrite: Overwrite = False,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Fit a model of a table. Charged once; repeating the same fit is free."""
    import discreet
    from discreet.synth.model_folder import save_in_project

    opened_project = discreet.open(project)
    refuse_unwritable_output(output, opened_project)
    if output is not None:
        refuse_overwriting(output, overwrite=overwrite)
    with _progress() as tell:
        made = opened_project.synthesize(
            table,
            epsilon=epsilon,
            delta=delta,
            model=model,
            columns=None if columns is None else [name.strip() for name in columns.split(",")],
            degree=degree,
            seconds=seconds,
            rows=rows,
            public=public,
            marginals=[_names(text) for text in marginal or []],
            weights=dict(_weight(text) for text in weight or []),
            constraints=constraints,
            analyst=analyst,
            fresh=fresh,
            progress=tell,
            announce=lambda note: terminal.print_notes([note]),
        )
    with _charged("the model is fitted, charged and stored (repeating the fit is free), but could not be saved"):
        saved = save_in_project(opened_project.folder, made)
    if output is not None:
        with _charged(f"the model is fitted, charged and saved as {saved}, but could not be saved as {output}"):
            made.save(output)
    data, text = _fit_output(made, output or saved, opened_project)
    terminal.print_result(data, text, as_json=as_json)


@synth_app.command()
def sample(
    model: Annotated[Path | None, MODEL] = None,
    n: Annotated[
        int | None, typer.Option("-n", "--rows", help="Number of rows. Default: about as many as the table has.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A .csv or .parquet file. Default: CSV on standard output.")
    ] = None,
    format_: Format = None,
    overwrite: Overwrite = False,
    given: Annotated[list[str] | None, typer.Option("--given", help="COLUMN=VALUE: every row has this value.")] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Seed for reproducible rows; sampling adds no protection.")
    ] = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Sample rows from a model. Free: as many as you like, as often as you like."""
    from discreet.synth.sample_files import write_rows

    if output is None and format_ is not None:
        raise UsageError("--format needs a file to write", hint="-o rows.csv")
    target_format = None if output is None else file_format(output, format_)
    made, source = _model(model, project, output)
    if output is not None:
        refuse_overwriting(output, overwrite=overwrite)
    conditions = _pairs(given or [])
    origin = f"from the {made.card.kind} model of {made.card.table!r}, version {made.card.version}"
    if made.card.kind == "random":
        origin += ", which uses only the declaration and says nothing about the data"
    if output is None and as_json:
        sampled_rows = made.sample(n, given=conditions, seed=seed)
        rows = [[_plain(value) for value in row.values()] for row in sampled_rows.to_pylist()]
        terminal.print_result(
            {"model": str(source), "columns": sampled_rows.column_names, "rows": rows}, "", as_json=True
        )
        return
    if output is None:
        standard_streams.print_stderr(origin)
        with standard_streams.flush_or_raise():
            write_rows(made, sys.stdout.buffer, n=n, given=conditions, seed=seed)
        return
    with terminal.progress("sampling"):
        count = write_rows(made, output, n=n, given=conditions, seed=seed, format_=target_format)
    data = {"rows": count, "file": str(output), "model": str(source), "kind": made.card.kind, "table": made.card.table}
    terminal.print_result(data, f"wrote {count:,} rows to {output}, {origin}", as_json=as_json)


@synth_app.command(short_help="Show what a model is good and bad for.")
def inspect(
    model: Annotated[Path | None, MODEL] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write a report page to this HTML file.")
    ] = None,
    overwrite: Overwrite = False,
    epsilon: Annotated[str | None, typer.Option("--epsilon", help="Compare with the real table. Charged.")] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Delta of the comparison's guarantee.")] = None,
    analyst: Analyst = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Show what a model is good and bad for, from its noisy measurements only. Free without --epsilon."""
    made, _ = _model(model, project, output)
    if output is not None:
        refuse_overwriting(output, overwrite=overwrite)
    comparison = None
    if epsilon is not None:
        import discreet

        with terminal.progress("comparing"):
            comparison = discreet.open(project).compare(made, epsilon=epsilon, delta=delta, analyst=analyst)
    from discreet.synth.inspect import inspect_model

    report = inspect_model(made, comparison=comparison)
    if output is not None:
        with terminal.explain_write_failure("the comparison is" if comparison is not None else "the model is"):
            output.write_text(report.page(), encoding="utf-8")
    text = "\n".join(report.lines()) + (f"\nwrote {output}" if output is not None else "")
    terminal.print_result(report.to_data(), text, as_json=as_json)


def _model(path: Path | None, project: Path, output: Path | None) -> tuple[Model, Path]:
    """The model that is meant; an output must not overwrite the project."""
    import discreet
    from discreet.errors import ProjectError
    from discreet.synth.model import Model
    from discreet.synth.model_folder import newest_model

    opened_project: Project | None
    try:
        opened_project = discreet.open(project)
    except ProjectError:
        if path is None:
            raise
        opened_project = None  # a model's file is enough
    if opened_project is not None:
        refuse_unwritable_output(output, opened_project)
    elif output is not None:
        refuse_unwritable_path(output)
    if path is None:
        assert opened_project is not None
        path = newest_model(opened_project.folder)
    if output is not None and path.exists() and output.resolve() == path.resolve():
        raise UsageError("the output would overwrite the model")
    return Model.load(path), path


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _weight(text: str) -> tuple[tuple[str, ...], int]:
    names, sign, number = text.rpartition("=")
    if not sign or not number.strip().isdecimal() or len(number) > 6:
        raise UsageError(
            f"--weight needs COLUMNS=NUMBER, got {text[:60]!r}", hint=Message(Flag("weight", "age,income=5"))
        )
    return _names(names), int(number)


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    return value.isoformat() if isinstance(value, date) else value


def _pair(text: str) -> tuple[str, str | None]:
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise UsageError(
            f"--given needs COLUMN=VALUE, got {text[:60]!r}",
            hint=Message(Flag("given", "sex=F"), "; ", Flag("given", "sex="), " is NULL"),
        )
    return name, value or None


def _pairs(texts: list[str]) -> dict[str, str | None]:
    """What is given, each column once."""
    conditions: dict[str, str | None] = {}
    for name, value in map(_pair, texts):
        if name.lower() in {each.lower() for each in conditions}:
            raise UsageError(f"--given names {name[:60]!r} twice")
        conditions[name] = value
    return conditions


@contextmanager
def _charged(outcome: str) -> Iterator[None]:
    """A file of what is charged by now: a failure to write it says so."""
    try:
        yield
    except (OSError, UsageError) as problem:
        reason = problem.reason if isinstance(problem, UsageError) else str(problem.strerror)
        raise UsageError(f"{outcome}: {reason}") from None


@contextmanager
def _progress() -> Iterator[Any]:
    """A bar on stderr, where that is a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = standard_streams.progress_console()
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("fitting", total=1.0)
        yield lambda word, done: bar.update(task, description=word, completed=done)


def _fit_output(made: Model, path: Path, project: Project) -> tuple[dict[str, Any], list[str]]:
    card = made.card
    data = {
        "model": str(path),
        "kind": card.kind,
        "release": card.release,
        "table": card.table,
        "version": card.version,
        "rows": round(made.total),
        "columns": [column.name for column in made.columns],
        "cost": _cost(card) | {"budget": 0.0 if card.repeat else terminal.budget_cost(project, card.release)},
        **_status(project, card),
        "repeat": card.repeat,
        "shares": {name: float(share) for name, share in card.shares.items()},
        "because": card.because,
        "warnings": list(card.warnings),
    }
    paid = terminal.cost_words(project, card.release)
    paid = f"fitted before, so free now; it cost {paid}" if card.repeat else f"cost {paid}"
    spent = "" if card.release is None else f"; {terminal.spent_words(project.budget(card.table))}"
    by_itself = "" if card.epsilon is None else f". By itself the model has {_guarantee_words(card)}"
    lines = [
        f"fitted {card.kind} to {card.table!r}, version {card.version}: {card.because}".rstrip(": "),
        f"{paid}{spent}{by_itself}.",
    ]
    if card.shares:
        lines.append("budget split: " + ", ".join(f"{name} {float(share):.0%}" for name, share in card.shares.items()))
    lines += [f"note: {warning}" for warning in card.warnings]
    lines += [
        f"saved {path}" + ("" if card.release is None else f"; release {card.release}"),
        "next: discreet synth sample -n 1000 -o rows.csv; discreet synth inspect -o page.html",
    ]
    return data, lines


def _status(project: Project, card: ModelCard) -> dict[str, Any]:
    """What is spent and what remains after a fit; null where the model used no data."""
    if card.release is None:
        return {"spent": None, "remaining": None}
    status = project.budget(card.table)
    return {"spent": status.spent.to_data(up=True), "remaining": status.remaining.to_data(up=False)}


def _cost(card: ModelCard) -> dict[str, float | None]:
    return {
        "epsilon": None if card.epsilon is None else exact.as_float(card.epsilon, up=True),
        "delta": exact.as_float(card.delta, up=True),
        "rho": None if card.rho is None else exact.as_float(card.rho, up=True),
    }


def _guarantee_words(card: ModelCard) -> str:
    assert card.epsilon is not None
    delta = f", delta {exact.show(card.delta, up=True)}" if card.delta else ""
    rho = f" (rho {exact.show(card.rho, up=True)})" if card.rho is not None else ""
    return f"epsilon {exact.show(card.epsilon, up=True)}{delta}{rho}"
