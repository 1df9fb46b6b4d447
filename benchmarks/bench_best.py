"""The best numbers of an answer beside its unbiased ones, and those clipped at zero, as OpenDP's unsigned counts are.

20,000 sparse groups of the table of `./do bench sql`, by row and by person, through whole questions; and shapes like
those of DPBench, from 4,096 cells. Three figures each: the root of the mean squared error of a group, the mean absolute
error, and how far the sum over all groups is off.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from statistics import median

import duckdb
import numpy as np
from best_shapes import CELLS, shapes
from records import BELOW_LIMITS
from results import write_section
from sql_data import table
from sql_discreet import write_project
from sql_queries import QUERIES
from sql_run import ROWS_PER_PERSON

import discreet
from discreet.inference.likely_counts import likely_counts, nearest_with_totals, round_with_totals
from discreet.mechanisms.laplace import DiscreteLaplace

ROWS = (10_000, 1_000_000)
RUNS, QUICK_RUNS = 20, 3
EPSILONS = (Fraction(1), Fraction(1, 10), Fraction(1, 100))
SHAPE_ROWS = (1_000, 10_000, 100_000)

HEAD = [
    "| | unbiased | clipped at 0 | best | sum: unbiased | clipped | best |",
    "|---|---:|---:|---:|---:|---:|---:|",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """Of the unbiased numbers, those clipped at zero and the best: error of a group, twice, and of the sum."""

    squared: list[float]
    absolute: list[float]
    sums: list[float]

    @staticmethod
    def of(truth: np.ndarray, draws: Sequence[tuple[np.ndarray, np.ndarray]]) -> Errors:
        """`draws`: unbiased and best numbers of each run."""
        noisy, best = [each for each, _ in draws], [each for _, each in draws]
        kinds = [noisy, [np.maximum(each, 0) for each in noisy], best]
        return Errors(
            squared=[float(np.sqrt(np.mean([np.mean((each - truth) ** 2) for each in kind]))) for kind in kinds],
            absolute=[float(np.mean([np.mean(np.abs(each - truth)) for each in kind])) for kind in kinds],
            sums=[float(np.mean([each.sum() - truth.sum() for each in kind])) for kind in kinds],
        )

    def line(self, name: str) -> str:
        cells = [f"{error:,.4g} / {size:,.4g}" for error, size in zip(self.squared, self.absolute, strict=True)]
        return f"| {name} | {' | '.join(cells)} | {' | '.join(f'{each:+,.4g}' for each in self.sums)} |"

    def misses(self, name: str) -> list[str]:
        """Where groups are below the noise, the best numbers have to be nearer than those clipped at zero."""
        unbiased, clipped, best = self.squared
        below_noise = clipped < 0.9 * unbiased
        return [f"{name}: best {best:.4g}, clipped {clipped:.4g}"] if below_noise and best > clipped else []


def question_lines(runs: int) -> tuple[list[str], list[str]]:
    """Counts and sums by 20,000 groups, asked of the real table."""
    lines, misses = [], []
    with tempfile.TemporaryDirectory() as name:
        os.environ["DISCREET_STATE"] = str(Path(name) / "state")
        for unit in ("row", "person"):
            for rows in ROWS:
                folder = Path(name) / f"{unit}-{rows}"
                write_project(folder, source=table(rows), unit=unit, rows_per_person=ROWS_PER_PERSON)
                truth = duckdb.execute(QUERIES["Q5"].replace(" visits ", f" '{table(rows)}' ")).fetchall()
                exact = {row[:3]: row[3:] for row in truth}
                releases = [discreet.open(folder).sql(QUERIES["Q5"]).ask(epsilon=1, fresh=True) for _ in range(runs)]
                for place, what in ((3, "counts"), (4, "sums of salaries")):
                    numbers = np.array([float(exact.get(row[:3], (0, 0))[place - 3]) for row in releases[0].rows])
                    draws = [(_column(each.rows, place), _column(each.best(), place)) for each in releases]
                    errors, named = Errors.of(numbers, draws), f"{what}, {rows:,} rows, by {unit}"
                    lines.append(errors.line(named))
                    misses += errors.misses(named)
    return lines, misses


def _column(rows: Sequence[Sequence[object]], place: int) -> np.ndarray:
    return np.array([row[place] for row in rows], dtype=np.float64)


def shape_lines(runs: int) -> tuple[list[str], list[str]]:
    """Shapes of 4,096 cells, with Laplace noise."""
    lines, misses = [], []
    generator = np.random.default_rng(7)
    everything = np.zeros(CELLS, dtype=np.int64)
    for epsilon in EPSILONS:
        law = DiscreteLaplace(scale=1 / epsilon)
        chance = -np.expm1(-1 / float(law.scale))
        for rows in SHAPE_ROWS:
            found = {}
            for name, truth in shapes(rows):
                draws = []
                for _ in range(runs):
                    noise = generator.geometric(chance, CELLS) - generator.geometric(chance, CELLS)
                    noisy = (truth + noise).astype(np.float64)
                    total = max(0, int(noisy.sum()))
                    near = nearest_with_totals(likely_counts(noisy, law, least=0), everything, np.array([float(total)]))
                    draws.append((noisy, round_with_totals(near, everything, np.array([total]))))
                found[name] = Errors.of(truth, draws)
                misses += found[name].misses(f"{name}, {rows:,} rows, epsilon {float(epsilon):g}")
            times = {name: each.squared[1] / each.squared[2] for name, each in found.items()}
            least, most = min(times, key=times.__getitem__), max(times, key=times.__getitem__)
            sums = [np.mean([abs(each.sums[place]) for each in found.values()]) for place in (0, 1, 2)]
            lines.append(
                f"| {float(epsilon):g} | {rows:,} | {median(times.values()):.2g} | {times[least]:.2g} ({least}) "
                f"| {times[most]:.2g} ({most}) | {' | '.join(f'{each:,.3g}' for each in sums)} |"
            )
    return lines, misses


def main(words: list[str]) -> None:
    """Run, print and keep; say where the best numbers are further off than those clipped at zero."""
    quick = "--quick" in words
    runs = QUICK_RUNS if quick else RUNS
    start = time.process_time()
    asked, missed = question_lines(min(runs, 5))
    shaped, missed_shapes = shape_lines(runs)
    missed += missed_shapes
    text = "\n".join(
        [
            "Error of a group (root of the mean square / mean absolute), and of the sum over all groups. Clipped at 0: what "
            "OpenDP's unsigned counts are, of the same noise.",
            "",
            "20,000 groups at epsilon 1, through whole questions:",
            "",
            *HEAD,
            *asked,
            "",
            f"Eight shapes of 4,096 cells, {runs} draws each: how many times the error (root of the mean square) of numbers "
            "clipped at 0 is that of the best, and how far sums are off in the mean:",
            "",
            "| epsilon | rows | median | least | most | sum: unbiased | clipped | best |",
            "|---:|---:|---:|---|---|---:|---:|---:|",
            *shaped,
            "",
            f"{time.process_time() - start:.0f} CPU s in all.",
            "",
            f"Further off than clipped numbers: {'; '.join(missed) or 'nowhere'}.",
        ]
    )
    print(text)
    write_section("best", text, quick=quick)
    sys.exit(BELOW_LIMITS if missed else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
