"""`discreet synth`: fit a model of a table, sample rows from it, look at what it is good for.

Long by its options: three verbs, of rows and of persons, that share most of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import discreet
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
from discreet.errors import Flag, Message, ProjectError, UsageError

if TYPE_CHECKING:
    from discreet.project.project import Project
    from discreet.synth.inspect import ModelReport, TwoModels
    from discreet.synth.inspect.model_comparison import Comparison
    from discreet.synth.inspect.person_report import PersonReport
    from discreet.synth.inspect.tables_report import TablesReport
    from discreet.synth.model import Model, ModelCard
    from discreet.synth.persons.person_model import PersonModel
    from discreet.synth.persons.tables_model import PersonTablesModel

    AnyModel = Model | PersonModel | PersonTablesModel
    AnyReport = ModelReport | PersonReport | TablesReport

synth_app = VerbApp(no_args_is_help=True, help="Synthetic data: fit a model, sample rows, inspect it.")

MODEL = typer.Argument(help="Model file. Default: the newest model fitted in this project.")


@synth_app.command()
def fit(
    table: Annotated[
        list[str], typer.Argument(metavar="TABLE...", help="A declared table; or several that share their persons.")
    ],
    epsilon: Epsilon = None,
    delta: Annotated[
        str | None, typer.Option("--delta", help="Delta of the guarantee. Default: the table's delta.")
    ] = None,
    model: Annotated[
        str,
        typer.Option("--model", help="Model: auto, random, independent, correlated (privbayes), mst, aim or persons."),
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
    constant: Annotated[
        str | None, typer.Option("--constant", help="With persons: columns that do not change within a person.")
    ] = None,
    time: Annotated[
        str | None, typer.Option("--time", help="With persons: the date or timestamp that orders a person's rows.")
    ] = None,
    rows_only: Annotated[
        bool, typer.Option("--rows-only", help="Model rows without their persons, where persons have several rows.")
    ] = False,
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
    from discreet.synth.model_folder import save_in_project

    opened_project = discreet.open(project)
    refuse_unwritable_output(output, opened_project)
    if output is not None:
        refuse_overwriting(output, overwrite=overwrite)
    announced: list[str] = []

    def announce(note: str) -> None:
        announced.append(note)
        terminal.print_notes([note])

    with _progress() as tell:
        made = opened_project.synthesize(
            table[0] if len(table) == 1 else table,
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
            constant=_names(constant or ""),
            time=time,
            rows_only=rows_only,
            analyst=analyst,
            fresh=fresh,
            progress=tell,
            announce=announce,
        )
    with _charged("the model is fitted, charged and stored (repeating the fit is free), but could not be saved"):
        saved = save_in_project(opened_project.folder, made)
    if output is not None:
        with _charged(f"the model is fitted, charged and saved as {saved}, but could not be saved as {output}"):
            made.save(output)
    data, text = _fit_output(made, output or saved, opened_project, announced=announced)
    terminal.print_result(data, text, as_json=as_json)


@synth_app.command()
def sample(
    model: Annotated[Path | None, MODEL] = None,
    n: Annotated[
        int | None, typer.Option("-n", "--rows", help="Number of rows. Default: about as many as the table has.")
    ] = None,
    persons: Annotated[int | None, typer.Option("--persons", help="Of a model of persons: number of persons.")] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="A .csv or .parquet file; of several tables, a folder. Default: CSV on standard output.",
        ),
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
    from discreet.cli.synth_tables import TablesTarget, sample_tables
    from discreet.synth.persons.tables_model import PersonTablesModel
    from discreet.synth.sample_files import write_rows

    if output is None and format_ is not None:
        raise UsageError("--format needs a file to write", hint="-o rows.csv")
    made, source = _any_model(model, project, None if output is not None and output.is_dir() else output)
    n = _sample_size(made, n, persons)
    if isinstance(made, PersonTablesModel):
        target = TablesTarget(folder=output, format_=format_, overwrite=overwrite, project=project)
        sample_tables(made, target, persons=n, given=_pairs(given or []), seed=seed, as_json=as_json)
        return
    if output is not None:
        refuse_unwritable_path(output)
    target_format = None if output is None else file_format(output, format_)
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
    models: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[MODEL] [MODEL]",
            help="Model file, or two to compare. Default: the newest model fitted in this project.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write a report page to this HTML file.")
    ] = None,
    graph: Annotated[
        Path | None, typer.Option("--graph", help="Draw the network and its tables into this SVG file.")
    ] = None,
    overwrite: Overwrite = False,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", help="Compare with the real table. Charged, for each model.")
    ] = None,
    delta: Annotated[str | None, typer.Option("--delta", help="Delta of the comparison's guarantee.")] = None,
    analyst: Analyst = None,
    project: Folder = HERE,
    as_json: Json = False,
) -> None:
    """Show what a model is good and bad for, from its noisy measurements only. Free without --epsilon."""
    from discreet.synth.inspect import ModelReport, TwoModels

    if models is not None and len(models) > 2:
        raise UsageError(f"at most two models can be inspected together, got {len(models)}")
    outputs = [path for path in (output, graph) if path is not None]
    if len({path.resolve() for path in outputs}) < len(outputs):
        raise UsageError("the page and the graph need two files")
    paths: list[Path | None] = [*models] if models else [None]
    opened_models = [_any_model(path, project, None) for path in paths]
    if graph is not None:
        _models_of_rows(opened_models, "a model of persons has no network to draw")
    if len(opened_models) > 1:
        _models_of_rows(opened_models, "two models are shown together only if both are models of rows")
    for path in outputs:
        for model_path in (each[1] for each in opened_models):
            _refuse_output(path, model_path, project)
        refuse_overwriting(path, overwrite=overwrite)
    comparisons: list[Comparison | None] = [None] * len(opened_models)
    if epsilon is not None:
        rows_models = _models_of_rows(opened_models, "a model of persons cannot be compared with the real table")
        with terminal.progress("comparing"):
            comparisons = [
                discreet.open(project).compare(made, epsilon=epsilon, delta=delta, analyst=analyst)
                for made in rows_models
            ]
    report = _inspection(opened_models, comparisons)
    with terminal.explain_write_failure("the comparison is" if epsilon is not None else "the model is"):
        if output is not None:
            output.write_text(report.page(), encoding="utf-8")
        if graph is not None and isinstance(report, ModelReport | TwoModels):
            graph.write_text(report.graph_file(), encoding="utf-8")
    text = "\n".join([*report.lines(), *(f"wrote {path}" for path in outputs)])
    terminal.print_result(report.to_data(), text, as_json=as_json)


def _inspection(
    opened_models: list[tuple[AnyModel, Path]], comparisons: list[Comparison | None]
) -> AnyReport | TwoModels:
    """The report of one model, or of two beside each other, which are called by their files."""
    from discreet.synth.inspect import inspect_any, inspect_two_models

    if len(opened_models) == 1:
        return inspect_any(opened_models[0][0], comparison=comparisons[0])
    (_, one), (_, other) = opened_models
    names = (one.name, other.name) if one.name != other.name else (str(one), str(other))
    first, second = _models_of_rows(opened_models, "two models are shown together only if both are models of rows")
    return inspect_two_models(first, second, names=names, comparisons=comparisons)


def _models_of_rows(opened_models: list[tuple[AnyModel, Path]], refusal: str) -> list[Model]:
    """The models, where all are of rows; else the refusal."""
    from discreet.synth.model import Model

    models = [made for made, _ in opened_models if isinstance(made, Model)]
    if len(models) < len(opened_models):
        raise UsageError(refusal)
    return models


def _sample_size(made: AnyModel, rows: int | None, persons: int | None) -> int | None:
    """How many rows, or persons, a sample has: what the model gives is what is counted."""
    from discreet.synth.model import Model

    if isinstance(made, Model):
        if persons is not None:
            raise UsageError("this is a model of rows, not of persons", hint="-n 1000")
        return rows
    if rows is not None:
        raise UsageError("this model gives whole persons, not a number of rows", hint=Message(Flag("persons", 1000)))
    return persons


def _any_model(path: Path | None, project: Path, output: Path | None) -> tuple[AnyModel, Path]:
    """The model that is meant; an output must not overwrite the project."""
    from discreet.synth.model_folder import newest_model
    from discreet.synth.persons.model_loading import load_any

    opened_project = _project_or_none(project, needed=path is None)
    if path is None:
        assert opened_project is not None
        path = newest_model(opened_project.folder)
    if output is not None:
        _refuse_output(output, path, project)
    return load_any(path), path


def _project_or_none(project: Path, *, needed: bool) -> Project | None:
    """The project here, if there is one: a model's file is enough."""
    try:
        return discreet.open(project)
    except ProjectError:
        if needed:
            raise
        return None


