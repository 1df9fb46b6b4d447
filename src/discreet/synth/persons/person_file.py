"""Save a model of persons and load it again: one document of format 2, whose parts are documents of format 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from discreet.synth.archive import DocumentArrays
from discreet.synth.column_data import column_data, column_of, text_of
from discreet.synth.model import Model
from discreet.synth.model_document import NAME, PERSONS_FORMAT, card_data, card_of, model_data, model_of
from discreet.synth.model_file import read_document, write_document
from discreet.synth.persons.chain import Chain, ChainVariable, chain_data
from discreet.synth.persons.person_contents import PersonContents

#: The class that a document is read as: `PersonModel`, which its file does not know.
AnyPersons = TypeVar("AnyPersons", bound=PersonContents)

_ROLES = ("trait", "rows", "time", "previous", "next", "gap")


def save(model: PersonContents, path: Path) -> None:
    """Write a model, whole or not at all; npz where the name ends so. Only a model is overwritten."""
    write_document(path, lambda arrays: person_data(model, arrays))


def load(path: Path, kind: type[AnyPersons]) -> AnyPersons:
    """The model of persons that `save` wrote; one sentence where the file is none."""
    return read_document(path, lambda document, arrays: person_of(document, arrays, kind), newest=PERSONS_FORMAT)


def person_data(model: PersonContents, arrays: DocumentArrays) -> dict[str, Any]:
    """A model of persons as data."""
    return {
        "format": NAME,
        "version": PERSONS_FORMAT,
        "card": card_data(model.card),
        "columns": [column_data(column) for column in model.columns],
        "person": list(model.person),
        "constants": list(model.constants),
        "time": model.time,
        "afters": list(model.afters),
        "rows_name": model.rows_name,
        "records": model_data(model.records, arrays),
        "steps": None
        if model.steps is None
        else {
            "variables": chain_data(model.steps.variables),
            "model": model_data(model.steps.model, arrays),
        },
    }


def person_of(document: dict[str, Any], arrays: DocumentArrays, kind: type[AnyPersons]) -> AnyPersons:
    """The model that was written. What does not fit together raises, as in `model_document`."""
    if document["version"] != PERSONS_FORMAT:
        raise ValueError("it is a model of rows")
    records = model_of(document["records"], arrays, Model)
    steps = document["steps"]
    model = kind(
        card=card_of(document["card"]),
        columns=tuple(column_of(entry) for entry in document["columns"]),
        person=tuple(text_of(name) for name in document["person"]),
        constants=tuple(text_of(name) for name in document["constants"]),
        time=None if document["time"] is None else text_of(document["time"]),
        afters=tuple(text_of(name) for name in document["afters"]),
        rows_name=text_of(document["rows_name"]),
        records=records,
        steps=None
        if steps is None
        else Chain(model_of(steps["model"], arrays, Model), [variable_of(entry) for entry in steps["variables"]]),
    )
    model.check()
    return model


def variable_of(entry: Any) -> ChainVariable:
    role = text_of(entry["role"])
    if role not in _ROLES:
        raise ValueError("a variable has an unknown role")
    return ChainVariable(role=role, column=text_of(entry["column"]))  # type: ignore[arg-type]
