"""A saved model of either kind, of rows or of persons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.synth.archive import DocumentArrays
from discreet.synth.model import Model
from discreet.synth.model_document import FORMAT, PERSONS_FORMAT, model_of
from discreet.synth.model_file import read_document
from discreet.synth.persons.person_file import person_of
from discreet.synth.persons.person_model import PersonModel


def load_any(path: Path) -> Model | PersonModel:
    """The model that a file holds; one sentence where it is none."""
    return read_document(path, _model_of, newest=PERSONS_FORMAT)


def _model_of(document: dict[str, Any], arrays: DocumentArrays) -> Model | PersonModel:
    if document["version"] > FORMAT:
        return person_of(document, arrays, PersonModel)
    return model_of(document, arrays, Model)
