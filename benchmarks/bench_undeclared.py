"""Fits of tables of which nothing is declared: what a description finds within one charge, and what it loses.

`python benchmarks/bench_undeclared.py` judges the tables of `JUDGED` at epsilon 1, with a delta of 1e-6 and with none,
and writes the section "undeclared" of RESULTS.md. `--tuned`: those that shares and limits were chosen on, and nothing is
written. `--fits=12`, `--epsilon=1`, `--table=stops`, `--delta=0`, `--seed=1`, `--kind=independent`: others than usual.
`--columns`: every column by itself.

Each fit is of a new table from the same law. A value survives if at least half of its share comes out.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
from results import write_section
from undeclared_tables import JUDGED, TUNED, Columns, Maker, is_gap, write_csv

import discreet
from discreet.synth.inspect import inspect_model

#: A column of no more distinct values than this is one of codes or words, and judged value by value.
FEW = 32
#: As `add` proposes it for dates of birth: a year of two digits is not after this one.
THIS_YEAR = datetime.now(UTC).year
FORMATS = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y")


@dataclass(slots=True)
class Tally:
    """What was seen of one column in all fits."""

    fits: int = 0
    collapsed: int = 0
    values5: int = 0
    lost5: int = 0
    values1: int = 0
    lost1: int = 0
    ends: int = 0
    short_low: int = 0
    short_high: int = 0
    wide: int = 0
    false_good: int = 0
    invented: int = 0
    distances: list[float] = field(default_factory=list)
    gaps: list[float] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in self.__slots__:
            setattr(self, name, getattr(self, name) + getattr(other, name))


def main() -> None:
    given = dict(word[2:].split("=", 1) for word in sys.argv[1:] if "=" in word)
    tuned = "--tuned" in sys.argv[1:]
    makers = {name: make for name, make in (TUNED if tuned else JUDGED).items() if given.get("table", name) == name}
    fits, epsilon, kind = int(given.get("fits", 12)), given.get("epsilon", "1"), given.get("kind", "independent")
    lines = []
    for delta in [given["delta"]] if "delta" in given else ["1e-6", "0"]:
        for name, make in makers.items():
            started = time.process_time()
            seed = int(given.get("seed", 1 if tuned else 1000))
            found = judge(make, fits, epsilon=epsilon, delta=delta, kind=kind, seed=seed)
            lines.append(line(name, delta, found.values()))
            print(lines[-1], f" {time.process_time() - started:.0f} s", flush=True)
            if "--columns" in sys.argv[1:]:
                for column, tally in found.items():
                    print("   ", line(column, "", [tally]), flush=True)
    if not tuned and set(given) <= {"fits"}:
        write_section("undeclared", text(lines, fits))


def judge(make: Maker, fits: int, *, epsilon: str, delta: str, kind: str, seed: int) -> dict[str, Tally]:
    """What became of every column in so many fits."""
    tallies: dict[str, Tally] = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["DISCREET_STATE"] = str(Path(folder) / "state")
        for number in range(fits):
            place = Path(folder) / str(number)
            place.mkdir()
            columns = make(np.random.default_rng([seed, number]))
            write_csv(place / "people.csv", columns)
            discreet.init(place)
            project = discreet.open(place)
            project.add(str(place / "people.csv"), epsilon="1000", **({} if delta == "0" else {"delta": "1e-3"}))
            project = discreet.open(place)
            model = project.synthesize(
                "people", model=kind, epsilon=epsilon, **({} if delta == "0" else {"delta": delta})
            )
            for column, tally in compare(columns, model).items():
                tallies.setdefault(column, Tally()).add(tally)
    return tallies


def compare(columns: Columns, model: Any) -> dict[str, Tally]:
    """One fit, column by column."""
    rows = model.sample(20_000, seed=1)
    verdicts = {
        each.columns[0]: each.verdict for each in inspect_model(model).marginals.judged if len(each.columns) == 1
    }
    modelled = {attribute.name: attribute for attribute in model.attributes}
    return {
        name: compare_column(values, rows[name].to_pylist(), verdicts.get(name, "unknown"), name in modelled)
        for name, values in columns.items()
    }


def compare_column(exact: Sequence[Any], synthetic: Sequence[Any], verdict: str, is_modelled: bool) -> Tally:
    """One column: what it has, and what came out. Text that nobody shares is not expected to."""
    values, drawn = [_typed(value, synthetic) for value in exact], [_plain(value) for value in synthetic]
    exact_gaps, drawn_gaps = sum(value is None for value in values), sum(value is None for value in drawn)
    tally = Tally(fits=1, gaps=[drawn_gaps / len(drawn) - exact_gaps / len(values)])
    tally.invented = int(exact_gaps == 0 and drawn_gaps > 0)
    present = [value for value in values if value is not None]
    shares, found = _shares(present, len(values)), _shares([value for value in drawn if value is not None], len(drawn))
    if isinstance(present[0], str) and max(shares.values()) < 0.01:
        tally.gaps = []
        return tally
    tally.collapsed = int((len(shares) > 1 and len(found) == 1) or not is_modelled)
    if len(shares) <= FEW or isinstance(present[0], str):
        for least, name in ((0.05, "5"), (0.01, "1")):
            common = [value for value, share in shares.items() if share >= least]
            lost = sum(found.get(value, 0.0) < shares[value] / 2 for value in common)
            setattr(tally, f"values{name}", len(common))
            setattr(tally, f"lost{name}", lost)
        rare = {value for value, share in shares.items() if share < 0.01} if isinstance(present[0], str) else set()
        known = [value for value in {*shares, *found} if value not in rare and value != "(other)"]
        tally.distances = [sum(abs(shares.get(value, 0) - found.get(value, 0)) for value in known) / 2]
    else:
        low, high = np.quantile(present, [0.01, 0.99])
        numbers = [value for value in drawn if value is not None] or [0.0]
        tally.ends = 2
        tally.short_low, tally.short_high = int(min(numbers) > low), int(max(numbers) < high)
        tally.wide = int(max(numbers) - min(numbers) > 4 * (max(present) - min(present)))
        edges = np.unique(np.quantile(present, np.linspace(0, 1, 21)[1:-1]))
        own, other = (
            np.bincount(np.searchsorted(edges, line), minlength=len(edges) + 1) for line in (present, numbers)
        )
        tally.distances = [float(np.abs(own / len(present) - other / len(numbers)).sum() / 2)]
    tally.false_good = int(verdict == "good" and (tally.distances[0] > 0.05 or tally.lost5 > 0 or tally.collapsed > 0))
    return tally


def _shares(values: Sequence[Any], whole: int) -> dict[Any, float]:
    distinct, counts = np.unique(np.array(values), return_counts=True)
    return dict(zip(distinct.tolist(), (counts / whole).tolist(), strict=True))


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        value = value.date()
    if isinstance(value, date):
        return float(value.toordinal())
    return float(value) if isinstance(value, int | float) else value


def _typed(value: Any, synthetic: Sequence[Any]) -> Any:
    """A value of the file as one of the sample's type."""
    if is_gap(value):
        return None
    first = next((one for one in synthetic if one is not None), "")
    if isinstance(first, bool):
        return float(str(value).lower() in ("yes", "true", "1"))
    if isinstance(first, date):
        for words in FORMATS:
            try:
                read = datetime.strptime(str(value), words).date()
                return float((read if read.year <= THIS_YEAR else read.replace(year=read.year - 100)).toordinal())
            except ValueError:
                continue
    return float(value) if isinstance(first, int | float) else str(value)


