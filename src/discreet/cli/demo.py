"""The tour: a generated clinic, asked as an analyst would ask it. Deterministic data, real noise.

Everything happens in a temporary folder, the ledger's anchor included; nothing is left behind.
"""

from __future__ import annotations

import csv
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

PATIENTS = 10_000
#: Generated data is public, so it may be seeded; noise never is.
SEED = 2026

DECLARATION = """[project]
ledger = "sqlite:///.discreet/ledger.db"

[tables.patients]
source = "patients.csv"
budget = { epsilon = 1.5 }

[tables.patients.columns.age]
type = "integer"
low = 0
high = 99
[tables.patients.columns.sex]
type = "category"
values = ["F", "M"]
closed = true
[tables.patients.columns.disease]
type = "category"
values = ["allergy", "flu", "measles", "mumps"]
[tables.patients.columns.smoker]
type = "boolean"
"""

BY_DISEASE = "SELECT disease, count(*) AS n FROM patients GROUP BY disease"
STEPS = [
    (
        "What would this query cost, and how large would its error be? Explaining is free.",
        ["explain", BY_DISEASE, "--epsilon", "0.5"],
    ),
    ("Run it. Each number has its confidence interval.", ["query", BY_DISEASE, "--epsilon", "0.5"]),
    (
        "Run it again, written differently: it returns the stored answer, free. Averaging repeats gains nothing.",
        ["query", "select disease, COUNT(*) n from patients p group by 1", "--epsilon", "0.5"],
    ),
    (
        "Two queries about different people cost the larger of the two, not the sum.",
        ["query", "SELECT count(*) FROM patients WHERE sex = 'F' AND age > 64", "--within", "10"],
    ),
    (
        "Men of the same age: nobody is in both groups, so the spent budget does not change.",
        ["query", "SELECT count(*) FROM patients WHERE sex = 'M' AND age > 64", "--within", "10"],
    ),
    (
        "A query for single rows is refused. A refusal is free, and says why.",
        ["query", "SELECT disease FROM patients WHERE age = 22", "--epsilon", "0.1"],
    ),
    (
        "This query costs more than the remaining budget.",
        ["query", "SELECT smoker, count(*) FROM patients GROUP BY smoker", "--epsilon", "1"],
    ),
    (
        "A small part of the remaining budget pays for a model of the whole table.",
        ["synth", "fit", "patients", "--epsilon", "0.3"],
    ),
    ("Sample synthetic rows: as many as you like, free.", ["synth", "sample", "-n", "5", "--given", "disease=mumps"]),
    ("Show what is spent and what remains.", ["budget"]),
    ("Verify the ledger, which recorded every charge.", ["ledger", "verify"]),
]


def write_clinic(folder: Path) -> None:
    """A clinic of 10,000 patients, the same every time."""
    chance = random.Random(SEED)  # noqa: S311 - sample data, not noise
    with (folder / "patients.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["age", "sex", "disease", "smoker"])
        for _ in range(PATIENTS):
            age = min(99, int(abs(chance.gauss(38, 22))))
            disease = chance.choices(["flu", "allergy", "mumps", "measles"], [50, 30, 3 if age > 20 else 15, 2])[0]
            writer.writerow([age, chance.choice("FM"), disease, str(chance.random() < 0.22).lower()])
    (folder / "discreet.toml").write_text(DECLARATION, encoding="utf-8")


def tour(call: Callable[[list[str]], int], *, as_json: bool) -> None:
    """Run every step through the real command line, `call`, and show what a user would see."""
    from discreet.ledger.filesystem import use_state_folder
    from discreet.ledger.ledger import Ledger
    from discreet.project.project import Project

    seen: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="discreet-demo-") as name, use_state_folder(Path(name) / "state"):
        folder = Path(name) / "clinic"
        folder.mkdir()
        write_clinic(folder)
        Ledger.create(Project(folder).ledger_path).close()
        if not as_json:
            print(f"A clinic of {PATIENTS:,} patients, generated for this tour. Its budget is epsilon 1.5.")
        for words, command in STEPS:
            arguments = [*command, "--project", str(folder)]
            if as_json:
                caught = StringIO()
                with redirect_stdout(caught):
                    code = call([*arguments, "--json"])
                seen.append({"command": command, "exit_code": code, "output": json.loads(caught.getvalue())})
                continue
            print(f"\n# {words}\n$ discreet {' '.join(map(_quoted, command))}", flush=True)
            with _errors_in_order():
                call(arguments)
    if as_json:
        print(json.dumps({"steps": seen}))
    else:
        print("\nThe tour ends here. Next: run discreet init in a folder of your own.")


def _quoted(word: str) -> str:
    """A word as a person would type it: questions in double quotes."""
    return f'"{word}"' if " " in word else word


@contextmanager
def _errors_in_order() -> Iterator[None]:
    """Show refusals where they belong in the story, not after it."""
    real, sys.stderr = sys.stderr, sys.stdout
    try:
        yield
    finally:
        sys.stderr = real
        sys.stdout.flush()
