"""A model of persons as people hold it: what it contains and samples, with its file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.synth.persons.person_contents import PersonContents


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PersonModel(PersonContents):
    """A fitted model of persons: `sample` is free."""

    def save(self, path: str | Path) -> None:
        """Write the model to a file: npz if the name ends in .npz, otherwise JSON.

        The file contains no exact numbers and no code.
        """
        from discreet.synth.persons.person_file import save

        save(self, Path(path))

    @staticmethod
    def load(path: str | Path) -> PersonModel:
        """The model that `save` wrote."""
        from discreet.synth.persons.person_file import load

        return load(Path(path), PersonModel)

    def __repr__(self) -> str:
        card = self.card
        return f"<PersonModel of {card.table}, version {card.version}: {len(self.columns)} columns>"
