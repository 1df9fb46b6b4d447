"""A model of several tables as people hold it: what it contains and samples, with its file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.synth.persons.tables_contents import PersonTablesContents


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PersonTablesModel(PersonTablesContents):
    """A fitted model of several tables that share their persons: `sample` is free."""

    def save(self, path: str | Path) -> None:
        """Write the model to a file: npz if the name ends in .npz, otherwise JSON.

        The file contains no exact numbers and no code.
        """
        from discreet.synth.persons.tables_file import save

        save(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> PersonTablesModel:
        """The model that `save` wrote."""
        from discreet.synth.persons.tables_file import load

        return load(Path(path), PersonTablesModel)

    def __repr__(self) -> str:
        return f"<PersonTablesModel of {', '.join(self.tables)}>"
