"""The report: everything that can be said about a model for free, as plain data. The page is drawn from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet import exact
from discreet.synth.inspect.dependence import Dependence, dependences, measured_sets
from discreet.synth.inspect.marginal_verdicts import JudgedMarginals, judge_marginals
from discreet.synth.inspect.model_comparison import Comparison
from discreet.synth.inspect.model_evidence import CONFIDENCE, NEAR, ModelEvidence, names_of
from discreet.synth.inspect.model_histograms import ModelHistogram, histograms
from discreet.synth.inspect.simple_questions import ColumnQuestions, simple_questions
from discreet.synth.model import Model, ModelCard


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport:
    """What a model says, what it cost, and what it is good for.

    `rows` and `rows_plus_minus`: about how many rows the table has; None where that was never measured.
    `misfit`: how far the model is from what was measured, in standard deviations of the noise (root mean square).
    `network`: the largest sets of columns that were measured together. `placeholders`: columns that hold no values.
    """

    card: ModelCard
    rows: float
    rows_plus_minus: float | None
    misfit: float
    cells: int
    histograms: tuple[ModelHistogram, ...]
    dependences: tuple[Dependence, ...]
    network: tuple[tuple[str, ...], ...]
    marginals: JudgedMarginals
    questions: tuple[ColumnQuestions, ...]
    placeholders: tuple[str, ...]
    comparison: Comparison | None = None
    near: float = NEAR
    confidence: float = CONFIDENCE

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are modelled."""
        return tuple(each.name for each in self.histograms)

    def page(self) -> str:
        """The report as one HTML page that needs nothing else."""
        from discreet.synth.inspect.report_page import report_page

        return report_page(self)

    def lines(self) -> list[str]:
        """The report in a few lines of text."""
        from discreet.synth.inspect.terminal_report import report_lines

        return report_lines(self)

    def to_data(self) -> dict[str, Any]:
        """The report as JSON data."""
        report_data = _plain(self)
        assert isinstance(report_data, dict)
        return report_data


def inspect_model(model: Model, *, comparison: Comparison | None = None) -> ModelReport:
    """Look at a model.

    Guarantee: none is spent; a function of the model, which holds noisy values and public facts.
    """
    evidence = ModelEvidence(model)
    modelled_names = {attribute.name for attribute in model.attributes}
    return ModelReport(
        card=model.card,
        rows=model.total,
        rows_plus_minus=evidence.widths * evidence.total_sd if model.measured else None,
        misfit=model.fitted.misfit,
        cells=model.calibrated.cells,
        histograms=histograms(evidence),
        dependences=dependences(evidence),
        network=tuple(names_of(model, own) for own in measured_sets(evidence)),
        marginals=judge_marginals(evidence),
        questions=simple_questions(evidence),
        placeholders=tuple(column.name for column in model.columns if column.name not in modelled_names),
        comparison=comparison,
    )


def _plain(value: Any) -> Any:
    """Dataclasses as objects, tuples as lists, exact numbers as floats rounded up, floats to six digits."""
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    if isinstance(value, Fraction):
        return exact.as_float(value, up=True)
    if isinstance(value, float | np.floating):
        return float(f"{value:.6g}")
    return value
