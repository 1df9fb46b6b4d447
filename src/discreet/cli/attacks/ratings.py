"""`discreet attack ratings`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.evidence_output import Plot, print_evidence, refuse_unwritable_plot
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import Flag, Message, UsageError


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("ratings")(ratings)


def ratings(
    file: Annotated[Path | None, typer.Argument(metavar="[RATINGS]", help="File of ratings without names.")] = None,
    about: Annotated[
        Path | None, typer.Argument(metavar="[KNOWN]", help="File of what is known about named people.")
    ] = None,
    columns: Annotated[
        str | None, typer.Option("--columns", help="Column names (default user,item,stars,day).")
    ] = None,
    known_ratings: Annotated[int | None, typer.Option("--known", help="Number of known ratings (default 8).")] = None,
    wrong: Annotated[int | None, typer.Option("--wrong", help="How many of these are wrong (default 2).")] = None,
    days: Annotated[
        int | None, typer.Option("--days", help="Days are known to within this many days (default 14).")
    ] = None,
    dates: Annotated[bool, typer.Option("--dates/--no-dates", help="Whether days are known.")] = True,
    outside_top: Annotated[
        int | None,
        typer.Option("--outside-top", help="Known items are not among this many that were rated most (default 0)."),
    ] = None,
    sample: Annotated[
        float | None,
        typer.Option("--sample", help="Try a defence: publish this share of users (default 0.1 with --perturb)."),
    ] = None,
    perturb: Annotated[
        float | None,
        typer.Option("--perturb", help="Try a defence: change this share of ratings (default 0.2 with --sample)."),
    ] = None,
    targets: Annotated[
        int | None, typer.Option("--targets", help="Number of people to look for (default 500).")
    ] = None,
    truth: Annotated[str | None, typer.Option("--truth", help="Column of KNOWN with the true user.")] = None,
    plot: Plot = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Find people's records by a few of their ratings. Without files: a generated film service."""
    from discreet.lab.attacks import ratings as lab
    from discreet.lab.attacks.rating_records import COLUMNS, index_ratings
    from discreet.lab.table_reader import parse_names, read

    refuse_unwritable_plot(plot)
    chosen = COLUMNS if columns is None else parse_names(columns)
    drawn = {
        "--known": known_ratings,
        "--wrong": wrong,
        "--days": days,
        "--targets": targets,
        "--outside-top": outside_top,
        "--sample": sample,
        "--perturb": perturb,
    }
    given = [flag for flag, value in drawn.items() if value is not None]
    if about is not None and (given or not dates):
        raise UsageError(
            "the file states what is known about people, so nothing is drawn at random",
            hint=Message("leave out ", Flag("known"), " and similar flags"),
        )
    if about is None and truth is not None:
        raise UsageError("--truth needs a file about named people")
    if file is None and columns is not None:
        raise UsageError("--columns needs a file of ratings")
    if not dates and days is not None:
        raise UsageError("--no-dates and --days cannot be used together")
    if file is None and not given and dates:
        evidence = lab.demo()
    elif about is not None and file is not None:
        evidence = lab.recognise(index_ratings(read(file), chosen, of=str(file)), read(about), chosen, truth=truth)
    else:
        from discreet.lab.worlds.rating_service import make_ratings

        records = index_ratings(make_ratings()) if file is None else index_ratings(read(file), chosen, of=str(file))
        options: lab.AttackOptions = {
            "count": 8 if known_ratings is None else known_ratings,
            "wrong": 2 if wrong is None else wrong,
            "days": (14 if days is None else days) if dates and len(chosen) == len(COLUMNS) else None,
            "targets": 500 if targets is None else targets,
            "outside_top": outside_top or 0,
        }
        if sample is None and perturb is None:
            evidence = lab.attack(records, **options)
        else:
            defence = lab.SampleDefence(
                share=0.1 if sample is None else sample,
                changed=0.2 if perturb is None else perturb,
            )
            evidence = lab.compare_defence(records, defence, **options)
    print_evidence(evidence, plot=plot, as_json=as_json)
