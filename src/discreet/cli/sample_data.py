"""`discreet sample-data`: generated tables with their code books, to learn with before one's own data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import terminal
from discreet.cli.flags import HERE, Ignored, Json
from discreet.errors import Command, Flag

if TYPE_CHECKING:
    from discreet.lab.samples.sample_table import Sample, SampleTable


def sample_data(
    name: Annotated[str | None, typer.Argument(help="Which one; without a name, they are listed.")] = None,
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the files. Default: this one.")] = HERE,
    rows: Annotated[int | None, typer.Option("--rows", help="How many rows its first table has.")] = None,
    project: Ignored = HERE,
    as_json: Json = False,
) -> None:
    """Write generated tables with their code books, to learn with: always the same rows, and about nobody."""
    from discreet.lab.samples.sample_data import SAMPLES, named_sample, write_sample

    if name is None:
        listed = [_sample_data(sample) for sample in SAMPLES.values()]
        lines = [f"{sample.name}: {sample.about}" for sample in SAMPLES.values()]
        next_line = f"next: {Command('sample-data', 'NAME', Flag('output', 'FOLDER', short='o'))}"
        terminal.print_result({"samples": listed}, "\n".join([*lines, "", next_line]), as_json=as_json)
        return
    sample = named_sample(name)
    written = write_sample(name, output, rows=rows)
    data = {
        **_sample_data(sample),
        "folder": str(output),
        "tables": [{**_table_data(table), "rows": written[table.name]} for table in sample.tables],
    }
    lines = [
        f"{table.file}: {written[table.name]:,} rows, generated; {table.code_book} describes its columns"
        for table in sample.tables
    ]
    commands = [Command("init", Flag("epsilon", 1.5)), *map(_add_command, sample.tables)]
    lines += [f"next, {'here' if output == HERE else f'in {output}'}:", *(f"  {each}" for each in commands)]
    terminal.print_result(data, "\n".join(lines), as_json=as_json)


def _sample_data(sample: Sample) -> dict[str, object]:
    return {"sample": sample.name, "about": sample.about, "tables": [_table_data(table) for table in sample.tables]}


def _table_data(table: SampleTable) -> dict[str, object]:
    return {
        "table": table.name,
        "file": table.file,
        "codebook": table.code_book,
        "next": str(_add_command(table)),
    }


def _add_command(table: SampleTable) -> Command:
    """How the table is declared."""
    flags = [Flag("codebook", table.code_book), *(Flag(flag, value) for flag, value in table.add_flags)]
    return Command("add", table.file, *flags, Flag("yes", True))
