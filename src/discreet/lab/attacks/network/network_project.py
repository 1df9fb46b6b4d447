"""Discreet over generated networks, in a temporary folder, asked as analysts do: `project.graph(...).stats(...)`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet

import discreet
from discreet import exact
from discreet.lab.attacks.network.graphs import SmallGraph
from discreet.ledger.filesystem import use_state_folder

if TYPE_CHECKING:
    from discreet.project.project import Project


@contextmanager
def open_network_project(
    graphs: Mapping[str, SmallGraph], *, budget: Fraction, limit: int | None = None, places: list[str] | None = None
) -> Iterator[Project]:
    """A project with a table of links for each network, all of the same people.

    limit: a person is protected with so many links; without it, a link is. places: of each person, for everybody to
    know.
    """
    with tempfile.TemporaryDirectory(prefix="discreet-lab-") as name, use_state_folder(Path(name) / "state"):
        folder = Path(name) / "project"
        folder.mkdir()
        for table, graph in graphs.items():
            _write(folder / f"{table}.parquet", graph)
        if places is not None:
            _write_places(folder / "people.parquet", places)
        (folder / "discreet.toml").write_text(
            _declaration(list(graphs), budget, limit, public=places is not None), encoding="utf-8"
        )
        project = discreet.init(folder)
        try:
            for table in graphs:
                project.refresh(table)
            yield project
        finally:
            project.ledger.close()


def _write(path: Path, graph: SmallGraph) -> None:
    links = sorted(graph.links)
    ends = {"from": [one for one, _ in links], "to": [other for _, other in links]}
    pyarrow.parquet.write_table(pa.table(ends), path)


def _write_places(path: Path, places: list[str]) -> None:
    pyarrow.parquet.write_table(pa.table({"id": list(range(len(places))), "place": places}), path)


def _declaration(tables: list[str], budget: Fraction, limit: int | None, *, public: bool) -> str:
    unit = "" if limit is None else f'ends = ["from", "to"]\nrows_per_person = {limit}\n'
    columns = 'columns = { from = { type = "integer" }, to = { type = "integer" } }\n' if limit is None else ""
    sections = [
        '[project]\nledger = "sqlite:///.discreet/ledger.db"\n',
        f"[populations.people]\nbudget = {{ epsilon = {exact.show(budget, digits=12, up=True)}, delta = 0 }}\n",
        *(
            f'[tables.{name}]\nsource = "{name}.parquet"\npopulation = "people"\n{unit}{columns}'
            for name in tables
        ),
    ]  # fmt: skip
    if public:
        sections.append(
            '[tables.people]\nsource = "people.parquet"\npublic = true\n'
            'columns = { id = { type = "integer" }, place = { type = "text" } }\n'
        )
    return "\n".join(sections)
