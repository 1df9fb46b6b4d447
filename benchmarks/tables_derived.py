"""What a history of released answers is worth to the next question, and what it takes to look at it.

    OPENBLAS_NUM_THREADS=1 python benchmarks/tables_derived.py

Prints a Markdown table: CPU seconds of `explain --within 10` with a history that was not read before, and that was; the
price beside that without a history; and, of all numbers, the mean variance after reconciling beside that before.
"""

from __future__ import annotations

import csv
import random
import tempfile
import time
from pathlib import Path

import discreet
from discreet.answers.reconcile import history
from discreet.answers.reconcile.agreement import agree
from discreet.project.project import Project
from discreet.project.question import Explanation

TOML = """
[tables.people]
source = "people.csv"
budget = { epsilon = 100000 }
[tables.people.columns]
age = { type = "integer", low = 0, high = 99 }
sex = { type = "category", values = ["F", "M"], closed = true }
city = { type = "category", values = ["bonn", "trier", "ulm", "jena"] }
paid = { type = "boolean" }
"""
CONDITIONS = ["sex = 'M'", "sex = 'F'", "paid", "not paid", "city = 'ulm'", "age < 50", "age between 20 and 40"]
GROUPS = ["", "sex", "city", "paid", "city, sex", "paid, sex"]
ASKED = "select count(*) from people where sex = 'M'"


def main() -> None:
    """Print the table."""
    print("| releases | numbers | look, cold (CPU s) | look, warm | price of --within 10 | without | reconcile all |")
    print("|---|---|---|---|---|---|---|")
    for size in (0, 10, 50, 150, 300):
        with tempfile.TemporaryDirectory() as folder:
            print(row(project(Path(folder), size), size))


def project(folder: Path, size: int) -> Project:
    """A project in which so many questions were asked, like people ask them: again and again about the same groups."""
    draw = random.Random(size)
    with (folder / "people.csv").open("w", newline="") as stream:
        rows = [
            [draw.randint(0, 99), draw.choice("FM"), draw.choice(["bonn", "ulm", ""]), draw.choice(["true", ""])]
            for _ in range(5000)
        ]
        csv.writer(stream).writerows([["age", "sex", "city", "paid"], *rows])
    (folder / "discreet.toml").write_text(TOML)
    made = discreet.init(folder)
    for _ in range(size):
        keys = draw.choice(GROUPS)
        where = " and ".join(draw.sample(CONDITIONS[:4:2], draw.choice([0, 1]))) or draw.choice(["true", *CONDITIONS])
        text = f"select {keys + ', ' if keys else ''}count(*) from people where {where}"
        made.sql(text + (f" group by {keys}" if keys else "")).ask(epsilon="0.05", fresh=True)
    return made


def row(made: Project, size: int) -> str:
    """One line of the table."""
    history._READ = history._ReadCache()
    cold, told = timed(made)
    warm, _ = timed(made)
    alone = made.sql("select count(*) from people where age > 97").explain(within=10)["cost"]["epsilon"]
    start = time.process_time()
    if size:
        found = agree(
            made.version("people"), curator=made.curator, reads=lambda text: made.sql(text).query, wholes=True
        )
        ratio = sum(line.reconciled_error**2 / line.standard_error**2 for line in found.lines) / len(found.lines)
        numbers, all_of_it = len(found.lines), f"{time.process_time() - start:.2f} s, variance x {ratio:.2f}"
    else:
        numbers, all_of_it = 0, ""
    price = told["cost"]["epsilon"]
    return f"| {size} | {numbers} | {cold:.2f} | {warm:.3f} | {price:.4f} | {alone:.4f} | {all_of_it} |"


def timed(made: Project) -> tuple[float, Explanation]:
    """CPU seconds of an explain, and what it said."""
    start = time.process_time()
    told = made.sql(ASKED).explain(within=10)
    return time.process_time() - start, told


if __name__ == "__main__":
    main()
