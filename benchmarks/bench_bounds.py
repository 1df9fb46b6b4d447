"""What `discreet bounds` finds on the table of the SQL benchmark: 10 million rows of a million persons, very unequal.

rows_per_person, chosen a hundred times through the curator, beside the best fixed limit: the error of a count by 50
regions at epsilon 1, bias and noise together. And bounds of numbers, beside what they clamp.
"""

from __future__ import annotations

import os
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
from results import write_section
from sql_data import REGIONS, ROWS, table

import discreet
from discreet.answers.bounds.row_limit import LIMITS, chosen_limit, limit_price

RUNS = 100
EPSILONS = ("0.02", "0.05", "0.1", "0.5")
FOR_EPSILON = 1

#: At these epsilons, in so many of a hundred runs, the error is within so many times that of the best limit.
ASKED, LEAST_RUNS, MOST_TIMES = ("0.05", "0.1"), 95, 2.0

COLUMNS = {"salary": "decimal", "day": "integer", "age": "integer"}


def project_of(folder: Path, source: Path) -> discreet.Project:
    """A project that says nothing of limits and bounds."""
    folder.mkdir(parents=True)
    lines = [
        "[tables.visits]",
        f'source = "{source}"',
        "budget = { epsilon = 100000, delta = 1e-6 }",
        'person = "user_id"',
    ]
    lines += [f'[tables.visits.columns.{name}]\ntype = "{type_}"' for name, type_ in COLUMNS.items()]
    (folder / "discreet.toml").write_text("\n".join(lines) + "\n")
    discreet.init(folder)
    return discreet.open(folder)


def errors(source: Path) -> tuple[dict[int, float], int]:
    """The mean error of a region's count for many limits, and how many rows the largest person has.

    A limit of k leaves a person with n rows each of them with chance k / n. Bias b and Laplace noise of scale s
    together are off by b + s exp(-b / s) in the mean.
    """
    found = duckdb.execute(
        f"""SELECT region, n, count(*) AS rows FROM '{source}'
        JOIN (SELECT user_id, count(*) AS n FROM '{source}' GROUP BY user_id) USING (user_id) GROUP BY region, n"""
    ).fetchnumpy()
    names, regions = np.unique(np.asarray(found["region"], dtype=str), return_inverse=True)
    assert list(names) == REGIONS
    told = {}
    for limit in sorted({*LIMITS, *(int(1.03**power) for power in range(400))}):
        if limit > 2 * found["n"].max():
            told[limit] = limit / FOR_EPSILON  # nothing is left out
            continue
        lost = found["rows"] * np.maximum(0, 1 - limit / found["n"])
        bias, scale = np.bincount(regions, lost), limit / FOR_EPSILON
        told[limit] = float(np.mean(bias + scale * np.exp(-bias / scale)))
    return told, int(found["n"].max())


def limits(project: discreet.Project, epsilon: str) -> list[int]:
    """Limits as they are chosen, each charged."""
    version, cells = project.version("visits"), len(REGIONS)
    found = limit_price(version, epsilon=Fraction(epsilon), cells=cells, for_epsilon=Fraction(FOR_EPSILON))
    return [chosen_limit(project.curator.measure(found, [version])) for _ in range(RUNS)]


def bounds_line(project: discreet.Project, source: Path, epsilon: str) -> list[str]:
    """What one purchase of bounds finds, and the share of rows that it clamps."""
    start = time.process_time()
    found = project.bounds("visits", list(COLUMNS), epsilon=epsilon)
    spent = time.process_time() - start
    lines = []
    for name, told in found.columns.items():
        low, high = (float(told[end]) for end in ("low", "high"))
        query = f"SELECT avg(CAST({name} < {low} OR {name} > {high} AS INT)) FROM '{source}'"
        share = duckdb.execute(query).fetchall()[0][0]
        lines.append(f"| {name} | {low:,.0f} to {high:,.0f} | {share:.2%} |")
    return [*lines, f"\nAll three took {spent:.1f} CPU s."]


def main() -> None:
    source = table(ROWS)
    told, largest = errors(source)
    best = min(told, key=lambda limit: told[limit])
    lines = [
        f"rows_per_person of {ROWS:,} rows, the largest person with {largest:,}: best fixed limit {best:,}, with which a "
        f"region's count is off by {told[best]:,.0f} in the mean; the usual 5 by {told[5]:,.0f}. {RUNS} limits each.",
        "",
        "| epsilon | limits, 5% to 95% | error / best, median | 95% | largest | within twice |",
        "|---|---|---|---|---|---|",
    ]
    few = []
    with tempfile.TemporaryDirectory() as name:
        os.environ["DISCREET_STATE"] = str(Path(name) / "state")
        project = project_of(Path(name) / "project", source)
        for epsilon in EPSILONS:
            chosen = limits(project, epsilon)
            ratios = np.array([told[limit] / told[best] for limit in chosen])
            low, high = np.quantile(chosen, [0.05, 0.95])
            good = int((ratios <= MOST_TIMES).sum())
            middle, most = np.quantile(ratios, [0.5, 0.95])
            lines.append(
                f"| {epsilon} | {low:,.0f} to {high:,.0f} | {middle:.2f} | {most:.2f} | {ratios.max():.2f} | {good} of {RUNS} |"
            )
            few += [f"only {good} at epsilon {epsilon}"] if epsilon in ASKED and good < LEAST_RUNS * RUNS / 100 else []
        lines += ["", "Bounds at epsilon 0.1 for all three:", "", "| column | found | rows clamped |", "|---|---|---|"]
        lines += bounds_line(project, source, "0.1")
    text = "\n".join(lines)
    print(text)
    write_section("bounds", text)
    if few:
        raise SystemExit("; ".join(few))


if __name__ == "__main__":
    main()
