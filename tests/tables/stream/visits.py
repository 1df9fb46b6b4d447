"""A table of visits that grows, for streams to follow."""

from __future__ import annotations

import csv
from pathlib import Path

import discreet
from discreet.engines import stream_counts
from discreet.project.project import Project

DECLARED = """
[tables.visits]
source = "visits.csv"
person = {person}
rows_per_person = {rows}
budget = {budget}
[tables.visits.columns.ward]
type = "category"
values = ["north", "south"]
"""


def make(folder: Path, visits, *, budget="{ epsilon = 10, delta = 1e-6 }", rows=5, person='"id"') -> Project:
    """A project whose table has so many visits of each person."""
    discreet.init(folder)
    write(folder, visits)
    text = (folder / "discreet.toml").read_text()
    (folder / "discreet.toml").write_text(text + DECLARED.format(budget=budget, rows=rows, person=person))
    return discreet.open(folder)


def write(folder: Path, visits) -> None:
    with (folder / "visits.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "email", "ward"])
        for person, count in visits.items():
            writer.writerows([person, f"{person}@x", "north"] for _ in range(count))


def grow(project: Project, visits) -> None:
    """New data, and a new version."""
    write(project.folder, visits)
    project.refresh("visits")


def state(project: Project, stream) -> stream_counts.StreamCounts:
    """What the stream has counted, exactly: for tests alone."""
    folder = project.curator.folder / stream_counts.FOLDER / stream.id
    kept = project.ledger.refresh().streams[stream.id].rows[-1].owner_file
    return stream_counts.load(folder, kept, project.ledger.keyed_digest)


def as_an_older_program(monkeypatch):
    """Versions may identify people otherwise than before, as they might before the ledger kept it."""
    for module in ("ledger.owner_acts", "project.declaration"):
        monkeypatch.setattr(f"discreet.{module}.refuse_other_naming", lambda *_: None)