def _refuse_output(output: Path, model: Path, project: Path) -> None:
    """Refuse to write where the project or the model would be lost."""
    opened_project = _project_or_none(project, needed=False)
    if opened_project is not None:
        refuse_unwritable_output(output, opened_project)
    else:
        refuse_unwritable_path(output)
    if model.exists() and output.resolve() == model.resolve():
        raise UsageError("the output would overwrite the model")


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


def _fit_output(
    made: AnyModel, path: Path, project: Project, *, announced: Sequence[str]
) -> tuple[dict[str, Any], list[str]]:
    card = made.card
    data = {
        "model": str(path),
        "kind": card.kind,
        "release": card.release,
        "table": card.table,
        "version": card.version,
        **_size(made),
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
        f"fitted {card.kind} to {_fitted_words(made)}: {card.because}".rstrip(": "),
        f"{paid}{spent}{by_itself}.",
    ]
    if card.shares:
        lines.append("budget split: " + ", ".join(f"{name} {float(share):.0%}" for name, share in card.shares.items()))
    lines += [f"note: {warning}" for warning in card.warnings if warning not in announced]
    lines += [
        f"saved {path}" + ("" if card.release is None else f"; release {card.release}"),
        _next_words(made),
    ]
    return data, lines


def _fitted_words(made: AnyModel) -> str:
    from discreet.synth.persons.tables_model import PersonTablesModel

    if isinstance(made, PersonTablesModel):
        return ", ".join(map(repr, made.tables))
    return f"{made.card.table!r}, version {made.card.version}"


def _size(made: AnyModel) -> dict[str, Any]:
    """About how many rows the table has, and how many persons where the model has any."""
    from discreet.synth.model import Model
    from discreet.synth.persons.tables_model import PersonTablesModel

    if isinstance(made, Model):
        return {"rows": round(made.total)}
    if isinstance(made, PersonTablesModel):
        return {"rows": round(made.total), "persons": round(made.total), "tables": list(made.tables)}
    return {"rows": round(made.total_rows), "persons": round(made.total), "constant": list(made.constants)}


def _next_words(made: AnyModel) -> str:
    from discreet.synth.model import Model
    from discreet.synth.persons.tables_model import PersonTablesModel

    if isinstance(made, Model):
        return "next: discreet synth sample -n 1000 -o rows.csv; discreet synth inspect -o page.html"
    target = "FOLDER" if isinstance(made, PersonTablesModel) else "rows.csv"
    return f"next: discreet synth sample --persons 1000 -o {target}; discreet synth inspect -o page.html"


def _status(project: Project, card: ModelCard) -> dict[str, Any]:
    """What is spent and what remains after a fit; null where the model used no data."""
    if card.release is None:
        return {"spent": None, "remaining": None}
    return project.budget(card.table).after_data()


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
