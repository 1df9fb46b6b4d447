"""Discreet's own synthetic tables, by the public path: a project in a temporary folder, `project.synthesize`."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from pathlib import Path

import pyarrow as pa
from pyarrow import csv

import discreet
from discreet.lab.attacks.synthetic.shadow_models import Publisher
from discreet.ledger.filesystem import use_state_folder
from discreet.schema.project_file import NAME

_HEAD = """[project]
ledger = "sqlite:///.discreet/ledger.db"
[tables.{table}]
source = "{table}.csv"
budget = {{ epsilon = 100000 }}
"""


def discreet_publisher(*, table: str, columns: str, epsilon: float, model: str = "auto") -> Publisher:
    """A program that makes synthetic tables under a pure epsilon. `columns`: their declarations, as TOML.

    The project's budget is what an attacker must never be given: enough to fit anew as often as they like. Each table
    alone has the guarantee, and an attacker on one of them is held to it.
    """

    def publish(rows: pa.Table) -> Generator[pa.Table]:
        with tempfile.TemporaryDirectory(prefix="discreet-lab-") as name:
            folder, state = Path(name) / "project", Path(name) / "state"
            folder.mkdir()
            csv.write_csv(rows, folder / f"{table}.csv")
            (folder / NAME).write_text(_HEAD.format(table=table) + columns, encoding="utf-8")
            with use_state_folder(state):
                project = discreet.init(folder)
            try:
                while True:
                    with use_state_folder(
                        state
                    ):  # never across a yield: whoever draws the tables has a place of their own
                        made = project.synthesize(table, epsilon=str(epsilon), model=model, fresh=True).sample()
                    yield made
            finally:
                project.ledger.close()

    return publish
