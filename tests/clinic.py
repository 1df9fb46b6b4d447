"""A small clinic for tests: a folder, a declaration, and the command line called in process."""

import csv
import json
from pathlib import Path

import discreet
from discreet.cli.main import call

COLUMNS = """
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
[tables.patients.columns.note]
type = "text"
"""
ROWS = [
    [age, "FM"[place % 2], ["allergy", "flu", "measles", "mumps", ""][place % 5], ["true", "false", ""][place % 3], "n"]
    for place, age in enumerate(list(range(100)) * 10)
]


def make(folder: Path, *, budget="{ epsilon = 1.0 }", rows=ROWS, extra="", columns=COLUMNS):
    """A project with one declared table; nothing is spent and no version made yet."""
    discreet.init(folder)
    write_rows(folder / "patients.csv", rows)
    text = (folder / "discreet.toml").read_text()
    text += f'\n[tables.patients]\nsource = "patients.csv"\nbudget = {budget}\n{extra}\n{columns}'
    (folder / "discreet.toml").write_text(text)
    return discreet.open(folder)


def write_rows(path, rows):
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["age", "sex", "disease", "smoker", "note"])
        writer.writerows(rows)


def run(capsys, folder, *words):
    """Call a verb with --json; return exit code, data, and what went to stderr."""
    capsys.readouterr()
    code = call([*words, "--project", str(folder), "--json"])
    seen = capsys.readouterr()
    return code, json.loads(seen.out) if seen.out.strip() else None, seen.err


def say(capsys, folder, *words):
    """Call a verb as a person would; return exit code, stdout, stderr."""
    capsys.readouterr()
    code = call([*words, "--project", str(folder)])
    seen = capsys.readouterr()
    return code, seen.out, seen.err


def rows_of_ledger(folder):
    return len(list(discreet.open(folder).ledger.entries()))
