"""Tables for `./do bench synth`: Adult, the same ten times over, and a wide one that is generated."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
SHARED = HERE.parent.parent / "shared"
ADULT, BINS = SHARED / "data" / "adult.csv", SHARED / "data" / "adult_bins.json"
SCORE = SHARED / "tools" / "score_marginals.py"

#: Of the generated table: as many rows and columns as the census excerpt that the figures of the wide table are about.
WIDE_ROWS, WIDE_COLUMNS, WIDE_LARGEST = 170_000, 35, 180


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A CSV file, its public bins, and how it is declared."""

    name: str
    source: Path
    bins: Path
    columns: dict[str, str]
    rows: int
    target: str | None = None


def adult(folder: Path, *, times: int = 1) -> Table:
    """Adult with its public bins and values, once or several times over."""
    source = ADULT
    if times > 1:
        head, *lines = ADULT.read_text().splitlines(keepends=True)
        source = folder / f"adult-{times}.csv"
        source.write_text(head + "".join(lines) * times)
    bins = json.loads(BINS.read_text())
    with ADULT.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    columns = {
        name: _binned(bins[name]["edges"]) if name in bins else _values(sorted({row[name] for row in rows}))
        for name in rows[0]
    }
    return Table(
        name=f"adult-{times}", source=source, bins=BINS, columns=columns, rows=len(rows) * times, target="income"
    )


def wide(folder: Path) -> Table:
    """A generated table: columns of 2 to 180 values that lean on a few hidden ones, and on each other."""
    generator = np.random.default_rng(4)
    hidden = generator.normal(size=(WIDE_ROWS, 4))
    sizes = [2, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 25, 32, 48, 64, 96, WIDE_LARGEST]
    columns: dict[str, Any] = {}
    for place in range(WIDE_COLUMNS):
        leaning = hidden @ (generator.normal(size=4) * (generator.random(4) < 0.5)) + 0.7 * generator.normal(
            size=WIDE_ROWS
        )
        if place and generator.random() < 0.5:  # some lean on a column directly, as a part of a whole does
            other = columns[f"c{int(generator.integers(place))}"]
            leaning = leaning + generator.normal() * (other - other.mean()) / max(1e-9, other.std())
        size = sizes[place % len(sizes)]
        chances = generator.dirichlet(np.full(size, 0.7))
        ends = np.quantile(leaning, np.cumsum(chances)[:-1])
        columns[f"c{place}"] = np.searchsorted(ends, leaning)
    source = folder / "wide.csv"
    names = list(columns)
    np.savetxt(
        source, np.stack(list(columns.values()), axis=1), fmt="%d", delimiter=",", header=",".join(names), comments=""
    )
    bins = folder / "wide.json"
    bins.write_text("{}")
    told = {name: _values([str(code) for code in range(int(codes.max()) + 1)]) for name, codes in columns.items()}
    return Table(name="wide", source=source, bins=bins, columns=told, rows=WIDE_ROWS)


def write_project(table: Table, folder: Path) -> None:
    """A project over the table, with a budget that lasts for every fit."""
    folder.mkdir(parents=True)
    told = "".join(f'[tables.people.columns."{name}"]\n{text}\n' for name, text in table.columns.items())
    (folder / "discreet.toml").write_text(
        f'[tables.people]\nsource = "{table.source}"\nbudget = {{ epsilon = 10000, delta = 1e-6 }}\n{told}'
    )


def _binned(edges: list[float]) -> str:
    # A declared bin's upper edge is open but for the last, which is closed; those of the scorer are all open.
    ends = [int(edge) for edge in edges[:-1]] + [int(edges[-1]) - 1]
    return f'type = "integer"\nlow = {ends[0]}\nhigh = {ends[-1]}\nedges = {ends}'


def _values(values: list[str]) -> str:
    return f'type = "category"\nvalues = {json.dumps(values)}\nclosed = true'
