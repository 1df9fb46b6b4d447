"""A model as people hold it: what it contains and answers, with its file and its look in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from discreet.present import notebook
from discreet.synth.model_contents import ModelCard, ModelContents, Projection

__all__ = ["Model", "ModelCard", "Projection"]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Model(ModelContents):
    """A fitted model of a table: `sample` and `project` are free."""

    def save(self, path: str | Path) -> None:
        """Write the model to a file: npz if the name ends in .npz, otherwise JSON.

        The file contains no exact numbers and no code.
        """
        from discreet.synth.model_file import save

        save(self, Path(path))

    def __repr__(self) -> str:
        card = self.card
        return f"<Model {card.kind} of {card.table}, version {card.version}: {len(self.columns)} columns>"

    def _repr_html_(self) -> str:
        """The model in a notebook: what it is good for. Free: it reads noisy numbers alone."""
        from discreet.synth.model_notebook import notebook_parts

        return notebook.notebook_html(lambda: notebook_parts(self), lambda: repr(self))

    @staticmethod
    def load(path: str | Path) -> Model:
        """The model that `save` wrote."""
        from discreet.synth.model_file import load

        return load(Path(path), Model)
