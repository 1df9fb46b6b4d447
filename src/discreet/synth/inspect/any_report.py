"""A report about a model of any kind."""

from __future__ import annotations

from discreet.synth.inspect.model_comparison import Comparison
from discreet.synth.inspect.model_report import ModelReport, inspect_model
from discreet.synth.inspect.person_report import PersonReport, inspect_persons
from discreet.synth.inspect.tables_report import TablesReport, inspect_tables
from discreet.synth.model import Model
from discreet.synth.persons.person_model import PersonModel
from discreet.synth.persons.tables_model import PersonTablesModel


def inspect_any(
    model: Model | PersonModel | PersonTablesModel, *, comparison: Comparison | None = None
) -> ModelReport | PersonReport | TablesReport:
    """Look at a model of rows, of persons, or of several tables.

    Guarantee: none is spent; a function of the model, which holds noisy values and public facts.
    """
    if isinstance(model, Model):
        return inspect_model(model, comparison=comparison)
    return inspect_persons(model) if isinstance(model, PersonModel) else inspect_tables(model)
