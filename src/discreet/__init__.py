"""Discreet: learn about the many without learning about the one.

>>> import discreet
>>> clinic = discreet.open("clinic/")                                          # doctest: +SKIP
>>> clinic.sql("select count(*) from patients").ask(epsilon=0.5)               # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import (
    BudgetExceeded,
    DiscreetError,
    LedgerFault,
    ProjectError,
    QueryFailed,
    Refused,
    SchemaError,
    UsageError,
)
from discreet.storage.program_version import VERSION

if TYPE_CHECKING:
    from discreet.project.project import Project
    from discreet.project.remote import Remote
    from discreet.synth.model import Model
    from discreet.synth.persons.person_model import PersonModel
    from discreet.synth.persons.tables_model import PersonTablesModel
    from discreet.tables.infer.inferred_tables import InferredTables

__version__ = VERSION
__all__ = [
    "BudgetExceeded",
    "DiscreetError",
    "LedgerFault",
    "ProjectError",
    "QueryFailed",
    "Refused",
    "SchemaError",
    "UsageError",
    "__version__",
    "connect",
    "infer",
    "init",
    "load",
    "open",
    "sample_data",
]


def open(path: str | PathLike[str] = ".") -> Project:
    """Open the project at `path`, or in the nearest folder above it that has a discreet.toml."""
    from discreet.project.project import Project  # numpy and the engines load when a project is opened, not on import

    return Project.find(path)


def connect(url: str, token: str) -> Remote:
    """Connect to a project on a Discreet console and query it from here. See `discreet.project.remote`."""
    from discreet.project.remote import connect

    return connect(url, token)


def init(
    path: str | PathLike[str] = ".", *, epsilon: object = None, delta: object = None, practice: bool = False
) -> Project:
    """Create a project folder: discreet.toml and an empty ledger. `practice`: for generated or public data."""
    from discreet.project.project import Project

    return Project.make(path, epsilon=epsilon, delta=delta, practice=practice)


def load(path: str | PathLike[str]) -> Model | PersonModel | PersonTablesModel:
    """Load a saved model, of rows, of persons or of several tables. It needs no project and no budget."""
    from discreet.synth.persons.model_loading import load_any

    return load_any(Path(path))


def infer(tables: str | PathLike[str] | Mapping[str, Any]) -> InferredTables:
    """Make noisy or published tables consistent: a TOML file of them, or a mapping of the same form. Free.

    The result has the consistent tables with their errors, and samples rows. It needs no project and no budget.
    """
    from discreet.tables.infer.inferred_tables import infer_tables

    return infer_tables(tables)


def sample_data(name: str, folder: str | PathLike[str] = ".", *, rows: int | None = None) -> list[Path]:
    """Write generated tables with their code books to a folder: clinic, visits, offenders, census or network.

    The same rows every time, about nobody. Returns the files. Nothing is overwritten.
    """
    from discreet.lab.samples.sample_data import named_sample, write_sample

    write_sample(name, Path(folder), rows=rows)
    return [Path(folder) / file for file in named_sample(name).files]
