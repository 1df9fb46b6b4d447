"""The tour: a generated clinic, asked as an analyst would ask it. Deterministic data, real noise.

Everything happens in a temporary folder, the ledger's anchor included, and nothing is left behind; unless `--keep`
names a folder, which then holds the clinic as a practice project, to go on with.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import discreet
from discreet.errors import Command, Flag, Message, UsageError
from discreet.lab.samples.clinic import CLINIC
from discreet.lab.samples.sample_data import write_sample

PROJECT = """[project]
ledger = "sqlite:///.discreet/ledger.db"
"""
PRACTICE = "practice = true    # generated data: this never becomes a real project\n"
DECLARATION = """

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


def tour(call: Callable[[list[str]], int], *, keep: Path | None = None, as_json: bool) -> None:
    """Run every step through the real command line, `call`, and show what a user would see."""
    with _kept_folder(keep) if keep is not None else _temporary_folder() as folder:
        write_sample(CLINIC.name, folder)
        heading = PROJECT if keep is None else PROJECT + PRACTICE
        (folder / "discreet.toml").write_text(heading + DECLARATION, encoding="utf-8")
        discreet.init(folder, practice=keep is not None).ledger.close()
        seen = _take_steps(call, folder, as_json=as_json)
    if as_json:
        print(json.dumps({"steps": seen} if keep is None else {"steps": seen, "kept": str(keep)}))
        return
    print("\nThe tour ends here. Next: run discreet init in a folder of your own.")
    if keep is not None:
        again = Command("init", Flag("practice", True), Flag("again", True))
        print(f"{keep} has the clinic's files and this project, to go on with; {again} in it gives the budget back.")


def _take_steps(call: Callable[[list[str]], int], folder: Path, *, as_json: bool) -> list[dict[str, Any]]:
    """Each step as JSON; for people it is printed as it goes."""
    seen: list[dict[str, Any]] = []
    if not as_json:
        print(f"A clinic of {CLINIC.rows:,} patients, generated for this tour. Its budget is epsilon 1.5.")
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
    return seen


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder that is gone after the tour, and all that the tour kept elsewhere with it."""
    from discreet.ledger.filesystem import use_state_folder

    with tempfile.TemporaryDirectory(prefix="discreet-demo-") as name, use_state_folder(Path(name) / "state"):
        folder = Path(name) / "clinic"
        folder.mkdir()
        yield folder


@contextmanager
def _kept_folder(folder: Path) -> Iterator[Path]:
    """A folder that stays: a new one, or one with nothing in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_empty = next(folder.iterdir(), None) is None
    except OSError as problem:
        raise UsageError(f"the clinic cannot be kept in {str(folder)[:200]!r}: {problem.strerror}") from None
    if not is_empty:
        raise UsageError(
            f"{str(folder)[:200]!r} is not empty", hint=Message("name a new folder: ", Flag("keep", "clinic"))
        )
    yield folder


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
