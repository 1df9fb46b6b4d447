"""A saved model of any kind: of rows, of persons, of several tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from discreet.synth.archive import DocumentArrays
from discreet.synth.model import Model
from discreet.synth.model_document import FORMAT, TABLES_FORMAT, model_of
from discreet.synth.model_file import read_document
from discreet.synth.persons.person_file import person_of
from discreet.synth.persons.person_model import PersonModel
from discreet.synth.persons.tables_file import tables_of
from discreet.synth.persons.tables_model import PersonTablesModel


def load_any(path: Path) -> Model | PersonModel | PersonTablesModel:
    """The model that a file holds; one sentence where it is none."""
    return read_document(path, _model_of, newest=TABLES_FORMAT)


def _model_of(document: dict[str, Any], arrays: DocumentArrays) -> Model | PersonModel | PersonTablesModel:
    if document["version"] == FORMAT:
        return model_of(document, arrays, Model)
    if document["version"] == TABLES_FORMAT:
        return tables_of(document, arrays, PersonTablesModel)
    return person_of(document, arrays, PersonModel)
