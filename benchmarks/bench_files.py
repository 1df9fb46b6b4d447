"""Files: CPU seconds to read the rows of one table from files of different forms, and to propose its declaration.

The same generated rows in each form, as a first `refresh`, which reads every row and makes a version; and `add`'s
proposal of types and formats for wide tables. The least of a few runs. `--quick`: a tenth of the rows.
"""

from __future__ import annotations

import bz2
import gzip
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from results import write_section

import discreet

ROWS, PROPOSED = 500_000, 20_000
HEAD = "person,age,sex,fee,day\n"


def cells(place: int) -> list[str]:
    """One row."""
    day = f"2020-{place % 12 + 1:02d}-{place % 28 + 1:02d}"
    return [f"p{place // 4}", str(place % 97), "fm"[place % 2], f"{place % 499}.25", day]


def csv_text(rows: int) -> str:
    """The rows as CSV."""
    return HEAD + "".join(",".join(cells(place)) + "\n" for place in range(rows))


def json_lines(rows: int) -> str:
    """The rows as JSON lines."""
    names = HEAD.strip().split(",")
    return "".join(json.dumps(dict(zip(names, cells(place), strict=True))) + "\n" for place in range(rows))


def write_forms(folder: Path, rows: int) -> dict[str, Path]:
    """A file for each form."""
    text = csv_text(rows)
    european = text.replace(",", ";").replace(".25", ",25")
    contents: dict[str, tuple[str, bytes]] = {
        "CSV": ("plain.csv", text.encode()),
        "CSV, .gz": ("packed.csv.gz", gzip.compress(text.encode(), 1)),
        "CSV, .bz2": ("packed.csv.bz2", bz2.compress(text.encode(), 1)),
        "CSV below two title rows": ("titled.csv", b"Clinic report\n\n" + text.encode()),
        "CSV, UTF-16": ("wide.csv", text.encode("utf-16")),
        "CSV, ';' and decimal commas": ("european.csv", european.encode()),
        "JSON lines": ("lines.jsonl", json_lines(rows).encode()),
    }
    for name, content in contents.values():
        (folder / name).write_bytes(content)
    return {form: folder / name for form, (name, _) in contents.items()}


def least_cpu_s(work: Callable[[], object], runs: int) -> float:
    """CPU seconds of this process, all threads: the least of some runs."""
    seconds = []
    for _ in range(runs):
        before = time.process_time()
        work()
        seconds.append(time.process_time() - before)
    return min(seconds)


def first_refresh(file: Path, number: int) -> None:
    """A table is declared from a file, and its first version is made. A project of its own: versions are remembered."""
    with tempfile.TemporaryDirectory() as place:
        project = discreet.init(place, epsilon=1000)
        project.add(file, name=f"t{number}", person="person", rows_per_person=4)
        project.refresh(f"t{number}")


def wide_table(folder: Path, columns: int) -> Path:
    """A file of numbers, dates and codes in turns."""
    file = folder / f"wide{columns}.csv"
    with file.open("w") as stream:
        stream.write(",".join(f"c{number}" for number in range(columns)) + "\n")
        for row in range(PROPOSED):
            stream.write(",".join(cells(row + number)[number % 5] for number in range(columns)) + "\n")
    return file


def main() -> None:
    quick = "--quick" in sys.argv
    rows, runs = (ROWS // 10, 1) if quick else (ROWS, 3)
    lines = ["| what | CPU s |", "|---|---|"]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for number, (form, file) in enumerate(write_forms(folder, rows).items()):
            seconds = least_cpu_s(lambda file=file, number=number: first_refresh(file, number), runs)
            lines.append(f"| add and refresh, {form} | {seconds:.2f} |")
            print(lines[-1], flush=True)
        project = discreet.init(folder / "proposals", epsilon=1)
        for columns in (60,) if quick else (60, 300):
            file = wide_table(folder, columns)
            seconds = least_cpu_s(lambda file=file: project.draft(file, look=False), runs)
            lines.append(f"| propose types, {PROPOSED:,} rows of {columns} columns | {seconds:.2f} |")
            print(lines[-1], flush=True)
    head = f"{rows:,} generated rows of {rows // 4:,} persons, five columns; CPU seconds of all threads, the least of {runs}."
    write_section("files", f"{head}\n\n" + "\n".join(lines), quick=quick)


if __name__ == "__main__":
    main()
