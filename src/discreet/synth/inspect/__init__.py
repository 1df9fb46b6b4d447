"""Looking at a model: what it says, what it cost, and which questions it is good and bad for.

    model_evidence -> model_histograms, dependence, marginal_verdicts, simple_questions -> model_network
    -> model_report -> report_page; two_models has two reports on one page

All of it is a function of a Model, which holds noisy measurements and public facts: it reads no data and is free.
`model_comparison` alone goes back to the real table, through a program, and pays for it.
"""

from __future__ import annotations

from discreet.synth.inspect.model_comparison import Comparison
from discreet.synth.inspect.model_report import ModelReport, inspect_model
from discreet.synth.inspect.person_report import PersonReport, inspect_persons
from discreet.synth.inspect.tables_report import TablesReport, inspect_tables
from discreet.synth.inspect.two_models import TwoModels, inspect_two_models
from discreet.synth.model import Model
from discreet.synth.persons.person_model import PersonModel
from discreet.synth.persons.tables_model import PersonTablesModel

__all__ = ["ModelReport", "TwoModels", "inspect_any", "inspect_model", "inspect_two_models"]


def inspect_any(
    model: Model | PersonModel | PersonTablesModel, *, comparison: Comparison | None = None
) -> ModelReport | PersonReport | TablesReport:
    """Look at a model of rows, of persons, or of several tables.

    Guarantee: none is spent; a function of the model, which holds noisy values and public facts.
    """
    if isinstance(model, Model):
        return inspect_model(model, comparison=comparison)
    return inspect_persons(model) if isinstance(model, PersonModel) else inspect_tables(model)
