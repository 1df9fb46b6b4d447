"""The report: everything that can be said about a model for free, as data, as a page and as lines of text."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.synth.inspect.dependence import dependences, measured_sets
from discreet.synth.inspect.marginal_verdicts import judge_marginals
from discreet.synth.inspect.model_comparison import Comparison
from discreet.synth.inspect.model_evidence import ModelEvidence, names_of
from discreet.synth.inspect.model_findings import ModelFindings
from discreet.synth.inspect.model_histograms import histograms
from discreet.synth.inspect.report_page import report_page
from discreet.synth.inspect.simple_questions import simple_questions
from discreet.synth.inspect.terminal_report import report_lines
from discreet.synth.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReport(ModelFindings):
    """What a model says, what it cost, and what it is good for: as data, as a page, as text."""

    def page(self) -> str:
        """The report as one HTML page that needs nothing else."""
        return report_page(self)

    def lines(self) -> list[str]:
        """The report in a few lines of text."""
        return report_lines(self)


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
