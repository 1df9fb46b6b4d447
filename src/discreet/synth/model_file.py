"""Save a model and load it again: JSON, or npz. No pickle, no code, nothing exact.

A loaded model is the saved one: its tables are made again from the potentials, equal to the last digits, so that the
same seed gives the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from discreet.errors import Command, DiscreetError, Flag, Message, UsageError
from discreet.synth import archive
from discreet.synth.archive import DocumentArrays
from discreet.synth.model_contents import ModelContents
from discreet.synth.model_document import FORMAT, NAME, PERSONS_FORMAT, AnyModel, model_data, model_of

#: What is made of a document.
Made = TypeVar("Made")


def save(model: ModelContents, path: Path) -> None:
    """Write a model, whole or not at all; npz where the name ends so. Only a model is overwritten."""
    write_document(Path(path), lambda arrays: model_data(model, arrays))


def write_document(path: Path, make: Callable[[DocumentArrays], dict[str, Any]]) -> None:
    """Write the document of a model of any kind, as `save` says."""
    if path.exists():
        refuse_other(path)
    arrays = DocumentArrays({} if path.suffix.lower() == ".npz" else None)
    archive.write(path, make(arrays), arrays)


def load(path: Path, kind: type[AnyModel]) -> AnyModel:
    """The model that `save` wrote; one sentence where the file is none."""
    return read_document(
        Path(path), lambda document, arrays: _rows_model(document, arrays, kind), newest=PERSONS_FORMAT
    )


def _rows_model(document: Any, arrays: DocumentArrays, kind: type[AnyModel]) -> AnyModel:
    if document["version"] > FORMAT:
        raise UsageError("it is a model of persons", hint=Message(Command("synth sample", "MODEL")))
    return model_of(document, arrays, kind)


def read_document(path: Path, make: Callable[[Any, DocumentArrays], Made], *, newest: int) -> Made:
    """What is made of a model's document; one sentence where the file is none."""
    try:
        document, arrays = archive.read(path)
        check_format(document, path, name=NAME, newest=newest)
    except ValueError as problem:
        raise _no_model(path, str(problem)) from None
    try:
        return make(document, arrays)
    except DiscreetError as problem:
        raise _no_model(path, problem.reason) from None
    except KeyError as problem:
        raise _no_model(path, f"the key {problem} is missing") from None
    except (ValueError, TypeError, AttributeError, IndexError, ArithmeticError) as problem:
        raise _no_model(path, str(problem)) from None


def _no_model(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path.name} is not a model: {why[:200]}",
        hint=Message(Command("synth fit", "TABLE", Flag("epsilon", 1), Flag("output", "MODEL", short="o"))),
    )


def check_format(document: Any, path: Path, *, name: str, newest: int) -> None:
    """Refuse what is no document of this name (ValueError: why), or of a format that is yet to come."""
    if not isinstance(document, dict) or document.get("format") != name:
        raise ValueError("its content is something else")
    version = document.get("version")
    if type(version) is not int or version < 1:
        raise ValueError("its format version is missing")
    if version > newest:
        raise UsageError(
            f"{path.name} is a model of format {version}; this version of Discreet reads formats up to {newest}",
            hint="use the version of Discreet that wrote it, or a newer one",
        )


def refuse_other(path: Path) -> None:
    """Refuse to overwrite what is not a model. A model of a newer format is one."""
    try:
        document, _ = archive.read(path)
        is_model = isinstance(document, dict) and document.get("format") == NAME
    except (ValueError, UsageError):
        is_model = False
    if not is_model:
        raise UsageError(f"{path.name} already exists and is not a model", hint="choose another name, or delete it")