HEAD = (
    "table",
    "delta",
    "values of 5% lost",
    "of 1%",
    "collapsed",
    "ends short",
    "too wide",
    "NULL invented",
    "distance",
    "wrongly good",
)


def line(name: str, delta: str, tallies: Any) -> str:
    whole = Tally()
    for tally in tallies:
        whole.add(tally)
    mean = f"{np.mean(whole.distances):.3f} (worst {np.max(whole.distances):.2f})" if whole.distances else "–"
    cells = [
        name,
        delta,
        f"{whole.lost5} of {whole.values5}",
        f"{whole.lost1} of {whole.values1}",
        f"{whole.collapsed} of {whole.fits}",
        f"{whole.short_low + whole.short_high} of {whole.ends}",
        str(whole.wide),
        f"{whole.invented} (mean {np.mean(np.abs(whole.gaps or [0])):.2%})",
        mean,
        str(whole.false_good),
    ]
    return "| " + " | ".join(cells) + " |"


def text(lines: Sequence[str], fits: int) -> str:
    """The section of RESULTS.md."""
    return "\n".join(
        [
            f"Tables of which nothing is declared, epsilon 1, {fits} fits each of new rows. A value is lost where less "
            "than half of its share comes out; an end is short where it does not reach the 1st or 99th percentile; too "
            "wide is a column of more than four times its range. Text with delta 0 cannot be found, and counts as lost.",
            "",
            "| " + " | ".join(HEAD) + " |",
            "|" + "---|" * len(HEAD),
            *lines,
        ]
    )


if __name__ == "__main__":
    main()
