"""Save a model of several tables and load it again: one document of format 3, whose parts are of format 1 and 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from discreet.synth.archive import DocumentArrays
from discreet.synth.column_data import column_data, column_of, text_of
from discreet.synth.model import Model
from discreet.synth.model_document import NAME, TABLES_FORMAT, card_data, card_of, model_data, model_of
from discreet.synth.model_file import read_document, write_document
from discreet.synth.persons.chain import Chain, chain_data
from discreet.synth.persons.person_file import person_data, person_of, variable_of
from discreet.synth.persons.person_model import PersonModel
from discreet.synth.persons.tables_contents import LinkedModel, PersonTablesContents, ReferringModel

#: The class that a document is read as: `PersonTablesModel`, which its file does not know.
AnyTables = TypeVar("AnyTables", bound=PersonTablesContents)


def save(model: PersonTablesContents, path: Path) -> None:
    """Write a model, whole or not at all; npz where the name ends so. Only a model is overwritten."""
    write_document(path, lambda arrays: tables_data(model, arrays))


def load(path: Path, kind: type[AnyTables]) -> AnyTables:
    """The model of several tables that `save` wrote; one sentence where the file is none."""
    return read_document(path, lambda document, arrays: tables_of(document, arrays, kind), newest=TABLES_FORMAT)


def tables_data(model: PersonTablesContents, arrays: DocumentArrays) -> dict[str, Any]:
    """A model of several tables as data."""
    return {
        "format": NAME,
        "version": TABLES_FORMAT,
        "card": card_data(model.card),
        "main": model.main,
        "columns": [column_data(column) for column in model.columns],
        "person": list(model.person),
        "records": model_data(model.records, arrays),
        "linked": [_linked_data(each, arrays) for each in model.linked],
    }


def _linked_data(linked: LinkedModel, arrays: DocumentArrays) -> dict[str, Any]:
    return {
        "name": linked.name,
        "columns": [column_data(column) for column in linked.columns],
        "person": list(linked.person),
        "number": linked.number,
        "model": person_data(linked.model, arrays),
        "repeated": list(linked.repeated),
        "referring": [
            {
                "name": each.name,
                "columns": [column_data(column) for column in each.columns],
                "on": each.on,
                "number": each.number,
                "variables": chain_data(each.rows.variables),
                "model": model_data(each.rows.model, arrays),
                "afters": list(each.afters),
            }
            for each in linked.referring
        ],
    }


def tables_of(document: dict[str, Any], arrays: DocumentArrays, kind: type[AnyTables]) -> AnyTables:
    """The model that was written. What does not fit together raises, as in `model_document`."""
    if document["version"] != TABLES_FORMAT:
        raise ValueError("it is a model of one table")
    model = kind(
        card=card_of(document["card"]),
        main=text_of(document["main"]),
        columns=tuple(column_of(entry) for entry in document["columns"]),
        person=_texts(document["person"]),
        records=model_of(document["records"], arrays, Model),
        linked=tuple(_linked_of(entry, arrays) for entry in document["linked"]),
    )
    model.check()
    return model


def _linked_of(entry: dict[str, Any], arrays: DocumentArrays) -> LinkedModel:
    return LinkedModel(
        name=text_of(entry["name"]),
        columns=tuple(column_of(column) for column in entry["columns"]),
        person=_texts(entry["person"]),
        number=text_of(entry["number"]),
        model=person_of(entry["model"], arrays, PersonModel),
        repeated=_texts(entry["repeated"]),
        referring=tuple(_referring_of(each, arrays) for each in entry["referring"]),
    )


def _referring_of(entry: dict[str, Any], arrays: DocumentArrays) -> ReferringModel:
    return ReferringModel(
        name=text_of(entry["name"]),
        columns=tuple(column_of(column) for column in entry["columns"]),
        on=text_of(entry["on"]),
        number=text_of(entry["number"]),
        rows=Chain(model_of(entry["model"], arrays, Model), [variable_of(each) for each in entry["variables"]]),
        afters=_texts(entry["afters"]),
    )


def _texts(entries: Any) -> tuple[str, ...]:
    return tuple(text_of(entry) for entry in entries)
