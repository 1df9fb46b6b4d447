"""Models that a project keeps, beside its tables: the newest one is meant where none is named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from discreet.errors import Command, Flag, Message, UsageError
from discreet.synth.model import Model

if TYPE_CHECKING:
    from discreet.synth.persons.person_model import PersonModel
    from discreet.synth.persons.tables_model import PersonTablesModel


#: What the files of models of persons end in.
PERSONS_ENDING = ".persons.npz"


def save_in_project(project: Path, model: Model | PersonModel | PersonTablesModel) -> Path:
    """Keep a model in a project's folder, as the newest; where it lies."""
    folder = project / ".discreet" / "models"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    ending = ".npz" if isinstance(model, Model) else PERSONS_ENDING
    path = folder / f"{model.card.release or f'random-{model.card.table}-{model.card.version}'}{ending}"
    model.save(path)
    return path


def newest_model(project: Path) -> Path:
    """The file of the model that was kept last."""
    model_files = (project / ".discreet" / "models").glob("*.npz")
    path = max(model_files, key=lambda path: path.stat().st_mtime_ns, default=None)
    if path is None:
        raise UsageError(
            "this project has no fitted model", hint=Message(Command("synth fit", "TABLE", Flag("epsilon", 1)))
        )
    return path
